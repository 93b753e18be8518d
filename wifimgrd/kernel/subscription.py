"""A subscription to messages that the kernel sends by itself."""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import Callable
from typing import Final

from wifimgrd.kernel._messages import Message, messages

_LARGEST: Final = 1 << 16
_SOL_NETLINK: Final = 270
_ADD_MEMBERSHIP: Final = 1
"""linux/socket.h and linux/netlink.h; Python has no names for them."""
_DATAGRAMS_AT_ONCE: Final = 32
"""What is left is read in the next iteration of the event loop."""


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
    ) -> None:
        """`groups` is a mask of groups, as for bind; `joined` has groups by their numbers, which the kernel
        gives to families of generic netlink: https://man7.org/linux/man-pages/man7/netlink.7.html."""
        self._family = family
        self._groups = groups
        self._joined = joined
        self._on_message = on_message
        self._on_overrun = on_overrun
        self._socket: socket.socket | None = None

    def open(self) -> None:
        """Subscribe; raises OSError."""
        netlink = socket.socket(
            socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK, self._family
        )
        try:
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
