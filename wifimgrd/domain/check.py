"""Whether the rig is ready: one pure decision for all clients.

`check` looks at the records of the cameras that are asked about, so that who has a copy of them decides as
the daemon does, and returns what stands in the way, the most urgent first. A value that nobody asks for, and
that is not known, is not a finding, but for one: whether a camera records that was told to.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from wifimgrd.domain import sentences
from wifimgrd.domain._findings import ORDER, Want
from wifimgrd.domain.camera import Problem, RecordingState
from wifimgrd.domain.errors import InvalidRequest
from wifimgrd.domain.history import LARGEST_ID, whole_number
from wifimgrd.domain.records import CameraRecord, DeviceRecord


@dataclass(frozen=True, slots=True)
class Wanted:
    """The limits for cameras, beside being connected and without a problem."""

    recording: bool = False
    """They record now."""
    battery: int | None = None
    """Percent at least; None = the hub's own limit."""
    time_left_us: int | None = None
    """They can record for so long at least; None = the hub's own limit."""
    clock_us: int | None = None
    """Their clocks differ from this host's by so much at most; None = the hub's own limit."""

    def limit_of(self, code: Want | Problem) -> int | None:
        """The limit of a finding that was asked for; None if that is the hub's own, or it has none."""
        match code:
            case Problem.BATTERY_LOW:
                return self.battery
            case Problem.STORAGE_LOW:
                return self.time_left_us
            case Problem.CLOCK_WRONG:
                return self.clock_us
            case _:
                return None


NOTHING_MORE: Final = Wanted()
"""That they are connected, answer and have no problem."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that stands in the way."""

    device_id: int
    code: Want | Problem
    """`sentences.check_finding` says it."""


@dataclass(frozen=True, slots=True)
class Checked:
    """The result of a check."""

    names: Mapping[int, str]
    """The names of those that were looked at, by id, in that order."""
    findings: tuple[Finding, ...]
    """The most urgent first, of one code by device."""

    @property
    def ok(self) -> bool:
        """Whether some were looked at, and nothing stands in the way."""
        return bool(self.names) and not self.findings

    @property
    def sentence(self) -> str:
        """The result for people."""
        return sentences.readiness(self.names, [(one.device_id, one.code) for one in self.findings])


def check(devices: Iterable[DeviceRecord], wanted: Wanted = NOTHING_MORE) -> Checked:
    """Look at some devices."""
    looked_at = sorted(devices, key=lambda device: device.id)
    findings = [Finding(device.id, code) for device in looked_at for code in found_at(device, wanted)]
    ranks = {code: rank for rank, code in enumerate(ORDER)}
    findings.sort(key=lambda one: (ranks[one.code], one.device_id))
    return Checked({device.id: device.name for device in looked_at}, tuple(findings))


def check_rig(devices: Iterable[DeviceRecord]) -> Checked:
    """Look at the rig as it should be at any time: at the expected ones."""
    return check(device for device in devices if device.expected)


def found_at(device: DeviceRecord, wanted: Wanted = NOTHING_MORE) -> Iterator[Want | Problem]:
    """The findings at one device, the most urgent of them not always first."""
    if not device.is_connected:
        yield Want.NOT_CONNECTED
        return
    if not device.reachable or device.recovery_step is not None:
        yield Want.NOT_ANSWERING
    if (camera := device.camera) is not None:
        # A reading of an earlier connection says nothing of now: the battery may be another one. Whether it
        # records is forgotten with a connection; the times are of a clock that may be set back meanwhile.
        is_new = (camera.read_at or 0) >= (device.last_successful_connection or 0)
        is_read = is_new or camera.recording_state is not None
        yield from _problems(camera, wanted, is_read=is_read)


def _problems(camera: CameraRecord, wanted: Wanted, *, is_read: bool) -> Iterator[Want | Problem]:
    """The problems of a camera, where the limits that are asked for replace the hub's own; `is_read`: in this
    connection."""
    asked = list[tuple[Want, Problem, bool | None]]()
    state = camera.recording_state
    is_open = camera.recording_requested and state is None and Problem.NOT_RECORDING not in camera.problems
    if wanted.recording or is_open:
        fits = None if state is None else state == RecordingState.RECORDING
        asked.append((Want.RECORDING_UNKNOWN, Problem.NOT_RECORDING, fits))
    if wanted.battery is not None:
        level = camera.battery_level if is_read else None
        fits = None if level is None else level >= wanted.battery
        asked.append((Want.BATTERY_UNKNOWN, Problem.BATTERY_LOW, fits))
    if wanted.time_left_us is not None:
        left_us = camera.recording_time_left if is_read else None
        fits = None if left_us is None else left_us >= wanted.time_left_us
        asked.append((Want.STORAGE_UNKNOWN, Problem.STORAGE_LOW, fits))
    if wanted.clock_us is not None:
        fits = None if camera.clock_read_at is None else abs(camera.clock_offset) <= wanted.clock_us
        asked.append((Want.CLOCK_UNKNOWN, Problem.CLOCK_WRONG, fits))
    replaced = {problem for _, problem, _ in asked}
    yield from (one for one in Problem if one in camera.problems and one not in replaced)
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
