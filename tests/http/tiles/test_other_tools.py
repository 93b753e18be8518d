"""GDAL and mb-util, which know nothing of this project, write files and read tiles: what they wrote
comes out of the shim as they would have it."""

from __future__ import annotations

import asyncio
import gzip
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from pmtiles.convert import mbtiles_to_pmtiles
from pmtiles.reader import MmapSource, Reader, all_tiles

from tests.http.fake_hub import FakeHub
from tests.http.served import Served
from tests.http.tiles.making import Place
from wifimgrd.config.configuration import TileSource
from wifimgrd.http.settings import Settings
from wifimgrd.http.tiles._decompress import decompress
from wifimgrd.http.tiles._source import FileSource
from wifimgrd.http.tiles._tile import VECTOR
from wifimgrd.http.tiles._tileset import OPENERS
from wifimgrd.http.tiles.map._default_style import layer_names

NORTH, SOUTH = (200, 30, 40), (20, 60, 210)
SIDE = 1024
WORLD_M = 20037508.342789244
DEEPEST = 2


def run(*command: str | Path) -> str:
    return subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True).stdout


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A world whose halves have two colours, as other people's tools make tiles of it."""
    folder = tmp_path_factory.mktemp("made")
    half = SIDE * SIDE // 2
    picture = b"P6 %d %d 255\n" % (SIDE, SIDE) + bytes(NORTH) * half + bytes(SOUTH) * half
    (folder / "world.ppm").write_bytes(picture)
    corners = ["-a_ullr", -WORLD_M, WORLD_M, WORLD_M, -WORLD_M]
    run(
        "gdal_translate",
        "-a_srs",
        "EPSG:3857",
        *map(str, corners),
        folder / "world.ppm",
        folder / "world.tif",
    )
    run(
        "gdal_translate",
        "-of",
        "MBTILES",
        "-co",
        "TILE_FORMAT=PNG",
        folder / "world.tif",
        folder / "gdal.mbtiles",
    )
    run("gdaladdo", "-q", folder / "gdal.mbtiles", "2", "4")
    run(
        "gdal2tiles.py",
        "-q",
        "--xyz",
        "-w",
        "none",
        "-z",
        f"0-{DEEPEST}",
        folder / "world.tif",
        folder / "gdal2tiles",
    )
    mb_util = Path(sys.executable).with_name("mb-util")
    run(mb_util, "--silent", "--scheme=xyz", folder / "gdal.mbtiles", folder / "mb-util")
    run(mb_util, "--silent", "--scheme=xyz", folder / "mb-util", folder / "mb-util.mbtiles")
    mbtiles_to_pmtiles(str(folder / "gdal.mbtiles"), str(folder / "gdal.pmtiles"), None)
    land = {"type": "Polygon", "coordinates": [[[-170, 10], [170, 10], [170, 70], [-170, 70], [-170, 10]]]}
    (folder / "land.json").write_text(json.dumps({"type": "Feature", "properties": {}, "geometry": land}))
    run("ogr2ogr", "-f", "MBTILES", folder / "land.mbtiles", folder / "land.json", "-dsco", "MAXZOOM=3")
    mbtiles_to_pmtiles(str(folder / "land.mbtiles"), str(folder / "land.pmtiles"), None)
    return folder


RASTER = {
    "gdal.mbtiles": "mbtiles",
    "gdal2tiles": "folder",
    "mb-util": "folder",
    "mb-util.mbtiles": "mbtiles",
    "gdal.pmtiles": "pmtiles",
}


def tiles_of(source: FileSource, deepest: int) -> dict[Place, bytes]:
    places = [(z, x, y) for z in range(deepest + 1) for x in range(1 << z) for y in range(1 << z)]
    return {
        place: decompress(tile.data, tile.encoding)
        for place in places
        if (tile := source.read(*place)) is not None
    }


def files_in(folder: Path) -> dict[Place, bytes]:
    found = {}
    for path in folder.glob("*/*/*.png"):
        z, x, y = path.relative_to(folder).with_suffix("").parts
        found[int(z), int(x), int(y)] = path.read_bytes()
    return found


def archived(path: Path) -> dict[Place, bytes]:
    """As the `pmtiles` package reads it."""
    with path.open("rb") as file:
        source = MmapSource(file)
        packed = Reader(source).header()["tile_compression"].name == "GZIP"
        tiles = {place: bytes(data) for place, data in all_tiles(source)}
    return {place: gzip.decompress(data) if packed else data for place, data in tiles.items()}


