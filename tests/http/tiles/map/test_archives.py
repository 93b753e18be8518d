"""Whole archives, and parts of them, as a PMTiles client asks for them."""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.http.fake_hub import FakeHub
from tests.http.served import Served
from tests.http.tiles.making import pyramid, write_mbtiles, write_pmtiles
from tests.http.tiles.map.conftest import MAP
from wifimgrd.config.configuration import Config, Map, Tiles, TileSource
from wifimgrd.http.front.connection import FrontConnection
from wifimgrd.http.settings import Settings

TILES = MAP + "/tiles/"
ROUTES = {TILES: "world.pmtiles", MAP + "/contours/": "contours.pmtiles"}
ORIGIN = "https://map.example"


@pytest.mark.parametrize(("path", "file"), ROUTES.items())
async def test_without_a_range_it_is_the_whole_archive(
    served: Served, folder: Path, path: str, file: str
) -> None:
    answer = await served.get(path)
    assert (answer.status, answer.data) == (200, (folder / file).read_bytes())
    assert answer.headers["Content-Type"] == "application/vnd.pmtiles"
    assert answer.headers["Cache-Control"] == "no-cache, must-revalidate"
    assert answer.headers["Accept-Ranges"] == "bytes"
    assert answer.headers["Content-Length"] == str(len(answer.data))
    assert "Content-Range" not in answer.headers


@pytest.mark.parametrize(("path", "file"), ROUTES.items())
@pytest.mark.parametrize(
    ("said", "part"),
    [("bytes=0-6", slice(7)), ("bytes=5-", slice(5, None)), ("bytes=-9", slice(-9, None))],
)
async def test_a_range_is_answered_with_that_part(
    served: Served, folder: Path, path: str, file: str, said: str, part: slice
) -> None:
    whole = (folder / file).read_bytes()
    answer = await served.get(path, headers={"Range": said})
    first, stop, _ = part.indices(len(whole))
    assert (answer.status, answer.data) == (206, whole[part])
    assert answer.headers["Content-Range"] == f"bytes {first}-{stop - 1}/{len(whole)}"
    assert answer.headers["Content-Length"] == str(stop - first)
    assert answer.headers["Content-Type"] == "application/vnd.pmtiles"


async def test_the_end_of_a_range_is_cut_to_the_files(served: Served, folder: Path) -> None:
    whole = (folder / "world.pmtiles").read_bytes()
    answer = await served.get(TILES, headers={"Range": "bytes=0-16383"})
    assert (answer.status, answer.data) == (206, whole[:16384])
    assert answer.headers["Content-Range"] == f"bytes 0-{min(16384, len(whole)) - 1}/{len(whole)}"


@pytest.mark.parametrize("said", ["bytes=999999-", "bytes=0-1,4-5", "items=0-1", "bytes=5-4", "nonsense"])
async def test_a_range_that_names_no_part_is_416_and_says_the_size(
    served: Served, folder: Path, said: str
) -> None:
    size = (folder / "world.pmtiles").stat().st_size
    answer = await served.get(TILES, headers={"Range": said})
    assert answer.status == answer.problem["status"] == 416
    assert answer.headers["Content-Range"] == f"bytes */{size}"


async def test_the_tag_is_strong_and_the_same_for_whole_and_part(served: Served) -> None:
    whole = await served.get(TILES)
    part = await served.get(TILES, headers={"Range": "bytes=0-1"})
    assert whole.headers["ETag"] == part.headers["ETag"]
    assert whole.headers["ETag"].startswith('"')


async def test_a_known_tag_is_answered_with_not_modified(served: Served) -> None:
    tag = (await served.get(TILES)).headers["ETag"]
    answer = await served.get(TILES, headers={"If-None-Match": tag, "Range": "bytes=0-1"})
    assert (answer.status, answer.data, answer.headers["ETag"]) == (304, b"", tag)


async def test_if_range_of_this_file_gives_the_part(served: Served) -> None:
    tag = (await served.get(TILES)).headers["ETag"]
    answer = await served.get(TILES, headers={"If-Range": tag, "Range": "bytes=0-1"})
    assert (answer.status, answer.data) == (206, b"PM")


