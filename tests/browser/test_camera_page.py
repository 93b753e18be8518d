"""A camera's own page: what it is, how it is and was, all that can be done, and the way there and back."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Locator, Page, Route, expect

from tests.browser.looking import SIZES, act, adapters_stayed, card, opened, sized
from tests.browser.running_hub import RunningHub
from tests.commands import disconnect

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest_asyncio.fixture(autouse=True, loop_scope="session")
async def only_its_own_past(page: Page) -> None:
    """What earlier tests did to the adapters is not counted."""
    await adapters_stayed(page)


async def camera_page(page: Page, name: str) -> Locator:
    """Go to a camera's page by its name."""
    await page.get_by_role("link", name=name, exact=True).click()
    await expect(page.get_by_role("heading", name=name, level=2)).to_be_focused()
    return page.get_by_role("article", name=name)


@pytest.mark.parametrize("size", SIZES)
async def test_it_shows_what_the_camera_is_and_how(browser: Browser, hub: RunningHub, size: str) -> None:
    async with sized(browser, size) as page:
        device = await hub.connected(1, "Front")
        await opened(page, hub)
        shown = await camera_page(page, "Front")
        await expect(shown).to_contain_text("Insta360 X3")
        picture = shown.locator("img")
        await expect(picture).to_have_js_property("complete", True)
        assert await picture.evaluate("image => image.naturalWidth") > 0
        await expect(shown.locator(".badge")).to_have_text("Connected")
        address = hub.client.devices[device].address
        await expect(shown).to_contain_text(f"Programs on the hub reach the camera at {address}.")
        await expect(shown.get_by_role("link", name="Open the camera's own page")).to_be_visible()
        assert await page.title() == "Front – Camera hub"
        await hub.silence(device)
        await expect(shown.locator(".badge")).to_have_text("Not answering")
        await expect(shown.get_by_role("link", name="Open the camera's own page")).to_have_count(0)
        assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")


async def test_the_signal_of_the_last_hour_is_read_by_the_arrow_keys_and_in_a_table(
    page: Page, hub: RunningHub
) -> None:
    device = await hub.connected(1, "Front")
    now = datetime.now(UTC).replace(microsecond=0)
    values = [[(now - timedelta(minutes=ago)).isoformat(), 80 - ago, 60 - ago] for ago in (30, 29, 10, 9)]

    async def answer(route: Route) -> None:
        await route.fulfill(json={"step_s": 60, "samples": values, "battery": [None] * 4})

    await page.route(f"**/devices/{device}/signal?*", answer)
    await opened(page, hub)
    shown = await camera_page(page, "Front")
    await page.mouse.move(0, 0)
    plot = shown.get_by_role("slider", name="Last hour: 1 session, 0 errors")
    await plot.focus()
    await page.keyboard.press("End")
    await expect(plot).to_have_attribute("aria-valuetext", re.compile("71 %, lowest 51 %$"))
    await expect(shown.locator(".read-out")).to_have_text(re.compile("71 %, lowest 51 %$"))
    await page.keyboard.press("Home")
    await expect(plot).to_have_attribute("aria-valuetext", re.compile("50 %, lowest 30 %$"))
    await page.keyboard.press("ArrowRight")
    await page.keyboard.press("ArrowRight")
    await expect(plot).to_have_attribute("aria-valuetext", re.compile("not connected$"))
    await shown.get_by_text("As a table").click()
    await expect(shown.get_by_role("columnheader")).to_have_text(["From", "Average signal", "Lowest signal"])
    await expect(shown.locator(".legend")).not_to_contain_text("battery")
    lowest = shown.get_by_role("table").locator("tbody tr > :last-child")
    await expect(lowest.last).to_have_text(re.compile(r"^5[01] %$"))
    canvas = shown.locator(".plot canvas")
    await expect(canvas).to_be_visible()
    box = await canvas.bounding_box()
    assert box is not None
    await page.mouse.move(box["x"] + box["width"] * 0.845, box["y"] + 40)
    await expect(shown.locator(".read-out")).to_have_text(re.compile(r"\d %"))
    await plot.focus()
    await page.keyboard.press("Home")
    await page.mouse.move(0, 0)
    await expect(plot).to_have_attribute("aria-valuetext", re.compile("50 %, lowest 30 %$"))


