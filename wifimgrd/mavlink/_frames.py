"""MAVLink 2 on the wire: the messages that a camera understands and sends, and their frames.

A frame is FD, the payload's length, incompatibility and compatibility flags, sequence, system, component, id
(3 bytes), payload, checksum (2) and, with the flag SIGNED, 13 bytes of signature; numbers are little-endian.
Zeros at the end of a payload are left out, but for one byte. Source: mavlink.io, "Packet Serialization", and
common.xml; `tests/mavlink/test_frames.py` compares the table with pymavlink.

A signature is a link's id (1 byte), a timestamp (6 bytes, units of 10 us since 2015) and the first 6 bytes of
SHA-256 of the key, the frame, the id and the timestamp. Source: mavlink.io, "Message Signing".
"""

from __future__ import annotations

import binascii
import hashlib
import hmac
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from struct import Struct
from typing import Final

LARGEST_DATAGRAM: Final = 2048
"""Bytes that are read of a datagram: a frame has at most 280."""
SIGNED: Final = 0x01
"""The only incompatibility flag there is: frames with another one must be dropped."""
_SIGNATURE_SIZE: Final = 13
_BEGIN: Final = re.compile(b"[\xfd\xfe]")
_VERSION_2: Final = 0xFD
_VERSION_1_SIZE: Final = 8
"""A frame of MAVLink 1 without its payload."""
_HEADER: Final = Struct("<BBBBBBB3s")
_CHECKSUM_SIZE: Final = 2
MOST_STREAMS: Final = 64
"""Senders of signed frames that are remembered: stations and autopilots, each with a link of its own."""
MINUTE: Final = 6_000_000
LARGEST: Final = 2**48 - 2**40
"""The largest timestamp that is taken for one: frames that follow it have others for months."""
_EPOCH_US: Final = 1_420_070_400_000_000
_UNIT_US: Final = 10
_LINK: Final = b"\0"
_TAG_SIZE: Final = 6
_REVERSED: Final = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))

Value = int | float | bytes
Values = Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class Message:
    """The definition of a message."""

    id: int
    seed: int
    """The extra byte in its checksum, which stands for its definition."""
    layout: Struct
    fields: tuple[str, ...]
    """In the order of the wire."""

    def packed(self, values: Values) -> bytes:
        """A payload without the zeros at its end; fields that are not in `values` are zero."""
        payload = self.layout.pack(*{**self.unpacked(b""), **values}.values())
        return payload.rstrip(b"\0") or payload[:1]

    def unpacked(self, payload: bytes) -> dict[str, Value]:
        """The values of a payload: a shorter one is filled with zeros, a longer one is cut."""
        size = self.layout.size
        return dict(zip(self.fields, self.layout.unpack(payload[:size].ljust(size, b"\0")), strict=True))


def _message(row: str) -> Message:
    number, seed, layout, *fields = row.split()
    return Message(int(number), int(seed), Struct(layout), tuple(fields))


# The id, the seed, the layout and the fields.
_TABLE: Final = """
0 50 <IBBBBB custom_mode type autopilot base_mode system_status mavlink_version;
75 158 <4fiifHBBBBB param1 param2 param3 param4 x y z command target_system target_component frame current
  autocontinue;
76 152 <7fHBBB param1 param2 param3 param4 param5 param6 param7 command target_system target_component
  confirmation;
77 143 <HBBiBB command result progress result_param2 target_system target_component;
253 83 <B50sHB severity text id chunk_seq;
259 92 <IIfffIHHH32s32sB140sBB time_boot_ms firmware_version focal_length sensor_size_h sensor_size_v flags
  resolution_h resolution_v cam_definition_version vendor_name model_name lens_id cam_definition_uri
  gimbal_device_id camera_device_id;
260 146 <IBffB time_boot_ms mode_id zoomLevel focusLevel camera_device_id;
261 179 <IfffffBBBB32sB time_boot_ms total_capacity used_capacity available_capacity read_speed write_speed
  storage_id storage_count status type name storage_usage;
262 12 <IfIfBBiB time_boot_ms image_interval recording_time_ms available_capacity image_status video_status
  image_count camera_device_id
"""
HEARTBEAT, COMMAND_INT, COMMAND_LONG, COMMAND_ACK, STATUSTEXT, *OF_CAMERAS = map(_message, _TABLE.split(";"))
CAMERA_INFORMATION, CAMERA_SETTINGS, STORAGE_INFORMATION, CAMERA_CAPTURE_STATUS = OF_CAMERAS
_UNDERSTOOD: Final = {one.id: one for one in (HEARTBEAT, COMMAND_INT, COMMAND_LONG)}


@dataclass(frozen=True, slots=True)
class Frame:
    """A frame that was received; its checksum is right, its signature was not looked at."""

    system: int
    component: int
    message: Message
    values: Values
    signed: bytes = field(default=b"", repr=False)
    """The whole frame with its signature; empty if it has none."""


def frames(data: bytes) -> Iterator[Frame]:
    """The frames in a datagram whose message is understood. Other frames are skipped as a whole, other bytes
    one by one."""
    end = 0
    while (found := _BEGIN.search(data, end)) and found.start() + _HEADER.size <= len(data):
        begin = found.start()
        version, length, flags, _, _, system, component, number = _HEADER.unpack_from(data, begin)
        checked = begin + _HEADER.size + length
        after = checked + _CHECKSUM_SIZE + (_SIGNATURE_SIZE if flags & SIGNED else 0)
        if is_other := version != _VERSION_2:
            after = begin + _VERSION_1_SIZE + length
        end = begin + 1
        if after > len(data):
            continue
        message = _UNDERSTOOD.get(int.from_bytes(number, "little"))
        if is_other or message is None or flags & ~SIGNED:
            end = after
        elif data[checked : checked + _CHECKSUM_SIZE] == _checksum(data[begin + 1 : checked], message):
            end = after
            values = message.unpacked(data[begin + _HEADER.size : checked])
            yield Frame(system, component, message, values, data[begin:end] if flags & SIGNED else b"")


def frame(
    message: Message, values: Values, system: int, component: int, sequence: int, flags: int = 0
) -> bytes:
    """A frame; with the flag SIGNED its signature is to be added."""
    payload, number = message.packed(values), message.id.to_bytes(3, "little")
    header = _HEADER.pack(_VERSION_2, len(payload), flags, 0, sequence & 0xFF, system, component, number)
    return header + payload + _checksum(header[1:] + payload, message)


def _checksum(data: bytes, message: Message) -> bytes:
    """CRC-16/MCRF4XX, which is that of `crc_hqx` on bytes whose bits are in the other order."""
    crc = binascii.crc_hqx((data + bytes((message.seed,))).translate(_REVERSED), 0xFFFF)
    return bytes((_REVERSED[crc >> 8], _REVERSED[crc & 0xFF]))


class Signing:
    """Signs frames, and accepts those of others who have the key, each only once. The time is passed in."""

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
        sender = frame.system, frame.component, stamped[-7]
        timestamp = int.from_bytes(stamped[-6:], "little")
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


def text(value: str, size: int) -> bytes:
    """A text of at most `size` bytes of UTF-8, cut between two letters."""
    return value.replace("\0", "").encode("utf-8", "replace")[:size].decode("utf-8", "ignore").encode()
