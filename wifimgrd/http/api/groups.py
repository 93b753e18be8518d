"""Groups of devices, which one command connects."""

from __future__ import annotations

from typing import Annotated

from aiohttp import web

from wifimgrd.client.commands import GroupOrder, available, connect_group
from wifimgrd.client.hub import HubClient
from wifimgrd.client.json_members import GroupsJson, OutcomeJson, OutcomesJson
from wifimgrd.client.json_records import groups_json
from wifimgrd.client.json_types import Keywords
from wifimgrd.domain.errors import ErrorCode
from wifimgrd.http._json_text import json_response
from wifimgrd.http._operations import Operation, Parameter
from wifimgrd.http._requests import SwitchText, query_switch
from wifimgrd.http._routes import Routes
from wifimgrd.http.access.request_safety import own_site_only


@Parameter(
    "name", Annotated[str, Keywords(minLength=1)], "The name of the group.", place="path", required=True
)
def path_group(request: web.Request) -> str:
    """The name of a group in the path."""
    return request.match_info["name"]


@Parameter(
    "partial", SwitchText, "`1`: if not every member can have an adapter, connect as many as possible."
)
def query_partial(request: web.Request) -> bool:
    """The query parameter `partial`; False if it is not given."""
    return query_switch(request, "partial")


class Groups:
    """The resource at `P/groups/`."""

    def __init__(self, client: HubClient, prefix: str) -> None:
        self._client = client
        self._prefix = prefix

    def add_to(self, routes: Routes) -> None:
        """Add the routes."""
        routes.add("GET HEAD", self._prefix + "/groups/", self.list)
        routes.add("POST", self._prefix + "/groups/{name}/connect", self.connect)

    @Operation("list_groups", "connection", answer=GroupsJson, errors=(ErrorCode.BACKEND_UNAVAILABLE,))
    async def list(self, _: web.Request) -> web.Response:
        """The groups of the configuration, with the ids of their registered devices."""
        return json_response(groups_json(available(self._client).service))

    @own_site_only
    @Operation(
        "connect_group",
        "connection",
        reads=(path_group, query_partial),
        answer=OutcomesJson,
        errors=(
            ErrorCode.GROUP_NOT_FOUND,
            ErrorCode.NO_INTERFACE_AVAILABLE,
            ErrorCode.BUSY,
            ErrorCode.DEVICE_NOT_REACHABLE,
            ErrorCode.BACKEND_UNAVAILABLE,
        ),
    )
    async def connect(self, request: web.Request) -> web.Response:
        """Connect the devices of a group.

        Members that are connected stay so. Where adapters are missing for the others, devices outside of the
        group are disconnected: those of the lowest priority first, and no more than needed. Answers when each
        attempt has ended; a part of them may fail. If not every member can have an adapter, nothing is
        changed, unless `partial`.
        """
        order = GroupOrder(path_group(request), query_partial(request))
        return json_response({"results": list(map(OutcomeJson.of, await connect_group(self._client, order)))})
