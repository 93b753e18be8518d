"""The faults that are set in a simulated world, and their targets."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from wifimgrd.domain.link_steps import PORT_STEPS, LinkStep
from wifimgrd.domain.recovery import RecoveryStep
from wifimgrd.simulator._camera import Camera

_ADAPTERS: Final = PORT_STEPS | {LinkStep.OTHER_ADAPTER}
"""A link that only these heal is dead since its adapter receives nothing."""
_HEALED_BY: Final[Mapping[LinkStep, frozenset[LinkStep]]] = {
    LinkStep.RESET_PORT: _ADAPTERS - {LinkStep.POWER_PORT},
    LinkStep.POWER_PORT: _ADAPTERS,
    LinkStep.CAMERA_ACCESS_POINT: frozenset({LinkStep.CAMERA_ACCESS_POINT}),
    LinkStep.REBOOT_CAMERA: frozenset({LinkStep.CAMERA_ACCESS_POINT, LinkStep.REBOOT_CAMERA}),
}
"""The faults that a step heals, by the gentlest step that does."""
K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Scoped(Generic[K, V]):
    """A setting for all keys, for some, or for all but some. The key None stands for all."""

    def __init__(self) -> None:
        self._values: dict[K | None, V | None] = {}

    def set(self, key: K | None, value: V) -> None:
        """Set `value` for one key, or for all, which clears the settings of single keys."""
        if key is None:
            self._values.clear()
        self._values[key] = value

    def clear(self, key: K | None) -> None:
        """Clear the setting of one key, or of all."""
        if key is None:
            self._values.clear()
        elif None in self._values:
            self._values[key] = None
        else:
            self._values.pop(key, None)

    def get(self, key: K) -> V | None:
        """The setting of a key; None where it has none."""
        return self._values.get(key, self._values.get(None))


@dataclass(frozen=True, slots=True)
class DeadLink:
    """The fault of a link through which nothing passes."""

    camera: bytes
    heals: LinkStep
    """The gentlest step that heals it."""


class Faults:
    """The faults that are set now. Keys are SSIDs in bytes, or interface names."""

    def __init__(self) -> None:
        self.dhcp_dead: Scoped[bytes, bool] = Scoped()
        self.refusing: Scoped[bytes, bool] = Scoped()
        self.bond_lost: Scoped[bytes, bool] = Scoped()
        self.silent: Scoped[bytes, bool] = Scoped()
        self.join_s: Scoped[bytes, float] = Scoped()
        self.scan_fails: Scoped[str, bool] = Scoped()
        self.leave_s: Scoped[str, float] = Scoped()
        self.stuck: dict[str, RecoveryStep] = {}
        """Adapters that neither join nor receive, each with the step that heals it."""
        self.unswitched: Scoped[str, bool] = Scoped()
        """Adapters at USB ports that do not switch the power."""
        self.dead_links: dict[str, DeadLink] = {}
        """By the interface."""
        self.dead_firmware: dict[str, LinkStep] = {}
        """Adapters that receive nothing, each with the step that heals it."""
        self.dead_cameras: dict[bytes, LinkStep] = {}
        """Cameras whose whole IP side hangs, each with its own step that heals it."""
        self.dead_services: dict[bytes, LinkStep] = {}
        """Cameras that answer ARP only."""
        self.before_change: Callable[[], None] = lambda: None
        """Called before another adapter or link receives nothing, or does again."""

    def heal(self, interface: str, step: RecoveryStep) -> None:
        """A recovery step was taken on an adapter."""
        if self.stuck.get(interface) is step:
            del self.stuck[interface]

    def link_ended(self, interface: str) -> None:
        """A link was taken down, or was lost: the next one is another one."""
        dead = self.dead_links.get(interface)
        if dead is not None and dead.heals is LinkStep.REJOIN:
            self.before_change()
            del self.dead_links[interface]

    def link_up(self, interface: str, camera: bytes) -> None:
        """A camera was joined: what hung between it and another adapter no longer does."""
        for other, dead in tuple(self.dead_links.items()):
            if dead == DeadLink(camera, LinkStep.OTHER_ADAPTER) and other != interface:
                del self.dead_links[other]

    def port_stepped(self, interface: str, step: LinkStep) -> None:
        """A step of its USB port was taken on an adapter, which has no link."""
        healed = _HEALED_BY[step]
        self.heal(interface, RecoveryStep.REPLUG)
        if self.dead_firmware.get(interface) in healed:
            del self.dead_firmware[interface]
        if (dead := self.dead_links.get(interface)) is not None and dead.heals in healed:
            del self.dead_links[interface]

    def unplugged(self, interface: str) -> None:
        """An adapter was unplugged by hand."""
        self.stuck.pop(interface, None)
        self.port_stepped(interface, LinkStep.POWER_PORT)

    def camera_stepped(self, camera: bytes, step: LinkStep) -> None:
        """A camera has taken one of its own steps; switched off, it has rebooted."""
        for dead in (self.dead_cameras, self.dead_services):
            if dead.get(camera) in _HEALED_BY[step]:
                del dead[camera]

    def is_deaf(self, interface: str) -> bool:
        """Whether an adapter neither joins nor hears any camera now."""
        return interface in self.stuck or interface in self.dead_firmware

    def receives(self, interface: str, camera: Camera) -> bool:
        """Whether an adapter that has a link to a camera receives its access point now."""
        dead = self._dead_link(interface, camera)
        return interface not in self.dead_firmware and (dead is None or dead.heals not in _ADAPTERS)

    def passes(self, interface: str, camera: Camera) -> bool:
        """Whether a camera and this host hear each other through a link that is up."""
        ssid = camera.plan.ssid.data
        is_dead = self._dead_link(interface, camera) is not None or interface in self.dead_firmware
        return camera.powered and not (is_dead or ssid in self.dead_cameras or self.silent.get(ssid))

    def _dead_link(self, interface: str, camera: Camera) -> DeadLink | None:
        """The fault of a link; where the adapter is at fault, of each link through it."""
        dead = self.dead_links.get(interface)
        is_other = dead is None or (dead.camera != camera.plan.ssid.data and dead.heals not in PORT_STEPS)
        return None if is_other else dead

    def serves(self, interface: str, camera: Camera) -> bool:
        """Whether a camera answers at its ports through a link that is up."""
        return self.passes(interface, camera) and camera.plan.ssid.data not in self.dead_services

    def refuses(self, camera: Camera) -> bool:
        """Whether a camera refuses every host now."""
        return camera.plan.refuses or bool(self.refusing.get(camera.plan.ssid.data))

    def withholds_address(self, camera: Camera) -> bool:
        """Whether a camera answers no DHCP request now."""
        return not camera.plan.dhcp or bool(self.dhcp_dead.get(camera.plan.ssid.data))
