"""Bytes into messages, and the sender in a header."""

from __future__ import annotations

import importlib
import struct
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.bus.text_length import ANY_TEXT
from wifimgrd.bus._framing import CALL, ERROR, FIXED, REPLY, SIGNAL, Framing, StreamBroken, sender_of
from wifimgrd.bus.library import LIBRARY, Variant

LARGEST = 1024


_marshaller: Any = importlib.import_module(LIBRARY + "._private.marshaller")


def message(
    serial: int, kind: int, sender: str, size: int, *, before: Sequence[Any] = (), after: Sequence[Any] = ()
) -> bytes:
    """A message as the message bus passes it on, whose body has so many bytes; its sender's field stands
    between other fields."""
    fields = [
        *before,
        [1, Variant("o", "/a")],
        [2, Variant("s", "a.b")],
        [3, Variant("s", "C")],
        [4, Variant("s", "a.B")],
        [5, Variant("u", 7)],
        *([[7, Variant("s", sender)]] if sender else []),
        *after,
    ]
    fixed = [ord("l"), kind, 1, 1, size, serial, fields]
    head = bytes(_marshaller.Marshaller("yyyyuua(yv)", fixed).marshall())
    return head + bytes(-len(head) % 8) + bytes(size)


MESSAGES = st.lists(
    st.tuples(
        st.sampled_from([CALL, REPLY, ERROR, SIGNAL]),
        st.sampled_from([":1.1", ":1.22"]),
        st.integers(0, 2 * LARGEST),
    )
)


@given(MESSAGES, st.integers(1, 3000))
def test_each_message_comes_out_once_however_the_stream_is_cut(
    messages: list[tuple[int, str, int]], step: int
) -> None:
    sent = [message(serial, *one) for serial, one in enumerate(messages, 1)]
    stream = b"".join(sent)
    framing = Framing(LARGEST)
    frames = [
        frame for begin in range(0, len(stream), step) for frame in framing.feed(stream[begin : begin + step])
    ]
    assert [(frame.serial, frame.kind, frame.sender) for frame in frames] == [
        (serial, kind, sender) for serial, (kind, sender, _) in enumerate(messages, 1)
    ]
    for frame, raw in zip(frames, sent, strict=True):
        too_large = len(raw) > LARGEST and frame.kind in (CALL, SIGNAL)
        assert frame.data == (b"" if too_large else raw)


@pytest.mark.parametrize("raw", [b"x" * 16, b"l\1\0\1" + b"\xff" * 12], ids=["no order", "endless"])
def test_a_stream_that_makes_no_sense_is_given_up(raw: bytes) -> None:
    with pytest.raises(StreamBroken):
        list(Framing().feed(raw))


def test_a_message_is_given_once_though_its_consumer_fails() -> None:
    framing = Framing()
    stream = message(1, CALL, ":1.1", 8) + message(2, CALL, ":1.1", 8)
    first = next(framing.feed(stream))  # and no more than that is read
    assert [first.serial, *(frame.serial for frame in framing.feed(b""))] == [1, 2]


def _forged(serial: int, sender: str, size: int, name: bytes) -> bytes:
    """A call, with a field that is not known in which the field of a sender seems to stand."""
    seeming = b"\x07\x01s\x00" + name
    return message(serial, CALL, sender, size, before=[[99, Variant("ay", seeming)]])


@pytest.mark.parametrize("name", [struct.pack("<I", 0xFFFFFFF0), struct.pack("<I", 4) + b":1.9", b""])
def test_a_forged_field_of_a_message_that_is_too_large_is_no_sender(name: bytes) -> None:
    frames = list(Framing(LARGEST).feed(_forged(1, ":1.1", 2 * LARGEST, name) + message(2, CALL, ":1.2", 8)))
    assert [(frame.serial, frame.sender, bool(frame.data)) for frame in frames] == [
        (1, ":1.1", False),
        (2, ":1.2", True),
    ]


def test_a_header_that_is_too_large_is_not_held() -> None:
    framing = Framing(LARGEST)
    raw = message(1, CALL, ":1.1", 0, before=[[99, Variant("ay", bytes(3 << 20))]])
    [frame] = framing.feed(raw[:1000])
    assert (frame.serial, frame.sender, frame.data) == (1, "", b"")
    assert framing.between_messages
    [after] = framing.feed(raw[1000:] + message(2, CALL, ":1.1", 8))
    assert after.serial == 2


FORGED = b"\x07\x01s\x00"
"""What the sender's field begins with, within the value of another field."""

_values = st.one_of(
    st.binary(max_size=20).map(lambda raw: Variant("ay", raw)),
    st.just(Variant("ay", FORGED + struct.pack("<I", 0xFFFFFFF0) + b":1.1")),
    st.sampled_from(["", "x", "\u00e9" if ANY_TEXT else "e"]).map(lambda text: Variant("s", text)),
    st.lists(st.integers(0, 9), max_size=3).map(lambda items: Variant("a(yt)", [[n, n] for n in items])),
    st.integers(0, 255).map(lambda n: Variant("(ya{sv}x)", [n, {"k": Variant("v", Variant("n", n))}, n])),
    st.just(Variant("aaay", [[b"a", b"b"], []])),
    st.just(Variant("g", "a{sv}")),
    st.just(Variant("d", 0.5)),
)
_fields = st.lists(st.tuples(st.integers(10, 255), _values).map(list), max_size=4)


def head(raw: bytes) -> bytes:
    """The part of a message before its body."""
    [fields] = struct.unpack_from("<I", raw, FIXED - 4)
    return raw[: FIXED + fields + -fields % 8]


@given(_fields, _fields)
def test_fields_that_are_not_known_are_passed_over(before: list[object], after: list[object]) -> None:
    raw = message(1, CALL, ":1.22", 0, before=before, after=after)
    assert sender_of(head(raw), "<") == ":1.22"


def test_of_two_senders_neither_is_believed() -> None:
    forged = [[7, Variant("s", ":1.1")]]
    assert sender_of(head(message(1, CALL, ":1.22", 0, before=forged)), "<") == ""


def test_a_header_of_many_small_values_costs_little() -> None:
    many = [[99, Variant("y", 1)]] * 2000
    assert sender_of(head(message(1, CALL, ":1.22", 0, before=many)), "<") == ""


@given(_fields, st.data())
def test_a_malformed_header_has_no_sender_and_raises_nothing(
    fields: list[object], data: st.DataObject
) -> None:
    whole = bytearray(head(message(1, CALL, ":1.22", 0, before=fields)))
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(FIXED - 4, len(whole) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(FIXED, len(whole)))
    assert isinstance(sender_of(bytes(whole[:cut]), "<"), str)
    assert isinstance(sender_of(bytes(whole[:cut]), ">"), str)


@given(st.binary(max_size=300))
def test_bytes_that_are_no_header_raise_nothing(raw: bytes) -> None:
    fixed = struct.pack("<BBBBIII", ord("l"), CALL, 0, 1, 0, 1, len(raw))
    assert isinstance(sender_of(fixed + raw, "<"), str)
