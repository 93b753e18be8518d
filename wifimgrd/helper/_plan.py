"""The kernel state by which each camera is reached at an address of its own, and confined, as values.

A packet to a camera's address gets the mark of the camera's interface, the mark selects a routing table
with one route through that interface, and the address is translated to the camera's own. So cameras with
equal subnets, or even equal leases, do not conflict in the host's routing. `ruleset` and `routing` turn the
values into what the kernel is told.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from ipaddress import IPv4Address, IPv4Network
from typing import Final

from wifimgrd.domain.addresses import AcceptedPort

OWNER: Final = "wifimgrd0"
"""The interface that owns the network; no packet is ever sent through it."""
MARKS: Final = 0x77490000
"""An interface's mark, and the number of its routing table, is this plus its index."""
SOCKET_MARKS: Final = 0x774B0000
"""The mark of sockets that the helper opens is this plus the conntrack zone of their device."""
MARKS_MASK: Final = 0xFFFF0000
LARGEST_INDEX: Final = 0xFFFF
_LARGEST_ZONE: Final = 0xFFFF
_IDLE_ZONE: Final = 1


@dataclass(frozen=True, slots=True)
class Camera:
    """A camera, its interface, and the addresses by which it is reached; or an adapter without a link, which
    is only closed."""

    device_id: int
    """0 for an adapter without a link."""
    interface: str
    index: int
    """The kernel's index of the interface."""
    address: IPv4Address | None = None
    """Its address on this host; None where it has none."""
    camera_address: IPv4Address | None = None
    """The camera's own address on its link; None where there is none: the interface is only closed."""
    accepts: tuple[AcceptedPort, ...] = ()
    """The ports of this host that it may send to."""

    def __post_init__(self) -> None:
        if not 0 < self.index <= LARGEST_INDEX:
            raise ValueError(f"no mark for the interface index {self.index}")

    @property
    def mark(self) -> int:
        """The mark of its packets, and the number of its routing table."""
        return MARKS + self.index

    @property
    def socket_mark(self) -> int:
        """The mark of sockets to it: of the device, so that a socket that somebody still has never reaches
        the next camera at the interface."""
        return SOCKET_MARKS + self.zone

    @property
    def zone(self) -> int:
        """The conntrack zone of its packets: of the device, not of the interface, so that a connection that
        the kernel still remembers is never taken for another camera's. Adapters without a link have one
        together, which no device has."""
        return (self.device_id - 1) % (_LARGEST_ZONE - 1) + 2 if self.device_id else _IDLE_ZONE


@dataclass(frozen=True, slots=True)
class Plan:
    """The complete state."""

    network: IPv4Network | None
    """The network of the cameras' addresses; None where there are no addresses."""
    cameras: tuple[Camera, ...] = ()
    """And the adapters without a link."""
    shared: tuple[IPv4Network, ...] = ()
    """Networks whose hosts may reach the cameras, too."""

    def __post_init__(self) -> None:
        if len({one.index for one in self.cameras}) < len(self.cameras):
            raise ValueError("two cameras have one interface")

    def has_base_of(self, other: Plan) -> bool:
        """Whether all but the cameras is the same: what the chains depend on that all cameras share."""
        return (self.network, self.shared) == (other.network, other.shared)

    @property
    def host(self) -> IPv4Address | None:
        """The host's own address in the network."""
        return None if self.network is None else self.network.broadcast_address - 1

    @property
    def linked(self) -> tuple[Camera, ...]:
        """Those that are a camera's: other programs may configure the other interfaces."""
        return tuple(one for one in self.cameras if one.device_id)

    @property
    def reachable(self) -> tuple[Camera, ...]:
        """The cameras whose own address is known."""
        return tuple(one for one in self.cameras if one.camera_address is not None)

    @property
    def marks(self) -> list[int]:
        """The marks in use."""
        return [one.mark for one in self.reachable]

    def without_network(self) -> Plan:
        """The plan where the network cannot be used: cameras are confined, and have no address here."""
        return Plan(None, tuple(replace(one, address=None) for one in self.cameras))


def changed_cameras(cameras: Iterable[Camera], before: Iterable[Camera]) -> list[Camera]:
    """Those of `cameras` that are not the same in `before`."""
    known = {one.index: one for one in before}
    return [one for one in cameras if (same := known.get(one.index)) is not one and same != one]


def is_mark(mark: int) -> bool:
    """Whether a mark is that of a camera's interface."""
    return mark & MARKS_MASK == MARKS
