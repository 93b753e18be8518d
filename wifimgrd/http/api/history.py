"""The history: sessions, interruptions, failures, adapters and the backend; and the signal of a
device, with its battery."""

from __future__ import annotations

from typing import Annotated

from aiohttp import web

from wifimgrd.client.commands import available, known_device
from wifimgrd.client.hub import HubClient
from wifimgrd.client.json_members import HistoryJson
from wifimgrd.client.json_records import history_json, signal_history_json
from wifimgrd.client.json_types import Keywords, SignalHistoryJson, Time
from wifimgrd.domain.errors import ErrorCode
from wifimgrd.domain.history import DEFAULT_LIMIT, LARGEST_ID, LARGEST_LIMIT
from wifimgrd.http._json_text import json_response
from wifimgrd.http._operations import Operation, Parameter
from wifimgrd.http._requests import path_id, query_number, query_time
from wifimgrd.http._routes import Routes


@Parameter(
    "device_id",
    Annotated[int, Keywords(minimum=1, maximum=LARGEST_ID)],
    "Only rows of this device, which may have been removed since.",
)
def query_device(request: web.Request) -> int | None:
    """The query parameter `device_id`, if it is given."""
    return query_number(request, "device_id", LARGEST_ID)


@Parameter(
    "before",
    Annotated[int, Keywords(minimum=1, maximum=LARGEST_ID)],
    "Only rows before the one with this id.",
)
def query_before(request: web.Request) -> int | None:
    """The query parameter `before`, if it is given."""
    return query_number(request, "before", LARGEST_ID)


@Parameter(
    "limit",
    Annotated[int, Keywords(minimum=1, maximum=LARGEST_LIMIT, default=DEFAULT_LIMIT)],
    "The maximum number of rows.",
)
def query_limit(request: web.Request) -> int | None:
    """The query parameter `limit`, if it is given."""
    return query_number(request, "limit", LARGEST_LIMIT)


@Parameter("since", Time, "Only samples from then on.")
def query_since(request: web.Request) -> int:
    """The query parameter `since`, microseconds since the epoch; 0 if it is not given."""
    return query_time(request, "since", 0)


@Parameter("until", Time, "Only samples before then.")
def query_until(request: web.Request) -> int:
    """The query parameter `until`, microseconds since the epoch; 0 if it is not given."""
    return query_time(request, "until", 1)


class History:
    """The resources at `P/history` and `P/{id}/signal`."""

    def __init__(self, client: HubClient, prefix: str) -> None:
        self._client = client
        self._prefix = prefix

    def add_to(self, routes: Routes) -> None:
        """Add the routes."""
        routes.add("GET HEAD", self._prefix + "/history", self.list)
        routes.add("GET HEAD", self._prefix + r"/{id:-?[0-9]+}/signal", self.signal)

    @Operation(
        "list_history",
        "history",
        reads=(query_device, query_before, query_limit),
        answer=HistoryJson,
        errors=(ErrorCode.BACKEND_UNAVAILABLE,),
    )
    async def list(self, request: web.Request) -> web.Response:
        """The history, the newest first: sessions, interruptions, failures, adapters and the backend.

        The next page is requested with `before` and the `id` of the last row, until one is empty: there may
        be fewer than `limit`.
        """
        device_id, before, limit = query_device(request), query_before(request), query_limit(request)
        rows = await available(self._client).history(device_id, before, limit)
        answer: HistoryJson = {"history": [history_json(row) for row in rows]}
        return json_response(answer)

    @Operation(
        "get_signal_history",
        "history",
        reads=(path_id, query_since, query_until),
        answer=SignalHistoryJson,
        errors=(ErrorCode.DEVICE_NOT_FOUND, ErrorCode.BACKEND_UNAVAILABLE),
    )
    async def signal(self, request: web.Request) -> web.Response:
        """The signal strength of a device, and its battery, over the last 7 days, a sample a minute.

        The last sample may be that of a minute that is not over.
        """
        since_us, until_us = query_since(request), query_until(request)
        client = available(self._client)
        device = known_device(client, path_id(request))
        return json_response(signal_history_json(await client.signal_history(device.id, since_us, until_us)))
