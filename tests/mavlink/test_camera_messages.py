"""What stations are shown of a camera, as pymavlink reads it."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from tests.mavlink.scripted_hub import device
from tests.mavlink.station import mavlink, text_of
from wifimgrd.domain.records import DeviceRecord
from wifimgrd.mavlink import _frames as wire
from wifimgrd.mavlink._cameras import camera_message, heartbeat

NOW_US = 1_800_000_000_000_000
GIB = 1 << 30


def shown(message: wire.Message, of: DeviceRecord) -> Any:
    packed = wire.frame(message, camera_message(message, of, NOW_US), 1, 100, 0)
    [found] = mavlink.MAVLink(None).parse_buffer(packed)
    return found


@pytest.mark.parametrize(
    ("of", "status"),
    [(device(1), 4), (device(1, connected=False), 3), (replace(device(1), state="connecting"), 3)],
)
def test_a_heartbeat_is_that_of_a_camera(of: DeviceRecord, status: int) -> None:
    [found] = mavlink.MAVLink(None).parse_buffer(wire.frame(wire.HEARTBEAT, heartbeat(of), 1, 100, 0))
    assert (found.type, found.autopilot, found.base_mode, found.custom_mode) == (30, 8, 0, 0)
    assert (found.system_status, found.mavlink_version) == (status, 3)


def test_the_label_is_the_devices_name() -> None:
    of = device(1, "Bug \u00e4", model="HERO12 Black", firmware_version="H23.01.02.20.00")
    found = shown(wire.CAMERA_INFORMATION, of)
    assert text_of(found.model_name) == "Bug \u00e4"
    assert text_of(found.vendor_name) == "HERO12 Black"
    assert found.firmware_version == 23 | 1 << 8 | 2 << 16 | 20 << 24
    assert found.flags == 1
    assert all(map(math.isnan, (found.focal_length, found.sensor_size_h, found.sensor_size_v)))
    nothing = (found.resolution_h, found.resolution_v, found.lens_id, found.gimbal_device_id)
    assert nothing == (0, 0, 0, 0)
    assert (found.camera_device_id, found.cam_definition_version, found.cam_definition_uri) == (0, 0, "")


def test_without_what_the_camera_says_the_model_is_that_of_the_catalog() -> None:
    assert text_of(shown(wire.CAMERA_INFORMATION, device(1)).vendor_name) == "gopro-hero12"


def test_a_long_name_ends_with_a_zero_and_a_whole_letter() -> None:
    found = shown(wire.CAMERA_INFORMATION, device(1, "n" * 30 + "\u00e4\u00e4"))
    assert text_of(found.model_name) == "n" * 30
    assert len(found.model_name) == 32


@pytest.mark.parametrize(
    ("version", "number"),
    [("1.2.3", 1 | 2 << 8 | 3 << 16), ("v1.1.6_build8", 1 | 1 << 8 | 6 << 16 | 8 << 24), (None, 0), ("", 0),
     ("unknown", 0), ("2025.9", 0), ("9" * 5000, 0)],
)  # fmt: skip
def test_a_version_has_the_major_number_in_its_lowest_byte(version: str | None, number: int) -> None:
    of = device(1, firmware_version=version)
    assert shown(wire.CAMERA_INFORMATION, of).firmware_version == number


def test_the_mode_is_video() -> None:
    found = shown(wire.CAMERA_SETTINGS, device(1))
    assert found.mode_id == 1
    assert math.isnan(found.zoomLevel)
    assert math.isnan(found.focusLevel)


@pytest.mark.parametrize(
    ("values", "status", "total", "used", "free"),
    [
        (
            {"storage_state": "ok", "storage_total": 64 * GIB, "storage_free": 16 * GIB},
            2,
            65536,
            49152,
            16384,
        ),
        ({"storage_state": "full", "storage_total": 64 * GIB, "storage_free": 0}, 2, 65536, 65536, 0),
        ({"storage_state": "missing"}, 0, 0, 0, 0),
        ({"storage_state": "error", "storage_total": GIB, "storage_free": GIB}, 3, 0, 0, 0),
        ({"storage_state": "ok", "storage_free": GIB}, 3, 0, 0, 0),
        ({}, 3, 0, 0, 0),
        ({"connected": False}, 3, 0, 0, 0),
    ],
)
def test_storage_is_in_mebibytes_or_not_told(
    values: dict[str, Any], status: int, total: int, used: int, free: int
) -> None:
    found = shown(wire.STORAGE_INFORMATION, device(1, **values))
    assert (found.storage_id, found.storage_count, found.status) == (1, 1, status)
    assert (found.total_capacity, found.used_capacity, found.available_capacity) == (total, used, free)


@pytest.mark.parametrize(
    ("state", "since_us", "video", "lasted_ms"),
    [
        ("recording", NOW_US - 90_000_000, 1, 90_000),
        ("recording", NOW_US, 1, 1),  # zero would mean "not available"
        ("recording", NOW_US + 5_000_000, 1, 1),
        ("recording", 0, 1, 2**32 - 1),
        ("recording", None, 1, 0),
        ("idle", NOW_US - 90_000_000, 0, 0),
        (None, None, 0, 0),
    ],
)
def test_the_status_is_whether_it_records_and_since_when(
    state: str | None, since_us: int | None, video: int, lasted_ms: int
) -> None:
    of = device(1, recording_state=state, recording_since=since_us, storage_free=GIB)
    found = shown(wire.CAMERA_CAPTURE_STATUS, of)
    assert (found.video_status, found.recording_time_ms) == (video, lasted_ms)
    assert (found.image_status, found.image_count, found.available_capacity) == (0, 0, 1024)
