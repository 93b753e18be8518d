"""Notification of changes of network interfaces and of their IPv4 addresses, over rtnetlink."""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable
from typing import Final

from wifimgrd.kernel.messages import Message, attributes
from wifimgrd.kernel.subscription import Subscription

_NEW_LINK, _DEL_LINK, _NEW_ADDRESS, _DEL_ADDRESS = 16, 17, 20, 21
_GROUPS: Final = 0x1 | 0x10
"""RTMGRP_LINK and RTMGRP_IPV4_IFADDR."""
_LINK: Final = struct.Struct("=BxHiII")
"""struct ifinfomsg: family, hardware type, index, flags, change mask."""
_ADDRESS: Final = struct.Struct("=BBBBI")
"""struct ifaddrmsg: family, prefix length, flags, scope, interface index."""
_IFLA_IFNAME: Final = 3
_IFLA_WIRELESS: Final = 11
"""Set in messages that are about a scan or an association, not about the interface."""


class NetworkEvents:
    """A subscription, from `open` to `close`.

    `on_link` gets the index and the name of an interface that appeared, changed or was renamed, and an empty
    name where it has gone. `on_address` gets the index of an interface whose addresses have changed.
    `on_overrun` is called when messages were lost: everything has to be read again.
    """

    def __init__(
        self,
        on_link: Callable[[int, str], None],
        on_address: Callable[[int], None],
        on_overrun: Callable[[], None],
    ) -> None:
        self._on_link = on_link
        self._on_address = on_address
        self._subscription = Subscription(socket.NETLINK_ROUTE, _GROUPS, self._received, on_overrun)

    def open(self) -> None:
        """Subscribe; raises OSError."""
        self._subscription.open()

    def close(self) -> None:
        """End the subscription."""
        self._subscription.close()

    def _received(self, message: Message) -> None:
        if message.kind in (_NEW_LINK, _DEL_LINK) and len(message.body) >= _LINK.size:
            found = attributes(message.body, _LINK.size)
            if _IFLA_WIRELESS not in found and message.body[0] == socket.AF_UNSPEC:
                name = found.get(_IFLA_IFNAME, b"").rstrip(b"\0").decode("ascii", "replace")
                index = _LINK.unpack_from(message.body)[2]
                self._on_link(index, "" if message.kind == _DEL_LINK else name)
        elif message.kind in (_NEW_ADDRESS, _DEL_ADDRESS) and len(message.body) >= _ADDRESS.size:
            self._on_address(_ADDRESS.unpack_from(message.body)[4])
