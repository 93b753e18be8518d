"""Many cameras: rows that do not move, found and commanded together."""

from __future__ import annotations

import asyncio
import re
from typing import Final

import pytest
from playwright.async_api import Browser, Locator, Page, Route, expect

from tests.browser.looking import SIZES, opened, opened_rows, sized, toast
from tests.browser.made_rig import MadeRig, failed, recording
from tests.browser.running_hub import RunningHub
from tests.browser.told import Told, said
from tests.commands import connect, disconnect

pytestmark = pytest.mark.asyncio(loop_scope="session")

LAYOUT_S: Final = 30.0
"""Until the browser has reported what moved."""
OBSERVE = """
  window.shifts = [];
  new PerformanceObserver(list => {
    for (const one of list.getEntries())
      for (const {node} of one.sources)
        if (!node?.parentElement?.closest('.beside, .section-head'))
          window.shifts.push(node?.outerHTML?.slice(0, 120) ?? 'gone');
  }).observe({type: "layout-shift"});
"""
"""What moves, but for the overview beside the cameras, whose log grows, and the line above, which counts."""


def row(page: Page, name: str) -> Locator:
    """The row of a camera."""
    return page.get_by_role("row").filter(has=page.get_by_role("link", name=name, exact=True))


def rows(page: Page) -> Locator:
    """All rows of cameras."""
    return page.locator("tbody tr[data-device]")


async def fill(hub: RunningHub, count: int) -> list[int]:
    """So many cameras, the first three connected."""
    first = [await hub.connected(number, f"Camera {number}") for number in (1, 2, 3)]
    return first + [await hub.create(number, f"Camera {number}") for number in range(4, count + 1)]


@pytest.mark.parametrize(
    "size", [pytest.param(size, marks=[pytest.mark.slow] if size != "phone" else []) for size in SIZES]
)
async def test_nothing_moves_while_states_change(browser: Browser, hub: RunningHub, size: str) -> None:
    async with sized(browser, size) as page:
        ids = await fill(hub, 50)
        await opened_rows(page, hub)
        await expect(rows(page)).to_have_count(50)
        if size == "phone":
            # Without columns to sort by, the order stays under a pointer; what is searched for is not folded.
            await page.get_by_role("button", name="Search").click()
            await page.get_by_label("Find").fill("Camera")
            await rows(page).first.hover()
        else:
            await page.get_by_role("button", name="Camera", exact=True).click()
        assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        await page.evaluate(OBSERVE)
        for number, device in enumerate(ids[:3], 1):
            await disconnect(hub.client, device)
            await expect(row(page, f"Camera {number}").locator(".badge")).to_have_text("Off")
        await hub.set_fault("silent")
        for number, device in enumerate(ids[:3], 1):
            await connect(hub.client, device)
            await expect(row(page, f"Camera {number}").locator(".badge")).to_have_text("Not answering")
        await connect(hub.client, ids[3], when_free=True)
        await expect(row(page, "Camera 4").locator(".badge")).to_have_text("Waiting")
        assert await page.evaluate("window.shifts") == []
        # The measurement itself works: what moves is reported.
        await page.evaluate(
            "const b = document.createElement('div'); b.className = 'banner'; b.textContent = 'x';"
            "document.querySelector('main').before(b)"
        )
        async with asyncio.timeout(LAYOUT_S):  # wait_for_function evaluates text, which the page forbids
            await page.evaluate(
                "new Promise((done) => { const see = () =>"
                " window.shifts.length > 0 ? done() : requestAnimationFrame(see); see(); })"
            )


async def test_eight_are_cards_and_nine_are_rows(page: Page, hub: RunningHub) -> None:
    await fill(hub, 8)
    await opened_rows(page, hub)
    await expect(page.locator(".card")).to_have_count(8)
    await hub.create(9, "Camera 9")
    await expect(rows(page)).to_have_count(9)
    await expect(page.locator(".card")).to_have_count(0)


async def test_cameras_are_found_by_what_they_are_and_not_by_their_state(page: Page, hub: RunningHub) -> None:
    ids = await fill(hub, 12)
    await hub.client.update_device(ids[1], {"codename": "ricoh-theta-z1"})
    address = hub.client.devices[ids[0]].address or ""
    assert address
    await opened_rows(page, hub)
    find = page.get_by_label("Find")
    for words, count in (
        ("camera 12", 1),
        ("sim-cam-11", 1),
        ("theta", 1),
        (address, sum(address in (one.address or "") for one in hub.client.devices.values())),
        ("connected", 0),
        ("off", 0),
        ("", 12),
    ):
        await find.fill(words)
        await expect(rows(page)).to_have_count(count)
        await expect(page.get_by_text("No matches")).to_have_count(0 if count else 1)


