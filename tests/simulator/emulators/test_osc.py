"""An emulated Theta: its answers have the shapes that the maker's documents have."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any, Final

import pytest

from tests.simulator.emulators.served import ServedCamera, Streams, http, served
from wifimgrd.domain.camera import CameraDriver, StorageState
from wifimgrd.simulator.emulators._camera import CameraSettings

THETA_X: Final = CameraSettings(model="RICOH THETA X", serial_number="YR1", firmware_version="2.63.0")
THETA_S: Final = CameraSettings(model="RICOH THETA S", serial_number="00001234", firmware_version="1.82")

# Type by member, after https://github.com/ricohapi/theta-api-specs (Web API v2.1, protocols), which
# https://github.com/ricohapi/fake-theta follows; those that only some models have are left out.
INFO: Final[dict[str, Any]] = {
    "manufacturer": str,
    "model": str,
    "serialNumber": str,
    "firmwareVersion": str,
    "supportUrl": str,
    "apiLevel": [int],
    "endpoints": {"httpPort": int, "httpUpdatesPort": int},
    "gps": bool,
    "gyro": bool,
    "uptime": int,
    "api": [str],
}
STATE: Final[dict[str, Any]] = {
    "fingerprint": str,
    "state": {
        "batteryLevel": float,
        "storageUri": str,
        "_captureStatus": str,
        "_recordedTime": int,
        "_recordableTime": int,
        "_latestFileUrl": str,
        "_batteryState": str,
        "_apiVersion": int,
        "_cameraError": [str],
    },
}
STATE_OF_S: Final[dict[str, Any]] = STATE | {
    "state": {name: kind for name, kind in STATE["state"].items() if name != "_cameraError"}
}
"""It has no errors: https://github.com/ricohapi/theta-client has recorded its states."""
OLD_STATE: Final[dict[str, Any]] = {
    "fingerprint": str,
    "state": {
        "sessionId": str,
        "batteryLevel": float,
        "storageChanged": bool,
        "_captureStatus": str,
        "_recordedTime": int,
        "_recordableTime": int,
        "_latestFileUri": str,
        "_batteryState": str,
    },
}
OPTIONS: Final[dict[str, Any]] = {
    "name": str,
    "state": str,
    "results": {
        "options": {
            "captureMode": str,
            "remainingSpace": int,
            "totalSpace": int,
            "remainingVideoSeconds": int,
            "dateTimeZone": str,
            "offDelay": int,
            "sleepDelay": int,
            "clientVersion": int,
        }
    },
}
STOPPED: Final[dict[str, Any]] = {"name": str, "state": str, "results": {"fileUrls": [str]}}
ERROR: Final[dict[str, Any]] = {"state": str, "error": {"code": str, "message": str}}


def has_shape(content: Any, shape: Any) -> bool:
    """Whether content has every member that the shape has, each of its type."""
    if isinstance(shape, dict):
        return isinstance(content, dict) and all(
            key in content and has_shape(content[key], value) for key, value in shape.items()
        )
    if isinstance(shape, list):
        return isinstance(content, list) and all(has_shape(one, shape[0]) for one in content)
    return type(content) is shape


async def state(streams: Streams) -> Any:
    return (await http(streams, "POST", "/osc/state"))[1]


async def execute(streams: Streams, name: str, **parameters: object) -> tuple[int, Any]:
    return await http(streams, "POST", "/osc/commands/execute", {"name": name, "parameters": parameters})


async def options(streams: Streams, *names: str) -> Any:
    return (await execute(streams, "camera.getOptions", optionNames=list(names)))[1]["results"]["options"]


async def in_video_mode(one: ServedCamera) -> Streams:
    streams = await one.connect(80)
    done = {"name": "camera.setOptions", "state": "done"}
    assert await execute(streams, "camera.setOptions", options={"captureMode": "video"}) == (200, done)
    return streams


