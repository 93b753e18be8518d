"""Cameras that sleep: told apart, woken, paired, and added without typing."""

from __future__ import annotations

import json

import pytest
from playwright.async_api import Locator, Page, Route, expect

from tests.browser.looking import act, card, choose_network, opened, opened_menu, shows, toast
from tests.browser.running_hub import RunningHub
from tests.browser.test_accessibility import findings, no_scrolling_sideways
from tests.commands import disconnect
from wifimgrd.bus.connection import Variant

pytestmark = pytest.mark.asyncio(loop_scope="session")

GOPRO = "GP25140001"
ADDRESS = "F4:DD:11:52:0A:9A"
PAIR = "Pair and add GoPro 0001"


async def add_dialog(page: Page) -> Locator:
    await page.get_by_role("button", name="Add a camera").click()
    return page.get_by_role("dialog", name="Add a camera")


async def asleep(hub: RunningHub) -> int:
    """The GoPro, paired, disconnected and asleep."""
    device = await hub.client.create_device({"connection_type": "wifi", "bluetooth_address": ADDRESS})
    await hub.until(device, "connected")
    await disconnect(hub.client, device)
    await hub.client.simulate("SleepCamera", "ay", GOPRO.encode())
    return device


async def test_a_camera_in_pairing_mode_is_added_by_one_click(page: Page, hub: RunningHub) -> None:
    await page.set_viewport_size({"width": 320, "height": 640})
    await opened(page, hub)
    dialog = await add_dialog(page)
    pair = dialog.get_by_role("button", name=PAIR)
    await expect(pair).to_be_visible()
    await expect(dialog.get_by_text("X4 SIM360")).to_have_count(0)  # it needs no pairing
    assert await findings(page) == []
    assert await no_scrolling_sideways(page)
    box = await pair.bounding_box()
    assert box is not None
    assert box["height"] >= 44
    await pair.focus()
    await page.keyboard.press("Enter")
    await expect(dialog.get_by_role("status").filter(has_text="Pairing GoPro 0001")).to_be_visible()
    await shows(page, GOPRO, "Connected")
    await expect(dialog).to_have_count(0)
    [device] = hub.client.devices.values()
    assert (device.codename, device.bluetooth_address) == ("gopro-hero12", ADDRESS)


async def test_searches_follow_each_other_only_while_the_dialogue_is_open(
    page: Page, hub: RunningHub
) -> None:
    searches: list[str] = []
    page.on("request", lambda asked: searches.append(asked.url) if "bluetooth/search" in asked.url else None)
    await page.clock.install()
    await hub.create(1)  # an empty hub offers what is in range
    await opened(page, hub)
    assert searches == []
    dialog = await add_dialog(page)
    await expect(dialog.get_by_role("button", name=PAIR)).to_be_visible()
    async with page.expect_request("**/bluetooth/search?seconds=5"):
        await page.clock.fast_forward(5_000)
    known = len(searches)
    await page.keyboard.press("Escape")
    await expect(dialog).to_have_count(0)
    await page.clock.fast_forward(60_000)
    await opened(page, hub)
    assert len(searches) == known


async def test_a_pairing_that_fails_is_explained_and_repeated(page: Page, hub: RunningHub) -> None:
    await opened(page, hub)
    dialog = await add_dialog(page)
    pair = dialog.get_by_role("button", name=PAIR)
    await expect(pair).to_be_visible()
    await hub.set_fault("out-of-range", ssid=GOPRO)
    await pair.click()
    await expect(dialog.get_by_role("alert")).to_contain_text("The camera could not be paired. No answer")
    await hub.set_fault("out-of-range", ssid=GOPRO, off=True)
    await pair.click()
    await shows(page, GOPRO, "Connected")


