"""What an attempt makes of the supplicant's and NetworkManager's words, in the order in which they come."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, cast

import pytest

from tests.backends.networkmanager.manager_on_the_bus import LINK, NetworkManagerOnTheBus
from wifimgrd.backends.networkmanager.air import Bss
from wifimgrd.backends.networkmanager.ascent import Ascent, Looked, ScanEnd
from wifimgrd.backends.networkmanager.defs import DeviceReason, DeviceState
from wifimgrd.backends.networkmanager.devices import NmDevice, StateChange
from wifimgrd.backends.networkmanager.supplicant import Station
from wifimgrd.dbus.bus import BusConnection
from wifimgrd.domain.device import DeviceId, Passphrase, Ssid
from wifimgrd.domain.errors import (
    AddressFailed,
    AssociationRefused,
    AuthenticationFailed,
    DeviceNotReachable,
    WifimgrdError,
)
from wifimgrd.ports import JoinRequest

SSID = Ssid(b"CAM")


class DeafStation:
    """A supplicant whose scans do not hear the network, and what it says while it is asked."""

    def __init__(self, *words: Mapping[str, Any]) -> None:
        self.ascent: Ascent | None = None
        self._words = words

    async def heard_in_scan(self, ssid: Ssid) -> list[Bss]:
        assert self.ascent is not None
        assert ssid == SSID
        for word in self._words:
            self.ascent.post(word)
        return []


def ascent_with(station: DeafStation) -> Ascent:
    device = NmDevice("/d", {"State": DeviceState.CONFIG}, {})
    nobody = cast("BusConnection", None)  # nothing is read before there are addresses
    station.ascent = ascent_of(device, nobody, station)
    return station.ascent


def ascent_of(device: NmDevice, connection: BusConnection, station: DeafStation) -> Ascent:
    request = JoinRequest(DeviceId(1), "wlan0", SSID, Passphrase("12345678"), 20.0)
    return Ascent(connection, device, cast("Station", station), request, [])


async def test_a_scan_that_does_not_hear_the_network_proves_that_it_is_absent() -> None:
    ascent = ascent_with(DeafStation())
    ascent.post({"State": "scanning"})
    ascent.post(ScanEnd(complete=True))
    with pytest.raises(DeviceNotReachable, match="not on the air"):
        await ascent.reach_the_top()


async def test_it_proves_nothing_where_the_supplicant_is_joining_by_then() -> None:
    ascent = ascent_with(DeafStation({"State": "authenticating"}))
    ascent.post({"State": "scanning"})
    ascent.post(ScanEnd(complete=True))
    ascent.post({"State": "associating"})
    ascent.post(StateChange(DeviceState.FAILED, DeviceReason.NO_SECRETS))
    with pytest.raises(AuthenticationFailed):
        await ascent.reach_the_top()


async def test_an_address_that_is_shown_after_networkmanager_is_done_is_waited_for() -> None:
    nm = NetworkManagerOnTheBus()
    device = NmDevice("/d", {"State": DeviceState.ACTIVATED}, {})
    ascent = ascent_of(device, cast("BusConnection", nm), DeafStation())
    ascent.post({"State": "completed"})
    ascent.post(StateChange(DeviceState.ACTIVATED, DeviceReason.NONE))
    joining = asyncio.create_task(ascent.reach_the_top())
    assert not await nm.looks.get()
    nm.addresses = [{"address": LINK.local_address}]
    assert (await joining).link.local_address == LINK.local_address


class LateNetworkManager(NetworkManagerOnTheBus):
    """It is done while it is asked for the address, which it shows only after that."""

    def __init__(self, device: NmDevice) -> None:
        super().__init__()
        self.device = device
        self.ascent = ascent_of(device, cast("BusConnection", self), DeafStation())

    async def get_all(self, destination: str, path: str, interface: str) -> dict[str, Any]:
        shown = await super().get_all(destination, path, interface)
        if path == "/ip4" and not self.addresses:
            self.device.properties["State"] = DeviceState.ACTIVATED
            self.ascent.post(StateChange(DeviceState.ACTIVATED, DeviceReason.NONE))
            self.addresses = [{"address": LINK.local_address}]
        return shown


async def test_a_look_that_began_before_networkmanager_was_done_proves_nothing() -> None:
    nm = LateNetworkManager(NmDevice("/d", {"State": DeviceState.IP_CHECK}, {}))
    nm.ascent.post({"State": "completed"})
    nm.ascent.post(StateChange(DeviceState.IP_CHECK, DeviceReason.NONE))
    assert (await nm.ascent.reach_the_top()).link.local_address == LINK.local_address
    assert [nm.looks.get_nowait() for _ in range(2)] == [False, True]


async def test_a_scan_of_networkmanagers_that_ends_as_the_supplicant_is_asked_proves_nothing() -> None:
    ascent = ascent_with(DeafStation())
    joining = asyncio.create_task(ascent.reach_the_top())
    for said in (ScanEnd(complete=True), {"State": "inactive"}, ScanEnd(complete=True)):
        ascent.post(said)
        await asyncio.sleep(0)
    ascent.post(StateChange(DeviceState.FAILED, DeviceReason.NO_SECRETS))
    with pytest.raises(AuthenticationFailed):
        await joining


def test_a_cause_that_came_with_the_end_of_the_time_is_the_cause() -> None:
    ascent = ascent_with(DeafStation())
    ascent.post({"State": "completed"})
    ascent.post(StateChange(DeviceState.IP_CONFIG, DeviceReason.NONE))
    ascent.post(StateChange(DeviceState.FAILED, DeviceReason.IP_CONFIG_UNAVAILABLE))
    assert isinstance(ascent.at_deadline(), AddressFailed)


@pytest.mark.parametrize(("heard", "refusal"), [(True, AssociationRefused), (False, DeviceNotReachable)])
async def test_networkmanager_calls_absent_what_the_supplicant_keeps_away_from(
    heard: bool, refusal: type[WifimgrdError]
) -> None:
    ascent = ascent_with(DeafStation())
    ascent.post({"State": "scanning"})
    if heard:
        ascent.post(Looked(heard=True))
    ascent.post(StateChange(DeviceState.FAILED, DeviceReason.SSID_NOT_FOUND))
    with pytest.raises(refusal):
        await ascent.reach_the_top()
