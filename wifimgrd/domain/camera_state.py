"""The states of a camera for people: one vocabulary for the command line and the page.

The page has the same rules in `frontend/src/camera_state.ts`, since it gets the records alone;
`tests/cli/test_states.py` holds both against one table. What clients of the API get is DeviceState.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from wifimgrd.domain.device import ConnectionPhase, DeviceState, PowerState
from wifimgrd.domain.errors import ErrorCode
from wifimgrd.domain.events import BackendState
from wifimgrd.domain.records import DeviceRecord

UNKNOWN: Final = "unknown"
"""What is said of a camera or adapter while what was last known of it may no longer be true."""


def is_current(backend_state: str) -> bool:
    """Whether the records are true now: without the service behind its backend, a hub keeps the last ones."""
    return backend_state != BackendState.UNAVAILABLE


def last_known(state: str) -> str:
    """A state that may no longer be true, as it stands alone."""
    return f"{UNKNOWN.capitalize()}, was {state[:1].lower()}{state[1:]}"


class CameraState(StrEnum):
    """A camera's state, in the order in which people need it."""

    CONNECTED = "connected"
    CONNECTING = "connecting"
    WAKING = "waking"
    WAITING = "waiting"
    SEARCHING = "searching"
    NOT_ANSWERING = "not answering"
    FAILED = "failed"
    ASLEEP = "asleep"
    OFF = "off"

    @property
    def label(self) -> str:
        """The word as it stands alone, in a table or on a badge."""
        return self.value.capitalize()


def camera_state(
    state: str,
    *,
    reachable: bool | None,
    waiting_since: object | None,
    lost_at: object | None,
    error_code: str | None,
    phase: str | None = None,
    power_state: str | None = None,
) -> CameraState:
    """The state for people of a device whose connection is in `state`; times matter only by being there."""
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
    has_failed = error_code is not None and error_code != ErrorCode.CANCELLED
    return CameraState.FAILED if has_failed else CameraState.OFF


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
    )
