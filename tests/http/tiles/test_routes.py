"""What the addresses of tiles answer: the short way and the application's, which must not differ."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pmtiles.tile import Compression, TileType

from tests.http.fake_hub import FakeHub
from tests.http.served import Served
from tests.http.tiles.conftest import KINDS, MISSING
from tests.http.tiles.making import METADATA, Place, vector, write_pmtiles
from wifimgrd.config.configuration import TileSource
from wifimgrd.http.settings import Settings
from wifimgrd.http.tiles import _replies as replies
from wifimgrd.http.tiles._decompress import decompress
from wifimgrd.http.tiles._replies import blank_png
from wifimgrd.http.tiles._tile import MLT

WAYS = ["", "?by=the-application"]
"""What is added to an address, so that it goes the short way or the long one."""
PLATFORM = "/plugin-views/platform_plugin_map/map/offline-tiles"
ORIGIN = "https://map.example"


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def settings(settings: Settings, tmp_path: Path) -> Settings:
    packed = {(0, 0, 0): vector(0, 0, 0)}

    path = write_pmtiles(tmp_path / "v.pmtiles", packed, kind=TileType.MVT, compression=Compression.GZIP)
    sources = (*settings.tile_sources, TileSource("vector", "pmtiles", path))
    return replace(settings, tile_sources=sources, origins=frozenset({ORIGIN}))


async def test_a_tile_is_answered(served: Served, world: Mapping[Place, bytes], kind: str, way: str) -> None:
    answer = await served.get(f"/tiles/{kind}/5/7/9.png{way}")
    assert (answer.status, answer.data) == (200, world[5, 7, 9])
    assert answer.headers["Content-Type"] == "image/png"
    assert "Content-Encoding" not in answer.headers
    assert answer.headers["Cache-Control"] == "no-cache"


@pytest.mark.parametrize(
    "address", ["/tiles/pmtiles/3/1/2", "/tiles/pmtiles/3/1/2.jpg", "/tiles/pmtiles/3/1/2.png/"]
)
async def test_an_address_may_end_in_many_ways(
    served: Served, world: Mapping[Place, bytes], address: str, way: str
) -> None:
    assert (await served.get(address + way)).data == world[3, 1, 2]


@pytest.mark.parametrize("query", ["z=3&x=1&y=2", "y=2&x=1&z=3", "z=3&x=1&y=2&more=1"])
@pytest.mark.parametrize("slash", ["", "/"])
async def test_the_platforms_map_gets_the_first_tileset(
    served: Served, world: Mapping[Place, bytes], query: str, slash: str
) -> None:
    answer = await served.get(f"{PLATFORM}{slash}?{query}")
    assert (answer.status, answer.data) == (200, world[3, 1, 2])


@pytest.mark.parametrize(
    "query",
    [
        "",
        "z=1&x=1",
        "z=1&x=1&y=a",
        "z=1&x=1&y=-1",
        "z=1&x=1&y=1&y=1",
        "z=1&x=1&y=1.5",
        "z=9&x=1&y=1",
        "z=%2B1&x=1&y=1",
        "z=1&x=%d9%a1&y=1",
    ],
)
async def test_what_the_platforms_map_asks_wrongly_is_not_found(served: Served, query: str) -> None:
    answer = await served.get(f"{PLATFORM}/?{query}")
    assert (answer.status, answer.problem["code"]) == (404, "tile-not-found")


@pytest.mark.parametrize(
    "where",
    [
        "/".join(map(str, MISSING)),
        "6/0/0",
        "31/0/0",
        "2/4/0",
        "2/0/4.png",
        "9999999999/0/0",
        "0/0/12345678901234567890",
        "0/0/" + "9" * 5000,
    ],
)
async def test_a_tile_that_is_not_there_is_not_found(served: Served, kind: str, where: str, way: str) -> None:
    answer = await served.get(f"/tiles/{kind}/{where}{way}")
    assert (answer.status, answer.problem["code"]) == (404, "tile-not-found")


async def test_an_unknown_tileset_is_not_found(served: Served, way: str) -> None:
    answer = await served.get(f"/tiles/nowhere/0/0/0{way}")
    assert (answer.status, answer.problem["code"]) == (404, "tile-not-found")


@pytest.mark.parametrize(
    "where",
    [
        "a/0/0",
        "0/-1/0",
        "0/0/x.png",
        "0/0/0@2x.png",
        "0/1.5/0",
        "1/0/0.5",
        "+1/0/0",
        "1e1/0/0",
        "%20/0/0",
        "0x1/0/0",
        "\u0661/0/0",
        "0/0/.png",
        "0/0/0.",
        "1_0/0/0",
        "0/..%2f0/0",
        "0/0/0%00.png",
        "nan/0/0",
    ],
)
async def test_what_are_no_numbers_is_an_invalid_request(served: Served, where: str) -> None:
    answer = await served.get(f"/tiles/pmtiles/{where}")
    assert (answer.status, answer.problem["code"]) == (400, "invalid-request")


async def test_a_tag_is_strong_and_answered_with_not_modified(served: Served, kind: str, way: str) -> None:
    tag = (await served.get(f"/tiles/{kind}/2/1/1{way}")).headers["ETag"]
    answer = await served.get(f"/tiles/{kind}/2/1/1{way}", headers={"If-None-Match": tag})
    assert (answer.status, answer.data, answer.headers["ETag"]) == (304, b"", tag)
    assert tag.startswith('"')


async def test_another_tag_is_answered_with_the_tile(
    served: Served, world: Mapping[Place, bytes], kind: str, way: str
) -> None:
    answer = await served.get(f"/tiles/{kind}/2/1/1{way}", headers={"If-None-Match": '"else"'})
    assert (answer.status, answer.data) == (200, world[2, 1, 1])


@pytest.mark.parametrize("said", ['"else", W/{}', "*", '{} , "else"'])
async def test_a_tag_among_others_counts(served: Served, said: str, way: str) -> None:
    tag = (await served.get(f"/tiles/pmtiles/2/1/1{way}")).headers["ETag"]
    headers = {"If-None-Match": said.format(tag)}
    assert (await served.get(f"/tiles/pmtiles/2/1/1{way}", headers=headers)).status == 304


async def test_both_ways_give_one_tag(served: Served, kind: str) -> None:
    tags = {(await served.get(f"/tiles/{kind}/2/1/1{way}")).headers["ETag"] for way in WAYS}
    assert len(tags) == 1


async def test_a_head_has_the_headers_alone(served: Served, kind: str, world: Mapping[Place, bytes]) -> None:
    answer = await served.ask("HEAD", f"/tiles/{kind}/2/1/1.png")
    assert (answer.status, answer.data) == (200, b"")
    assert answer.headers["Content-Length"] == str(len(world[2, 1, 1]))


async def raw_tile(served: Served, way: str, accept: str) -> tuple[bytes, bytes]:
    """Head and body as they are on the wire."""
    lines = f"Host: localhost\r\n{accept}Connection: {'close' if way else 'keep-alive'}\r\n\r\n"
    reader_end = await served.raw(
        f"GET /tiles/vector/0/0/0{way} HTTP/1.1\r\n{lines}".encode()
        + (b"" if way else b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    )
    head, _, rest = reader_end.partition(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length: ")[2].split()[0])
    return head, rest[:length]


@pytest.mark.parametrize("accept", ["gzip", "br, GZIP;q=0.5", "*", "x-gzip"])
async def test_packed_bytes_go_to_who_accepts_them(served: Served, accept: str, way: str) -> None:
    head, body = await raw_tile(served, way, f"Accept-Encoding: {accept}\r\n")
    assert b"content-encoding: gzip" in head.lower()
    assert body == vector(0, 0, 0)


@pytest.mark.parametrize("accept", ["", "identity", "gzip;q=0", "br", "gzip; q=0.0, *", "deflate"])
async def test_others_get_them_unpacked(served: Served, accept: str, way: str) -> None:
    head, body = await raw_tile(served, way, f"Accept-Encoding: {accept}\r\n" if accept else "")
    assert b"content-encoding" not in head.lower()
    assert body == gzip.decompress(vector(0, 0, 0))


async def test_packed_and_unpacked_have_two_tags(served: Served, way: str) -> None:
    tags = set()
    for accept in ("gzip", "identity"):
        answer = await served.get(f"/tiles/vector/0/0/0{way}", headers={"Accept-Encoding": accept})
        tags.add(answer.headers["ETag"])
        assert "Accept-Encoding" in answer.headers["Vary"]
    assert len(tags) == 2


async def test_vector_tiles_have_their_type(served: Served, way: str) -> None:
    answer = await served.get(f"/tiles/vector/0/0/0{way}")
    assert answer.headers["Content-Type"] == "application/vnd.mapbox-vector-tile"


@pytest.mark.parametrize("path", ["/tiles/pmtiles/2/1/1", "/tiles/pmtiles/9/1/1"])
async def test_an_admitted_origin_may_read_tiles(served: Served, path: str, way: str) -> None:
    answer = await served.get(path + way, headers={"Origin": ORIGIN})
    assert answer.headers["Access-Control-Allow-Origin"] == ORIGIN
    assert "ETag" in answer.headers["Access-Control-Expose-Headers"]
    assert "Origin" in answer.headers["Vary"]


async def test_another_origin_is_not_named(served: Served, way: str) -> None:
    answer = await served.get(f"/tiles/pmtiles/2/1/1{way}", headers={"Origin": "https://evil.example"})
    assert "Access-Control-Allow-Origin" not in answer.headers


@pytest.mark.parametrize(
    "path", ["/tiles/pmtiles/2/1/1", "/tiles/vector/0/0/0", "/tiles/pmtiles/9/1/1", "/tiles/mbtiles/2/1/1"]
)
@pytest.mark.parametrize("headers", [{}, {"Accept-Encoding": "identity"}, {"If-None-Match": "*"}])
async def test_both_ways_say_the_same(served: Served, path: str, headers: dict[str, str]) -> None:
    short, long = [await served.get(path + way, headers=headers) for way in WAYS]
    assert (short.status, short.data) == (long.status, long.data)
    # Of an answer without a body, older aiohttp sends the type that it would have.
    apart = {"date"} | ({"content-type", "content-length"} if short.status == 304 else set())
    reported = [
        {k.lower(): v for k, v in one.headers.items() if k.lower() not in apart} for one in (short, long)
    ]
    assert reported[0] == reported[1]


@pytest.mark.parametrize("kind_of_missing", ["204", "blank"])
async def test_a_missing_tile_can_be_answered_otherwise(
    fake_hub: FakeHub, places: Mapping[str, Path], kind_of_missing: str, way: str
) -> None:
    missing = 204 if kind_of_missing == "204" else "blank"
    source = TileSource("t", "pmtiles", places["pmtiles"], missing=missing)
    async with Served.start(fake_hub, Settings(tile_sources=(source,))) as served:
        answer = await served.get(f"/tiles/t/9/1/1{way}")
    expected = (204, b"") if missing == 204 else (200, blank_png())
    assert (answer.status, answer.data) == expected


async def test_maplibre_tiles_are_described_and_sent_as_what_they_are(
    fake_hub: FakeHub, tmp_path: Path, way: str
) -> None:
    path = write_pmtiles(tmp_path / "a.pmtiles", {(0, 0, 0): b"a layer"}, kind=TileType.MLT)
    source = TileSource("t", "pmtiles", path, missing="blank")
    async with Served.start(fake_hub, Settings(tile_sources=(source,))) as served:
        tile = await served.get(f"/tiles/t/0/0/0{way}")
        blank = await served.get(f"/tiles/t/1/0/0{way}")
        described = (await served.get("/tiles/t.json")).json
    assert (tile.data, blank.data) == (b"a layer", b"")
    assert tile.headers["Content-Type"] == blank.headers["Content-Type"] == MLT
    assert (described["format"], described["encoding"]) == ("mlt", "mlt")
    assert described["vector_layers"] == METADATA["vector_layers"]
    assert described["tiles"] == [f"{served.url}/tiles/t/{{z}}/{{x}}/{{y}}.mlt"]


async def test_the_next_source_has_what_the_first_has_not(
    fake_hub: FakeHub, places: Mapping[str, Path], tmp_path: Path, way: str
) -> None:
    more = write_pmtiles(tmp_path / "more.pmtiles", {MISSING: b"\x89PNGmore"})
    sources = (TileSource("t", "pmtiles", places["pmtiles"]), TileSource("t", "pmtiles", more))
    async with Served.start(fake_hub, Settings(tile_sources=sources)) as served:
        answer = await served.get(f"/tiles/t/5/3/4{way}")
    assert answer.data == b"\x89PNGmore"


async def test_tilejson_describes_a_tileset(served: Served) -> None:
    value = (await served.get("/tiles/pmtiles.json")).json
    assert value["tilejson"] == "3.0.0"
    assert value["tiles"] == [f"{served.url}/tiles/pmtiles/{{z}}/{{x}}/{{y}}.png"]
    assert (value["minzoom"], value["maxzoom"]) == (0, 5)
    assert value["bounds"] == [-10, -20, 30, 40]
    assert value["center"] == [10, 5, 2]
    assert value["attribution"] == "nobody"


async def test_tilejson_of_vector_tiles_names_their_layers(served: Served) -> None:
    value = (await served.get("/tiles/vector.json")).json
    assert value["vector_layers"] == METADATA["vector_layers"]
    assert value["tiles"] == [f"{served.url}/tiles/vector/{{z}}/{{x}}/{{y}}.pbf"]


@pytest.mark.parametrize(
    ("headers", "base"),
    [
        ({"X-Forwarded-Proto": "https", "X-Forwarded-Host": "hub.example"}, "https://hub.example"),
        ({"X-Forwarded-Host": "hub.example:8443, other"}, "http://hub.example:8443"),
        (
            {"X-Forwarded-Proto": "https", "X-Forwarded-Host": "hub.example", "X-Forwarded-Port": "444"},
            "https://hub.example:444",
        ),
        ({"X-Forwarded-Host": "h", "X-Forwarded-Prefix": "/hub/"}, "http://h/hub"),
        ({"Forwarded": 'for=192.0.2.1;proto=https;host="hub.example:1", for=x'}, "https://hub.example:1"),
    ],
)
async def test_addresses_are_right_behind_a_proxy(served: Served, headers: dict[str, str], base: str) -> None:
    value = (await served.get("/tiles/pmtiles.json", headers=headers)).json
    assert value["tiles"] == [f"{base}/tiles/pmtiles/{{z}}/{{x}}/{{y}}.png"]


@pytest.mark.parametrize(
    "headers",
    [{"X-Forwarded-Proto": "gopher"}, {"X-Forwarded-Host": "a b"}, {"X-Forwarded-Prefix": "//evil"}],
)
async def test_what_a_proxy_would_not_say_is_ignored(served: Served, headers: dict[str, str]) -> None:
    value = (await served.get("/tiles/pmtiles.json", headers=headers)).json
    assert value["tiles"] == [f"{served.url}/tiles/pmtiles/{{z}}/{{x}}/{{y}}.png"]


async def test_all_tilesets_are_listed(served: Served) -> None:
    listed = (await served.get("/tiles/")).json["tilesets"]
    assert [one["tileset"] for one in listed] == [*KINDS, "vector"]
    assert listed[0]["url"] == f"{served.url}/tiles/folder.json"


async def test_tiles_are_served_while_the_daemon_is_away(served: Served, fake_hub: FakeHub, way: str) -> None:
    fake_hub.vanish()
    assert (await served.get(f"/tiles/pmtiles/0/0/0{way}")).status == 200


async def test_without_tilesets_there_are_no_tiles(fake_hub: FakeHub) -> None:
    async with Served.start(fake_hub, Settings()) as served:
        assert (await served.get("/tiles/")).json == {"tilesets": []}
        answer = await served.get(f"{PLATFORM}/?z=0&x=0&y=0")
        assert (answer.status, answer.problem["code"]) == (404, "tile-not-found")
        assert (await served.get("/tiles/world/0/0/0")).status == 404
        assert (await served.get("/tiles/world/0/0/a")).status == 400


async def test_health_reports_the_tilesets_where_it_is_asked(served: Served) -> None:
    reported = (await served.get("/healthz?verbose")).json["tiles"]
    assert [(one["tileset"], one["available"]) for one in reported] == [
        (name, True) for name in (*KINDS, "vector")
    ]
    assert "tiles" not in (await served.get("/healthz")).json


@pytest.mark.parametrize(
    "path",
    ["/tiles/..%2f..%2fetc%2fpasswd/0/0/0", "/tiles/%2e%2e.json", "/tiles/%ff%fe/0/0/0", "/tiles/%00.json"],
)
async def test_what_is_no_name_is_no_tileset(served: Served, path: str) -> None:
    answers = await served.raw(
        f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode()
    )
    assert answers.startswith(b"HTTP/1.1 404 ")


async def test_a_name_may_be_percent_encoded(served: Served, world: Mapping[Place, bytes]) -> None:
    answers = await served.raw(
        b"GET /tiles/%70mtiles/2/%31/1.png HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    )
    assert answers.endswith(world[2, 1, 1])


async def test_health_reports_what_each_source_says_of_itself(served: Served) -> None:
    reported = {
        one["tileset"]: one["sources"][0] for one in (await served.get("/healthz?verbose")).json["tiles"]
    }
    assert reported["pmtiles"]["summary"] == {"format": "png", "minzoom": 0, "maxzoom": 5, "count": 1364}
    assert reported["mbtiles"]["summary"] == {"format": "png", "minzoom": 0, "maxzoom": 5, "count": None}


async def test_a_tile_is_unpacked_outside_of_the_event_loop(
    served: Served, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[threading.Thread] = []

    def unpack(*packed: Any) -> bytes:
        threads.append(threading.current_thread())
        return decompress(*packed)

    monkeypatch.setattr(replies, "decompress", unpack)
    answer = await served.get(f"/tiles/vector/0/0/0{way}", headers={"Accept-Encoding": "identity"})
    assert (answer.status, answer.data) == (200, gzip.decompress(vector(0, 0, 0)))
    [thread] = threads
    assert thread is not threading.main_thread()


GONE = "/".join(map(str, MISSING))


@pytest.mark.parametrize("address", ["/tiles/folder/5/7/9{}", f"/tiles/folder/{GONE}{{}}", "{}z=5&x=7&y=77"])
async def test_a_page_of_an_admitted_origin_may_show_a_tile_that_is_there_or_not(
    served: Served, address: str, way: str
) -> None:
    platform = f"{PLATFORM}{way}&" if way else f"{PLATFORM}?"
    path = address.format(platform if address.startswith("{}") else way)
    for headers in ({}, {"Origin": ORIGIN}):
        answer = await served.get(path, headers=headers)
        assert answer.headers["Cross-Origin-Resource-Policy"] == "cross-origin"
        assert answer.headers.get("Access-Control-Allow-Origin") == headers.get("Origin")


async def test_a_missing_tile_has_no_text_for_a_picture(served: Served, way: str) -> None:
    path = f"/tiles/folder/{GONE}.png{way}"
    answer = await served.get(path, headers={"Accept": "image/avif,image/webp,*/*;q=0.8"})
    assert (answer.status, answer.data) == (404, b"")
    assert "json" not in answer.headers.get("Content-Type", "")
    assert (await served.get(path)).problem["code"] == "tile-not-found"
