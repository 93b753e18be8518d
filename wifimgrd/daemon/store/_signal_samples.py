"""The samples of an hour as one blob: a version, a map of the minutes that have one, the values of each, and
a checksum. Pure.

Version 1, which is only read, has a byte for the mean and one for the minimum. Version 2 has the battery,
too, and 7 bits for each value: with three bytes a minute, a week of 64 cameras is larger than
docs/benchmarks.md allows.
"""

from __future__ import annotations

import struct
import zlib
from typing import Final

from wifimgrd.domain.signal_history import Samples, SignalSample

MINUTES: Final = 60
"""Of one blob."""
_WITHOUT_BATTERY: Final = 1
_VERSION: Final = 2
_BITS: Final = 7
"""Of one value, in version 2."""
_MOST: Final = (1 << _BITS) - 1
_UNKNOWN: Final = _MOST
"""A battery; percents are at most 100."""
_HEAD: Final = struct.Struct("<BQ")
_SUM: Final = struct.Struct("<I")


class BlobDamaged(ValueError):
    """A blob that `packed` has not made."""


def packed(samples: Samples) -> bytes:
    """Pack samples, by the minute within their hour."""
    minutes = sorted(samples)
    values = bytes(value for minute in minutes for value in _values(samples[minute]))
    content = _HEAD.pack(_VERSION, sum(1 << minute for minute in minutes)) + _packed(values)
    return content + _SUM.pack(zlib.crc32(content))


def unpacked(blob: bytes) -> Samples:
    """The samples in a blob; raises BlobDamaged."""
    content, checksum = blob[: -_SUM.size], blob[-_SUM.size :]
    if len(content) < _HEAD.size or checksum != _SUM.pack(zlib.crc32(content)):
        raise BlobDamaged("its checksum is wrong")
    version, held = _HEAD.unpack_from(content)
    minutes = [minute for minute in range(MINUTES) if held >> minute & 1]
    rest = content[_HEAD.size :]
    if version not in (_WITHOUT_BATTERY, _VERSION) or held >> MINUTES:
        raise BlobDamaged("it has another form")
    if version == _WITHOUT_BATTERY:
        if len(rest) != 2 * len(minutes):
            raise BlobDamaged("it has another length")
        pairs = zip(minutes, rest[::2], rest[1::2], strict=True)
        return {minute: SignalSample(mean, minimum) for minute, mean, minimum in pairs}
    values = _unpacked(rest, 3 * len(minutes))
    triples = zip(minutes, values[::3], values[1::3], values[2::3], strict=True)
    return {
        minute: SignalSample(mean, minimum, None if battery == _UNKNOWN else battery)
        for minute, mean, minimum, battery in triples
    }


def _values(sample: SignalSample) -> tuple[int, int, int]:
    return sample.mean, sample.minimum, _UNKNOWN if sample.battery is None else sample.battery


def _packed(values: bytes) -> bytes:
    """The values, each in 7 bits, the first one in the lowest."""
    whole = 0
    for value in reversed(values):
        whole = whole << _BITS | value
    return whole.to_bytes(_size(len(values)), "little")


def _unpacked(packed_values: bytes, count: int) -> bytes:
    """So many values; raises BlobDamaged if there are more or fewer."""
    whole = int.from_bytes(packed_values, "little")
    if len(packed_values) != _size(count) or whole >> count * _BITS:
        raise BlobDamaged("it has another length")
    return bytes(whole >> place & _MOST for place in range(0, count * _BITS, _BITS))


def _size(count: int) -> int:
    """The bytes of so many values."""
    return -(-count * _BITS // 8)
