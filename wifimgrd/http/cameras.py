"""`/cameras/{id}/...`: a way in by HTTP and WebSocket to each camera, through its own interface."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import aiohttp
from aiohttp import web
from yarl import URL

from wifimgrd.dbus.client.hub import HubClient
from wifimgrd.domain.errors import DeviceNotReachable, ErrorCode, InterfaceLost
from wifimgrd.http.camera_headers import from_camera, to_camera
from wifimgrd.http.camera_link import CameraConnector
from wifimgrd.http.description.operations import Parameter, operation
from wifimgrd.http.live import device_of
from wifimgrd.http.problems import Problem
from wifimgrd.http.request_safety import own_site_only
from wifimgrd.http.requests import invalid, path_id
from wifimgrd.http.routes import Routes

AT_ONCE: Final = 16
"""Connections to one camera; they are small machines."""
SILENCE_S: Final = 60.0
"""A camera that sends nothing for so long, in the middle of an answer or before it, is given up."""
MESSAGE_BYTES: Final = 4 * 2**20
_METHODS: Final = "GET HEAD POST PUT PATCH DELETE OPTIONS"
_REST: Final = Parameter("rest", "path", "What the camera is asked for.", str, required=True)


class Cameras:
    """Passes requests on to cameras, and their answers back."""

    def __init__(self, client: HubClient, *, with_token: bool) -> None:
        """`with_token`: who asks shows a token of ours, which is none of the camera's business."""
        self._client = client
        self._with_token = with_token
        self._busy: Counter[int] = Counter()

    def add_to(self, routes: Routes) -> None:
        """Wire the addresses."""
        routes.add(_METHODS, "/cameras/{id}/{rest:.*}", self.relay)

    @own_site_only
    @operation(
        "relay",
        "cameras",
        reads=(path_id, _REST),
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
        """Ask a camera itself: HTTP/1.1 and WebSocket, to its port 80 through its own interface.

        Status, headers and body are the camera's. 409 where it is not connected or has 16 connections
        already, 504 where it does not answer.
        """
        number = path_id(request)
        device = device_of(self._client, number)
        prefix = f"/cameras/{request.match_info['id']}"
        if not request.raw_path.startswith(f"{prefix}/"):
            raise invalid("a request for a camera names its path alone, as in /cameras/1/")
        if device.state != "connected" or not device.interface or not device.camera_address:
            raise Problem(ErrorCode.DEVICE_NOT_REACHABLE, f"device {number} is {device.state}", status=409)
        address = device.camera_address
        target = URL(f"http://{address}{request.raw_path.removeprefix(prefix)}", encoded=True)
        async with self._place(number), _session(self._client, number) as session:
            try:
                if request.headers.get("Upgrade", "").lower() == "websocket":
                    return await self._relay_socket(request, session, target, address)
                return await self._relay_answer(request, session, target, address, prefix)
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
        self, request: web.Request, session: aiohttp.ClientSession, target: URL, address: str, prefix: str
    ) -> web.StreamResponse:
        headers = to_camera(request.headers, address, with_token=self._with_token)
        body = request.content.iter_any() if request.body_exists else None
        async with session.request(
            request.method, target, headers=headers, data=body, allow_redirects=False
        ) as answer:
            response = web.StreamResponse(
                status=answer.status,
                reason=answer.reason,
                headers=from_camera(answer.headers, address, prefix),
            )
            await response.prepare(request)
            try:
                async for chunk in answer.content.iter_any():
                    await response.write(chunk)
            except (aiohttp.ClientError, TimeoutError):
                # The answer has begun: that it is not whole can be said by breaking off alone.
                if request.transport is not None:
                    request.transport.abort()
                return response
            await response.write_eof()
            return response

    async def _relay_socket(
        self, request: web.Request, session: aiohttp.ClientSession, target: URL, address: str
    ) -> web.StreamResponse:
        offered = [
            name.strip()
            for name in request.headers.get("Sec-WebSocket-Protocol", "").split(",")
            if name.strip()
        ]
        headers = to_camera(request.headers, address, with_token=self._with_token)
        async with session.ws_connect(
            target, headers=headers, protocols=offered, max_msg_size=MESSAGE_BYTES, compress=0
        ) as camera:
            chosen = (camera.protocol,) if camera.protocol else ()
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
                await client.close(code=camera.close_code or aiohttp.WSCloseCode.OK)
                await camera.close(code=client.close_code or aiohttp.WSCloseCode.OK)
            return client


Socket = aiohttp.ClientWebSocketResponse | web.WebSocketResponse


async def _pump(source: Socket, sink: Socket) -> None:
    async for message in source:
        if message.type is aiohttp.WSMsgType.TEXT:
            await sink.send_str(message.data)
        elif message.type is aiohttp.WSMsgType.BINARY:
            await sink.send_bytes(message.data)


def _session(client: HubClient, device_id: int) -> aiohttp.ClientSession:
    """For one request: nothing is kept of it, neither connection nor cookie."""
    return aiohttp.ClientSession(
        connector=CameraConnector(client, device_id),
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
        skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding", "Content-Type"),
        timeout=aiohttp.ClientTimeout(total=None, sock_read=SILENCE_S),
    )


def _reason(error: Exception) -> str:
    inner = getattr(error, "os_error", None)
    return str(getattr(inner, "strerror", None) or error or "no answer in time")
