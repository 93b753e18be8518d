"""Numbers of tiles, against the `pmtiles` package."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pmtiles.tile import zxy_to_tileid

from wifimgrd.http.tiles._coordinates import DEEPEST, exists, tile_id


@st.composite
def tiles(draw: st.DrawFn) -> tuple[int, int, int]:
    z = draw(st.integers(0, DEEPEST))
    return z, draw(st.integers(0, (1 << z) - 1)), draw(st.integers(0, (1 << z) - 1))


@given(tiles())
def test_ids_are_those_of_the_pmtiles_package(tile: tuple[int, int, int]) -> None:
    assert tile_id(*tile) == zxy_to_tileid(*tile)


@pytest.mark.parametrize("outside", [(31, 0, 0), (0, 1, 0), (3, 0, 8), (-1, 0, 0), (2, -1, 0)])
def test_what_lies_outside_does_not_exist(outside: tuple[int, int, int]) -> None:
    assert not exists(*outside)
