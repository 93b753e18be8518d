"""The host's Wi-Fi interfaces, their devices, and the scan results."""

from __future__ import annotations

from aiohttp import web

from wifimgrd.client.commands import available
from wifimgrd.client.hub import HubClient
from wifimgrd.client.json_members import InterfacesJson, SearchJson
from wifimgrd.client.json_records import interfaces_json, search_json
from wifimgrd.domain.errors import ErrorCode
from wifimgrd.http._json_text import json_response
from wifimgrd.http._operations import Operation
from wifimgrd.http._requests import query_interface
from wifimgrd.http._routes import Routes


class Interfaces:
    """The resource at `P/wifi/interfaces`."""

    def __init__(self, client: HubClient, prefix: str) -> None:
        self._client = client
        self._prefix = prefix

    def add_to(self, routes: Routes) -> None:
        """Add the routes."""
        routes.add("GET HEAD", self._prefix + "/wifi/interfaces", self.list)
        routes.add("GET", self._prefix + "/wifi/networks", self.networks)

    @Operation(
        "list_interfaces", "interfaces", answer=InterfacesJson, errors=(ErrorCode.BACKEND_UNAVAILABLE,)
    )
    async def list(self, _: web.Request) -> web.Response:
        """Every interface, which are available, and which device has which."""
        client = available(self._client)
        return json_response(interfaces_json(client.interfaces, client.service))

    @Operation(
        "list_networks",
        "interfaces",
        reads=(query_interface,),
        answer=SearchJson,
        errors=(ErrorCode.INTERFACE_NOT_FOUND, ErrorCode.BACKEND_UNAVAILABLE),
    )
    async def networks(self, request: web.Request) -> web.Response:
        """Scan on every idle interface, or on one, and return the networks found.

        Interfaces in use do not scan; a request during a scan gets the results of that scan.
        """
        client = available(self._client)
        return json_response(search_json(await client.search_networks(query_interface(request))))
