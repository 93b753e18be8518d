"""Cameras on the page: added, connected, renamed, removed, and what goes wrong."""

from __future__ import annotations

import re

import pytest
from playwright.async_api import Page, expect

from tests.browser.looking import (
    act,
    card,
    details,
    is_the_same,
    mark,
    opened,
    opened_menu,
    shows,
    toast,
)
from tests.browser.running_hub import RunningHub
from tests.commands import disconnect

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_a_camera_is_added_in_two_steps(page: Page, hub: RunningHub) -> None:
    await opened(page, hub)
    await expect(page.get_by_text("No cameras yet.")).to_be_visible()
    await page.get_by_role("button", name="Add a camera").click()
    dialog = page.get_by_role("dialog", name="Add a camera")
    await expect(dialog.get_by_role("button", name="Next")).to_be_disabled()
    await dialog.get_by_role("radio", name="SIM-CAM-2").check()
    await dialog.get_by_role("button", name="Next").click()
    await dialog.get_by_label("Model").select_option("Insta360 X3")
    await dialog.get_by_role("textbox", name="Password").fill("camera-pass-2")
    await dialog.get_by_label("Name (optional)").fill("Left wing")
    await dialog.get_by_role("button", name="Add and connect").click()
    await expect(dialog).to_be_hidden()
    await shows(page, "Left wing", "Connected")
    [device] = hub.client.devices.values()
    assert (device.codename, device.ssid, device.state) == ("insta360-x3", b"SIM-CAM-2", "connected")
    await expect(card(page, "Left wing")).to_contain_text("60 %")
    await page.get_by_role("link", name="Adapters").click()
    await expect(page.locator("[data-interface=wlan0] .badge")).to_have_text("In use by Left wing")


async def test_a_camera_is_disconnected_connected_renamed_and_removed(page: Page, hub: RunningHub) -> None:
    await opened(page, hub)
    await hub.connected(1)
    await shows(page, "SIM-CAM-1", "Connected")
    await act(card(page, "SIM-CAM-1"), "Disconnect")
    await shows(page, "SIM-CAM-1", "Off")
    await act(card(page, "SIM-CAM-1"), "Connect")
    await shows(page, "SIM-CAM-1", "Connected")
    await act(card(page, "SIM-CAM-1"), "Edit")
    await page.get_by_role("dialog").get_by_label("Name", exact=True).fill("Front")
    await page.get_by_role("dialog").get_by_role("button", name="Save").click()
    await shows(page, "Front", "Connected")
    await act(card(page, "Front"), "Remove")
    await page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    await expect(page.locator(".card")).to_have_count(0)
    assert not hub.client.devices


async def test_connecting_shows_that_something_is_going_on(page: Page, hub: RunningHub) -> None:
    await opened(page, hub)
    await hub.set_fault("slow-join", seconds=600.0)
    device = await hub.create(1)
    await shows(page, "SIM-CAM-1", "Connecting")
    await expect(card(page, "SIM-CAM-1").get_by_role("progressbar", name="Connecting")).to_be_visible()
    await act(card(page, "SIM-CAM-1"), "Stop")
    await shows(page, "SIM-CAM-1", "Off")
    await hub.until(device, "disconnected")


async def test_a_wrong_password_is_said_and_mended_in_place(page: Page, hub: RunningHub) -> None:
    await opened(page, hub)
    await hub.create(1, password="not-its-password")
    trouble = card(page, "SIM-CAM-1").locator(".trouble")
    await shows(page, "SIM-CAM-1", "Wrong password")
    await expect(trouble).to_have_text("Look up the password in the camera's Wi-Fi settings, and enter it.")
    await expect(card(page, "SIM-CAM-1").locator(".since")).to_have_text(re.compile(r"^at \d"))
    at_length = (await details(page, "SIM-CAM-1")).locator(".trouble")
    await expect(at_length).to_contain_text("The password was refused.")
    await expect(at_length).to_contain_text("Look up the password in the camera's Wi-Fi settings")
    await page.go_back()
    await act(card(page, "SIM-CAM-1"), "Change the password")
    dialog = page.get_by_role("dialog", name="Change the password")
    await dialog.get_by_label("Camera's Wi-Fi password").fill("short")
    await dialog.get_by_role("button", name="Save and connect").click()
    await expect(dialog.get_by_role("alert")).to_contain_text("8 to 63 characters")
    await dialog.get_by_label("Camera's Wi-Fi password").fill("camera-pass-1")
    await dialog.get_by_role("button", name="Save and connect").click()
    await shows(page, "SIM-CAM-1", "Connected")
    await expect(trouble).to_be_hidden()


