"""A few words with a camera through its interface: whether it answers, and that it stay awake."""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress
from typing import Final

import structlog

from wifimgrd.domain.camera_model import HTTP_PORT, KeepAlive, Probe
from wifimgrd.domain.errors import DeviceNotReachable, ServiceRefused, WifimgrdError
from wifimgrd.domain.socket_kind import SocketKind
from wifimgrd.ports import Answer, CameraSockets

_log = structlog.get_logger()

PATIENCE_S: Final = 3.0
"""A camera that takes longer is silent. A packet may be lost, and wifimgrd-net may have to be started."""
_REST_S: Final = 0.5
_MOST_READ: Final = 65_536
"""Octets of an answer that are taken before the connection is closed: cameras send a few hundred."""


class SocketContact:
    """A CameraContact over sockets."""

    def __init__(self, sockets: CameraSockets) -> None:
        self._sockets = sockets

    async def probe(self, interface: str, address: str, probe: Probe) -> Answer:
        """See CameraContact."""
        try:
            async with asyncio.timeout(PATIENCE_S):
                with await self._sockets.open(interface, address, probe.port, SocketKind.TCP) as one:
                    return await _answer(one, address, probe) if probe.path else Answer.ANSWERED
        except ServiceRefused:
            # Who refuses a connection is there; but what the model is known to serve is not.
            return Answer.SILENT if probe.path else Answer.ANSWERED
        except (DeviceNotReachable, OSError):  # TimeoutError is one
            return Answer.SILENT
        except WifimgrdError as error:
            _log.debug("cannot_ask", interface=interface, reason=error.message)
            return Answer.UNKNOWN

    async def keep_alive(self, interface: str, address: str, keep_alive: KeepAlive) -> None:
        """See CameraContact."""
        kind = SocketKind.TCP if keep_alive.path else SocketKind.UDP
        try:
            async with asyncio.timeout(PATIENCE_S):
                with await self._sockets.open(interface, address, keep_alive.port, kind) as one:
                    if keep_alive.path:
                        await _get(one, address, keep_alive.port, keep_alive.path)
                    else:
                        await asyncio.get_running_loop().sock_sendall(one, keep_alive.payload.encode())
        except (WifimgrdError, OSError) as error:
            _log.debug("keep_alive_failed", interface=interface, reason=str(error) or "no answer")


async def _answer(one: socket.socket, address: str, probe: Probe) -> Answer:
    said = await _get(one, address, probe.port, probe.path)
    return Answer.ANSWERED if said.startswith(b"HTTP/") else Answer.SILENT


async def _get(one: socket.socket, address: str, port: int, path: str) -> bytes:
    """How the answer to a GET begins (RFC 9112, 3 and 9.6)."""
    host = address if port == HTTP_PORT else f"{address}:{port}"
    loop = asyncio.get_running_loop()
    request = f"GET {path} HTTP/1.1\r\nHost: {host}\r\nAccept: */*\r\nConnection: close\r\n\r\n"
    await loop.sock_sendall(one, request.encode("ascii"))
    said = b""
    while b"\n" not in said and len(said) < _MOST_READ and (more := await loop.sock_recv(one, 4096)):
        said += more
    with suppress(OSError):  # the rest is taken for politeness
        async with asyncio.timeout(_REST_S):
            rest = 0
            while rest < _MOST_READ and (more := await loop.sock_recv(one, 4096)):
                rest += len(more)
    return said
