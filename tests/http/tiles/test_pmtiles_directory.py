"""Headers and directories: what the `pmtiles` package writes is read, and nothing harms."""

from __future__ import annotations

import gzip
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pmtiles.tile import Entry as WrittenEntry
from pmtiles.tile import serialize_directory

from wifimgrd.http.tiles._pmtiles_directory import Directory, Entry, Header
from wifimgrd.http.tiles._tile import DamagedError


@st.composite
def directories(draw: st.DrawFn) -> list[Entry]:
    entries = []
    first = 0
    for _ in range(draw(st.integers(1, 40))):
        first += draw(st.integers(1, 1 << 40))
        run = draw(st.integers(0, 300))
        entries.append(Entry(first, run, draw(st.integers(0, 1 << 50)), draw(st.integers(1, 1 << 24))))
        first += run
    return entries


def packed(entries: list[Entry]) -> bytes:
    """As the package writes it."""
    written = [WrittenEntry(one.first, one.offset, one.length, one.run) for one in entries]
    return gzip.decompress(serialize_directory(written))


@given(directories())
def test_a_directory_is_read_as_it_was_written(entries: list[Entry]) -> None:
    assert list(Directory(packed(entries))) == entries


@given(directories(), st.data())
def test_an_entry_is_found_by_every_tile_of_its_run(entries: list[Entry], data: st.DataObject) -> None:
    entry = data.draw(st.sampled_from(entries))
    tile = entry.first + data.draw(st.integers(0, max(0, entry.run - 1)))
    assert Directory(packed(entries)).find(tile) == entry


@given(directories())
def test_before_the_first_entry_is_nothing(entries: list[Entry]) -> None:
    assert Directory(packed(entries)).find(entries[0].first - 1) is None


@given(st.lists(st.integers(1, 9), min_size=1, max_size=20))
def test_behind_a_run_is_nothing(runs: list[int]) -> None:
    entries, first = [], 0
    for run in runs:
        entries.append(Entry(first, run, 0, 1))
        first += run + 1
    directory = Directory(packed(entries))
    assert all(directory.find(one.first + one.run) is None for one in entries)


@given(st.binary(max_size=400))
def test_any_bytes_are_a_directory_or_refused(raw: bytes) -> None:
    with suppress(DamagedError):
        Directory(raw)


@given(directories(), st.data())
def test_a_directory_that_is_cut_off_is_refused(entries: list[Entry], data: st.DataObject) -> None:
    raw = packed(entries)
    with pytest.raises(DamagedError):
        Directory(raw[: data.draw(st.integers(0, len(raw) - 1))])


def test_a_directory_that_claims_too_much_is_refused_before_memory_is_taken() -> None:
    with pytest.raises(DamagedError, match="entries"):
        Directory(b"\xff\xff\xff\xff\x0f" + bytes(100))


@given(st.binary(max_size=200), st.integers(0, 1 << 40))
def test_any_bytes_are_a_header_or_refused(raw: bytes, size: int) -> None:
    for bytes_with in (raw, b"PMTiles\x03" + raw):
        with suppress(DamagedError):
            Header.of(bytes_with, size)