async def test_a_camera_that_dies_and_returns(page: Page, hub: RunningHub) -> None:
    await opened(page, hub)
    await hub.connected(1)
    await shows(page, "SIM-CAM-1", "Connected")
    await mark(page)
    await hub.power(1, on=False)
    await shows(page, "SIM-CAM-1", "Connecting")
    await expect(card(page, "SIM-CAM-1").locator(".trouble")).to_contain_text("The connection was lost.")
    await hub.power(1, on=True)
    await shows(page, "SIM-CAM-1", "Connected")
    assert await is_the_same(page)


async def test_a_camera_that_is_away_for_longer_is_brought_back(page: Page, hub: RunningHub) -> None:
    await opened(page, hub)
    await hub.connected(1)
    await mark(page)
    await hub.power(1, on=False)
    await shows(page, "SIM-CAM-1", "Searching")  # after the grace time
    trouble = card(page, "SIM-CAM-1").locator(".trouble")
    await expect(trouble).to_contain_text("Reconnects automatically.")
    await hub.power(1, on=True)
    await shows(page, "SIM-CAM-1", "Connected")
    await expect(trouble).to_be_hidden()
    assert await is_the_same(page)


async def test_a_lost_camera_that_somebody_disconnects_is_not_said_to_come_back(
    page: Page, hub: RunningHub
) -> None:
    await opened(page, hub)
    device = await hub.connected(1)
    await hub.power(1, on=False)
    trouble = card(page, "SIM-CAM-1").locator(".trouble")
    await expect(trouble).to_contain_text("Reconnects automatically")
    await disconnect(hub.client, device)
    await expect(trouble).not_to_contain_text("Reconnects automatically")
    await shows(page, "SIM-CAM-1", "Lost")
    await expect(trouble).to_have_text("The connection was lost. Check that the camera is on and in range.")


async def test_whether_and_when_a_camera_is_brought_back_is_set_with_its_name(
    page: Page, hub: RunningHub
) -> None:
    await opened(page, hub)
    device = await hub.connected(1)
    await act(card(page, "SIM-CAM-1"), "Edit")
    dialog = page.get_by_role("dialog", name="Edit ")
    await dialog.get_by_label("Name", exact=True).fill("Front")
    await dialog.get_by_label("Reconnect automatically").uncheck()
    await dialog.get_by_label("Priority").fill("7")
    await dialog.get_by_role("button", name="Save").click()
    await shows(page, "Front", "Connected")
    record = hub.client.devices[device]
    assert (record.auto_reconnect, record.priority) == (False, 7)
    await act(card(page, "Front"), "Edit")
    await expect(dialog.get_by_label("Reconnect automatically")).not_to_be_checked()
    await expect(dialog.get_by_label("Priority")).to_have_value("7")
    await dialog.get_by_label("Name", exact=True).fill(" ")
    await dialog.get_by_role("button", name="Save").click()
    await expect(dialog.get_by_role("alert")).to_be_visible()


async def test_a_camera_that_is_connected_and_does_not_answer(page: Page, hub: RunningHub) -> None:
    await opened(page, hub)
    await hub.set_fault("silent")
    await hub.connected(1)
    await shows(page, "SIM-CAM-1", "Not answering")
    await expect(card(page, "SIM-CAM-1").locator(".trouble")).to_contain_text("Its Wi-Fi is up.")
    await hub.set_fault("silent", off=True)
    await shows(page, "SIM-CAM-1", "Connected")
    await expect(card(page, "SIM-CAM-1").locator(".trouble")).to_be_hidden()


