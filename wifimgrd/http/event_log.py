"""The numbering of events: gapless, within one life of the shim, and remembered for a while."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from itertools import islice


@dataclass(frozen=True, slots=True)
class Telling:
    """A message as every client gets it."""

    type: str
    text: str
    """JSON, whole."""
    mark: str | None = None
    """EPOCH:SEQ, from where a client can go on; None where it has no number."""


class EventLog:
    """The last events as they were sent, by number. Pure: no clock, no I/O."""

    def __init__(self, epoch: str, capacity: int) -> None:
        self.epoch = epoch
        self.seq = 0
        """Number of the last event."""
        self._told: deque[Telling] = deque(maxlen=capacity)

    def next_seq(self) -> int:
        """The number of the event that `append` takes next."""
        return self.seq + 1

    @property
    def mark(self) -> str:
        """Where a client is that has seen everything."""
        return f"{self.epoch}:{self.seq}"

    def append(self, kind: str, text: str) -> Telling:
        """Remember the next event; the oldest makes room."""
        self.seq += 1
        told = Telling(kind, text, self.mark)
        self._told.append(told)
        return told

    def forget(self) -> None:
        """Make everything so far too old to be replayed: only a snapshot tells it now."""
        self._told.clear()

    def since(self, mark: str) -> list[Telling] | None:
        """The events after `EPOCH:SEQ`, in order, none where that is current; None where only a
        snapshot helps: another epoch, too old, never reached, or not such a mark."""
        epoch, _, number = mark.rpartition(":")
        if epoch != self.epoch or not (number.isascii() and number.isdecimal() and len(number) < 20):
            return None
        missed = self.seq - int(number)
        if not 0 <= missed <= len(self._told):
            return None
        return list(islice(self._told, len(self._told) - missed, None))
