"""States that Thetas have answered, as https://github.com/ricohapi/theta-client (MIT) has recorded them: the
members that the driver reads, and what each state means."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from tests.camera.drivers.conversations import Talk, content, http, target
from wifimgrd.camera.drivers.osc import OscDriver
from wifimgrd.domain.camera import BatteryState, CameraReading, RecordingState, StorageState, TemperatureState

S, X, Z1 = "RICOH THETA S", "RICOH THETA X", "RICOH THETA Z1"
IDLE, RECORDING = RecordingState.IDLE, RecordingState.RECORDING
OPTIONS = {"remainingSpace": 10**9, "totalSpace": 2 * 10**9, "remainingVideoSeconds": 700}


@dataclass(frozen=True)
class Recorded:
    """A state, and what is known of such a camera."""

    model: str
    level: float
    charges: str
    version: int
    errors: list[str] | None = None
    status: str = "idle"
    recordable_s: int = 0
    battery: int = 0
    temperature: TemperatureState | None = TemperatureState.NORMAL
    levels: tuple[int, ...] = (2,)

    @property
    def state(self) -> dict[str, Any]:
        told = {
            "batteryLevel": self.level,
            "_batteryState": self.charges,
            "_apiVersion": self.version,
            "_captureStatus": self.status,
            "_recordedTime": 0,
            "_recordableTime": self.recordable_s,
        }
        return told if self.errors is None else told | {"_cameraError": self.errors}


COMPASS = ["COMPASS_CALIBRATION"]
RECORDED = {
    "S, level 1": Recorded(S, 0.67, "disconnect", 1, battery=67, temperature=None, levels=(1, 2)),
    "S, level 2": Recorded(S, 0.67, "disconnect", 2, battery=67, temperature=None, levels=(1, 2)),
    "X": Recorded(
        X,
        0.33,
        "disconnect",
        2,
        ["HIGH_TEMPERATURE_WARNING"],
        battery=33,
        temperature=TemperatureState.WARNING,
    ),
    "X with GPS": Recorded(X, 0.87, "charging", 2, [], recordable_s=3694, battery=87),
    "Z1": Recorded(Z1, 0.81, "disconnect", 2, COMPASS, battery=81),
    "Z1 with GPS": Recorded(Z1, 0.95, "charging", 2, COMPASS, battery=95),
    "Z1, stills at intervals": Recorded(Z1, 0.81, "disconnect", 2, COMPASS, status="shooting", battery=81),
    "self-timer": Recorded(Z1, 0.8, "charging", 2, [], status="self-timer countdown", battery=80),
}


class Camera:
    """A camera that stays in a recorded state; a Theta S goes to level 2."""

    def __init__(self, recorded: Recorded, mode: str) -> None:
        self.recorded = recorded
        self.options = OPTIONS | {"captureMode": mode}

    def __call__(self, request: bytes) -> bytes:
        recorded = self.recorded
        match target(request):
            case "/osc/info":
                levels = list(recorded.levels)
                return http({"manufacturer": "RICOH", "model": recorded.model, "apiLevel": levels})
            case "/osc/state":
                return http({"fingerprint": "FIG_0001", "state": recorded.state})
        command = content(request)
        results: dict[str, Any] = {"sessionId": "SID_0001"}
        if command["name"] == "camera.getOptions":
            names = command["parameters"]["optionNames"]
            results = {"options": {name: self.options[name] for name in names}}
        return http({"name": command["name"], "state": "done", "results": results})


def read(recorded: Recorded, mode: str) -> list[CameraReading]:
    """Three readings, two seconds apart."""
    driver = OscDriver()
    talk, found = Talk(driver, Camera(recorded, mode)), []
    talk(driver.begin())
    for _ in range(3):
        talk(driver.read())
        found.append(driver.reading)
        talk.now_us += 2_000_000
    return found


@pytest.mark.parametrize("recorded", RECORDED.values(), ids=RECORDED)
def test_what_a_recorded_state_means(recorded: Recorded) -> None:
    [found, *_] = read(recorded, "image")
    assert (found.model, found.battery_level) == (recorded.model, recorded.battery)
    assert found.battery_state is (
        BatteryState.CHARGING if recorded.charges == "charging" else BatteryState.DISCHARGING
    )
    assert found.temperature is recorded.temperature
    assert (found.storage_state, found.storage_free) == (StorageState.OK, 10**9)


@pytest.mark.parametrize("recorded", RECORDED.values(), ids=RECORDED)
def test_no_recorded_state_is_a_recording_in_a_mode_for_photos(recorded: Recorded) -> None:
    assert {found.recording for found in read(recorded, "image")} == {IDLE}


@pytest.mark.parametrize("recorded", RECORDED.values(), ids=RECORDED)
def test_in_the_mode_for_videos_the_state_that_shoots_is_a_recording(recorded: Recorded) -> None:
    expected = RECORDING if recorded.status == "shooting" else IDLE
    assert {found.recording for found in read(recorded, "video")} == {expected}
