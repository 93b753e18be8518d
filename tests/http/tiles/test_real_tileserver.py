"""A real tileserver-gl-light as the tile server, with its own ways of answering."""

from __future__ import annotations

import asyncio
import json
import socket
from asyncio.subprocess import DEVNULL
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.http.fake_hub import FakeHub
from tests.http.served import Served
from tests.http.tiles.making import pyramid, write_mbtiles
from wifimgrd.config.configuration import TileSource
from wifimgrd.http.settings import Settings

pytestmark = pytest.mark.tileserver

PROGRAM = Path(__file__).parents[3] / ".node/node_modules/tileserver-gl-light/src/main.js"
PATIENCE_S = 60.0
WORLD = pyramid(3)


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def configured(folder: Path) -> Path:
    write_mbtiles(folder / "world.mbtiles", WORLD, minzoom="0", maxzoom="4")
    paths = {"root": str(folder), "mbtiles": str(folder)}
    value = {"options": {"paths": paths}, "data": {"world": {"mbtiles": "world.mbtiles"}}}
    (folder / "config.json").write_text(json.dumps(value))
    return folder / "config.json"


@pytest.fixture
async def url(tmp_path: Path) -> AsyncIterator[str]:
    """The template of its tiles, once it serves."""
    port = free_port()
    process = await asyncio.create_subprocess_exec(
        "node", str(PROGRAM), "--config", str(configured(tmp_path)), "--bind", "127.0.0.1",
        "--port", str(port), stdin=DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    assert process.stdout is not None
    said = b""
    try:
        async with asyncio.timeout(PATIENCE_S):
            while b"Startup complete" not in said:
                line = await process.stdout.readline()
                assert line, said.decode()
                said += line
        yield f"http://127.0.0.1:{port}/data/world/{{z}}/{{x}}/{{y}}.png"
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.communicate()


@pytest.fixture
async def relay(url: str, fake_hub: FakeHub) -> AsyncIterator[Served]:
    async with Served.start(
        fake_hub, Settings(tile_sources=(TileSource("t", "upstream", url=url),))
    ) as served:
        yield served


async def test_every_tile_is_relayed(relay: Served) -> None:
    got = {place: (await relay.get("/tiles/t/{}/{}/{}.png".format(*place))).data for place in WORLD}
    assert got == WORLD


async def test_a_client_without_gzip_gets_tiles_unpacked(relay: Served) -> None:
    headers = {"Accept-Encoding": "identity"}
    answer = await relay.get("/tiles/t/2/1/1.png", headers=headers)
    assert "Content-Encoding" not in answer.headers
    assert (answer.data, answer.headers["Content-Type"]) == (WORLD[2, 1, 1], "image/png")


async def test_a_tile_that_it_has_not_is_not_found(relay: Served) -> None:
    answer = await relay.get("/tiles/t/4/1/1.png")
    assert (answer.status, answer.problem["code"]) == (404, "tile-not-found")


async def test_a_relayed_tile_is_not_modified(relay: Served) -> None:
    tag = (await relay.get("/tiles/t/2/1/1.png")).headers["ETag"]
    assert (await relay.get("/tiles/t/2/1/1.png", headers={"If-None-Match": tag})).status == 304
