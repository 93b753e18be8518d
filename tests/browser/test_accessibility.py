"""Everybody can use it: WCAG by axe-core, the keyboard alone, phone and desktop, light and dark."""

from __future__ import annotations

import json
from typing import Any

import pytest
from playwright.async_api import Browser, Page, expect

from tests.browser.looking import SIZES, act, card, opened, shows, sized
from tests.browser.running_hub import RunningHub
from tests.programs import axe

pytestmark = pytest.mark.asyncio(loop_scope="session")

RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}
OF_COLOURS = {"runOnly": {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}}
"""The rules that light and dark can differ by."""


async def findings(page: Page) -> list[str]:
    """What axe-core finds in light and dark; evaluated, since the page's own policy lets no script in."""
    if await page.evaluate("typeof axe") == "undefined":
        await page.evaluate(axe())
    found = await violations(page, RULES)
    await page.emulate_media(color_scheme="dark")
    await expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    found += await violations(page, OF_COLOURS)
    await page.emulate_media(color_scheme="light")
    await expect(page.locator("html")).to_have_attribute("data-theme", "light")
    return found


async def violations(page: Page, rules: dict[str, Any]) -> list[str]:
    """What breaks some rules."""
    options = json.dumps(rules | {"resultTypes": ["violations"]})
    found: list[dict[str, Any]] = await page.evaluate(f"axe.run({options}).then(r => r.violations)")
    return [
        f"{one['id']} ({one['impact']}): {node['target']} {node['failureSummary']}"
        for one in found
        for node in one["nodes"]
    ]


async def with_something_to_see(page: Page, hub: RunningHub) -> int:
    """A camera that is connected, one that failed, one that connects (its id is the
    result), and an adapter that is blocked."""
    await hub.client.search_networks()  # later no adapter is free for that
    await hub.connected(1, "Front")
    await hub.create(2, "Left wing", "not-its-password")
    await hub.set_fault("rfkill", interface="wlan2")
    await opened(page, hub)
    await expect(card(page, "Left wing").locator(".trouble")).to_be_visible()
    await hub.set_fault("slow-join")
    slow = await hub.create(3, "Right wing")
    await shows(page, "Right wing", "Connecting")
    return slow


async def no_scrolling_sideways(page: Page) -> bool:
    return bool(await page.evaluate("document.documentElement.scrollWidth <= innerWidth"))


@pytest.mark.parametrize("size", SIZES)
async def test_axe_finds_nothing(browser: Browser, hub: RunningHub, size: str) -> None:
    async with sized(browser, size) as page:
        slow = await with_something_to_see(page, hub)
        await expect(page.locator(".toast").first).to_be_visible()
        assert await findings(page) == []
        assert await no_scrolling_sideways(page)

        await act(card(page, "Front"), "Edit")
        await expect(page.get_by_role("dialog").get_by_label("Model")).to_be_visible()
        assert await findings(page) == []
        await page.keyboard.press("Escape")
        await page.get_by_role("button", name="Add a camera").click()
        dialog = page.get_by_role("dialog")
        await dialog.get_by_role("radio", name="SIM-CAM-2").check()
        assert await findings(page) == []
        await dialog.get_by_role("button", name="Next").click()
        await dialog.get_by_role("button", name="Add and connect").click()
        await expect(dialog.get_by_role("alert")).to_be_visible()
        assert await findings(page) == []
        await page.keyboard.press("Escape")
        await expect(dialog).to_be_hidden()

        await page.get_by_role("link", name="Left wing", exact=True).click()
        await expect(page.get_by_role("article").get_by_role("listitem").first).to_be_visible()
        await expect(page.get_by_role("slider")).to_be_visible()
        assert await findings(page) == []
        for view in ("adapters", "events"):
            await page.goto(f"{hub.url}#{view}")
            await expect(page.get_by_role("heading", level=2, name=view.capitalize())).to_be_visible()
            assert await findings(page) == []
        await page.goto(hub.url + "docs")
        await expect(page.get_by_role("heading", name="Register a camera")).to_be_visible()
        assert await findings(page) == []
        assert await no_scrolling_sideways(page)
        await hub.client.remove_device(slow)


