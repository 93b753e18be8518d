"""The connection profile of a join: what NetworkManager is told, and how our links are known again."""

from __future__ import annotations

import ipaddress
import math
from collections.abc import Mapping
from typing import Any, Final

from wifimgrd.backends.networkmanager import defs
from wifimgrd.backends.networkmanager.air import KeyManagement
from wifimgrd.dbus.bus import Variant
from wifimgrd.domain.device import DeviceId, Link, Sighting, Ssid
from wifimgrd.ports import JoinRequest

MARK: Final = "org.wifimgrd.device"
"""The key under which a profile of ours says, in its `user` setting, which device it is for:
https://networkmanager.dev/docs/api/1.42/settings-user.html."""

SIGNATURE: Final = "a{sa{sv}}"
_POWER_SAVE_OFF: Final = 2
_METRIC: Final = 30_000
"""Cameras have the subnets that homes have: whatever else leads there goes first. Behind NetworkManager's
defaults, with the 20000 that it adds to those of interfaces without Internet access."""
_METRICS: Final = 10_000
"""Each device has its own, as equal ones would be one route to the kernel."""


def settings_for(
    request: JoinRequest, key_management: KeyManagement, uuid: str, remaining_s: float
) -> dict[str, dict[str, Any]]:
    """Write the volatile profile for one attempt: https://networkmanager.dev/docs/api/1.42/ref-settings.html.

    `remaining_s` bounds the wait for an address. The host's default route and name servers are
    left alone. `cloned-mac-address` would be dropped with all of its setting where it is a string,
    so `assigned-mac-address` says that the permanent address is to be used.
    """
    settings: dict[str, dict[str, Any]] = {
        "connection": {
            "id": Variant("s", f"wifimgrd-{request.device}"),
            "uuid": Variant("s", uuid),
            "type": Variant("s", defs.WIRELESS_TYPE),
            "interface-name": Variant("s", request.interface),
            "autoconnect": Variant("b", False),
            "auth-retries": Variant("i", 1),
        },
        defs.WIRELESS_TYPE: {
            "ssid": Variant("ay", request.ssid.octets),
            "mode": Variant("s", "infrastructure"),
            "powersave": Variant("u", _POWER_SAVE_OFF),
            "assigned-mac-address": Variant("s", "permanent"),
        },
        "ipv4": {
            **_addressing(request, remaining_s),
            "never-default": Variant("b", True),
            "route-metric": Variant("x", _METRIC + request.device % _METRICS),
            "may-fail": Variant("b", False),
        },
        "ipv6": {"method": Variant("s", "disabled")},
        "user": {"data": Variant("a{ss}", {MARK: str(request.device)})},
    }
    if request.hidden:
        settings[defs.WIRELESS_TYPE]["hidden"] = Variant("b", True)
    if key_management is not KeyManagement.NONE:
        settings[defs.WIRELESS_TYPE + "-security"] = {
            "key-mgmt": Variant("s", key_management.value),
            "psk": Variant("s", request.passphrase.reveal()),
        }
    return settings


def _addressing(request: JoinRequest, remaining_s: float) -> dict[str, Any]:
    """Where the host has its address from: the camera, or the camera's model."""
    if not request.local_address:
        return {
            "method": Variant("s", "auto"),
            "ignore-auto-dns": Variant("b", True),
            "dhcp-timeout": Variant("i", max(1, math.ceil(remaining_s))),  # it does not give up first
        }
    address, _, prefix = request.local_address.partition("/")
    data = {"address": Variant("s", address), "prefix": Variant("u", int(prefix))}
    return {"method": Variant("s", "manual"), "address-data": Variant("aa{sv}", [data])}


def marked_device(settings: Mapping[str, Any]) -> DeviceId | None:
    """Which of our devices a profile is for; None where the profile is not ours."""
    mark = settings.get("user", {}).get("data", {}).get(MARK, "")
    return DeviceId(int(mark)) if mark.isascii() and mark.isdigit() and int(mark) > 0 else None


def ssid_of(settings: Mapping[str, Any]) -> Ssid:
    """The network that a profile joins."""
    return Ssid(bytes(settings.get(defs.WIRELESS_TYPE, {}).get("ssid", b"")))


def link_of(
    ip4: Mapping[str, Any], dhcp4: Mapping[str, Any], sighting: Sighting | None, signal_percent: int
) -> Link | None:
    """Put together what NetworkManager knows of a link; None where it has no address.

    A lease has the address a moment before the interface does, and still when it has run out: it
    counts only where `ip4` was not read.
    The camera's address is the router that the lease names, else the DHCP server: profiles of
    ours set no default route, so IP4Config.Gateway is mostly empty.
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
        camera_address=next((address for address in candidates if _is_address(address)), ""),
        signal_percent=signal_percent,
        sighting=sighting,
    )


def _is_address(text: object) -> bool:
    try:
        return not ipaddress.IPv4Address(str(text)).is_unspecified
    except ValueError:
        return False
