"""A group of cameras is connected by one choice, which frees the adapters that it needs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.async_api import Page, expect

from tests.browser.looking import opened, shows, toast
from tests.browser.running_hub import running_hub

pytestmark = pytest.mark.asyncio(loop_scope="session")

GROUP = '[[connect.group]]\nname = "nose"\ndevices = ["Front", "Tail"]\n'
RESERVED = '[[interfaces.reserve]]\ndevice = "Belly"\nusb_port = "9-9"\n'


async def test_a_group_is_connected_or_nothing_is_changed(page: Page, tmp_path: Path) -> None:
    async with running_hub(tmp_path, GROUP) as hub:
        for number in (1, 2, 3):
            await hub.connected(number, f"Mast {number}")
        await hub.create(4, "Front")
        await opened(page, hub)
        await shows(page, "Front", "No adapter")
        head = page.locator(".section-head").first
        await head.get_by_role("button", name="Groups").click()
        await page.get_by_role("menuitem", name="Connect nose (1), Tail (no such camera)", exact=True).click()
        await expect(toast(page, "nose: 1 of 1 camera connected.")).to_have_class("toast good")
        await shows(page, "Front", "Connected")
        connected = [one.name for one in hub.client.devices.values() if one.state == "connected"]
        assert len(connected) == 3


async def test_what_the_configuration_names_and_is_not_registered_is_shown(
    page: Page, tmp_path: Path
) -> None:
    async with running_hub(tmp_path, GROUP + RESERVED) as hub:
        device = await hub.create(4, "Front")
        await opened(page, hub)
        groups = page.locator(".section-head").first.get_by_role("button", name="Groups")
        await groups.click()
        await expect(
            page.get_by_role("menuitem", name="Connect nose (1), Tail (no such camera)")
        ).to_be_visible()
        await page.keyboard.press("Escape")
        await hub.client.update_device(device, {"name": "Tail"})
        await shows(page, "Tail", "Connected")
        await groups.click()
        await expect(
            page.get_by_role("menuitem", name="Connect nose (1), Front (no such camera)")
        ).to_be_visible()
        await page.keyboard.press("Escape")
        await page.get_by_role("link", name="Adapters").click()
        await expect(page.get_by_text('a camera named "Belly", but there is no such camera')).to_be_visible()


async def test_without_groups_there_is_no_button_for_them(page: Page, tmp_path: Path) -> None:
    async with running_hub(tmp_path) as hub:
        await hub.connected(1)
        await opened(page, hub)
        await shows(page, "SIM-CAM-1", "Connected")
        await expect(page.get_by_role("button", name="Groups")).to_have_count(0)


async def test_each_of_a_group_that_is_not_connected_is_named_with_its_reason(
    page: Page, tmp_path: Path
) -> None:
    names = [f"Mast {number}" for number in range(1, 7)]
    group = f'[[connect.group]]\nname = "mast"\ndevices = {json.dumps(names)}\n'
    async with running_hub(tmp_path, group) as hub:
        ids = [await hub.connected(1, names[0])]
        ids += [await hub.create(4, name, "not-its-password") for name in names[1:]]
        row = {"done": False, "code": "no-interface-available", "message": "no Wi-Fi interface is available"}
        refused = {"code": "authentication-failed", "message": "Mast refused the password"}
        rows = [row | {"device_id": one} for one in ids]
        rows[0] |= {"done": True, "code": None}
        rows[1] |= refused
        await opened(page, hub)
        await page.route("**/groups/mast/connect**", lambda route: route.fulfill(json={"results": rows}))
        await page.locator(".section-head").first.get_by_role("button", name="Groups").click()
        await page.get_by_role("menuitem", name="Connect as many of mast as possible").click()
        told = toast(page, "mast: 1 of 6 cameras connected. Mast 2: Mast refused the password. ")
        await expect(told).to_contain_text("Mast 3, Mast 4, Mast 5, Mast 6: No adapter is free.")
        await expect(told).to_have_class("toast bad")
