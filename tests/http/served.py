"""A served application, and an HTTP client that asks it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Self

import aiohttp

from wifimgrd.client.hub import HubClient
from wifimgrd.http._app import build_app
from wifimgrd.http._server import Server, bind
from wifimgrd.http.front.connection_limits import ConnectionLimits
from wifimgrd.http.settings import Settings
from wifimgrd.runtime.tasks import Tasks

P = "/plugin-views/platform_plugin_device_manager/devices"


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole answer."""

    status: int
    headers: Mapping[str, str]
    data: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.data)

    @property
    def problem(self) -> Any:
        """The body, after a look at what every problem has."""
        assert self.headers["Content-Type"] == "application/problem+json"
        body = self.json
        assert {"type", "title", "status", "detail", "code", "error"} <= body.keys()
        assert body["status"] == self.status
        assert body["error"] == body["detail"]
        assert body["detail"]
        return body


@dataclass(slots=True)
class Served:
    """Asks the shim at `url`."""

    url: str
    session: aiohttp.ClientSession
    sockets: list[Any] = field(default_factory=list)

    @classmethod
    @asynccontextmanager
    async def at(cls, url: str) -> AsyncIterator[Self]:
        """An HTTP client for a shim that runs."""
        async with aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as session:
            served = cls(url, session)
            try:
                yield served
            finally:
                for one in served.sockets:
                    await one.close()

    @classmethod
    @asynccontextmanager
    async def start(
        cls, client: HubClient, settings: Settings, limits: ConnectionLimits | None = None
    ) -> AsyncIterator[Self]:
        """A shim in this process, on any free port."""
        server = Server(build_app(client, settings, Tasks("test")), limits=limits)
        await server.start(bind("127.0.0.1", 0))
        try:
            async with cls.at(server.addresses[0].rstrip("/")) as served:
                yield served
        finally:
            await server.stop()

    @property
    def host(self) -> str:
        return self.url.removeprefix("http://")

    async def ask(self, method: str, path: str, **options: Any) -> Answer:
        """Send a request and read the whole answer."""
        async with self.session.request(method, self.url + path, allow_redirects=False, **options) as answer:
            return Answer(answer.status, answer.headers, await answer.read())

    async def get(self, path: str, **options: Any) -> Answer:
        return await self.ask("GET", path, **options)

    async def post(self, path: str, **options: Any) -> Answer:
        return await self.ask("POST", path, **options)

    async def channel(self, path: str = "/ws/management/", **options: Any) -> Any:
        """Join the management channel, or another WebSocket; it is closed with this client."""
        socket = await self.session.ws_connect(self.url + path, max_msg_size=0, **options)
        self.sockets.append(socket)
        return socket

    async def raw(self, data: bytes, *, first_line: bool = False) -> bytes:
        """Send bytes as they are and read until the other side closes, or a line alone."""
        host, _, port = self.host.partition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(data)
        try:
            return await asyncio.wait_for(reader.readline() if first_line else reader.read(), 5)
        finally:
            writer.close()
            await writer.wait_closed()
