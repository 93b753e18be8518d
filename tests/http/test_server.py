"""Sockets and the end of requests that run."""

from __future__ import annotations

import asyncio
from typing import Any

import aiohttp
import pytest

from tests.http.fake_hub import FakeHub
from tests.http.served import P, Served
from wifimgrd.domain.records import DeviceRecord
from wifimgrd.http import _server as server
from wifimgrd.http._app import build_app
from wifimgrd.http._server import Server, bind
from wifimgrd.http.settings import Settings
from wifimgrd.runtime.tasks import Tasks


def test_every_address_of_a_name_gets_the_same_free_port() -> None:
    sockets = bind("localhost", 0)
    try:
        assert len({one.getsockname()[1] for one in sockets}) == 1
    finally:
        for one in sockets:
            one.close()


def test_a_name_that_is_not_known_is_an_error() -> None:
    with pytest.raises(OSError):  # noqa: PT011 - the resolver's own words
        bind("1:2:3", 0)


async def test_a_request_that_waits_does_not_hold_up_the_end(
    fake_hub: FakeHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "STOP_S", 0.05)
    waiting = asyncio.Event()

    async def forever(*_: Any) -> None:
        waiting.set()
        await asyncio.Event().wait()

    fake_hub.do = forever  # type: ignore[method-assign]
    stopping = Server(build_app(fake_hub, Settings(), Tasks("test")))
    await stopping.start(bind("127.0.0.1", 0))
    async with Served.at(stopping.addresses[0].rstrip("/")) as served:
        fake_hub.appear(DeviceRecord(1))
        request = asyncio.create_task(served.post(P + "/wifi/connect?device_id=1&wait=60"))
        await waiting.wait()
        async with asyncio.timeout(5):
            await stopping.stop()
            with pytest.raises(aiohttp.ServerDisconnectedError):
                await request
