"""Squares of the grid, and what sources mark in them."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pmtiles.tile import Compression, zxy_to_tileid

from tests.http.tiles.conftest import KINDS
from tests.http.tiles.making import Place, pyramid, write_pmtiles
from wifimgrd.http.tiles import _gaps as gaps
from wifimgrd.http.tiles._gaps import positions, squares
from wifimgrd.http.tiles._pmtiles import PMTilesSource
from wifimgrd.http.tiles._tileset import OPENERS
from wifimgrd.http.tiles.coordinates import Box, tile_of_id

WORLD = Box(-180, -90, 180, 90)
degrees = st.floats(-180, 180)


@pytest.fixture(autouse=True)
def small_squares(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that small boxes have many of them."""
    monkeypatch.setattr(gaps, "_SIDE_BITS", 3)


def spanned(box: Box, z: int) -> set[Place]:
    """The tiles of a box, one by one."""
    return {
        (z, x, y)
        for left, right, top, bottom in box.spans(z)
        for x in range(left, right + 1)
        for y in range(top, bottom + 1)
    }


boxes = st.builds(
    lambda west, east, a, b: Box(west, min(a, b) / 2, east, max(a, b) / 2), degrees, degrees, degrees, degrees
)


@given(boxes, st.integers(0, 6))
def test_squares_have_each_tile_of_a_box_once(box: Box, z: int) -> None:
    found = [tile_of_id(square.first + at) for square in squares(box, z) for at in positions(square.in_span)]
    assert len(found) == len(set(found)) == box.count(z)
    assert set(found) == spanned(box, z)


@given(st.integers(0, 20), st.data())
def test_a_square_begins_with_its_lowest_tile(z: int, data: st.DataObject) -> None:
    x, y = (data.draw(st.integers(0, (1 << z) - 1)) for _ in "xy")
    bits = data.draw(st.integers(0, min(z, 3)))
    square = gaps.Square.at(z, bits, x >> bits, y >> bits, gaps.Span(x, x, y, y))
    assert square.first <= zxy_to_tileid(z, x, y) < square.first + square.tiles
    assert list(positions(square.in_span)) == [zxy_to_tileid(z, x, y) - square.first]


@pytest.mark.parametrize("kind", KINDS)
@given(box=boxes, z=st.integers(0, 6))
def test_what_is_not_marked_is_missing(
    kind: str, places: Mapping[str, Path], world: Mapping[Place, bytes], box: Box, z: int
) -> None:
    source = OPENERS[kind](places[kind])
    missing = set()
    for square in squares(box, z):
        there = bytearray(square.tiles)
        source.mark(square, there)
        missing |= {tile_of_id(square.first + at) for at in positions(square.missing(there))}
    assert missing == spanned(box, z) - world.keys()


def test_runs_and_leaves_are_marked(tmp_path: Path) -> None:
    chance = random.Random(3)
    tiles = {place: bytes(chance.randrange(1, 3000) if place[0] > 4 else 9) for place in pyramid(7)}
    source = PMTilesSource(write_pmtiles(tmp_path / "a", tiles, compression=Compression.NONE))
    assert any(entry.run == 0 for entry in source._root)
    for z in range(9):
        for square in squares(WORLD, z):
            there = bytearray(square.tiles)
            source.mark(square, there)
            assert there.count(1) == (square.tiles if z < 8 else 0)
