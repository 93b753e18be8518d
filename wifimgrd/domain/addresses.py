"""The addresses of cameras on this host, one per device while it is registered, and the transports."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network
from itertools import chain

from wifimgrd.domain.device import DeviceId

LARGEST_PREFIX = 30
SMALLEST_PREFIX = 16
LARGEST_SHARE = 8
"""The shortest prefix of a network that the cameras are shared with, so that they are never open to all."""
LARGEST_PORT = 65535
PRIVATE_NETWORKS = tuple(
    map(IPv4Network, ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16"))
)
"""RFC 1918, and link-local addresses (RFC 3927)."""


def is_private(address: IPv4Address) -> bool:
    """Whether an address is one of RFC 1918 or link-local."""
    return any(address in private for private in PRIVATE_NETWORKS)


class SocketKind(StrEnum):
    """The transport."""

    TCP = "tcp"
    UDP = "udp"


@dataclass(frozen=True, slots=True, order=True)
class AcceptedPort:
    """A port of this host that cameras may send to."""

    kind: SocketKind
    number: int


@dataclass(frozen=True, slots=True)
class AddressPlan:
    """Assigns the addresses of one network; without a network no device has an address.

    The highest host address is the host's own, all others but the network's and the broadcast address are
    for cameras.
    """

    network: IPv4Network | None = None

    @property
    def host(self) -> str:
        """The host's own address, the source address towards the cameras; empty without a network."""
        return "" if self.network is None else str(self.network.broadcast_address - 1)

    def contains(self, address: str) -> bool:
        """Whether a camera may have this address."""
        return bool(address) and self.network is not None and _number(address) in self._numbers()

    def next(self, taken: Container[str], last: str) -> str:
        """An address for a new device: the first free one after `last`, the one that was assigned last, and
        after the highest the lowest again, so that the address of a removed device is reused as late as
        possible; empty where all are taken. Without a `last` of this network it begins with the lowest."""
        numbers = self._numbers()
        begin = _number(last) + 1 if self.contains(last) else numbers.start
        for number in chain(range(begin, numbers.stop), range(numbers.start, begin)):
            if (address := str(IPv4Address(number))) not in taken:
                return address
        return ""

    def highest(self, addresses: Iterable[str]) -> str:
        """The highest of some addresses that a camera may have; empty if there is none."""
        return max(filter(self.contains, addresses), key=_number, default="")

    def assign_all(self, given: Mapping[DeviceId, str], last: str = "") -> dict[DeviceId, str]:
        """The address of every device, in order of `given`, whose addresses may be missing or belong to
        another network: each device keeps its address, or at least its host part. `last` is as for `next`."""
        if self.network is None:
            return dict(given)
        numbers = self._numbers()
        settled = {
            device: address for device, address in given.items() if address and _number(address) in numbers
        }
        taken = set(settled.values())
        for device, address in given.items():
            if device not in settled and address:
                moved = self._same_place(address)
                if self.contains(moved) and moved not in taken:
                    settled[device] = moved
                    taken.add(moved)
        last = last if self.contains(last) else self.highest(taken)
        for device in given:
            if device not in settled:
                settled[device] = self.next(taken, last)
                taken.add(settled[device])
                last = settled[device] or last
        return {device: settled[device] for device in given}

    def _same_place(self, address: str) -> str:
        network = self.network
        assert network is not None  # noqa: S101 - for the type checker
        place = _number(address) & int(network.hostmask)
        return str(network.network_address + place)

    def _numbers(self) -> range:
        if self.network is None:
            return range(0)
        return range(int(self.network.network_address) + 1, int(self.network.broadcast_address) - 1)


def parse_network(text: str) -> IPv4Network | None:
    """The network in the configuration, None for the empty text; raises ValueError."""
    if not text:
        return None
    network = IPv4Network(text)
    if not SMALLEST_PREFIX <= network.prefixlen <= LARGEST_PREFIX:
        raise ValueError("its prefix is not /16 to /30")
    if (
        network.is_loopback
        or network.is_multicast
        or network.is_link_local
        or network.is_reserved
        or int(network.network_address) >> 24 == 0
    ):
        raise ValueError("its addresses are not host addresses")
    return network


def parse_share(text: str) -> IPv4Network:
    """A network whose hosts may reach the cameras; raises ValueError."""
    network = IPv4Network(text)
    if network.prefixlen < LARGEST_SHARE:
        raise ValueError(f"its prefix is not /{LARGEST_SHARE} to /32")
    if network.is_loopback or network.is_multicast or int(network.network_address) >> 24 == 0:
        raise ValueError("its addresses are not host addresses")
    return network


def parse_port(text: str) -> AcceptedPort:
    """A port such as `udp/8554`; raises ValueError."""
    parts = re.fullmatch(r"(udp|tcp)/([1-9][0-9]{0,4})", text)
    if parts is None or int(parts[2]) > LARGEST_PORT:
        raise ValueError('it is not like "udp/8554"')
    return AcceptedPort(SocketKind(parts[1]), int(parts[2]))


@lru_cache(maxsize=4096)
def _number(address: str) -> int:
    return int(IPv4Address(address))
