"""Open GoPro over Bluetooth LE as values and bytes, without I/O: https://gopro.github.io/OpenGoPro/docs/ble

HERO9 and newer. What a camera sends may be anything: messages are bounded, and what cannot be parsed is left
out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from wifimgrd.camera.drivers.gopro_state import Status

SERVICE: Final = "0000fea6-0000-1000-8000-00805f9b34fb"
"""The service that cameras advertise; its short form is FEA6."""


def _uuid(number: int) -> str:
    return f"b5f9{number:04x}-aa8d-11e3-9046-0002a5d5c51b"


SSID: Final = _uuid(0x02)
PASSWORD: Final = _uuid(0x03)
"""Of the camera's access point."""


class Channel(NamedTuple):
    """Two characteristics: the hub writes messages to one, the camera notifies of answers by the other."""

    request: str
    response: str


COMMAND: Final = Channel(_uuid(0x72), _uuid(0x73))
SETTING: Final = Channel(_uuid(0x74), _uuid(0x75))
QUERY: Final = Channel(_uuid(0x76), _uuid(0x77))
MANAGEMENT: Final = Channel(_uuid(0x91), _uuid(0x92))
CHANNELS: Final = (COMMAND, SETTING, QUERY, MANAGEMENT)

# -- messages to a camera

SHUTTER: Final = b"\x01\x01"
"""And 1 or 0."""
SLEEP: Final = b"\x05"
"""Not 04, power off: the camera then cannot be woken by Bluetooth."""
REBOOT: Final = b"\x11"
"""As if its battery were pulled out: HERO12, HERO13 and MAX 2, by
https://gopro.github.io/OpenGoPro/ble/features/control.html."""
HARDWARE_INFO: Final = b"\x3c"
SET_GROUP: Final = b"\x3e\x02"
"""And the number of a group of presets, in two bytes."""
CLAIM_CONTROL: Final = b"\xf1\x69\x08\x02"
"""Set Camera Control Status, external control: request_set_camera_control_status in
https://gopro.github.io/OpenGoPro/ble/features/control.html. HERO10 and newer."""
SET_DATE_TIME: Final = b"\x0d\x07"
"""And year (two bytes), month, day, hour, minute, second."""
SET_LOCAL_DATE_TIME: Final = b"\x0f\x0a"
"""And the same, minutes after UTC (two bytes, signed), and whether that is summer time: HERO11 and newer."""
GET_DATE_TIME: Final = b"\x0e"
GET_LOCAL_DATE_TIME: Final = b"\x10"
"""HERO11 and newer."""
ACCESS_POINT_ON: Final = b"\x17\x01\x01"
ACCESS_POINT_OFF: Final = b"\x17\x01\x00"
ACCESS_POINT_ANEW: Final = b"\x17\x01\x02"
"""Off and on: HERO11 and newer, by https://gopro.github.io/OpenGoPro/faq."""
KEEP_ALIVE: Final = b"\x5b\x01\x42"
"""To SETTING, every 3 s: a camera sleeps once none comes and its own timer has run out."""
KEEP_ALIVE_S: Final = 3.0


_GET: Final = 0x13
_REGISTER: Final = 0x53
_PUSHED: Final = 0x93
_PAIRING: Final = b"\x03\x01"
_PAIRING_ANSWER: Final = b"\x03\x81"
"""The feature and the action of Set Pairing State, and of its answer: network_management.proto."""
_RESULT_SUCCESS: Final = b"\x08\x01"
"""The first field of the answer: response_generic.proto."""


def channel_of(message: bytes) -> Channel:
    """Where a command or a query is sent."""
    return QUERY if message[0] in (_GET, _REGISTER) else COMMAND


def get_statuses(*statuses: Status) -> bytes:
    """The query for statuses."""
    return bytes([_GET, *statuses])


def register_statuses(*statuses: Status) -> bytes:
    """The query for statuses, whose changes are pushed from then on, until the link ends."""
    return bytes([_REGISTER, *statuses])


def pairing_finished(host: str) -> bytes:
    """Ends the camera's pairing screen; it shows the host's name. Without it some cameras refuse the host
    later."""
    name = host.encode()[:32] or b"wifimgrd"
    return _PAIRING + b"\x08\x00\x12" + bytes([len(name)]) + name


def is_pairing_answer(message: bytes) -> bool:
    """Whether a message on MANAGEMENT answers `pairing_finished`."""
    return message.startswith(_PAIRING_ANSWER)


def is_pairing_accepted(message: bytes) -> bool:
    """Whether it says that the camera has left its pairing screen."""
    return message.startswith(_PAIRING_ANSWER + _RESULT_SUCCESS)


# -- packets

_PACKET: Final = 20
_CONTINUATION: Final = 0x80
_EXTENDED: Final = 1
"""In the two bits after the first: the length has 13 bits."""
_LONG: Final = 2
"""It has 16 bits; only cameras send that."""
_LARGEST_SENT: Final = 0x1FFF
LARGEST_RECEIVED: Final = 4096
"""Bytes of a message; the longest answer that the hub asks for, the hardware info, has some 100."""


