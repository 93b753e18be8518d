"""The wire format of protobuf, as its documentation has it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wifimgrd.camera.drivers._protobuf import Fields, message, number, numbers, varint
from wifimgrd.camera.drivers.protocol import Nonsense


def test_the_examples_of_the_documentation() -> None:
    assert number(1, 150) == bytes.fromhex("089601")
    assert message(2, b"testing") == bytes.fromhex("120774657374696e67")
    assert message(3, number(1, 150)) == bytes.fromhex("1a03089601")
    assert numbers(6, (3, 270, 86942)) == bytes.fromhex("3206038e029ea705")
    assert varint(-2) == bytes.fromhex("feffffffffffffffff01")


def test_fields_are_read_by_their_number() -> None:
    fields = Fields(bytes.fromhex("089601") + bytes.fromhex("120774657374696e67") + message(3, number(1, 7)))
    assert fields.number(1) == 150
    assert fields.content(2) == b"testing"
    inner = fields.message(3)
    assert inner is not None
    assert inner.number(1) == 7
    assert (fields.number(9), fields.content(9), fields.message(9), fields.has(9)) == (0, b"", None, False)


def test_fields_of_another_type_are_missing() -> None:
    fields = Fields(number(1, 5) + message(2, b"x"))
    assert (fields.content(1), fields.message(1), fields.number(2)) == (b"", None, 0)


def test_fields_of_fixed_size_are_passed_over() -> None:
    assert Fields(b"\x09" + b"\0" * 8 + b"\x15" + b"\0" * 4 + number(3, 1)).number(3) == 1


@pytest.mark.parametrize(
    "data",
    ["08", "0880", "0a05616263", "0b", "0c", "0f", "00", "09000000", "15000000", "08" + "ff" * 10 + "01"],
)
def test_what_is_cut_off_or_of_no_type_is_refused(data: str) -> None:
    with pytest.raises(Nonsense):
        Fields(bytes.fromhex(data))


def test_a_message_has_a_bounded_number_of_fields() -> None:
    with pytest.raises(Nonsense):
        Fields(number(1, 1) * 5000)


@given(st.integers(1, 536870911), st.integers(-(1 << 63), (1 << 63) - 1))
def test_numbers_come_back(field: int, value: int) -> None:
    assert Fields(number(field, value)).signed(field) == value


@given(st.dictionaries(st.integers(1, 200), st.binary(max_size=200), max_size=20))
def test_contents_come_back(values: dict[int, bytes]) -> None:
    fields = Fields(b"".join(message(field, value) for field, value in values.items()))
    assert {field: fields.content(field) for field in values} == values


@given(st.binary(max_size=200))
def test_any_bytes_are_a_message_or_nonsense(data: bytes) -> None:
    try:
        fields = Fields(data)
        for field in range(1, 32):
            fields.message(field)
    except Nonsense:
        pass
