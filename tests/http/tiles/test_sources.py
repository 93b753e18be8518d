"""Files that other tools wrote are read right, tile by tile."""

from __future__ import annotations

import contextlib
import errno
import gzip
import json
import os
import random
import sqlite3
import tempfile
import zlib
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import brotli
import pmtiles.tile
import pmtiles.writer
import pytest
import zstandard
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from pmtiles.tile import Compression, TileType

from tests.http.tiles.conftest import KINDS, MISSING
from tests.http.tiles.making import (
    METADATA,
    PNG,
    Place,
    picture,
    pyramid,
    vector,
    write_folder,
    write_mbtiles,
    write_pmtiles,
)
from wifimgrd.http.tiles import _decompress as decompress_module
from wifimgrd.http.tiles import _mbtiles as mbtiles_module
from wifimgrd.http.tiles import _pmtiles as pmtiles_module
from wifimgrd.http.tiles._decompress import decompress
from wifimgrd.http.tiles._mbtiles import MBTilesSource
from wifimgrd.http.tiles._pmtiles import PMTilesSource
from wifimgrd.http.tiles._replies import Terms, accepted_codings, tile_reply
from wifimgrd.http.tiles._source import FileSource
from wifimgrd.http.tiles._tile import (
    MLT,
    TYPE_OF_FORMAT,
    VECTOR,
    DamagedError,
    NotReadyError,
    Tile,
    UnavailableError,
)
from wifimgrd.http.tiles._tileset import OPENERS, FileSlot, Tileset

SMALL = pyramid(2)
Tiles = Mapping[Place, bytes]


@pytest.fixture(params=KINDS)
def source(request: pytest.FixtureRequest, places: Mapping[str, Path]) -> FileSource:
    return OPENERS[request.param](places[request.param])


def bytes_of(source: FileSource, place: Place) -> bytes | None:
    tile = source.read(*place)
    return None if tile is None else tile.data


def counts_of(source: FileSource) -> dict[int, int]:
    counts: dict[int, int] = {}
    for _ in source.verify(counts):
        pass
    return counts


def test_every_tile_is_what_was_written(source: FileSource, world: Mapping[Place, bytes]) -> None:
    assert {place: bytes_of(source, place) for place in world} == world


def test_a_tile_that_was_not_written_is_missing(source: FileSource) -> None:
    assert source.read(*MISSING) is None


def test_the_counts_are_those_of_what_was_written(source: FileSource) -> None:
    assert counts_of(source) == {0: 1, 1: 4, 2: 16, 3: 64, 4: 256, 5: 1023}


def test_a_good_file_passes_the_check(source: FileSource) -> None:
    done = list(source.verify({}))
    assert done[-1][0] == done[-1][1]


def test_the_zooms_are_reported(source: FileSource) -> None:
    assert (source.summary.minzoom, source.summary.maxzoom) == (0, 5)


def test_the_bounds_are_reported(source: FileSource) -> None:
    assert source.summary.bounds == (-10, -20, 30, 40)


def test_the_type_of_a_picture_is_seen_in_it(source: FileSource) -> None:
    tile = source.read(0, 0, 0)
    assert tile is not None
    assert (tile.media_type, tile.encoding) == ("image/png", "")


def test_no_two_tiles_have_one_tag(source: FileSource, world: Mapping[Place, bytes]) -> None:
    tiles = [tile for place in world if (tile := source.read(*place)) is not None]
    assert len({tile.tag for tile in tiles}) == len(world)


@pytest.mark.parametrize("kind", ["folder", "pmtiles"])
def test_what_is_in_memory_needs_no_thread(
    kind: str, places: Mapping[str, Path], world: Mapping[Place, bytes]
) -> None:
    source = OPENERS[kind](places[kind])
    for place in world:
        bytes_of(source, place)
    peeked = {place: tile.data for place in world if (tile := peek(source, place)) is not None}
    assert peeked == world


@pytest.mark.parametrize(("kind", "write"), [("folder", write_folder), ("pmtiles", write_pmtiles)])
def test_what_is_on_tmpfs_needs_no_thread(kind: str, write: Callable[[Path, Tiles], Path]) -> None:
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        source = OPENERS[kind](write(Path(folder, kind), SMALL))
        peeked = {place: tile.data for place in SMALL if (tile := source.peek(*place)) is not None}
        assert peeked == SMALL
        assert source.peek(2, 3, 4) is None


