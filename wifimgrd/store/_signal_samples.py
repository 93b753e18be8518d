"""The samples of an hour as one blob: a version, a map of the minutes that have one, mean and minimum of
each, and a checksum. Pure."""

from __future__ import annotations

import struct
import zlib
from typing import Final

from wifimgrd.domain.signal_history import Samples, SignalSample

MINUTES: Final = 60
"""Of one blob."""
_VERSION: Final = 1
_HEAD: Final = struct.Struct("<BQ")
_SUM: Final = struct.Struct("<I")


class BlobDamaged(ValueError):
    """A blob that `packed` has not made."""


def packed(samples: Samples) -> bytes:
    """Pack samples, by the minute within their hour."""
    minutes = sorted(samples)
    pairs = bytes(value for minute in minutes for value in (samples[minute].mean, samples[minute].minimum))
    content = _HEAD.pack(_VERSION, sum(1 << minute for minute in minutes)) + pairs
    return content + _SUM.pack(zlib.crc32(content))


def unpacked(blob: bytes) -> Samples:
    """The samples in a blob; raises BlobDamaged."""
    content, checksum = blob[: -_SUM.size], blob[-_SUM.size :]
    if len(content) < _HEAD.size or checksum != _SUM.pack(zlib.crc32(content)):
        raise BlobDamaged("its checksum is wrong")
    version, held = _HEAD.unpack_from(content)
    minutes = [minute for minute in range(MINUTES) if held >> minute & 1]
    pairs = content[_HEAD.size :]
    if version != _VERSION or held >> MINUTES or len(pairs) != 2 * len(minutes):
        raise BlobDamaged("it has another form")
    return {
        minute: SignalSample(mean, minimum)
        for minute, mean, minimum in zip(minutes, pairs[::2], pairs[1::2], strict=True)
    }
