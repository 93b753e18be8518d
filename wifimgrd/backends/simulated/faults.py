"""What goes wrong in a simulated world, on request: which fault lies on what."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

from wifimgrd.backends.simulated.camera import Camera
from wifimgrd.domain.recovery import RecoveryStep

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Scoped(Generic[K, V]):
    """A setting for everything, for some, or for everything but some. The key None is everything."""

    def __init__(self) -> None:
        self._values: dict[K | None, V | None] = {}

    def set(self, key: K | None, value: V) -> None:
        """Put `value` on one key; on everything, that wipes what was set singly."""
        if key is None:
            self._values.clear()
        self._values[key] = value

    def clear(self, key: K | None) -> None:
        """Take the setting off one key, or off everything."""
        if key is None:
            self._values.clear()
        elif None in self._values:
            self._values[key] = None
        else:
            self._values.pop(key, None)

    def get(self, key: K) -> V | None:
        """The setting of a key; None where it has none."""
        return self._values.get(key, self._values.get(None))


class Faults:
    """The faults that are set now. Keys are SSIDs in octets, or interface names."""

    def __init__(self) -> None:
        self.dhcp_dead: Scoped[bytes, bool] = Scoped()
        self.refusing: Scoped[bytes, bool] = Scoped()
        self.silent: Scoped[bytes, bool] = Scoped()
        self.join_s: Scoped[bytes, float] = Scoped()
        self.scan_fails: Scoped[str, bool] = Scoped()
        self.leave_s: Scoped[str, float] = Scoped()
        self.stuck: dict[str, RecoveryStep] = {}
        """Adapters that neither join nor hear, each with the step that heals it."""

    def heal(self, interface: str, step: RecoveryStep) -> None:
        """A step was taken with an adapter."""
        if self.stuck.get(interface) is step:
            del self.stuck[interface]

    def refuses(self, camera: Camera) -> bool:
        """Whether a camera says no to every host now."""
        return camera.plan.refuses or bool(self.refusing.get(camera.plan.ssid.octets))

    def withholds_address(self, camera: Camera) -> bool:
        """Whether a camera answers no DHCP now."""
        return not camera.plan.dhcp or bool(self.dhcp_dead.get(camera.plan.ssid.octets))