def peek(source: FileSource, place: Place) -> Tile | None:
    """A tile that is in memory. The kernel gives up its search there while another process renames files."""
    for _ in range(100):
        with contextlib.suppress(NotReadyError):
            return source.peek(*place)
    raise NotReadyError


def test_a_view_of_shared_pictures_is_read(tmp_path: Path) -> None:
    source = OPENERS["mbtiles"](write_mbtiles(tmp_path / "a.mbtiles", SMALL, view=True))
    assert {place: bytes_of(source, place) for place in SMALL} == SMALL


def test_vector_tiles_of_mbtiles_are_seen_to_be_packed(tmp_path: Path) -> None:
    tiles = {(0, 0, 0): vector(0, 0, 0)}
    tile = OPENERS["mbtiles"](write_mbtiles(tmp_path / "a.mbtiles", tiles, format="pbf")).read(0, 0, 0)
    assert tile is not None
    assert (tile.media_type, tile.encoding) == (VECTOR, "gzip")


def test_vector_tiles_that_are_packed_by_zlib_are_seen_to_be_packed(tmp_path: Path) -> None:
    tiles = {(0, 0, 0): zlib.compress(gzip.decompress(vector(0, 0, 0)))}
    source = OPENERS["mbtiles"](write_mbtiles(tmp_path / "a.mbtiles", tiles, format="pbf"))
    tile = source.read(0, 0, 0)
    assert tile is not None
    assert (tile.media_type, tile.encoding) == (VECTOR, "deflate")
    packed = tile_reply(tile, Terms(accepted_codings("gzip, deflate, br")))
    assert (packed.headers["Content-Encoding"], packed.body) == ("deflate", tile.data)
    assert tile_reply(tile, Terms()).body == gzip.decompress(vector(0, 0, 0))
    assert counts_of(source) == {0: 1}


def test_vector_layers_of_mbtiles_are_in_its_json(tmp_path: Path) -> None:
    path = write_mbtiles(tmp_path / "a.mbtiles", SMALL, json='{"vector_layers": [{"id": "water"}]}')
    assert OPENERS["mbtiles"](path).summary.vector_layers == [{"id": "water"}]


def test_leaf_directories_are_followed(tmp_path: Path) -> None:
    chance = random.Random(1)
    chosen = chance.sample(sorted(pyramid(7)), 12000)
    tiles = {place: PNG + repr(place).encode() + bytes(chance.randrange(3000)) for place in chosen}
    source = PMTilesSource(write_pmtiles(tmp_path / "a.pmtiles", tiles))
    assert any(entry.run == 0 for entry in source._root)
    asked = chance.sample(chosen, 500)
    assert {place: bytes_of(source, place) for place in asked} == {place: tiles[place] for place in asked}


def test_leaf_directories_make_room_for_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pmtiles_module, "KEPT_ENTRIES", 5000)
    chance = random.Random(2)
    chosen = chance.sample(sorted(pyramid(7)), 12000)
    tiles = {place: PNG + repr(place).encode() + bytes(chance.randrange(3000)) for place in chosen}
    source = PMTilesSource(write_pmtiles(tmp_path / "a.pmtiles", tiles))
    asked = chance.sample(chosen, 200)
    assert {place: bytes_of(source, place) for place in asked} == {place: tiles[place] for place in asked}
    assert sum(map(len, source._leaves.values())) <= 5000


def test_runs_of_one_content_are_counted_and_read(tmp_path: Path) -> None:
    tiles = dict.fromkeys(pyramid(4), PNG + b"sea")
    source = PMTilesSource(write_pmtiles(tmp_path / "a.pmtiles", tiles))
    assert sum(counts_of(source).values()) == len(tiles)
    assert bytes_of(source, (4, 7, 9)) == PNG + b"sea"


PACKERS: dict[Compression, Callable[[bytes], bytes]] = {
    Compression.NONE: bytes,
    Compression.GZIP: gzip.compress,
    Compression.BROTLI: brotli.compress,
    Compression.ZSTD: zstandard.compress,
}


