"""MAVLink 2 on the wire: the messages that a camera understands and sends, and their frames.

A frame is FD, the payload's length, incompatibility and compatibility flags, sequence, system, component, id
(3 bytes), payload, checksum (2) and, with the flag SIGNED, 13 bytes of signature; numbers are little-endian.
Zeros at the end of a payload are left out, but for one byte. Source: mavlink.io, "Packet Serialization", and
common.xml; `tests/mavlink/test_frames.py` compares the table with pymavlink.
"""

from __future__ import annotations

import binascii
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from struct import Struct
from types import MappingProxyType
from typing import Final

LARGEST_DATAGRAM: Final = 2048
"""Bytes that are read of a datagram: a frame has at most 280."""
SIGNATURE_SIZE: Final = 13
SIGNED: Final = 0x01
"""The only incompatibility flag there is: frames with another one must be dropped."""
_BEGIN: Final = 0xFD
_HEADER: Final = Struct("<BBBBBBB3s")
_CHECKSUM_SIZE: Final = 2
_SMALLEST: Final = _HEADER.size + _CHECKSUM_SIZE
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
        zero = self.layout.unpack(bytes(self.layout.size))
        payload = self.layout.pack(
            *(values.get(name, nothing) for name, nothing in zip(self.fields, zero, strict=True))
        )
        return payload.rstrip(b"\0") or payload[:1]

    def unpacked(self, payload: bytes) -> dict[str, Value]:
        """The values of a payload: a shorter one is filled with zeros, a longer one is cut."""
        size = self.layout.size
        return dict(zip(self.fields, self.layout.unpack(payload[:size].ljust(size, b"\0")), strict=True))


def _message(number: int, seed: int, layout: str, fields: str) -> Message:
    return Message(number, seed, Struct(layout), tuple(fields.split()))


HEARTBEAT: Final = _message(
    0, 50, "<IBBBBB", "custom_mode type autopilot base_mode system_status mavlink_version"
)
COMMAND_INT: Final = _message(
    75,
    158,
    "<4fiifHBBBBB",
    "param1 param2 param3 param4 x y z command target_system target_component frame current autocontinue",
)
COMMAND_LONG: Final = _message(
    76,
    152,
    "<7fHBBB",
    "param1 param2 param3 param4 param5 param6 param7 command target_system target_component confirmation",
)
COMMAND_ACK: Final = _message(
    77, 143, "<HBBiBB", "command result progress result_param2 target_system target_component"
)
STATUSTEXT: Final = _message(253, 83, "<B50sHB", "severity text id chunk_seq")
CAMERA_INFORMATION: Final = _message(
    259,
    92,
    "<IIfffIHHH32s32sB140sBB",
    "time_boot_ms firmware_version focal_length sensor_size_h sensor_size_v flags resolution_h resolution_v"
    " cam_definition_version vendor_name model_name lens_id cam_definition_uri gimbal_device_id"
    " camera_device_id",
)
CAMERA_SETTINGS: Final = _message(
    260, 146, "<IBffB", "time_boot_ms mode_id zoomLevel focusLevel camera_device_id"
)
STORAGE_INFORMATION: Final = _message(
    261,
    179,
    "<IfffffBBBB32sB",
    "time_boot_ms total_capacity used_capacity available_capacity read_speed write_speed storage_id"
    " storage_count status type name storage_usage",
)
CAMERA_CAPTURE_STATUS: Final = _message(
    262,
    12,
    "<IfIfBBiB",
    "time_boot_ms image_interval recording_time_ms available_capacity image_status video_status image_count"
    " camera_device_id",
)
MESSAGES: Final = MappingProxyType(
    {
        one.id: one
        for one in (
            *(HEARTBEAT, COMMAND_INT, COMMAND_LONG, COMMAND_ACK, STATUSTEXT),
            *(CAMERA_INFORMATION, CAMERA_SETTINGS, STORAGE_INFORMATION, CAMERA_CAPTURE_STATUS),
        )
    }
)


@dataclass(frozen=True, slots=True)
class Frame:
    """A frame that was received; its checksum is right, its signature was not looked at."""

    system: int
    component: int
    message: Message
    payload: bytes = field(repr=False)
    signed: bytes = field(repr=False)
    """The whole frame with its signature; empty if it has none."""

    @property
    def values(self) -> dict[str, Value]:
        """The message's fields."""
        return self.message.unpacked(self.payload)


def frames(datagram: bytes) -> Iterator[Frame]:
    """The frames in a datagram whose message is known; all else in it is left out."""
    end = 0
    while (begin := datagram.find(_BEGIN, end)) >= 0 and begin + _SMALLEST <= len(datagram):
        _, length, flags, _, _, system, component, number = _HEADER.unpack_from(datagram, begin)
        checked = begin + _HEADER.size + length
        # Whatever follows, each byte is in at most one checksum.
        end = checked + _CHECKSUM_SIZE + (SIGNATURE_SIZE if flags & SIGNED else 0)
        message = MESSAGES.get(int.from_bytes(number, "little"))
        if message is None or flags & ~SIGNED or end > len(datagram):
            continue
        if datagram[checked : checked + _CHECKSUM_SIZE] == _checksum(datagram[begin + 1 : checked], message):
            payload = datagram[begin + _HEADER.size : checked]
            signed = datagram[begin:end] if flags & SIGNED else b""
            yield Frame(system, component, message, payload, signed)


def frame(
    message: Message, values: Values, system: int, component: int, sequence: int, flags: int = 0
) -> bytes:
    """A frame; with the flag SIGNED its signature is to be added."""
    payload = message.packed(values)
    number = message.id.to_bytes(3, "little")
    header = _HEADER.pack(_BEGIN, len(payload), flags, 0, sequence & 0xFF, system, component, number)
    return header + payload + _checksum(header[1:] + payload, message)


def _checksum(data: bytes, message: Message) -> bytes:
    """CRC-16/MCRF4XX, which is that of `crc_hqx` on bytes whose bits are in the other order."""
    crc = binascii.crc_hqx((data + bytes((message.seed,))).translate(_REVERSED), 0xFFFF)
    return bytes((_REVERSED[crc >> 8], _REVERSED[crc & 0xFF]))


def text(value: str, size: int) -> bytes:
    """A text of at most `size` bytes of UTF-8, cut between two letters."""
    return value.replace("\0", "").encode("utf-8", "replace")[:size].decode("utf-8", "ignore").encode()


def whole(value: Value) -> int | None:
    """The whole number that a parameter is; None if it is none, as NaN, infinity and 0.5 are."""
    if isinstance(value, bytes) or not math.isfinite(value) or value != int(value):
        return None
    return int(value)
