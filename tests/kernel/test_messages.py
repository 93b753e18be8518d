"""Netlink messages and attributes, valid and not."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wifimgrd.kernel._messages import (
    DONE,
    ERROR,
    HEADER,
    Answer,
    Message,
    answer_in,
    attribute,
    attributes,
    messages,
    request,
)

BODIES = st.lists(st.tuples(st.integers(0, 0xFFFF), st.binary(max_size=40)), max_size=5)


@given(BODIES)
def test_messages_are_read_as_they_were_made(bodies: list[tuple[int, bytes]]) -> None:
    data = b"".join(
        made + bytes(-len(made) % 4) for made in (request(*body[:1], 0, body[1]) for body in bodies)
    )
    assert [(one.kind, one.body) for one in messages(data)] == bodies


@given(st.dictionaries(st.integers(0, 0x3FFF), st.binary(max_size=40), max_size=8))
def test_attributes_are_read_as_they_were_made(wanted: dict[int, bytes]) -> None:
    body = b"\1\2\3\4" + b"".join(attribute(kind, value) for kind, value in wanted.items())
    assert attributes(body, 4) == wanted


@given(st.binary(max_size=200), st.integers(0, 40))
def test_any_bytes_end_the_reading(data: bytes, offset: int) -> None:
    assert sum(len(one.body) for one in messages(data)) <= len(data)
    assert sum(map(len, attributes(data, offset).values())) <= len(data)


def test_a_message_that_is_cut_is_left_out() -> None:
    assert list(messages(request(16, 0, bytes(40))[:-1])) == []
    assert list(messages(struct.pack("=IHHII", 4, 16, 0, 1, 0))) == []


EXPLAINED = attribute(1, "Device for nexthop is not up.")


@pytest.mark.parametrize("repeated", [b"", bytes(40)])
def test_an_error_has_its_number_and_the_kernels_words(repeated: bytes) -> None:
    capped, explained = (0 if repeated else 0x100), 0x200
    header = HEADER.pack(HEADER.size + 40, 24, 0, 7, 0)
    body = struct.pack("=i", -100) + header + repeated + EXPLAINED
    assert answer_in(Message(ERROR, body, 0, capped | explained)) == Answer(
        100, "Device for nexthop is not up."
    )
    assert answer_in(Message(ERROR, body, 0, capped)) == Answer(100)


def test_an_acknowledgement_and_the_end_of_a_list_say_that_it_is_all() -> None:
    assert answer_in(Message(ERROR, bytes(4), 0)) == Answer(0)
    assert answer_in(Message(DONE, b"", 0)) == Answer(0)
    assert answer_in(Message(DONE, struct.pack("=i", -4), 0)) == Answer(4)
    assert answer_in(Message(16, bytes(4), 0)) is None


@given(st.sampled_from([ERROR, DONE, 16]), st.binary(max_size=80), st.integers(0, 0xFFFF))
def test_any_bytes_are_an_answer_or_none(kind: int, body: bytes, flags: int) -> None:
    assert isinstance(answer_in(Message(kind, body, 0, flags)), Answer | None)
