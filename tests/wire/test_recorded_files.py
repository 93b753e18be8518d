"""The files of a recording on the way from the camera process: whatever it sends, they are within bounds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wifimgrd.bus.values import typed
from wifimgrd.domain.recorded_files import MOST_FILES
from wifimgrd.domain.recordings import RecordedFile
from wifimgrd.wire.recorded_files import decode, encode

NAMES = st.text(st.characters(codec="ascii", categories=["L", "N", "P"]), min_size=1, max_size=255)
FILES = st.builds(RecordedFile, NAMES, st.none() | st.integers(0, 1 << 53))


def sent(files: tuple[RecordedFile, ...] | None) -> tuple[RecordedFile, ...] | None:
    """The same, as the daemon receives them."""
    return decode(*typed(tuple[bool, list[tuple[str, int]]], list(encode(files))))


@given(st.lists(FILES, min_size=1, max_size=MOST_FILES, unique_by=lambda file: file.name))
def test_files_come_back(files: list[RecordedFile]) -> None:
    assert sent(tuple(files)) == tuple(files)


def test_files_that_are_not_known_come_back_as_not_known() -> None:
    assert encode(None) == (False, [])
    assert sent(None) is None


@given(
    st.booleans(),
    st.lists(st.tuples(st.text(max_size=300), st.integers(-(1 << 63), (1 << 63) - 1)), max_size=80),
)
def test_any_rows_are_files_within_bounds_or_not_known(known: bool, rows: list[tuple[str, int]]) -> None:
    files = decode(known, rows)
    assert files is None or known
    for file in files or ():
        assert 1 <= len(file.name) <= 255
        assert file.name.isprintable()
        assert file.size is None or 0 <= file.size <= 1 << 53
    assert files is None or 1 <= len(files) == len(rows) <= MOST_FILES


@pytest.mark.parametrize("rows", [[], [("a", 1), ("a", 1)], [("a", 1), ("", 1)], [("a", 1), ("b\x1b", 1)]])
def test_a_part_of_the_files_is_not_told_as_all(rows: list[tuple[str, int]]) -> None:
    assert decode(True, rows) is None
