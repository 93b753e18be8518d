"""The faults of cameras with a driver: what happens to their batteries, cards, clocks and recordings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from wifimgrd.domain.errors import InvalidRequest
from wifimgrd.simulator._fault_options import (
    Battery,
    CameraFault,
    ClockOff,
    ClockZone,
    StopsRecording,
    TimeLapse,
)
from wifimgrd.simulator.emulators import EmulatedCamera


class EmulatedFaults:
    """Applies them, to the cameras there are now."""

    def __init__(self, cameras: Callable[[CameraFault], Iterable[EmulatedCamera]]) -> None:
        """`cameras` returns those that a fault is about; raises InvalidRequest."""
        self._cameras = cameras
        self.kinds: Mapping[str, tuple[type, Callable[[Any], None]]] = {
            "battery": (Battery, self._battery),
            "card-full": (CameraFault, self._each(lambda camera, on: camera.set_card(full=on))),
            "card-missing": (CameraFault, self._each(lambda camera, on: camera.set_card(missing=on))),
            "card-slow": (CameraFault, self._each(lambda camera, on: camera.set_card(slow=on))),
            "clock-kept": (CameraFault, self._each(_set_keeps_clock)),
            "clock-off": (ClockOff, self._clock_off),
            "clock-zone": (ClockZone, self._clock_zone),
            "command-unanswered": (
                CameraFault,
                self._each(lambda camera, on: camera.set_unanswered(is_set=on)),
            ),
            "control-garbage": (CameraFault, self._each(_set_garbage)),
            "control-silent": (CameraFault, self._each(_set_silent)),
            "paused": (CameraFault, self._each(lambda camera, on: camera.set_count_rate(0 if on else 1))),
            "refuses-recording": (CameraFault, self._each(_set_refuses)),
            "stops-recording": (StopsRecording, self._stops_recording),
            "takes-photos": (CameraFault, self._each(_set_takes_photos)),
            "time-lapse": (TimeLapse, self._time_lapse),
            "too-hot": (CameraFault, self._each(lambda camera, on: camera.set_hot(is_hot=on))),
        }

    def _each(self, apply: Callable[[EmulatedCamera, bool], None]) -> Callable[[CameraFault], None]:
        def set_fault(fault: CameraFault) -> None:
            for camera in self._cameras(fault):
                apply(camera, not fault.off)

        return set_fault

    def _battery(self, fault: Battery) -> None:
        if not fault.off and fault.percent is None and not fault.drains:
            raise InvalidRequest("battery: expected the key percent or drains")
        for camera in self._cameras(fault):
            percent = camera.settings.battery if fault.off else fault.percent
            camera.set_battery(percent, draining=fault.drains and not fault.off)

    def _clock_off(self, fault: ClockOff) -> None:
        for camera in self._cameras(fault):
            camera.set_clock_off(0 if fault.off else fault.seconds)

    def _clock_zone(self, fault: ClockZone) -> None:
        for camera in self._cameras(fault):
            camera.set_zone(0 if fault.off else fault.minutes)

    def _time_lapse(self, fault: TimeLapse) -> None:
        for camera in self._cameras(fault):
            camera.set_count_rate(1 if fault.off else 1 / fault.speed)

    def _stops_recording(self, fault: StopsRecording) -> None:
        for camera in self._cameras(fault):
            camera.set_stops(None if fault.off else fault.seconds, fault.reason)


def _set_garbage(camera: EmulatedCamera, on: bool) -> None:
    camera.garbage = on


def _set_silent(camera: EmulatedCamera, on: bool) -> None:
    camera.silent = on


def _set_keeps_clock(camera: EmulatedCamera, on: bool) -> None:
    camera.keeps_clock = on


def _set_takes_photos(camera: EmulatedCamera, on: bool) -> None:
    camera.takes_photos = on


def _set_refuses(camera: EmulatedCamera, on: bool) -> None:
    camera.refuses_recording = on
