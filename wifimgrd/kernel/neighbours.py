"""The hosts on the links of this host, as the kernel knows them by ARP: linux/neighbour.h.

Reading needs no privilege, and asks nobody: the kernel asks for a host when something is sent to it.
"""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from enum import IntFlag
from ipaddress import IPv4Address
from typing import Final

from wifimgrd.kernel._messages import attribute, attributes
from wifimgrd.kernel.addresses import ipv4
from wifimgrd.kernel.rtnetlink import listed, looked_up

_NEW_NEIGHBOUR, _GET_NEIGHBOUR = 28, 30
_NEIGHBOUR: Final = struct.Struct("=BBHIHBB")
"""struct ndmsg: family, padding, interface index, state, flags, type."""
_NDA_DST, _NDA_CACHEINFO = 1, 3
_TIMES: Final = struct.Struct("=IIII")
"""struct nda_cacheinfo: how long ago the entry was confirmed, used and changed, in ticks; its users."""


class State(IntFlag):
    """The state of an entry, NUD_*."""

    INCOMPLETE = 0x01
    """The kernel asks for the first time, or again after it has failed."""
    REACHABLE = 0x02
    STALE = 0x04
    """Not confirmed for a while; nothing is sent there."""
    DELAY = 0x08
    """As STALE; something was sent, and the kernel asks soon."""
    PROBE = 0x10
    """It asks a host that has answered before."""
    FAILED = 0x20
    """It has asked, and there was no answer."""
    PERMANENT = 0x80
    """Set by a program."""


UNANSWERED: Final = State.INCOMPLETE | State.FAILED
_KNOWN: Final = State.REACHABLE | State.STALE | State.DELAY | State.PROBE | State.PERMANENT


@dataclass(frozen=True, slots=True)
class Neighbour:
    """An entry of the neighbour table."""

    index: int
    """That of the interface."""
    address: IPv4Address | None
    state: State
    confirmed_s: float | None = None
    """How long ago the host was last seen to receive, by ARP or since it answered what was sent to it. Of an
    entry that is new, and whose host has not answered yet, it is some time before it was made."""
    changed_s: float | None = None
    """How long ago its state has changed."""

    @property
    def is_known(self) -> bool:
        """Whether it has a hardware address, which may be of long ago."""
        return bool(self.state & _KNOWN)


def list_neighbours() -> Iterator[Neighbour]:
    """Those of all interfaces; raises OSError."""
    for body in listed(_GET_NEIGHBOUR, _NEW_NEIGHBOUR, _wanted()):
        if (found := neighbour_in(body)) is not None:
            yield found


def neighbour_of(interface: str, address: str) -> Neighbour | None:
    """The host with an address at an interface; None if there is no entry, or it cannot be read."""
    with suppress(OSError, ValueError):
        wanted = _wanted(socket.if_nametoindex(interface))
        wanted += attribute(_NDA_DST, IPv4Address(address).packed)
        return neighbour_in(looked_up(_GET_NEIGHBOUR, _NEW_NEIGHBOUR, wanted))
    return None


def neighbour_in(body: bytes) -> Neighbour | None:
    """The neighbour in a message of the kernel; None for what is not one of IPv4."""
    if len(body) < _NEIGHBOUR.size:
        return None
    family, _, _, index, state, _, _ = _NEIGHBOUR.unpack_from(body)
    if family != socket.AF_INET:
        return None
    found = attributes(body, _NEIGHBOUR.size)
    address, times = ipv4(found.get(_NDA_DST)), found.get(_NDA_CACHEINFO, b"")
    if len(times) != _TIMES.size:
        return Neighbour(index, address, State(state))
    confirmed, _, changed, _ = _TIMES.unpack(times)
    return Neighbour(index, address, State(state), confirmed / _TICKS, changed / _TICKS)


def _wanted(index: int = 0) -> bytes:
    return _NEIGHBOUR.pack(socket.AF_INET, 0, 0, index, 0, 0, 0)


_TICKS: Final = os.sysconf("SC_CLK_TCK")
"""In a second, of the times that the kernel tells (USER_HZ)."""
