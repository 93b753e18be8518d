"""What cameras say of themselves, recording on one and on many, and their clocks, by HTTP."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.http.fake_hub import FakeHub
from tests.http.served import P, Served
from wifimgrd.domain.errors import CameraBusy, CameraRefused, NotConnected
from wifimgrd.domain.records import CameraRecord, DeviceRecord, ResultRecord
from wifimgrd.domain.rig import Everyone

UNKNOWN: dict[str, Any] = {
    "battery_level": None,
    "battery_state": None,
    "recording": None,
    "recording_since": None,
    "recording_requested": False,
    "storage_state": None,
    "storage_free": None,
    "storage_total": None,
    "recording_time_left_s": None,
    "temperature_state": None,
    "clock_offset_ms": None,
    "clock_bound_ms": None,
    "clock_read_at": None,
    "model": None,
    "serial_number": None,
    "firmware_version": None,
    "problems": [],
    "read_at": None,
}
KNOWN = CameraRecord(
    battery_level=0,
    battery_state="discharging",
    recording_state="recording",
    recording_since=1_700_000_000_000_000,
    recording_requested=True,
    storage_state="ok",
    storage_free=0,
    storage_total=64_000_000_000,
    recording_time_left=61_500_000,
    temperature_state="normal",
    clock_offset=-1_500_000,
    clock_read_at=1_700_000_000_000_000,
    model="HERO12 Black",
    problems=("battery-low",),
    read_at=1_700_000_001_000_000,
)


def device(camera: CameraRecord | None) -> DeviceRecord:
    return DeviceRecord(1, codename="gopro-hero12", state="connected", camera=camera)


async def test_what_is_not_known_is_null_and_not_zero(served: Served, fake_hub: FakeHub) -> None:
    fake_hub.appear(device(CameraRecord()))
    assert (await served.get(f"{P}/1/camera")).json == UNKNOWN
    assert (await served.get(f"{P}/1/recording/")).json == UNKNOWN
    assert (await served.get(f"{P}/1")).json["camera"] == UNKNOWN


async def test_what_is_known_has_its_units(served: Served, fake_hub: FakeHub) -> None:
    fake_hub.appear(device(KNOWN))
    camera = (await served.get(f"{P}/1/camera/")).json
    assert (camera["battery_level"], camera["storage_free"], camera["recording"]) == (0, 0, True)
    assert (camera["recording_time_left_s"], camera["clock_offset_ms"]) == (61, -1500)
    assert camera["recording_since"] == "2023-11-14T22:13:20.000000Z"
    assert camera["problems"] == ["battery-low"]


async def test_an_offset_of_nothing_is_one(served: Served, fake_hub: FakeHub) -> None:
    fake_hub.appear(device(replace(KNOWN, clock_offset=0)))
    assert (await served.get(f"{P}/1/camera")).json["clock_offset_ms"] == 0


@pytest.mark.parametrize("path", ["camera", "recording"])
async def test_a_model_without_a_driver_is_not_supported(
    served: Served, fake_hub: FakeHub, path: str
) -> None:
    fake_hub.appear(device(None))
    answer = await served.get(f"{P}/1/{path}")
    assert (answer.status, answer.problem["code"]) == (409, "not-supported")
    assert (await served.get(f"{P}/1")).json["camera"] is None
    assert (await served.get(f"{P}/7/{path}")).status == 404


async def test_a_recording_is_put_and_the_camera_is_the_answer(served: Served, fake_hub: FakeHub) -> None:
    fake_hub.appear(device(KNOWN))
    answer = await served.ask("PUT", f"{P}/1/recording", json={"recording": True})
    assert (answer.status, answer.json["recording"]) == (200, True)
    assert (await served.ask("PUT", f"{P}/1/recording/", json={"recording": False})).status == 200
    assert [one[:2] for one in fake_hub.asked] == [("start_recording", 1), ("stop_recording", 1)]


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (NotConnected("it is disconnected"), 409, "not-connected"),
        (CameraBusy("it is busy"), 409, "camera-busy"),
        (CameraRefused("its card is full"), 502, "camera-refused"),
    ],
)
async def test_a_refusal_has_its_status(
    served: Served, fake_hub: FakeHub, error: Exception, status: int, code: str
) -> None:
    fake_hub.appear(device(KNOWN))
    fake_hub.answer = error
    answer = await served.ask("PUT", f"{P}/1/recording", json={"recording": True})
    assert (answer.status, answer.problem["code"], answer.problem["detail"]) == (status, code, str(error))
    answer = await served.post(f"{P}/1/clock")
    assert (answer.status, answer.problem["code"]) == (status, code)


async def test_a_clock_is_set_without_an_answer(served: Served, fake_hub: FakeHub) -> None:
    fake_hub.appear(device(KNOWN))
    assert (await served.post(f"{P}/1/clock/")).status == 204
    assert fake_hub.asked == [("set_clock", 1, 0)]


@pytest.mark.parametrize("body", [[], {}, {"recording": 1}, {"recording": "true"}, {"recording": None}])
async def test_a_recording_is_true_or_false(served: Served, fake_hub: FakeHub, body: Any) -> None:
    fake_hub.appear(device(KNOWN))
    answer = await served.ask("PUT", f"{P}/1/recording", json=body)
    assert (answer.status, answer.problem["code"]) == (400, "invalid-request")
    assert fake_hub.asked == []


async def test_many_are_recorded_at_once_each_with_a_result(served: Served, fake_hub: FakeHub) -> None:
    fake_hub.appear(device(KNOWN))
    fake_hub.results = [
        ResultRecord(device_id=1, done=True, after=41_400),
        ResultRecord(device_id=2, done=False, code="camera-refused", message="its card is full"),
    ]
    answer = await served.post(f"{P}/recording", json={"recording": True, "device_ids": [1, 2]})
    assert answer.status == 200
    assert answer.json["results"] == [
        {"device_id": 1, "done": True, "after_ms": 41, "code": None, "message": None},
        {
            "device_id": 2,
            "done": False,
            "after_ms": None,
            "code": "camera-refused",
            "message": "its card is full",
        },
    ]
    fake_hub.results = []
    bodies: list[dict[str, Any]] = [
        {"device_ids": []},
        {"all": True},
        {"all": True, "connected": True},
        {"all": False, "connected": False, "device_ids": [3]},
    ]
    for body in bodies:
        assert (await served.post(f"{P}/recording/", json={"recording": False} | body)).json == {
            "results": []
        }
    assert fake_hub.asked == [
        ("record", [1, 2], True, Everyone.NOBODY),
        ("record", [], False, Everyone.NOBODY),
        ("record", [], False, Everyone.RIG),
        ("record", [], False, Everyone.CONNECTED),
        ("record", [3], False, Everyone.NOBODY),
    ]


@pytest.mark.parametrize(
    "body",
    [
        {},
        [],
        {"recording": True},
        {"recording": True, "all": False},
        {"recording": True, "all": True, "device_ids": [1]},
        {"recording": True, "all": 1},
        {"recording": "yes", "all": True},
        {"recording": True, "device_ids": 1},
        {"recording": True, "device_ids": ["1"]},
        {"recording": True, "device_ids": [True]},
        {"recording": True, "device_ids": [0]},
        {"recording": True, "device_ids": [-1]},
        {"recording": True, "device_ids": [2**63]},
        {"recording": True, "device_ids": [1.5]},
        {"recording": True, "all": True, "connected": 1},
        {"recording": True, "device_ids": [1], "connected": True},
        {"recording": True, "connected": True},
    ],
)
async def test_what_many_cameras_are_to_do_is_said_in_one_way(
    served: Served, fake_hub: FakeHub, body: Any
) -> None:
    fake_hub.appear(device(KNOWN))
    answer = await served.post(f"{P}/recording", json=body)
    assert (answer.status, answer.problem["code"]) == (400, "invalid-request")
    assert fake_hub.asked == []


@pytest.mark.parametrize(
    ("method", "path"),
    [("POST", "1/camera"), ("POST", "1/recording"), ("GET", "1/clock"), ("GET", "recording")],
)
async def test_a_method_that_is_not_there_says_so(
    served: Served, fake_hub: FakeHub, method: str, path: str
) -> None:
    fake_hub.appear(device(KNOWN))
    assert (await served.ask(method, f"{P}/{path}")).status == 405


async def test_other_sites_may_put_only_where_they_may_change_anything(
    served: Served, fake_hub: FakeHub
) -> None:
    fake_hub.appear(device(KNOWN))
    headers = {"Origin": "https://elsewhere.example", "Sec-Fetch-Site": "cross-site"}
    answer = await served.ask("PUT", f"{P}/1/recording", json={"recording": True}, headers=headers)
    assert (answer.status, answer.problem["code"]) == (403, "not-authorized")
    assert fake_hub.asked == []