async def test_axe_finds_nothing_in_the_list_of_many(browser: Browser, hub: RunningHub) -> None:
    async with sized(browser, "phone") as page:
        await hub.connected(1, "Front")
        for number in range(2, 12):
            await hub.create(number)
        await opened(page, hub)
        await page.get_by_role("checkbox", name="Select Front", exact=True).check()
        assert await findings(page) == []


CHIPS_OF_EVERY_STATE = """
    const chips = document.querySelector(".chips");
    for (let number = 0; number < 12; number++) chips.append(chips.lastElementChild.cloneNode(true));
"""
NARROW = {
    "320 pixels": {"viewport": {"width": 320, "height": 640}},
    "200 %": {"viewport": {"width": 640, "height": 400}, "device_scale_factor": 2},
}


@pytest.mark.parametrize("size", NARROW)
async def test_nothing_is_lost_where_little_fits(browser: Browser, hub: RunningHub, size: str) -> None:
    options: Any = NARROW[size]
    context = await browser.new_context(**options)
    page = await context.new_page()
    slow = await with_something_to_see(page, hub)
    assert await no_scrolling_sideways(page)
    await expect(page.get_by_role("navigation").get_by_role("link", name="Events")).to_be_in_viewport(ratio=1)
    await act(card(page, "Front"), "Edit")
    save = page.get_by_role("dialog").get_by_role("button", name="Save")
    await save.scroll_into_view_if_needed()
    await expect(save).to_be_in_viewport(ratio=1)
    await page.keyboard.press("Escape")
    await page.get_by_role("button", name="Add a camera").click()
    await expect(page.get_by_role("dialog").get_by_role("button", name="Next")).to_be_in_viewport(ratio=1)
    await page.keyboard.press("Escape")
    await page.get_by_role("link", name="Left wing", exact=True).click()
    await expect(page.get_by_role("article").get_by_role("listitem").first).to_be_visible()
    assert await no_scrolling_sideways(page)
    for number in range(4, 12):
        await hub.create(number, f"Camera with a rather long name, number {number}")
    await page.go_back()
    await expect(page.locator(".fold-row")).to_have_count(1)
    assert await no_scrolling_sideways(page)
    await page.locator(".unfold").click()
    await expect(page.locator("tbody tr[data-device]")).to_have_count(11)
    assert await no_scrolling_sideways(page)
    await page.evaluate(CHIPS_OF_EVERY_STATE)
    assert await no_scrolling_sideways(page)
    await page.goto(hub.url + "docs")
    await expect(page.get_by_role("heading", name="Register a camera")).to_be_visible()
    assert await no_scrolling_sideways(page)
    await hub.client.remove_device(slow)
    await context.close()


async def test_states_are_distinguished_in_forced_colours(browser: Browser, hub: RunningHub) -> None:
    context = await browser.new_context(forced_colors="active")
    page = await context.new_page()
    await hub.connected(1, "Front")
    await hub.create(2, "Left wing", "not-its-password")
    await opened(page, hub)
    grounds = set()
    for name, shape in (("Front", "connected"), ("Left wing", "wrong-password")):
        badge = card(page, name).locator(".badge")
        await expect(badge.locator(f"[data-shape={shape}]")).to_be_visible()
        drawn = "badge => [getComputedStyle(badge).borderTopColor, getComputedStyle(badge).backgroundColor]"
        edge, ground = await badge.evaluate(drawn)
        assert edge != ground
        stroke = await badge.locator("svg").evaluate("svg => getComputedStyle(svg).stroke")
        assert stroke != ground
        grounds.add(ground)
    assert len(grounds) == 2, "what a person has to act on is filled"
    await context.close()


