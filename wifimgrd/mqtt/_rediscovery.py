"""Messages that Home Assistant is sent again, since it was away, or drops them otherwise. Pure.

Home Assistant publishes `online` at `DISCOVERY_PREFIX/status` whenever it has connected to the broker
(https://www.home-assistant.io/integrations/mqtt/, "Birth and last will messages"). It may have missed what
was removed since the last time, as nothing is retained there.

It warns of an empty discovery message of a device that it does not know, and ignores one that it has already
processed (`homeassistant/components/mqtt/discovery.py` and `entity.py` of
https://github.com/home-assistant/core). So a removal is preceded by the message of the device, and a repeated
message by another one. None of these messages is retained.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from wifimgrd.mqtt._discovery import without_hub
from wifimgrd.mqtt._records import RetainedRecords

MOST_REMOVED: Final = 100
"""Topics; of more removals the first are not repeated."""
LARGEST_REMOVED: Final = 256 * 1024
"""Bytes of their messages."""


class Rediscovery:
    """The messages that are to be published once more, after all records."""

    def __init__(self, records: RetainedRecords) -> None:
        self._records = records
        self._removed: dict[str, bytes] = {}
        """By topic, the message before the empty one; an empty one where none is needed."""
        self._repeated: dict[str, None] = {}
        """The topics of the cameras that are to be attached to the hub's device again."""
        self._due: deque[tuple[str, bytes]] = deque()

    def removed(self, topic: str, payload: bytes) -> None:
        """A record is removed. Where `payload` is not empty, the removal is published after that message."""
        self._removed.pop(topic, None)
        self._removed[topic] = payload
        while len(self._removed) > MOST_REMOVED or sum(map(len, self._removed.values())) > LARGEST_REMOVED:
            del self._removed[next(iter(self._removed))]

    def begin(self) -> None:
        """A connection begins: which cameras are to be attached follows from what is read."""
        self._repeated.clear()

    def is_back(self) -> None:
        """Home Assistant is back: what was removed is removed once more."""
        removed, self._removed = self._removed, {}
        for topic, payload in removed.items():
            if self._records.wanted(topic) is None:
                self._due.extend([(topic, payload), (topic, b"")] if payload else [(topic, b"")])

    def attach(self, topic: str) -> None:
        """A camera's message is known to Home Assistant, while that of the hub is new."""
        self._repeated[topic] = None

    def take(self) -> tuple[str, bytes] | None:
        """The next topic and payload; None if there is none."""
        if not self._due:
            self._repeat_next()
        return self._due.popleft() if self._due else None

    def _repeat_next(self) -> None:
        for topic in self._repeated:
            if (record := self._records.wanted(topic)) is not None:
                del self._repeated[topic]
                self._due.extend([(topic, without_hub(record)), (topic, record)])
                return
