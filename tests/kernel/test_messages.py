"""Netlink messages and attributes, valid and not."""

from __future__ import annotations

import struct

from hypothesis import given
from hypothesis import strategies as st

from wifimgrd.kernel.messages import attribute, attributes, messages, request

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
def test_any_octets_end_the_reading(data: bytes, offset: int) -> None:
    assert sum(len(one.body) for one in messages(data)) <= len(data)
    assert sum(map(len, attributes(data, offset).values())) <= len(data)


def test_a_message_that_is_cut_is_left_out() -> None:
    assert list(messages(request(16, 0, bytes(40))[:-1])) == []
    assert list(messages(struct.pack("=IHHII", 4, 16, 0, 1, 0))) == []