async def test_answers_have_the_documented_shapes() -> None:
    async with served(CameraDriver.OSC, THETA_X) as one:
        streams = await in_video_mode(one)
        assert has_shape((await http(streams, "GET", "/osc/info"))[1], INFO)
        assert has_shape(await state(streams), STATE)
        updates = await http(streams, "POST", "/osc/checkForUpdates", {"stateFingerprint": "FIG_0001"})
        assert has_shape(updates[1], {"stateFingerprint": str})
        wanted = list(OPTIONS["results"]["options"])
        assert has_shape((await execute(streams, "camera.getOptions", optionNames=wanted))[1], OPTIONS)
        assert await execute(streams, "camera.startCapture") == (
            200,
            {"name": "camera.startCapture", "state": "done"},
        )
        assert has_shape((await execute(streams, "camera.stopCapture"))[1], STOPPED)
        assert has_shape((await execute(streams, "camera.nothing"))[1], ERROR)


async def test_the_shapes_say_what_differs() -> None:
    assert not has_shape({"a": 1}, {"a": str})
    assert not has_shape({}, {"a": str})
    assert not has_shape(["x", 1], [str])


async def test_a_recording() -> None:
    async with served(CameraDriver.OSC, THETA_X) as one:
        streams = await in_video_mode(one)
        assert (await state(streams))["state"]["_captureStatus"] == "idle"
        await execute(streams, "camera.startCapture")
        one.clock.passed_s = 9
        told = (await state(streams))["state"]
        assert (told["_captureStatus"], told["_recordedTime"]) == ("shooting", 9)
        assert told["_recordableTime"] == 5111
        assert (await execute(streams, "camera.startCapture"))[0] == 403
        refused, told = await execute(streams, "camera.setOptions", options={"captureMode": "image"})
        assert (refused, told["error"]["code"]) == (403, "disabledCommand")
        _, told = await execute(streams, "camera.stopCapture")
        assert told["results"]["fileUrls"][0].endswith(".MP4")
        assert (await state(streams))["state"]["_latestFileUrl"] == told["results"]["fileUrls"][0]
        assert (await execute(streams, "camera.stopCapture"))[0] == 403


async def test_its_newest_videos_come_first() -> None:
    async with served(CameraDriver.OSC, THETA_X) as one:
        streams = await in_video_mode(one)
        for _ in range(3):
            one.camera.start()
            one.clock.passed_s += 20
            one.camera.stop()
        wanted: dict[str, Any] = {"fileType": "video", "entryCount": 2, "maxThumbSize": 0}
        results = (await execute(streams, "camera.listFiles", **wanted))[1]["results"]
        assert (results["totalEntries"], len(results["entries"])) == (3, 2)
        newest = results["entries"][0]
        assert (newest["name"], newest["size"], newest["_recordTime"]) == ("R0010003.MP4", 250_000_000, 20)
        assert newest["fileUrl"] == (await state(streams))["state"]["_latestFileUrl"]
        images = await execute(streams, "camera.listFiles", **wanted | {"fileType": "image"})
        assert images[1]["results"] == {"entries": [], "totalEntries": 0}
        for wrong in ({"entryCount": 0}, {"fileType": "x"}, {"entryCount": "1"}):
            assert (await execute(streams, "camera.listFiles", **wanted | wrong))[0] == 400
        one.camera.start()
        assert (await execute(streams, "camera.listFiles", **wanted))[0] == 403


async def test_it_records_in_the_right_mode_only() -> None:
    async with served(CameraDriver.OSC, THETA_X) as one:
        refused, told = await execute(await one.connect(80), "camera.startCapture")
        assert (refused, told["error"]["code"]) == (403, "disabledCommand")


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        (replace(THETA_X, card_free_bytes=0), "NO_MEMORY"),
        (replace(THETA_X, card_bytes=0), "READ_ERROR"),
        (replace(THETA_X, model="RICOH THETA Z1", card_bytes=0), "INTERNAL_MEM_ACCESS_FAIL"),
        (replace(THETA_X, temperature_c=62), "HIGH_TEMPERATURE_WARNING"),
        (replace(THETA_X, temperature_c=75), "HIGH_TEMPERATURE"),
    ],
)
async def test_what_is_wrong(settings: CameraSettings, code: str) -> None:
    async with served(CameraDriver.OSC, settings) as one:
        assert (await state(await one.connect(80)))["state"]["_cameraError"] == [code]