async def test_connected_is_not_what_matches_not_connected(page: Page, hub: RunningHub) -> None:
    await fill(hub, 10)
    await opened_rows(page, hub)
    states = page.get_by_role("group", name="State")
    await states.get_by_role("button", name="Connected 3").click()
    await expect(rows(page)).to_have_count(3)
    await states.get_by_role("button", name="No adapter 7").click()
    await expect(rows(page)).to_have_count(7)
    await expect(row(page, "Camera 1")).to_have_count(0)
    await states.get_by_role("button", name="No adapter 7").click()
    await expect(rows(page)).to_have_count(10)


async def test_the_name_of_a_camera_is_the_last_that_is_cut(page: Page, hub: RunningHub) -> None:
    """On a laptop, with all that cameras say of themselves."""
    ids = await fill(hub, 10)
    name = "SIM-CAM-1 on the left"
    await hub.client.update_device(ids[0], {"name": name})
    await page.set_viewport_size({"width": 1280, "height": 800})
    await opened_rows(page, hub)
    await expect(page.locator("tbody .in-battery .battery")).not_to_have_count(0)
    cell = page.locator("tbody th").filter(has_text=name)
    assert await cell.evaluate("one => one.scrollWidth <= one.clientWidth")


async def test_rows_are_sorted(page: Page, hub: RunningHub) -> None:
    await hub.set_fault("silent", ssid="SIM-CAM-3")
    ids = await fill(hub, 11)
    await hub.client.update_device(ids[10], {"name": "Alpha"})
    await opened_rows(page, hub)
    names = page.locator("tbody th a")
    await page.set_viewport_size({"width": 1600, "height": 900})  # with the column of addresses
    # By need: what a person has to look at, what is connected, the others; each by name.
    await expect(row(page, "Camera 3").locator(".badge")).to_have_text("Not answering")
    await page.mouse.move(0, 0)
    await expect(names).to_have_text(
        ["Camera 3", "Camera 1", "Camera 2", "Alpha", *(f"Camera {number}" for number in range(4, 11))]
    )
    column = page.get_by_role("columnheader", name="Camera")
    await column.get_by_role("button").click()
    await expect(column).to_have_attribute("aria-sort", "ascending")
    await expect(names.first).to_have_text("Alpha")
    await expect(names.last).to_have_text("Camera 10")
    await column.get_by_role("button").click()
    await expect(column).to_have_attribute("aria-sort", "descending")
    await expect(names.last).to_have_text("Alpha")
    await column.get_by_role("button").click()
    await expect(names.first).to_have_text("Camera 3")
    await page.get_by_role("button", name="Signal", exact=True).click()
    await expect(names.first).to_have_text("Camera 2")  # the weakest; what is not known comes last
    await page.get_by_role("button", name="Signal", exact=True).click()
    await expect(names.nth(2)).to_have_text("Camera 2")  # and last in reverse, too
    await page.get_by_role("button", name="Address", exact=True).click()
    await page.get_by_role("button", name="Address", exact=True).click()
    shown = await page.locator("tbody .in-address").all_text_contents()
    known = [one for one in shown if one]
    assert shown == known + [""] * (len(shown) - len(known))
    assert known == sorted(known, reverse=True)
    await hub.set_fault("silent", off=True)


async def test_no_row_moves_under_the_pointer(page: Page, hub: RunningHub) -> None:
    await fill(hub, 10)
    await opened_rows(page, hub)
    names = page.locator("tbody th a")
    await expect(names.first).to_have_text("Camera 1")
    await row(page, "Camera 6").hover()
    await hub.set_fault("silent", ssid="SIM-CAM-3")
    await expect(row(page, "Camera 3").locator(".badge")).to_have_text("Not answering")
    await expect(names.first).to_have_text("Camera 1")
    await page.mouse.move(0, 0)
    await expect(names.first).to_have_text("Camera 3")
    await hub.set_fault("silent", off=True)


async def test_a_column_without_a_value_is_not_there(page: Page, hub: RunningHub) -> None:
    for number in range(1, 10):
        device = await hub.client.create_device(
            {
                "codename": "generic-wifi-camera",
                "connection_type": "wifi",
                "ssid": f"NOWHERE-{number}",
                "password": "camera-pass",
            }
        )
        await disconnect(hub.client, device)
    await opened_rows(page, hub)
    await expect(rows(page)).to_have_count(9)
    await expect(page.get_by_role("columnheader")).to_have_text(
        ["Select all", "Camera", "State", "Why, or where", "Actions"]
    )


