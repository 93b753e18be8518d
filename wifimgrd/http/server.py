"""Serves the application on its sockets, and stops in the right order."""

from __future__ import annotations

import asyncio
import errno
import os
import socket
import ssl
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from aiohttp import web

from wifimgrd.http.app import FAST_PATH, FAST_RANGES
from wifimgrd.http.connection_limits import ConnectionLimits
from wifimgrd.http.protocol import Connection
from wifimgrd.web_address import page_address

STOP_S: Final = 3.0
"""The time for running requests to end by themselves at a stop."""
HANDSHAKE_S: Final = 10.0
"""The time limit of a TLS handshake."""
_NO_SUCH_ADDRESS: Final = (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)
"""Errors of an address family that this host does not use."""
_FIRST_PASSED_FD: Final = 3
"""SD_LISTEN_FDS_START of sd_listen_fds(3)."""


class Server:
    """The application, serving on some sockets."""

    def __init__(
        self,
        app: web.Application,
        tls: ssl.SSLContext | None = None,
        limits: ConnectionLimits | None = None,
    ) -> None:
        """`tls`: serve HTTPS, not HTTP."""
        self._limits = ConnectionLimits() if limits is None else limits
        self._tls = tls
        self._runner = web.AppRunner(app, access_log=None)
        self._listeners: list[asyncio.Server] = []

    @property
    def addresses(self) -> list[str]:
        """The URLs at which it is served."""
        names = [one.getsockname() for listener in self._listeners for one in listener.sockets]
        return [_url(name, "http" if self._tls is None else "https") for name in names]

    async def start(self, sockets: Sequence[socket.socket]) -> None:
        """Start the parts of the application, then serve on sockets that are bound."""
        await self._runner.setup()
        server = self._runner.server
        if server is None:
            raise RuntimeError("the runner has no server after its set-up")
        loop = asyncio.get_running_loop()

        fast = self._runner.app.get(FAST_PATH)
        ranges = self._runner.app.get(FAST_RANGES)

        kind: Callable[..., Connection] = Connection
        if fast is not None or ranges is not None:
            from wifimgrd.http.tiles.connection import TileConnection  # noqa: PLC0415

            kind = partial(TileConnection, fast, ranges)

        def connection() -> web.RequestHandler:
            return kind(server, self._limits, loop=loop, access_log=None)

        for one in sockets:
            self._listeners.append(
                await loop.create_server(
                    connection,
                    sock=one,
                    ssl=self._tls,
                    ssl_handshake_timeout=None if self._tls is None else HANDSHAKE_S,
                    ssl_shutdown_timeout=None if self._tls is None else STOP_S,
                )
            )

    async def stop(self) -> None:
        """Accept no more requests, disconnect the channels, wait for the others, and clean up."""
        for listener in self._listeners:
            listener.close()
        await self._runner.shutdown()
        if self._runner.server is not None:
            await self._runner.server.shutdown(STOP_S)
        await self._runner.cleanup()


def bind(host: str, port: int) -> list[socket.socket]:
    """Sockets for each address that `host` has here, all on the same port if any port is allowed."""
    bound: list[socket.socket] = []
    failure: OSError | None = None
    for family, kind, proto, _, address in socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    ):
        chosen = bound[0].getsockname()[1] if bound and not port else port
        try:
            bound.append(_bind_one(socket.socket(family, kind, proto), (address[0], chosen, *address[2:])))
        except OSError as error:
            failure = error
            if error.errno not in _NO_SUCH_ADDRESS:
                break
    if failure is not None and (not bound or failure.errno not in _NO_SUCH_ADDRESS):
        for one in bound:
            one.close()
        raise failure
    return bound


def _bind_one(one: socket.socket, address: tuple[object, ...]) -> socket.socket:
    try:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if one.family == socket.AF_INET6:
            one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        one.bind(address)
    except OSError:
        one.close()
        raise
    return one


def passed_sockets() -> list[socket.socket]:
    """Sockets that systemd has bound for the shim, by sd_listen_fds(3); none if it has not."""
    if os.environ.get("LISTEN_PID") != str(os.getpid()):
        return []
    count = int(os.environ.get("LISTEN_FDS", "0"))
    return [socket.socket(fileno=fd) for fd in range(_FIRST_PASSED_FD, _FIRST_PASSED_FD + count)]


def _url(name: object, scheme: str) -> str:
    if not isinstance(name, tuple):
        return f"unix:{name}"
    host, port = name[:2]
    return page_address(scheme, host, port)
