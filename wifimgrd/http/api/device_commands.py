"""The commands to a device that have a resource of their own: power, pairing, recovery and the clock."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Final

from aiohttp import web

from wifimgrd.client.commands import available, carry_out, known_device
from wifimgrd.client.hub import HubClient
from wifimgrd.client.json_members import DeviceJson
from wifimgrd.client.json_types import Keywords
from wifimgrd.domain.commands import (
    ADDRESS,
    PAIR,
    RECOVER,
    SET_CLOCK,
    SLEEP,
    STEP,
    UNPAIR,
    WAIT,
    WAKE,
    DeviceCommand,
)
from wifimgrd.domain.errors import ErrorCode
from wifimgrd.domain.link_steps import LinkStep
from wifimgrd.http._errors import PAYLOAD_TOO_LARGE, Handler
from wifimgrd.http._json_text import json_response
from wifimgrd.http._operations import Operation, Parameter
from wifimgrd.http._requests import invalid, json_body, path_id, query_wait
from wifimgrd.http._routes import Routes
from wifimgrd.http.access.request_safety import own_site_only
from wifimgrd.http.api.body_types import PairingInput

_OF_ALL: Final = (ErrorCode.DEVICE_NOT_FOUND, ErrorCode.BACKEND_UNAVAILABLE)
_NO_BODY: Final = 'The body, if there is one, must be an object: {"address": "F4:DD:12:34:56:78"}.'


@Parameter(
    STEP, Annotated[str, Keywords(enum=[one.value for one in LinkStep])], "The step; by default the next one."
)
def query_step(request: web.Request) -> str | None:
    """The query parameter `step`, if it is given."""
    text, *again = request.query.getall(STEP, [None])
    if again or text not in (None, *LinkStep):
        raise invalid(f"step must be one of {', '.join(LinkStep)}")
    return text


@dataclass(frozen=True, slots=True)
class _Resource:
    """The resource that requests a command. If it can be waited for, the answer is the device, else 204."""

    command: DeviceCommand
    method: str
    path: str
    """After `P/{id}/`."""
    tag: str
    text: str
    """A summary, and a description after an empty line."""
    body: type | None = None
    """The type of the body, which has the command's texts and may be left out."""
    texts: Mapping[str, Callable[[web.Request], str | None]] = field(default_factory=dict)
    """Those of the command's texts that are query parameters, with what reads them."""


_RESOURCES: Final = (
    _Resource(
        WAKE,
        "POST",
        "wake",
        "power",
        """Wake a sleeping camera, so that its network is on the air.

        Answers at once, 202; with `wait` when the wake has ended, 200 or with an error. A camera that is
        awake stays as it is.
        """,
    ),
    _Resource(
        SLEEP,
        "POST",
        "sleep",
        "power",
        """Disconnect a camera and put it to sleep, so that it can be woken again.

        Answers as `wake` does.
        """,
    ),
    _Resource(
        PAIR,
        "POST",
        "pairing",
        "power",
        """Pair a camera, which has to be in pairing mode (a Theta V or Z1: connected), over Bluetooth.

        Answers as `wake` does. Without an `address` it is the one that it was paired with before, or the only
        camera of its model in pairing mode.
        """,
        body=PairingInput,
    ),
    _Resource(
        UNPAIR,
        "DELETE",
        "pairing",
        "power",
        """Forget the pairing with a camera, and end one that runs.

        Forgetting a camera that is not paired changes nothing.
        """,
    ),
    _Resource(
        RECOVER,
        "POST",
        "recover",
        "connection",
        """Take a recovery step for a connected camera, as the hub does if it does not answer for long.

        Answers as `wake` does: with `wait` when the camera answers again or could not be asked, or with the
        reason why it does not.
        Without a `step` it is the next one that is switched on and possible, of those that were not taken in
        the last hour. `recovery_step` names the step while it runs; a disconnect ends it.
        """,
        texts={STEP: query_step},
    ),
    _Resource(
        SET_CLOCK,
        "POST",
        "clock",
        "control",
        """Set a camera's clock to this host's, with its time zone.

        A camera that records is left as it is: `camera-busy`.
        """,
    ),
)


WITH_RESOURCE: Final = frozenset(one.command.name for one in _RESOURCES)
"""The names of these commands."""


class DeviceCommands:
    """The resources at `P/{id}/` that carry out a command to the device."""

    def __init__(self, client: HubClient, prefix: str) -> None:
        self._client = client
        self._prefix = prefix

    def add_to(self, routes: Routes) -> None:
        """Add the routes."""
        for one in _RESOURCES:
            handler = self._operation(one) if WAIT in one.command.options else self._call(one)
            routes.add(one.method, rf"{self._prefix}/{{id:-?[0-9]+}}/{one.path}", handler)

    def _call(self, resource: _Resource) -> Handler:
        """The handler of a command whose end the answer tells."""
        command = resource.command

        @own_site_only
        @Operation(
            command.name,
            resource.tag,
            reads=(path_id,),
            text=resource.text,
            status=204,
            errors=tuple(dict.fromkeys((*_OF_ALL, *command.errors))),
        )
        async def handle(request: web.Request) -> web.StreamResponse:
            client = available(self._client)
            await carry_out(client, command, known_device(client, path_id(request)).id)
            return web.Response(status=204)

        return handle

    def _operation(self, resource: _Resource) -> Handler:
        """The handler of a command that goes on after the answer, unless that waits."""
        command, has_body = resource.command, resource.body is not None

        @own_site_only
        @Operation(
            command.name,
            resource.tag,
            reads=(path_id, *resource.texts.values(), query_wait),
            body=resource.body,
            is_body_optional=True,
            text=resource.text,
            status=202,
            answer=DeviceJson,
            further={200: "With `wait`: it has ended."},
            further_types={200: DeviceJson},
            headers={"Content-Location": "The device's address."},
            errors=tuple(
                dict.fromkeys((*_OF_ALL, *command.errors, *((PAYLOAD_TOO_LARGE,) if has_body else ())))
            ),
        )
        async def handle(request: web.Request) -> web.StreamResponse:
            client = available(self._client)
            device_id = known_device(client, path_id(request)).id
            wait_s = query_wait(request)
            given = {name: read(request) for name, read in resource.texts.items()}
            texts = {name: text for name, text in given.items() if text is not None}
            if has_body:
                texts |= await _address(request)
            outcome = await carry_out(client, command, device_id, texts, wait_s=wait_s)
            device = known_device(client, device_id)
            return json_response(
                DeviceJson.of(device),
                status=200 if outcome.is_done else 202,
                headers={"Content-Location": f"{self._prefix}/{device_id}/"},
            )

        return handle


async def _address(request: web.Request) -> Mapping[str, str]:
    """The address in the body, if there is one."""
    if not request.can_read_body:
        return {}
    body = await json_body(request)
    if not isinstance(body, dict) or not isinstance(body.get(ADDRESS, ""), str):
        raise invalid(_NO_BODY)
    return {ADDRESS: body[ADDRESS]} if ADDRESS in body else {}
