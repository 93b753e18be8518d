"""A tile server that does what a test says."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Self

from aiohttp import web


@dataclass
class ScriptedUpstream:
    """Answers every address alike, and remembers what it was asked."""

    url: str = ""
    status: int = 200
    body: bytes = b"\x89PNG tile"
    headers: Mapping[str, str] = field(default_factory=dict)
    asked: list[tuple[str, Mapping[str, str]]] = field(default_factory=list)
    connections: set[object] = field(default_factory=set)
    going_on: asyncio.Event = field(default_factory=asyncio.Event)
    """Answers wait for it."""
    was_asked: asyncio.Event = field(default_factory=asyncio.Event)
    _runner: web.AppRunner | None = None
    _port: int = 0

    @classmethod
    @asynccontextmanager
    async def start(cls) -> AsyncIterator[Self]:
        upstream = cls()
        upstream.going_on.set()
        await upstream.appear()
        try:
            yield upstream
        finally:
            await upstream.vanish()

    async def appear(self) -> None:
        """Listen, where it did before."""
        app = web.Application()
        app.router.add_get("/{path:.*}", self._answer)
        self._runner = web.AppRunner(app, access_log=None)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self._port, reuse_address=True).start()
        self._port = self._runner.addresses[0][1]
        self.url = f"http://127.0.0.1:{self._port}/{{z}}/{{x}}/{{y}}.png"

    async def vanish(self) -> None:
        """Refuse connections."""
        self.going_on.set()
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def _answer(self, request: web.Request) -> web.Response:
        self.asked.append((request.path, request.headers.copy()))
        self.was_asked.set()
        self.connections.add(request.transport)
        await self.going_on.wait()
        tag = self.headers.get("ETag")
        if tag is not None and request.headers.get("If-None-Match") == tag:
            return web.Response(status=304, headers=self.headers)
        return web.Response(status=self.status, body=self.body, headers=self.headers)
