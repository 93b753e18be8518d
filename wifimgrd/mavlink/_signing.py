"""Signatures of MAVLink 2: frames of those who have the key, each only once.

A signature is a link's id (1 byte), a timestamp (6 bytes, units of 10 us since 2015) and the first 6 bytes of
SHA-256 of the key, the frame, the id and the timestamp. The time is passed in. Source: mavlink.io, "Message
Signing".
"""

from __future__ import annotations

import hashlib
import hmac
from pathlib import Path
from typing import Final

from wifimgrd.config.configuration import FileUnusable
from wifimgrd.mavlink._frames import Frame

SHORTEST_PASSPHRASE: Final = 16
"""Characters."""
MOST_STREAMS: Final = 64
"""Senders that are remembered: stations and autopilots, each with a link of its own."""
MINUTE: Final = 6_000_000
LARGEST: Final = 2**48 - 2**40
"""The largest timestamp that is taken for one: frames that follow it have others for months."""
_EPOCH_US: Final = 1_420_070_400_000_000
_UNIT_US: Final = 10
_LINK: Final = b"\0"
_TAG_SIZE: Final = 6


def key_in(file: Path) -> bytes:
    """The key that ground stations make of the passphrase in a file; raises FileUnusable."""
    try:
        lines = file.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise FileUnusable(f"[mavlink] signing_key_file: {file} cannot be read: {reason}") from None
    if len(lines) != 1 or len(lines[0]) < SHORTEST_PASSPHRASE:
        expected = f"one line, a passphrase of at least {SHORTEST_PASSPHRASE} characters"
        raise FileUnusable(f"[mavlink] signing_key_file: {file} must have {expected}")
    return hashlib.sha256(lines[0].encode()).digest()


class Signing:
    """Signs frames, and checks signatures."""

    def __init__(self, key: bytes, kept: int = 0, now_us: int = 0) -> None:
        """`kept` is the last timestamp before this run, or up to a minute earlier. Where the clock is not
        later, it was set back, and the timestamps go on behind all that there were."""
        self._key = key
        self.last = kept + MINUTE if 0 < kept >= (now_us - _EPOCH_US) // _UNIT_US else kept
        """The largest timestamp so far, sent or received."""
        self._streams: dict[tuple[int, int, int], int] = {}
        """The last timestamp of each sender; the one that was silent for the longest time is the first."""

    def sign(self, frame: bytes, now_us: int) -> bytes:
        """A frame that has the flag SIGNED, with its signature; `now_us` since the epoch."""
        self.last = max(self.last + 1, (now_us - _EPOCH_US) // _UNIT_US)
        stamped = frame + _LINK + self.last.to_bytes(6, "little")
        return stamped + self._tag(stamped)

    def accepts(self, frame: Frame, now_us: int) -> bool:
        """Whether a frame is signed by the key and new: later than the last one of its sender, or, of a new
        sender, at most a minute behind the time. Only what is accepted is remembered."""
        stamped, tag = frame.signed[:-_TAG_SIZE], frame.signed[-_TAG_SIZE:]
        if not stamped or not hmac.compare_digest(self._tag(stamped), tag):
            return False
        sender, timestamp = (
            (frame.system, frame.component, stamped[-7]),
            int.from_bytes(stamped[-6:], "little"),
        )
        now = max(self.last, (now_us - _EPOCH_US) // _UNIT_US)
        if not self._streams.get(sender, now - MINUTE) < timestamp < LARGEST:
            return False
        self._streams.pop(sender, None)
        if len(self._streams) >= MOST_STREAMS:
            del self._streams[next(iter(self._streams))]
        self._streams[sender] = timestamp
        self.last = max(now, timestamp)
        return True

    def _tag(self, stamped: bytes) -> bytes:
        return hashlib.sha256(self._key + stamped).digest()[:_TAG_SIZE]