async def test_a_camera_of_no_known_model_is_added_with_its_own_name(page: Page, hub: RunningHub) -> None:
    ssid = b"GP25140002"
    await hub.add_camera(
        ssid,
        "gopro-pass-2",
        bluetooth=Variant("s", "gopro"),
        bluetooth_name=Variant("s", "GoPro 0002"),
        camera_model=Variant("s", "HERO99 Black"),
    )
    try:
        await opened(page, hub)
        dialog = await add_dialog(page)
        pair = dialog.get_by_role("button", name="Pair and add GoPro 0002")
        await pair.click()
        await shows(page, "HERO99 Black", "Connected")
        [device] = hub.client.devices.values()
        assert (device.name, device.codename) == ("HERO99 Black", "gopro-mission-1-pro")
    finally:
        await hub.client.simulate("PowerOffCamera", "ayb", ssid, True)


async def test_a_sleeping_camera_is_told_apart_woken_and_connected(page: Page, hub: RunningHub) -> None:
    await asleep(hub)
    await opened(page, hub)
    await shows(page, GOPRO, "Asleep")  # by one search as the page comes into view
    await expect(card(page, GOPRO).locator("[data-shape=asleep]")).to_be_visible()
    menu = await opened_menu(card(page, GOPRO))
    await expect(menu.get_by_role("menuitem")).to_have_text(["Wake", "Edit", "Remove"])
    await page.keyboard.press("Escape")
    await act(card(page, GOPRO), "Wake and connect")
    await shows(page, GOPRO, "Waking")
    await expect(card(page, GOPRO).locator("[data-shape=waking]")).to_be_visible()
    await shows(page, GOPRO, "Connected")
    await card(page, GOPRO).get_by_role("link", name=GOPRO).click()
    await expect(page.locator("[data-kind=wake]").first).to_contain_text("Woken at")
    await act(page.get_by_role("article"), "Put to sleep")
    await expect(page.locator(".camera-head .badge")).to_have_text("Asleep")
    await expect(toast(page, f"{GOPRO} is asleep")).to_be_visible()


async def test_a_search_that_the_hub_had_no_time_for_is_made_again(page: Page, hub: RunningHub) -> None:
    await asleep(hub)
    refused = json.dumps({"type": "about:blank", "status": 409, "code": "busy", "detail": "it wakes another"})

    async def refuse(route: Route) -> None:
        await route.fulfill(status=409, content_type="application/problem+json", body=refused)

    await page.clock.install()
    await page.route("**/bluetooth/search*", refuse, times=1)
    async with page.expect_response("**/bluetooth/search*"):
        await opened(page, hub)
    await shows(page, GOPRO, "Off")
    await page.clock.fast_forward(5_000)
    await shows(page, GOPRO, "Asleep")


async def test_a_camera_that_a_beacon_wakes_is_woken_by_itself(page: Page, hub: RunningHub) -> None:
    name = "X4 SIM360.OSC"
    await hub.client.create_device(
        {"codename": "insta360-x4", "connection_type": "wifi", "ssid": name, "password": "insta-pass-1"}
    )
    await opened(page, hub)
    await shows(page, name, "Not found")  # it may be off, or sleep: it joins first
    await expect(card(page, name).get_by_role("button", name="Connect", exact=True)).to_be_enabled()
    menu = await opened_menu(card(page, name))
    await expect(menu.get_by_role("menuitem")).to_have_text(["Wake and connect", "Wake", "Edit", "Remove"])
    await page.keyboard.press("Escape")
    await act(card(page, name), "Wake")
    await shows(page, name, "Waking")
    await expect(toast(page, f"{name} is awake")).to_be_visible()
    await act(card(page, name), "Connect")
    await shows(page, name, "Connected")
    menu = await opened_menu(card(page, name))
    await expect(menu.get_by_role("menuitem", name="Put to sleep")).to_have_count(0)