def packets(message: bytes) -> Iterator[bytes]:
    """Split a message into packets of at most 20 bytes."""
    if len(message) > _LARGEST_SENT:
        raise ValueError(f"a message of {len(message)} bytes is too large")
    header = (_EXTENDED << 5 << 8 | len(message)).to_bytes(2, "big")
    yield header + message[: _PACKET - len(header)]
    rest = message[_PACKET - len(header) :]
    for number, begin in enumerate(range(0, len(rest), _PACKET - 1)):
        yield bytes([_CONTINUATION | number & 0x0F]) + rest[begin : begin + _PACKET - 1]


class Assembler:
    """Joins the packets of one characteristic; a message with a missing or surplus part is dropped."""

    def __init__(self) -> None:
        self._message = bytearray()
        self._length = 0
        """Of the message that is being received; 0 if none is."""
        self._number = 0
        """That the next continuation carries."""

    def feed(self, packet: bytes) -> bytes | None:
        """Add a packet; returns the message that it completes."""
        if not packet:
            return None
        if packet[0] & _CONTINUATION:
            if not self._length or packet[0] & 0x0F != self._number:
                self._length = 0
                return None
            self._number = (self._number + 1) & 0x0F
            self._message += packet[1:]
        else:
            begin = _begin_of(packet)
            self._length, self._number = (0, 0) if begin is None else (begin[0], 0)
            self._message = bytearray() if begin is None else bytearray(begin[1])
        if not self._length or len(self._message) < self._length:
            return None
        complete = bytes(self._message) if len(self._message) == self._length else None
        self._length = 0
        return complete


def _begin_of(packet: bytes) -> tuple[int, bytes] | None:
    """The length of a message and its first bytes; None if the packet is malformed, or the message empty or
    too large."""
    match packet[0] >> 5 & 3:
        case 0:
            length, size = packet[0] & 0x1F, 1
        case 1:
            length, size = int.from_bytes(packet[:2], "big") & 0x1FFF, 2
        case 2:
            length, size = int.from_bytes(packet[1:3], "big"), 3
        case _:
            return None
    if len(packet) < size or not 1 <= length <= LARGEST_RECEIVED:
        return None
    return length, packet[size:]


# -- answers

_OK: Final = 0
_DATE_TIME: Final = 7
"""Bytes: the year has two."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a command or a query, or a pushed status."""

    identifier: int
    """Of the command, or of the query."""
    status: int
    """0 is success, 1 an error, 2 an invalid argument."""
    data: bytes

    @property
    def succeeded(self) -> bool:
        """Whether the camera has accepted it."""
        return self.status == _OK


def answer_of(message: bytes) -> Answer | None:
    """Parse an answer; None if it is too short."""
    return Answer(message[0], message[1], message[2:]) if len(message) >= 2 else None


def statuses_of(answer: Answer) -> Mapping[int, bytes]:
    """The values in the answer to a query, or in a pushed one, by the status's id."""
    if answer.identifier not in (_GET, _REGISTER, _PUSHED) or not answer.succeeded:
        return {}
    return values_of(answer.data)


def values_of(data: bytes) -> Mapping[int, bytes]:
    """The values in a list of statuses; what is cut off is left out."""
    found = {}
    while len(data) >= 2 and len(data) >= 2 + data[1]:
        found[data[0]] = data[2 : 2 + data[1]]
        data = data[2 + data[1] :]
    return found


def is_set(value: bytes | None) -> bool | None:
    """The value of a status that is yes or no; None if it was not sent."""
    return None if value is None or len(value) != 1 else value[0] == 1


def date_time_of(data: bytes) -> str:
    """Parse what answers GET_DATE_TIME, or the beginning of what answers GET_LOCAL_DATE_TIME, as
    `year_month_day hour_minute_second`; "" if it is too short."""
    value = _sized(data)
    if len(value) < _DATE_TIME:
        return ""
    month, day, hour, minute, second = value[2:_DATE_TIME]
    return f"{int.from_bytes(value[:2], 'big'):04}_{month}_{day} {hour}_{minute}_{second}"


def zone_of(data: bytes) -> int | None:
    """The minutes after UTC in what answers GET_LOCAL_DATE_TIME; None if it is too short."""
    value = _sized(data)[_DATE_TIME : _DATE_TIME + 2]
    return int.from_bytes(value, "big", signed=True) if len(value) == 2 else None


def _sized(data: bytes) -> bytes:
    """The value after the byte with its length."""
    return data[1 : 1 + data[0]] if data else b""


@dataclass(frozen=True, slots=True)
class HardwareInfo:
    """The identity that a camera reports; "" for a value that it does not report."""

    model: str
    serial: str
    firmware: str


def hardware_info_of(data: bytes) -> HardwareInfo:
    """Parse what answers HARDWARE_INFO: number and name of the model, a number of no use, firmware,
    serial, SSID, MAC address, each with its length before it."""
    fields = []
    while data and len(data) > data[0]:
        fields.append(data[1 : 1 + data[0]])
        data = data[1 + data[0] :]
    return HardwareInfo(_text(fields, 1), _text(fields, 4), _text(fields, 3))


def _text(fields: list[bytes], number: int) -> str:
    """A field as text; "" if it is missing or has characters that no such text has."""
    raw = fields[number].rstrip(b"\0") if number < len(fields) else b""
    text = raw.decode("ascii", "replace")
    return text if len(text) <= 64 and all(" " <= letter <= "~" for letter in text) else ""
