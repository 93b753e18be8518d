"""Everybody can use it: WCAG by axe-core, the keyboard alone, phone and desktop, light and dark."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, Page, expect

from tests.browser.looking import card, opened, shows
from tests.browser.running_hub import RunningHub

pytestmark = pytest.mark.asyncio(loop_scope="session")

AXE = (Path(__file__).parents[2] / "frontend/node_modules/axe-core/axe.min.js").read_text(encoding="utf-8")
RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}
SIZES = {"phone": (390, 844), "desktop": (1280, 800)}


async def findings(page: Page) -> list[str]:
    """What axe-core finds; evaluated, since the page's own policy lets no script in."""
    await page.evaluate(AXE)
    found: list[dict[str, Any]] = await page.evaluate(f"axe.run({json.dumps(RULES)}).then(r => r.violations)")
    return [
        f"{one['id']} ({one['impact']}): {node['target']} {node['failureSummary']}"
        for one in found
        for node in one["nodes"]
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
async def test_axe_finds_nothing(browser: Browser, hub: RunningHub, scheme: Any, size: str) -> None:
    width, height = SIZES[size]
    context = await browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
    page = await context.new_page()
    await hub.client.search_air()  # later no adapter is free for that
    await hub.connected(1, "Front")
    await hub.create(2, "Left wing", "not-its-password")
    await hub.set_fault("rfkill", interface="wlan2")
    await opened(page, hub)
    await expect(card(page, "Left wing").locator(".trouble")).to_be_visible()
    await hub.set_fault("slow-join")
    slow = await hub.create(3, "Right wing")
    await shows(page, "Right wing", "Connecting")
    assert await findings(page) == []
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")

    await card(page, "Front").get_by_role("button", name="Edit").click()
    assert await findings(page) == []
    await page.keyboard.press("Escape")
    await page.get_by_role("button", name="Add a camera").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_role("radio").first.check()
    assert await findings(page) == []
    await dialog.get_by_role("button", name="Next").click()
    await dialog.get_by_role("radio", name="SIM-CAM-4").check()
    assert await findings(page) == []
    await dialog.get_by_role("button", name="Next").click()
    assert await findings(page) == []
    await page.keyboard.press("Escape")
    await expect(dialog).to_be_hidden()

    for view in ("adapters", "events", "map"):
        await page.goto(f"{hub.url}#{view}")
        await expect(page.get_by_role("heading", level=2, name=view.capitalize())).to_be_visible()
        assert await findings(page) == []
    await page.goto(hub.url + "docs")
    await expect(page.get_by_role("heading", name="Register a camera")).to_be_visible()
    assert await findings(page) == []
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    await hub.client.remove_device(slow)
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
    await dialog.get_by_role("radio").first.focus()
    await keys.press("Space")
    await keys.press("Enter")
    await expect(dialog.get_by_role("radio", name="SIM-CAM-1")).to_be_visible()
    await dialog.get_by_role("textbox", name="Or type its name").focus()
    await keys.type("SIM-CAM-1")
    await keys.press("Enter")
    await dialog.get_by_role("textbox", name="Password").focus()
    await keys.type("camera-pass-1")
    await keys.press("Enter")
    await shows(page, "SIM-CAM-1", "Connected")
    focused = await page.evaluate("document.activeElement.textContent")
    assert focused == "Add a camera", "the focus is back where it was"


async def test_a_dialog_keeps_the_focus_and_escape_closes_it(page: Page, hub: RunningHub) -> None:
    await hub.connected(1)
    await opened(page, hub)
    await card(page, "SIM-CAM-1").get_by_role("button", name="Edit").click()
    dialog = page.get_by_role("dialog")
    await expect(dialog).to_be_visible()
    for _ in range(8):
        await page.keyboard.press("Tab")
        inside = (
            "document.activeElement === document.body || document.activeElement.closest('dialog') !== null"
        )
        assert await page.evaluate(inside), "on the browser's own controls, or in the dialog"
    # From the browser's own controls, focus comes back in its own time: Escape waits for that.
    name = dialog.get_by_label("Name")
    await name.focus()
    await expect(name).to_be_focused()
    await page.keyboard.press("Escape")
    await expect(dialog).to_be_hidden()
    await expect(card(page, "SIM-CAM-1").get_by_role("button", name="Edit")).to_be_focused()


@pytest.mark.parametrize("size", SIZES)
async def test_fifty_cameras(browser: Browser, hub: RunningHub, size: str) -> None:
    width, height = SIZES[size]
    context = await browser.new_context(viewport={"width": width, "height": height})
    page = await context.new_page()
    for number in range(1, 51):
        await hub.create(number, f"Camera with a rather long name, number {number}")
    await opened(page, hub)
    await expect(page.locator(".card")).to_have_count(50)
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    await page.get_by_label("Find").fill("number 37")
    await expect(page.locator(".card")).to_have_count(1)
    await page.get_by_label("Find").fill("connected")
    await expect(page.locator(".card")).to_have_count(50)
    await context.close()


async def test_what_happens_is_told_to_who_cannot_see_it(page: Page, hub: RunningHub) -> None:
    await opened(page, hub)
    await hub.connected(1)
    await expect(page.get_by_role("status")).to_have_text("SIM-CAM-1 is connected through wlan0")