async def test_the_whole_row_leads_to_the_camera(page: Page, hub: RunningHub) -> None:
    await fill(hub, 9)
    await opened_rows(page, hub)
    box = await row(page, "Camera 4").locator(".in-why").bounding_box()
    assert box is not None
    await page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    await expect(page.get_by_role("heading", name="Camera 4", level=2)).to_be_focused()


@pytest.mark.parametrize("size", SIZES)
async def test_several_are_commanded_at_once(browser: Browser, hub: RunningHub, size: str) -> None:
    async with sized(browser, size) as page:
        await fill(hub, 9)
        await opened_rows(page, hub)
        bar = page.locator(".chosen")
        disconnect = bar.get_by_role("button", name="Disconnect", exact=True)
        await expect(disconnect.and_(page.locator(":enabled"))).to_have_count(0)
        for number in (1, 3, 4):  # the last one is not connected
            await page.get_by_role("checkbox", name=f"Select Camera {number}", exact=True).check()
        await expect(page.get_by_text("3 selected")).to_be_visible()
        await disconnect.click()
        for number in (1, 3):
            await expect(row(page, f"Camera {number}").locator(".badge")).to_have_text("Off")
        await expect(row(page, "Camera 2").locator(".badge")).to_have_text("Connected")
        told = toast(page, re.compile(r"^2 cameras disconnect(ing|ed)\. Not connected: Camera 4\.✕$"))
        await expect(told).to_be_visible()
        if size == "phone":
            await page.get_by_role("button", name="Search").click()
        await page.get_by_label("Find").fill("Camera 1")
        everyone = "Select Camera 1" if size == "phone" else "Select all"
        await page.get_by_role("checkbox", name=everyone, exact=True).check()
        await bar.get_by_role("button", name="Connect", exact=True).click()
        await expect(row(page, "Camera 1").locator(".badge")).to_have_text("Connected")


async def test_a_row_that_the_filter_hides_is_not_commanded(page: Page, hub: RunningHub) -> None:
    ids = await fill(hub, 9)
    await opened_rows(page, hub)
    await page.get_by_role("checkbox", name="Select all").check()
    await page.get_by_label("Find").fill("Camera 2")
    await expect(page.get_by_text("1 selected")).to_be_visible()
    await page.locator(".chosen").get_by_role("button", name="Disconnect", exact=True).click()
    await expect(row(page, "Camera 2").locator(".badge")).to_have_text("Off")
    await hub.until(ids[1], "disconnected")
    assert [hub.client.devices[one].state for one in ids[:3]] == ["connected", "disconnected", "connected"]


async def select(page: Page, *numbers: int) -> Locator:
    """Select cameras; the commands to them."""
    for number in numbers:
        await page.get_by_role("checkbox", name=f"Select Camera {number}", exact=True).check()
    return page.locator(".chosen")


async def test_cameras_that_wait_are_not_said_to_connect(page: Page, hub: RunningHub) -> None:
    ids = await fill(hub, 9)
    await opened_rows(page, hub)
    commands = await select(page, *range(1, 10))
    await commands.get_by_role("button", name="Connect when free").click()
    told = toast(page, "6 cameras wait for an adapter. Already connected: Camera 1, Camera 2, Camera 3.")
    await expect(told).to_have_class("toast plain")
    await expect(rows(page).locator(".badge.waiting")).to_have_count(6)
    # What came of a wait is told.
    await disconnect(hub.client, ids[0])
    await expect(toast(page, re.compile(r"^Camera [4-9] is connected"))).to_be_visible()


async def test_one_camera_that_waits_is_said_to_wait(page: Page, hub: RunningHub) -> None:
    await fill(hub, 9)
    await opened_rows(page, hub)
    await (await select(page, 4)).get_by_role("button", name="Connect when free").click()
    await expect(toast(page, "1 camera waits for an adapter.")).to_have_class("toast plain")


async def test_refusals_are_told_with_their_names_and_their_reason(page: Page, hub: RunningHub) -> None:
    await fill(hub, 9)
    await opened_rows(page, hub)
    commands = await select(page, 1, *range(4, 9))
    await commands.get_by_role("button", name="Connect", exact=True).click()
    refused = ", ".join(f"Camera {number}" for number in range(4, 9))
    told = toast(page, f"Already connected: Camera 1. {refused}: No adapter is free.")
    await expect(told).to_have_class("toast bad")


async def test_an_answer_that_is_lost_leaves_a_camera_not_known(page: Page, hub: RunningHub) -> None:
    await fill(hub, 9)
    await opened_rows(page, hub)
    commands = await select(page, 1, 2)
    await page.route("**/wifi/disconnect?*", lambda route: route.abort())
    await commands.get_by_role("button", name="Disconnect", exact=True).click()
    told = toast(page, "Not known: Camera 1, Camera 2.")
    await expect(told).to_have_class("toast warn")


