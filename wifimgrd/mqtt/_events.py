"""The numbered events that are to be published: a bounded queue. Pure: no clock, no I/O."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Final

from wifimgrd.client.channel_messages import CAMERA, Message
from wifimgrd.client.json_text import dumps

KEPT: Final = 1000
"""Events that are kept while the broker is away; the oldest are dropped."""
LEFT_OUT: Final = frozenset({"device.signal", CAMERA})
"""Messages of the channel that are not events here: they are many, and the retained record says the same."""


class EventQueue:
    """Numbers events, and keeps them until they are published."""

    def __init__(self, epoch: str, limit: int = KEPT) -> None:
        self.epoch = epoch
        self.seq = 0
        """The number of the last event."""
        self._limit = limit
        self._queue: deque[bytes] = deque(maxlen=limit)

    def add(self, message: Message, time: str) -> None:
        """Queue a message that happened at a time (RFC 3339)."""
        if message.type in LEFT_OUT:
            return
        self.seq += 1
        envelope = {"type": message.type, "epoch": self.epoch, "seq": self.seq, "time": time}
        self._queue.append(dumps(envelope | {"data": message.data}).encode())

    def take(self) -> bytes | None:
        """The oldest event; None if there is none."""
        return self._queue.popleft() if self._queue else None

    def put_back(self, events: Sequence[bytes]) -> None:
        """Queue again the oldest events, which were not delivered; as many as there is place for."""
        for event in reversed(events):
            if len(self._queue) < self._limit:
                self._queue.appendleft(event)
