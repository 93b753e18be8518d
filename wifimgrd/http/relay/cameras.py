"""`/cameras/{id}/...`, `/cameras/{id}:{port}/...`: HTTP and WebSocket to a camera, through its interface."""

from __future__ import annotations

import asyncio
import socket
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing, suppress
from typing import Final

import aiohttp
from aiohttp import web
from multidict import CIMultiDict

from wifimgrd.client.commands import known_device
from wifimgrd.client.hub import HubClient
from wifimgrd.domain.camera_model import GENERIC, HTTP_PORT, CameraModels
from wifimgrd.domain.errors import DeviceNotReachable, ErrorCode, InterfaceLost
from wifimgrd.domain.records import DeviceRecord
from wifimgrd.http._client import HttpBroken, HttpConnection
from wifimgrd.http._errors import NOT_FOUND, Problem
from wifimgrd.http._operations import Operation, Parameter
from wifimgrd.http._requests import invalid, path_id
from wifimgrd.http._routes import Routes
from wifimgrd.http.access.request_safety import own_site_only
from wifimgrd.http.relay._camera_socket import MESSAGE_BYTES, CameraSocket
from wifimgrd.http.relay._headers import from_camera, reason_of, to_camera
from wifimgrd.http.relay._references import CameraPage

AT_ONCE: Final = 16
"""Connections to one camera. Cameras serve only a few."""
CLOSE_S: Final = 2.0
"""The time within which each side of a WebSocket has to close."""
HEARTBEAT_S: Final = 30.0
"""The time after which a client of a WebSocket is asked whether it is still there."""
SEND_S: Final = 30.0
"""The time within which a camera has to take a message of a WebSocket."""
_SILENT_S: Final = 30
_PROBE_S: Final = 20
_PROBES: Final = 3
"""After so much silence, the kernel asks a camera so often whether it is still there: tcp(7)."""
_METHODS: Final = "GET HEAD POST PUT PATCH DELETE OPTIONS"
_REMAINDER: Final = Parameter("rest", str, "The path on the camera.", "path", required=True)
_PORT: Final = Parameter("port", int, "A port of the camera, of its model's list.", "path", required=True)
_ERRORS: Final = (
    ErrorCode.DEVICE_NOT_FOUND,
    ErrorCode.BUSY,
    ErrorCode.DEVICE_NOT_REACHABLE,
    ErrorCode.CONNECTION_LOST,
    ErrorCode.BACKEND_UNAVAILABLE,
)


class Cameras:
    """Forwards requests to cameras, and returns their answers."""

    def __init__(self, client: HubClient, models: CameraModels) -> None:
        self._client = client
        self._models = models
        self._busy: Counter[int] = Counter()

    def add_to(self, routes: Routes) -> None:
        """Add the routes."""
        routes.add(_METHODS, "/cameras/{id:[^{}/:]+}/{rest:.*}", self.relay)
        routes.add(_METHODS, "/cameras/{id:[^{}/:]+}:{port}/{rest:.*}", self.relay_to_port)

    @own_site_only
    @Operation(
        "relay",
        "cameras",
        reads=(path_id, _REMAINDER),
        media_types=("*/*",),
        errors=_ERRORS,
    )
    async def relay(self, request: web.Request) -> web.StreamResponse:
        """Forward a request to a camera: HTTP/1.1 and WebSocket, to its port 80 through its own interface.

        Status, headers and body are the camera's. 409 if it is not connected or has 16 connections already,
        504 if it does not answer.
        """
        number = path_id(request)
        device = known_device(self._client, number)
        return await self._relay(request, device, HTTP_PORT, f"/cameras/{request.match_info['id']}")

    @own_site_only
    @Operation(
        "relay_to_port",
        "cameras",
        reads=(path_id, _PORT, _REMAINDER),
        media_types=("*/*",),
        errors=(*_ERRORS, NOT_FOUND),
    )
    async def relay_to_port(self, request: web.Request) -> web.StreamResponse:
        """Forward a request to another port of a camera, if the camera's model has it.

        As for port 80. 404 for a port that is not in the `ports` of the model.
        """
        device = known_device(self._client, path_id(request))
        text = request.match_info["port"]
        ports = {str(port): port for port in self._models.get(device.codename, GENERIC).ports}
        if text not in ports:
            raise Problem(NOT_FOUND, f"camera {device.id} is only reached at port {' and '.join(ports)}")
        prefix = f"/cameras/{request.match_info['id']}:{text}"
        return await self._relay(request, device, ports[text], prefix)

    async def _relay(
        self, request: web.Request, device: DeviceRecord, port: int, prefix: str
    ) -> web.StreamResponse:
        number = device.id
        if not request.raw_path.startswith(f"{prefix}/"):
            raise invalid("a request to a camera names only its path, as in /cameras/1/")
        if device.state != "connected" or not device.interface or not device.camera_address:
            raise Problem(ErrorCode.DEVICE_NOT_REACHABLE, f"camera {number} is {device.state}", status=409)
        address = device.camera_address
        if not request.raw_path.isascii():
            raise invalid("a path may contain only ASCII characters; encode others as %XX")
        target = request.raw_path.removeprefix(prefix).partition("#")[0]
        page = CameraPage(address, prefix, request.raw_path.partition("?")[0], request.secure, port)
        headers = to_camera(request.headers, page.authority, number)
        async with self._place(number):
            try:
                # The daemon opens it, so it leads to no other host, and the shim needs no network of its own.
                opened = await self._client.open_connection(number, port)
                with closing(await HttpConnection.open(sock=opened)) as camera:
                    _end_with_its_camera(opened)
                    if request.headers.get("Upgrade", "").lower() == "websocket":
                        return await _relay_socket(request, camera, target, headers)
                    return await _relay_answer(request, camera, target, headers, page, number)
            except (DeviceNotReachable, InterfaceLost) as error:
                raise Problem(ErrorCode.DEVICE_NOT_REACHABLE, error.message) from None
            except TimeoutError:
                raise Problem(ErrorCode.DEVICE_NOT_REACHABLE, "the camera does not answer in time") from None
            except (HttpBroken, OSError) as error:
                raise Problem(
                    ErrorCode.CONNECTION_LOST, f"the camera closed the connection: {_reason(error)}"
                ) from None

    @asynccontextmanager
    async def _place(self, number: int) -> AsyncIterator[None]:
        if self._busy[number] >= AT_ONCE:
            raise Problem(ErrorCode.BUSY, f"camera {number} has {AT_ONCE} connections already")
        self._busy[number] += 1
        try:
            yield
        finally:
            self._busy[number] -= 1


