"""The recovery steps for a link that is up and dead: which there are, and which are possible for a camera.

REJOIN and OTHER_ADAPTER serve every verdict, those of a USB port an adapter that is at fault, the camera's
own the camera or its service. No step ends another camera's link: a port is only reset if nothing else uses
its USB device, its power is only switched if the operator has named it, and another adapter is only taken if
it is free. Values without a clock; when which step is due is in `link_recovery.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from wifimgrd.domain.adapter import AdapterIdentity
from wifimgrd.domain.dead_links import Evidence, Verdict
from wifimgrd.domain.errors import Busy, CameraBusy, InvalidRequest, NotSupported, WifimgrdError


class LinkStep(StrEnum):
    """A recovery step for a dead link, from the least to the most intrusive."""

    REJOIN = "rejoin"
    """Take the link down, and join the network again through the same adapter."""
    OTHER_ADAPTER = "other-adapter"
    """Join it through another adapter that is free."""
    RESET_PORT = "reset-port"
    """Reset the USB port of the adapter, which loads the firmware of most anew."""
    POWER_PORT = "power-port"
    """Switch the power of its USB port off and on."""
    CAMERA_ACCESS_POINT = "camera-access-point"
    """Switch the camera's access point off and on, over Bluetooth."""
    REBOOT_CAMERA = "reboot-camera"
    """Reboot the camera."""

    def serves(self, verdict: Verdict) -> bool:
        """Whether it is a step against what is at fault."""
        if self in PORT_STEPS:
            return verdict is Verdict.ADAPTER
        return self not in CAMERA_STEPS or verdict in (Verdict.SERVICE, Verdict.CAMERA)


PORT_STEPS: Final = frozenset({LinkStep.RESET_PORT, LinkStep.POWER_PORT})
"""The steps of an adapter."""
CAMERA_STEPS: Final = frozenset({LinkStep.CAMERA_ACCESS_POINT, LinkStep.REBOOT_CAMERA})
"""The camera's own steps."""


class StepResult(StrEnum):
    """The result of a step."""

    CAME_BACK = "came-back"
    """The camera has answered since."""
    DID_NOT = "did-not"
    """It has not answered, or has no link."""
    NOT_KNOWN = "not-known"
    """The step was ended before that could be seen."""


@dataclass(frozen=True, slots=True)
class LinkRules:
    """The settings of the steps."""

    steps: frozenset[LinkStep] = frozenset(LinkStep)
    """Those that are switched on; a command that names a step needs none of them."""
    silent_link_s: float = 120.0
    """For how long a connected camera must have answered nothing; 0 = no step is taken without a command."""
    power_ports: frozenset[str] = frozenset()
    """The USB ports whose power may be switched, such as `1-1.4`."""
    camera_steps: bool = False
    """Whether the camera's own steps may be taken without a command."""


@dataclass(frozen=True, slots=True)
class Situation:
    """The facts about a connected camera that its next step depends on."""

    adapter: AdapterIdentity
    """Its link is through this one."""
    evidence: Evidence = field(default_factory=Evidence)
    has_answered: bool = True
    """It has answered a probe before. If a camera answers ARP and never a probe, the probe does not fit."""
    may_record: bool = False
    """It records, or a recording was not seen to end."""
    has_other_adapter: bool = False
    """Another adapter is free for it."""
    is_port_shared: bool = False
    """Another camera or program uses the USB device of its adapter."""
    can: frozenset[LinkStep] = frozenset()
    """Those of its own steps that its model knows, and its pairing allows."""


def hindrance(step: LinkStep, situation: Situation, rules: LinkRules) -> WifimgrdError | None:
    """Why a step cannot be taken for a camera, not even by a command; None if it can."""
    if step in PORT_STEPS:
        if situation.is_port_shared:
            return Busy("another interface of the adapter's USB device is in use")
        return port_hindrance(step, situation.adapter, rules)
    if step in CAMERA_STEPS:
        if situation.may_record:
            return CameraBusy("the camera records, or its recording was not seen to end")
        return None if step in situation.can else NotSupported(f"the hub cannot do that: {step}")
    if step is LinkStep.OTHER_ADAPTER and not situation.has_other_adapter:
        return Busy("no other adapter is free for the camera")
    return None


def port_hindrance(step: LinkStep, adapter: AdapterIdentity, rules: LinkRules) -> WifimgrdError | None:
    """Why a step of a USB port cannot be taken on an adapter; None if it can."""
    if not adapter.usb_port:
        return NotSupported("the adapter is not on USB")
    if step is LinkStep.POWER_PORT and adapter.usb_port not in rules.power_ports:
        return InvalidRequest(f"step: the USB port {adapter.usb_port} is not one of `power_ports`")
    return None
