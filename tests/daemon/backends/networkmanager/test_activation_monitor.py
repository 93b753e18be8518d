"""The result of an attempt, by the order of the supplicant's and NetworkManager's events."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from tests.daemon.backends.networkmanager.manager_on_the_bus import LINK, NetworkManagerOnTheBus
from tests.virtual_time import VirtualTimeLoop
from wifimgrd.bus import names
from wifimgrd.bus.connection import BusConnection, Signal
from wifimgrd.daemon.backends.networkmanager._activation_monitor import ActivationMonitor
from wifimgrd.daemon.backends.networkmanager._devices import NmDevice, StateChange
from wifimgrd.daemon.backends.supplicant.association import BssLookup, ScanEnd, SupplicantChange
from wifimgrd.daemon.backends.supplicant.bssid_limit import BssidLimit
from wifimgrd.daemon.backends.supplicant.diagnosis import HandshakeLost
from wifimgrd.daemon.ports import JoinRequest
from wifimgrd.domain.device import DeviceId, Passphrase, Ssid
from wifimgrd.domain.errors import (
    AddressFailed,
    AssociationRefused,
    AuthenticationFailed,
    DeviceNotReachable,
    WifimgrdError,
)
from wifimgrd.proxies.networkmanager import definitions as defs
from wifimgrd.proxies.networkmanager.definitions import DeviceReason, DeviceState
from wifimgrd.proxies.wpa_supplicant.bss import Bss
from wifimgrd.proxies.wpa_supplicant.interface import SupplicantInterface

SSID = Ssid(b"CAM")


class DeafSupplicant:
    """A supplicant whose scans do not find the network, with scripted events during the scan."""

    def __init__(self, *words: SupplicantChange) -> None:
        self.monitor: ActivationMonitor | None = None
        self._words = words

    async def seen_in_scan(self, ssid: Ssid) -> list[Bss]:
        assert self.monitor is not None
        assert ssid == SSID
        for word in self._words:
            self.monitor.post(word)
        return []

    async def state(self) -> str:
        return self._words[-1].properties.get("State", "scanning") if self._words else "scanning"


def monitor_with(supplicant: DeafSupplicant) -> ActivationMonitor:
    device = NmDevice("/d", {"State": DeviceState.CONFIG}, {})
    nobody = cast("BusConnection", None)  # nothing is read before there are addresses
    supplicant.monitor = monitor_of(device, nobody, supplicant)
    return supplicant.monitor


def monitor_of(device: NmDevice, connection: BusConnection, supplicant: DeafSupplicant) -> ActivationMonitor:
    request = JoinRequest(DeviceId(1), "wlan0", SSID, Passphrase("12345678"), 20.0)
    seen = cast("SupplicantInterface", supplicant)
    return ActivationMonitor(connection, device, seen, request, [], BssidLimit("wlan0", ""))


async def test_a_scan_that_does_not_find_the_network_proves_that_it_is_absent() -> None:
    monitor = monitor_with(DeafSupplicant())
    monitor.post(SupplicantChange({"State": "scanning"}))
    monitor.post(ScanEnd(complete=True))
    with pytest.raises(DeviceNotReachable, match="was not found"):
        await monitor.wait_until_activated()


async def test_it_proves_nothing_where_the_supplicant_is_joining_by_then() -> None:
    monitor = monitor_with(DeafSupplicant(SupplicantChange({"State": "authenticating"})))
    monitor.post(SupplicantChange({"State": "scanning"}))
    monitor.post(ScanEnd(complete=True))
    monitor.post(SupplicantChange({"State": "associating"}))
    monitor.post(StateChange(DeviceState.FAILED, DeviceReason.NO_SECRETS))
    with pytest.raises(AuthenticationFailed):
        await monitor.wait_until_activated()


def test_a_repeated_handshake_that_does_not_end_is_lost() -> None:
    """As after two requests to associate, of which the access point has answered both."""

    async def test() -> None:
        monitor = monitor_with(DeafSupplicant())
        for state in ("associating", "4way_handshake", "completed", "4way_handshake"):
            monitor.post(SupplicantChange({"State": state}))
        await monitor.wait_until_activated()

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        with pytest.raises(HandshakeLost):
            runner.run(test())
        assert runner.get_loop().time() == 3


async def test_an_address_that_is_shown_after_networkmanager_is_done_is_waited_for() -> None:
    nm = NetworkManagerOnTheBus()
    device = NmDevice("/d", {"State": DeviceState.ACTIVATED}, {})
    monitor = monitor_of(device, cast("BusConnection", nm), DeafSupplicant())
    monitor.post(SupplicantChange({"State": "completed"}))
    monitor.post(StateChange(DeviceState.ACTIVATED, DeviceReason.NONE))
    joining = asyncio.create_task(monitor.wait_until_activated())
    assert not await nm.looks.get()
    nm.addresses = [{"address": LINK.local_address}]
    assert (await joining).link.local_address == LINK.local_address


class LateNetworkManager(NetworkManagerOnTheBus):
    """It becomes ACTIVATED during the read of the address, which it shows only after that."""

    def __init__(self, device: NmDevice) -> None:
        super().__init__()
        self.device = device
        self.monitor = monitor_of(device, cast("BusConnection", self), DeafSupplicant())

    async def get_all(
        self, destination: str, path: str, interface: str, timeout_s: float = 25
    ) -> dict[str, Any]:
        shown = await super().get_all(destination, path, interface)
        if path == "/ip4" and not self.addresses:
            self.device.properties["State"] = DeviceState.ACTIVATED
            self.monitor.post(StateChange(DeviceState.ACTIVATED, DeviceReason.NONE))
            self.addresses = [{"address": LINK.local_address}]
        return shown


async def test_a_look_that_began_before_networkmanager_was_done_proves_nothing() -> None:
    nm = LateNetworkManager(NmDevice("/d", {"State": DeviceState.IP_CHECK}, {}))
    nm.monitor.post(SupplicantChange({"State": "completed"}))
    nm.monitor.post(StateChange(DeviceState.IP_CHECK, DeviceReason.NONE))
    assert (await nm.monitor.wait_until_activated()).link.local_address == LINK.local_address
    assert [nm.looks.get_nowait() for _ in range(2)] == [False, True]


async def test_a_scan_of_networkmanagers_that_ends_as_the_supplicant_is_asked_proves_nothing() -> None:
    monitor = monitor_with(DeafSupplicant())
    joining = asyncio.create_task(monitor.wait_until_activated())
    for said in (ScanEnd(complete=True), SupplicantChange({"State": "inactive"}), ScanEnd(complete=True)):
        monitor.post(said)
        await asyncio.sleep(0)
    monitor.post(StateChange(DeviceState.FAILED, DeviceReason.NO_SECRETS))
    with pytest.raises(AuthenticationFailed):
        await joining


def test_a_cause_that_came_with_the_end_of_the_time_is_the_cause() -> None:
    monitor = monitor_with(DeafSupplicant())
    monitor.post(SupplicantChange({"State": "completed"}))
    monitor.post(StateChange(DeviceState.IP_CONFIG, DeviceReason.NONE))
    monitor.post(StateChange(DeviceState.FAILED, DeviceReason.IP_CONFIG_UNAVAILABLE))
    assert isinstance(monitor.at_deadline(), AddressFailed)


@pytest.mark.parametrize(("received", "refusal"), [(True, AssociationRefused), (False, DeviceNotReachable)])
async def test_networkmanager_calls_absent_what_the_supplicant_keeps_away_from(
    received: bool, refusal: type[WifimgrdError]
) -> None:
    monitor = monitor_with(DeafSupplicant())
    monitor.post(SupplicantChange({"State": "scanning"}))
    if received:
        monitor.post(BssLookup(visible=True))
    monitor.post(StateChange(DeviceState.FAILED, DeviceReason.SSID_NOT_FOUND))
    with pytest.raises(refusal):
        await monitor.wait_until_activated()


async def test_a_lease_that_networkmanager_does_not_apply_is_known_all_the_same() -> None:
    nm = NetworkManagerOnTheBus()
    device = NmDevice("/d", {"State": DeviceState.IP_CONFIG}, {})
    monitor = monitor_of(device, cast("BusConnection", nm), DeafSupplicant())
    monitor.post(SupplicantChange({"State": "completed"}))
    monitor.post(StateChange(DeviceState.IP_CONFIG, DeviceReason.NONE))
    joining = asyncio.create_task(monitor.wait_until_activated())
    subscription = "/dhcp4" + defs.NM_DHCP4_CONFIG
    async with asyncio.timeout(10):
        while await nm.watched.get() != subscription:
            pass
        assert monitor.lease is None
        options = {"ip_address": "127.0.0.9", "subnet_mask": "255.0.0.0"}
        body = [defs.NM_DHCP4_CONFIG, {"Options": options}, []]
        nm.handlers[subscription](Signal(defs.NM, "/dhcp4", names.PROPERTIES, "PropertiesChanged", body))
        monitor.post(StateChange(DeviceState.FAILED, DeviceReason.IP_CONFIG_UNAVAILABLE))
        with pytest.raises(AddressFailed):
            await joining
    assert monitor.lease is not None
    assert str(monitor.lease.lease) == "127.0.0.9/8"
    monitor.close()
