"""Values that cameras send: each is what it should be, or None."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wifimgrd.camera.drivers import _values as values
from wifimgrd.camera.drivers.protocol import Nonsense

WRONG: list[object] = [None, "5", [], {}, True, math.nan, math.inf, -math.inf, -1, 1e400, 10**40, -0.5]


@pytest.mark.parametrize("value", WRONG)
def test_what_no_number_of_its_kind_is_dropped(value: object) -> None:
    assert values.percent(value) is None
    assert values.space(value) is None
    assert values.seconds(value) is None
    assert values.share(value) is None or value is True


def test_numbers_within_their_bounds_are_taken() -> None:
    assert [values.percent(value) for value in (0, 100, 101, 99.9)] == [0, 100, None, 99]
    assert [values.share(value) for value in (0, 1, 0.33, 0.67, 1.01)] == [0, 100, 33, 67, None]
    assert values.space(2, 1024) == 2048
    assert values.space(1 << 50, 1024) is None
    assert [values.flag(value) for value in (True, False, 1, 0, 2, "1", None)] == [
        True, False, True, False, None, None, None,
    ]  # fmt: skip


def test_texts_are_printable_and_short() -> None:
    assert values.text(" HERO12\x00 \x1b[31mBlack\u202e ") == "HERO12 [31mBlack"
    assert values.text("\ud800x") == "x"
    assert len(values.text("x" * 10_000)) == 64
    assert [values.text(value) for value in (None, 5, b"x", ["x"])] == ["", "", "", ""]


@pytest.mark.parametrize(
    "body",
    [
        b"", b"[]", b"1", b"null", b"{", b'{"a": NaN}', b'{"a": -Infinity}', b"\xff\xfe{}", b'{"a": 1}x',
        b'{"a":' * 50_000 + b"1" + b"}" * 50_000, b"[" * 200_000, b'{"a": ' + b"9" * 200_000 + b"}",
    ],
)  # fmt: skip
def test_what_is_no_json_object_is_nonsense(body: bytes) -> None:
    with pytest.raises(Nonsense):
        values.json_object(body)


def test_members_that_are_no_objects_are_empty() -> None:
    assert values.member({"a": [1]}, "a") == values.member([], "a") == values.member(None, "a") == {}
    assert values.member({"a": {"b": 1}}, "a") == {"b": 1}


def microseconds(*parts: int) -> int:
    return round(datetime(*parts, tzinfo=UTC).timestamp()) * 1_000_000  # type: ignore[arg-type,misc]


@pytest.mark.parametrize(
    ("said", "offset_s", "expected"),
    [
        ("2026:05:18 01:04:29+08:00", 0, microseconds(2026, 5, 17, 17, 4, 29)),
        ("2026:05:18 01:04:29-03:30", 7200, microseconds(2026, 5, 18, 4, 34, 29)),
        ("2023:03:23 16:05:41", 3600, microseconds(2023, 3, 23, 15, 5, 41)),
        ("2023_01_31 03_04_05", 0, microseconds(2023, 1, 31, 3, 4, 5)),
        ("2023_1_2 3_4_5", 0, microseconds(2023, 1, 2, 3, 4, 5)),
        ("2023:13:23 16:05:41", 0, None),
        ("2023:02:30 16:05:41", 0, None),
        ("0000:01:01 00:00:00", 0, None),
        ("0001:01:01 00:00:00+23:59", 0, None),
        ("2023:03:23 16:05:41+99:99", 0, None),
        ("2023:03:23", 0, None),
        ("２023:03:23 16:05:41", 0, None),
        (5, 0, None),
    ],
)
def test_written_times(said: object, offset_s: int, expected: int | None) -> None:
    found = values.written_time(said, offset_s)
    assert found == expected or (expected is None and found is not None and found < 0)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=80),
    lambda children: (
        st.lists(children, max_size=3) | st.dictionaries(st.text(max_size=5), children, max_size=3)
    ),
    max_leaves=8,
)


@given(JSON)
def test_any_json_has_values_or_none(value: object) -> None:
    for read in (values.percent, values.share, values.space, values.seconds, values.flag):
        found = read(value)
        assert found is None or found >= 0
    assert values.text(value).isprintable()
    values.written_time(value, 0)
    if isinstance(value, dict):
        assert values.json_object(json.dumps(value).encode()) == value