def with_internal(path: Path, compression: Compression) -> Path:
    """An archive of one directory, all of whose inside is packed in one way."""
    pack = PACKERS[compression]
    entries = [pmtiles.tile.Entry(number, number * 9, 9, 1) for number in range(5)]
    root = pack(gzip.decompress(pmtiles.tile.serialize_directory(entries)))
    metadata = pack(b'{"name": "Packed"}')
    header = {
        "version": 3, "root_offset": 127, "root_length": len(root),
        "metadata_offset": 127 + len(root), "metadata_length": len(metadata),
        "leaf_directory_offset": 0, "leaf_directory_length": 0,
        "tile_data_offset": 127 + len(root) + len(metadata), "tile_data_length": 45,
        "addressed_tiles_count": 5, "tile_entries_count": 5, "tile_contents_count": 5, "clustered": True,
        "internal_compression": compression, "tile_compression": Compression.NONE,
        "tile_type": TileType.PNG, "min_zoom": 0, "max_zoom": 1,
        "min_lon_e7": 0, "min_lat_e7": 0, "max_lon_e7": 0, "max_lat_e7": 0,
        "center_zoom": 0, "center_lon_e7": 0, "center_lat_e7": 0,
    }  # fmt: skip
    tiles = b"".join(b"\x89PNG-%04d" % number for number in range(5))
    path.write_bytes(pmtiles.tile.serialize_header(header) + root + metadata + tiles)
    return path


@pytest.mark.parametrize("compression", PACKERS)
def test_every_compression_of_directories_is_read(tmp_path: Path, compression: Compression) -> None:
    source = PMTilesSource(with_internal(tmp_path / "a.pmtiles", compression))
    assert source.summary.texts["name"] == "Packed"
    assert bytes_of(source, (1, 1, 1)) == b"\x89PNG-0003"


@pytest.mark.parametrize(("name", "compression"), [("gzip", 2), ("br", 3), ("zstd", 4)])
def test_what_unpacks_to_too_much_is_refused(name: str, compression: int) -> None:
    packed = PACKERS[Compression(compression)](bytes(1 << 20))
    with pytest.raises(DamagedError, match="over"):
        decompress(packed, name, 1 << 18)


@pytest.mark.parametrize(("name", "compression"), [("gzip", 2), ("br", 3), ("zstd", 4)])
@given(st.data())
def test_packed_bytes_that_are_cut_off_are_refused(name: str, compression: int, data: st.DataObject) -> None:
    packed = PACKERS[Compression(compression)](b"some bytes " * 50)
    with pytest.raises(DamagedError):
        decompress(packed[: data.draw(st.integers(0, len(packed) - 1))], name)


@pytest.mark.parametrize(("name", "compression"), [("gzip", 2), ("br", 3), ("zstd", 4)])
def test_what_takes_too_long_to_unpack_is_refused(
    name: str, compression: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decompress_module, "UNPACK_S", -1.0)
    with pytest.raises(DamagedError, match="takes over"):
        decompress(PACKERS[Compression(compression)](bytes(1 << 20)), name)


@pytest.mark.parametrize(("name", "compression"), [("gzip", 2), ("br", 3), ("zstd", 4)])
def test_large_packed_bytes_are_unpacked(name: str, compression: int) -> None:
    plain = random.Random(1).randbytes(1 << 20)
    assert decompress(PACKERS[Compression(compression)](plain), name) == plain


def test_gzip_data_has_sixteen_members_at_most() -> None:
    member = gzip.compress(b"a")
    assert decompress(member * 16, "gzip") == b"a" * 16
    with pytest.raises(DamagedError, match="members"):
        decompress(member * 17, "gzip")
    with pytest.raises(DamagedError, match="members"):
        decompress(gzip.compress(b"") * 1_000_000, "gzip")


@pytest.mark.parametrize("name", ["gzip", "br", "zstd"])
@given(raw=st.binary(max_size=300))
def test_any_bytes_are_unpacked_or_refused(name: str, raw: bytes) -> None:
    with contextlib.suppress(DamagedError):
        decompress(raw, name, 1 << 16)


