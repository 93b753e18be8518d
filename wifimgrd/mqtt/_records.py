"""The messages that the broker should retain, and their difference from those that it does retain.

Pure: no clock, no I/O.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Mapping
from typing import Final

LONGEST_LIST: Final = 20_000
"""Topics that are compared; a hub has two for each device, and one for each adapter."""
LARGEST_LIST: Final = 4 * 1024 * 1024
"""Characters of these topics."""


def _digest(payload: bytes) -> bytes:
    return hashlib.blake2b(payload, digest_size=16).digest()


class RetainedRecords:
    """The records by topic, and which of them the broker does not have as they are.

    While the broker is away the newest record of each topic replaces the one before. With each
    connection, what the broker retains is read anew (`begin`, `found`, `complete`).
    """

    def __init__(self) -> None:
        self._wanted: dict[str, bytes] = {}
        self._held: dict[str, bytes] = {}
        """The digests of what the broker retains."""
        self._held_size = 0
        """Characters of their topics."""
        self._changed: dict[str, None] = {}
        """The topics to publish, in order."""
        self._is_known = False
        """It is known what the broker retains."""
        self._is_whole = False
        """All records are known; before, none is removed that another process published."""
        self.left_over = 0
        """Topics found beyond LONGEST_LIST or LARGEST_LIST."""
        self.on_removed: Callable[[str, bytes], None] | None = None
        """Called with a record that is no longer wanted."""

    def begin(self) -> None:
        """A connection begins: what the broker retains is not known."""
        self._held.clear()
        self._held_size = 0
        self._changed.clear()
        self._is_known = False
        self.left_over = 0

    def found(self, topic: str, payload: bytes) -> None:
        """The broker retains this payload; an empty one means that it retains nothing there."""
        if not payload:
            self._drop(topic)
        elif topic in self._wanted or topic in self._held or self._has_place(topic):
            self._hold(topic, _digest(payload))
        else:
            self.left_over += 1
        if self._is_known:
            self._compare(topic)

    def assume(self, topic: str) -> None:
        """The broker may retain something there, which is to be removed if it is not wanted, or replaced."""
        if topic not in self._held:
            self._hold(topic, b"")

    def wanted(self, topic: str) -> bytes | None:
        """The payload that is to be retained at this topic."""
        return self._wanted.get(topic)

    def is_found(self, topic: str) -> bool:
        """Whether the broker is known to retain something there."""
        return bool(self._held.get(topic))

    @property
    def held(self) -> Collection[str]:
        """The topics at which the broker retains something."""
        return self._held.keys()

    def refused(self, topic: str) -> None:
        """The broker has not accepted what was taken: it is to be published, or removed, again."""
        self._hold(topic, b"")
        if self._is_known:
            self._compare(topic)

    def complete(self) -> None:
        """All that the broker retains was found."""
        self._is_known = True
        # The message that was found or published last refers to earlier ones, and is removed first.
        surplus = [topic for topic in reversed(self._held) if topic not in self._wanted]
        for topic in (*surplus, *self._wanted):
            self._compare(topic)

    def set(self, topic: str, payload: bytes) -> None:
        """Retain this payload, which is not empty."""
        self._wanted[topic] = payload
        self._compare(topic)

    def remove(self, topic: str) -> None:
        """Retain nothing at this topic."""
        payload = self._wanted.pop(topic, None)
        if payload is not None and self.on_removed is not None:
            self.on_removed(topic, payload)
        self._changed.pop(topic, None)  # so that what is removed first is also removed first at the broker
        self._compare(topic)

    def replace(self, records: Mapping[str, bytes]) -> None:
        """Retain these records, and nothing else."""
        self._is_whole = True
        gone = [topic for topic in (self._wanted | self._held) if topic not in records]
        for topic in reversed(gone):
            self.remove(topic)
        for topic, payload in records.items():
            self._wanted.pop(topic, None)  # so that the order is that of `records`
            self.set(topic, payload)

    @property
    def changed(self) -> Collection[str]:
        """The topics that are still to be published."""
        return self._changed.keys()

    def take(self, admits: Callable[[str], bool] = lambda _: True) -> tuple[str, bytes] | None:
        """The next topic and payload to publish, which counts as retained from now on; None if there is
        none. An empty payload removes what is retained. A record whose topic is not admitted now waits, and
        is its newest one then."""
        topic = next((one for one in self._changed if one not in self._wanted or admits(one)), None)
        if topic is None:
            return None
        del self._changed[topic]
        payload = self._wanted.get(topic, b"")
        if payload:
            self._hold(topic, _digest(payload))
        else:
            self._drop(topic)
        return topic, payload

    def _has_place(self, topic: str) -> bool:
        return len(self._held) < LONGEST_LIST and self._held_size + len(topic) <= LARGEST_LIST

    def _hold(self, topic: str, digest: bytes) -> None:
        if topic not in self._held:
            self._held_size += len(topic)
        self._held[topic] = digest

    def _drop(self, topic: str) -> None:
        if self._held.pop(topic, None) is not None:
            self._held_size -= len(topic)

    def _compare(self, topic: str) -> None:
        if not self._is_known:
            return
        wanted, held = self._wanted.get(topic), self._held.get(topic)
        is_surplus = wanted is None and held is not None and self._is_whole
        if is_surplus or (wanted is not None and held != _digest(wanted)):
            self._changed[topic] = None
        else:
            self._changed.pop(topic, None)
