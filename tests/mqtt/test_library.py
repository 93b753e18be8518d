"""The properties of packets from the broker, against those that paho-mqtt packs."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from wifimgrd.mqtt._library import Request, read_properties

TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20)
OF_A_REQUEST = {
    "ResponseTopic": TEXTS,
    "CorrelationData": st.binary(max_size=200),
    "MessageExpiryInterval": st.integers(0, 2**32 - 1),
}
OTHERS = {
    "PayloadFormatIndicator": st.integers(0, 1),
    "ContentType": TEXTS,
    "SubscriptionIdentifier": st.lists(st.integers(1, 2**28 - 1), min_size=1, max_size=3),
    "TopicAlias": st.integers(1, 65535),
    "UserProperty": st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=3),
}


@given(
    st.fixed_dictionaries({}, optional=OF_A_REQUEST), st.fixed_dictionaries({}, optional=OTHERS), st.binary()
)
def test_what_a_request_needs_is_read_and_the_rest_is_skipped(
    wanted: dict[str, Any], others: dict[str, Any], payload: bytes
) -> None:
    given: Any = Properties(PacketTypes.PUBLISH)  # type: ignore[no-untyped-call]
    for name, value in (wanted | others).items():
        setattr(given, name, value)
    packed = given.pack()
    request = Request(*(wanted.get(name) for name in OF_A_REQUEST))
    assert read_properties(b"\0\1a" + packed + payload, 3) == (request, 3 + len(packed))


@pytest.mark.parametrize(
    "packet",
    [
        b"",
        b"\x80\x80\x80\x80\x01",
        b"\x05\x26\0\0\0",
        b"\x02\x63\0",
        b"\x03\x08\0\xff",
        b"\x02\x09\0\1a",
        b"\x7f" + b"\x01\0" * 3,
    ],
)
def test_properties_of_another_length_are_an_error(packet: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        read_properties(packet, 0)


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_an_error(packet: bytes) -> None:
    with suppress(ValueError):
        _, end = read_properties(packet, 0)
        assert 0 < end <= len(packet)
