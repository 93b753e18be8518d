"""A vector archive, contour lines, fonts and a sprite, and the shim that serves them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from pmtiles.tile import Compression, TileType

from tests.http.tiles.making import PNG, write_pmtiles
from wifimgrd.config.configuration import Map
from wifimgrd.http.settings import Settings

MAP = "/plugin-views/platform_plugin_map/map"
CONTOUR = gzip.compress(b"a contour line" * 20, mtime=0)
LAYERS = ("water", "transportation", "place")
FONT = "Noto Sans Regular"


def write_map(folder: Path) -> Path:
    """All files of a map: `world.pmtiles`, `contours.pmtiles`, and `resources`."""
    vector = {"kind": TileType.MVT, "compression": Compression.GZIP}
    tile = gzip.compress(bytes(range(256)) * 300, mtime=0)
    layers = {"name": "Here", "vector_layers": [{"id": one, "fields": {}} for one in LAYERS]}
    write_pmtiles(folder / "world.pmtiles", {(0, 0, 0): tile}, metadata=layers, **vector)
    lines = {"vector_layers": [{"id": "contour", "fields": {"ele": "Number"}}]}
    write_pmtiles(folder / "contours.pmtiles", {(1, 1, 0): CONTOUR}, metadata=lines, **vector)
    resources = folder / "resources"
    (resources / "fonts" / FONT).mkdir(parents=True)
    (resources / "fonts" / FONT / "0-255.pbf").write_bytes(b"glyphs")
    (resources / "sprite.json").write_text(json.dumps({"restaurant": {"x": 0}}))
    (resources / "sprite.png").write_bytes(PNG)
    (resources / "country.geojson").write_text("{}")
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The files of a map."""
    return write_map(tmp_path)


@pytest.fixture
def settings(folder: Path) -> Settings:
    """The shim's settings, with all of that and no style."""
    return Settings(
        map=Map(
            tiles=folder / "world.pmtiles",
            contours=folder / "contours.pmtiles",
            resources=folder / "resources",
        ),
        origins=frozenset({"https://map.example"}),
    )