async def test_a_recording_on_a_selection_leaves_nobody_out_without_a_word(
    page: Page, hub: RunningHub
) -> None:
    channel = Told()
    await channel.to(page)
    for number in range(1, 10):
        channel.say(f"Camera {number}", said(recording=False) if number != 2 else None)
    ids = await fill(hub, 9)
    await opened_rows(page, hub)
    asked: list[object] = []

    async def answer(route: Route) -> None:
        asked.append(route.request.post_data_json)
        row = {"after_ms": None, "message": ""}
        rows = [
            row | {"device_id": ids[0], "done": True, "code": None},
            row
            | {"device_id": ids[1], "done": False, "code": "not-supported", "message": "it has no driver"},
            row | {"device_id": ids[3], "done": False, "code": "not-connected"},
        ]
        await route.fulfill(json={"results": rows})

    await page.route("**/devices/recording", answer)
    commands = await select(page, 4)
    record = commands.get_by_role("button", name="Record", exact=True)
    await expect(record).to_be_disabled()
    await select(page, 1, 2)
    await record.click()
    told = toast(page, "1 of 3 cameras record. Not connected: Camera 4. Camera 2: it has no driver.")
    await expect(told).to_have_class("toast bad")
    assert asked == [{"recording": True, "device_ids": [ids[0], ids[1], ids[3]]}]


WIFI_LINES: Final = """one => {
  const texts = document.createTreeWalker(one, NodeFilter.SHOW_TEXT);
  const range = document.createRange(), lines = [];
  for (let text = texts.nextNode(); text; text = texts.nextNode()) {
    const at = text.data.indexOf("Wi-Fi");
    if (at < 0) continue;
    range.setStart(text, at);
    range.setEnd(text, at + 5);
    lines.push(range.getClientRects().length);
  }
  return lines;
}"""


async def test_wifi_stays_on_one_line_whatever_room_there_is(page: Page, hub: RunningHub) -> None:
    refused = failed("authentication-failed")
    await MadeRig({f"Camera {number}": refused for number in range(1, 13)}).to(page)
    await opened_rows(page, hub)
    reason = row(page, "Camera 1").locator(".in-why .lines")
    for width in range(560, 1000, 20):
        await page.set_viewport_size({"width": width, "height": 800})
        assert await reason.evaluate(WIFI_LINES) == [1], width


BEYOND: Final = """one => {
  const { outlineOffset, outlineWidth } = getComputedStyle(one);
  return parseFloat(outlineOffset) + parseFloat(outlineWidth);
}"""


async def test_the_focus_of_a_tab_is_not_cut(page: Page, hub: RunningHub) -> None:
    await opened(page, hub)
    tab = page.get_by_role("navigation").get_by_role("link", name="Wall")
    await page.keyboard.press("Tab")
    await tab.focus()
    assert await tab.evaluate(BEYOND) <= 0


TEXT_TOP: Final = """one => {
  const range = document.createRange();
  range.selectNodeContents([...one.childNodes].findLast((each) => each.textContent.trim()));
  return range.getBoundingClientRect().top;
}"""
REACHED: Final = {"signal_strength": 60, "interface": "wlan0", "frequency": 2437, "address": "10.77.0.1"}


async def made_rows(page: Page, hub: RunningHub) -> None:
    """Twelve cameras that record, without the hub's own."""
    await MadeRig({f"Camera {number}": recording() | REACHED for number in range(1, 13)}).to(page)
    await opened_rows(page, hub)


@pytest.mark.parametrize("size", SIZES)
async def test_signal_battery_and_card_are_seen_on_each_size(
    browser: Browser, hub: RunningHub, size: str
) -> None:
    async with sized(browser, size) as page:
        await made_rows(page, hub)
        first = row(page, "Camera 1")
        places = (first.locator(".signal"), first.locator(".battery"), first.get_by_text("1 h 12 min left"))
        for place in places:
            value = place.filter(visible=True)
            await expect(value).to_be_in_viewport(ratio=1)
            assert await value.evaluate("one => one.scrollWidth <= one.parentElement.clientWidth")


async def test_the_texts_of_battery_and_signal_stand_on_one_line(page: Page, hub: RunningHub) -> None:
    await made_rows(page, hub)
    first = row(page, "Camera 1")
    tops = [await first.locator(place).evaluate(TEXT_TOP) for place in (".signal", ".battery")]
    assert tops[0] == pytest.approx(tops[1], abs=0.5)
