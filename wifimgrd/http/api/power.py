"""Sleeping cameras: wake, sleep, pairing, and searches over Bluetooth."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Final

from aiohttp import web

from wifimgrd.client.commands import available, carry_out, known_device
from wifimgrd.client.hub import HubClient
from wifimgrd.client.json_members import BluetoothDeviceJson, BluetoothDevicesJson, DeviceJson
from wifimgrd.client.json_types import Keywords
from wifimgrd.domain.commands import PAIR, SLEEP, UNPAIR, WAKE, DeviceCommand
from wifimgrd.domain.errors import ErrorCode
from wifimgrd.domain.power import LONGEST_SEARCH_S, SEARCH_S
from wifimgrd.domain.records import BluetoothRecord
from wifimgrd.http._errors import PAYLOAD_TOO_LARGE, Handler
from wifimgrd.http._json_text import json_response
from wifimgrd.http._operations import Operation, Parameter
from wifimgrd.http._requests import integer_id, invalid, json_body, path_id, query_wait
from wifimgrd.http._routes import Routes
from wifimgrd.http.access.request_safety import own_site_only
from wifimgrd.http.api.body_types import PairingInput

_OF_ALL: Final = (ErrorCode.DEVICE_NOT_FOUND, ErrorCode.BACKEND_UNAVAILABLE)
_PAIRING: Final = "pairing"
_TEXTS: Final = MappingProxyType(
    {
        WAKE.name: """Wake a sleeping camera, so that its network is on the air.

        Answers at once, 202; with `wait` when the wake has ended, 200 or with an error. A camera that is
        awake stays as it is.
        """,
        SLEEP.name: """Disconnect a camera and put it to sleep, so that it can be woken again.

        Answers as `wake` does.
        """,
        PAIR.name: """Pair a camera, which has to be in pairing mode, over Bluetooth.

        Answers as `wake` does. Without an `address` it is the one that it was paired with before, or the only
        camera of its model in pairing mode.
        """,
    }
)
_PATHS: Final = ((WAKE, "wake"), (SLEEP, "sleep"), (PAIR, _PAIRING))
_NO_BODY: Final = 'The body, if there is one, must be an object: {"address": "F4:DD:12:34:56:78"}.'


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


class Power:
    """The resources at `P/{id}/wake`, `sleep` and `pairing`, and at `P/bluetooth/`."""

    def __init__(self, client: HubClient, prefix: str) -> None:
        self._client = client
        self._prefix = prefix

    def add_to(self, routes: Routes) -> None:
        """Add the routes."""
        one = self._prefix + r"/{id:-?[0-9]+}/"
        for command, path in _PATHS:
            routes.add("POST", one + path, self._handler(command))
        routes.add("DELETE", one + _PAIRING, self.unpair)
        routes.add("POST", self._prefix + "/bluetooth/search", self.search)
        routes.add("GET HEAD", self._prefix + "/bluetooth/devices", self.devices)

    def _handler(self, command: DeviceCommand) -> Handler:
        """The handler of a command's route."""

        @own_site_only
        @Operation(
            command.name,
            "power",
            reads=(path_id, query_wait),
            body=PairingInput if command is PAIR else None,
            is_body_optional=True,
            text=_TEXTS[command.name],
            status=202,
            answer=DeviceJson,
            further={200: "With `wait`: it has ended."},
            further_types={200: DeviceJson},
            headers={"Content-Location": "The device's address."},
            errors=tuple(
                dict.fromkeys((*_OF_ALL, *command.errors, *((PAYLOAD_TOO_LARGE,) if command is PAIR else ())))
            ),
        )
        async def handle(request: web.Request) -> web.StreamResponse:
            client = available(self._client)
            device_id = known_device(client, path_id(request)).id
            wait_s = query_wait(request)
            texts = await _address(request) if command is PAIR else {}
            outcome = await carry_out(client, command, device_id, texts, wait_s=wait_s)
            device = known_device(client, device_id)
            return json_response(
                DeviceJson.of(device),
                status=200 if outcome.is_done else 202,
                headers={"Content-Location": f"{self._prefix}/{device_id}/"},
            )

        return handle

    @own_site_only
    @Operation(
        "unpair",
        "power",
        reads=(path_id,),
        status=204,
        errors=tuple(dict.fromkeys((*_OF_ALL, *UNPAIR.errors))),
    )
    async def unpair(self, request: web.Request) -> web.Response:
        """Forget the pairing with a camera, and end one that runs.

        Forgetting a camera that is not paired changes nothing.
        """
        client = available(self._client)
        await carry_out(client, UNPAIR, known_device(client, path_id(request)).id)
        return web.Response(status=204)

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


async def _address(request: web.Request) -> Mapping[str, str]:
    """The address in the body, if there is one."""
    if not request.can_read_body:
        return {}
    body = await json_body(request)
    if not isinstance(body, dict) or not isinstance(body.get("address", ""), str):
        raise invalid(_NO_BODY)
    return {"address": body["address"]} if "address" in body else {}
