"""A subscription to messages that the kernel sends by itself."""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from wifimgrd.kernel._messages import HEADER, Message, messages
from wifimgrd.kernel._packet_filter import assembled, attach

_LARGEST: Final = 1 << 16
_SOL_NETLINK: Final = 270
_ADD_MEMBERSHIP: Final = 1
"""linux/socket.h and linux/netlink.h; Python has no names for them."""
_DATAGRAMS_AT_ONCE: Final = 32
"""The rest is read in the next iteration of the event loop."""
_LOAD_KIND, _LOAD, _LOAD_INDEX, _FIND = 0x28, 0x00, 0x01, 0x30
_JUMP_IF_EQUAL, _RETURN = 0x15, 0x06
"""linux/bpf_common.h: a half-word of the packet, constants into A and X, a byte of the packet."""
_KIND_OFFSET: Final = 4
_ATTRIBUTE_OFFSET: Final = (1 << 32) - 0x1000 + 12
"""linux/filter.h: as if it was of the packet, the offset of attribute X from offset A on, 0 without one."""
_WHOLE: Final = 0xFFFFFFFF


@dataclass(frozen=True, slots=True)
class Unwanted:
    """Messages that the kernel shall not deliver: those of a kind that have an attribute."""

    kind: int
    header_size: int
    """Of what is between the netlink header and the attributes."""
    attribute: int

    def encode(self) -> bytes:
        """A program for the kernel's classic BPF, which reads numbers in network byte order."""
        return assembled(
            (_LOAD_KIND, 0, 0, _KIND_OFFSET),
            (_JUMP_IF_EQUAL, 0, 4, socket.htons(self.kind)),
            (_LOAD, 0, 0, HEADER.size + self.header_size),
            (_LOAD_INDEX, 0, 0, self.attribute),
            (_FIND, 0, 0, _ATTRIBUTE_OFFSET),
            (_JUMP_IF_EQUAL, 0, 1, 0),
            (_RETURN, 0, 0, _WHOLE),
            (_RETURN, 0, 0, 0),
        )


class Subscription:
    """A subscription to multicast groups of one netlink family, from `open` to `close`.

    `on_message` gets each message, in order. `on_overrun` is called when messages were lost: everything has
    to be read again.
    """

    def __init__(
        self,
        family: int,
        groups: int,
        on_message: Callable[[Message], None],
        on_overrun: Callable[[], None],
        joined: tuple[int, ...] = (),
        unwanted: Unwanted | None = None,
    ) -> None:
        """`groups` is a mask of groups, as for bind; `joined` has groups by their numbers, which the kernel
        gives to families of generic netlink: https://man7.org/linux/man-pages/man7/netlink.7.html. What is
        unwanted does not wake the process."""
        self._family = family
        self._groups = groups
        self._joined = joined
        self._unwanted = unwanted
        self._on_message = on_message
        self._on_overrun = on_overrun
        self._socket: socket.socket | None = None

    def open(self) -> None:
        """Subscribe; raises OSError."""
        netlink = socket.socket(
            socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK, self._family
        )
        try:
            if self._unwanted is not None:
                attach(netlink, self._unwanted.encode())
            netlink.bind((0, self._groups))
            for group in self._joined:
                netlink.setsockopt(_SOL_NETLINK, _ADD_MEMBERSHIP, group)
        except OSError:
            netlink.close()
            raise
        self._socket = netlink
        asyncio.get_running_loop().add_reader(netlink, self._readable)

    def close(self) -> None:
        """End the subscription."""
        if self._socket is not None:
            asyncio.get_running_loop().remove_reader(self._socket)
            self._socket.close()
            self._socket = None

    def _readable(self) -> None:
        for _ in range(_DATAGRAMS_AT_ONCE):
            if self._socket is None:
                return
            try:
                data = self._socket.recv(_LARGEST)
            except BlockingIOError:
                return
            except OSError as error:
                if error.errno != errno.ENOBUFS:
                    raise
                self._on_overrun()
                continue
            for message in messages(data):
                self._on_message(message)
