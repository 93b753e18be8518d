"""How many frames a client sends on a WebSocket (RFC 6455, 5.2). Pure, but for the time that it is told."""

from __future__ import annotations

from typing import Final

FRAMES_PER_S: Final = 200
"""Frames of one client, and as many at once; people and their programs send some."""
_LONG: Final = {126: 2, 127: 8}
"""Bytes of the length of longer frames, by what stands in its place."""


class FrameRate:
    """Counts the frames of one client."""

    def __init__(self, now: float) -> None:
        self._head = b""
        self._rest = 0
        """Bytes of a frame's content that are still to come."""
        self._allowed = float(FRAMES_PER_S)
        self._counted_at = now

    def is_kept(self, data: bytes, now: float) -> bool:
        """Count the frames of further bytes; False = there are too many."""
        self._allowed = min(FRAMES_PER_S, self._allowed + (now - self._counted_at) * FRAMES_PER_S)
        self._counted_at = now
        at = 0
        while at < len(data) and self._allowed >= 0:
            skipped = min(self._rest, len(data) - at)
            self._rest -= skipped
            at += skipped
            if at < len(data):
                at = self._take_head(data, at)
        return self._allowed >= 0

    def _take_head(self, data: bytes, at: int) -> int:
        known = len(self._head)
        head = self._head + data[at : at + 14 - known]
        if len(head) < 2:
            self._head = head
            return len(data)
        more = _LONG.get(head[1] & 0x7F, 0)
        size = 2 + more + (4 if head[1] & 0x80 else 0)
        if len(head) < size:
            self._head = head
            return len(data)
        self._head = b""
        self._rest = int.from_bytes(head[2 : 2 + more]) if more else head[1] & 0x7F
        self._allowed -= 1
        return at + size - known
