"""Notification of changes of nftables by other programs, over nfnetlink:
https://git.kernel.org/pub/scm/linux/kernel/git/torvalds/linux.git/tree/include/uapi/linux/netfilter/nf_tables.h."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from wifimgrd.kernel._messages import Message, attributes
from wifimgrd.kernel.subscription import Subscription

_NFNETLINK_FAMILY: Final = 12
"""NETLINK_NETFILTER."""
_GROUPS: Final = 1 << 6
"""NFNLGRP_NFTABLES, which is group 7."""
_SUBSYSTEM: Final = 10
"""NFNL_SUBSYS_NFTABLES: the high byte of a message's type."""
_NEW_GENERATION: Final = _SUBSYSTEM << 8 | 15
"""NFT_MSG_NEWGEN: the end of a transaction."""
_HEADER_SIZE: Final = 4
"""struct nfgenmsg."""
_TABLE: Final = 1
"""The attribute with the name of the table: it has this number in messages of all kinds but the one above."""


class NftablesEvents:
    """A subscription to changes of tables with one name, of all families, from `open` to `close`.

    `on_change` is called after a transaction that has changed such a table, or deleted it, unless it came
    from the netlink port `own_port`: process ids in messages are those of the initial PID namespace.
    `on_overrun` is called when messages were lost.
    """

    def __init__(
        self, table: str, own_port: int, on_change: Callable[[], None], on_overrun: Callable[[], None]
    ) -> None:
        self._own_port = own_port
        self._table = table.encode() + b"\0"
        self._on_change = on_change
        self._on_overrun = on_overrun
        self._is_concerned = False
        """The transaction whose messages arrive has changed the table."""
        self._subscription = Subscription(_NFNETLINK_FAMILY, _GROUPS, self._received, self._overrun)

    def open(self) -> None:
        """Subscribe; needs CAP_NET_ADMIN. Raises OSError."""
        self._subscription.open()

    def close(self) -> None:
        """End the subscription."""
        self._subscription.close()

    def _received(self, message: Message) -> None:
        if message.kind == _NEW_GENERATION:
            is_concerned, self._is_concerned = self._is_concerned, False
            if is_concerned and message.port != self._own_port:
                self._on_change()
        elif message.kind >> 8 == _SUBSYSTEM and not self._is_concerned:
            self._is_concerned = attributes(message.body, _HEADER_SIZE).get(_TABLE) == self._table

    def _overrun(self) -> None:
        self._is_concerned = False
        self._on_overrun()
