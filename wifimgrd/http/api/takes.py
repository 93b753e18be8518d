"""Takes: the recordings of several cameras that belong together."""

from __future__ import annotations

import re
from typing import Annotated, Final

from aiohttp import web

from wifimgrd.client.commands import available
from wifimgrd.client.hub import HubClient
from wifimgrd.client.json_members import TakesJson
from wifimgrd.client.json_records import take_json
from wifimgrd.client.json_types import Keywords, Time
from wifimgrd.client.takes_csv import takes_csv
from wifimgrd.domain.errors import ErrorCode
from wifimgrd.domain.history import DEFAULT_LIMIT, LARGEST_LIMIT
from wifimgrd.http._json_text import json_response
from wifimgrd.http._operations import JSON, Operation, Parameter
from wifimgrd.http._requests import query_number, query_time
from wifimgrd.http._routes import Routes

_CSV: Final = "text/csv"
_QUALITY: Final = re.compile(r"q=(0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?)", re.IGNORECASE)
_VARY: Final = {"Vary": "Accept"}


@Parameter("since", Time, "Only takes that lasted then, or began later.")
def query_since(request: web.Request) -> int:
    """The query parameter `since`, microseconds since the epoch; 0 if it is not given."""
    return query_time(request, "since", 0)


@Parameter("until", Time, "Only takes that began before then.")
def query_until(request: web.Request) -> int:
    """The query parameter `until`, microseconds since the epoch; 0 if it is not given."""
    return query_time(request, "until", 1)


@Parameter(
    "limit",
    Annotated[int, Keywords(minimum=1, maximum=LARGEST_LIMIT, default=DEFAULT_LIMIT)],
    "The maximum number of takes.",
)
def query_limit(request: web.Request) -> int | None:
    """The query parameter `limit`, if it is given."""
    return query_number(request, "limit", LARGEST_LIMIT)


class Takes:
    """The resource at `P/takes`."""

    def __init__(self, client: HubClient, prefix: str) -> None:
        self._client = client
        self._prefix = prefix

    def add_to(self, routes: Routes) -> None:
        """Add the route."""
        routes.add("GET HEAD", self._prefix + "/takes", self.list)

    @Operation(
        "list_takes",
        "history",
        reads=(query_since, query_until, query_limit),
        answer=TakesJson,
        others={_CSV: str},
        errors=(ErrorCode.BACKEND_UNAVAILABLE,),
    )
    async def list(self, request: web.Request) -> web.Response:
        """Which recordings belong together, the newest first.

        A take lasts from the begin of a recording while no other runs until none runs, and has all recordings
        of that time. The next page is requested with `until` and the `time` of the last take, until one is
        empty: there may be fewer than `limit`. As CSV it is a table, with a line for each recording, and one
        without `time` for each missing camera.
        """
        since_us, until_us, limit = query_since(request), query_until(request), query_limit(request)
        takes = await available(self._client).takes(since_us, until_us, limit)
        if _prefers_csv(request.headers.getall("Accept", [])):
            return web.Response(text=takes_csv(takes), content_type=_CSV, charset="utf-8", headers=_VARY)
        answer: TakesJson = {"takes": list(map(take_json, takes))}
        return json_response(answer, headers=_VARY)


def _prefers_csv(accepted: list[str]) -> bool:
    """Whether a client that accepts these media types prefers CSV to JSON (RFC 9110, 12.5.1): it names it."""
    qualities = {_CSV: 0.0, JSON: 0.0}
    for one in ",".join(accepted).split(","):
        name, *parameters = (part.strip() for part in one.split(";"))
        if (name := name.lower()) in qualities:
            found = [_QUALITY.fullmatch(part) for part in parameters]
            qualities[name] = next((float(one[1]) for one in found if one is not None), 1.0)
    return qualities[_CSV] > qualities[JSON]