@pytest.mark.parametrize("way", ["new", "old"])
async def test_an_address_is_copied_and_leads_to_the_camera(page: Page, hub: RunningHub, way: str) -> None:
    if way == "old":  # as over plain HTTP from another host
        await page.add_init_script("delete Navigator.prototype.clipboard")
    await opened(page, hub)
    device = await hub.connected(1)
    shown = card(page, "SIM-CAM-1")
    address = hub.client.devices[device].address
    assert address
    await expect(shown).to_contain_text(address)
    await act(shown, f"Copy {address}")
    await expect(toast(page, f"Copied {address}")).to_be_visible()
    menu = await opened_menu(shown)
    link = menu.get_by_role("menuitem", name="Open the camera's own page")
    assert await link.evaluate("link => link.href") == f"{hub.url}cameras/{device}/"
    await page.keyboard.press("Escape")
    await expect(menu).to_have_count(0)
    await act(shown, "Edit")
    await page.get_by_role("dialog").get_by_label("Name", exact=True).fill("")
    await page.keyboard.press("Control+V")
    await expect(page.get_by_role("dialog").get_by_label("Name", exact=True)).to_have_value(address)


async def test_an_adapter_that_is_pulled_out(page: Page, hub: RunningHub) -> None:
    await opened(page, hub)
    device = await hub.connected(1)
    await shows(page, "SIM-CAM-1", "Connected")
    interface = hub.client.devices[device].interface
    await hub.client.simulate("UnplugAdapter", "s", interface)
    await shows(page, "SIM-CAM-1", "Searching")
    await expect(card(page, "SIM-CAM-1").locator(".trouble")).to_contain_text("The adapter was lost.")
    await expect(page.locator("#adapters-title .count")).to_have_text("2 of 2 free")
    await expect(page.get_by_role("log")).to_contain_text(f"The adapter {interface} was unplugged")
    await expect((await details(page, "SIM-CAM-1")).locator(".trouble")).to_contain_text(
        f"The adapter {interface} was unplugged."
    )
    await page.get_by_role("link", name="Adapters").click()
    await expect(page.locator("[data-interface]")).to_have_count(2)
    await hub.client.simulate("PlugAdapter", "s", interface)
    await expect(page.locator("[data-interface]")).to_have_count(3)


async def test_no_adapter_is_free_to_search(page: Page, hub: RunningHub) -> None:
    await opened(page, hub)
    for number in (1, 2, 3):
        await hub.connected(number)
    await page.get_by_role("button", name="Add a camera").click()
    await expect(page.get_by_role("dialog")).to_contain_text("No adapter is free to scan")


async def test_an_adapter_that_cannot_be_used_says_why(page: Page, hub: RunningHub) -> None:
    await opened(page, hub, "#adapters")
    await hub.set_fault("rfkill", interface="wlan1")
    row = page.locator("[data-interface=wlan1]")
    await expect(row.locator(".badge")).to_have_text("Unavailable")
    await expect(row).to_contain_text("Blocked by rfkill (soft-blocked)")


async def test_an_adapter_that_was_blocked_was_not_unplugged(page: Page, hub: RunningHub) -> None:
    device = await hub.connected(1)
    await opened(page, hub)
    interface = hub.client.devices[device].interface
    for other in {"wlan0", "wlan1", "wlan2"} - {interface}:
        await hub.set_fault("rfkill", interface=other)
    await hub.set_fault("rfkill", interface=interface, hard=True)
    trouble = (await details(page, "SIM-CAM-1")).locator(".trouble")
    await expect(trouble).to_contain_text(f"The adapter {interface} was blocked by rfkill (hard-blocked)")
    await expect(trouble).to_contain_text("its switch, or the computer's, unblocks it.")
    await expect(trouble).not_to_contain_text("unplugged")


async def test_a_hostile_name_is_text(page: Page, hub: RunningHub) -> None:
    hostile, turned = "<img src=x onerror=alert(1)>", "\u202egnorw"
    dialogs: list[str] = []
    page.on("dialog", lambda dialog: dialogs.append(dialog.message))
    await hub.add_camera(hostile.encode(), "")
    await hub.add_camera(turned.encode(), "")
    await opened(page, hub)
    await page.get_by_role("button", name="Add a camera").click()
    dialog = page.get_by_role("dialog")
    await expect(dialog.get_by_text(hostile)).to_be_visible()
    await expect(dialog.get_by_text(r"\u202egnorw")).to_be_visible()
    await dialog.get_by_role("radio", name=hostile).check()
    await dialog.get_by_role("button", name="Next").click()
    await dialog.get_by_role("button", name="Add and connect").click()
    await shows(page, hostile, "Connected")
    await expect(page.get_by_role("log")).to_contain_text(f"{hostile} is connected")
    assert await page.locator("img[src=x]").count() == 0
    assert dialogs == []
