"""The phases of a device's connection: the transitions, and the effect of a command in each state.

A phase says what goes on, and so which state clients see:

idle (disconnected)
  --begin--> joining (connecting) --arrive--> arriving (connecting) --succeed--> up (connected)
joining --fail--> idle
up --interrupt--> interrupted (connecting) --arrive--> arriving, or --succeed--> up
up --pull--> pulled (connected), until the adapter source has told that its adapter is gone
up --recover--> recovering (connecting) --begin--> joining
joining, arriving, interrupted, recovering --give up--> giving up (connecting)
any phase but idle and leaving --release--> leaving (disconnecting) --released--> idle
any phase but idle --lose--> idle        (adapter gone, link ended)

A device that is recovering, or that was and is given up or leaves, may have no interface: a recovery step
resets the USB port of its adapter, which is gone meanwhile.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto
from types import MappingProxyType

from wifimgrd.domain.device import DeviceState
from wifimgrd.domain.errors import Busy


class Phase(Enum):
    """A phase of a device's connection."""

    IDLE = auto()
    """It has none, and no interface."""
    JOINING = auto()
    """An attempt runs on its interface."""
    ARRIVING = auto()
    """The link is up, for the first time or again; the device's address does not lead to the camera yet."""
    UP = auto()
    PULLED = auto()
    """The link has ended, probably since its adapter was unplugged: the adapter source is about to tell."""
    INTERRUPTED = auto()
    """The link dropped, and the backend tries to restore it."""
    RECOVERING = auto()
    """A recovery step has the link taken down, which was up and dead, and will join again."""
    GIVING_UP = auto()
    """The backend takes the link down, which is lost."""
    LEAVING = auto()
    """The backend takes the link down for a client."""

    @property
    def state(self) -> DeviceState:
        """As clients see it."""
        return _STATES[self]

    @property
    def is_ending(self) -> bool:
        """Whether the backend takes the link down."""
        return self in (Phase.GIVING_UP, Phase.LEAVING)


_STATES: Mapping[Phase, DeviceState] = MappingProxyType(
    {
        Phase.IDLE: DeviceState.DISCONNECTED,
        Phase.JOINING: DeviceState.CONNECTING,
        Phase.ARRIVING: DeviceState.CONNECTING,
        Phase.UP: DeviceState.CONNECTED,
        Phase.PULLED: DeviceState.CONNECTED,
        Phase.INTERRUPTED: DeviceState.CONNECTING,
        Phase.RECOVERING: DeviceState.CONNECTING,
        Phase.GIVING_UP: DeviceState.CONNECTING,
        Phase.LEAVING: DeviceState.DISCONNECTING,
    }
)


class Step(Enum):
    """A transition of a connection."""

    BEGIN = auto()
    """An interface was assigned and an attempt runs."""
    ARRIVE = auto()
    """The link is up, and is not told before the device's address leads to the camera."""
    SUCCEED = auto()
    """The link is up, for the first time or again."""
    FAIL = auto()
    """The attempt ended without a link."""
    INTERRUPT = auto()
    """The link dropped and may still come back on the same interface."""
    PULL = auto()
    """The link has ended, and its adapter may have been unplugged."""
    RECOVER = auto()
    """A recovery step takes the link down, to join again."""
    GIVE_UP = auto()
    """The attempt, or the wait for the link, is over: the backend is to take the link down."""
    RELEASE = auto()
    """A client requested a disconnect or a removal."""
    RELEASED = auto()
    """The backend has taken the link down."""
    LOSE = auto()
    """The adapter is gone, or the link has ended."""
    ADOPT = auto()
    """A link of an earlier run of the daemon was found up."""


_NEXT: Mapping[tuple[Phase, Step], Phase] = MappingProxyType(
    {
        (Phase.IDLE, Step.BEGIN): Phase.JOINING,
        (Phase.IDLE, Step.ADOPT): Phase.UP,
        (Phase.JOINING, Step.ARRIVE): Phase.ARRIVING,
        (Phase.JOINING, Step.FAIL): Phase.IDLE,
        (Phase.JOINING, Step.GIVE_UP): Phase.GIVING_UP,
        (Phase.JOINING, Step.RELEASE): Phase.LEAVING,
        (Phase.JOINING, Step.LOSE): Phase.IDLE,
        (Phase.ARRIVING, Step.SUCCEED): Phase.UP,
        (Phase.ARRIVING, Step.GIVE_UP): Phase.GIVING_UP,
        (Phase.ARRIVING, Step.RELEASE): Phase.LEAVING,
        (Phase.ARRIVING, Step.LOSE): Phase.IDLE,
        (Phase.UP, Step.INTERRUPT): Phase.INTERRUPTED,
        (Phase.UP, Step.PULL): Phase.PULLED,
        (Phase.UP, Step.RECOVER): Phase.RECOVERING,
        (Phase.UP, Step.RELEASE): Phase.LEAVING,
        (Phase.UP, Step.LOSE): Phase.IDLE,
        (Phase.PULLED, Step.INTERRUPT): Phase.INTERRUPTED,
        (Phase.PULLED, Step.RELEASE): Phase.LEAVING,
        (Phase.PULLED, Step.LOSE): Phase.IDLE,
        (Phase.INTERRUPTED, Step.ARRIVE): Phase.ARRIVING,
        (Phase.INTERRUPTED, Step.SUCCEED): Phase.UP,
        (Phase.INTERRUPTED, Step.GIVE_UP): Phase.GIVING_UP,
        (Phase.INTERRUPTED, Step.RELEASE): Phase.LEAVING,
        (Phase.INTERRUPTED, Step.LOSE): Phase.IDLE,
        (Phase.RECOVERING, Step.BEGIN): Phase.JOINING,
        (Phase.RECOVERING, Step.GIVE_UP): Phase.GIVING_UP,
        (Phase.RECOVERING, Step.RELEASE): Phase.LEAVING,
        (Phase.RECOVERING, Step.LOSE): Phase.IDLE,
        (Phase.GIVING_UP, Step.RELEASE): Phase.LEAVING,
        (Phase.GIVING_UP, Step.LOSE): Phase.IDLE,
        (Phase.LEAVING, Step.RELEASED): Phase.IDLE,
        (Phase.LEAVING, Step.LOSE): Phase.IDLE,
    }
)


class IllegalStep(Exception):
    """A step that is not allowed in a phase: a bug in the caller, never a user error."""


def follow(phase: Phase, step: Step) -> Phase:
    """The phase after `step`; raises IllegalStep if it cannot happen in `phase`."""
    try:
        return _NEXT[phase, step]
    except KeyError:
        raise IllegalStep(f"{step.name} cannot follow on {phase.name}") from None


def can_follow(phase: Phase, step: Step) -> bool:
    """Whether `step` can happen in `phase`."""
    return (phase, step) in _NEXT


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
            raise Busy("the camera is disconnecting")


def disconnect_means(state: DeviceState) -> DisconnectMeans:
    """Release, wait for the running release, or nothing."""
    match state:
        case DeviceState.CONNECTING | DeviceState.CONNECTED:
            return DisconnectMeans.RELEASE
        case DeviceState.DISCONNECTING:
            return DisconnectMeans.WAIT
        case DeviceState.DISCONNECTED:
            return DisconnectMeans.NOTHING