@hypothesis_settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_damage_to_an_archive_does_harm(
    data: st.DataObject, tmp_path: Path, places: Mapping[str, Path]
) -> None:
    """Bytes of header and directories are changed, or the end is cut off."""
    raw = bytearray(places["pmtiles"].read_bytes())
    for _ in range(data.draw(st.integers(1, 8))):
        raw[data.draw(st.integers(7, 700))] = data.draw(st.integers(0, 255))
    path = tmp_path / "damaged.pmtiles"
    path.write_bytes(raw[: data.draw(st.integers(100, len(raw)))])
    try:
        source = PMTilesSource(path)
        for place in ((0, 0, 0), (5, 9, 9), (5, 31, 31)):
            with_or_without = source.read(*place)
            assert with_or_without is None or len(with_or_without.data) <= len(raw)
        list(source.verify({}))
    except DamagedError:
        pass


@pytest.mark.parametrize("kind", ["mbtiles", "pmtiles"])
@pytest.mark.parametrize("kept", [0, 50, 110, 0.5, 0.99])
def test_a_file_that_is_half_there_is_refused(
    kind: str, kept: float, places: Mapping[str, Path], tmp_path: Path
) -> None:
    raw = places[kind].read_bytes()
    path = tmp_path / "half"
    path.write_bytes(raw[: int(kept * len(raw)) if kept < 1 else int(kept)])
    with pytest.raises(DamagedError):
        OPENERS[kind](path)


