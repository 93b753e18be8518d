"""An emulated GoPro, by requests as documents have them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.simulator.emulators.served import ServedCamera, http, served
from wifimgrd.domain.camera import CameraDriver, StopReason
from wifimgrd.simulator.emulators._camera import CameraSettings
from wifimgrd.simulator.emulators._gopro import GoProEmulator

HERO9 = CameraSettings(model="HERO9 Black", firmware_version="HD9.01.01.72.00")


async def get(one: ServedCamera, target: str) -> tuple[int, Any]:
    return await http(await one.connect(8080), "GET", target)


async def status(one: ServedCamera) -> Any:
    return (await get(one, "/gopro/camera/state"))[1]["status"]


async def test_state() -> None:
    async with served(CameraDriver.GOPRO, CameraSettings(card_bytes=32_000_000_000)) as one:
        told = await status(one)
        named = {"battery": "70", "encoding": "10", "busy": "8", "card": "33", "left_s": "35", "hot": "6"}
        assert {name: told[key] for name, key in named.items()} == {
            "battery": 80,
            "encoding": 0,
            "busy": 0,
            "card": 0,
            "left_s": 2560,
            "hot": 0,
        }
        assert (told["54"], told["117"]) == (31_250_000, 31_250_000)


async def test_a_recording_from_its_start_to_its_file() -> None:
    async with served(CameraDriver.GOPRO) as one:
        assert await get(one, "/gopro/camera/shutter/start") == (200, {})
        one.clock.passed_s = 12.5
        told = await status(one)
        assert (told["10"], told["13"]) == (1, 12)
        assert (await get(one, "/gopro/camera/shutter/start"))[0] == 500
        assert (await get(one, "/gopro/camera/setting?setting=59&option=4"))[0] == 500
        assert (await get(one, "/gopro/camera/set_date_time?date=2024_1_5&time=1_2_3"))[0] == 500
        assert await get(one, "/gopro/camera/shutter/stop") == (200, {})
        assert await get(one, "/gopro/camera/shutter/stop") == (200, {})
        _, media = await get(one, "/gopro/media/list")
        assert media["media"][0]["d"] == "100GOPRO"
        [file] = media["media"][0]["fs"]
        assert (file["n"], file["s"]) == ("GX010001.MP4", "156250000")


async def test_the_newest_file_and_what_it_is() -> None:
    async with served(CameraDriver.GOPRO) as one:
        assert await get(one, "/gopro/media/last_captured") == (204, None)
        one.camera.start()
        one.clock.passed_s = 12.5
        one.camera.stop()
        found = await get(one, "/gopro/media/last_captured")
        assert found == (200, {"file": "GX010001.MP4", "folder": "100GOPRO"})
        _, told = await get(one, "/gopro/media/info?path=100GOPRO/GX010001.MP4")
        assert (told["s"], told["dur"]) == ("156250000", "12")
        assert (await get(one, "/gopro/media/info?path=100GOPRO/GX010002.MP4"))[0] == 404


async def test_a_long_recording_has_chapters_of_4_gb_by_local_time() -> None:
    async with served(CameraDriver.GOPRO) as one:
        one.camera.set_zone(-90)
        began_s = one.camera.clock_s
        one.camera.start()
        one.clock.passed_s = 400
        one.camera.stop()
        files = (await get(one, "/gopro/media/list"))[1]["media"][0]["fs"]
        assert [(file["n"], file["s"]) for file in files] == [
            ("GX010001.MP4", "4000000000"),
            ("GX020001.MP4", "1000000000"),
        ]
        assert [int(file["cre"]) - int(began_s) for file in files] == [-5400, -5400 + 320]


@pytest.mark.parametrize(
    ("settings", "key", "value"),
    [
        (CameraSettings(card_bytes=0), "33", 2),
        (CameraSettings(card_free_bytes=0), "33", 1),
        (CameraSettings(temperature_c=75), "6", 1),
        (CameraSettings(temperature_c=-5), "85", 1),
        (CameraSettings(charging=True), "2", 4),
    ],
)
async def test_what_is_wrong(settings: CameraSettings, key: str, value: int) -> None:
    async with served(CameraDriver.GOPRO, settings) as one:
        assert (await status(one))[key] == value


async def test_a_slow_card() -> None:
    async with served(CameraDriver.GOPRO) as one:
        one.camera.set_card(slow=True)
        assert (await status(one))["111"] == 1
    async with served(CameraDriver.GOPRO, HERO9) as one:
        assert "111" not in await status(one)


async def test_refused_with_a_full_card() -> None:
    async with served(CameraDriver.GOPRO, CameraSettings(card_free_bytes=0)) as one:
        assert (await get(one, "/gopro/camera/shutter/start"))[0] == 500


async def test_the_clock_with_its_zone() -> None:
    async with served(CameraDriver.GOPRO) as one:
        target = "/gopro/camera/set_date_time?date=2024_07_05&time=09_08_07&tzone=-480&dst=0"
        assert await get(one, target) == (200, {})
        one.clock.passed_s = 3
        told = (await get(one, "/gopro/camera/get_date_time"))[1]
        assert told == {"date": "2024_07_05", "time": "09_08_10", "dst": 0, "tzone": -480}
        for wrong in ("date=2024_02_30&time=1_1_1", "date=2024_1_1&time=25_1_1", "date=x&time=1_1_1", ""):
            assert (await get(one, f"/gopro/camera/set_date_time?{wrong}"))[0] == 400


async def test_older_models_have_fewer_routes_and_no_zone() -> None:
    async with served(CameraDriver.GOPRO, HERO9) as one:
        assert (await get(one, "/gopro/camera/info"))[0] == 404
        assert (await get(one, "/gopro/camera/get_date_time"))[0] == 404
        await get(one, "/gopro/camera/set_date_time?date=2024_07_05&time=09_08_07&tzone=-480&dst=0")
        assert one.camera.zone_min == 0
        assert (await get(one, "/gp/gpControl"))[1]["info"]["model_name"] == "HERO9 Black"


async def test_settings() -> None:
    async with served(CameraDriver.GOPRO) as one:
        assert await get(one, "/gopro/camera/setting?setting=59&option=4") == (200, {})
        assert (await get(one, "/gopro/camera/state"))[1]["settings"]["59"] == 4
        refused, told = await get(one, "/gopro/camera/setting?setting=59&option=99")
        assert refused == 403
        assert [option["id"] for option in told["supported_options"]] == [0, 1, 4, 6, 7]
        assert (await get(one, "/gopro/camera/setting?setting=9999&option=1"))[0] == 403
        assert await get(one, "/gp/gpControl/setting/59/0") == (200, {})


async def test_what_older_programs_ask_for() -> None:
    async with served(CameraDriver.GOPRO) as one:
        await get(one, "/gp/gpControl/command/shutter?p=1")
        assert (await get(one, "/gp/gpControl/status"))[1]["status"]["8"] == 1
        await get(one, "/gp/gpControl/command/shutter?p=0")
        # 2024-11-03 10:05:09
        assert (await get(one, "/gp/gpControl/command/setup/date_time?p=%18%b%3%a%5%9"))[0] == 200
        assert (await get(one, "/gopro/camera/get_date_time"))[1]["date"] == "2024_11_03"
        assert (await get(one, "/gp/gpControl/command/setup/date_time?p=%18%b"))[0] == 400


async def test_streams_and_what_keeps_it_awake() -> None:
    async with served(CameraDriver.GOPRO) as one:
        await get(one, "/gopro/camera/stream/start?port=8554")
        await get(one, "/gopro/media/turbo_transfer?p=1")
        await get(one, "/gopro/camera/control/set_ui_controller?p=2")
        told = await status(one)
        assert (told["32"], told["113"], told["114"]) == (1, 1, 2)
        await get(one, "/gopro/camera/stream/stop")
        assert (await status(one))["32"] == 0
        await get(one, "/gopro/camera/keep_alive")
        assert isinstance(one.emulator, GoProEmulator)
        assert one.emulator.keep_alives == 1


async def test_it_goes_to_sleep_and_its_recording_ends() -> None:
    async with served(CameraDriver.GOPRO) as one:
        slept: list[bool] = []
        one.camera.on_sleep = lambda: slept.append(True)
        await get(one, "/gopro/camera/shutter/start")
        assert (await get(one, "/gp/gpControl/command/system/sleep"))[0] == 200
        assert slept
        assert one.camera.last_ended is not None
        assert one.camera.last_ended.reason is StopReason.STOPPED


async def test_unknown_routes_and_methods() -> None:
    async with served(CameraDriver.GOPRO) as one:
        assert (await get(one, "/gopro/camera/nothing"))[0] == 404
        assert (await http(await one.connect(8080), "POST", "/gopro/camera/state"))[0] == 404


async def test_one_connection_takes_request_after_request() -> None:
    async with served(CameraDriver.GOPRO) as one:
        streams = await one.connect(8080)
        for _ in range(3):
            assert (await http(streams, "GET", "/gopro/version")) == (200, {"version": "2.0"})
        await http(streams, "GET", "/gopro/version", Connection="close")
        assert await streams[0].read() == b""
