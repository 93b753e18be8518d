"""The short way to tiles: who is let through, and what else happens on its connections."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace
from pathlib import Path

import pytest

from tests.http.fake_hub import FakeHub
from tests.http.served import P, Served
from wifimgrd.http.settings import Settings

TILE = b"GET /tiles/pmtiles/2/1/1 HTTP/1.1\r\nHost: localhost\r\n\r\n"
HEALTH = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
END = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
TOKEN = "s3cret"


def statuses(data: bytes) -> list[int]:
    return [int(status) for status in re.findall(rb"HTTP/1\.[01] ([0-9]{3})", data)]


class Wire:
    """One connection, byte by byte."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    @classmethod
    async def to(cls, served: Served) -> Wire:
        host, _, port = served.host.partition(":")
        return cls(*await asyncio.open_connection(host, int(port)))

    async def answer(self) -> tuple[int, bytes]:
        """The next answer, whole."""
        async with asyncio.timeout(5):
            head = await self.reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().partition(b"content-length: ")[2].split()[0])
            return int(head[9:12]), await self.reader.readexactly(length)

    async def ask(self, data: bytes) -> tuple[int, bytes]:
        self.writer.write(data)
        return await self.answer()

    async def close(self) -> None:
        self.writer.close()
        await self.writer.wait_closed()


async def test_tiles_and_other_requests_share_a_connection(served: Served) -> None:
    wire = await Wire.to(served)
    asked = [await wire.ask(data) for data in (TILE, HEALTH, TILE, TILE, HEALTH, TILE)]
    await wire.close()
    assert [status for status, _ in asked] == [200] * 6
    assert len({body for _, body in asked[::2] if not body.startswith(b"{")}) == 1


async def test_requests_that_come_together_are_answered_in_order(served: Served) -> None:
    answers = await served.raw(TILE + HEALTH + TILE + HEALTH.replace(b"healthz", b"nowhere") + TILE + END)
    assert statuses(answers) == [200, 200, 200, 404, 200, 200]


@pytest.mark.parametrize("at", [1, 4, 20, 33, 34, 35, 40, len(TILE) - 3, len(TILE) - 1])
async def test_a_request_in_two_pieces_is_answered(served: Served, at: int) -> None:
    wire = await Wire.to(served)
    wire.writer.write(TILE[:at])
    await wire.writer.drain()
    await served.get("/healthz")  # so that the first piece has arrived alone
    status, _ = await wire.ask(TILE[at:])
    again, _ = await wire.ask(TILE)
    await wire.close()
    assert (status, again) == (200, 200)


async def test_a_tile_behind_a_body_in_two_pieces_waits_for_it(served: Served) -> None:
    wire = await Wire.to(served)
    head = f"POST {P}/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(TILE)}\r\n\r\n"
    wire.writer.write(head.encode())
    await wire.writer.drain()
    await served.get("/healthz")
    status, _ = await wire.ask(TILE)  # the body, which only looks like a request
    await wire.close()
    assert status == 400


async def test_a_client_that_wants_the_end_gets_it(served: Served) -> None:
    answers = await served.raw(TILE[:-2] + b"Connection: close\r\n\r\n")
    assert statuses(answers) == [200]


@pytest.mark.parametrize(
    "host",
    [b"Host: evil.example", b"Host: localhost\r\nHost: localhost", b"X: y", b"Host : localhost", b"Host: "],
)
async def test_another_host_gets_no_tile(served: Served, host: bytes) -> None:
    wire = await Wire.to(served)
    await wire.ask(TILE)
    status, _ = await wire.ask(TILE.replace(b"Host: localhost", host))
    await wire.close()
    assert status in (400, 403)


async def test_the_address_of_the_connection_is_a_host(served: Served) -> None:
    wire = await Wire.to(served)
    status, _ = await wire.ask(TILE.replace(b"localhost", served.host.encode()))
    await wire.close()
    assert status == 200


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (b"Authorization: Bearer s3cret", 200),
        (b"Authorization: Bearer wrong", 401),
        (b"Authorization: Basic s3cret", 401),
        (b"Cookie: wifimgrd_session=wrong", 401),
        (b"X: y", 401),
    ],
)
async def test_the_token_is_asked_for(
    fake_hub: FakeHub, settings: Settings, said: bytes, expected: int
) -> None:
    async with Served.start(fake_hub, replace(settings, token=TOKEN)) as served:
        wire = await Wire.to(served)
        good = TILE.replace(b"\r\n\r\n", b"\r\nAuthorization: Bearer s3cret\r\n\r\n")
        await wire.ask(good)
        status, _ = await wire.ask(TILE.replace(b"\r\n\r\n", b"\r\n" + said + b"\r\n\r\n"))
        await wire.close()
    assert status == expected


async def test_a_session_may_read_tiles(fake_hub: FakeHub, settings: Settings) -> None:
    async with Served.start(fake_hub, replace(settings, token=TOKEN)) as served:
        cookie = (
            (await served.post("/session", json={"token": TOKEN})).headers["Set-Cookie"].partition(";")[0]
        )
        assert (await served.get("/tiles/pmtiles/2/1/1", headers={"Cookie": cookie})).status == 200


async def test_places_of_files_are_shown_with_the_token_alone(
    fake_hub: FakeHub, settings: Settings, places: dict[str, Path]
) -> None:
    async with Served.start(fake_hub, replace(settings, token=TOKEN)) as served:
        assert str(places["pmtiles"]) not in (await served.get("/healthz?verbose")).data.decode()


async def test_thousands_of_requests_ahead_of_their_answers_are_answered(served: Served) -> None:
    wire = await Wire.to(served)
    wire.writer.write(TILE * 4000)
    answers = [await wire.answer() for _ in range(4000)]
    await wire.close()
    assert {status for status, _ in answers} == {200}


async def test_requests_wait_while_a_tile_is_read_from_the_disk(served: Served) -> None:
    wire = await Wire.to(served)
    wire.writer.write(TILE.replace(b"pmtiles", b"mbtiles"))
    await wire.writer.drain()
    wire.writer.write(HEALTH)
    tile, health = await wire.answer(), await wire.answer()
    await wire.close()
    assert (tile[1][:4], health[1][:1]) == (b"\x89PNG", b"{")


@pytest.mark.parametrize(
    "line", [b"GET /tiles/pmtiles/2/1/1 HTTP/1.0", b"GET /tiles/../tiles/2/1/1 HTTP/1.1"]
)
async def test_odd_request_lines_are_the_applications(served: Served, line: bytes) -> None:
    answers = await served.raw(line + b"\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    assert answers.startswith((b"HTTP/1.0 200", b"HTTP/1.1 404", b"HTTP/1.1 400"))


@pytest.mark.parametrize(
    "field", [b"X: y\r\n folded: x", b"No colon", b"Bad\x01: x", b"Value: \x00", b"Upgrade: h2c"]
)
async def test_odd_fields_are_the_applications(served: Served, field: bytes) -> None:
    answers = await served.raw(TILE[:-2] + field + b"\r\nConnection: close\r\n\r\n")
    assert statuses(answers)[0] in (200, 400)


async def test_a_host_that_is_folded_gets_no_tile(served: Served) -> None:
    """The line that follows belongs to the name, where aiohttp's version does not refuse it at once."""
    answers = await served.raw(TILE[:-2] + b" folded: x\r\nConnection: close\r\n\r\n")
    assert statuses(answers) in ([400], [403])
