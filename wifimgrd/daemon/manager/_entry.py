"""A registered device, and the state of its connection."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from wifimgrd.domain.camera import CameraStatus, Problem
from wifimgrd.domain.device import ConnectionPhase, Device, DeviceState, Link
from wifimgrd.domain.errors import WifimgrdError
from wifimgrd.domain.lifecycle import Phase
from wifimgrd.domain.link_steps import LinkStep
from wifimgrd.domain.power import Sight, Wakes
from wifimgrd.domain.reachability import Reachability


@dataclass(slots=True)
class Operation:
    """A wake, a sleep or a pairing that runs by a command, or a recovery step."""

    name: str
    task: asyncio.Task[None]
    awaited: bool = False
    """A caller waits for its end, who is told why it failed."""
    commanded: bool = True
    """A client has asked for it."""


@dataclass(slots=True)
class Work:
    """The tasks for a device's connection, who has asked for them, and who waits for their end."""

    joining: asyncio.Task[None] | None = None
    """The running join, or what waits until the address of a restored link leads to the camera."""
    leaving: asyncio.Task[None] | None = None
    """The running release."""
    automatic: bool = False
    """No client has asked for the attempt: its failure is not reported as ConnectionFailed."""
    is_again: bool = False
    """The attempt is to bring a link back that a recovery step has taken down: if it fails, that is lost."""
    is_own_step: bool = False
    """The hub has decided on that step by itself."""
    outcome: asyncio.Future[None] | None = None
    """Resolves at the end of the current attempt or interruption; set while CONNECTING."""

    def ask(self, *, automatic: bool) -> None:
        """A client has asked for an attempt, or an automatic one is about to begin."""
        self.automatic = automatic
        self.is_own_step = False

    def over(self) -> bool:
        """The attempt is over, and nobody's any longer; returns whether it was automatic."""
        was_automatic, self.automatic = self.automatic, False
        self.is_again = self.is_own_step = False
        return was_automatic

    def ask_again(self, *, commanded: bool) -> None:
        """A recovery step is about to take the link down, and to join again: no client has to ask for that,
        and it is as important as the link was."""
        self.automatic, self.is_again, self.is_own_step = False, True, not commanded

    @property
    def is_commanded(self) -> bool:
        """A client has asked for the attempt, or for the recovery step that it is a part of: only then a
        camera may be woken beyond the limits of automatic attempts."""
        return not self.automatic and not self.is_own_step

    def open_outcome(self) -> None:
        """An attempt, or an interruption, begins, whose end can be waited for."""
        self.outcome = asyncio.get_running_loop().create_future()

    def resolve(self, error: WifimgrdError | None = None) -> None:
        """It has ended."""
        outcome, self.outcome = self.outcome, None
        if outcome is None or outcome.done():
            return
        if error is None:
            outcome.set_result(None)
        else:
            outcome.set_exception(error)
            outcome.exception()  # marked as retrieved: there may be no waiter

    def join(self, task: asyncio.Task[None]) -> None:
        """A task joins, or arrives."""
        self.joining = task

    def leave(self, task: asyncio.Task[None]) -> None:
        """A task takes the link down."""
        self.leaving = task

    @property
    def is_joining_here(self) -> bool:
        """Whether the current task is the one that joins."""
        return self.joining is asyncio.current_task()

    @property
    def is_leaving_here(self) -> bool:
        """Whether the current task is the one that takes the link down."""
        return self.leaving is asyncio.current_task()

    def joined(self) -> None:
        """The task that joins has come to its end."""
        self.joining = None

    def left(self) -> None:
        """The task that takes the link down has come to its end."""
        self.leaving = None

    def cancel_join(self) -> asyncio.Task[None] | None:
        """Cancel the task that joins, and return it."""
        joining, self.joining = self.joining, None
        if joining is not None:
            joining.cancel()
        return joining


@dataclass(slots=True)
class Sleep:
    """Whether a camera sleeps, as far as that is known, and how it is woken."""

    sight: Sight = field(default_factory=Sight)
    """The state of the camera, as seen over Bluetooth."""
    published: Sight = field(default_factory=Sight)
    expiry: asyncio.TimerHandle | None = None
    """The time at which the sight is out of date."""
    wakes: Wakes = field(default_factory=Wakes)
    is_asked: bool = False
    """The next attempt is to wake it if its network is not on the air."""
    appears_by_s: float = 0.0
    """The camera is on: until then, on the loop's clock, its network may not be received yet."""


@dataclass(slots=True)
class DeviceEntry:
    """One device's record in memory; it is changed in the order that `HubState` defines."""

    device: Device
    phase: Phase = Phase.IDLE
    link: Link | None = None
    reachability: Reachability = field(default_factory=Reachability)
    """Of the link that is up."""
    has_answered: bool = False
    """It has answered a probe, in whichever link: the probe fits the camera."""
    recovery_step: LinkStep | None = None
    """The recovery step that runs for it."""
    work: Work = field(default_factory=Work)
    lost_us: int = 0
    """When the link was lost, or found lost; meaningful while the device is to be reconnected."""
    turns: list[asyncio.Future[None]] = field(default_factory=list)
    """One for each adapter that a command is freeing for it; resolves when that is over."""
    connects: int = 0
    """How many commands are about to connect it."""
    disconnects: int = 0
    """How many commands have disconnected it: who waits before it connects it finds out."""
    timer: asyncio.TimerHandle | None = None
    """Ends the phase INTERRUPTED or PULLED; None in each other one."""
    activity: ConnectionPhase | None = None
    """The phase that its attempt, or its wake, is in."""
    sleep: Sleep = field(default_factory=Sleep)
    unfit: str = ""
    """Why its camera, as it is paired now, was told to be more than a camera; empty if it was not."""
    camera: CameraStatus = field(init=False)
    """The reports of the camera that clients were told, if there is a driver for it."""
    is_unseen: bool = False
    """Its driver has not read whether it records since its link came up, or not in the last reading; and it
    was not found idle last before a recovery step took the link before down."""
    is_recording_held: bool = False
    """Whether it records changed too often to be told when it was read last."""
    operation: Operation | None = None
    """The wake, sleep or pairing that runs by a command, or the recovery step."""
    removing: bool = False
    editing: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Serializes changes of the registration."""

    def __post_init__(self) -> None:
        self.camera = self.unread_camera

    @property
    def unread_camera(self) -> CameraStatus:
        """The known state of its camera before it is read."""
        problems = (Problem.RECORDING_UNCONFIRMED,) if self.device.recording_unconfirmed else ()
        return CameraStatus(requested=self.device.recording_requested, problems=problems)

    @property
    def may_record(self) -> bool:
        """Its camera records, or a recording has not been seen to end, or that is not known."""
        device, is_recording = self.device, self.camera.reading.is_recording
        is_open = bool(device.recording_began_us) or device.recording_unconfirmed
        return bool(is_recording) or is_open or self.is_recording_held

    @property
    def may_record_unseen(self) -> bool:
        """The same, and so of a camera that is silent since its link came up: some are while they record."""
        return self.may_record or self.is_unseen

    @property
    def state(self) -> DeviceState:
        """The state that clients see."""
        return self.phase.state

    def end_after(self, seconds: float, end: Callable[[], None]) -> None:
        """The phase, INTERRUPTED or PULLED, has an end by itself; another one that it had is off."""
        self.stop_timer()
        self.timer = asyncio.get_running_loop().call_later(seconds, end)

    def stop_timer(self) -> None:
        """The phase is over."""
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None
