"""Searches for cameras over Bluetooth."""

from __future__ import annotations

from typing import Annotated

from aiohttp import web

from wifimgrd.client.commands import available
from wifimgrd.client.hub import HubClient
from wifimgrd.client.json_members import BluetoothDeviceJson, BluetoothDevicesJson
from wifimgrd.client.json_types import Keywords
from wifimgrd.domain.errors import ErrorCode
from wifimgrd.domain.power import LONGEST_SEARCH_S, SEARCH_S
from wifimgrd.domain.records import BluetoothRecord
from wifimgrd.http._json_text import json_response
from wifimgrd.http._operations import Operation, Parameter
from wifimgrd.http._requests import integer_id, invalid
from wifimgrd.http._routes import Routes
from wifimgrd.http.access.request_safety import own_site_only


@Parameter(
    "seconds",
    Annotated[int, Keywords(minimum=1, maximum=LONGEST_SEARCH_S, default=SEARCH_S)],
    "How long to search.",
)
def query_seconds(request: web.Request) -> int:
    """The query parameter `seconds`."""
    text, *again = request.query.getall("seconds", [str(SEARCH_S)])
    seconds = 0 if again else integer_id(text, "seconds")
    if not 1 <= seconds <= LONGEST_SEARCH_S:
        raise invalid(f"seconds must be a whole number from 1 to {LONGEST_SEARCH_S}")
    return seconds


class Bluetooth:
    """The resources at `P/bluetooth/`."""

    def __init__(self, client: HubClient, prefix: str) -> None:
        self._client = client
        self._prefix = prefix

    def add_to(self, routes: Routes) -> None:
        """Add the routes."""
        routes.add("POST", self._prefix + "/bluetooth/search", self.search)
        routes.add("GET HEAD", self._prefix + "/bluetooth/devices", self.devices)

    @own_site_only
    @Operation(
        "search_bluetooth",
        "power",
        reads=(query_seconds,),
        answer=BluetoothDevicesJson,
        errors=(ErrorCode.BLUETOOTH_UNAVAILABLE, ErrorCode.BUSY, ErrorCode.BACKEND_UNAVAILABLE),
    )
    async def search(self, request: web.Request) -> web.Response:
        """Search for cameras over Bluetooth.

        Answers at the end of the search, with the cameras that are known then. Searches at the same time are
        one search.
        """
        seconds = query_seconds(request)
        return _answer(await available(self._client).search_bluetooth(seconds))

    @Operation(
        "list_bluetooth_devices",
        "power",
        answer=BluetoothDevicesJson,
        errors=(ErrorCode.BACKEND_UNAVAILABLE,),
    )
    async def devices(self, _: web.Request) -> web.Response:
        """The cameras that were heard over Bluetooth in the last 60 s, without a search."""
        return _answer(await available(self._client).bluetooth_devices())


def _answer(found: list[BluetoothRecord]) -> web.Response:
    return json_response({"bluetooth_devices": list(map(BluetoothDeviceJson.of, found))})
