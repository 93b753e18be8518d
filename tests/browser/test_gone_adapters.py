"""The view of the adapters: those that have gone stay, what a blocked one needs, and the channels first."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.async_api import Page, expect

from tests.browser.looking import opened, shows
from tests.browser.running_hub import RunningHub
from tests.browser.test_accessibility import findings
from tests.browser.told import Told, ago

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_an_adapter_that_has_gone_stays_with_who_used_it_last(page: Page, hub: RunningHub) -> None:
    device = await hub.connected(1, "Nose")
    name = hub.client.devices[device].interface or ""
    await opened(page, hub, "#adapters")
    await expect(page.locator(f"[data-interface={name}]")).to_be_visible()
    await hub.client.simulate("UnplugAdapter", "s", name)
    row = page.locator("[data-absent]").filter(has_text=name)
    await expect(row).to_contain_text("Was used by Nose")
    await expect(row).not_to_contain_text("Reserved")
    await expect(row.locator(".badge")).to_contain_text("Unplugged since ")
    await expect(page.get_by_role("heading", name="Not plugged in now")).to_be_visible()
    assert await findings(page) == []
    await hub.client.simulate("PlugAdapter", "s", name)
    await expect(page.locator(f"[data-interface={name}]")).to_be_visible()
    await expect(row).to_have_count(0)


def absent(device: int, **members: Any) -> dict[str, Any]:
    """An adapter that was used by a device, as the hub tells it."""
    found = {"mac_address": "02:00:00:00:00:09", "usb_port": "1-1.9", "interface": "wlan9", "product": "AX9"}
    return found | {"device_id": None, "unplugged_at": ago(30), "last_device_id": device} | members


@pytest.mark.parametrize(
    ("step", "words"),
    [
        ("reset-port", "Its USB port is being reset"),
        ("power-port", "Its USB port is being switched off and on"),
    ],
)
async def test_one_whose_port_is_being_reset_was_not_unplugged(
    page: Page, hub: RunningHub, step: str, words: str
) -> None:
    channel = Told()
    await channel.to(page)
    device = await hub.connected(1, "Nose")
    body = {"absent_adapters": [absent(device)], "unmatched_reservations": []}
    await page.route("**/wifi/interfaces", lambda route: route.fulfill(json=body))
    await opened(page, hub)
    await shows(page, "Nose", "Connected")
    away = {"connection_status": "connecting", "connected": False, "interface": None}
    channel.link("Nose", **away, recovery_step=step)
    await shows(page, "Nose", "Recovering")
    await page.get_by_role("link", name="Adapters").click()
    badge = page.locator("[data-absent] .badge")
    await expect(badge).to_have_text(words)
    channel.link("Nose", **away)
    await expect(badge).to_contain_text("Unplugged since ")


async def test_one_that_a_reset_has_lost_says_so(page: Page, hub: RunningHub) -> None:
    channel = Told()
    await channel.to(page)
    device = await hub.connected(1, "Nose")
    name = hub.client.devices[device].interface or ""
    body = {"absent_adapters": [absent(device, interface=name)], "unmatched_reservations": []}
    await page.route("**/wifi/interfaces", lambda route: route.fulfill(json=body))
    await opened(page, hub)
    await shows(page, "Nose", "Connected")
    channel.taken(name, "reset-port")
    channel.gone(name)
    await page.get_by_role("link", name="Adapters").click()
    row = page.locator("[data-absent]")
    await expect(row.locator(".badge")).to_contain_text("Away since ")
    await expect(row).to_contain_text("It went away during reset-port.")
    await expect(row).not_to_contain_text("nplugged")


async def test_a_blocked_adapter_says_what_unblocks_it(page: Page, hub: RunningHub) -> None:
    await hub.set_fault("rfkill", interface="wlan2")
    await opened(page, hub, "#adapters")
    row = page.locator("[data-interface=wlan2]")
    await expect(row.locator(".why")).to_have_text("Blocked by rfkill (soft-blocked)")
    await expect(row.locator("code")).to_have_text("rfkill unblock wifi")
    await hub.set_fault("rfkill", interface="wlan2", off=True)
    await expect(row.locator("code")).to_have_count(0)


async def test_the_hub_has_no_command_for_a_switch_of_the_host(page: Page, hub: RunningHub) -> None:
    channel = Told()
    await channel.to(page)
    await opened(page, hub, "#adapters")
    row = page.locator("[data-interface=wlan2]")
    await expect(row).to_be_visible()
    channel.blocked("wlan2", "hard-blocked")
    await expect(row).to_contain_text("It is switched off by a switch or a key of the host.")
    await expect(row.locator("code")).to_have_count(0)


async def test_an_adapter_in_use_is_still_reserved(page: Page, hub: RunningHub) -> None:
    device = await hub.connected(1, "Chin")
    name = hub.client.devices[device].interface or ""
    pin = {"usb_port": hub.client.interfaces[name].usb_port}
    await opened(page, hub, "#adapters")
    row = page.locator(f"[data-interface={name}]")
    await expect(row.locator(".badge")).to_have_text("In use by Chin")
    await expect(row).not_to_contain_text("Reserved")
    await hub.client.update_device(device, {"pin": pin})
    await expect(row).to_contain_text("Reserved for Chin")
    await expect(row.locator(".badge")).to_have_text("In use by Chin")


async def test_the_channels_come_first_in_a_box_of_their_own(page: Page, hub: RunningHub) -> None:
    await hub.connected(1, "Nose")
    await opened(page, hub, "#adapters")
    box = page.get_by_role("region", name="Channels")
    await expect(box.get_by_text("Nose")).to_be_visible()
    first = await box.bounding_box()
    ports = await page.locator(".buses").bounding_box()
    assert first is not None
    assert ports is not None
    assert first["y"] + first["height"] <= ports["y"]
