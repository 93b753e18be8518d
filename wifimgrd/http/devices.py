"""Devices: create, list, one, change, remove."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from aiohttp import web

from wifimgrd.dbus.client.hub import HubClient
from wifimgrd.dbus.client.json_records import device_json
from wifimgrd.dbus.client.json_types import DeviceJson
from wifimgrd.domain.errors import ErrorCode, InvalidRequest
from wifimgrd.http.body_types import ChangeInput, CreateInput
from wifimgrd.http.description.operations import operation
from wifimgrd.http.json_text import json_response
from wifimgrd.http.live import device_of, live
from wifimgrd.http.problems import PAYLOAD_TOO_LARGE
from wifimgrd.http.request_safety import own_site_only
from wifimgrd.http.requests import idempotency_key, invalid, json_body, path_id
from wifimgrd.http.routes import Routes

_OF_ONE: Final = (ErrorCode.DEVICE_NOT_FOUND, ErrorCode.BACKEND_UNAVAILABLE)
"""What can be wrong with a request for one device."""
_OF_UPDATE: Final = ("name", "auto_reconnect", "priority")
_OF_CREATE: Final = ("codename", "connection_type", *_OF_UPDATE)
_OF_SETTINGS: Final = ("ssid", "password")
_NO_OBJECT: Final = "The body must be a JSON object."
_NO_SETTINGS: Final = "connection_settings must be an object with ssid and password."


class Devices:
    """The resource at `P/` and `P/{id}/`."""

    def __init__(self, client: HubClient, prefix: str) -> None:
        self._client = client
        self._prefix = prefix

    def add_to(self, routes: Routes) -> None:
        """Wire the addresses; words that other resources have are no ids."""
        one = self._prefix + r"/{id:(?!(?:wifi|supported-devices)(?:/|$))[^/]+}/"
        routes.add("GET HEAD", self._prefix + "/", self.list)
        routes.add("POST", self._prefix + "/", self.create)
        routes.add("GET HEAD", one, self.one)
        routes.add("PATCH", one, self.update)
        routes.add("DELETE", one, self.remove)

    @operation("list_devices", "devices", answer=list[DeviceJson], errors=(ErrorCode.BACKEND_UNAVAILABLE,))
    async def list(self, _: web.Request) -> web.Response:
        """Every device, in order of id."""
        return json_response([device_json(device) for device in live(self._client).devices.values()])

    @operation("get_device", "devices", reads=(path_id,), answer=DeviceJson, errors=_OF_ONE)
    async def one(self, request: web.Request) -> web.Response:
        """One device."""
        live(self._client)
        return json_response(device_json(device_of(self._client, path_id(request))))

    @own_site_only
    @operation(
        "create_device",
        "devices",
        reads=(idempotency_key,),
        body=CreateInput,
        status=201,
        answer=DeviceJson,
        headers={"Location": "The device's address."},
        next=("get_device", "update_device", "connect", "connection_status", "disconnect", "remove_device"),
        errors=(ErrorCode.DEVICE_NOT_FOUND, PAYLOAD_TOO_LARGE, ErrorCode.BACKEND_UNAVAILABLE),
    )
    async def create(self, request: web.Request) -> web.Response:
        """Register a camera.

        Its first connection starts at once, unless the configuration says otherwise.
        """
        client = live(self._client)
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
            device_json(device_of(client, device_id)), status=201, headers={"Location": location}
        )

    @own_site_only
    @operation(
        "update_device",
        "devices",
        reads=(path_id,),
        body=ChangeInput,
        answer=DeviceJson,
        errors=(*_OF_ONE, ErrorCode.BUSY, PAYLOAD_TOO_LARGE),
    )
    async def update(self, request: web.Request) -> web.Response:
        """Change what was registered; what is not named stays."""
        live(self._client)
        device_id = device_of(self._client, path_id(request)).id
        body = await json_body(request)
        if not isinstance(body, dict):
            raise invalid(_NO_OBJECT)
        if not isinstance(body.get("connection_settings", {}), dict):
            raise invalid(
                _NO_SETTINGS, {"connection_settings": {one: [_NO_SETTINGS] for one in _OF_SETTINGS}}
            )
        properties = _properties(body, _OF_UPDATE)
        await live(self._client).update_device(device_id, properties)
        return json_response(device_json(device_of(self._client, device_id)))

    @own_site_only
    @operation("remove_device", "devices", reads=(path_id,), status=204, errors=(*_OF_ONE, ErrorCode.BUSY))
    async def remove(self, request: web.Request) -> web.Response:
        """Disconnect and forget a device."""
        live(self._client)
        device_id = device_of(self._client, path_id(request)).id
        await self._client.remove_device(device_id)
        return web.Response(status=204)


def _properties(body: Any, names: tuple[str, ...]) -> dict[str, Any]:
    """The fields that the daemon knows, flat as on D-Bus; fields that nobody knows are dropped.

    What is no object has none of the fields, and the daemon says which are missing.
    """
    fields: Mapping[str, Any] = body if isinstance(body, dict) else {}
    settings = fields.get("connection_settings")
    nested: Mapping[str, Any] = settings if isinstance(settings, dict) else {}
    flat = {name: fields[name] for name in names if name in fields}
    flat |= {name: nested[name] for name in _OF_SETTINGS if name in nested}
    return {name: _shallow(value) for name, value in flat.items()}


def _about_its_shape(error: InvalidRequest, body: Any) -> InvalidRequest:
    """What the daemon says of fields that it was not given since they are not where they belong, in
    words about that."""
    if not isinstance(body, dict):
        return InvalidRequest(_NO_OBJECT, dict.fromkeys(error.fields, (_NO_OBJECT,)))
    if isinstance(body.get("connection_settings", {}), dict):
        return error
    fields = {name: (_NO_SETTINGS,) if name in _OF_SETTINGS else told for name, told in error.fields.items()}
    return InvalidRequest(_NO_SETTINGS, fields)


def _shallow(value: Any) -> Any:
    """No field is a list or an object, so an empty one says as much, and D-Bus can carry it."""
    return type(value)() if isinstance(value, list | dict) else value
