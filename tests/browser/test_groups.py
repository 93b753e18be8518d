"""A group of cameras is connected by one choice, which frees the adapters that it needs."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.async_api import Page, expect

from tests.browser.looking import opened, shows, toast
from tests.browser.running_hub import running_hub

pytestmark = pytest.mark.asyncio(loop_scope="session")

GROUP = '[[connect.group]]\nname = "nose"\ndevices = ["Front", "Tail"]\n'


async def test_a_group_is_connected_or_nothing_is_changed(page: Page, tmp_path: Path) -> None:
    async with running_hub(tmp_path, GROUP) as hub:
        for number in (1, 2, 3):
            await hub.connected(number, f"Mast {number}")
        await hub.create(4, "Front")
        await opened(page, hub)
        await shows(page, "Front", "No adapter")
        head = page.locator(".section-head").first
        await head.get_by_role("button", name="Groups").click()
        await page.get_by_role("menuitem", name="Connect nose (1)").click()
        await expect(toast(page, "nose: 1 of 1 camera connected.")).to_be_visible()
        await shows(page, "Front", "Connected")
        connected = [one.name for one in hub.client.devices.values() if one.state == "connected"]
        assert len(connected) == 3


async def test_without_groups_there_is_no_button_for_them(page: Page, tmp_path: Path) -> None:
    async with running_hub(tmp_path) as hub:
        await hub.connected(1)
        await opened(page, hub)
        await shows(page, "SIM-CAM-1", "Connected")
        await expect(page.get_by_role("button", name="Groups")).to_have_count(0)
