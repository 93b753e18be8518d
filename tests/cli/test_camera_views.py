"""What cameras say of themselves, in words."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any, Final

import pytest

from wifimgrd.cli._camera_views import camera_fields, cameras_view, problem_words, recording_count
from wifimgrd.cli._screen import Screen
from wifimgrd.cli._views import device_view, hub_view
from wifimgrd.domain.camera import Problem
from wifimgrd.domain.records import CameraRecord, DeviceRecord, ServiceRecord

NOW: Final = 1_764_000_000_000_000
GB: Final = 10**9
CAMERA: Final = CameraRecord(
    battery_level=84,
    battery_state="discharging",
    recording_state="recording",
    recording_since=NOW - 723_000_000,
    recording_requested=True,
    storage_state="ok",
    storage_free=118 * GB,
    storage_total=128 * GB,
    recording_time_left=7_800_000_000,
    temperature_state="normal",
    clock_offset=1_200_000,
    clock_read_at=NOW - 60_000_000,
    model="HERO12 Black",
    serial_number="C3501324",
    firmware_version="H23.01.01",
    read_at=NOW,
)
FRONT: Final = DeviceRecord(1, "Front", state="connected", reachable=True, camera=CAMERA)


def screen(columns: int | None = None) -> Screen:
    return Screen(json=False, out=io.StringIO(), err=io.StringIO(), columns=columns)


def fields_of(camera: CameraRecord) -> dict[str, Any]:
    found = camera_fields(replace(FRONT, camera=camera), NOW)
    return {name: getattr(value, "content", value) for name, value in found}


def test_the_hub_lists_the_cameras_that_it_can_command() -> None:
    plain = DeviceRecord(2, "Webcam", state="connected", reachable=True)
    idle = replace(CAMERA, recording_state="idle", storage_state="full", battery_state="charging")
    rear = DeviceRecord(3, "Rear", camera=replace(idle, problems=("battery-low", "storage-full", "new")))
    lines = hub_view(ServiceRecord(backend_state="ready"), [FRONT, plain, rear], [], screen(), NOW)
    assert ["Recording", "1 of 2 cameras"] in [line.split(maxsplit=1) for line in lines]
    assert lines[-4:] == [
        "",
        "CAMERA  STATE            BATTERY         CARD             READ      PROBLEMS",
        "Front   Recording 12:03  84 %            2 h 10 min left  -         -",
        "Rear    Off              84 %, charging  full             just now  battery low, card full, new",
    ]


def test_what_is_known_of_a_camera_that_is_away_has_its_age() -> None:
    away = replace(FRONT, state="disconnected", camera=replace(CAMERA, read_at=NOW - 300_000_000))
    head, row = cameras_view([away], screen(), NOW)[1:]
    assert head.split() == ["CAMERA", "STATE", "BATTERY", "CARD", "READ"]
    assert row.endswith("5 min ago")
    assert "READ" not in cameras_view([FRONT], screen(), NOW)[1]


def test_without_such_cameras_a_hub_shows_none() -> None:
    assert cameras_view([DeviceRecord(1, "Front")], screen(), NOW) == []
    assert recording_count([DeviceRecord(1, "Front")], current=True) == []
    assert camera_fields(DeviceRecord(1, "Front"), NOW) == []


def test_without_its_backend_a_hub_does_not_say_how_many_record() -> None:
    lines = hub_view(ServiceRecord(backend_state="unavailable"), [FRONT], [], screen(), NOW)
    assert not any("Recording" in line for line in lines)
    assert lines[-1].startswith("Front   Unknown, was connected  ")


def test_the_table_fits_80_columns_and_cuts_no_state() -> None:
    every = replace(CAMERA, battery_level=100, battery_state="charging", problems=tuple(Problem))
    device = replace(FRONT, name="A name that is longer than any other", camera=every)
    lines = cameras_view([device], screen(80), NOW)
    assert max(map(len, lines)) <= 80
    assert "Not recording  100 %, charging  2 h 10 min left" in lines[2]
    assert "…" not in "".join(lines)
    said = " ".join(" ".join(lines).split())
    assert all(problem_words(one) in said for one in Problem)


def test_all_that_is_known_of_a_camera() -> None:
    known = fields_of(CAMERA)
    assert known["Recording"].startswith("since 20")
    assert known["Recording"].endswith("(12 min ago)")
    assert known["Battery"] == "84 %"
    assert known["Card"] == "118 GB of 128 GB free, 2 h 10 min left"
    assert known["Temperature"] == "normal"
    assert known["Clock"].startswith("1.20 s fast, read 20")
    assert known["Camera says it is"] == "HERO12 Black, firmware H23.01.01, serial number C3501324"
    assert any("118 GB" in line for line in device_view(FRONT, screen(), NOW))


def test_what_is_not_known_is_a_dash() -> None:
    assert set(fields_of(CameraRecord()).values()) == {None}
    *_, row = cameras_view([DeviceRecord(1, "Front", camera=CameraRecord())], screen(), NOW)
    assert row.split() == ["Front", "Off", "-", "-"]


@pytest.mark.parametrize(
    ("changes", "card"),
    [
        ({"storage_state": "missing"}, "none"),
        ({"storage_state": "error"}, "unusable"),
        ({"storage_state": "slow"}, "too slow"),
        ({"recording_time_left": 59_000_000}, "59 s left"),
        ({"recording_time_left": 3_600_000_000}, "1 h left"),
        ({"recording_time_left": 0}, "0 s left"),
        ({"recording_time_left": None}, "118 GB free"),
        ({"recording_time_left": None, "storage_free": 1_540_000_000}, "1.5 GB free"),
        ({"recording_time_left": None, "storage_free": 95_990_000_000}, "95 GB free"),
        ({"recording_time_left": None, "storage_free": 999}, "999 bytes free"),
        ({"recording_time_left": None, "storage_free": 0}, "0 bytes free"),
        ({"recording_time_left": None, "storage_free": None}, "-"),
    ],
)
def test_the_card_is_a_state_or_a_time_or_a_space(changes: dict[str, Any], card: str) -> None:
    idle = replace(CAMERA, battery_level=None, recording_state="idle", **changes)
    *_, row = cameras_view([replace(FRONT, camera=idle)], screen(), NOW)
    assert row == f"Front   Connected  -        {card}"


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"recording_since": None}, "yes"),
        ({"recording_state": "idle"}, "no, though it was told to"),
        ({"recording_state": "idle", "recording_requested": False}, "no"),
        ({"recording_state": None}, None),
    ],
)
def test_whether_it_records(changes: dict[str, Any], word: str | None) -> None:
    assert fields_of(replace(CAMERA, **changes))["Recording"] == word


@pytest.mark.parametrize(
    ("offset_us", "bound_us", "words"),
    [
        (0, 8_000, "0.00 s slow \u00b1 0.01 s"),
        (-90_000_000, None, "90.00 s slow"),
        (499_000, 40_000, "0.50 s fast \u00b1 0.05 s"),
        (-43_000, 14_000, "0.04 s slow \u00b1 0.02 s"),
    ],
)
def test_how_wrong_its_clock_is(offset_us: int, bound_us: int | None, words: str) -> None:
    camera = replace(CAMERA, clock_offset=offset_us, clock_bound=bound_us)
    assert fields_of(camera)["Clock"].startswith(f"{words}, read ")