async def test_a_camera_is_added_by_the_keyboard_alone(page: Page, hub: RunningHub) -> None:
    await opened(page, hub)
    keys = page.keyboard
    for _ in range(12):
        await keys.press("Tab")
        if await page.evaluate("document.activeElement.textContent") == "Add a camera":
            break
    await keys.press("Enter")
    dialog = page.get_by_role("dialog", name="Add a camera")
    await expect(dialog.get_by_role("radio").first).to_be_focused()
    await keys.press("Space")
    wanted = dialog.get_by_role("radio", name="SIM-CAM-1")
    for _ in range(await dialog.get_by_role("radio").count()):
        if await wanted.is_checked():
            break
        await keys.press("ArrowDown")  # they are in the order of their signals
    await keys.press("Enter")
    await expect(dialog.get_by_label("Password", exact=True)).to_be_focused()
    await keys.type("camera-pass-1")
    await keys.press("Enter")
    await shows(page, "SIM-CAM-1", "Connected")
    await expect(page.get_by_role("button", name="Add a camera")).to_be_focused()  # as before


async def test_a_dialog_keeps_the_focus_and_escape_closes_it(page: Page, hub: RunningHub) -> None:
    await hub.connected(1)
    await opened(page, hub)
    await act(card(page, "SIM-CAM-1"), "Edit")
    dialog = page.get_by_role("dialog")
    await expect(dialog).to_be_visible()
    for _ in range(8):
        await page.keyboard.press("Tab")
        inside = (
            "document.activeElement === document.body || document.activeElement.closest('dialog') !== null"
        )
        assert await page.evaluate(inside), "on the browser's own controls, or in the dialog"
    # From the browser's own controls, focus comes back in its own time: Escape waits for that.
    name = dialog.get_by_label("Name", exact=True)
    await name.focus()
    await expect(name).to_be_focused()
    await page.keyboard.press("Escape")
    await expect(dialog).to_be_hidden()
    await expect(card(page, "SIM-CAM-1").get_by_role("button", name="More for SIM-CAM-1")).to_be_focused()


async def test_a_camera_is_commanded_by_the_keyboard_alone(page: Page, hub: RunningHub) -> None:
    for number in range(1, 10):
        await hub.create(number, f"Camera {number}")
    await opened(page, hub)
    await hub.client.wait_until(lambda client: client.devices[min(client.devices)].state == "connected", 60)
    keys = page.keyboard
    await page.get_by_role("group", name="State").get_by_role("button").last.focus()
    await keys.press("Tab")
    await expect(page.get_by_role("button", name="Add a camera")).to_be_focused()
    await keys.press("Tab")  # the buttons are disabled
    await expect(page.get_by_role("checkbox", name="Select all")).to_be_focused()
    await page.get_by_role("checkbox", name="Select Camera 1", exact=True).focus()
    await keys.press("Space")
    await expect(page.get_by_text("1 selected")).to_be_visible()
    await page.get_by_role("checkbox", name="Select all").focus()
    for _ in range(5):
        await keys.press("Shift+Tab")
        if await page.evaluate("document.activeElement.textContent") == "Disconnect":
            break
    await keys.press("Enter")
    row = page.get_by_role("row").filter(has=page.get_by_role("link", name="Camera 1", exact=True))
    await expect(row.locator(".badge")).to_have_text("Off")
    await row.get_by_role("link").focus()
    await keys.press("Enter")
    await expect(page.get_by_role("heading", name="Camera 1", level=2)).to_be_focused()
    await expect(
        page.get_by_role("article").get_by_role("button", name="Connect", exact=True)
    ).to_be_enabled()
    for _ in range(4):
        await keys.press("Tab")
        if await page.evaluate("document.activeElement.textContent") == "Connect":
            break
    await keys.press("Enter")
    await expect(page.get_by_role("article").locator(".badge")).to_have_text("Connected")


async def test_what_happens_is_announced_to_who_cannot_see_it(page: Page, hub: RunningHub) -> None:
    await opened(page, hub)
    await hub.connected(1)
    await expect(page.get_by_role("status")).to_have_text("SIM-CAM-1 is connected through wlan0")
