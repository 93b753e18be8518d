"""Rows that are packed by ourselves are what the library would have made of them, and are read the same."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.bus.text_length import ANY_TEXT
from wifimgrd.bus import library
from wifimgrd.bus.packing import PackedBody, Value, pack_levels, pack_rows, pack_samples

characters = st.characters(
    blacklist_categories=["Cs"], blacklist_characters="\0", max_codepoint=None if ANY_TEXT else 127
)
texts = st.text(characters, max_size=40)
plain_values: st.SearchStrategy[Value] = st.one_of(
    texts.map(lambda text: ("s", text)),
    st.integers(0, 2**64 - 1).map(lambda number: ("t", number)),
    st.integers(-(2**63), 2**63 - 1).map(lambda number: ("x", number)),
    st.integers(0, 2**32 - 1).map(lambda number: ("u", number)),
    st.integers(-(2**31), 2**31 - 1).map(lambda number: ("i", number)),
    st.integers(0, 255).map(lambda number: ("y", number)),
)
values: st.SearchStrategy[Value] = st.recursive(
    plain_values,
    lambda inner: st.lists(st.dictionaries(texts, inner, max_size=3), max_size=3).map(
        lambda rows: ("aa{sv}", rows)
    ),
    max_leaves=6,
)
rows = st.lists(st.dictionaries(texts, values, max_size=12), max_size=12)


def packed(of: list[dict[str, Value]]) -> bytes:
    return sent(pack_rows(of))


def sent(body: PackedBody) -> bytes:
    message = library.PackedReturn(":1.5", 7, body)
    message.serial = 9
    return library.to_bytes(message, sockets=False)


def variants(of: Any) -> list[dict[str, library.Variant]]:
    return [
        {
            name: library.Variant(signature, variants(value) if signature == "aa{sv}" else value)
            for name, (signature, value) in row.items()
        }
        for row in of
    ]


@given(rows)
def test_the_bytes_are_those_of_the_library(of: list[dict[str, Value]]) -> None:
    message = library.method_return(":1.5", 7, "aa{sv}", [variants(of)], [])
    message.serial = 9
    assert packed(of) == library.to_bytes(message, sockets=False)


@given(
    st.integers(0, 2**64 - 1),
    st.lists(st.tuples(st.integers(0, 2**64 - 1), st.integers(0, 255), st.integers(0, 255)), max_size=12),
)
def test_the_bytes_of_samples_are_those_of_the_library(
    step: int, samples: list[tuple[int, int, int]]
) -> None:
    body = [step, [list(sample) for sample in samples]]
    message = library.method_return(":1.5", 7, "ta(tyy)", body, [])
    message.serial = 9
    assert sent(pack_samples(step, samples)) == library.to_bytes(message, sockets=False)
    assert library.read(sent(pack_samples(step, samples))).body == body


@given(
    st.integers(0, 2**64 - 1),
    st.lists(st.tuples(st.integers(0, 2**64 - 1), st.integers(0, 255)), max_size=12),
)
def test_the_bytes_of_levels_are_those_of_the_library(step: int, levels: list[tuple[int, int]]) -> None:
    body = [step, [list(level) for level in levels]]
    message = library.method_return(":1.5", 7, "ta(ty)", body, [])
    message.serial = 9
    assert sent(pack_levels(step, levels)) == library.to_bytes(message, sockets=False)
    assert library.read(sent(pack_levels(step, levels))).body == body


of_dbus_next_alone = pytest.mark.skipif(
    library.LIBRARY != "dbus_next", reason="dbus-fast reads past their end (docs/architecture.md)"
)
records = st.lists(
    st.tuples(st.integers(0, 2**64 - 1), texts, st.integers(0, 255), texts, st.floats(allow_nan=False)).map(
        list
    ),
    max_size=8,
)


def in_records(of: list[list[object]]) -> bytes:
    message = library.method_return(":1.5", 7, "ya(tsysd)u", [1, of, 2], [])
    message.serial = 9
    return library.to_bytes(message, sockets=False)


@given(records)
def test_structures_of_texts_and_numbers_are_read(of: list[list[object]]) -> None:
    assert library.read(in_records(of)).body == [1, of, 2]


@of_dbus_next_alone
@given(records, st.data())
def test_of_structures_that_are_malformed_nothing_but_that_is_raised(
    of: list[list[object]], data: st.DataObject
) -> None:
    raw = bytearray(in_records(of))
    position = data.draw(st.integers(64, len(raw) - 1))
    raw[position] = data.draw(st.integers(0, 255))
    with contextlib.suppress(ValueError):
        library.read(bytes(raw[: data.draw(st.integers(64, len(raw)))]))


def plain(of: Any) -> list[dict[str, object]]:
    return [
        {name: plain(value) if signature == "aa{sv}" else value for name, (signature, value) in row.items()}
        for row in of
    ]


@given(rows)
def test_what_was_packed_is_read(of: list[dict[str, Value]]) -> None:
    assert library.read(packed(of)).body == [plain(of)]


@given(
    st.dictionaries(
        texts,
        st.one_of(
            plain_values,
            st.tuples(st.just("as"), st.lists(texts)),
            st.tuples(st.just("ay"), st.binary()),
            st.tuples(st.just("b"), st.booleans()),
            st.tuples(st.just("x"), st.integers(-(2**63), 2**63 - 1)),
            st.tuples(st.just("d"), st.floats(allow_nan=False)),
            st.tuples(st.just("a{ss}"), st.dictionaries(texts, texts)),
            st.tuples(
                st.just("a{sv}"), st.dictionaries(texts, texts.map(lambda text: library.Variant("s", text)))
            ),
            st.tuples(
                st.just("av"),
                st.lists(
                    st.dictionaries(texts, texts.map(lambda text: library.Variant("s", text))).map(
                        lambda inner: library.Variant("a{sv}", inner)
                    )
                ),
            ),
            st.tuples(
                st.just("(sv)"),
                texts.map(lambda text: [text, library.Variant("v", library.Variant("s", text))]),
            ),
            st.tuples(st.just("i"), st.integers(-(2**31), 2**31 - 1)),
        ),
    )
)
def test_dictionaries_of_any_values_are_read(of: dict[str, tuple[str, Any]]) -> None:
    message = library.signal(
        "/a", "b.c", "D", "a{sv}s", [{name: library.Variant(*value) for name, value in of.items()}, "end"]
    )
    message.serial = 3
    reported = library.read(library.to_bytes(message, sockets=False)).body
    assert reported == [{name: library.unpack(value) for name, (_, value) in of.items()}, "end"]


@of_dbus_next_alone
@given(rows, st.data())
def test_bytes_that_are_damaged_are_refused_or_read_as_something_else(
    of: list[dict[str, Value]], data: st.DataObject
) -> None:
    raw = bytearray(packed(of))
    for _ in range(3):
        raw[data.draw(st.integers(16, len(raw) - 1))] = data.draw(st.integers(0, 255))
    try:
        library.read(bytes(raw))
    except ValueError:
        return


def test_what_d_bus_cannot_carry_does_not_break_the_message() -> None:
    reply = library.read(packed([{"name": ("s", "a\0b\ud800c")}]))
    assert reply.body == [[{"name": "ab?c"}]]


@pytest.mark.parametrize("count", [0, 1, 7])
def test_any_number_of_rows_is_read(count: int) -> None:
    [rows] = library.read(packed([{"id": ("t", 1)}] * count)).body
    assert rows == [{"id": 1}] * count
