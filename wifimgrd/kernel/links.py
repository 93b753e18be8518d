"""Network interfaces of the kernel. The numbers are those of include/uapi/linux/rtnetlink.h and if_link.h."""

from __future__ import annotations

import socket
import struct
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from wifimgrd.kernel._messages import attribute, attributes, text
from wifimgrd.kernel.rtnetlink import Action, looked_up
from wifimgrd.kernel.subscription import Unwanted

NEW_LINK, DELETE_LINK, _GET_LINK = 16, 17, 18
_HEADER: Final = struct.Struct("=BxHiII")
"""struct ifinfomsg: family, hardware type, index, flags, change mask."""
_MAC_ADDRESS, _NAME, _WIRELESS, _STATE, _INFO, _PERMANENT_ADDRESS = 1, 3, 11, 16, 18, 54
"""The last since Linux 5.6."""
SCANS: Final = Unwanted(NEW_LINK, _HEADER.size, _WIRELESS)
"""The kernel's wireless extensions report each scan and association to all who listen for links, as if it was
a change of the interface. NetworkManager scans with idle adapters."""
_ASSOCIATED: Final = (b"\x05", b"\x06")
"""`dormant` and `up` (linux/if.h): https://docs.kernel.org/networking/operstates.html."""
_TYPE: Final = struct.Struct("=H")
_INFO_KIND: Final = 1
_UP: Final = 1
_LONGEST_NAME: Final = 15
_ADDRESS_BYTES: Final = 6


@dataclass(frozen=True, slots=True)
class Link:
    """An interface, by its name or its index."""

    name: str
    index: int = 0
    kind: str = ""
    """Of one that is to be added, such as `dummy`."""
    is_up: bool | None = None
    """The state to which an existing interface is set; None leaves it as it is."""
    identity: bytes = field(default=b"", compare=False, repr=False)
    """Of one that the kernel has reported: its type, and its permanent MAC address, or the present one if it
    has none. Most messages are about something else."""
    use: bytes = field(default=b"", compare=False, repr=False)
    """Of one that the kernel has reported: whether it is up, and whether it is associated."""

    def __str__(self) -> str:
        state = {None: "", True: " up", False: " down"}[self.is_up]
        return f"interface {self.name}{state}"

    def encode(self, action: Action) -> tuple[int, bytes]:
        """See Entry."""
        flags, changed = (0, 0) if self.is_up is None else (_UP * self.is_up, _UP)
        body = _HEADER.pack(socket.AF_UNSPEC, 0, self.index, flags, changed)
        if not self.index:  # a name beside the index would be a new one
            body += attribute(_NAME, self.name)
        if self.kind:
            body += attribute(_INFO, attribute(_INFO_KIND, self.kind.encode()))
        return DELETE_LINK if action is Action.DELETE else NEW_LINK, body


def link_in(body: bytes) -> Link | None:
    """The interface that a message is about; None where it is about something else."""
    family, kind, index, flags, _ = _HEADER.unpack_from(body)
    found = attributes(body, _HEADER.size)
    if family != socket.AF_UNSPEC:
        return None
    is_associated = found.get(_STATE) in _ASSOCIATED
    address = found.get(_PERMANENT_ADDRESS) or found.get(_MAC_ADDRESS, b"")
    return Link(
        text(found.get(_NAME)),
        index,
        identity=_TYPE.pack(kind) + address,
        use=bytes((flags & _UP, is_associated)),
    )


def permanent_address(name: str) -> bytes:
    """The permanent MAC address of an interface; empty where it has none, or does not exist.

    Netlink also works in a sandbox that forbids ethtool's ioctl.
    """
    if not 0 < len(name.encode()) <= _LONGEST_NAME:
        return b""
    with suppress(OSError):
        return permanent_address_in(looked_up(_GET_LINK, NEW_LINK, Link(name).encode(Action.SET)[1]))
    return b""


def permanent_address_in(body: bytes) -> bytes:
    """The permanent address in the kernel's description of an interface; empty where it has none."""
    address = attributes(body, _HEADER.size).get(_PERMANENT_ADDRESS, b"")
    return address if len(address) == _ADDRESS_BYTES else b""


def index_of(name: str) -> int:
    """The index of an interface; 0 where there is none of that name."""
    with suppress(OSError):
        return socket.if_nametoindex(name)
    return 0


def name_of(index: int) -> str:
    """The name of an interface; empty where it has gone."""
    with suppress(OSError):
        return socket.if_indextoname(index)
    return ""