@pytest.mark.parametrize("kind", ["mbtiles", "pmtiles"])
def test_another_kind_of_file_is_refused(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes(b"Some text.\n" * 1000)
    with pytest.raises(DamagedError):
        OPENERS[kind](path)


def test_a_database_that_is_being_written_is_refused(tmp_path: Path) -> None:
    path = write_mbtiles(tmp_path / "a.mbtiles", SMALL)
    (tmp_path / "a.mbtiles-wal").write_bytes(b"x")
    with pytest.raises(DamagedError, match="being written"):
        OPENERS["mbtiles"](path)


def test_an_archive_of_an_unknown_type_is_refused_with_its_number(tmp_path: Path) -> None:
    path = write_pmtiles(tmp_path / "a.pmtiles", SMALL)
    raw = bytearray(path.read_bytes())
    raw[99] = 7  # PMTiles version 3: tile type
    path.write_bytes(raw)
    with pytest.raises(DamagedError, match="its tiles have the unknown type 7"):
        PMTilesSource(path)


@pytest.mark.parametrize("layers", [True, False])
def test_what_an_archive_does_not_state_is_read_in_its_first_tile(tmp_path: Path, layers: bool) -> None:
    packed = {(0, 0, 0): vector(0, 0, 0)}
    metadata = METADATA if layers else {}
    unstated = {"kind": TileType.UNKNOWN, "compression": Compression.UNKNOWN}
    pictures = PMTilesSource(write_pmtiles(tmp_path / "a.pmtiles", SMALL, metadata=metadata, **unstated))
    assert pictures.summary.media_type == "image/png"
    vectors = PMTilesSource(write_pmtiles(tmp_path / "b.pmtiles", packed, metadata=metadata, **unstated))
    assert vectors.summary.media_type == (VECTOR if layers else "application/octet-stream")


@pytest.mark.parametrize("name", ["mlt", MLT, "application/vnd.maplibre-tile"])
def test_a_database_of_maplibre_tiles_is_one_by_each_name_of_the_format(tmp_path: Path, name: str) -> None:
    source = OPENERS["mbtiles"](
        write_mbtiles(tmp_path / "a.mbtiles", {(0, 0, 0): vector(0, 0, 0)}, format=name)
    )
    tile = source.read(0, 0, 0)
    assert tile is not None
    assert (source.summary.media_type, tile.media_type, tile.encoding) == (MLT, MLT, "gzip")


@pytest.mark.parametrize("ending", ["png", "webp", "mvt", "mlt", "mvt.gz"])
def test_a_folder_serves_tiles_and_not_what_lies_beside_them(tmp_path: Path, ending: str) -> None:
    """gdal2tiles writes `0.kml` beside `0.png`, GDAL `0.png.aux.xml`."""
    for other in ("kml", f"{ending}.aux.xml", "html"):
        write_folder(tmp_path, dict.fromkeys(SMALL, b"<kml/>"), ending=other)
    source = OPENERS["folder"](write_folder(tmp_path, SMALL, ending=ending))
    assert bytes_of(source, (2, 1, 1)) == picture(2, 1, 1)
    assert counts_of(source) == {0: 1, 1: 4, 2: 16}
    assert source.summary.media_type == TYPE_OF_FORMAT[ending.removesuffix(".gz")]
    assert "files .kml are not tiles, and not served" in source.remarks


def test_a_check_names_a_tile_of_another_format_in_a_folder(tmp_path: Path) -> None:
    write_folder(tmp_path, SMALL)
    source = OPENERS["folder"](write_folder(tmp_path, {(1, 1, 0): picture(1, 1, 0)}, ending="webp"))
    with pytest.raises(DamagedError, match=r"1/1/0\.webp is not served: only tiles \.png are"):
        counts_of(source)


@pytest.mark.parametrize("kind", ["folder", "mbtiles"])
def test_a_tile_without_bytes_is_a_missing_one(kind: str, tmp_path: Path) -> None:
    tiles = {**SMALL, (1, 0, 1): b""}
    write_folder(tmp_path / "folder", tiles)
    write_mbtiles(tmp_path / "mbtiles", tiles)
    source = OPENERS[kind](tmp_path / kind)
    assert bytes_of(source, (1, 0, 1)) is None
    assert bytes_of(source, (1, 0, 0)) == picture(1, 0, 0)
    with contextlib.suppress(NotReadyError):
        assert source.peek(1, 0, 1) is None
    with pytest.raises(DamagedError, match="is empty, and served as a missing tile"):
        counts_of(source)


ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"


def hostile(path: Path, *, tiles: str = "", metadata: str = "SELECT 'format' name, 'png' value") -> Path:
    """A database whose tables are views; by default of one tile."""
    tiles = tiles or "SELECT 0 zoom_level, 0 tile_column, 0 tile_row, x'89504E47' tile_data"
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute(f"CREATE VIEW tiles AS {tiles}")
        connection.execute(f"CREATE VIEW metadata AS {metadata}")
    return path


def test_a_tile_of_an_impossible_size_is_not_made(tmp_path: Path) -> None:
    large = "SELECT 0 zoom_level, 0 tile_column, 0 tile_row, zeroblob(900000000) tile_data"
    with pytest.raises(DamagedError, match="too big"):
        MBTilesSource(hostile(tmp_path / "a", tiles=large))


def test_a_schema_that_is_no_text_is_refused(tmp_path: Path) -> None:
    path = hostile(tmp_path / "a")
    path.write_bytes(path.read_bytes().replace(b"metadata", b"\xffetadata", 1))
    with pytest.raises(DamagedError):
        MBTilesSource(path)


@pytest.mark.parametrize(
    "row", ["i name, 'value' value", "'a' name, '' value", "i name, zeroblob(1000000) value"]
)
def test_metadata_without_end_is_refused(tmp_path: Path, row: str) -> None:
    with pytest.raises(DamagedError, match="its metadata is over 1 MB or 1000 rows"):
        MBTilesSource(hostile(tmp_path / "a", metadata=f"{ENDLESS} SELECT {row} FROM n"))


def test_one_row_is_read_for_a_tile_that_has_them_without_end(tmp_path: Path) -> None:
    rows = f"{ENDLESS} SELECT 0 zoom_level, 0 tile_column, 0 tile_row, x'89504E47' tile_data FROM n"
    metadata = "SELECT 'minzoom' name, 0 value UNION SELECT 'maxzoom', 0"
    source = MBTilesSource(hostile(tmp_path / "a", tiles=rows, metadata=metadata))
    assert bytes_of(source, (0, 0, 0)) == b"\x89PNG"


@pytest.mark.parametrize("place", ["tiles", "metadata"])
def test_a_query_without_end_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    monkeypatch.setattr(mbtiles_module, "_OPEN_S", 0.1)
    columns = {
        "tiles": "i zoom_level, 0 tile_column, 0 tile_row, x'' tile_data",
        "metadata": "i name, i value",
    }
    view = f"{ENDLESS} SELECT {columns[place]} FROM n WHERE i < 0"
    with pytest.raises(DamagedError, match="a query took longer than"):
        MBTilesSource(hostile(tmp_path / "a", **{place: view}))


def test_a_query_ends_when_the_process_stops(tmp_path: Path) -> None:
    stopped = Event()
    view = f"{ENDLESS} SELECT i zoom_level, 0 tile_column, 0 tile_row, x'' tile_data FROM n WHERE i < 0"
    path = hostile(tmp_path / "a", tiles=view)
    with ThreadPoolExecutor(1) as executor:
        opening = executor.submit(MBTilesSource, path, stopped)
        stopped.set()
        with pytest.raises(DamagedError, match="the process is stopping"):
            opening.result(timeout=10)


ENDLESS_ROWS = f"{ENDLESS} SELECT 0 zoom_level, 0 tile_column, i tile_row, x'89504E47' tile_data FROM n"
"""Some tile is there, and no search for another one ends."""
ONE_ZOOM = "SELECT 'minzoom' name, 0 value UNION SELECT 'maxzoom', 0"


def be_impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give a tile's query up soon."""
    monkeypatch.setattr(mbtiles_module, "_READ_S", 0.05)


def test_after_a_query_without_end_none_is_tried_for_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = MBTilesSource(hostile(tmp_path / "a", tiles=ENDLESS_ROWS, metadata=ONE_ZOOM))
    queries: list[str] = []
    source._connection.set_trace_callback(queries.append)
    be_impatient(monkeypatch)
    for tried in (1, 1):
        with pytest.raises(DamagedError, match="a query took longer than"):
            source.read(0, 0, 0)
        assert len(queries) == tried
    assert source.trouble == "a query took longer than 0.05 s"
    source._rests_until = 0.0
    assert source.trouble == ""
    with pytest.raises(DamagedError, match="a query took longer than"):
        source.read(0, 0, 0)
    assert len(queries) == 2


async def test_a_slow_query_is_called_one_in_the_answer_and_the_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    be_impatient(monkeypatch)
    said = "a query took longer than 0.05 s"
    path = hostile(tmp_path / "a", tiles=ENDLESS_ROWS, metadata=ONE_ZOOM)
    with ThreadPoolExecutor(1) as workers:
        slot = FileSlot("t", "mbtiles", path, workers, Event())
        tileset = Tileset("t", [slot], 404)
        assert slot.examine()
        assert sources_of(tileset) == [(True, None)]
        with pytest.raises(UnavailableError, match=f"^{said}$"):
            await tileset.fetch(0, 0, 0)
    assert sources_of(tileset) == [(False, said)]


def sources_of(tileset: Tileset) -> list[tuple[object, object]]:
    """Whether each source is said to work, and why not."""
    sources = tileset.report()["sources"]
    assert isinstance(sources, list)
    return [(one["ok"], one["reason"]) for one in sources]


@pytest.mark.parametrize("is_indexed", [True, False])
def test_a_check_notes_a_database_without_an_index(tmp_path: Path, *, is_indexed: bool) -> None:
    path = tmp_path / "a"
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE tiles (zoom_level, tile_column, tile_row, tile_data)")
        database.execute("INSERT INTO tiles VALUES (0, 0, 0, x'89504E47')")
        if is_indexed:
            database.execute("CREATE INDEX places ON tiles (zoom_level, tile_column, tile_row)")
        database.commit()
    source = MBTilesSource(path)
    assert counts_of(source) == {0: 1}
    assert [one.split(":")[0] for one in source.remarks] == (
        [] if is_indexed else ["it has no index on zoom, column and row"]
    )


def test_the_check_of_a_view_without_end_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = ENDLESS_ROWS.replace("i tile_row", "0 tile_row")
    source = MBTilesSource(hostile(tmp_path / "a", tiles=rows, metadata=ONE_ZOOM))
    monkeypatch.setattr(mbtiles_module, "_CHECK_S", 0.05)
    with pytest.raises(DamagedError, match="a query took longer than"):
        counts_of(source)


@pytest.mark.parametrize(
    "value",
    ["instr(hex(zeroblob(9000000)), hex(zeroblob(5000000)) || 'f')", "zeroblob(9000000) LIKE '%a%b%'"],
)
def test_a_function_that_takes_longer_than_its_values_are_is_refused(tmp_path: Path, value: str) -> None:
    tiles = f"SELECT 0 zoom_level, 0 tile_column, 0 tile_row, {value} tile_data"
    with pytest.raises(DamagedError, match="not authorized to use function"):
        MBTilesSource(hostile(tmp_path / "a", tiles=tiles))


def test_a_table_whose_columns_are_expressions_is_refused(tmp_path: Path) -> None:
    path = write_mbtiles(tmp_path / "a.mbtiles", SMALL)
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE other (a, b AS (instr(a, a)))")
    with pytest.raises(DamagedError, match="its table other has generated columns"):
        MBTilesSource(path)


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_with_more_layers_than_a_style_can_have_is_refused(kind: str, tmp_path: Path) -> None:
    path, layers = tmp_path / "tiles", [{"id": str(number)} for number in range(1001)]
    match kind:
        case "pmtiles":
            write_pmtiles(path, SMALL, metadata={"vector_layers": layers})
        case "mbtiles":
            write_mbtiles(path, SMALL, json=json.dumps({"vector_layers": layers}))
        case _:
            write_folder(path, SMALL, vector_layers=layers)
    with pytest.raises(DamagedError, match="1001 layers"):
        OPENERS[kind](path)


def test_an_archive_with_metadata_that_grows_when_it_is_unpacked_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DamagedError):
        PMTilesSource(write_pmtiles(tmp_path / "a.pmtiles", SMALL, metadata={"name": "x" * (1 << 20)}))


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DamagedError, match="no files"):
        OPENERS["folder"](tmp_path)


