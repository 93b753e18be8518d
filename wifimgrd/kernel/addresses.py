"""IPv4 addresses of interfaces. The numbers are those of include/uapi/linux/if_addr.h."""

from __future__ import annotations

import errno
import socket
import struct
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network
from typing import Final

from wifimgrd.kernel._messages import attribute, attributes
from wifimgrd.kernel.links import name_of
from wifimgrd.kernel.rtnetlink import Action, KernelError, listed

NEW_ADDRESS, DELETE_ADDRESS, _GET_ADDRESS = 20, 21, 22
_HEADER: Final = struct.Struct("=BBBBI")
"""struct ifaddrmsg: family, prefix length, flags, scope, interface index."""
_PEER, _OWN, _BROADCAST, _FLAGS = 1, 2, 4, 8
"""IFA_ADDRESS, which is the own one where there is no peer; IFA_LOCAL; IFA_BROADCAST; IFA_FLAGS."""
_NO_ROUTE: Final = 0x200
"""IFA_F_NOPREFIXROUTE."""
_IPV4_BYTES: Final = 4
_ANYWHERE: Final = 0
"""The scope of an address that is valid everywhere."""


@dataclass(frozen=True, slots=True)
class Address:
    """An address of an interface."""

    index: int
    address: IPv4Address
    prefix: int = 32
    peer: IPv4Address | None = None
    """The other end's, whose network the prefix is of."""
    broadcast: IPv4Address | None = None
    is_routed: bool = True
    """Whether the kernel is to add a route to its network; not read from the kernel."""

    @property
    def network(self) -> IPv4Network:
        """The network of the prefix."""
        return IPv4Network((self.peer or self.address, self.prefix), strict=False)

    def __str__(self) -> str:
        return f"address {self.address}/{self.prefix} dev {name_of(self.index) or self.index}"

    def encode(self, action: Action) -> tuple[int, bytes]:
        """See Entry."""
        body = _HEADER.pack(socket.AF_INET, self.prefix, 0, _ANYWHERE, self.index)
        body += attribute(_OWN, self.address.packed) + attribute(_PEER, (self.peer or self.address).packed)
        if self.broadcast is not None:
            body += attribute(_BROADCAST, self.broadcast.packed)
        if not self.is_routed:
            body += attribute(_FLAGS, _NO_ROUTE)
        return DELETE_ADDRESS if action is Action.DELETE else NEW_ADDRESS, body


def list_addresses(index: int | None = None) -> list[Address]:
    """The IPv4 addresses of all interfaces, in the order of each, or only of one: the kernel leaves out the
    others. One that is gone, whose index is 0, has none. Raises KernelError."""
    if index == 0:  # to the kernel, all
        return []
    wanted = _HEADER.pack(socket.AF_INET, 0, 0, 0, index or 0)
    try:
        found = [address_in(body) for body in listed(_GET_ADDRESS, NEW_ADDRESS, wanted)]
    except KernelError as error:
        if error.errno == errno.ENODEV:
            return []
        raise
    return [one for one in found if one is not None]


def first_address(index: int) -> IPv4Address | None:
    """The first IPv4 address of an interface, if it has one. Raises KernelError."""
    return next((one.address for one in list_addresses(index)), None)


def address_in(body: bytes) -> Address | None:
    """The address that a message is about; None if it is not an IPv4 address."""
    _, prefix, _, _, index = _HEADER.unpack_from(body)
    found = attributes(body, _HEADER.size)
    peer = ipv4(found.get(_PEER))
    own = ipv4(found.get(_OWN)) or peer
    if own is None:
        return None
    return Address(index, own, prefix, None if peer == own else peer, ipv4(found.get(_BROADCAST)))


def ipv4(data: bytes | None) -> IPv4Address | None:
    """The address in an attribute; None where there is no such attribute, or it has another length."""
    return IPv4Address(data) if data is not None and len(data) == _IPV4_BYTES else None
