"""Whether the rig is ready: one pure decision for all clients.

`check` looks at the cameras that are asked about, and returns what stands in the way, the most urgent first.
A value that nobody asks for, and that is not known, is no finding.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from wifimgrd.domain.camera import CameraStatus, Problem
from wifimgrd.domain.device import DeviceId, DeviceState, DeviceStatus
from wifimgrd.domain.errors import InvalidRequest
from wifimgrd.domain.history import LARGEST_ID, whole_number


class Want(StrEnum):
    """The findings that are no problems of a camera, beside those in `Problem`."""

    NOT_CONNECTED = "not-connected"
    """Nothing else is told of such a camera."""
    NOT_ANSWERING = "not-answering"
    RECORDING_UNKNOWN = "recording-unknown"
    BATTERY_UNKNOWN = "battery-unknown"
    STORAGE_UNKNOWN = "storage-unknown"
    CLOCK_UNKNOWN = "clock-unknown"


ORDER: Final = (
    Want.NOT_CONNECTED,
    Want.NOT_ANSWERING,
    *Problem,
    Want.RECORDING_UNKNOWN,
    Want.BATTERY_UNKNOWN,
    Want.STORAGE_UNKNOWN,
    Want.CLOCK_UNKNOWN,
)
"""The most urgent one first."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What cameras must be, beside being connected and without a problem."""

    recording: bool = False
    """They record now."""
    battery: int | None = None
    """Percent at least; None = the hub's own limit."""
    time_left_us: int | None = None
    """They can record for so long at least; None = the hub's own limit."""
    clock_us: int | None = None
    """Their clocks differ from this host's by so much at most; None = the hub's own limit."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that stands in the way."""

    device: DeviceId
    code: Want | Problem
    """One of Want or Problem; `sentences.check_finding` says it."""


@dataclass(frozen=True, slots=True)
class Checked:
    """The result of a check."""

    devices: tuple[DeviceId, ...]
    """Those that were looked at, by id."""
    findings: tuple[Finding, ...]
    """The most urgent first, of one code by device."""

    @property
    def ok(self) -> bool:
        """Whether some were looked at, and nothing stands in the way."""
        return bool(self.devices) and not self.findings


def check(statuses: Iterable[DeviceStatus], wanted: Wanted) -> Checked:
    """Look at some devices."""
    looked_at = sorted(statuses, key=lambda status: status.device.id)
    findings = [Finding(status.device.id, code) for status in looked_at for code in _found(status, wanted)]
    ranks = {code: rank for rank, code in enumerate(ORDER)}
    findings.sort(key=lambda one: (ranks[one.code], one.device))
    return Checked(tuple(status.device.id for status in looked_at), tuple(findings))


def _found(status: DeviceStatus, wanted: Wanted) -> Iterator[Want | Problem]:
    if status.state is not DeviceState.CONNECTED:
        yield Want.NOT_CONNECTED
        return
    if not status.reachable:
        yield Want.NOT_ANSWERING
    if status.camera is not None:
        yield from _problems(status.camera, wanted)


def _problems(camera: CameraStatus, wanted: Wanted) -> Iterator[Want | Problem]:
    """The problems of a camera, where the limits that are asked for replace the hub's own."""
    reading, asked = camera.reading, list[tuple[Want, Problem, bool | None]]()
    if wanted.recording:
        asked.append((Want.RECORDING_UNKNOWN, Problem.NOT_RECORDING, reading.is_recording))
    if wanted.battery is not None:
        fits = None if reading.battery_level is None else reading.battery_level >= wanted.battery
        asked.append((Want.BATTERY_UNKNOWN, Problem.BATTERY_LOW, fits))
    if wanted.time_left_us is not None:
        left_s = reading.time_left_s
        fits = None if left_s is None else left_s * 1_000_000 >= wanted.time_left_us
        asked.append((Want.STORAGE_UNKNOWN, Problem.STORAGE_LOW, fits))
    if wanted.clock_us is not None:
        offset_us = reading.clock_offset_us
        fits = None if offset_us is None else abs(offset_us) <= wanted.clock_us
        asked.append((Want.CLOCK_UNKNOWN, Problem.CLOCK_WRONG, fits))
    yield from (one for one in camera.problems if one not in {problem for _, problem, _ in asked})
    for unknown, problem, fits in asked:
        if not fits:
            yield unknown if fits is None else problem


_NUMBERS: Final[Mapping[str, int]] = MappingProxyType(
    {"battery": 100, "time_left": LARGEST_ID, "clock": LARGEST_ID}
)


def parse_wanted(options: Mapping[str, object]) -> Wanted:
    """Read what cameras must be from the options of a check; raises InvalidRequest. Others are ignored."""
    recording = options.get("recording", False)
    if not isinstance(recording, bool):
        raise InvalidRequest("recording: true or false.", {"recording": ("true or false.",)})
    battery, time_left_us, clock_us = (
        whole_number(options, name, 0, highest) for name, highest in _NUMBERS.items()
    )
    return Wanted(recording, battery, time_left_us, clock_us)
