"""The faults that are set in a simulated world, and their targets."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

from wifimgrd.domain.recovery import RecoveryStep
from wifimgrd.simulator._camera import Camera

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

    def heal(self, interface: str, step: RecoveryStep) -> None:
        """A recovery step was taken on an adapter."""
        if self.stuck.get(interface) is step:
            del self.stuck[interface]

    def refuses(self, camera: Camera) -> bool:
        """Whether a camera refuses every host now."""
        return camera.plan.refuses or bool(self.refusing.get(camera.plan.ssid.data))

    def withholds_address(self, camera: Camera) -> bool:
        """Whether a camera answers no DHCP request now."""
        return not camera.plan.dhcp or bool(self.dhcp_dead.get(camera.plan.ssid.data))
