"""How many connections there may be, and which go."""

from __future__ import annotations

import asyncio
import configparser
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, suppress
from pathlib import Path

import pytest

from tests.http.fake_hub import FakeHub
from tests.http.served import P, Served
from wifimgrd.http.front import connection_limits
from wifimgrd.http.front.connection_limits import ConnectionLimits
from wifimgrd.http.settings import Settings

LIMIT = 4
PATIENCE_S = 10.0
HEALTH = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.fixture
async def served(fake_hub: FakeHub) -> AsyncIterator[Served]:
    async with Served.start(fake_hub, Settings(), ConnectionLimits(LIMIT)) as served:
        yield served


class Idle:
    """A connection that was used once."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    @classmethod
    async def at(cls, served: Served) -> Idle:
        host, _, port = served.host.partition(":")
        one = cls(*await asyncio.open_connection(host, int(port)))
        await one.ask()
        return one

    async def ask(self) -> None:
        async with asyncio.timeout(PATIENCE_S):
            self._writer.write(HEALTH)
            head = await self._reader.readuntil(b"\r\n\r\n")
            await self._reader.readexactly(int(head.lower().partition(b"content-length: ")[2].split()[0]))

    async def closed(self) -> None:
        """Wait until the other side has closed it."""
        async with asyncio.timeout(PATIENCE_S):
            with suppress(ConnectionError):
                assert await self._reader.read() == b""

    def close(self) -> None:
        self._writer.transport.abort()


async def test_at_the_limit_the_longest_idle_connection_goes(served: Served) -> None:
    idle = [await Idle.at(served) for _ in range(LIMIT)]
    await idle[0].ask()
    new = await Idle.at(served)
    await idle[1].closed()
    for one in (*idle[2:], idle[0], new):
        await one.ask()
        one.close()
    idle[1].close()


async def test_where_none_is_idle_the_shim_says_so_and_is_alive(served: Served) -> None:
    async with AsyncExitStack() as stack:
        for _ in range(LIMIT):
            channel = await served.channel()
            stack.push_async_callback(channel.close)
            await channel.receive()
        for _ in range(3):
            assert (await served.get("/healthz")).status == 200
            answer = await served.get(P)
            assert (answer.status, answer.problem["code"]) == (429, "too-many-requests")
            assert int(answer.headers["Retry-After"]) > 0
    async with asyncio.timeout(PATIENCE_S):
        while (await served.get(P)).status != 200:
            pass


async def test_a_crowd_of_silent_connections_does_not_keep_others_out(served: Served) -> None:
    host, _, port = served.host.partition(":")
    crowd = [await asyncio.open_connection(host, int(port)) for _ in range(10 * LIMIT)]
    for _, writer in crowd:
        writer.write(HEALTH[:9])
    assert (await served.get(P)).status == 200
    for _, writer in crowd:
        writer.transport.abort()


class Busy:
    """A connection that is never idle, unless it says so."""

    def __init__(self, *, idle: bool = False) -> None:
        self.is_surplus = False
        self.is_evictable = idle
        self.is_open = True

    def evict(self) -> None:
        self.is_open = False


def test_an_address_of_another_host_has_its_own_limit() -> None:
    limits = ConnectionLimits(100, per_address=2)
    idle = [Busy(idle=True) for _ in range(3)]
    assert all(limits.add(one, "2001:db8::1") for one in idle)
    assert [one.is_open for one in idle] == [False, True, True]
    other = Busy()
    assert limits.add(other, "192.0.2.1")
    assert not other.is_surplus
    local = [Busy() for _ in range(5)]
    assert all(limits.add(one, "127.0.0.1") and not one.is_surplus for one in local)


def test_what_is_beyond_the_surplus_is_closed_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_limits, "SURPLUS", 2)
    limits = ConnectionLimits(1)
    busy = [Busy() for _ in range(4)]
    assert [limits.add(one, "127.0.0.1") for one in busy] == [True, True, True, False]
    assert [one.is_surplus for one in busy[:3]] == [False, True, True]
    for one in busy:
        limits.remove(one)
    assert len(limits) == 0
    new = Busy()
    assert limits.add(new, "127.0.0.1")
    assert not new.is_surplus


@pytest.mark.parametrize("unit", ["wifimgrd", "wifimgrd-http", "wifimgrd-net"])
def test_each_unit_has_limits_and_a_watchdog(unit: str) -> None:
    parser = configparser.ConfigParser(strict=False, interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read(Path(__file__).parents[3] / f"systemd/{unit}.service")
    assert {"MemoryMax", "TasksMax", "WatchdogSec"} <= parser["Service"].keys()
