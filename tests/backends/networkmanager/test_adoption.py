"""Links of an earlier life of the daemon are found again."""

from __future__ import annotations

import asyncio
from typing import Any, cast

from tests.backends.networkmanager.manager_on_the_bus import LINK, NetworkManagerOnTheBus
from wifimgrd.backends.networkmanager import defs
from wifimgrd.backends.networkmanager.adoption import adopt
from wifimgrd.backends.networkmanager.defs import DeviceState
from wifimgrd.backends.networkmanager.devices import Carried, NmDevice
from wifimgrd.backends.networkmanager.inventory import Inventory
from wifimgrd.backends.networkmanager.profile import MARK
from wifimgrd.dbus.bus import BusConnection
from wifimgrd.runtime.tasks import Tasks

SETTINGS = {defs.WIRELESS_TYPE: {"ssid": b"CAM"}, "user": {"data": {MARK: "3"}}}


class Devices:
    """An inventory of one device, that carries a link of ours."""

    def __init__(self) -> None:
        carried = Carried("/a", "/p", "wifimgrd-3", "uuid", False, SETTINGS)
        properties: dict[str, Any] = {"State": DeviceState.ACTIVATED, "Interface": "wlan0"}
        self.devices = {"/d": NmDevice("/d", properties, {}, carried)}

    def reserve(self, device: NmDevice, reserved: bool) -> None:
        assert reserved


async def test_a_link_that_came_up_a_moment_ago_is_adopted_though_its_address_is_not_shown_yet() -> None:
    bus = NetworkManagerOnTheBus()
    async with asyncio.timeout(10):
        adopting = asyncio.create_task(
            adopt(cast("BusConnection", bus), cast("Inventory", Devices()), Tasks("test"))
        )
        assert not await bus.looks.get()
        bus.addresses = [{"address": LINK.local_address}]
        [keeper] = await adopting
    assert (keeper.held.device, keeper.held.link.local_address) == (3, LINK.local_address)
    keeper.close()
