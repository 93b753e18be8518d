"""The states of a camera for people: one vocabulary for the command line and the page.

The page has the same rules in `frontend/src/camera_state.ts`, since it gets only the records;
`tests/cli/test_states.py` holds both against one table. Clients of the API get DeviceState.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from wifimgrd.domain.camera import Problem, RecordingState
from wifimgrd.domain.device import ConnectionPhase, DeviceState, PowerState
from wifimgrd.domain.errors import ErrorCode
from wifimgrd.domain.events import BackendState
from wifimgrd.domain.records import DeviceRecord
from wifimgrd.domain.sentences import STEP_WORDS

UNKNOWN: Final = "unknown"
"""The word for a camera or adapter while its last known state may no longer be true."""


def is_current(backend_state: str) -> bool:
    """Whether the records are true now: without the service behind its backend, a hub keeps the last ones."""
    return backend_state != BackendState.UNAVAILABLE


def last_known(state: str) -> str:
    """A state that may no longer be true, as a label."""
    return f"{UNKNOWN.capitalize()}, was {state[:1].lower()}{state[1:]}"


class CameraState(StrEnum):
    """A camera's state, in the order in which people need it."""

    CONNECTED = "connected"
    CONNECTING = "connecting"
    WAKING = "waking"
    WAITING = "waiting"
    SEARCHING = "searching"
    NOT_ANSWERING = "not answering"
    RECOVERING = "recovering"
    NOT_RECORDING = "not recording"
    STILL_RECORDING = "still recording"
    RECORDING_UNCONFIRMED = "recording unconfirmed"
    WRONG_PASSWORD = "wrong password"  # noqa: S105 - a word
    NOT_FOUND = "not found"
    NO_ADDRESS = "no address"
    REFUSED = "refused"
    NOT_PAIRED = "not paired"
    LOST = "lost"
    FAILED = "failed"
    NO_ADAPTER = "no adapter"
    ASLEEP = "asleep"
    OFF = "off"

    @property
    def label(self) -> str:
        """The word as a label, in a table or on a badge."""
        return self.value.capitalize()


AS_STATES: Final[Mapping[str, CameraState]] = MappingProxyType(
    {
        Problem.NOT_RECORDING: CameraState.NOT_RECORDING,
        Problem.STILL_RECORDING: CameraState.STILL_RECORDING,
        Problem.RECORDING_UNCONFIRMED: CameraState.RECORDING_UNCONFIRMED,
    }
)
"""The problems that stand as the state."""

OF_ERROR: Final[Mapping[str, CameraState]] = MappingProxyType(
    {
        ErrorCode.AUTHENTICATION_FAILED: CameraState.WRONG_PASSWORD,
        ErrorCode.DEVICE_NOT_REACHABLE: CameraState.NOT_FOUND,
        ErrorCode.WAKE_FAILED: CameraState.NOT_FOUND,
        ErrorCode.ADDRESS_FAILED: CameraState.NO_ADDRESS,
        ErrorCode.ASSOCIATION_REFUSED: CameraState.REFUSED,
        ErrorCode.NOT_PAIRED: CameraState.NOT_PAIRED,
        ErrorCode.CONNECTION_LOST: CameraState.LOST,
        ErrorCode.INTERFACE_LOST: CameraState.LOST,
        ErrorCode.NO_INTERFACE_AVAILABLE: CameraState.NO_ADAPTER,
        ErrorCode.CANCELLED: CameraState.OFF,
    }
)
"""The state of a camera whose last attempt or link ended with an error: a word that says what to do next. All
other errors are FAILED."""


def camera_state(
    state: str,
    *,
    reachable: bool | None,
    waiting_since: object | None,
    lost_at: object | None,
    error_code: str | None,
    phase: str | None = None,
    power_state: str | None = None,
    recovery_step: str | None = None,
    problems: Container[str] = (),
) -> CameraState:
    """The state for people of a device whose connection is in `state`; times matter only by being there. One
    that does not record as it was told is not called connected."""
    for problem, as_state in AS_STATES.items():
        if problem in problems:
            return as_state
    if recovery_step is not None and state in (DeviceState.CONNECTED, DeviceState.CONNECTING):
        return CameraState.RECOVERING
    if phase == ConnectionPhase.WAKING and state in (DeviceState.CONNECTING, DeviceState.DISCONNECTED):
        return CameraState.WAKING
    match state:
        case DeviceState.CONNECTED:
            return CameraState.NOT_ANSWERING if reachable is False else CameraState.CONNECTED
        case DeviceState.CONNECTING:
            return CameraState.CONNECTING
        case DeviceState.DISCONNECTING:
            return CameraState.OFF
    if waiting_since is not None:
        return CameraState.WAITING
    if power_state == PowerState.ASLEEP:
        return CameraState.ASLEEP
    if lost_at is not None:
        return CameraState.SEARCHING
    return CameraState.OFF if error_code is None else of_error(error_code)


def of_error(code: str) -> CameraState:
    """The state that an error leaves a camera in."""
    return OF_ERROR.get(code, CameraState.FAILED)


def camera_state_of(device: DeviceRecord) -> CameraState:
    """The state of a device for people."""
    return camera_state(
        device.state,
        reachable=device.reachable,
        waiting_since=device.waiting_since,
        lost_at=device.lost_at,
        error_code=device.connection_error_code,
        phase=device.connection_phase,
        power_state=device.power_state,
        recovery_step=device.recovery_step,
        problems=() if device.camera is None else device.camera.problems,
    )


def recovering(step: str) -> str:
    """A camera's state while a recovery step runs for it, with the step; one of a later version as it is."""
    return f"{CameraState.RECOVERING}: {STEP_WORDS.get(step, step)}"


RECORDING: Final = "Recording"
PROBLEM_WORDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        Problem.NOT_RECORDING: "not recording",
        Problem.STILL_RECORDING: "still recording",
        Problem.RECORDING_UNCONFIRMED: "recording unconfirmed",
        Problem.UNSTABLE: "unstable",
        Problem.TOO_HOT: "too hot",
        Problem.TOO_COLD: "too cold",
        Problem.BATTERY_LOW: "battery low",
        Problem.STORAGE_MISSING: "no card",
        Problem.STORAGE_FULL: "card full",
        Problem.STORAGE_ERROR: "card unusable",
        Problem.STORAGE_SLOW: "card too slow",
        Problem.STORAGE_LOW: "card almost full",
        Problem.CLOCK_WRONG: "clock wrong",
    }
)
"""A camera's problems, by their codes, in a word or two."""


def is_recording(device: DeviceRecord) -> bool:
    """Whether a camera is known to record."""
    return device.camera is not None and device.camera.recording_state == RecordingState.RECORDING


def recording_now(devices: Iterable[DeviceRecord]) -> set[int]:
    """Those of these that are known to record."""
    return {device.id for device in devices if is_recording(device)}


def recording_label(device: DeviceRecord, now_us: int) -> str:
    """The text of a badge or a table in place of `Connected` for a camera that records: `Recording 12:03`, or
    `Recording` if it is not known since when; empty for any other camera."""
    if device.camera is None or not is_recording(device):
        return ""
    if camera_state_of(device) is not CameraState.CONNECTED:
        return ""
    since_us = device.camera.recording_since
    return RECORDING if since_us is None else f"{RECORDING} {elapsed(now_us - since_us)}"


def elapsed(passed_us: int) -> str:
    """A duration as a recorder shows it: `0:07`, `12:03`, `1:02:03`."""
    minutes, seconds = divmod(max(0, passed_us) // 1_000_000, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
