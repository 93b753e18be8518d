"""The options of the faults, each field a key with its default."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from wifimgrd.domain.camera import StopReason
from wifimgrd.domain.checks import one_of, within
from wifimgrd.domain.link_steps import CAMERA_STEPS, PORT_STEPS, LinkStep
from wifimgrd.domain.recovery import RecoveryStep
from wifimgrd.simulator._scenario import ClockOffset, Connections, InterfaceName, Percent, Seconds, SsidValue


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """The option that every fault has."""

    off: bool = False
    """Lifts it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CameraFault(Fault):
    """A fault of one camera, or of all."""

    ssid: SsidValue | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Battery(CameraFault):
    """`battery`."""

    percent: Percent | None = None
    """The charge that is left now; None: as it is."""
    drains: bool = False
    """It loses one percent each second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockOff(CameraFault):
    """`clock-off`."""

    seconds: ClockOffset = 60.0
    """By how much it is ahead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RadioTrouble(CameraFault):
    """`radio-trouble`."""

    connections: Connections | None = None
    """How many fail; None: all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StopsRecording(CameraFault):
    """`stops-recording`."""

    seconds: Seconds = 3.0
    """How long each recording lasts."""
    reason: StopReason = StopReason.UNKNOWN


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeLapse(CameraFault):
    """`time-lapse`."""

    speed: Annotated[float, within(1, 3600, "times")] = 15.0
    """How many seconds it takes for one of the video."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockZone(CameraFault):
    """`clock-zone`."""

    minutes: Annotated[int, within(-840, 840, "minutes")] = 120
    """East of UTC."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowJoin(CameraFault):
    """`slow-join`."""

    seconds: Seconds = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class InterfaceFault(Fault):
    """A fault of one interface, or of all."""

    interface: InterfaceName | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowLeave(InterfaceFault):
    """`slow-leave`."""

    seconds: Seconds = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class AdapterStuck(Fault):
    """`adapter-stuck`."""

    interface: InterfaceName
    heals: RecoveryStep = RecoveryStep.RESTART
    crashed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLink(CameraFault):
    """`dead-link`."""

    heals: LinkStep = LinkStep.REJOIN


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadService(CameraFault):
    """`dead-service`."""

    heals: Annotated[LinkStep, one_of(sorted(CAMERA_STEPS))] = LinkStep.REBOOT_CAMERA


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadFirmware(Fault):
    """`dead-firmware`."""

    interface: InterfaceName
    heals: Annotated[LinkStep, one_of(sorted(PORT_STEPS))] = LinkStep.RESET_PORT


@dataclass(frozen=True, slots=True, kw_only=True)
class Rfkill(Fault):
    """`rfkill`."""

    interface: InterfaceName
    hard: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal(Fault):
    """`signal`."""

    ssid: SsidValue
    percent: Percent | None = None
    """Needed unless it is lifted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BluetoothOff(Fault):
    """`bluetooth-off`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BackendGone(Fault):
    """`backend-gone`."""

    seconds: Seconds | None = None
