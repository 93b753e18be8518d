"""NetworkManager is restarted: its next run gives the object paths of one link to another."""

from __future__ import annotations

from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.daemon.backends.networkmanager.manager_on_the_bus import LINK, NetworkManagerOnTheBus, NoChanges
from tests.daemon.backends.open_backends import OpenNetworkManager
from wifimgrd.bus.connection import BusConnection
from wifimgrd.daemon.backends.networkmanager._active_connection import ActiveConnection, Joined
from wifimgrd.daemon.backends.networkmanager._devices import Carried, DeviceGone, NmDevice, StateChange
from wifimgrd.daemon.backends.networkmanager._inventory import Inventory
from wifimgrd.daemon.backends.networkmanager._ip_config import LinkReading
from wifimgrd.daemon.backends.networkmanager._link_monitor import LinkMonitor
from wifimgrd.daemon.backends.networkmanager._service_watcher import ServiceWatcher
from wifimgrd.daemon.ports import BackendListener
from wifimgrd.domain.device import DeviceId, HeldLink, Ssid
from wifimgrd.proxies.networkmanager.definitions import PROFILE_MARK, DeviceReason, DeviceState
from wifimgrd.proxies.wpa_supplicant.interface import SupplicantInterface
from wifimgrd.runtime.tasks import Tasks
from wifimgrd.simulator._world import BriefMemory


class Ending(NoChanges):
    """Takes down and deletes what it is asked to."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.devices: dict[str, NmDevice] = {}

    async def deactivate(self, active_connection: str) -> None:
        self.calls.append(active_connection)
        self.devices[active_connection].properties["State"] = DeviceState.DISCONNECTED

    async def delete(self, profile: str) -> None:
        self.calls.append(profile)


class OpenLink(LinkMonitor):
    """A link that can be read and taken down at any time, as by a task that has just begun."""

    async def read(self) -> LinkReading | None:
        return await self._read()

    async def disconnect(self) -> None:
        await self._disconnect()


class Restarted:
    """A backend, and what each run of NetworkManager has."""

    def __init__(self) -> None:
        self.changes, self.tasks = Ending(), Tasks("test")
        self.backend = OpenNetworkManager(BriefMemory(), self.tasks, changes=self.changes)
        self.backend.report_to(cast("BackendListener", Ignoring()))
        self.bus = cast("BusConnection", NetworkManagerOnTheBus())

    def run(self) -> Inventory:
        inventory = Inventory(self.bus, cast("Any", None), Tasks("inventory"))
        services = SimpleNamespace(connection=self.bus, inventory=inventory)
        self.backend.use(cast("ServiceWatcher", services))
        return inventory

    def link(self, run: Inventory, interface: str, number: int) -> OpenLink:
        """A link that is up, with the paths of this number."""
        profile, active, path = f"/Settings/{number}", f"/Active/{number}", f"/Devices/{number}"
        settings: Any = {"user": {"data": {PROFILE_MARK: "1"}}}
        device = NmDevice(
            path,
            {"State": DeviceState.ACTIVATED, "Interface": interface},
            {},
            Carried(active, profile, "", interface, False, settings),
            reserved=True,
            run=run,
        )
        run.devices[path] = self.changes.devices[active] = device
        held = HeldLink(DeviceId(1), interface, Ssid(b"CAM"), LINK)
        activation = ActiveConnection(interface, profile, active)
        joined = Joined(device, SupplicantInterface(self.bus, "/s"), activation, LinkReading(LINK))
        return OpenLink(self.bus, self.changes, held, joined, self.tasks.part(interface), lambda *_: None)

    def watch(self, found: Iterable[LinkMonitor]) -> None:
        self.backend.adopt(*found, cause="NetworkManager was restarted")


class Ignoring:
    """A listener of the backend's that does nothing."""

    def __getattr__(self, name: str) -> Any:
        return lambda *_: None


@pytest.fixture
def hub() -> Restarted:
    return Restarted()


async def test_a_link_that_is_not_found_again_does_not_take_the_profile_of_another(hub: Restarted) -> None:
    first = hub.run()
    hub.watch([hub.link(first, "wlan0", 7), hub.link(first, "wlan1", 8)])
    hub.backend.manager_lost()
    hub.watch([hub.link(hub.run(), "wlan1", 7)])
    await hub.tasks.settle(10)
    assert hub.changes.calls == []
    assert [held.interface for held in await hub.backend.links()] == ["wlan1"]
    await hub.tasks.stop()


async def test_a_link_that_is_left_while_links_are_found_again_is_ended_at_its_new_paths(
    hub: Restarted,
) -> None:
    first = hub.run()
    hub.watch([hub.link(first, "wlan0", 7), hub.link(first, "wlan1", 8)])
    hub.backend.manager_lost()
    second = hub.run()
    hub.link(second, "wlan0", 8)
    hub.link(second, "wlan1", 7)
    await hub.backend.leave("wlan0")
    assert hub.changes.calls == ["/Active/8", "/Settings/8"]
    await hub.tasks.stop()


async def test_the_profile_of_a_link_that_has_ended_by_itself_is_deleted(hub: Restarted) -> None:
    """That of an open network is not volatile."""
    run = hub.run()
    hub.watch([hub.link(run, "wlan0", 7)])
    for listener in list(run.devices["/Devices/7"].listeners):
        listener(StateChange(DeviceState.DEACTIVATING, DeviceReason.SUPPLICANT_DISCONNECT))
    await hub.tasks.settle(10)
    assert hub.changes.calls == ["/Settings/7"]
    await hub.tasks.stop()


async def test_the_profile_of_an_adapter_that_was_pulled_is_deleted(hub: Restarted) -> None:
    run = hub.run()
    hub.watch([hub.link(run, "wlan0", 7)])
    pulled = run.devices.pop("/Devices/7")
    for listener in list(pulled.listeners):
        listener(DeviceGone(unplugged=True))
    await hub.tasks.settle(10)
    assert hub.changes.calls == ["/Settings/7"]
    await hub.tasks.stop()


async def test_a_link_of_an_earlier_run_ends_nothing_by_its_old_paths(hub: Restarted) -> None:
    link = hub.link(hub.run(), "wlan0", 7)
    hub.watch([link])
    hub.backend.manager_lost()
    assert link.device.listeners == []
    await link.disconnect()
    assert await link.read() is None
    assert hub.changes.calls == []
    await hub.tasks.stop()


async def test_after_a_restart_of_wpa_supplicant_no_adapter_is_searched_by_the_object_of_another(
    hub: Restarted,
) -> None:
    run = hub.run()
    device = hub.link(run, "wlan0", 7).device
    device.supplicant = "/Interfaces/0"
    hub.backend.supplicant_lost()
    assert device.supplicant == ""
    await hub.tasks.stop()