async def _relay_answer(
    request: web.Request,
    camera: HttpConnection,
    target: str,
    headers: CIMultiDict[str],
    page: CameraPage,
    device_id: int,
) -> web.StreamResponse:
    body = request.content.iter_any() if request.body_exists else None
    headers["Connection"] = "close"
    answer = await camera.request(request.method, target, headers, body)
    response = web.StreamResponse(
        status=answer.status,
        reason=reason_of(answer.reason),
        headers=from_camera(answer.headers, page, device_id),
    )
    await response.prepare(request)
    try:
        async for chunk in camera.content():
            await response.write(chunk)
    except (HttpBroken, OSError):
        # The head is sent, so only a reset can show that the body is incomplete.
        if request.transport is not None:
            request.transport.abort()
        return response
    await response.write_eof()
    return response


async def _relay_socket(
    request: web.Request, connection: HttpConnection, target: str, headers: CIMultiDict[str]
) -> web.StreamResponse:
    offered = [
        name.strip() for name in request.headers.get("Sec-WebSocket-Protocol", "").split(",") if name.strip()
    ]
    camera = await CameraSocket.open(connection, target, headers, offered)
    chosen = (camera.protocol,) if camera.protocol else ()
    if request.transport is None:  # aiohttp 3.11 takes a client that has gone for a bug
        raise ConnectionResetError("the client has gone")
    client = web.WebSocketResponse(
        protocols=chosen, max_msg_size=MESSAGE_BYTES, compress=False, heartbeat=HEARTBEAT_S
    )
    await client.prepare(request)
    pumps = [
        asyncio.create_task(_from_camera(camera, client)),
        asyncio.create_task(_to_camera(client, camera)),
    ]
    try:
        await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for pump in pumps:
            pump.cancel()
        await asyncio.gather(*pumps, return_exceptions=True)
        await _close(client, camera.close_code)
        await _close(camera, client.close_code)
    return client


async def _from_camera(camera: CameraSocket, client: web.WebSocketResponse) -> None:
    async for message in camera.messages():
        if isinstance(message, str):
            await client.send_str(message)
        else:
            await client.send_bytes(message)


async def _to_camera(client: web.WebSocketResponse, camera: CameraSocket) -> None:
    async for message in client:
        if message.type in (aiohttp.WSMsgType.TEXT, aiohttp.WSMsgType.BINARY):
            async with asyncio.timeout(SEND_S):
                await camera.send(message.data)


def _end_with_its_camera(connection: socket.socket) -> None:
    """Have the connection end when its camera has gone: nothing may ever be sent to it."""
    if connection.family == socket.AF_UNIX:  # to a simulated camera
        return
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in (
        (socket.TCP_KEEPIDLE, _SILENT_S),
        (socket.TCP_KEEPINTVL, _PROBE_S),
        (socket.TCP_KEEPCNT, _PROBES),
    ):
        connection.setsockopt(socket.IPPROTO_TCP, option, value)


async def _close(side: CameraSocket | web.WebSocketResponse, code: int | None) -> None:
    """Close one side. The timeout is for all of it: that of aiohttp starts again with each message."""
    with suppress(TimeoutError, OSError):
        async with asyncio.timeout(CLOSE_S):
            await side.close(code=code or aiohttp.WSCloseCode.OK)


def _reason(error: Exception) -> str:
    return str(getattr(error, "strerror", None) or error or "it closed the connection")
