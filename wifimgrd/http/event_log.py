"""The numbering of events: gapless, within one life of the shim, and remembered for a while."""

from __future__ import annotations

from collections import deque
from itertools import islice


class EventLog:
    """The last events as they were sent, by number. Pure: no clock, no I/O."""

    def __init__(self, epoch: str, capacity: int) -> None:
        self.epoch = epoch
        self.seq = 0
        """Number of the last event."""
        self._texts: deque[str] = deque(maxlen=capacity)

    def next_seq(self) -> int:
        """The number of the event that `append` takes next."""
        return self.seq + 1

    def append(self, text: str) -> None:
        """Remember the next event; the oldest makes room."""
        self.seq += 1
        self._texts.append(text)

    def forget(self) -> None:
        """Make everything so far too old to be replayed: only a snapshot tells it now."""
        self._texts.clear()

    def since(self, mark: str) -> list[str] | None:
        """The events after `EPOCH:SEQ`, in order, none where that is current; None where only a
        snapshot helps: another epoch, too old, never reached, or not such a mark."""
        epoch, _, number = mark.rpartition(":")
        if epoch != self.epoch or not (number.isascii() and number.isdecimal() and len(number) < 20):
            return None
        missed = self.seq - int(number)
        if not 0 <= missed <= len(self._texts):
            return None
        return list(islice(self._texts, len(self._texts) - missed, None))