@pytest.mark.parametrize("in_memory", ["nothing", "a part"])
@pytest.mark.parametrize("kind", ["folder", "pmtiles"])
def test_what_is_not_in_memory_is_not_waited_for(
    kind: str, in_memory: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiles = {(0, 0, 0): picture(0, 0, 0)}
    path = write_pmtiles(tmp_path / "a.pmtiles", tiles) if kind == "pmtiles" else tmp_path / "folder"
    if kind == "folder":
        write_folder(path, tiles)
    source = OPENERS[kind](path)
    monkeypatch.setattr(os, "preadv", cold_preadv(in_memory))
    with pytest.raises(NotReadyError):
        source.peek(0, 0, 0)
    monkeypatch.undo()
    tile = source.read(0, 0, 0)
    assert tile is not None
    assert tile.data == picture(0, 0, 0)


def cold_preadv(in_memory: str) -> Callable[[int, list[bytearray], int, int], int]:
    """preadv2(2) of a file that is on the disk. A file that is dropped from memory does not show that for
    sure: the kernel starts to read it, and a fast disk has sometimes finished before the call returns."""

    def preadv(fd: int, buffers: list[bytearray], offset: int, flags: int) -> int:
        assert flags == os.RWF_NOWAIT
        assert os.fstat(fd).st_size >= offset + len(buffers[0])
        if in_memory == "nothing":
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        return len(buffers[0]) - 1

    return preadv


@pytest.mark.parametrize(
    "text",
    ['{"minzoom": 1e999}', '{"bounds": [NaN, 0, 0, 0]}', '{"center": [1, 2, 1e400]}', "[" * 99999, '"x"'],
)
def test_odd_metadata_does_no_harm(tmp_path: Path, text: str) -> None:
    folder = write_folder(tmp_path / "folder", SMALL)
    (folder / "metadata.json").write_text(text)
    of_folder = OPENERS["folder"](folder).summary
    of_mbtiles = OPENERS["mbtiles"](write_mbtiles(tmp_path / "a.mbtiles", SMALL, json=text)).summary
    assert (of_folder.minzoom, of_mbtiles.minzoom) == (0, 0)
    assert (of_folder.maxzoom, of_mbtiles.maxzoom) == (2, 2)


def test_members_of_gzip_are_unpacked_one_after_the_other() -> None:
    assert decompress(gzip.compress(b"one ") + gzip.compress(b"two"), "gzip") == b"one two"


def test_a_second_member_counts_against_the_limit() -> None:
    with pytest.raises(DamagedError, match="over"):
        decompress(gzip.compress(bytes(900)) * 2, "gzip", 1000)
