"""Whether the address that a camera gives this host can be used, as pure functions.

An address of an interface is the host's own from then on, whatever interface a packet comes from or is for:
the kernel delivers it locally before it reads any other routing table. So an address that is, or may be,
another host's cannot be used, and neither can one whose broadcast address is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import AddressValueError, IPv4Address, IPv4Interface, IPv4Network
from typing import Final

from wifimgrd.domain.addresses import PRIVATE_NETWORKS, is_private

SHORTEST_BROADCAST: Final = 30
"""Networks with longer prefixes have no broadcast address (RFC 3021)."""


@dataclass(frozen=True, slots=True)
class HostAddresses:
    """The addresses that are in use elsewhere."""

    own: Mapping[IPv4Address, str] = field(default_factory=dict)
    """This host's own, with their interfaces; those of cameras' interfaces are not among them."""
    neighbours: Mapping[IPv4Address, str] = field(default_factory=dict)
    """Hosts that this host exchanges packets with directly, its gateways among them, with the interfaces that
    they are behind."""
    servers: frozenset[IPv4Address] = frozenset()
    """The name servers and time servers of this host."""
    cameras: Mapping[IPv4Address, str] = field(default_factory=dict)
    """The own addresses of cameras with a link, with their interfaces."""
    leases: Mapping[IPv4Address, str] = field(default_factory=dict)
    """The addresses that cameras with a link gave this host, with their interfaces."""


def obstacle(
    lease: IPv4Interface, host: HostAddresses, cameras: IPv4Network | None, camera: IPv4Address | None = None
) -> str:
    """Why an address with its prefix cannot be used, as the end of a sentence; empty where it can.

    `cameras` is the network of the cameras' addresses on this host, if there is one; `camera` is the own
    address of the camera that gave this one.
    """
    address, network = lease.ip, lease.network
    if not is_private(address):
        return f"{address}, which is not a private address"
    if not any(network.subnet_of(private) for private in PRIVATE_NETWORKS):
        return f"{lease}, whose network is larger than a private one"
    if network.prefixlen <= SHORTEST_BROADCAST and address in (
        network.network_address,
        network.broadcast_address,
    ):
        return f"{lease}, which is not a host address"
    taken = [address, network.broadcast_address] if network.prefixlen <= SHORTEST_BROADCAST else [address]
    for one in taken:
        if reason := _taken(one, host, cameras):
            return (
                str(lease) + (", which " if one == address else f", whose broadcast address {one} ") + reason
            )
    if camera is not None and (reason := _unreachable(camera, host, cameras)):
        return f"{lease}, and its own address {camera} {reason}"
    return ""


def _unreachable(camera: IPv4Address, host: HostAddresses, cameras: IPv4Network | None) -> str:
    """Why a camera's own address would lead to somebody else."""
    if reason := _of_this_host(camera, host, cameras):
        return reason
    if interface := host.leases.get(camera):
        return f"is this host's own address at {interface}, given by the camera there"
    return ""


def _taken(address: IPv4Address, host: HostAddresses, cameras: IPv4Network | None) -> str:
    """Why this host must not have an address on a camera's link."""
    if reason := _of_this_host(address, host, cameras):
        return reason
    if interface := host.neighbours.get(address):
        return f"is in use by another host at {interface}"
    if interface := host.cameras.get(address):
        return f"is the camera's own address at {interface}"
    return "is a name server or time server of this host" if address in host.servers else ""


def _of_this_host(address: IPv4Address, host: HostAddresses, cameras: IPv4Network | None) -> str:
    if cameras is not None and address in cameras:
        return f"belongs to {cameras}, the network of the cameras' addresses on this host"
    if interface := host.own.get(address):
        return f"is this host's own address at {interface}"
    return ""


def camera_address(candidates: list[str], leased: str, cameras: IPv4Network | None = None) -> str:
    """The first of the addresses in a lease that can be the camera's; empty where there is none."""
    for text in candidates:
        try:
            address = IPv4Address(text)
        except AddressValueError:
            continue
        if is_private(address) and text != leased and (cameras is None or address not in cameras):
            return text
    return ""
