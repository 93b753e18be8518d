"""The host's Wi-Fi interfaces, who uses them, and what is in the air."""

from __future__ import annotations

from aiohttp import web

from wifimgrd.dbus.client.hub import HubClient
from wifimgrd.dbus.client.json_records import air_json, interfaces_json
from wifimgrd.dbus.client.json_types import AirJson, InterfacesJson
from wifimgrd.domain.errors import ErrorCode
from wifimgrd.http.description.operations import operation
from wifimgrd.http.json_text import json_response
from wifimgrd.http.live import live
from wifimgrd.http.requests import query_interface
from wifimgrd.http.routes import Routes


class Interfaces:
    """The resource at `P/wifi/interfaces`."""

    def __init__(self, client: HubClient, prefix: str) -> None:
        self._client = client
        self._prefix = prefix

    def add_to(self, routes: Routes) -> None:
        """Wire the address."""
        routes.add("GET HEAD", self._prefix + "/wifi/interfaces", self.list)
        routes.add("GET", self._prefix + "/wifi/networks", self.networks)

    @operation(
        "list_interfaces", "interfaces", answer=InterfacesJson, errors=(ErrorCode.BACKEND_UNAVAILABLE,)
    )
    async def list(self, _: web.Request) -> web.Response:
        """Every interface, which are available, and which device has which."""
        return json_response(interfaces_json(live(self._client).interfaces))

    @operation(
        "list_networks",
        "interfaces",
        reads=(query_interface,),
        answer=AirJson,
        errors=(ErrorCode.INTERFACE_NOT_FOUND, ErrorCode.BACKEND_UNAVAILABLE),
    )
    async def networks(self, request: web.Request) -> web.Response:
        """Search the air, on every idle interface or on one, and say what is there.

        Interfaces that are in use are left alone; who asks during a search shares it.
        """
        client = live(self._client)
        return json_response(air_json(await client.search_air(query_interface(request))))
