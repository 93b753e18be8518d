"""Serves the application on its sockets, and stops in the right order."""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import socket
import ssl
from asyncio.sslproto import SSLProtocol
from collections.abc import Sequence
from functools import partial
from typing import Any, Final

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from wifimgrd.http.front.connection import FrontConnection
from wifimgrd.http.front.connection_limits import ConnectionLimits
from wifimgrd.http.front.door import AnswerLog, FrontDoor
from wifimgrd.http.front.framing import PIECE_BYTES
from wifimgrd.web_address import page_address

_NO_SUCH_ADDRESS: Final = (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)
"""Errors of an address family that this host does not use."""
STOP_S: Final = 3.0
"""The time for running requests to end by themselves at a stop."""
_NEVER_S: Final = 1e9
"""The front's timeouts hold: those of aiohttp differ between its versions."""
_FIRST_PASSED_FD: Final = 3
"""SD_LISTEN_FDS_START of sd_listen_fds(3)."""
SHORT_WAYS: Final[Any] = web.AppKey("short_ways", object) if hasattr(web, "AppKey") else "short_ways"
"""The key of what makes the short way of a connection to tiles and parts of archives, if there is one."""


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
        SSLProtocol.max_size = PIECE_BYTES  # of the buffer that each connection has for what is not decrypted
        logging.getLogger("aiohttp.server").addFilter(_is_ours)
        self._runner = web.AppRunner(
            app,
            access_log_class=AnswerLog,
            access_log=logging.getLogger(__name__),  # without one it makes no AnswerLog
            keepalive_timeout=_NEVER_S,
            lingering_time=0,
            auto_decompress=False,
        )
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
        door = FrontDoor(server, self._limits, self._tls, self._runner.app.get(SHORT_WAYS))
        loop = asyncio.get_running_loop()
        for one in sockets:
            self._listeners.append(await loop.create_server(partial(FrontConnection, door), sock=one))

    async def stop(self) -> None:
        """Accept no more requests, disconnect the channels, wait for the others, and clean up."""
        for listener in self._listeners:
            listener.close()
        await self._runner.shutdown()
        if self._runner.server is not None:
            await self._runner.server.shutdown(STOP_S / 2)  # newer versions of aiohttp wait twice
        self._limits.close_all()
        await self._runner.cleanup()


def _is_ours(record: logging.LogRecord) -> bool:
    """Whether a line of aiohttp's log is about more than a request that it cannot parse, and answers."""
    return not record.exc_info or not isinstance(record.exc_info[1], HttpProcessingError)


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
