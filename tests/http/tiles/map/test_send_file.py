"""Which part of a file a Range names."""

from __future__ import annotations

import pytest

from wifimgrd.http.tiles.map._send_file import UnsatisfiableError, requested_part

SIZE = 1000
TAG = '"tag"'


@pytest.mark.parametrize(
    ("said", "part"),
    [
        ("bytes=0-0", range(1)),
        ("bytes=0-16383", range(1000)),
        ("bytes=10-19", range(10, 20)),
        ("bytes=990-", range(990, 1000)),
        ("bytes=-10", range(990, 1000)),
        ("bytes=-5000", range(1000)),
        ("Bytes=1-2", range(1, 3)),
        (" bytes=1-2 ", range(1, 3)),
        ("bytes=0-9999999999999999999", range(1000)),
    ],
)
def test_one_range_is_cut_to_the_file(said: str, part: range) -> None:
    assert requested_part([said], None, TAG, SIZE) == part


@pytest.mark.parametrize(
    "said",
    [
        "bytes=1000-",
        "bytes=1000-2000",
        "bytes=20-10",
        "bytes=-0",
        "bytes=-",
        "bytes=0-1,5-6",
        "bytes=0-1, ",
        "items=0-1",
        "bytes",
        "",
        "bytes=a-b",
        "bytes=0x0-1",
        "bytes=+1-2",
        "bytes=\u0661-2",
        "bytes=0-99999999999999999999999",
    ],
)
def test_what_names_no_part_is_unsatisfiable(said: str) -> None:
    with pytest.raises(UnsatisfiableError):
        requested_part([said], None, TAG, SIZE)


def test_two_range_headers_are_several_ranges() -> None:
    with pytest.raises(UnsatisfiableError):
        requested_part(["bytes=0-1", "bytes=2-3"], None, TAG, SIZE)


def test_no_part_of_an_empty_file_can_be_sent() -> None:
    with pytest.raises(UnsatisfiableError):
        requested_part(["bytes=0-"], None, TAG, 0)


def test_without_range_it_is_the_whole_file() -> None:
    assert requested_part([], None, TAG, SIZE) is None


def test_if_range_with_this_files_tag_lets_the_range_count() -> None:
    assert requested_part(["bytes=1-2"], TAG, TAG, SIZE) == range(1, 3)


@pytest.mark.parametrize("other", ['"other"', 'W/"tag"', "tag", "Sun, 22 Nov 2026 18:00:00 GMT", ""])
@pytest.mark.parametrize("said", ["bytes=1-2", "bytes=5000-"])
def test_if_range_with_anything_else_makes_it_the_whole_file(said: str, other: str) -> None:
    assert requested_part([said], other, TAG, SIZE) is None
