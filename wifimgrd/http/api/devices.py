"""Devices: create, list, one, change, remove."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from aiohttp import web

from wifimgrd.client.commands import available, known_device, registered_value
from wifimgrd.client.hub import HubClient
from wifimgrd.client.json_members import DeviceJson
from wifimgrd.client.json_records import device_json
from wifimgrd.domain.errors import ErrorCode, InvalidRequest
from wifimgrd.http._errors import (
    PATCH_TYPES,
    PAYLOAD_TOO_LARGE,
    UNSUPPORTED_MEDIA_TYPE,
    shows_problems_in_form,
)
from wifimgrd.http._json_text import json_response
from wifimgrd.http._operations import Operation, Parameter
from wifimgrd.http._requests import (
    SwitchText,
    idempotency_key,
    invalid,
    json_body,
    merge_patch,
    path_id,
    query_switch,
)
from wifimgrd.http._routes import Routes
from wifimgrd.http.access.request_safety import own_site_only
from wifimgrd.http.api.body_types import ChangeInput, CreateInput
from wifimgrd.http.platform.answer_first import CommandEvents, answer_first

_OF_ONE: Final = (ErrorCode.DEVICE_NOT_FOUND, ErrorCode.BACKEND_UNAVAILABLE)
"""Errors of a request for one device."""
_OF_BOTH: Final = ("codename", "name", "auto_reconnect", "priority", "auto_wake", "pin")
_OF_UPDATE: Final = _OF_BOTH
_OF_CREATE: Final = ("connection_type", *_OF_BOTH, "connect", "when_free")
_OF_SETTINGS: Final = ("ssid", "password")
_ADDRESS: Final = "bluetooth_address"
_NO_OBJECT: Final = "The body must be a JSON object."
_NO_SETTINGS: Final = "connection_settings must be an object with ssid and password."


@Parameter("history", SwitchText, "`1`: also delete its history.")
def query_history(request: web.Request) -> bool:
    """The query parameter `history`; False if it is not given."""
    return query_switch(request, "history")


class Devices:
    """The resource at `P/` and `P/{id}/`."""

    def __init__(self, client: HubClient, prefix: str, events: CommandEvents) -> None:
        self._client = client
        self._events = events
        self._prefix = prefix

    def add_to(self, routes: Routes) -> None:
        """Add the routes; ids are digits, and any other path segment is a resource of its own."""
        one = self._prefix + r"/{id:-?[0-9]+}/"
        routes.add("GET HEAD", self._prefix + "/", self.list)
        routes.add("POST", self._prefix + "/", self.create)
        routes.add("GET HEAD", one, self.one)
        routes.add("PATCH", one, self.update)
        routes.add("DELETE", one, self.remove)

    @Operation("list_devices", "devices", answer=list[DeviceJson], errors=(ErrorCode.BACKEND_UNAVAILABLE,))
    async def list(self, _: web.Request) -> web.Response:
        """Every device, in order of id."""
        return json_response([device_json(device) for device in available(self._client).devices.values()])

    @Operation("get_device", "devices", reads=(path_id,), answer=DeviceJson, errors=_OF_ONE)
    async def one(self, request: web.Request) -> web.Response:
        """One device."""
        available(self._client)
        return json_response(device_json(known_device(self._client, path_id(request))))

    @own_site_only
    @shows_problems_in_form
    @Operation(
        "create_device",
        "devices",
        reads=(idempotency_key,),
        body=CreateInput,
        status=201,
        answer=DeviceJson,
        headers={"Location": "The device's address."},
        next=("get_device", "update_device", "connect", "connection_status", "disconnect", "remove_device"),
        errors=(
            *(ErrorCode.DEVICE_NOT_FOUND, PAYLOAD_TOO_LARGE, ErrorCode.IDEMPOTENCY_KEY_REUSED),
            *(ErrorCode.BACKEND_UNAVAILABLE, ErrorCode.BUSY),
            *(ErrorCode.PAIRING_FAILED, ErrorCode.BLUETOOTH_UNAVAILABLE),
        ),
    )
    async def create(self, request: web.Request) -> web.StreamResponse:
        """Register a camera.

        Its first connection starts at once, unless the configuration says otherwise. With `bluetooth_address`
        in `connection_settings` the camera is paired first, which takes up to 60 s, and `codename` may be
        missing.
        """
        return await answer_first(request, self._events, None, self._create)

    async def _create(self, request: web.Request) -> web.Response:
        client = available(self._client)
        key = idempotency_key(request)
        body = await json_body(request)
        properties = _properties(body, _OF_CREATE)
        if key is not None:
            properties["idempotency_key"] = key
        try:
            device_id = await client.create_device(properties)
        except InvalidRequest as error:
            raise _about_its_shape(error, body) from None
        location = f"{self._prefix}/{device_id}/"
        return json_response(
            device_json(known_device(client, device_id)), status=201, headers={"Location": location}
        )

    @own_site_only
    @Operation(
        "update_device",
        "devices",
        reads=(path_id,),
        body=ChangeInput,
        body_types=PATCH_TYPES,
        answer=DeviceJson,
        errors=(*_OF_ONE, ErrorCode.BUSY, PAYLOAD_TOO_LARGE, UNSUPPORTED_MEDIA_TYPE),
    )
    async def update(self, request: web.Request) -> web.Response:
        """Change a registered device; members that are absent stay as they are."""
        available(self._client)
        device_id = known_device(self._client, path_id(request)).id
        body = await merge_patch(request)
        if not isinstance(body, dict):
            raise invalid(_NO_OBJECT)
        if not isinstance(body.get("connection_settings", {}), dict):
            raise invalid(
                _NO_SETTINGS, {"connection_settings": {one: [_NO_SETTINGS] for one in _OF_SETTINGS}}
            )
        properties = _properties(body, _OF_UPDATE)
        await available(self._client).update_device(device_id, properties)
        return json_response(device_json(known_device(self._client, device_id)))

    @own_site_only
    @Operation(
        "remove_device",
        "devices",
        reads=(path_id, query_history),
        status=204,
        errors=(*_OF_ONE, ErrorCode.BUSY),
    )
    async def remove(self, request: web.Request) -> web.Response:
        """Disconnect and remove a device.

        With `history` its rows in the history are deleted, too; else they stay, under the name that it had.
        """
        available(self._client)
        device_id = known_device(self._client, path_id(request)).id
        with_history = query_history(request)
        self._events.command_begins(device_id)
        await self._client.remove_device(device_id, history=with_history)
        return web.Response(status=204)


def _properties(body: object, names: tuple[str, ...]) -> dict[str, object]:
    """The fields that the daemon has, flat as on D-Bus; unknown fields are dropped.

    A value that is not an object has no fields, and the daemon reports which are missing.
    """
    fields: Mapping[str, object] = body if isinstance(body, dict) else {}
    settings = fields.get("connection_settings")
    nested: Mapping[str, object] = settings if isinstance(settings, dict) else {}
    flat = {name: fields[name] for name in names if name in fields}
    flat |= {name: nested[name] for name in (*_OF_SETTINGS, _ADDRESS) if name in nested}
    return {name: registered_value(name, value) for name, value in flat.items()}


def _about_its_shape(error: InvalidRequest, body: object) -> InvalidRequest:
    """The daemon's errors for fields that it did not get because they are not at their place, reworded to
    say so."""
    if not isinstance(body, dict):
        return InvalidRequest(_NO_OBJECT, dict.fromkeys(error.fields, (_NO_OBJECT,)))
    if isinstance(body.get("connection_settings", {}), dict):
        return error
    fields = {
        name: (_NO_SETTINGS,) if name in _OF_SETTINGS else sentences
        for name, sentences in error.fields.items()
    }
    return InvalidRequest(_NO_SETTINGS, fields)
