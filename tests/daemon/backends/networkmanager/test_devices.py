from typing import Any

import pytest

from tests.daemon.backends.networkmanager.manager_on_the_bus import NoChanges
from tests.daemon.backends.open_backends import OpenNetworkManager
from tests.daemon.backends.recording import Recorder
from wifimgrd.bus.values import typed
from wifimgrd.daemon.backends.networkmanager._devices import Carried, NmDevice, obstacle_of
from wifimgrd.domain.adapter import Band
from wifimgrd.proxies.networkmanager.definitions import DeviceProperties, ProfileSettings
from wifimgrd.proxies.networkmanager.manager import Radio
from wifimgrd.runtime.tasks import Tasks
from wifimgrd.simulator._world import BriefMemory

OURS: ProfileSettings = {"user": {"data": {"org.wifimgrd.device": "3"}}}


def device(state: int = 30, *, mode: int = 2, carried: Carried | None = None, **properties: Any) -> NmDevice:
    known = typed(DeviceProperties, {"Interface": "wlan0", "State": state, **properties})
    return NmDevice("/device", known, {"Mode": mode, "WirelessCapabilities": 0x27FF}, carried)


def carried(name: str = "Home", *, default: bool = False, settings: ProfileSettings | None = None) -> Carried:
    return Carried("/active", "/profile", name, "uuid", default, settings)


@pytest.mark.parametrize(
    ("given", "obstacle"),
    [
        (device(), ""),
        (device(10), "not managed by NetworkManager"),
        (device(20), "NetworkManager has not made it ready yet; `journalctl -u NetworkManager` may say why"),
        (device(20, FirmwareMissing=True), "the adapter's firmware is missing"),
        (device(100, carried=carried()), 'carries the connection "Home"'),
        (device(100, carried=carried(settings={})), 'carries the connection "Home"'),
        (
            device(100, carried=carried(default=True)),
            'carries the connection "Home", the host\'s default route',
        ),
        (device(100, mode=3, carried=carried("Spot")), 'is an access point ("Spot")'),
        (device(100, carried=carried(settings=OURS)), ""),
    ],
)
def test_what_stands_in_the_way(given: NmDevice, obstacle: str) -> None:
    assert obstacle_of(given, Radio()) == obstacle


def test_the_switches_for_all_of_wifi() -> None:
    assert "switched off" in obstacle_of(device(20), Radio(enabled=False))
    assert "rfkill" in obstacle_of(device(20), Radio(hardware_enabled=False))


def test_nothing_stands_in_our_own_way() -> None:
    working = device(50, carried=carried())
    working.reserved = True
    assert obstacle_of(working, Radio()) == ""


def test_bands() -> None:
    assert device().bands == {Band.GHZ_2_4, Band.GHZ_5}
    assert NmDevice("/device", {}, {"WirelessCapabilities": 0xE00}).bands == set(Band)
    assert NmDevice("/device", {}, {}).bands == frozenset()


async def test_of_a_device_that_networkmanager_has_removed_nothing_is_known() -> None:
    """Else an adapter that is plugged in again would be available before NetworkManager has it."""
    listener, backend = Recorder(), OpenNetworkManager(BriefMemory(), Tasks("test"), changes=NoChanges())
    backend.report_to(listener)
    backend.device_gone(device())
    reported = await listener.next("interface_facts")
    assert (reported.interface, reported.facts) == ("wlan0", None)