def test_a_database_by_gdal_has_the_tiles_that_mb_util_finds(made: Path) -> None:
    assert tiles_of(OPENERS["mbtiles"](made / "gdal.mbtiles"), DEEPEST) == files_in(made / "mb-util")
    assert len(files_in(made / "mb-util")) == 21


def test_a_database_by_mb_util_has_the_tiles_of_its_folder(made: Path) -> None:
    assert tiles_of(OPENERS["mbtiles"](made / "mb-util.mbtiles"), DEEPEST) == files_in(made / "mb-util")


@pytest.mark.parametrize("name", ["gdal2tiles", "mb-util"])
def test_a_folder_has_the_tiles_of_its_files(made: Path, name: str) -> None:
    assert tiles_of(OPENERS["folder"](made / name), DEEPEST) == files_in(made / name)


@pytest.mark.parametrize("name", ["gdal", "land"])
def test_an_archive_has_the_tiles_that_its_own_reader_finds(made: Path, name: str) -> None:
    archive = made / f"{name}.pmtiles"
    assert tiles_of(OPENERS["pmtiles"](archive), 3) == archived(archive)


def test_vector_tiles_by_gdal_are_the_same_in_both_kinds_of_file(made: Path) -> None:
    mbtiles, pmtiles = (OPENERS[kind](made / f"land.{kind}") for kind in ("mbtiles", "pmtiles"))
    assert tiles_of(mbtiles, 3) == tiles_of(pmtiles, 3) != {}
    for source in (mbtiles, pmtiles):
        tile = source.read(0, 0, 0)
        assert tile is not None
        assert (tile.media_type, tile.encoding) == (VECTOR, "gzip")
        assert layer_names(source.summary) == ["land"]


WMS = """\
<GDAL_WMS>
  <Service name="TMS"><ServerUrl>{url}/tiles/{name}/${{z}}/${{x}}/${{y}}.png</ServerUrl></Service>
  <DataWindow>
    <UpperLeftX>-{m}</UpperLeftX><UpperLeftY>{m}</UpperLeftY>
    <LowerRightX>{m}</LowerRightX><LowerRightY>-{m}</LowerRightY>
    <TileLevel>2</TileLevel><TileCountX>1</TileCountX><TileCountY>1</TileCountY><YOrigin>top</YOrigin>
  </DataWindow>
  <Projection>EPSG:3857</Projection><BlockSizeX>256</BlockSizeX><BlockSizeY>256</BlockSizeY>
  <BandsCount>4</BandsCount>
</GDAL_WMS>
"""


def settings_of(made: Path, kinds: Mapping[str, str]) -> Settings:
    return Settings(tile_sources=tuple(TileSource(name, kind, made / name) for name, kind in kinds.items()))


async def test_gdal_sees_the_world_through_the_shim(fake_hub: FakeHub, made: Path, tmp_path: Path) -> None:
    """North is north, whatever the kind of file."""
    seen = {}
    async with Served.start(fake_hub, settings_of(made, RASTER)) as served:
        for name in RASTER:
            wms = tmp_path / f"{name}.xml"
            wms.write_text(WMS.format(url=served.url, name=name, m=WORLD_M))
            points = [
                await asyncio.to_thread(run, "gdallocationinfo", "-valonly", wms, str(SIDE // 3), str(row))
                for row in (SIDE // 4, 3 * SIDE // 4)
            ]
            seen[name] = [tuple(map(int, point.split()))[:3] for point in points]
    assert seen == {name: [NORTH, SOUTH] for name in RASTER}


@pytest.mark.parametrize("kind", ["mbtiles", "pmtiles"])
async def test_gdal_reads_vector_tiles_through_the_shim(fake_hub: FakeHub, made: Path, kind: str) -> None:
    async with Served.start(fake_hub, settings_of(made, {f"land.{kind}": kind})) as served:
        url = f"/vsicurl/{served.url}/tiles/land.{kind}/1/0/0.pbf"
        reported = await asyncio.to_thread(run, "ogrinfo", "-ro", "-al", "-so", f"MVT:{url}")
    assert "Layer name: land" in reported
    assert "Feature Count: 1" in reported