async def test_the_clock_is_set_alone() -> None:
    async with served(CameraDriver.OSC, THETA_X) as one:
        streams = await one.connect(80)
        set_to = {"dateTimeZone": "2024:05:18 01:04:29-03:30"}
        assert (await execute(streams, "camera.setOptions", options=set_to))[0] == 200
        assert one.camera.zone_min == -210
        one.clock.passed_s = 1
        assert await options(streams, "dateTimeZone") == {"dateTimeZone": "2024:05:18 01:04:30-03:30"}
        both = set_to | {"offDelay": 600}
        assert (await execute(streams, "camera.setOptions", options=both))[0] == 400
        for wrong in ("2024:02:30 00:00:00+00:00", "now", 5, "2024:05:18 01:04:29+0000"):
            assert (await execute(streams, "camera.setOptions", options={"dateTimeZone": wrong}))[0] == 400


async def test_what_cannot_be_set() -> None:
    async with served(CameraDriver.OSC, THETA_X) as one:
        streams = await one.connect(80)
        for wrong in ({"captureMode": "dance"}, {"sleepDelay": -1}, {"offDelay": True}, {"clientVersion": 1}):
            assert (await execute(streams, "camera.setOptions", options=wrong))[0] == 400
        refused, told = await execute(streams, "camera.setOptions", options={"totalSpace": 1})
        assert (refused, told["error"]["code"]) == (400, "invalidParameterName")
        assert (await execute(streams, "camera.setOptions", options={"sleepDelay": 65535}))[0] == 200


