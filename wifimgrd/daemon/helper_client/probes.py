"""Send liveness probes and keep-alive messages to a camera through its interface."""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress
from typing import Final

import structlog

from wifimgrd.daemon.ports import Answer, CameraSockets
from wifimgrd.domain.addresses import SocketKind
from wifimgrd.domain.camera_model import HTTP_PORT, KeepAlive, Probe
from wifimgrd.domain.device import DeviceId
from wifimgrd.domain.errors import DeviceNotReachable, ServiceRefused, WifimgrdError
from wifimgrd.runtime.http_answers import NotHttp, begin_of_answer

_log = structlog.get_logger()

PATIENCE_S: Final = 3.0
"""A camera that takes longer is silent. Long enough for a lost packet, and for the start of wifimgrd-net."""
_REST_S: Final = 0.5
_MOST_READ: Final = 65_536
"""Bytes of an answer that are read before the connection is closed: cameras send a few hundred."""


WAKE_ON_LAN_PORT: Final = 9


class SocketProbes:
    """A CameraContact over sockets."""

    def __init__(self, sockets: CameraSockets) -> None:
        self._sockets = sockets

    async def probe(self, device_id: DeviceId, interface: str, address: str, probe: Probe) -> Answer:
        """See CameraContact."""
        try:
            async with asyncio.timeout(PATIENCE_S):
                with await self._sockets.open(
                    device_id, interface, address, probe.port, SocketKind.TCP
                ) as one:
                    return await _answer(one, address, probe) if probe.path else Answer.ANSWERED
        except ServiceRefused:
            # A host that refuses a connection is there, but not the HTTP service that the model has.
            return Answer.SILENT if probe.path else Answer.ANSWERED
        except (DeviceNotReachable, OSError):  # TimeoutError is one
            return Answer.SILENT
        except WifimgrdError as error:
            _log.debug("probe_not_possible", interface=interface, reason=error.message)
            return Answer.UNKNOWN

    async def keep_alive(
        self, device_id: DeviceId, interface: str, address: str, keep_alive: KeepAlive
    ) -> None:
        """See CameraContact."""
        kind = SocketKind.TCP if keep_alive.path else SocketKind.UDP
        try:
            async with asyncio.timeout(PATIENCE_S):
                with await self._sockets.open(device_id, interface, address, keep_alive.port, kind) as one:
                    if keep_alive.path:
                        await _get(one, address, keep_alive.port, keep_alive.path)
                    else:
                        await asyncio.get_running_loop().sock_sendall(one, keep_alive.payload.encode())
        except (WifimgrdError, OSError) as error:
            _log.debug("keep_alive_failed", interface=interface, reason=str(error) or "no answer")

    async def wake_on_lan(self, device_id: DeviceId, interface: str, address: str, mac: str) -> None:
        """See CameraContact."""
        # Six times 255, then sixteen times the address; port 9 is that of discard.
        packet = b"\xff" * 6 + bytes.fromhex(mac.replace(":", "")) * 16
        try:
            async with asyncio.timeout(PATIENCE_S):
                with await self._sockets.open(
                    device_id, interface, address, WAKE_ON_LAN_PORT, SocketKind.UDP
                ) as one:
                    await asyncio.get_running_loop().sock_sendall(one, packet)
        except (WifimgrdError, OSError) as error:
            _log.debug("wake_on_lan_failed", interface=interface, reason=str(error) or "no answer")


async def _answer(one: socket.socket, address: str, probe: Probe) -> Answer:
    is_answered = await _get(one, address, probe.port, probe.path)
    return Answer.ANSWERED if is_answered else Answer.SILENT


async def _get(one: socket.socket, address: str, port: int, path: str) -> bool:
    """Whether a GET request is answered by HTTP (RFC 9112, 3 and 9.6)."""
    host = address if port == HTTP_PORT else f"{address}:{port}"
    loop = asyncio.get_running_loop()
    request = f"GET {path} HTTP/1.1\r\nHost: {host}\r\nAccept: */*\r\nConnection: close\r\n\r\n"
    await loop.sock_sendall(one, request.encode("ascii"))
    answer, begin = b"", None
    with suppress(NotHttp):
        while begin is None and (more := await loop.sock_recv(one, 4096)):
            answer += more
            begin = begin_of_answer(answer)
    with suppress(OSError):  # the rest is read, so that closing does not reset the connection
        async with asyncio.timeout(_REST_S):
            rest = 0
            while rest < _MOST_READ and (more := await loop.sock_recv(one, 4096)):
                rest += len(more)
    return begin is not None