async def test_the_line_of_the_signal_has_a_gap_for_an_interruption_of_seconds(
    page: Page, hub: RunningHub
) -> None:
    device = await hub.connected(1, "Front")
    now = datetime.now(UTC).replace(microsecond=0)
    samples = [[(now - timedelta(minutes=ago)).isoformat(), 80 - ago, 60 - ago] for ago in (12, 11, 10)]
    lost = now - timedelta(minutes=10.5)
    interruption = {
        "id": 7,
        "time": lost.isoformat(),
        "ended": (lost + timedelta(seconds=5)).isoformat(),
        "kind": "interruption",
        "device_id": device,
        "device_name": "Front",
        "interface": "wlan0",
        "code": "connection-lost",
        "message": "The camera was switched off.",
    }
    body = {"step_s": 60, "samples": samples, "battery": [None] * 3}
    await page.route(f"**/devices/{device}/signal?*", lambda route: route.fulfill(json=body))
    await page.route(
        "**/devices/history?device_id=*", lambda route: route.fulfill(json={"history": [interruption]})
    )
    await opened(page, hub)
    plot = (await camera_page(page, "Front")).get_by_role("slider", name="1 interruption")
    await plot.focus()
    for words in ("68 %, lowest 48 %", "69 %, lowest 49 %", "not connected", "70 %, lowest 50 %"):
        await page.keyboard.press("ArrowRight")
        await expect(plot).to_have_attribute("aria-valuetext", re.compile(f"{words}$"))


