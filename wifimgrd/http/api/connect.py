"""Connect, disconnect and connection status of a device."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import Final

from aiohttp import web

from wifimgrd.dbus.client.hub import HubClient
from wifimgrd.dbus.client.json_members import StatusJson
from wifimgrd.dbus.client.json_records import status_json
from wifimgrd.domain.errors import ErrorCode
from wifimgrd.domain.records import DeviceRecord
from wifimgrd.http.access.request_safety import own_site_only
from wifimgrd.http.api.answer_first import CommandEvents, answer_first
from wifimgrd.http.api.body_types import ConnectAnswer, DisconnectAnswer, WaitingAnswer
from wifimgrd.http.api.requests import available, known_device, query_id, query_wait, query_when_free
from wifimgrd.http.description.operations import operation
from wifimgrd.http.json_text import json_response
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


class Connect:
    """The resource at `P/wifi/`."""

    def __init__(self, client: HubClient, prefix: str, events: CommandEvents) -> None:
        self._client = client
        self._events = events
        self._prefix = prefix

    def add_to(self, routes: Routes) -> None:
        """Add the routes; a GET that changes state has no HEAD."""
        routes.add("GET POST", self._prefix + "/wifi/connect", self.connect)
        routes.add("GET POST", self._prefix + "/wifi/disconnect", self.disconnect)
        routes.add("GET HEAD", self._prefix + "/wifi/status", self.status)

    @own_site_only
    @operation(
        "connect",
        "connection",
        reads=(query_id, query_wait, query_when_free),
        answer=ConnectAnswer,
        further={202: "With `when_free`: no adapter is free, and the device waits for one."},
        further_types={202: WaitingAnswer},
        errors=_OF_CONNECT,
    )
    async def connect(self, request: web.Request) -> web.StreamResponse:
        """Connect a device.

        Answers when an interface is assigned and the attempt runs; with `wait`, when the attempt has
        ended, with success or with an error. Connecting a connected device changes nothing.
        The events of a failure on the channel follow the answer.
        With `when_free` a device for which no adapter is free waits for one, and is connected then: 202, with
        `status` `waiting`; `wait` is the limit for both.
        """
        client = available(self._client)
        device_id, wait_s, when_free = query_id(request), query_wait(request), query_when_free(request)
        known = known_device(client, device_id)
        connect = partial(self._connect, known=known, wait_s=wait_s, when_free=when_free)
        return await answer_first(request, self._events, device_id, connect, when_free=when_free)

    async def _connect(
        self, _: web.Request, known: DeviceRecord, wait_s: float, when_free: bool
    ) -> web.Response:
        client, device_id = self._client, known.id
        ended = False
        if wait_s > 0:
            with suppress(TimeoutError):
                await client.connect_device(device_id, wait=True, timeout_s=wait_s, when_free=when_free)
                ended = True
        else:
            await client.connect_device(device_id, when_free=when_free)
        device = known_device(client, device_id)
        if when_free and not ended and device.state == "disconnected" and device.waiting_since is not None:
            waiting: WaitingAnswer = {
                "message": f"{known.name} waits for an adapter",
                "status": "waiting",
                "device_connection_id": device_id,
            }
            return json_response(waiting, status=202)
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
        client = available(self._client)
        device_id = query_id(request)
        known = known_device(client, device_id)
        self._events.command_begins(device_id)
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
        """The state of a device's connection."""
        client = available(self._client)
        return json_response(status_json(known_device(client, query_id(request))))
