"""Whether cameras are ready: one question before a take-off."""

from __future__ import annotations

from typing import Annotated, Final

from aiohttp import web

from wifimgrd.client.commands import available, known_device
from wifimgrd.client.hub import HubClient
from wifimgrd.client.json_members import CheckJson
from wifimgrd.client.json_records import check_json
from wifimgrd.client.json_types import Keywords
from wifimgrd.domain.check import Wanted
from wifimgrd.domain.errors import ErrorCode
from wifimgrd.http._json_text import json_response
from wifimgrd.http._operations import Operation, Parameter
from wifimgrd.http._requests import SwitchText, integer_id, invalid, query_number, query_switch
from wifimgrd.http._routes import Routes

_LARGEST: Final = 1_000_000_000_000
"""Of seconds and of milliseconds, which the daemon gets in microseconds."""


@Parameter("device_id", list[int], "Check this device; repeatedly for several. By default the rig.")
def query_devices(request: web.Request) -> list[int] | None:
    """The query parameters `device_id`, if there are any."""
    values = request.query.getall("device_id", [])
    return [integer_id(text, "device_id") for text in values] or None


@Parameter(
    "group", Annotated[str, Keywords(minLength=1)], "Check the devices of this group; not with `device_id`."
)
def query_group(request: web.Request) -> str | None:
    """The query parameter `group`, if it is given."""
    values = request.query.getall("group", [])
    if len(values) > 1:
        raise invalid("group must be given once, as a name")
    return values[0] if values else None


@Parameter("recording", SwitchText, "`1`: they record now.")
def query_recording(request: web.Request) -> bool:
    """The query parameter `recording`; False if it is not given."""
    return query_switch(request, "recording")


@Parameter(
    "battery",
    Annotated[int, Keywords(minimum=0, maximum=100)],
    "The battery is this full at least, percent. By default the hub's own limit counts, as for the next two.",
)
def query_battery(request: web.Request) -> int | None:
    """The query parameter `battery`, if it is given."""
    return query_number(request, "battery", 100, least=0)


@Parameter(
    "time_left_s",
    Annotated[int, Keywords(minimum=0, maximum=_LARGEST)],
    "They can record for so many seconds at least.",
)
def query_time_left(request: web.Request) -> int | None:
    """The query parameter `time_left_s`, in microseconds, if it is given."""
    seconds = query_number(request, "time_left_s", _LARGEST, least=0)
    return None if seconds is None else seconds * 1_000_000


@Parameter(
    "clock_ms",
    Annotated[int, Keywords(minimum=0, maximum=_LARGEST)],
    "Their clocks differ from the hub's by so many milliseconds at most.",
)
def query_clock(request: web.Request) -> int | None:
    """The query parameter `clock_ms`, in microseconds, if it is given."""
    milliseconds = query_number(request, "clock_ms", _LARGEST, least=0)
    return None if milliseconds is None else milliseconds * 1000


class Check:
    """The resource at `P/check`."""

    def __init__(self, client: HubClient, prefix: str) -> None:
        self._client = client
        self._prefix = prefix

    def add_to(self, routes: Routes) -> None:
        """Add the route."""
        routes.add("GET HEAD", self._prefix + "/check", self.check)

    @Operation(
        "check",
        "control",
        reads=(query_devices, query_group, query_recording, query_battery, query_time_left, query_clock),
        answer=CheckJson,
        errors=(ErrorCode.DEVICE_NOT_FOUND, ErrorCode.GROUP_NOT_FOUND, ErrorCode.BACKEND_UNAVAILABLE),
    )
    async def check(self, request: web.Request) -> web.Response:
        """Whether cameras are ready, and what stands in the way.

        They are if they are connected, answer and have no problem, and if all holds that is asked for. The
        rig is all devices that are expected. Nothing is read from the cameras for it; what is known of them
        counts.
        """
        wanted = Wanted(
            query_recording(request), query_battery(request), query_time_left(request), query_clock(request)
        )
        device_ids, group = query_devices(request), query_group(request)
        for device_id in device_ids or ():
            known_device(self._client, device_id)
        found = await available(self._client).check(wanted, device_ids=device_ids, group=group)
        return json_response(check_json(found))
