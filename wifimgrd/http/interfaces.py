"""The host's Wi-Fi interfaces and who uses them."""

from __future__ import annotations

from aiohttp import web

from wifimgrd.dbus.client.hub import HubClient
from wifimgrd.dbus.client.json_records import interfaces_json
from wifimgrd.http.json_text import json_response
from wifimgrd.http.live import live
from wifimgrd.http.routes import Routes


class Interfaces:
    """The resource at `P/wifi/interfaces`."""

    def __init__(self, client: HubClient, prefix: str) -> None:
        self._client = client
        self._prefix = prefix

    def add_to(self, routes: Routes) -> None:
        """Wire the address."""
        routes.add("GET HEAD", self._prefix + "/wifi/interfaces", self.list)

    async def list(self, _: web.Request) -> web.Response:
        """Every interface, which are available, and which device has which."""
        return json_response(interfaces_json(live(self._client).interfaces))
