"""The style that is configured, and the one that is made for an archive."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pmtiles.tile import TileType

from tests.http.fake_hub import FakeHub
from tests.http.served import Served
from tests.http.tiles.making import pyramid, write_pmtiles
from tests.http.tiles.map.conftest import CONTOUR, FONT, LAYERS, MAP
from wifimgrd.config.configuration import Map
from wifimgrd.http.settings import Settings

STYLE = MAP + "/style/"


async def style_of(settings: Settings, fake_hub: FakeHub) -> Any:
    async with Served.start(fake_hub, settings) as served:
        return (await served.get(STYLE)).json


async def test_a_configured_style_is_served_as_it_is(fake_hub: FakeHub, tmp_path: Path) -> None:
    file = tmp_path / "style.json"
    file.write_text('{"version": 8,  "sources": {}, "layers": []}')
    async with Served.start(fake_hub, Settings(map=Map(style=file))) as served:
        answer = await served.get(STYLE)
        assert (answer.status, answer.data) == (200, file.read_bytes())
        assert answer.headers["Content-Type"] == "application/json"
        assert answer.headers["Cache-Control"] == "max-age=3600"


@pytest.mark.parametrize("content", [None, "", "{", "[]", '"a"', "[" * 100_000])
async def test_a_configured_style_that_is_none_is_not_found(
    fake_hub: FakeHub, tmp_path: Path, content: str | None
) -> None:
    file = tmp_path / "style.json"
    if content is not None:
        file.write_text(content)
    async with Served.start(fake_hub, Settings(map=Map(style=file))) as served:
        answer = await served.get(STYLE)
        assert answer.problem["code"] == "not-found"
        assert str(tmp_path) not in answer.data.decode()


async def test_a_known_tag_is_answered_with_not_modified(served: Served) -> None:
    tag = (await served.get(STYLE)).headers["ETag"]
    assert (await served.get(STYLE, headers={"If-None-Match": tag})).status == 304


async def test_a_vector_archive_gets_a_style_with_its_layers(served: Served) -> None:
    answer = await served.get(STYLE)
    assert answer.headers["Content-Type"] == "application/json"
    assert answer.headers["Cache-Control"] == "max-age=3600"
    style = answer.json
    assert style["version"] == 8
    assert style["sources"]["pmtiles"] == {"type": "vector", "url": f"pmtiles://{served.url}{MAP}/tiles/"}
    drawn = {one.get("source-layer") for one in style["layers"] if one.get("source") == "pmtiles"}
    assert drawn == set(LAYERS)
    ids = [one["id"] for one in style["layers"]]
    assert len(ids) == len(set(ids))


async def test_the_style_names_fonts_and_sprites_that_are_there(served: Served) -> None:
    style = (await served.get(STYLE)).json
    assert style["glyphs"] == f"{served.url}{MAP}/resources/fonts/{{fontstack}}/{{range}}.pbf"
    assert style["sprite"] == f"{served.url}{MAP}/resources/sprite"
    fonts = [one["layout"]["text-font"] for one in style["layers"] if one["type"] == "symbol"]
    assert fonts == [[FONT]] * len(LAYERS)
    glyphs = style["glyphs"].replace("{fontstack}", FONT).replace("{range}", "0-255")
    assert (await served.get(glyphs.removeprefix(served.url))).data == b"glyphs"


async def test_without_resources_the_style_names_none(fake_hub: FakeHub, settings: Settings) -> None:
    style = await style_of(replace(settings, map=replace(settings.map, resources=None)), fake_hub)
    assert not {"glyphs", "sprite"} & style.keys()
    assert all(one["type"] != "symbol" for one in style["layers"])


async def test_a_regular_font_goes_before_others(fake_hub: FakeHub, settings: Settings, folder: Path) -> None:
    for name, files in (("Another Bold", ["0-255.pbf"]), ("A Regular one without glyphs", [])):
        (folder / "resources" / "fonts" / name).mkdir()
        for file in files:
            (folder / "resources" / "fonts" / name / file).write_bytes(b"glyphs")
    assert FONT in json.dumps(await style_of(settings, fake_hub))


async def test_a_raster_archive_gets_a_style_that_shows_its_pictures(
    fake_hub: FakeHub, tmp_path: Path
) -> None:
    archive = write_pmtiles(tmp_path / "raster.pmtiles", pyramid(1))
    style = await style_of(Settings(map=Map(tiles=archive)), fake_hub)
    assert style["sources"]["pmtiles"]["type"] == "raster"
    assert [one["type"] for one in style["layers"]] == ["background", "raster"]


async def test_an_archive_of_tiles_of_an_unknown_format_has_no_style(
    fake_hub: FakeHub, tmp_path: Path
) -> None:
    archive = write_pmtiles(tmp_path / "a.pmtiles", {(0, 0, 0): b"?"}, kind=TileType.UNKNOWN, metadata={})
    async with Served.start(fake_hub, Settings(map=Map(tiles=archive))) as served:
        assert "unknown format" in (await served.get(STYLE)).problem["detail"]


async def test_contour_lines_are_drawn_above_the_map(served: Served) -> None:
    style = (await served.get(STYLE)).json
    assert style["sources"]["contours"] == {
        "type": "vector",
        "url": f"{served.url}{MAP}/contours/contours.json",
    }
    assert [one["source-layer"] for one in style["layers"] if one.get("source") == "contours"] == ["contour"]


@pytest.mark.parametrize("content", [b"", b"PMTiles\x03 and no more", b"something else" * 100])
async def test_what_is_no_archive_has_no_style(
    fake_hub: FakeHub, settings: Settings, folder: Path, content: bytes
) -> None:
    (folder / "world.pmtiles").write_bytes(content)
    async with Served.start(fake_hub, settings) as served:
        assert (await served.get(STYLE)).problem["code"] == "not-found"


async def test_addresses_are_right_behind_a_proxy(served: Served) -> None:
    headers = {"X-Forwarded-Host": "map.example", "X-Forwarded-Proto": "https"}
    style = (await served.get(STYLE, headers=headers)).json
    assert style["sources"]["pmtiles"]["url"] == f"pmtiles://https://map.example{MAP}/tiles/"


async def test_contours_are_described_as_tilejson(served: Served) -> None:
    answer = await served.get(MAP + "/contours/contours.json")
    assert (answer.status, answer.headers["Content-Type"]) == (200, "application/json")
    assert answer.json["tiles"] == [f"{served.url}{MAP}/contours/contours/{{z}}/{{x}}/{{y}}.mvt"]
    assert (answer.json["minzoom"], answer.json["maxzoom"]) == (1, 1)
    assert [one["id"] for one in answer.json["vector_layers"]] == ["contour"]


@pytest.mark.parametrize("slash", ["", "/"])
async def test_a_tile_of_contours_comes_from_the_archive(served: Served, slash: str) -> None:
    path = f"{MAP}/contours/contours/1/1/0.mvt{slash}"
    answer = await served.get(path)
    assert (answer.status, answer.data) == (200, b"a contour line" * 20)
    assert answer.headers["Content-Type"] == "application/vnd.mapbox-vector-tile"
    again = await served.get(path, headers={"If-None-Match": answer.headers["ETag"]})
    assert again.status == 304
    packed = await served.raw(
        f"GET {path} HTTP/1.1\r\nHost: {served.host}\r\nAccept-Encoding: gzip\r\n"
        "Connection: close\r\n\r\n".encode()
    )
    assert packed.endswith(CONTOUR)


@pytest.mark.parametrize(
    "place", ["0/0/0", "1/0/0", "1/2/0", "31/0/0", "a/0/0", "1/1/-1", "1/1/0.5", "1" * 50 + "/0/0"]
)
async def test_a_tile_of_contours_that_is_not_there_is_not_found(served: Served, place: str) -> None:
    answer = await served.get(f"{MAP}/contours/contours/{place}.mvt")
    assert answer.problem["status"] == 404


async def test_heights_in_pictures_are_sent_whole_and_have_no_lines(
    fake_hub: FakeHub, settings: Settings, folder: Path
) -> None:
    write_pmtiles(folder / "contours.pmtiles", pyramid(1))
    async with Served.start(fake_hub, settings) as served:
        assert (await served.get(MAP + "/contours/", headers={"Range": "bytes=0-6"})).data == b"PMTiles"
        assert (await served.get(MAP + "/contours/contours.json")).status == 404
        assert (await served.get(MAP + "/contours/contours/0/0/0.mvt")).status == 404
        assert "contours" not in (await served.get(STYLE)).json["sources"]


async def test_another_archive_is_read_as_soon_as_it_takes_the_place(served: Served, folder: Path) -> None:
    assert (await served.get(STYLE)).json["sources"]["pmtiles"]["type"] == "vector"
    write_pmtiles(folder / "new.pmtiles", pyramid(1)).replace(folder / "world.pmtiles")
    assert (await served.get(STYLE)).json["sources"]["pmtiles"]["type"] == "raster"
