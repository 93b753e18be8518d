"""The first minutes: an empty hub, what is in range, what the browser's tab says, a menu, a wrong address."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from playwright.async_api import Browser, Locator, Page, Route, expect

from tests.browser.looking import SIZES, card, opened, opened_menu, shows, sized
from tests.browser.running_hub import RunningHub, running_hub
from tests.browser.test_accessibility import findings, no_scrolling_sideways

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_an_empty_hub_offers_the_cameras_in_range(page: Page, hub: RunningHub) -> None:
    await hub.add_camera(b"X3 7QK2WD.OSC", "insta-pass-7")
    await opened(page, hub)
    found = page.get_by_role("list", name="Cameras in range").get_by_role("listitem")
    mine = found.filter(has_text="X3 7QK2WD.OSC")
    await expect(mine).to_contain_text("Insta360 X3")
    await expect(page.get_by_role("button", name="Pair and add GoPro 0001")).to_be_visible()
    assert await findings(page) == []
    await mine.get_by_role("button", name="Add").click()
    dialog = page.get_by_role("dialog", name="Add a camera")
    await expect(dialog).to_contain_text("X3 7QK2WD.OSC")
    await dialog.get_by_label("Password", exact=True).fill("insta-pass-7")
    await dialog.get_by_role("button", name="Add and connect").click()
    await shows(page, "X3 7QK2WD.OSC", "Connected")


async def test_the_empty_page_of_the_default_world_calls_nothing_a_gopro_that_is_none(
    page: Page, tmp_path: Path
) -> None:
    async with running_hub(tmp_path) as hub:
        await opened(page, hub)
        rows = page.get_by_role("list", name="Cameras in range").get_by_role("listitem")
        words = {f"SIM-CAM-{number}": "" for number in range(1, 5)}
        await expect(rows).to_have_count(len(words))
        assert await told(rows) == words
        await expect(page.get_by_role("button", name="Pair and add GoPro 0001")).to_be_visible()
        shown = (await page.locator(".empty").inner_text()).splitlines()
        assert {one for one in shown if "GoPro" in one} == {"GoPro 0001", "GoPro HERO12"}, "name, model"
        await hub.add_camera(b"GP25149999", "gopro-pass-9")
        await page.get_by_role("button", name="Search again").click()
        await expect(rows).to_have_count(len(words) + 1)
        assert await told(rows) == words | {"GP25149999": "GoPro, which?"}


async def told(rows: Locator) -> dict[str, str]:
    """What is said of each network in range."""
    return {
        (await one.locator("strong").inner_text()).strip(): await one.locator("small").inner_text()
        for one in await rows.all()
    }


async def test_the_focus_stays_on_the_page_when_the_first_camera_is_added(
    page: Page, hub: RunningHub
) -> None:
    await opened(page, hub)
    await page.get_by_role("button", name="Pair and add GoPro 0001").focus()
    await page.keyboard.press("Enter")
    await shows(page, "GP25140001", "Connected")
    await expect(page.get_by_role("heading", name="Cameras")).to_be_focused()


async def test_the_outline_is_drawn_and_the_channel_opened_before_the_page_is_read(
    page: Page, hub: RunningHub
) -> None:
    await hub.connected(1, "Front")
    channels: list[str] = []
    page.on("websocket", lambda one: channels.append(one.url))
    is_let = asyncio.Event()

    async def hold(route: Route) -> None:
        await is_let.wait()
        await route.continue_()

    await page.route("**/assets/page-*.js", hold)
    async with page.expect_websocket() as opening:
        await page.goto(hub.url, wait_until="commit")
    async with (await opening.value).expect_event("framereceived"):
        pass
    await expect(page.get_by_role("heading", name="Camera hub", level=1)).to_be_visible()
    await expect(page.locator(".rig")).to_have_count(0)
    is_let.set()
    await shows(page, "Front", "Connected")
    await hub.power(1, on=False)
    await shows(page, "Front", "Searching")
    assert len(channels) == 1


async def test_the_first_frame_makes_no_collator_and_no_date_format(page: Page, hub: RunningHub) -> None:
    """The first of each takes a browser some 10 ms, a phone four times as long."""
    for number, name in enumerate(("Front", "Tail"), 1):
        await hub.connected(number, name)
    await page.add_init_script("""
        window.made = [];
        for (const name of ["Collator", "DateTimeFormat"]) {
          const Made = Intl[name];
          Intl[name] = new Proxy(Made, {construct: (of, options) => {
            window.made.push(name + (document.querySelector(".card") ? " later" : ""));
            return new of(...options);
          }});
        }
    """)
    await opened(page, hub)
    await expect(page.get_by_role("complementary")).to_contain_text("Tail is connected")
    assert await page.evaluate("window.made.filter((one) => !one.endsWith(' later'))") == []
    assert await page.evaluate("window.made.includes('DateTimeFormat later')")


@pytest.mark.parametrize("size", SIZES)
async def test_nothing_moves_once_the_cameras_are_there(browser: Browser, hub: RunningHub, size: str) -> None:
    """What comes after the first frame has its place in it."""
    for number, name in enumerate(("Front", "Tail", "Left wing"), 1):
        await hub.connected(number, name)
    async with sized(browser, size) as page:
        await page.add_init_script("""
            window.moved = [];
            window.drawn = Infinity;
            new MutationObserver((_, observer) => {
              if (!document.querySelector(".card")) return;
              observer.disconnect();
              requestAnimationFrame(() => setTimeout(() => window.drawn = performance.now()));
            }).observe(document, { subtree: true, childList: true });
            new PerformanceObserver((list) => {
              for (const { startTime, sources } of list.getEntries()) {
                if (startTime < window.drawn) continue;
                for (const { node, previousRect, currentRect } of sources) {
                  if (node?.parentElement?.closest("main")) {  // the footer makes room for events
                    window.moved.push(`${node.className} ${previousRect.y} to ${currentRect.y}`);
                  }
                }
              }
            }).observe({ type: "layout-shift", buffered: true });
        """)
        await opened(page, hub)
        await expect(card(page, "Front").get_by_role("button").first).to_be_visible()
        if size == "desktop":
            await expect(page.get_by_role("log")).to_contain_text("Tail is connected")
        await expect(card(page, "Front").locator("small")).to_have_text("Insta360 X3")
        assert await page.evaluate("window.moved") == []


async def test_names_are_sorted_without_case_and_accents_and_by_the_value_of_numbers(
    page: Page, hub: RunningHub
) -> None:
    for number, name in enumerate(("camera 10", "Camera 9", "Ärger"), 1):
        await hub.create(number, name, "not its password")
    await opened(page, hub)
    names = page.locator(".card h3")
    await expect(page.locator(".badge.wrong-password")).to_have_count(3)
    await page.mouse.move(0, 0)
    await expect(names).to_have_text(["Ärger", "Camera 9", "camera 10"])


async def test_a_hub_that_says_nothing_is_said_to_be_opened(page: Page, hub: RunningHub) -> None:
    await page.route_web_socket("**/ws/management/**", lambda _: None)
    await page.goto(hub.url)
    await expect(page.locator(".rig h2")).to_have_text("Opening.")


async def test_the_simulated_world_says_its_passwords(page: Page, hub: RunningHub) -> None:
    await opened(page, hub)
    await page.get_by_role("button", name="Add a camera").click()
    dialog = page.get_by_role("dialog", name="Add a camera")
    await dialog.get_by_role("radio", name="SIM-CAM-2").check()
    await dialog.get_by_role("button", name="Next").click()
    await expect(dialog).to_contain_text("This camera is simulated. Its password is camera-pass-2.")


async def test_the_tab_says_how_many_need_a_person(page: Page, hub: RunningHub) -> None:
    device = await hub.connected(1, "Front")
    await opened(page, hub)
    await expect(page).to_have_title("Camera hub")
    icon = page.locator('link[rel="icon"]')
    plain = await icon.get_attribute("href") or ""
    await hub.silence(device)
    await expect(page).to_have_title("(1) Camera hub")
    await expect(icon).not_to_have_attribute("href", plain)
    await card(page, "Front").get_by_role("link", name="Front").click()
    await expect(page).to_have_title("(1) Front – Camera hub")
    await hub.set_fault("silent", off=True)
    await expect(page).to_have_title("Front – Camera hub")


async def test_a_menu_is_used_by_the_keyboard(page: Page, hub: RunningHub) -> None:
    await hub.connected(1, "Front")
    await opened(page, hub)
    button = card(page, "Front").get_by_role("button", name="More for Front")
    await button.focus()
    await page.keyboard.press("Enter")
    items = page.get_by_role("menuitem")
    await expect(items.first).to_be_focused()
    await page.keyboard.press("End")
    await expect(page.get_by_role("menuitem", name="Remove")).to_be_focused()
    await page.keyboard.press("ArrowDown")
    await expect(items.first).to_be_focused()
    assert await findings(page) == []
    await page.keyboard.press("Escape")
    await expect(items).to_have_count(0)
    await expect(button).to_be_focused()
    await opened_menu(card(page, "Front"))
    await page.locator("h1").click()
    await expect(items).to_have_count(0)


async def test_a_link_in_a_menu_is_opened_where_a_held_pointer_lets_go(page: Page, hub: RunningHub) -> None:
    device = await hub.connected(1, "Front")
    await opened(page, hub)
    button = card(page, "Front").get_by_role("button", name="More for Front")
    link = page.get_by_role("menuitem", name="Open the camera's own page")
    for click in (False, True):
        await button.hover()
        await page.mouse.down()
        if click:
            await page.mouse.up()
        await link.hover()
        async with page.context.expect_page() as other:
            if click:
                await page.mouse.down()
            await page.mouse.up()
        own = await other.value
        await own.wait_for_url(f"**/cameras/{device}/")
        assert await own.evaluate("window.opener") is None
        await own.close()
        await expect(link).to_have_count(0)
        assert len(page.context.pages) == 1, "opened once"


async def test_the_whole_card_leads_to_the_camera(page: Page, hub: RunningHub) -> None:
    await hub.connected(1, "Front")
    await opened(page, hub)
    box = await card(page, "Front").locator(".card-middle").bounding_box()
    assert box is not None
    await page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    await expect(page.get_by_role("heading", name="Front", level=2)).to_be_focused()


async def test_without_a_map_there_is_no_tab_for_one(page: Page, hub: RunningHub) -> None:
    await opened(page, hub, "#adapters")
    await expect(page.get_by_role("navigation").get_by_role("link")).to_have_text(
        ["Cameras", "Takes", "Adapters", "Events", "Wall"]
    )
    await opened(page, hub, "#map")
    await expect(page.get_by_text("[[tiles.source]]")).to_be_visible()


async def test_a_wrong_address_leads_back(page: Page, hub: RunningHub) -> None:
    answer = await page.goto(hub.url + "no/such/place")
    assert answer is not None
    assert answer.status == 404
    await expect(page.get_by_text("There is nothing at /no/such/place.")).to_be_visible()
    assert await findings(page) == []
    await page.get_by_role("link", name="Back to the cameras").click()
    await expect(page.locator("[data-hub=ready]")).to_be_attached()


async def test_where_there_is_no_page_of_all_hubs_it_is_said_what_it_needs(
    page: Page, hub: RunningHub
) -> None:
    await page.goto(hub.url + "fleet/")
    await expect(page.get_by_text("There is nothing at /fleet/.")).to_be_visible()
    await expect(page.get_by_text("this hub needs [http] fleet_broker in its configuration")).to_be_visible()


@pytest.mark.parametrize("size", SIZES)
async def test_every_part_in_every_state_is_on_one_page(browser: Browser, hub: RunningHub, size: str) -> None:
    async with sized(browser, size) as page:
        await page.goto(hub.url + "style")
        await expect(page.locator(".card")).to_have_count(22)
        rows = page.locator("table:not(.takes-lanes) tbody tr")
        await expect(rows).to_have_count(22)
        heights = await page.locator(".card").evaluate_all("cards => cards.map(one => one.offsetHeight)")
        assert len(set(heights)) == 1, "cards of one height"
        heights = await rows.evaluate_all("rows => rows.map(one => one.offsetHeight)")
        assert len(set(heights)) == 1, "rows of one height"
        assert await no_scrolling_sideways(page)
        found = [one for one in await findings(page) if not one.startswith("duplicate-id")]
        assert found == []


SCANNER = """
window.BarcodeDetector = class {
  async detect() {
    return [{rawValue: "https://example.org"}, {rawValue: "WIFI:S:SIM-CAM-2;T:WPA;P:camera-pass-2;;"}];
  }
};
navigator.mediaDevices.getUserMedia = async () => {
  const canvas = document.createElement("canvas");
  canvas.getContext("2d").fillRect(0, 0, 9, 9);
  return window.stream = canvas.captureStream();
};
"""
"""A browser with a camera that sees two codes: no Chromium on a machine without one has either."""


async def test_the_code_of_a_camera_is_scanned_where_the_browser_can(page: Page, hub: RunningHub) -> None:
    await page.add_init_script(SCANNER)
    await opened(page, hub)
    await page.get_by_role("button", name="Add a camera").click()
    dialog = page.get_by_role("dialog", name="Add a camera")
    await dialog.get_by_role("button", name="Scan the QR code").click()
    await expect(dialog.get_by_label("Network name")).to_have_value("SIM-CAM-2")
    await expect(dialog.locator("video")).to_have_count(0)
    assert await page.evaluate("window.stream.getTracks().map(one => one.readyState)") == ["ended"]
    await dialog.get_by_role("button", name="Next").click()
    await dialog.get_by_role("button", name="Add and connect").click()
    await shows(page, "SIM-CAM-2", "Connected")


async def test_where_it_cannot_there_is_no_button_to_scan(page: Page, hub: RunningHub) -> None:
    await page.add_init_script("delete window.BarcodeDetector")
    await opened(page, hub)
    await page.get_by_role("button", name="Add a camera").click()
    dialog = page.get_by_role("dialog", name="Add a camera")
    await expect(dialog.get_by_label("Network name")).to_be_visible()
    await expect(dialog.get_by_role("button", name="Scan the QR code")).to_have_count(0)
