"""The codec, against the definitions of pymavlink and with it as decoder and as sender."""

from __future__ import annotations

import math
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.mavlink.station import mavlink
from wifimgrd.mavlink import _frames as wire
from wifimgrd.mavlink._frames import Message

MESSAGES = [one for one in vars(wire).values() if isinstance(one, Message)]
NAMES = {one.id: mavlink.mavlink_map[one.id].msgname for one in MESSAGES}


def sender() -> Any:
    return mavlink.MAVLink(None, srcSystem=1, srcComponent=100)


def of_field(kind: str) -> st.SearchStrategy[Any]:
    """Values of a field, by its letter in the layout."""
    if kind.endswith("s"):
        return st.binary(max_size=int(kind[:-1]))
    if kind == "f":
        return st.floats(width=32)
    size = struct.calcsize(kind) * 8
    low, high = (0, 2**size) if kind.isupper() else (-(2 ** (size - 1)), 2 ** (size - 1))
    return st.integers(low, high - 1)


def kinds(message: Message) -> list[str]:
    """The letter of each field."""
    found, count = [], ""
    for letter in message.layout.format.lstrip("<"):
        if letter.isdigit():
            count += letter
            continue
        found += [f"{count}s"] if letter == "s" else [letter] * int(count or 1)
        count = ""
    return found


def value_of(message: Any, name: str) -> Any:
    """A value that pymavlink has read: texts are cut at a zero, and other rows of bytes are lists."""
    value = getattr(message, name)
    raw = getattr(message, f"_{name}_raw", None)
    if raw is not None:
        return bytes(raw)
    return bytes(value) if isinstance(value, list) else value


def same(one: Any, other: Any) -> bool:
    if isinstance(one, float) and math.isnan(one):
        return math.isnan(other)
    if isinstance(one, bytes):
        return one.rstrip(b"\0") == bytes(other).rstrip(b"\0")
    return bool(one == other)


def test_there_are_nine_messages() -> None:
    assert len(MESSAGES) == 9


def defined(theirs: Any) -> list[str]:
    """The letters of the fields of a message of pymavlink, on the wire."""
    letters, lengths = theirs.native_format.decode().lstrip("<"), theirs.array_lengths
    return [f"{length}s" if length else one for one, length in zip(letters, lengths, strict=True)]


@pytest.mark.parametrize("message", MESSAGES, ids=lambda one: NAMES[one.id])
def test_a_message_is_as_pymavlink_defines_it(message: Message) -> None:
    theirs = mavlink.mavlink_map[message.id]
    assert message is getattr(wire, theirs.msgname)
    assert message.seed == theirs.crc_extra
    assert message.layout.size == theirs.unpacker.size
    assert kinds(message) == defined(theirs)
    assert list(message.fields) == theirs.ordered_fieldnames


@given(data=st.data())
def test_pymavlink_decodes_each_message_with_all_values(data: st.DataObject) -> None:
    message = data.draw(st.sampled_from(MESSAGES))
    values = {
        name: data.draw(of_field(kind)) for name, kind in zip(message.fields, kinds(message), strict=True)
    }
    system, component, sequence = (data.draw(st.integers(0, 255)) for _ in range(3))
    packed = wire.frame(message, values, system, component, sequence)
    decoder = sender()
    [found] = decoder.parse_buffer(packed)
    assert (found.get_srcSystem(), found.get_srcComponent(), found.get_seq()) == (system, component, sequence)
    assert all(same(values[name], value_of(found, name)) for name in message.fields)
    assert found.get_type() == NAMES[message.id]


@given(
    parameters=st.lists(st.floats(width=32), min_size=7, max_size=7),
    number=st.integers(0, 65535),
    target=st.integers(0, 255),
)
def test_what_pymavlink_sends_is_understood(parameters: list[float], number: int, target: int) -> None:
    mav = sender()
    packed = mav.command_long_encode(7, target, number, 3, *parameters).pack(mav)
    [frame] = wire.frames(bytes(packed))
    assert (frame.system, frame.component, frame.message) == (1, 100, wire.COMMAND_LONG)
    assert frame.values["command"] == number
    assert (frame.values["target_system"], frame.values["target_component"]) == (7, target)
    read = [frame.values[f"param{place}"] for place in range(1, 8)]
    assert all(same(one, other) for one, other in zip(parameters, read, strict=True))


