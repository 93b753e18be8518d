"""What happened, also before the page was opened: by camera and by kind, repeats as one."""

from __future__ import annotations

import re

import pytest
from playwright.async_api import Page, expect

from tests.browser.looking import opened, shows
from tests.browser.running_hub import RunningHub
from tests.commands import connect, disconnect

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_they_begin_before_the_page_was_opened(page: Page, hub: RunningHub) -> None:
    device = await hub.connected(1, "Early bird")
    await disconnect(hub.client, device)
    await hub.until(device, "disconnected")
    await opened(page, hub, "#events")
    log = page.get_by_role("log")
    await expect(log.get_by_text("Early bird is connected through")).to_be_visible()
    await expect(log.get_by_text("Early bird is disconnected")).to_be_visible()
    await expect(page.get_by_role("heading", name="Today")).to_be_visible()
    # What happens now stands above it, once.
    await connect(hub.client, device)
    await expect(log.get_by_text("Early bird is connected through")).to_have_count(2)
    await expect(log.locator("li").first).to_contain_text("Early bird is connected through")


async def test_they_are_filtered_by_camera_and_kind(page: Page, hub: RunningHub) -> None:
    await hub.connected(1, "Hawk")
    await hub.create(2, "Owl", "not-its-password")
    await opened(page, hub)
    await shows(page, "Owl", "Failed")
    await page.get_by_role("link", name="Events").click()
    log = page.get_by_role("log")
    kinds = page.get_by_role("group", name="Kind")
    await expect(log.get_by_text("Owl: The password was refused.", exact=True)).to_be_visible()
    await kinds.get_by_role("button", name="Problems").click()
    await expect(log.get_by_text("Hawk is connected")).to_have_count(0)
    await expect(log.get_by_text("Owl: The password was refused.")).to_be_visible()
    await kinds.get_by_role("button", name="All").click()
    await page.get_by_role("combobox", name="Camera").select_option("Hawk")
    await expect(log.get_by_text("Hawk is connected")).to_be_visible()
    await expect(log.get_by_text("Owl")).to_have_count(0)
    await kinds.get_by_role("button", name="Recordings").click()
    await expect(page.get_by_text("No events.")).to_be_visible()
    await kinds.get_by_role("button", name="All").click()
    await page.get_by_role("combobox", name="Camera").select_option("All cameras")


async def test_beside_a_camera_are_its_own(page: Page, hub: RunningHub) -> None:
    device = await hub.connected(1, "Hawk")
    await hub.connected(2, "Owl")
    await opened(page, hub)
    log = page.get_by_role("log")
    await expect(log.get_by_text("Owl is connected")).to_be_visible()
    await page.goto(f"{hub.url}#camera/{device}")
    await expect(log.get_by_text("Hawk is connected")).to_be_visible()
    await expect(log.get_by_text("Owl")).to_have_count(0)


async def test_repeats_are_one_line(page: Page, hub: RunningHub) -> None:
    device = await hub.create(2, "Parrot", "not-its-password")
    for number in (1, 2, 3):
        if number > 1:
            await connect(hub.client, device)
        await hub.client.wait_until(lambda client: client.devices[device].state == "connecting", 20)
        await hub.until(device, "disconnected")
    await opened(page, hub, "#events")
    line = page.get_by_role("log").locator("li").filter(has_text="Parrot: The password was refused.")
    await expect(line).to_have_count(1)
    await expect(line).to_contain_text("(3 times)")
    await expect(line.locator("time")).to_have_attribute("title", re.compile(r" ago\)$"))


async def test_a_name_from_right_to_left_leaves_the_order_of_a_line(page: Page, hub: RunningHub) -> None:
    """Now and before: where the line begins with it, and where it does not."""
    name = "\u05de\u05e6\u05dc\u05de\u05d4"
    device = await hub.connected(1, name)
    await opened(page, hub, "#events")
    await disconnect(hub.client, device)
    await hub.until(device, "disconnected")
    for verb in ("connected through", "disconnected"):
        line = page.get_by_role("log").get_by_text(f"\u2068{name}\u2069 is {verb}")
        await expect(line).to_be_visible()
        assert await line.evaluate("one => getComputedStyle(one).direction") == "ltr"
