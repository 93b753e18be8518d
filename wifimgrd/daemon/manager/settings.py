"""The settings of devices and links from the configuration."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from wifimgrd.domain.addresses import AddressPlan
from wifimgrd.domain.allocator import AllocationRules
from wifimgrd.domain.camera_model import CameraModels
from wifimgrd.domain.group import Group
from wifimgrd.domain.link_steps import LinkRules
from wifimgrd.domain.recovery import RecoveryRules
from wifimgrd.domain.reservation import ReservationRule


@dataclass(frozen=True, slots=True)
class HubSettings:
    """Times in seconds."""

    rules: AllocationRules = field(default_factory=AllocationRules)
    """Without reservations, which follow from `reserve` and the devices."""
    reserve: tuple[ReservationRule, ...] = ()
    groups: tuple[Group, ...] = ()
    """The devices that are connected together."""
    connect_on_create: bool = True
    attempt_timeout_s: float = 20.0
    auto_reconnect: bool = True
    """Whether lost devices are reconnected; it can be switched off for each device."""
    grace_s: float = 10.0
    """How long an interrupted link may take to come back."""
    addresses: AddressPlan = field(default_factory=AddressPlan)
    """The addresses at which cameras are reached on this host; fixed at the start of the daemon."""
    models: CameraModels = field(default_factory=CameraModels)
    codenames: Collection[str] | None = None
    """The camera models that may be registered; None allows any."""
    keep_recording: bool = False
    """Whether a camera that should record and does not is told again."""
    set_clock: bool = True
    """Whether the clock of a camera is set when it is connected."""
    recovery: RecoveryRules = field(default_factory=RecoveryRules)
    """The recovery steps for adapters that stop working."""
    link_recovery: LinkRules = field(default_factory=LinkRules)
    """The recovery steps for links that are up and dead."""
