"""Notices: how a part of the manager lets others know what happened, without knowing who they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

_T = TypeVar("_T")


class Notice(Generic[_T]):
    """Something that happens in one part of the manager and concerns others.

    All subscriptions are made in `Hub._subscribe`.
    """

    def __init__(self) -> None:
        self._subscribers: list[Callable[[_T], None]] = []

    def subscribe(self, subscriber: Callable[[_T], None]) -> None:
        """Add a subscriber, after those that were added before."""
        self._subscribers.append(subscriber)

    def notify(self, value: _T) -> None:
        """Call the subscribers in the order of their subscriptions. What one raises is raised here, and the
        later ones are not called: each is part of the change that is notified."""
        for subscriber in self._subscribers:
            subscriber(value)