def test_zeros_at_the_end_are_left_out_but_one_byte_stays() -> None:
    assert wire.frame(wire.CAMERA_SETTINGS, {}, 1, 100, 0)[1] == 1
    assert wire.frame(wire.HEARTBEAT, {"type": 30}, 1, 100, 0)[1] == 5
    mav = sender()
    assert wire.frame(wire.COMMAND_ACK, {}, 1, 100, 0) == mav.command_ack_encode(0, 0).pack(mav)


def heartbeat(armed: int = 0) -> bytes:
    mav = sender()
    return bytes(mav.heartbeat_encode(2, 3, armed, 0, 4).pack(mav))


def version_1() -> bytes:
    mav = sender()
    return bytes(mav.heartbeat_encode(2, 3, 0xFD, 0xFD, 4).pack(mav, force_mavlink1=True))


def foreign() -> bytes:
    """A message that is not understood, and has one in it that is."""
    mav = sender()
    inner = heartbeat()
    data = list(inner.ljust(128, b"\0"))
    return bytes(mav.tunnel_encode(0, 0, 1, len(inner), data).pack(mav))


@pytest.mark.parametrize(
    ("before", "what"),
    [
        (b"", "nothing"),
        (b"\xfd", "the first byte of a frame"),
        (b"\xfd\xfd\xfd\xfe\xfe", "several of them"),
        (heartbeat()[:-1], "a frame without its end"),
        (heartbeat()[:-1] + b"\x00", "a frame with a wrong checksum"),
        (version_1(), "a frame of MAVLink 1 with the first byte of others in it"),
        (bytes(range(240)), "noise"),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_a_frame_is_found_behind(before: bytes, what: str) -> None:
    assert [one.values["base_mode"] for one in wire.frames(before + heartbeat(0x51))] == [0x51], what


def test_what_is_in_another_message_is_not_a_frame() -> None:
    found = list(wire.frames(foreign() + heartbeat(0x51)))
    assert [one.values["base_mode"] for one in found] == [0x51]


def test_all_frames_of_a_datagram_are_found() -> None:
    datagram = heartbeat(1) + version_1() + foreign() + heartbeat(2) + heartbeat(3)
    assert [one.values["base_mode"] for one in wire.frames(datagram)] == [1, 2, 3]


@pytest.mark.parametrize("flags", [0x02, 0x03, 0x80])
def test_a_frame_with_a_flag_that_nobody_knows_is_dropped(flags: int) -> None:
    packed = bytearray(heartbeat())
    packed[2] = flags
    packed[-2:] = struct.pack("<H", mavlink.x25crc(packed[1:-2] + bytes((50,))).crc)
    assert list(wire.frames(bytes(packed) + bytes(13))) == []


def test_a_payload_of_another_length_is_cut_or_filled() -> None:
    assert wire.HEARTBEAT.unpacked(b"\x01")["custom_mode"] == 1
    assert wire.HEARTBEAT.unpacked(bytes(8) + b"\x03" + b"more")["mavlink_version"] == 3


@given(datagram=st.binary(max_size=2048))
def test_noise_is_no_frame_and_raises_nothing(datagram: bytes) -> None:
    assert list(wire.frames(datagram)) == []


@given(
    parts=st.lists(
        st.one_of(st.binary(max_size=40), st.sampled_from([heartbeat(), version_1(), foreign(), b"\xfd"])),
        max_size=8,
    )
)
def test_what_is_found_among_noise_is_what_was_sent(parts: list[bytes]) -> None:
    found = list(wire.frames(b"".join(parts)))
    assert len(found) <= parts.count(heartbeat())
    assert all(one.message is wire.HEARTBEAT for one in found)


@pytest.mark.parametrize(
    ("text", "size", "kept"),
    [
        ("Nose", 31, b"Nose"),
        ("n" * 40, 31, b"n" * 31),
        ("n" * 30 + "\u00e4", 31, b"n" * 30),
        ("n" * 29 + "\u00e4", 31, b"n" * 29 + "\u00e4".encode()),
        ("\U0001f6a4" * 9, 31, "\U0001f6a4".encode() * 7),
        ("a\0b", 31, b"ab"),
        ("\ud800", 31, b"?"),
    ],
)
def test_a_text_is_cut_between_two_letters(text: str, size: int, kept: bytes) -> None:
    assert wire.text(text, size) == kept
