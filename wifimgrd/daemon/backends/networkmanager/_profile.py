"""A link, as a connection profile and the properties of its device describe it."""

from __future__ import annotations

import ipaddress

from wifimgrd.domain import leases
from wifimgrd.domain.device import Link, Sighting, Ssid
from wifimgrd.proxies.networkmanager.definitions import (
    Dhcp4ConfigProperties,
    Ip4ConfigProperties,
    ProfileSettings,
)


def ssid_of(settings: ProfileSettings) -> Ssid:
    """The network that a profile joins."""
    return Ssid(settings.get("802-11-wireless", {}).get("ssid", b""))


def bssid_of(settings: ProfileSettings) -> str:
    """The only access point that a profile joins, lower case with colons; empty where it joins any."""
    return settings.get("802-11-wireless", {}).get("bssid", b"").hex(":")


def link_of(
    ip4: Ip4ConfigProperties, dhcp4: Dhcp4ConfigProperties, sighting: Sighting | None, signal_percent: int
) -> Link | None:
    """Build a link from NetworkManager's properties; None where it has no address.

    A lease has the address a moment before the interface has it, and still after the lease has expired: it
    is used only where `ip4` was not read.
    The camera's address is the router in the lease, else the DHCP server, if it can be a camera's: the
    profiles set no default route, so IP4Config.Gateway is mostly empty.
    https://networkmanager.dev/docs/api/1.42/gdbus-org.freedesktop.NetworkManager.IP4Config.html
    """
    options = dhcp4.get("Options", {})
    if "AddressData" in ip4:
        addresses = [data.get("address", "") for data in ip4["AddressData"]]
    else:
        addresses = [options.get("ip_address", "")]
    if not any(addresses):
        return None
    candidates = [ip4.get("Gateway", ""), *options.get("routers", "").split()]
    candidates.append(options.get("dhcp_server_identifier", ""))
    return Link(
        local_address=addresses[0],
        camera_address=leases.camera_address(candidates, addresses[0]),
        signal_percent=signal_percent,
        sighting=sighting,
    )


def prefix_of(ip4: Ip4ConfigProperties, dhcp4: Dhcp4ConfigProperties) -> int:
    """The prefix length of a link's address, from the properties that `link_of` reads; 32 without one."""
    try:
        if "AddressData" in ip4:
            return ip4["AddressData"][0]["prefix"]
        mask = ipaddress.IPv4Address(dhcp4["Options"]["subnet_mask"])
        return ipaddress.IPv4Network((0, str(mask))).prefixlen
    except (KeyError, IndexError, ValueError):
        return 32