async def test_a_lost_pairing_is_told_and_made_anew_in_the_settings(page: Page, hub: RunningHub) -> None:
    device = await asleep(hub)
    await hub.set_fault("bond-lost", ssid=GOPRO)
    await opened(page, hub)
    await shows(page, GOPRO, "Asleep")
    await act(card(page, GOPRO), "Wake")
    await expect(toast(page, "The camera is not paired with this hub.")).to_be_visible()
    await act(card(page, GOPRO), "Edit")
    dialog = page.get_by_role("dialog", name="Edit ")
    await expect(dialog).to_contain_text("Paired with this hub")  # this host still has its bond
    await dialog.get_by_role("button", name="Pair again").click()
    await expect(toast(page, f"Paired {GOPRO}.")).to_be_visible()
    await expect(dialog).to_contain_text(f"Paired with this hub ({ADDRESS})")
    await dialog.get_by_role("button", name="Forget pairing").click()
    await expect(dialog).to_contain_text("Not paired with this hub")
    await dialog.get_by_label("Wake automatically to connect").check()
    assert await findings(page) == []
    await dialog.get_by_role("button", name="Save").click()
    await expect(dialog).to_have_count(0)
    assert hub.client.devices[device].auto_wake
    assert hub.client.devices[device].bluetooth_address is None


async def test_of_several_cameras_in_pairing_mode_one_is_chosen(page: Page, hub: RunningHub) -> None:
    await hub.client.create_device(
        {"codename": "gopro-hero12", "connection_type": "wifi", "ssid": GOPRO, "password": "gopro-pass-1"}
    )
    other = b"GP25140003"
    await hub.add_camera(
        other, "gopro-pass-3", bluetooth=Variant("s", "gopro"), bluetooth_name=Variant("s", "GoPro 0003")
    )
    try:
        await page.set_viewport_size({"width": 320, "height": 640})
        await opened(page, hub)
        await shows(page, GOPRO, "Not found")
        await act(card(page, GOPRO), "Edit")
        dialog = page.get_by_role("dialog", name="Edit ")
        await dialog.get_by_role("button", name="Pair", exact=True).click()
        await expect(dialog.get_by_text("Several cameras are in pairing mode.")).to_be_visible()
        rows = dialog.locator(".heard")
        await expect(rows.filter(has_text="GoPro 0003")).to_have_count(1)  # others were heard lately, too
        await expect(rows.first.get_by_role("button")).to_be_focused()
        mine = rows.filter(has_text="GoPro 0001")
        await expect(mine).to_contain_text(f"{ADDRESS}, signal -60 dBm")
        await expect(dialog.get_by_role("alert")).to_have_count(0)
        assert await findings(page) == []
        assert await no_scrolling_sideways(page)
        await rows.filter(has_text="GoPro 0003").get_by_role("button").click()
        await expect(dialog.get_by_role("alert")).to_contain_text('has the network "GP25140003"')
        await mine.get_by_role("button", name="Pair GoPro 0001").click()
        await expect(dialog).to_contain_text(f"Paired with this hub ({ADDRESS})")
        await expect(rows).to_have_count(0)
    finally:
        await hub.client.simulate("PowerOffCamera", "ayb", other, True)


async def test_without_bluetooth_one_line_says_why(page: Page, hub: RunningHub) -> None:
    await hub.set_fault("bluetooth-off")
    await opened(page, hub)
    dialog = await add_dialog(page)
    line = dialog.get_by_text("Bluetooth is not available: the simulated Bluetooth adapter is switched off.")
    await expect(line).to_be_visible()
    await expect(dialog.get_by_role("radio", name="SIM-CAM-1")).to_be_visible()
    await expect(dialog.get_by_role("group", name="Cameras over Bluetooth")).to_have_count(0)
    await hub.set_fault("bluetooth-off", off=True)
    await expect(dialog.get_by_role("button", name=PAIR)).to_be_visible()
    await expect(line).to_have_count(0)


async def test_the_network_of_a_gopro_is_recognised_without_a_model(page: Page, hub: RunningHub) -> None:
    await hub.add_camera(b"GP12345678", "gopro-pass-3")
    await opened(page, hub)
    dialog = await choose_network(page, "GP12345678")
    model = dialog.get_by_label("Model")
    await expect(model).to_have_value("")
    await expect(dialog).to_contain_text("GoPro, which?")
    await dialog.get_by_label("Password", exact=True).fill("gopro-pass-3")
    await dialog.get_by_role("button", name="Add and connect").click()
    await expect(model).to_have_attribute("aria-invalid", "true")
    await model.select_option("gopro-hero11")
    await dialog.get_by_role("button", name="Add and connect").click()
    await shows(page, "GP12345678", "Connected")
