"""Connect, disconnect and connection status of a device."""

from __future__ import annotations

from contextlib import suppress
from typing import Final

from aiohttp import web

from wifimgrd.dbus.client.hub import HubClient
from wifimgrd.dbus.client.json_records import status_json
from wifimgrd.dbus.client.json_types import StatusJson
from wifimgrd.domain.errors import ErrorCode
from wifimgrd.http.body_types import ConnectAnswer, DisconnectAnswer
from wifimgrd.http.description.operations import operation
from wifimgrd.http.json_text import json_response
from wifimgrd.http.live import device_of, live
from wifimgrd.http.request_safety import own_site_only
from wifimgrd.http.requests import query_id, query_wait
from wifimgrd.http.routes import Routes

_OF_ALL: Final = (ErrorCode.DEVICE_NOT_FOUND, ErrorCode.BACKEND_UNAVAILABLE)
_OF_CONNECT: Final = (
    *_OF_ALL,
    ErrorCode.NO_INTERFACE_AVAILABLE,
    ErrorCode.BUSY,
    ErrorCode.CANCELLED,
    ErrorCode.AUTHENTICATION_FAILED,
    ErrorCode.ASSOCIATION_REFUSED,
    ErrorCode.INTERFACE_LOST,
    ErrorCode.CONNECTION_LOST,
    ErrorCode.DEVICE_NOT_REACHABLE,
    ErrorCode.ADDRESS_FAILED,
)


class Connection:
    """The resource at `P/wifi/`."""

    def __init__(self, client: HubClient, prefix: str) -> None:
        self._client = client
        self._prefix = prefix

    def add_to(self, routes: Routes) -> None:
        """Wire the addresses; GET that changes state has no HEAD."""
        routes.add("GET POST", self._prefix + "/wifi/connect", self.connect)
        routes.add("GET POST", self._prefix + "/wifi/disconnect", self.disconnect)
        routes.add("GET HEAD", self._prefix + "/wifi/status", self.status)

    @own_site_only
    @operation(
        "connect", "connection", reads=(query_id, query_wait), answer=ConnectAnswer, errors=_OF_CONNECT
    )
    async def connect(self, request: web.Request) -> web.Response:
        """Connect a device.

        Answers once an interface is assigned and the attempt runs; with `wait`, when the attempt has
        ended, as success or as the error that says why. Connecting a connected device changes nothing.
        """
        client = live(self._client)
        device_id, wait_s = query_id(request), query_wait(request)
        known = device_of(client, device_id)
        ended = False
        if wait_s > 0:
            with suppress(TimeoutError):
                await client.connect_device(device_id, wait=True, timeout_s=wait_s)
                ended = True
        else:
            await client.connect_device(device_id)
        device = device_of(client, device_id)
        connected = ended or device.state == "connected"
        message = f"{known.name} is connected" if connected else f"connecting {known.name}"
        answer: ConnectAnswer = {
            "message": message,
            "status": "connected" if connected else "connecting",
            "device_connection_id": device_id,
            "interface": device.interface,
        }
        return json_response(answer)

    @own_site_only
    @operation(
        "disconnect",
        "connection",
        reads=(query_id,),
        answer=DisconnectAnswer,
        errors=(*_OF_ALL, ErrorCode.BUSY),
    )
    async def disconnect(self, request: web.Request) -> web.Response:
        """Disconnect a device.

        Answers when that is done, or takes too long. Disconnecting a disconnected device changes nothing.
        """
        client = live(self._client)
        device_id = query_id(request)
        known = device_of(client, device_id)
        done = True
        try:
            await client.disconnect_device(device_id)
        except TimeoutError:
            done = False
        answer: DisconnectAnswer = {
            "message": f"{known.name} is disconnected" if done else f"disconnecting {known.name}",
            "status": "disconnected" if done else "disconnecting",
            "device_connection_id": device_id,
        }
        return json_response(answer)

    @operation("connection_status", "connection", reads=(query_id,), answer=StatusJson, errors=_OF_ALL)
    async def status(self, request: web.Request) -> web.Response:
        """Where a device's connection stands."""
        client = live(self._client)
        return json_response(status_json(device_of(client, query_id(request))))
