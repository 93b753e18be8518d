"""The state that cameras report, as lines for people: battery, card, recording, problems."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Final

from wifimgrd.cli._screen import Screen
from wifimgrd.cli._table import Cell, Column, Row
from wifimgrd.cli._text import STYLE_OF_STATE, Style
from wifimgrd.cli._times import hours_and_minutes, moment, since
from wifimgrd.domain.camera import BatteryState, Problem, RecordingState, StorageState
from wifimgrd.domain.camera_state import (
    PROBLEM_WORDS,
    camera_state_of,
    is_recording,
    last_known,
    recording_label,
)
from wifimgrd.domain.device import DeviceState
from wifimgrd.domain.records import CameraRecord, DeviceRecord

_HEADS: Final = (
    Column("CAMERA", least=12),
    Column("STATE"),
    Column("BATTERY"),
    Column("CARD"),
    Column("READ", is_optional=True),
    Column("PROBLEMS", rank=1, is_optional=True, goes_below=True),
)
_CARD_WORDS: Final[Mapping[str | None, str]] = {
    StorageState.FULL: "full",
    StorageState.MISSING: "none",
    StorageState.ERROR: "unusable",
    StorageState.SLOW: "too slow",
}
"""The words for a card, shown instead of its space."""
_HUNDREDTH_US: Final = 10_000
_SIZES: Final = ((10**12, "TB"), (10**9, "GB"), (10**6, "MB"), (10**3, "kB"))


def device_state(device: DeviceRecord, now_us: int, *, current: bool) -> Cell:
    """A camera's state, by the words that the page shows."""
    state = camera_state_of(device)
    if not current:
        return Cell(last_known(state), Style.FAINT)
    label = recording_label(device, now_us) or state.label
    return Cell(label, STYLE_OF_STATE.get(state, Style.PLAIN))


def cameras_view(
    devices: Iterable[DeviceRecord], screen: Screen, now_us: int, *, current: bool = True
) -> list[str]:
    """The table of the cameras that the hub can command, below an empty line; nothing if there is none."""
    rows: list[Row] = [
        (
            device.name,
            device_state(device, now_us, current=current),
            battery(camera),
            card(camera),
            _read_then(device, now_us, current=current),
            problems(camera),
        )
        for device in devices
        if (camera := device.camera) is not None
    ]
    return ["", *screen.table(_HEADS, rows)] if rows else []


def _read_then(device: DeviceRecord, now_us: int, *, current: bool) -> str | None:
    """How long ago the values of a camera were read that is not there now; None of one that is."""
    is_now = current and device.state == DeviceState.CONNECTED
    read_at = None if is_now or device.camera is None else device.camera.read_at
    return None if read_at is None else since(now_us - read_at)


def recording_count(devices: Iterable[DeviceRecord], *, current: bool) -> list[tuple[str, object]]:
    """How many cameras record, of those that the hub can command; nothing if there is none."""
    able = [device for device in devices if device.camera is not None]
    if not able or not current:
        return []
    count = sum(map(is_recording, able))
    return [("Recording", f"{count} of {len(able)} camera{'' if len(able) == 1 else 's'}")]


def camera_fields(device: DeviceRecord, now_us: int) -> list[tuple[str, object]]:
    """The state that a camera reports; nothing if the hub cannot command it."""
    camera = device.camera
    if camera is None:
        return []
    parts = (
        camera.model,
        camera.firmware_version and f"firmware {camera.firmware_version}",
        camera.serial_number and f"serial number {camera.serial_number}",
    )
    return [
        ("Recording", _recording(camera, now_us)),
        ("Battery", battery(camera)),
        ("Card", _card_details(camera)),
        ("Temperature", camera.temperature_state),
        ("Clock", _clock(camera, now_us)),
        ("Problems", problems(camera)),
        ("Camera says it is", ", ".join(filter(None, parts)) or None),
        ("Last read", moment(camera.read_at, now_us)),
    ]


def _recording(camera: CameraRecord, now_us: int) -> str | None:
    if camera.recording_state is None:
        if Problem.RECORDING_UNCONFIRMED in camera.problems:
            return "not known since the last command"
        return "not known" if Problem.UNSTABLE in camera.problems else None
    if camera.recording_state != RecordingState.RECORDING:
        return "no, though it was told to" if camera.recording_requested else "no"
    since = moment(camera.recording_since, now_us)
    return f"since {since}" if since else "yes"


def battery(camera: CameraRecord) -> str | None:
    """The charge that is left in a battery."""
    if camera.battery_level is None:
        return None
    charging = ", charging" if camera.battery_state == BatteryState.CHARGING else ""
    return f"{camera.battery_level} %{charging}"


def card(camera: CameraRecord) -> str | None:
    """The state of a card, or how long one can record, or what is free."""
    if (word := _CARD_WORDS.get(camera.storage_state)) is not None:
        return word
    if camera.recording_time_left is not None:
        return f"{hours_and_minutes(camera.recording_time_left)} left"
    return None if camera.storage_free is None else f"{_amount(camera.storage_free)} free"


def _card_details(camera: CameraRecord) -> str | None:
    """All that is known of a card; of one that takes nothing, only that."""
    if camera.storage_state in (StorageState.FULL, StorageState.MISSING, StorageState.ERROR):
        return _CARD_WORDS[camera.storage_state]
    parts = [_CARD_WORDS[camera.storage_state]] if camera.storage_state in _CARD_WORDS else []
    if camera.storage_free is not None:
        of_all = "" if camera.storage_total is None else f" of {_amount(camera.storage_total)}"
        parts.append(f"{_amount(camera.storage_free)}{of_all} free")
    if camera.recording_time_left is not None:
        parts.append(f"{hours_and_minutes(camera.recording_time_left)} left")
    return ", ".join(parts) or camera.storage_state


def _amount(size: int) -> str:
    """An amount of bytes with three digits, rounded down as on the page: there is not more."""
    length, unit = next((one for one in _SIZES if size >= one[0]), (1, "bytes"))
    tenths = size * 10 // length
    return f"{tenths / 10:.1f} {unit}" if tenths < 100 and length > 1 else f"{tenths // 10} {unit}"


def _clock(camera: CameraRecord, now_us: int) -> str | None:
    """By how much a camera's clock is wrong, and how well that is known."""
    if camera.clock_read_at is None:
        return None
    hundredths = round(camera.clock_offset / _HUNDREDTH_US)
    words = f"{abs(hundredths) / 100:.2f} s {'fast' if hundredths > 0 else 'slow'}"
    if camera.clock_bound is not None:
        within_us = camera.clock_bound + abs(camera.clock_offset - hundredths * _HUNDREDTH_US)
        words += f" \u00b1 {math.ceil(within_us / _HUNDREDTH_US) / 100:.2f} s"
    return f"{words}, read {moment(camera.clock_read_at, now_us)}"


def problems(camera: CameraRecord) -> Cell:
    """A camera's problems."""
    return Cell(", ".join(map(problem_words, camera.problems)) or None, Style.BAD)


def problem_words(code: str) -> str:
    """A camera's problem in words; the code of a later version stays as it is."""
    return PROBLEM_WORDS.get(code, code)
