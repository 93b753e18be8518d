"""Links of an earlier run of the daemon are adopted."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, cast

import pytest

from tests.daemon.backends.networkmanager.manager_on_the_bus import LINK, NetworkManagerOnTheBus, NoChanges
from wifimgrd.bus.connection import BusConnection, BusError
from wifimgrd.daemon.backends.networkmanager._adoption import adopt, delete_leftovers
from wifimgrd.daemon.backends.networkmanager._devices import Carried, NmDevice
from wifimgrd.daemon.backends.networkmanager._inventory import Inventory
from wifimgrd.daemon.backends.networkmanager._link_monitor import LinkMonitor
from wifimgrd.proxies.networkmanager import definitions as defs
from wifimgrd.proxies.networkmanager.definitions import DeviceState
from wifimgrd.runtime.tasks import Tasks

SETTINGS: defs.ProfileSettings = {
    "802-11-wireless": {"ssid": b"CAM"},
    "user": {"data": {defs.PROFILE_MARK: "3"}},
}


class Devices:
    """An inventory of one device, that carries a link of ours."""

    def __init__(self) -> None:
        carried = Carried("/a", "/p", "wifimgrd-3", "uuid", False, SETTINGS)
        properties: defs.DeviceProperties = {"State": DeviceState.ACTIVATED, "Interface": "wlan0"}
        self.devices = {"/d": NmDevice("/d", properties, {}, carried)}

    def reserve(self, device: NmDevice, reserved: bool) -> None:
        assert reserved


def adoption(bus: NetworkManagerOnTheBus) -> Coroutine[Any, Any, list[LinkMonitor]]:
    connection, inventory = cast("BusConnection", bus), cast("Inventory", Devices())
    return adopt(connection, NoChanges(), inventory, Tasks("test"), lambda *_: None)


async def test_a_link_that_came_up_a_moment_ago_is_adopted_though_its_address_is_not_shown_yet() -> None:
    bus = NetworkManagerOnTheBus()
    async with asyncio.timeout(10):
        adopting = asyncio.create_task(adoption(bus))
        assert not await bus.looks.get()
        bus.addresses = [{"address": LINK.local_address}]
        [link_monitor] = await adopting
    assert (link_monitor.held.device_id, link_monitor.held.link.local_address) == (3, LINK.local_address)
    link_monitor.close()


class Profiles:
    """NetworkManager with these profiles: the device that each is marked with, by its path."""

    def __init__(self, **marks: str) -> None:
        self.marks = marks

    async def get(self, destination: str, path: str, interface: str, name: str, timeout_s: float) -> Any:
        assert (path, name) == (defs.NM_SETTINGS_PATH, "Connections")
        return [*self.marks, "gone"]

    async def call(self, destination: str, path: str, interface: str, member: str, *_: Any, **__: Any) -> Any:
        if path == "gone":
            raise BusError("org.freedesktop.DBus.Error.UnknownMethod", "there is no such object")
        return [{"user": {"data": {defs.PROFILE_MARK: self.marks[path]}}}]


class Deleted(NoChanges):
    """Deletes what it is asked to."""

    def __init__(self) -> None:
        self.paths: list[str] = []

    async def delete(self, profile: str) -> None:
        self.paths.append(profile)


async def test_profiles_of_links_that_ended_while_no_daemon_ran_are_deleted() -> None:
    deleted, profiles = Deleted(), cast("BusConnection", Profiles(ended="3", up="4", hosts=""))
    await delete_leftovers(profiles, deleted, {"up"})
    assert deleted.paths == ["ended"]


async def test_a_supplicant_that_goes_while_a_link_is_adopted_leaves_no_subscription() -> None:
    bus = NetworkManagerOnTheBus()
    bus.addresses = [{"address": LINK.local_address}]
    bus.supplicant_state = TimeoutError()
    with pytest.raises(TimeoutError):
        await adoption(bus)
    assert bus.handlers == {}
