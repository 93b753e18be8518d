"""The state that connected cameras report, and recording on one and on many."""

from __future__ import annotations

from typing import Final

from aiohttp import web

from wifimgrd.client.commands import available, carry_out, known_device, recording_order
from wifimgrd.client.hub import HubClient
from wifimgrd.client.json_members import CameraJson, ResultJson, ResultsJson
from wifimgrd.domain.commands import START_RECORDING, STOP_RECORDING
from wifimgrd.domain.errors import ErrorCode, NotSupported
from wifimgrd.domain.records import CameraRecord, DeviceRecord
from wifimgrd.http._errors import PAYLOAD_TOO_LARGE
from wifimgrd.http._json_text import json_response
from wifimgrd.http._operations import Operation
from wifimgrd.http._requests import invalid, json_body, path_id
from wifimgrd.http._routes import Routes
from wifimgrd.http.access.request_safety import own_site_only
from wifimgrd.http.api.body_types import RecordingInput, RecordingOfMany

_READS: Final = (ErrorCode.DEVICE_NOT_FOUND, ErrorCode.NOT_SUPPORTED, ErrorCode.BACKEND_UNAVAILABLE)
_WANTED: Final = 'The body must be an object: {"recording": true} or {"recording": false}.'


class Recording:
    """The resources at `P/{id}/camera` and `recording`, and at `P/recording`."""

    def __init__(self, client: HubClient, prefix: str) -> None:
        self._client = client
        self._prefix = prefix

    def add_to(self, routes: Routes) -> None:
        """Add the routes."""
        one = self._prefix + r"/{id:-?[0-9]+}/"
        routes.add("GET HEAD", one + "camera", self.camera)
        routes.add("GET HEAD", one + "recording", self.recording)
        routes.add("PUT", one + "recording", self.record)
        routes.add("POST", self._prefix + "/recording", self.record_on_many)

    @Operation("get_camera", "control", reads=(path_id,), answer=CameraJson, errors=_READS)
    async def camera(self, request: web.Request) -> web.Response:
        """The state that a camera reports: battery, card, recording, temperature, clock.

        Models without a driver are `not-supported`. Once the link has ended, battery and card keep their last
        values.
        """
        return self._answer(path_id(request))

    @Operation("get_recording", "control", reads=(path_id,), answer=CameraJson, errors=_READS)
    async def recording(self, request: web.Request) -> web.Response:
        """Whether a camera records, with all else that it says of itself."""
        return self._answer(path_id(request))

    @own_site_only
    @Operation(
        "record",
        "control",
        reads=(path_id,),
        body=RecordingInput,
        answer=CameraJson,
        errors=tuple(dict.fromkeys((*_READS, *START_RECORDING.errors, PAYLOAD_TOO_LARGE))),
    )
    async def record(self, request: web.Request) -> web.Response:
        """Start or stop recording on one camera.

        Answers when the camera has, at most 10 s later. A camera that does so already goes on with it.
        """
        client = available(self._client)
        device_id = known_device(client, path_id(request)).id
        body = await json_body(request)
        on = body.get("recording") if isinstance(body, dict) else None
        if not isinstance(on, bool):
            raise invalid(_WANTED)
        await carry_out(client, START_RECORDING if on else STOP_RECORDING, device_id)
        return self._answer(device_id)

    @own_site_only
    @Operation(
        "record_on_many",
        "control",
        body=RecordingOfMany,
        answer=ResultsJson,
        errors=(ErrorCode.BACKEND_UNAVAILABLE, PAYLOAD_TOO_LARGE),
    )
    async def record_on_many(self, request: web.Request) -> web.Response:
        """Start or stop recording on several cameras at the same moment.

        All requests are prepared, then sent together; each camera has a result of its own, and a part of them
        may fail. Answers after at most 15 s.
        """
        order = recording_order(await json_body(request), "The body")
        results = await available(self._client).record(order.device_ids, on=order.on, everyone=order.everyone)
        return json_response({"results": list(map(ResultJson.of, results))})

    def _answer(self, device_id: int) -> web.Response:
        return json_response(CameraJson.of(_camera(known_device(self._client, device_id))))


def _camera(device: DeviceRecord) -> CameraRecord:
    """The state that a camera reports; raises NotSupported."""
    if device.camera is None:
        raise NotSupported(f"the hub has no driver for cameras of the model {device.codename}")
    return device.camera
