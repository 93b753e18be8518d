"""Signatures of MAVLink 2: frames of those who have the key, each only once.

A signature is a link's id (1 byte), a timestamp (6 bytes, units of 10 us since 2015) and the first 6 bytes of
SHA-256 of the key, the frame, the id and the timestamp. Pure: the time is passed in. Source: mavlink.io,
"Message Signing".
"""

from __future__ import annotations

import hashlib
import hmac
from typing import Final

from wifimgrd.mavlink._frames import Frame

SHORTEST_PASSPHRASE: Final = 16
"""Characters."""
MOST_STREAMS: Final = 64
"""Senders that are remembered: stations and autopilots, each with a link of its own."""
_EPOCH_US: Final = 1_420_070_400_000_000
_UNIT_US: Final = 10
_LINK: Final = b"\0"
_TAG_SIZE: Final = 6
_MINUTE: Final = 60_000_000 // _UNIT_US


def key_of(passphrase: str) -> bytes:
    """The key that ground stations make of a passphrase."""
    return hashlib.sha256(passphrase.encode()).digest()


class Signing:
    """Signs frames, and checks signatures."""

    def __init__(self, key: bytes, last: int = 0) -> None:
        """`last` is a timestamp that no frame before this run has reached."""
        self._key = key
        self.last = last
        """The largest timestamp so far, sent or received."""
        self._streams: dict[tuple[int, int, int], int] = {}
        """The last timestamp of each sender; the one that was silent for the longest time is the first."""

    def __repr__(self) -> str:
        return f"Signing({len(self._streams)} streams)"

    def sign(self, frame: bytes, now_us: int) -> bytes:
        """A frame that has the flag SIGNED, with its signature; `now_us` since the epoch."""
        self.last = max(self.last + 1, (now_us - _EPOCH_US) // _UNIT_US)
        stamped = frame + _LINK + self.last.to_bytes(6, "little")
        return stamped + self._tag(stamped)

    def accepts(self, frame: Frame, now_us: int) -> bool:
        """Whether a frame is signed by the key and new: later than the last one of its sender, or, of a new
        sender, at most a minute behind the time. Only what is accepted is remembered."""
        stamped, tag = frame.signed[:-_TAG_SIZE], frame.signed[-_TAG_SIZE:]
        if not frame.signed or not hmac.compare_digest(self._tag(stamped), tag):
            return False
        stream, timestamp = (
            (frame.system, frame.component, stamped[-7]),
            int.from_bytes(stamped[-6:], "little"),
        )
        self.last = max(self.last, (now_us - _EPOCH_US) // _UNIT_US)
        if timestamp <= self._streams.get(stream, self.last - _MINUTE):
            return False
        if stream not in self._streams and len(self._streams) >= MOST_STREAMS:
            del self._streams[next(iter(self._streams))]
        self._streams.pop(stream, None)
        self._streams[stream] = timestamp
        self.last = max(self.last, timestamp)
        return True

    def _tag(self, stamped: bytes) -> bytes:
        return hashlib.sha256(self._key + stamped).digest()[:_TAG_SIZE]