async def test_the_battery_is_beside_the_signal_on_the_same_axis(page: Page, hub: RunningHub) -> None:
    device = await hub.connected(1, "Front")
    now = datetime.now(UTC).replace(microsecond=0)
    first = now.replace(minute=now.minute // 5 * 5, second=0) - timedelta(minutes=30)
    minutes = [*range(3), *range(10, 16)]
    values = [[(first + timedelta(minutes=minute)).isoformat(), 60, 50] for minute in minutes]
    battery = [91, 90, 89, None, None, None, None, None, 0]

    async def answer(route: Route) -> None:
        await route.fulfill(json={"step_s": 60, "samples": values, "battery": battery})

    await page.route(f"**/devices/{device}/signal?*", answer)
    await opened(page, hub)
    shown = await camera_page(page, "Front")
    await expect(shown.locator(".legend")).to_contain_text("battery")
    plot = shown.get_by_role("slider")
    await plot.focus()
    read = []
    for key in ("Home", "ArrowRight", "ArrowRight", "ArrowRight", "ArrowRight", "End"):
        await page.keyboard.press(key)
        text = await plot.get_attribute("aria-valuetext")
        await expect(shown.locator(".read-out")).to_have_text(str(text))
        read.append(str(text).rpartition(": ")[2])
    known = "signal 60 %, lowest 50 %"
    assert read == [
        f"{known}, battery 91 %",
        f"{known}, battery 90 %",
        f"{known}, battery 89 %",
        "not connected",
        known,
        f"{known}, battery 0 %",
    ]
    colour = await drawn(page, "--busy")
    assert colour["pixels"] > 20, "a line of its own"
    assert colour["right"] < 0.6, "none where it is not known"
    box = await shown.locator(".plot .u-over").bounding_box()
    assert box is not None
    second = 1 - (now - first - timedelta(minutes=1)) / timedelta(hours=1)
    await page.mouse.move(box["x"] + box["width"] * second, box["y"] + 40)
    await expect(shown.locator(".read-out")).to_have_text(re.compile(r", battery 90 %$"))
    await shown.get_by_text("As a table").click()
    table = shown.get_by_role("table")
    await expect(table.get_by_role("columnheader").last).to_have_text("Battery")
    await expect(table.locator("tbody tr > :last-child")).to_have_text(["89 %", "not known", "0 %"])


async def test_the_time_without_the_camera_is_shaded(page: Page, hub: RunningHub) -> None:
    """From the loss of the connection until it was there again; what a person ends is none."""
    device = await hub.connected(1, "Front")
    now = datetime.now(UTC).replace(microsecond=0)

    def ago(minutes: int) -> str:
        return (now - timedelta(minutes=minutes)).isoformat()

    async def answer(route: Route) -> None:
        [row] = (await (await route.fetch()).json())["history"]
        lost = {"ended": ago(30), "code": "connection-lost", "message": "the connection was lost"}
        ended = {"ended": ago(10), "code": "cancelled"}
        rows = [
            row | {"time": ago(5)},
            row | {"id": 90, "time": ago(20)} | ended,
            row | {"id": 89, "time": ago(50)} | lost,
        ]
        await route.fulfill(json={"history": rows})

    await page.route(f"**/devices/history?device_id={device}&*", answer)
    await opened(page, hub)
    shown = await camera_page(page, "Front")
    await expect(shown.locator(".legend")).to_contain_text("connection lost")
    await expect(shown.get_by_role("slider", name="3 sessions, 1 error")).to_be_visible()
    await page.wait_for_function("() => document.querySelector('.plot canvas')")
    shade = await drawn(page, "--bad-ground")
    assert shade["pixels"] > 1000
    assert 0.6 < shade["right"] < 0.72, "20 minutes before the right edge"


async def drawn(page: Page, name: str) -> dict[str, float]:
    """How much of the plot has a colour of the page, and where that ends, as a share of the width."""
    found: dict[str, float] = await page.evaluate(
        """name => {
            const canvas = document.querySelector(".plot canvas");
            const probe = document.body.appendChild(document.createElement("i"));
            probe.style.color = `var(${name})`;
            const wanted = getComputedStyle(probe).color.match(/\\d+/g).map(Number);
            probe.remove();
            const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
            let [pixels, right] = [0, 0];
            for (let at = 0; at < data.length; at += 4) {
                const differs = wanted.some((one, index) => Math.abs(data[at + index] - one) > 8);
                if (differs || data[at + 3] < 200) continue;
                pixels += 1;
                right = Math.max(right, ((at / 4) % canvas.width) / canvas.width);
            }
            return { pixels, right };
        }""",
        name,
    )
    return found


async def test_the_signal_that_the_hub_has_kept_is_shown(page: Page, hub: RunningHub) -> None:
    await hub.connected(1, "Front")
    await opened(page, hub)
    shown = await camera_page(page, "Front")
    for range_, title in (("24 h", "Last 24 hours"), ("7 d", "Last 7 days"), ("1 h", "Last hour")):
        await shown.get_by_role("button", name=range_).click()
        await expect(shown.get_by_role("slider", name=title)).to_be_visible()
        await expect(shown.get_by_role("button", name=range_)).to_have_attribute("aria-pressed", "true")


async def test_sessions_and_errors_are_shown_with_advice(page: Page, hub: RunningHub) -> None:
    device = await hub.connected(1, "Front")
    await opened(page, hub)
    shown = await camera_page(page, "Front")
    past = shown.get_by_role("listitem")
    await expect(past.filter(has_text="Connected since")).to_have_count(1)
    await hub.power(1, on=False)
    await expect(shown.locator(".badge")).to_have_text("Searching")
    ended = past.filter(has_text="Ended: The connection was lost.")
    await expect(ended).to_contain_text("Check that the camera is on and in range.")
    await expect(ended).to_contain_text("connection-lost")
    await disconnect(hub.client, device)
    await act(shown, "Connect")
    failure = past.filter(has_text="The camera was not found.")
    await expect(failure).to_contain_text("Switch it on")
    await expect(failure).to_contain_text("Failure at ")
    await expect(shown.get_by_role("slider", name="Last hour: 1 session, 2 errors")).to_be_visible()


async def test_an_interruption_that_is_over_is_a_row_and_is_counted_in_the_plot(
    page: Page, hub: RunningHub
) -> None:
    device = await hub.connected(1, "Front")
    interface = hub.client.devices[device].interface  # not the first, if a test before has just left that
    await opened(page, hub)
    shown = await camera_page(page, "Front")
    await hub.power(1, on=False)
    await expect(shown.locator(".badge")).to_have_text("Connecting")
    await hub.power(1, on=True)
    await expect(shown.locator(".badge")).to_have_text("Connected")
    past = shown.get_by_role("listitem")
    interruption = past.filter(has_text="Interrupted")
    await expect(interruption).to_contain_text("The connection was lost.")
    await expect(interruption).to_contain_text("The camera SIM-CAM-1 was switched off.")
    await expect(interruption).to_contain_text(f"adapter {interface}")
    await expect(past.filter(has_text="Connected since")).to_have_count(1)
    await expect(shown.get_by_role("slider", name="1 session, 1 interruption, 0 errors")).to_be_visible()


async def test_everything_is_edited_there(page: Page, hub: RunningHub) -> None:
    device = await hub.connected(1, "Front")
    await opened(page, hub, f"#camera/{device}")
    shown = page.get_by_role("article", name="Front")
    await act(shown, "Edit")
    dialog = page.get_by_role("dialog", name="Edit ")
    await dialog.get_by_label("Name", exact=True).fill("Nose")
    await dialog.get_by_label("Model").select_option("insta360-x4")
    await dialog.get_by_label("Network name").fill("SIM-CAM-2")
    await dialog.get_by_label("New password (optional)").fill("camera-pass-2")
    await dialog.get_by_label("Priority").fill("3")
    await dialog.get_by_label("Reserved adapter").select_option("wlan1: any adapter in USB port 1-1.2")
    await dialog.get_by_role("button", name="Save").click()
    await expect(page.get_by_role("heading", name="Nose", level=2, exact=True)).to_be_visible()
    await expect(page.get_by_role("article", name="Nose")).to_contain_text("any adapter in USB port 1-1.2")
    record = hub.client.devices[device]
    assert (record.codename, record.ssid, record.priority) == ("insta360-x4", b"SIM-CAM-2", 3)
    await act(page.get_by_role("article"), "Disconnect")
    await expect(page.get_by_role("article").locator(".badge")).to_have_text("Off")
    await act(page.get_by_role("article"), "Connect")
    await expect(page.get_by_role("article", name="Nose").locator(".badge")).to_have_text("Connected")
    assert hub.client.devices[device].interface == "wlan1"
    await act(page.get_by_role("article"), "Edit")
    await dialog.get_by_label("Reserved adapter").select_option("None")
    await dialog.get_by_role("button", name="Save").click()
    await expect(page.get_by_role("article", name="Nose")).not_to_contain_text("USB port 1-1.2")


async def test_an_error_of_the_form_stands_at_its_field(page: Page, hub: RunningHub) -> None:
    await hub.connected(1, "Front")
    device = await hub.connected(2, "Tail")
    await opened(page, hub, f"#camera/{device}")
    await act(page.get_by_role("article"), "Edit")
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("Name", exact=True).fill("Front")
    await dialog.get_by_role("button", name="Save").click()
    await expect(dialog.locator("#edit-name-fault")).to_be_visible()
    await expect(dialog.get_by_label("Name", exact=True)).to_be_focused()
    await dialog.get_by_label("Name", exact=True).fill("Tail")
    await dialog.get_by_label("New password (optional)").fill("short")
    await dialog.get_by_role("button", name="Save").click()
    await expect(dialog.locator("#edit-password-fault")).to_contain_text("8 to 63 characters")
    await expect(dialog.locator("#edit-name-fault")).to_have_count(0)


async def test_a_camera_waits_and_is_removed_there(page: Page, hub: RunningHub) -> None:
    first = await hub.connected(1)
    for number in (2, 3):
        await hub.connected(number)
    device = await hub.create(4, "Tail")
    await opened(page, hub, f"#camera/{device}")
    shown = page.get_by_role("article", name="Tail")
    await act(shown, "Connect when free")
    await expect(shown.locator(".badge")).to_have_text("Waiting")
    await disconnect(hub.client, first)
    await expect(shown.locator(".badge")).to_have_text("Connected")
    await act(shown, "Remove")
    await page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    await expect(page.get_by_role("heading", name="This camera is not registered.")).to_be_focused()
    assert device not in hub.client.devices


async def test_focus_and_history(page: Page, hub: RunningHub) -> None:
    await hub.connected(1, "Front")
    device = await hub.connected(2, "Tail")
    await opened(page, hub)
    link = card(page, "Tail").get_by_role("link", name="Tail")
    await link.focus()
    await page.keyboard.press("Enter")
    heading = page.get_by_role("heading", name="Tail", level=2)
    await expect(heading).to_be_focused()
    await page.go_back()
    await expect(link).to_be_focused()
    assert await page.title() == "Camera hub"
    await page.go_forward()
    await expect(heading).to_be_focused()
    await page.get_by_role("link", name="All cameras").click()
    await expect(link).to_be_focused()
    await opened(page, hub, f"#camera/{device}")
    await page.reload()
    await expect(heading).to_be_focused()
