"""Tilesets of each kind of file, and the shim that serves them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.http.tiles.making import Place, pyramid, write_folder, write_mbtiles, write_pmtiles
from wifimgrd.config.configuration import TileSource
from wifimgrd.http.settings import Settings

MISSING = (5, 3, 4)
KINDS = ("folder", "mbtiles", "pmtiles")


@pytest.fixture(scope="session")
def world() -> Mapping[Place, bytes]:
    """The tiles of each tileset: all down to zoom 5 but one."""
    return pyramid(5, without=[MISSING])


@pytest.fixture(scope="session")
def places(world: Mapping[Place, bytes], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The same tiles as each kind of file."""
    folder = tmp_path_factory.mktemp("tiles")
    return {
        "folder": write_folder(folder / "folder", world, name="World", bounds=[-10, -20, 30, 40]),
        "mbtiles": write_mbtiles(folder / "world.mbtiles", world),
        "pmtiles": write_pmtiles(folder / "world.pmtiles", world),
    }


@pytest.fixture
def settings(places: Mapping[str, Path]) -> Settings:
    """A tileset of each kind, named for it; the first is the platform's."""
    sources = [TileSource(kind, kind, places[kind]) for kind in KINDS]
    return Settings(tile_sources=tuple(sources))