async def test_if_range_of_a_file_that_was_replaced_gives_the_whole_new_one(
    served: Served, folder: Path
) -> None:
    tag = (await served.get(TILES)).headers["ETag"]
    write_pmtiles(folder / "new.pmtiles", pyramid(2))
    (folder / "new.pmtiles").replace(folder / "world.pmtiles")
    answer = await served.get(TILES, headers={"If-Range": tag, "Range": "bytes=0-1"})
    assert (answer.status, answer.data) == (200, (folder / "world.pmtiles").read_bytes())
    assert answer.headers["ETag"] != tag


async def test_a_head_has_the_headers_alone(served: Served, folder: Path) -> None:
    answer = await served.ask("HEAD", TILES, headers={"Range": "bytes=0-1"})
    assert (answer.status, answer.data) == (200, b"")
    assert answer.headers["Content-Length"] == str((folder / "world.pmtiles").stat().st_size)
    assert answer.headers["Accept-Ranges"] == "bytes"


@pytest.mark.parametrize("slash", ["", "/"])
async def test_an_address_answers_with_and_without_its_slash(served: Served, slash: str) -> None:
    for path in ROUTES:
        assert (await served.get(path.rstrip("/") + slash, headers={"Range": "bytes=0-1"})).data == b"PM"


async def test_an_admitted_origin_may_read_what_a_pmtiles_client_needs(served: Served) -> None:
    for status, said in ((206, "bytes=0-1"), (416, "bytes=999999-")):
        answer = await served.get(TILES, headers={"Range": said, "Origin": ORIGIN})
        assert (answer.status, answer.headers["Access-Control-Allow-Origin"]) == (status, ORIGIN)
        exposed = answer.headers["Access-Control-Expose-Headers"].split(", ")
        assert {"ETag", "Content-Length", "Content-Range", "Accept-Ranges"} <= set(exposed)


async def test_an_admitted_origin_may_ask_for_ranges(served: Served) -> None:
    headers = {
        "Origin": ORIGIN,
        "Access-Control-Request-Method": "GET",
        "Access-Control-Request-Headers": "range, if-range",
    }
    answer = await served.ask("OPTIONS", TILES, headers=headers)
    assert answer.status == 204
    assert {"Range", "If-Range"} <= set(answer.headers["Access-Control-Allow-Headers"].split(", "))


async def test_an_empty_file_is_sent_whole(served: Served, folder: Path) -> None:
    (folder / "world.pmtiles").write_bytes(b"")
    answer = await served.get(TILES)
    assert (answer.status, answer.data) == (200, b"")


@pytest.mark.parametrize("kind", ["nothing", "folder", "fifo"])
async def test_what_is_no_file_is_not_found(served: Served, folder: Path, kind: str) -> None:
    path = folder / "world.pmtiles"
    path.unlink()
    if kind == "folder":
        path.mkdir()
    elif kind == "fifo":
        os.mkfifo(path)
    answer = await served.get(TILES)
    assert (answer.status, answer.problem["code"]) == (404, "not-found")


@pytest.mark.parametrize("path", [*ROUTES, MAP + "/style/", MAP + "/contours/contours.json"])
async def test_what_is_not_configured_is_not_found(fake_hub: FakeHub, path: str) -> None:
    async with Served.start(fake_hub, Settings()) as served:
        assert (await served.get(path)).problem["status"] == 404


def test_the_first_pmtiles_source_is_the_maps_archive_where_none_is_named() -> None:
    sources = (
        TileSource("a", "mbtiles", Path("/a")),
        TileSource("b", "pmtiles", Path("/b")),
        TileSource("c", "pmtiles", Path("/c")),
    )
    config = Config(tiles=Tiles(sources))
    assert Settings.of(config).map.tiles == Path("/b")
    assert Settings.of(replace(config, map=Map(tiles=Path("/d")))).map.tiles == Path("/d")


