"""The connection profile of a join: its settings, and the mark that identifies this daemon's profiles."""

from __future__ import annotations

import ipaddress
import math
from collections.abc import Mapping
from typing import Any, Final

from wifimgrd.dbus.connection import Variant
from wifimgrd.domain import leases
from wifimgrd.domain.device import DeviceId, Link, Sighting, Ssid
from wifimgrd.networkmanager.definitions import WIRELESS_TYPE
from wifimgrd.ports import JoinRequest
from wifimgrd.wpa_supplicant.bss import KeyManagement

MARK: Final = "org.wifimgrd.device"
"""The key in the `user` setting under which a profile of this daemon's has the device's id:
https://networkmanager.dev/docs/api/1.42/settings-user.html."""

_POWER_SAVE_OFF: Final = 2
_TABLES: Final = 0x774A0000
"""A link's routes are in a table of their own, of this number and the device's id, which no rule selects: so
nothing that a lease says changes where the host sends anything. The helper has the routes that are used."""
_LARGEST_ID: Final = 0xFFFF
"""Of the part of a device's id that is in the number of its table."""
_METRIC: Final = 30_000
"""Of a link's routes; the helper recognizes those of an earlier version in the table `main` by it."""
_MTU: Final = 1500
"""Of 802.11 as Linux sets it; set here, because the MTU of a lease would be applied otherwise."""
_METRICS: Final = 10_000
"""Each device has a metric of its own, because the kernel treats equal routes as one."""


def settings_for(
    request: JoinRequest, key_management: KeyManagement, uuid: str, remaining_s: float, bssid: str = ""
) -> dict[str, dict[str, Any]]:
    """Build the volatile profile for one attempt: https://networkmanager.dev/docs/api/1.42/ref-settings.html.

    `remaining_s` bounds the wait for an address. Routes, name servers, host name and MTU of a lease are not
    applied; the route to its subnet has a table of its own. NetworkManager drops the whole setting where
    `cloned-mac-address` is a string, so the permanent address is selected with `assigned-mac-address`. With
    a `bssid` only that access point is joined, and NetworkManager configures no background scan, which
    interrupts traffic at a weak signal.
    """
    settings: dict[str, dict[str, Any]] = {
        "connection": {
            "id": Variant("s", f"wifimgrd-{request.device_id}"),
            "uuid": Variant("s", uuid),
            "type": Variant("s", WIRELESS_TYPE),
            "interface-name": Variant("s", request.interface),
            "autoconnect": Variant("b", False),
            "auth-retries": Variant("i", 1),
        },
        WIRELESS_TYPE: {
            "ssid": Variant("ay", request.ssid.octets),
            "mode": Variant("s", "infrastructure"),
            "powersave": Variant("u", _POWER_SAVE_OFF),
            "assigned-mac-address": Variant("s", "permanent"),
            "mtu": Variant("u", _MTU),
        },
        "ipv4": {
            **_addressing(request, remaining_s),
            "never-default": Variant("b", True),
            "ignore-auto-routes": Variant("b", True),
            "route-table": Variant("u", _TABLES + request.device_id % (_LARGEST_ID + 1)),
            "route-metric": Variant("x", _METRIC + request.device_id % _METRICS),
            "may-fail": Variant("b", False),
        },
        "ipv6": {"method": Variant("s", "disabled")},
        "hostname": {"from-dhcp": Variant("i", 0), "from-dns-lookup": Variant("i", 0)},
        "user": {"data": Variant("a{ss}", {MARK: str(request.device_id)})},
    }
    if bssid:
        settings[WIRELESS_TYPE]["bssid"] = Variant("ay", bytes.fromhex(bssid.replace(":", "")))
    if request.hidden:
        settings[WIRELESS_TYPE]["hidden"] = Variant("b", True)
    if key_management is not KeyManagement.NONE:
        settings[WIRELESS_TYPE + "-security"] = {"key-mgmt": Variant("s", key_management.value)}
    if not request.passphrase.is_open:
        settings[WIRELESS_TYPE + "-security"]["psk"] = Variant("s", request.passphrase.reveal())
    return settings


def _addressing(request: JoinRequest, remaining_s: float) -> dict[str, Any]:
    """The IPv4 method: DHCP from the camera, or the fixed address that the camera's model needs."""
    if not request.local_address:
        return {
            "method": Variant("s", "auto"),
            "ignore-auto-dns": Variant("b", True),
            "dhcp-timeout": Variant("i", max(1, math.ceil(remaining_s))),  # not shorter than the attempt
        }
    address, _, prefix = request.local_address.partition("/")
    data = {"address": Variant("s", address), "prefix": Variant("u", int(prefix))}
    return {"method": Variant("s", "manual"), "address-data": Variant("aa{sv}", [data])}


def marked_device(settings: Mapping[str, Any]) -> DeviceId | None:
    """The id of the device that a profile is for; None where the profile is not this daemon's."""
    mark = settings.get("user", {}).get("data", {}).get(MARK, "")
    return DeviceId(int(mark)) if mark.isascii() and mark.isdigit() and int(mark) > 0 else None


def ssid_of(settings: Mapping[str, Any]) -> Ssid:
    """The network that a profile joins."""
    return Ssid(bytes(settings.get(WIRELESS_TYPE, {}).get("ssid", b"")))


def bssid_of(settings: Mapping[str, Any]) -> str:
    """The only access point that a profile joins, lower case with colons; empty where it joins any."""
    return bytes(settings.get(WIRELESS_TYPE, {}).get("bssid", b"")).hex(":")


def link_of(
    ip4: Mapping[str, Any], dhcp4: Mapping[str, Any], sighting: Sighting | None, signal_percent: int
) -> Link | None:
    """Build a link from NetworkManager's properties; None where it has no address.

    A lease has the address a moment before the interface has it, and still after the lease has expired: it
    is used only where `ip4` was not read.
    The camera's address is the router in the lease, else the DHCP server, if it can be a camera's: the
    profiles set no default route, so IP4Config.Gateway is mostly empty.
    https://networkmanager.dev/docs/api/1.42/gdbus-org.freedesktop.NetworkManager.IP4Config.html
    """
    options = dhcp4.get("Options", {})
    leased = {"address": options.get("ip_address", "")}
    addresses = [data["address"] for data in ip4.get("AddressData", [leased])]
    if not any(addresses):
        return None
    candidates = [ip4.get("Gateway", ""), *str(options.get("routers", "")).split()]
    candidates.append(options.get("dhcp_server_identifier", ""))
    return Link(
        local_address=str(addresses[0]),
        camera_address=leases.camera_address(list(map(str, candidates)), str(addresses[0])),
        signal_percent=signal_percent,
        sighting=sighting,
    )


def prefix_of(ip4: Mapping[str, Any], dhcp4: Mapping[str, Any]) -> int:
    """The prefix length of a link's address, from the properties that `link_of` reads; 32 without one."""
    try:
        if "AddressData" in ip4:
            return int(ip4["AddressData"][0]["prefix"])
        mask = ipaddress.IPv4Address(str(dhcp4["Options"]["subnet_mask"]))
        return ipaddress.IPv4Network((0, str(mask))).prefixlen
    except (KeyError, IndexError, ValueError):
        return 32
