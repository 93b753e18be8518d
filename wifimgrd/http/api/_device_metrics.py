"""Metrics of each device, with its name as the label `device`.

A value that is not known has no sample. What a camera is to do is known without its connection, and
what it says of itself only with it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from prometheus_client.metrics_core import GaugeMetricFamily, Metric

from wifimgrd.domain.camera import BatteryState, RecordingState
from wifimgrd.domain.records import CameraRecord, DeviceRecord

_DEVICE: Final = "device"
_Value = Callable[[CameraRecord], float | None]
_OF_CAMERA: Final[tuple[tuple[str, str, _Value], ...]] = (
    ("battery_percent", "How full the battery is.", lambda camera: camera.battery_level),
    (
        "battery_charging",
        "Whether the battery is being charged.",
        lambda camera: _whether(camera.battery_state, BatteryState.CHARGING),
    ),
    (
        "recording",
        "Whether the camera records.",
        lambda camera: _whether(camera.recording_state, RecordingState.RECORDING),
    ),
    ("storage_free_bytes", "What is free on the card.", lambda camera: camera.storage_free),
    (
        "recording_left_seconds",
        "How long the camera can record.",
        lambda camera: None if camera.recording_time_left is None else camera.recording_time_left / 1e6,
    ),
)
"""What connected cameras say of themselves: name, description, value."""


def device_families(devices: Iterable[DeviceRecord], *, current: bool) -> Iterator[Metric]:
    """The values of each device; while the states are not `current`, only what it is to do."""
    devices = tuple(devices)
    names = Counter(device.name for device in devices)
    expected = _family("expected", "Whether the device is one of the rig, connected or not.")
    connected = _family("connected", "Whether the device is connected.")
    signal = _family("signal_percent", "The strength of the signal.")
    reachable = _family("reachable", "Whether the connected device answers.")
    requested = _family("recording_requested", "Whether the last command to the camera was to record.")
    of_camera = [(_family(name, text), value) for name, text, value in _OF_CAMERA]
    for device in devices:
        # Two devices of one name, as an earlier version allowed: Prometheus refuses the same sample twice.
        name = device.name if names[device.name] == 1 else f"{device.name} ({device.id})"
        expected.add_metric([name], device.expected)
        if device.camera is not None:
            requested.add_metric([name], device.camera.recording_requested)
        if not current:
            continue
        connected.add_metric([name], device.is_connected)
        if not device.is_connected:
            continue
        reachable.add_metric([name], device.reachable)
        if device.signal_strength is not None:
            signal.add_metric([name], device.signal_strength)
        for family, value in of_camera:
            number = None if device.camera is None else value(device.camera)
            if number is not None:
                family.add_metric([name], number)
    yield from (expected, connected, signal, reachable, requested, *(family for family, _ in of_camera))


def _family(name: str, text: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"wifimgrd_device_{name}", text, labels=[_DEVICE])


def _whether(state: str | None, wanted: str) -> float | None:
    return None if state is None else float(state == wanted)
