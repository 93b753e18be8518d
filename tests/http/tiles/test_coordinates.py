"""Numbers of tiles, against the `pmtiles` package and against themselves."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pmtiles.tile import zxy_to_tileid

from wifimgrd.http.tiles.coordinates import DEEPEST, Box, exists, tile_id, tile_of_id


@st.composite
def tiles(draw: st.DrawFn) -> tuple[int, int, int]:
    z = draw(st.integers(0, DEEPEST))
    return z, draw(st.integers(0, (1 << z) - 1)), draw(st.integers(0, (1 << z) - 1))


@given(tiles())
def test_ids_are_those_of_the_pmtiles_package(tile: tuple[int, int, int]) -> None:
    assert tile_id(*tile) == zxy_to_tileid(*tile)


@given(tiles())
def test_an_id_leads_back_to_its_tile(tile: tuple[int, int, int]) -> None:
    assert tile_of_id(tile_id(*tile)) == tile


@given(st.integers(0, 1 << 60))
def test_every_id_is_a_tile(number: int) -> None:
    assert tile_id(*tile_of_id(number)) == number


@pytest.mark.parametrize("outside", [(31, 0, 0), (0, 1, 0), (3, 0, 8), (-1, 0, 0), (2, -1, 0)])
def test_what_lies_outside_does_not_exist(outside: tuple[int, int, int]) -> None:
    assert not exists(*outside)


def test_a_box_touches_the_tiles_of_its_corners() -> None:
    assert Box(-1, -1, 1, 1).spans(1) == [(0, 1, 0, 1)]


def test_a_box_across_the_date_line_has_two_sides() -> None:
    assert Box(170, 10, -170, 20).spans(2) == [(3, 3, 1, 1), (0, 0, 1, 1)]


@given(st.integers(0, 6))
def test_the_whole_world_is_all_tiles(z: int) -> None:
    assert Box(-180, -90, 180, 90).count(z) == 4**z


def test_a_box_across_the_date_line_has_no_tile_twice() -> None:
    assert Box(170, 10, -170, 20).spans(0) == [(0, 0, 0, 0)]
