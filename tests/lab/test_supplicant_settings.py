"""What wpa_supplicant is set to is the same with both backends, but for what this table accepts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from .guest.access_point import Camera
from .guest.hostapd import Security
from .guest.namespace import run
from .guest.services import stop_networkd
from .guest.supplicant import Supplicant
from .guest.whole_hub import WholeHub

Cameras = Callable[..., Camera]
Settings = Mapping[str, Any]

SECURITIES: tuple[Security, ...] = ("sae-mixed", "sae")
STATE = {
    *("AssocStatusCode", "AuthStatusCode", "BSSTMStatus", "BSSs", "CurrentAuthMode", "CurrentBSS"),
    *("CurrentNetwork", "DisconnectReason", "Ifname", "Networks", "RoamComplete", "RoamTime"),
    *("ScanCurFreq", "Scanning", "SessionLength", "State", "Stations", "Uuid"),
}
"""Properties that are no settings."""
ACCEPTED: dict[str, str] = {
    "BSSExpireAge": "the age of an entry decides whether it is used, and it is told with each",
    "Pmf": "it is the default of `ieee80211w`, which each network of the hub's has",
    "network auth_alg": "OPEN is what wpa_supplicant uses by itself",
    "network id_str": "by this the hub knows its networks again",
    "network ieee80211w": "of the same effect: with NetworkManager the default is `Pmf`",
    "network key_mgmt": "FT is for roaming from one access point to another; a link is limited to one",
    "network mac_addr": "NetworkManager sets the permanent address itself",
    "network scan_ssid": "the hub's own scans name the network, and are joined from",
}
"""The settings that may differ, and why that does not matter."""


@pytest.fixture
def networkd_afterwards_stopped(no_radios: None) -> Iterator[None]:
    yield
    stop_networkd()


async def read_settings(hub: WholeHub, supplicant: Supplicant, device: int) -> Settings:
    """The properties of the interface that a device is connected through, and of its network."""
    name = hub.dbus.devices[device].interface or ""
    found = await supplicant.interface_properties(name)
    network = await supplicant.network_properties(name)
    return found | {f"network {key}": value for key, value in network.items()}


def differences(one: Settings, other: Settings) -> dict[str, tuple[Any, Any]]:
    return {
        key: (one.get(key), other.get(key))
        for key in sorted((one.keys() | other.keys()) - STATE)
        if one.get(key) != other.get(key)
    }


async def test_each_setting_is_the_one_that_networkmanager_makes(
    networkd_afterwards_stopped: None, hub: WholeHub, cameras: Cameras, supplicant: Supplicant
) -> None:
    """The cameras accept hash-to-element alone, for which wpa_supplicant has to be set up."""
    devices = {
        kind: await hub.add(cameras(kind, security=kind, mechanism="hash-to-element")) for kind in SECURITIES
    }
    await hub.all_in("connected", devices.values(), 30)
    with_networkmanager = {
        kind: await read_settings(hub, supplicant, device) for kind, device in devices.items()
    }
    for device in devices.values():
        await hub.disconnect(device)
    for interface in ("wlan0", "wlan1"):
        run("nmcli", "device", "set", interface, "managed", "no")
    await hub.choose_backend("wpa_supplicant")
    for device in devices.values():
        await hub.connect(device)
    await hub.all_in("connected", devices.values(), 30)
    found: dict[str, dict[str, tuple[Any, Any]]] = {}
    for kind, device in devices.items():
        own = await read_settings(hub, supplicant, device)
        found |= {kind: differences(with_networkmanager[kind], own)}
    told = "\n".join(f"{kind}: {key}: {pair}" for kind in found for key, pair in found[kind].items())
    assert {key for one in found.values() for key in one} == ACCEPTED.keys(), told
