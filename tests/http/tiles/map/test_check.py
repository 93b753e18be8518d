"""Whether the platform's map finds all that its style names, as `wifimgrctl tiles check` says it."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pmtiles.tile import Compression, TileType

from tests.http.tiles.making import PNG, pyramid, write_pmtiles
from wifimgrd.config.configuration import load
from wifimgrd.http.tiles.map.check import check_map

FONT = "Noto Sans Regular"


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """A map that has all it needs."""
    vector: dict[str, Any] = {"kind": TileType.MVT, "compression": Compression.GZIP}
    tiles = {(0, 0, 0): gzip.compress(b"tile")}
    write_pmtiles(tmp_path / "world.pmtiles", tiles, **vector)
    write_pmtiles(
        tmp_path / "lines.pmtiles", tiles, metadata={"vector_layers": [{"id": "contour"}]}, **vector
    )
    resources = tmp_path / "resources"
    (resources / "fonts" / FONT).mkdir(parents=True)
    (resources / "fonts" / FONT / "0-255.pbf").write_bytes(b"glyphs")
    (resources / "sprites").mkdir()
    (resources / "sprites" / "day.json").write_text("{}")
    (resources / "sprites" / "day.png").write_bytes(PNG)
    (resources / "country.geojson").write_text("{}")
    keys = {
        "style": "style.json",
        "resources": "resources",
        "tiles": "world.pmtiles",
        "contours": "lines.pmtiles",
    }
    lines = [f'{key} = "{tmp_path / name}"\n' for key, name in keys.items()]
    config = tmp_path / "wifimgrd.toml"
    config.write_text("[map]\n" + "".join(lines))
    write_style(config)
    return config


def whole_style() -> dict[str, Any]:
    label = {"text-field": "a", "text-font": [FONT]}
    return {
        "version": 8,
        "glyphs": "./fonts/{fontstack}/{range}.pbf",
        "sprite": "sprites/day",
        "sources": {
            "base": {"type": "vector", "url": "pmtiles://anything"},
            "contours": {"type": "vector", "tiles": ["any"]},
            "country": {"type": "geojson", "data": "../country.geojson"},
            "inline": {"type": "geojson", "data": {"type": "FeatureCollection", "features": []}},
        },
        "layers": [
            {"id": "water", "type": "fill", "source": "base", "source-layer": "water"},
            {"id": "names", "type": "symbol", "source": "base", "source-layer": "water", "layout": label},
            {"id": "lines", "type": "line", "source": "contours", "source-layer": "contour"},
        ],
    }


def write_style(config: Path, **changes: Any) -> None:
    config.with_name("style.json").write_text(json.dumps(whole_style() | changes))


def write_sources(config: Path, **sources: Any) -> None:
    write_style(config, sources=whole_style()["sources"] | sources)


def write_label(config: Path, layout: dict[str, Any]) -> None:
    label = {"id": "l", "type": "symbol", "source": "base", "source-layer": "water", "layout": layout}
    write_style(config, layers=[label])


def problems(config: Path) -> list[str]:
    configuration = load(config)
    settings = replace(configuration.map, tiles=configuration.map_tiles)
    report = check_map(settings, configuration.tiles.source, lambda *_: None)
    assert report.is_well is not bool(report.problems)
    return report.problems


def test_a_map_that_has_all_it_names_passes(config: Path) -> None:
    assert problems(config) == []


def test_a_default_style_needs_an_archive_alone(config: Path, tmp_path: Path) -> None:
    config.write_text(f'[map]\ntiles = "{tmp_path / "world.pmtiles"}"\n')
    assert problems(config) == []


@pytest.mark.parametrize(
    "text",
    [
        "[FONT]",
        '["literal", [FONT]]',
        '["step", ["zoom"], ["literal", [FONT]], 5, ["literal", [FONT]]]',
        '{"stops": [[1, [FONT]], [5, [FONT]]]}',
    ],
)
def test_each_way_to_name_a_font_is_read(config: Path, text: str) -> None:
    for name, missing in ((FONT, False), ("No Such Font", True)):
        font = json.loads(text.replace("FONT", json.dumps(name)))
        write_label(config, {"text-field": "a", "text-font": font})
        expected = (
            [f"style: the font {name} is missing: fonts/{name}/0-255.pbf in `resources`"] if missing else []
        )
        assert problems(config) == expected


@pytest.mark.parametrize(
    ("kind", "encoding"), [(TileType.MLT, None), (TileType.MLT, "mvt"), (TileType.MVT, "mlt")]
)
def test_a_source_with_the_encoding_of_other_tiles_is_named(
    config: Path, tmp_path: Path, kind: TileType, encoding: str | None
) -> None:
    write_pmtiles(tmp_path / "world.pmtiles", {(0, 0, 0): b"tile"}, kind=kind)
    base = whole_style()["sources"]["base"]
    write_sources(config, base=base | ({} if encoding is None else {"encoding": encoding}))
    [problem] = problems(config)
    assert "the encoding of the source base is not that of the archive" in problem
    write_sources(config, base=base | {"encoding": "mlt" if kind is TileType.MLT else "mvt"})
    assert problems(config) == []


def test_fonts_of_one_layer_are_one_name_as_maplibre_asks_for_them(config: Path) -> None:
    write_label(config, {"text-field": "a", "text-font": [FONT, "Other"]})
    assert f"the font {FONT},Other is missing" in problems(config)[0]


def test_text_without_a_font_needs_maplibres_own(config: Path) -> None:
    write_label(config, {"text-field": "a"})
    assert "the font Open Sans Regular,Arial Unicode MS Regular is missing" in problems(config)[0]


def test_text_needs_glyphs(config: Path) -> None:
    write_style(config, glyphs=None)
    assert "no `glyphs`" in problems(config)[0]


@pytest.mark.parametrize("gone", ["day.json", "day.png"])
def test_a_missing_sprite_is_named(config: Path, tmp_path: Path, gone: str) -> None:
    (tmp_path / "resources" / "sprites" / gone).unlink()
    assert "the sprite sprites/day is missing" in problems(config)[0]


def test_a_missing_file_of_a_source_is_named(config: Path) -> None:
    write_sources(config, more={"type": "geojson", "data": "./gone.geojson"})
    assert problems(config) == ["style: the source more is missing: gone.geojson in `resources`"]


def test_a_link_that_would_not_be_served_is_missing(config: Path, tmp_path: Path) -> None:
    (tmp_path / "outside.geojson").write_text("{}")
    (tmp_path / "resources" / "link.geojson").symlink_to(tmp_path / "outside.geojson")
    write_sources(config, more={"type": "geojson", "data": "link.geojson"})
    assert "link.geojson" in problems(config)[0]


def test_a_source_elsewhere_is_named(config: Path) -> None:
    write_sources(config, more={"type": "raster", "tiles": ["https://tiles.example/{z}/{x}/{y}.png"]})
    assert "https://tiles.example/{z}/{x}/{y}.png, which is not served from here" in problems(config)[0]


def test_a_tileset_of_this_service_is_there(config: Path, tmp_path: Path) -> None:
    write_pmtiles(tmp_path / "p.pmtiles", pyramid(1))
    source = f'[[tiles.source]]\ntileset = "p"\ntype = "pmtiles"\npath = "{tmp_path / "p.pmtiles"}"\n'
    config.write_text(config.read_text() + source)
    write_sources(config, more={"type": "raster", "tiles": ["http://hub.local:8080/tiles/p/{z}/{x}/{y}.png"]})
    assert problems(config) == []


@pytest.mark.parametrize("key", ["tiles", "contours"])
def test_an_archive_that_is_not_there_is_missing_to_the_style(config: Path, key: str) -> None:
    config.write_text("\n".join(line for line in config.read_text().splitlines() if not line.startswith(key)))
    assert f"[map] {key} has no archive" in problems(config)[0]


def test_a_damaged_archive_is_named(config: Path, tmp_path: Path) -> None:
    data = (tmp_path / "world.pmtiles").read_bytes()
    (tmp_path / "world.pmtiles").write_bytes(data[:-5])
    assert "cut off" in problems(config)[0]


def test_a_source_of_another_type_than_its_archive_is_named(config: Path, tmp_path: Path) -> None:
    write_pmtiles(tmp_path / "world.pmtiles", pyramid(1))
    assert "the source base is of type vector, and the archive has image/png" in problems(config)[0]


def test_a_layer_that_the_archive_does_not_have_is_named(config: Path) -> None:
    layers = [{"id": "x", "type": "line", "source": "base", "source-layer": "roads"}]
    write_style(config, layers=layers)
    assert problems(config) == ["style: the layer x draws roads, which the archive does not have"]


def test_a_layer_without_its_source_is_named(config: Path) -> None:
    write_style(config, layers=[{"id": "x", "type": "line", "source": "nowhere"}])
    assert "has a source nowhere, which is missing" in problems(config)[0]


@pytest.mark.parametrize("content", ["{", "[]", "[" * 100_000])
def test_a_style_that_is_none_is_named(config: Path, content: str) -> None:
    config.with_name("style.json").write_text(content)
    assert len(problems(config)) == 1


@pytest.mark.parametrize(
    "change",
    [{"version": 7}, {"layers": []}, {"layers": 5}, {"sources": [1]}, {"sprite": [1]}, {"glyphs": "fonts"}],
)
def test_what_is_wrong_in_a_style_does_not_end_the_check(config: Path, change: dict[str, Any]) -> None:
    write_style(config, **change)
    assert problems(config)


@pytest.mark.parametrize("key", ["style", "tiles", "contours", "resources"])
def test_a_path_where_nothing_is_fails(config: Path, tmp_path: Path, key: str) -> None:
    config.write_text(f'[map]\n{key} = "{tmp_path / "nothing"}"\n')
    assert any(one.startswith(key) for one in problems(config))
