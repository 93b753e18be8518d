"""Which address each camera is reached at on this host, fixed for a device's life."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network

from wifimgrd.domain.device import DeviceId

LARGEST_PREFIX = 30
SMALLEST_PREFIX = 16
LARGEST_SHARE = 8
"""The shortest prefix of a network that shares the cameras: never everybody."""


@dataclass(frozen=True, slots=True)
class AddressPlan:
    """Hands out the addresses of one network; without a network nobody has one.

    The last address is the host's own, all others but the first (the network's) and the
    broadcast address are for cameras.
    """

    network: IPv4Network | None = None

    @property
    def host(self) -> str:
        """The host's own address, from which it speaks to the cameras; empty without a network."""
        return "" if self.network is None else str(self.network.broadcast_address - 1)

    def holds(self, address: str) -> bool:
        """Whether a camera may have this address."""
        return bool(address) and self.network is not None and _number(address) in self._numbers()

    def next(self, taken: Collection[str]) -> str:
        """An address for a new device: the one behind the highest that is taken, so that what a removed
        device had is given again late; empty where all are taken."""
        numbers, used = self._numbers(), {_number(one) for one in taken if self.holds(one)}
        if not numbers:
            return ""
        highest = max(used, default=numbers[0] - 1)
        for candidates in (range(highest + 1, numbers.stop), numbers):
            for number in candidates:
                if number not in used:
                    return str(IPv4Address(number))
        return ""

    def settle(self, given: Mapping[DeviceId, str]) -> dict[DeviceId, str]:
        """The address of every device, in order of `given`, where that was made for another network
        or is missing: each keeps what it has, or at least its place in the network."""
        if self.network is None:
            return dict(given)
        settled = {device: address for device, address in given.items() if self.holds(address)}
        for device, address in given.items():
            if device not in settled and address:
                moved = self._same_place(address)
                if self.holds(moved) and moved not in settled.values():
                    settled[device] = moved
        for device in given:
            if device not in settled:
                settled[device] = self.next(settled.values())
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
    """The network that a configuration names, None for the empty text; raises ValueError."""
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
        raise ValueError("its addresses are no host's")
    return network


def parse_share(text: str) -> IPv4Network:
    """A network whose hosts are to reach the cameras; raises ValueError."""
    network = IPv4Network(text)
    if network.prefixlen < LARGEST_SHARE:
        raise ValueError(f"its prefix is not /{LARGEST_SHARE} to /32")
    if network.is_loopback or network.is_multicast or int(network.network_address) >> 24 == 0:
        raise ValueError("its addresses are no host's")
    return network


def _number(address: str) -> int:
    return int(IPv4Address(address))
