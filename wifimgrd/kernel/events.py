"""Events that the kernel reports by itself: of interfaces, their addresses and settings, routes and rules."""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntFlag
from typing import Final

from wifimgrd.kernel._messages import Message, attributes
from wifimgrd.kernel.addresses import DELETE_ADDRESS, NEW_ADDRESS, Address, address_in
from wifimgrd.kernel.links import DELETE_LINK, NEW_LINK, SCANS, Link, link_in
from wifimgrd.kernel.routes import DELETE_ROUTE, NEW_ROUTE, Route, route_in
from wifimgrd.kernel.rules import DELETE_RULE, NEW_RULE, Rule, rule_in
from wifimgrd.kernel.subscription import Subscription

_NEW_SETTINGS: Final = 80
_SETTINGS_HEADER_SIZE: Final = 4
"""struct netconfmsg, padded."""
_SETTINGS_INDEX: Final = 1
_SIGNED: Final = struct.Struct("=i")
_DELETIONS: Final = (DELETE_LINK, DELETE_ADDRESS, DELETE_ROUTE, DELETE_RULE)


class Topic(IntFlag):
    """The topics that can be subscribed to: the kernel's multicast groups."""

    LINKS = 1 << 0
    ADDRESSES = 1 << 4
    ROUTES = 1 << 6
    RULES = 1 << 7
    SETTINGS = 1 << 23
    """Of IPv4, in /proc/sys/net/ipv4/conf: forwarding, rp_filter and some others."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of an interface, by its index; a negative one is not an interface's."""

    index: int


@dataclass(frozen=True, slots=True)
class Event:
    """An entry that is new or changed, or gone."""

    entry: Link | Address | Route | Rule | Settings
    is_gone: bool = False


class NetworkEvents:
    """A subscription, from `open` to `close`.

    `on_overrun` is called when messages were lost: everything has to be read again.
    """

    def __init__(
        self, topics: Topic, on_event: Callable[[Event], None], on_overrun: Callable[[], None]
    ) -> None:
        self._on_event = on_event
        self._subscription = Subscription(
            socket.NETLINK_ROUTE, topics, self._received, on_overrun, unwanted=SCANS
        )

    def open(self) -> None:
        """Subscribe; raises OSError."""
        self._subscription.open()

    def close(self) -> None:
        """End the subscription."""
        self._subscription.close()

    def _received(self, message: Message) -> None:
        if (event := event_in(message)) is not None:
            self._on_event(event)


def event_in(message: Message) -> Event | None:
    """The event that a message reports; None if it is of no interest here, or cut off."""
    try:
        entry = _entry_in(message)
    except (struct.error, ValueError):
        return None
    return None if entry is None else Event(entry, message.kind in _DELETIONS)


def _entry_in(message: Message) -> Link | Address | Route | Rule | Settings | None:
    match message.kind:
        case k if k in (NEW_LINK, DELETE_LINK):
            return link_in(message.body)
        case k if k in (NEW_ADDRESS, DELETE_ADDRESS):
            return address_in(message.body)
        case k if k in (NEW_ROUTE, DELETE_ROUTE):
            return route_in(message.body)
        case k if k in (NEW_RULE, DELETE_RULE):
            return rule_in(message.body)
        case k if k == _NEW_SETTINGS:
            index = attributes(message.body, _SETTINGS_HEADER_SIZE).get(_SETTINGS_INDEX, b"")
            return Settings(*_SIGNED.unpack(index))
    return None
