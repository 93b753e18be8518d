"""What a connection profile says of a link, and what the properties of its device do."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from typing import Any

from wifimgrd.domain import leases
from wifimgrd.domain.device import Link, Sighting, Ssid
from wifimgrd.proxies.networkmanager.definitions import WIRELESS_TYPE


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
