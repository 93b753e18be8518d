"""The states of a device's connection: the transitions, and the effect of a command in each state.

disconnected --begin--> connecting --succeed--> connected
     ^                   |  ^  |                 |  |
     |<------fail--------+  |  |                 |  |
     |                      +--|----interrupt----+  |
     |                         +--release--+--------+
     +<--released-- disconnecting <--------+
any state but disconnected --lose--> disconnected        (adapter gone, link ended)
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto
from types import MappingProxyType

from wifimgrd.domain.device import DeviceState
from wifimgrd.domain.errors import Busy

_D, _C, _U, _X = (
    DeviceState.DISCONNECTED,
    DeviceState.CONNECTING,
    DeviceState.CONNECTED,
    DeviceState.DISCONNECTING,
)


class Step(Enum):
    """A transition of a connection."""

    BEGIN = auto()
    """An interface was assigned and an attempt runs."""
    SUCCEED = auto()
    """The link is up, for the first time or again."""
    FAIL = auto()
    """The attempt ended without a link."""
    INTERRUPT = auto()
    """The link dropped and may still come back on the same interface."""
    RELEASE = auto()
    """A client requested a disconnect or a removal."""
    RELEASED = auto()
    """The backend has taken the link down."""
    LOSE = auto()
    """The adapter is gone, or the link has ended."""
    ADOPT = auto()
    """A link of an earlier run of the daemon was found up."""


_NEXT: Mapping[tuple[DeviceState, Step], DeviceState] = MappingProxyType(
    {
        (_D, Step.BEGIN): _C,
        (_D, Step.ADOPT): _U,
        (_C, Step.SUCCEED): _U,
        (_C, Step.FAIL): _D,
        (_C, Step.RELEASE): _X,
        (_C, Step.LOSE): _D,
        (_U, Step.INTERRUPT): _C,
        (_U, Step.RELEASE): _X,
        (_U, Step.LOSE): _D,
        (_X, Step.RELEASED): _D,
        (_X, Step.LOSE): _D,
    }
)


class IllegalStep(Exception):
    """A step that is not allowed in a state: a bug in the caller, never a user error."""


def follow(state: DeviceState, step: Step) -> DeviceState:
    """The state after `step`; raises IllegalStep where it cannot happen in `state`."""
    try:
        return _NEXT[state, step]
    except KeyError:
        raise IllegalStep(f"{step.name} cannot follow on {state}") from None


def can_follow(state: DeviceState, step: Step) -> bool:
    """Whether `step` can happen in `state`."""
    return (state, step) in _NEXT


class ConnectMeans(Enum):
    """The effect of a connect command in a state."""

    START = auto()
    JOIN = auto()
    NOTHING = auto()


class DisconnectMeans(Enum):
    """The effect of a disconnect command in a state."""

    RELEASE = auto()
    WAIT = auto()
    NOTHING = auto()


def connect_means(state: DeviceState) -> ConnectMeans:
    """Start, join the running attempt, or nothing; raises Busy while disconnecting."""
    match state:
        case DeviceState.DISCONNECTED:
            return ConnectMeans.START
        case DeviceState.CONNECTING:
            return ConnectMeans.JOIN
        case DeviceState.CONNECTED:
            return ConnectMeans.NOTHING
        case DeviceState.DISCONNECTING:
            raise Busy("the device is disconnecting")


def disconnect_means(state: DeviceState) -> DisconnectMeans:
    """Release, wait for the running release, or nothing."""
    match state:
        case DeviceState.CONNECTING | DeviceState.CONNECTED:
            return DisconnectMeans.RELEASE
        case DeviceState.DISCONNECTING:
            return DisconnectMeans.WAIT
        case DeviceState.DISCONNECTED:
            return DisconnectMeans.NOTHING
