"""`/cameras/{id}/...`: HTTP and WebSocket to each camera, through its own interface."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Final

import aiohttp
from aiohttp import web
from yarl import URL

from wifimgrd.dbus.client.hub import HubClient
from wifimgrd.domain.errors import DeviceNotReachable, ErrorCode, InterfaceLost
from wifimgrd.http.access.request_safety import own_site_only
from wifimgrd.http.api.requests import invalid, known_device, path_id
from wifimgrd.http.description.operations import Parameter, operation
from wifimgrd.http.errors import Problem
from wifimgrd.http.head_limits import PlainResponse, is_within_limits
from wifimgrd.http.relay.headers import from_camera, reason_of, to_camera
from wifimgrd.http.relay.link import CameraConnector
from wifimgrd.http.relay.references import CameraPage
from wifimgrd.http.routes import Routes

AT_ONCE: Final = 16
"""Connections to one camera. Cameras serve only a few."""
SILENCE_S: Final = 60.0
"""The longest time without data from a camera, before or within an answer."""
CLOSE_S: Final = 2.0
"""The time within which each side of a WebSocket has to close."""
MESSAGE_BYTES: Final = 4 * 2**20
_METHODS: Final = "GET HEAD POST PUT PATCH DELETE OPTIONS"
_REMAINDER: Final = Parameter("rest", "path", "The path on the camera.", str, required=True)


class Cameras:
    """Forwards requests to cameras, and returns their answers."""

    def __init__(self, client: HubClient) -> None:
        self._client = client
        self._busy: Counter[int] = Counter()

    def add_to(self, routes: Routes) -> None:
        """Add the routes."""
        routes.add(_METHODS, "/cameras/{id}/{rest:.*}", self.relay)

    @own_site_only
    @operation(
        "relay",
        "cameras",
        reads=(path_id, _REMAINDER),
        media_types=("*/*",),
        errors=(
            ErrorCode.DEVICE_NOT_FOUND,
            ErrorCode.BUSY,
            ErrorCode.DEVICE_NOT_REACHABLE,
            ErrorCode.CONNECTION_LOST,
            ErrorCode.BACKEND_UNAVAILABLE,
        ),
    )
    async def relay(self, request: web.Request) -> web.StreamResponse:
        """Forward a request to a camera: HTTP/1.1 and WebSocket, to its port 80 through its own interface.

        Status, headers and body are the camera's. 409 if it is not connected or has 16 connections already,
        504 if it does not answer.
        """
        number = path_id(request)
        device = known_device(self._client, number)
        prefix = f"/cameras/{request.match_info['id']}"
        if not request.raw_path.startswith(f"{prefix}/"):
            raise invalid("a request for a camera names its path alone, as in /cameras/1/")
        if device.state != "connected" or not device.interface or not device.camera_address:
            raise Problem(ErrorCode.DEVICE_NOT_REACHABLE, f"device {number} is {device.state}", status=409)
        address = device.camera_address
        if not request.raw_path.isascii():
            raise invalid("a path has ASCII characters alone, others as %XX")
        target = URL(f"http://{address}{request.raw_path.removeprefix(prefix)}", encoded=True)
        page = CameraPage(address, prefix, request.raw_path.partition("?")[0], request.secure)
        async with self._place(number), _session(self._client, number) as session:
            try:
                if request.headers.get("Upgrade", "").lower() == "websocket":
                    return await self._relay_socket(request, session, target, number)
                return await self._relay_answer(request, session, target, page, number)
            except (DeviceNotReachable, InterfaceLost) as error:
                raise Problem(ErrorCode.DEVICE_NOT_REACHABLE, error.message) from None
            except (aiohttp.ClientConnectorError, TimeoutError) as error:
                raise Problem(
                    ErrorCode.DEVICE_NOT_REACHABLE, f"the camera does not answer: {_reason(error)}"
                ) from None
            except aiohttp.ClientError as error:
                raise Problem(ErrorCode.CONNECTION_LOST, f"the camera broke off: {_reason(error)}") from None

    @asynccontextmanager
    async def _place(self, number: int) -> AsyncIterator[None]:
        if self._busy[number] >= AT_ONCE:
            raise Problem(ErrorCode.BUSY, f"device {number} has {AT_ONCE} connections already")
        self._busy[number] += 1
        try:
            yield
        finally:
            self._busy[number] -= 1

    async def _relay_answer(
        self,
        request: web.Request,
        session: aiohttp.ClientSession,
        target: URL,
        page: CameraPage,
        device_id: int,
    ) -> web.StreamResponse:
        headers = to_camera(request.headers, page.camera, device_id)
        body = request.content.iter_any() if request.body_exists else None
        async with session.request(
            request.method, target, headers=headers, data=body, allow_redirects=False
        ) as answer:
            if not is_within_limits(f"HTTP/1.1 {answer.status} {answer.reason}", answer.raw_headers):
                raise Problem(ErrorCode.CONNECTION_LOST, "the camera's answer has too large a head")
            if answer.status < 200:
                raise Problem(ErrorCode.CONNECTION_LOST, "the camera changed the protocol without a request")
            response = web.StreamResponse(
                status=answer.status,
                reason=reason_of(answer.reason),
                headers=from_camera(answer.headers, page, device_id),
            )
            await response.prepare(request)
            try:
                async for chunk in answer.content.iter_any():
                    await response.write(chunk)
            except (aiohttp.ClientError, TimeoutError):
                # The head is sent, so only a reset can show that the body is incomplete.
                if request.transport is not None:
                    request.transport.abort()
                return response
            await response.write_eof()
            return response

    async def _relay_socket(
        self, request: web.Request, session: aiohttp.ClientSession, target: URL, device_id: int
    ) -> web.StreamResponse:
        offered = [
            name.strip()
            for name in request.headers.get("Sec-WebSocket-Protocol", "").split(",")
            if name.strip()
        ]
        headers = to_camera(request.headers, target.host or "", device_id)
        async with session.ws_connect(
            target, headers=headers, protocols=offered, max_msg_size=MESSAGE_BYTES, compress=0
        ) as camera:
            chosen = (camera.protocol,) if camera.protocol else ()
            if request.transport is None:  # aiohttp 3.11 takes a client that has gone for a bug
                raise ConnectionResetError("the client has gone")
            client = web.WebSocketResponse(protocols=chosen, max_msg_size=MESSAGE_BYTES, compress=False)
            await client.prepare(request)
            pumps = [
                asyncio.create_task(_pump(camera, client)),
                asyncio.create_task(_pump(client, camera)),
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


Socket = aiohttp.ClientWebSocketResponse | web.WebSocketResponse


async def _pump(source: Socket, sink: Socket) -> None:
    async for message in source:
        if message.type is aiohttp.WSMsgType.TEXT:
            await sink.send_str(message.data)
        elif message.type is aiohttp.WSMsgType.BINARY:
            await sink.send_bytes(message.data)


async def _close(socket: Socket, code: int | None) -> None:
    """Close one side. The timeout is for all of it: that of aiohttp starts again with each message."""
    with suppress(TimeoutError):
        async with asyncio.timeout(CLOSE_S):
            await socket.close(code=code or aiohttp.WSCloseCode.OK)


def _session(client: HubClient, device_id: int) -> aiohttp.ClientSession:
    """A session for one request: it keeps neither connection nor cookies."""
    return aiohttp.ClientSession(
        connector=CameraConnector(client, device_id),
        cookie_jar=aiohttp.DummyCookieJar(),
        response_class=PlainResponse,
        auto_decompress=False,
        skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding", "Content-Type"),
        timeout=aiohttp.ClientTimeout(total=None, sock_read=SILENCE_S),
    )


def _reason(error: Exception) -> str:
    inner = getattr(error, "os_error", None)
    return str(getattr(inner, "strerror", None) or error or "no answer in time")
