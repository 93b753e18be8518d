"""What goes over the bus of what a camera says of itself, and what is dropped on the way."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from wifimgrd.bus.library import unpack
from wifimgrd.domain.camera import (
    BatteryState,
    CameraReading,
    RecordingState,
    StopReason,
    StorageState,
    TemperatureState,
)
from wifimgrd.wire.camera_readings import LONGEST_TEXT, decode, encode

WHOLE = CameraReading(
    read_us=1_800_000_000_000_000,
    battery_level=0,
    battery_state=BatteryState.CHARGING,
    recording=RecordingState.IDLE,
    recording_since_us=1,
    recorded_s=3,
    stop_reason=StopReason.SLOW_CARD,
    storage_state=StorageState.OK,
    storage_free=0,
    storage_total=1 << 40,
    time_left_s=0,
    temperature=TemperatureState.TOO_HOT,
    clock_offset_us=-1_800_000_000_000_000,
    clock_read_us=2,
    clock_bound_us=40_000,
    clock_drift_ppm=-7,
    model="HERO13 Black",
    serial_number="C3501",
    firmware_version="H24.01.02",
)


def sent(reading: CameraReading) -> dict[str, Any]:
    values = unpack(encode(reading))
    assert isinstance(values, dict)
    return values


def test_each_value_arrives() -> None:
    assert len(sent(WHOLE)) == len(fields(CameraReading))
    assert decode(sent(WHOLE)) == WHOLE


def test_what_is_not_known_is_left_out_and_is_never_0() -> None:
    assert sent(CameraReading(read_us=5)) == {"read_us": 5, "clock_read_us": 0}
    assert decode({}) == CameraReading()


BAD: list[tuple[str, object]] = [
    ("read_us", -1),
    ("read_us", 1 << 63),
    ("read_us", 1.5),
    ("battery_level", -1),
    ("battery_level", 101),
    ("battery_level", True),
    ("battery_level", "80"),
    ("battery_level", float("nan")),
    ("battery_state", "full"),
    ("battery_state", ["charging"]),
    ("recording", True),
    ("recording", "paused"),
    ("recording_since_us", -1),
    ("stop_reason", ""),
    ("storage_state", {"ok": 1}),
    ("storage_free", 1 << 63),
    ("storage_total", -1),
    ("time_left_s", 1 << 40),
    ("temperature", 40),
    ("clock_offset_us", 1 << 62),
    ("clock_offset_us", -(1 << 62)),
    ("model", "x" * (LONGEST_TEXT + 1)),
    ("model", "a\nb"),
    ("model", "\u202ea"),
    ("serial_number", b"\xff"),
    ("firmware_version", None),
]


@pytest.mark.parametrize(("name", "value"), BAD)
def test_a_bad_value_is_left_out_on_both_sides_and_the_others_are_not(name: str, value: Any) -> None:
    arrived = decode({"battery_level": 50, "model": "X4", "nonsense": 1} | {name: value})
    assert getattr(arrived, name) == getattr(CameraReading(), name)
    assert 50 in (arrived.battery_level, getattr(arrived, name)) or name == "battery_level"
    assert arrived.model == ("" if name == "model" else "X4")
    bad = CameraReading(**{name: value})
    assert name not in sent(bad)