class Preview:
    """A live preview that was begun: of a status and a type, with parts."""

    def __init__(self, streams: Streams) -> None:
        self.reader, self.writer = streams
        self.content_type = ""

    async def begin(self) -> Preview:
        body = b'{"name": "camera.getLivePreview", "parameters": {}}'
        head = b"POST /osc/commands/execute HTTP/1.1\r\nHost: camera\r\nContent-Length: %d\r\n\r\n"
        self.writer.write(head % len(body) + body)
        async with asyncio.timeout(5):
            status, *fields = (await self.reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        assert status == "HTTP/1.1 200 OK"
        self.content_type = fields[0]
        assert "Transfer-Encoding: chunked" in fields
        return self

    async def chunk(self) -> bytes:
        """The next one; empty at the end."""
        async with asyncio.timeout(5):
            length = int(await self.reader.readline(), 16)
            return (await self.reader.readexactly(length + 2))[:-2]

    async def picture(self) -> bytes:
        """That in the next part, each of which is a chunk."""
        head, _, rest = (await self.chunk()).partition(b"\r\n\r\n")
        lines = head.decode().split("\r\n")
        assert lines[:2] == ["---osclivepreview---", "Content-type: image/jpeg"]
        length = int(lines[2].removeprefix("Content-Length: "))
        assert rest[length:] == b"\r\n\r\n"
        return rest[:length]


def size_of(picture: bytes) -> tuple[int, int]:
    """By its frame header, which is the second segment here."""
    assert picture.startswith(b"\xff\xd8\xff\xdb")
    assert picture.endswith(b"\xff\xd9")
    frame = picture.index(b"\xff\xc0")
    height, width = picture[frame + 5 : frame + 7], picture[frame + 7 : frame + 9]
    return int.from_bytes(width, "big"), int.from_bytes(height, "big")


@pytest.mark.parametrize(
    ("model", "size"),
    [("RICOH THETA X", (1024, 512)), ("RICOH THETA Z1", (1024, 512)), ("RICOH THETA SC", (640, 320))],
)
async def test_the_live_preview_has_a_size_of_its_model(model: str, size: tuple[int, int]) -> None:
    async with served(CameraDriver.OSC, replace(THETA_X, model=model)) as one:
        streams = await one.connect(80)
        if model == "RICOH THETA SC":
            session = (await execute(streams, "camera.startSession"))[1]["results"]["sessionId"]
            to_2: dict[str, object] = {"clientVersion": 2}
            await execute(streams, "camera.setOptions", sessionId=session, options=to_2)
        preview = await Preview(streams).begin()
        assert preview.content_type == (
            'Content-Type: multipart/x-mixed-replace; boundary="---osclivepreview---"'
        )
        assert size_of(await preview.picture()) == size


async def test_what_it_sees_changes_and_is_its_own() -> None:
    async with (
        served(CameraDriver.OSC, THETA_X) as one,
        served(CameraDriver.OSC, replace(THETA_X, ssid="THETAYR2.OSC")) as other,
    ):
        preview = await Preview(await one.connect(80)).begin()
        first = await preview.picture()
        assert await (await Preview(await other.connect(80)).begin()).picture() != first
        one.clock.passed_s = 1
        async with asyncio.timeout(5):
            while await preview.picture() == first:
                pass


async def test_a_recording_and_another_mode_end_the_live_preview() -> None:
    async with served(CameraDriver.OSC, THETA_X) as one:
        streams = await one.connect(80)
        for name, parameters in (
            ("camera.setOptions", {"options": {"captureMode": "video"}}),
            ("camera.startCapture", {}),
        ):
            preview = await Preview(await one.connect(80)).begin()
            assert await preview.picture()
            assert (await execute(streams, name, **parameters))[0] == 200
            async with asyncio.timeout(5):
                while await preview.chunk():
                    pass
            assert (await http((preview.reader, preview.writer), "GET", "/osc/info"))[0] == 200
        refused, told = await execute(streams, "camera.getLivePreview")
        assert (refused, told["error"]["code"]) == (403, "disabledCommand")


async def test_a_theta_s_has_a_live_preview_in_its_mode_for_photos_only() -> None:
    async with served(CameraDriver.OSC, THETA_S) as one:
        streams = await one.connect(80)
        session = (await execute(streams, "camera.startSession"))[1]["results"]["sessionId"]
        to_2: dict[str, object] = {"clientVersion": 2}
        await execute(streams, "camera.setOptions", sessionId=session, options=to_2)
        await execute(streams, "camera.setOptions", options={"captureMode": "video"})
        refused, told = await execute(streams, "camera.getLivePreview")
        assert (refused, told["error"]["code"]) == (403, "disabledCommand")
        await execute(streams, "camera.setOptions", options={"captureMode": "image"})
        assert await (await Preview(streams).begin()).picture()


async def test_a_client_that_leaves_ends_its_live_preview() -> None:
    async with served(CameraDriver.OSC, THETA_X) as one:
        preview = await Preview(await one.connect(80)).begin()
        assert await preview.picture()
        preview.writer.close()


HOST = "01234567-89AB-CDEF-0123-456789ABCDEF"


async def test_a_theta_v_takes_hosts_over_its_network() -> None:
    """theta-web-api-v2.1/commands/camera._set_bluetooth_device.md, options/_bluetooth_power.md."""
    async with served(
        CameraDriver.OSC, replace(THETA_X, model="RICOH THETA V", serial_number="YL00101234")
    ) as one:
        streams = await one.connect(80)
        _, told = await execute(streams, "camera._setBluetoothDevice", uuid=HOST)
        assert told["results"] == {"deviceName": "00101234"}
        refused, told = await execute(streams, "camera._setBluetoothDevice", uuid="1")
        assert (refused, told["error"]["code"]) == (400, "invalidParameterValue")
        assert (await execute(streams, "camera.setOptions", options={"_bluetoothPower": "ON"}))[0] == 200
        assert (await execute(streams, "camera.setOptions", options={"_bluetoothPower": "on"}))[0] == 400


async def test_a_theta_x_takes_no_hosts() -> None:
    async with served(CameraDriver.OSC, THETA_X) as one:
        refused, told = await execute(await one.connect(80), "camera._setBluetoothDevice", uuid=HOST)
        assert (refused, told["error"]["code"]) == (400, "unknownCommand")


async def test_the_fingerprint_changes_with_the_state() -> None:
    async with served(CameraDriver.OSC, THETA_X) as one:
        streams = await in_video_mode(one)
        first = (await state(streams))["fingerprint"]
        assert (await state(streams))["fingerprint"] == first
        await execute(streams, "camera.startCapture")
        assert (await http(streams, "POST", "/osc/checkForUpdates"))[1]["stateFingerprint"] != first


async def test_a_theta_s_begins_at_level_1() -> None:
    async with served(CameraDriver.OSC, THETA_S) as one:
        streams = await one.connect(80)
        assert (await http(streams, "GET", "/osc/info"))[1]["apiLevel"] == [1, 2]
        assert has_shape(await state(streams), OLD_STATE)
        refused, told = await execute(streams, "camera.getOptions", optionNames=["totalSpace"])
        assert (refused, told["error"]["code"]) == (400, "missingParameter")
        _, told = await execute(streams, "camera.startSession")
        session = told["results"]["sessionId"]
        assert has_shape(told["results"], {"sessionId": str, "timeout": int})
        refused, told = await execute(
            streams, "camera.getOptions", sessionId="SID_0", optionNames=["totalSpace"]
        )
        assert (refused, told["error"]["code"]) == (403, "invalidSessionId")
        to_video: dict[str, object] = {"captureMode": "_video"}
        assert (await execute(streams, "camera.setOptions", sessionId=session, options=to_video))[0] == 200
        assert (await execute(streams, "camera.startCapture", sessionId=session))[0] == 400
        assert (await execute(streams, "camera._startCapture", sessionId=session))[0] == 200
        assert (await execute(streams, "camera._stopCapture", sessionId=session))[0] == 200
        to_2: dict[str, object] = {"clientVersion": 2}
        assert (await execute(streams, "camera.setOptions", sessionId=session, options=to_2))[0] == 200
        told = await state(streams)
        assert has_shape(told, STATE_OF_S)
        assert "_cameraError" not in told["state"]
        assert (await execute(streams, "camera.startCapture"))[0] == 200


async def test_what_is_no_command() -> None:
    async with served(CameraDriver.OSC, THETA_X) as one:
        streams = await one.connect(80)
        wrong: list[Any] = [[], "x", {"name": 5}, {"name": "camera.getOptions", "parameters": []}, None]
        for body in wrong:
            assert (await http(streams, "POST", "/osc/commands/execute", body))[0] == 400
        assert (await execute(streams, "camera.getOptions", optionNames=["totalSpace"] * 65))[0] == 400
        assert (await execute(streams, "camera.getOptions", optionNames=[{}]))[0] == 400
        assert (await http(streams, "POST", "/osc/info"))[0] == 404
        assert (await http(streams, "GET", "/osc/state"))[0] == 404


async def test_what_it_says_of_its_card_and_battery() -> None:
    async with served(CameraDriver.OSC, CameraSettings(battery=33, charging=True)) as one:
        streams = await one.connect(80)
        told = (await state(streams))["state"]
        assert (told["batteryLevel"], told["_batteryState"]) == (0.33, "charging")
        assert one.camera.storage is StorageState.OK
        assert await options(streams, "remainingSpace", "totalSpace") == {
            "remainingSpace": 64_000_000_000,
            "totalSpace": 64_000_000_000,
        }