async def test_a_source_of_another_type_is_no_archive(fake_hub: FakeHub, tmp_path: Path) -> None:
    source = TileSource("world", "mbtiles", write_mbtiles(tmp_path / "w.mbtiles", pyramid(1)))
    settings = Settings.of(Config(tiles=Tiles((source,))))
    async with Served.start(fake_hub, settings) as served:
        assert (await served.get(TILES)).status == 404


async def test_a_client_that_is_closed_while_a_file_is_sent_costs_no_other_its_connection(
    served: Served, folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    os.truncate(folder / "world.pmtiles", 64 << 20)
    sends: asyncio.Queue[FrontConnection] = asyncio.Queue()
    send_file = FrontConnection.send_file

    async def noted(front: FrontConnection, *part: Any) -> int:
        sends.put_nowait(front)
        return await send_file(front, *part)

    monkeypatch.setattr(FrontConnection, "send_file", noted)
    host, _, port = served.host.partition(":")
    reader, writer = await asyncio.open_connection(host, int(port), limit=1)
    writer.write(f"GET {TILES} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    async with asyncio.timeout(20):
        front = await sends.get()
        with suppress(TimeoutError):  # it waits for the client
            while True:
                front = await asyncio.wait_for(sends.get(), 0.3)
        front.evict()
        with suppress(ConnectionError):
            while await reader.read(1 << 20):
                pass
        for _ in range(5):
            assert (await served.get("/healthz", headers={"Connection": "close"})).status == 200
    writer.close()
    assert not [record for record in caplog.records if record.name == "asyncio"]


async def test_a_large_file_comes_whole_over_many_chunks(served: Served, folder: Path) -> None:
    data = os.urandom(1 << 20) * 5 + b"end"
    (folder / "world.pmtiles").write_bytes(data)
    assert (await served.get(TILES)).data == data
    assert (await served.get(TILES, headers={"Range": "bytes=300001-4300000"})).data == data[300001:4300001]


async def test_requests_on_one_connection_get_their_answers_in_order(served: Served, folder: Path) -> None:
    whole = (folder / "world.pmtiles").read_bytes()
    one = f"GET {TILES} HTTP/1.1\r\nHost: {served.host}\r\nRange: bytes=%d-%d\r\n%s\r\n"
    asked = [(0, 6), (3, 90), (7, 8)]
    close = [b""] * 2 + [b"Connection: close\r\n"]
    data = b"".join(one.encode() % (*part, end) for part, end in zip(asked, close, strict=True))
    answer = await served.raw(data)
    for first, last in asked:
        head, _, answer = answer.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 206 ")
        assert answer[: last - first + 1] == whole[first : last + 1]
        answer = answer[last - first + 1 :]
    assert answer == b""


async def test_a_file_that_is_cut_short_meanwhile_ends_the_connection(served: Served, folder: Path) -> None:
    """The announced length cannot be kept: the client must not take the part for the whole."""
    path = folder / "world.pmtiles"
    with path.open("wb") as file:
        file.truncate(64 << 20)
    host, _, port = served.host.partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(f"GET {TILES} HTTP/1.1\r\nHost: {served.host}\r\n\r\n".encode())
    head = await reader.readuntil(b"\r\n\r\n")
    assert b"Content-Length: 67108864" in head
    os.truncate(path, 1)
    received = 0
    with pytest.raises(ConnectionResetError):  # noqa: PT012 - or the end, which is tested below
        while data := await reader.read(1 << 16):
            received += len(data)
        raise ConnectionResetError
    assert received < 64 << 20
    writer.close()
    assert (await served.get("/healthz")).status == 200


async def test_many_clients_are_served_at_the_same_time(served: Served, folder: Path) -> None:
    data = os.urandom(1 << 20)
    (folder / "world.pmtiles").write_bytes(data)
    answers = await asyncio.gather(
        *(served.get(TILES, headers={"Range": f"bytes={n * 9000}-{n * 9000 + 65535}"}) for n in range(100))
    )
    for number, answer in enumerate(answers):
        assert answer.data == data[number * 9000 : number * 9000 + 65536]
