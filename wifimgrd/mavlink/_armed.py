"""Record while the vehicle is armed: a pure state machine.

Invariants, tested for any order of events:

- a recording is ordered on the edge only, from a heartbeat that says "not armed" to one that says "armed":
  the first heartbeat after the start is none, and silence is none;
- what disarming stops was started by arming, was not seen to end since, and nobody has asked for it over
  MAVLink meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

AUTOPILOT: Final = 1
"""Its component."""
ARMED: Final = 0x80
"""MAV_MODE_FLAG_SAFETY_ARMED in `base_mode`."""
STOPS_AFTER_S: Final = 5.0
"""A vehicle that is armed again within this time goes on recording."""


@dataclass(frozen=True, slots=True)
class Armed:
    """The state of the vehicle as far as it is known, and the recordings that belong to its flight."""

    is_armed: bool | None = None
    """None before the first heartbeat."""
    started: frozenset[int] = frozenset()
    """The cameras that were started by arming, and have recorded since."""
    stops_at_s: float | None = None
    """When they are to be stopped."""

    def heard(self, is_armed: bool, now_s: float) -> tuple[Armed, bool]:
        """The autopilot's heartbeat; whether the cameras are to record now."""
        before, after = self.is_armed, replace(self, is_armed=is_armed)
        if before is None or before is is_armed:
            return after, False
        if is_armed:
            return replace(after, stops_at_s=None), True
        return replace(after, stops_at_s=now_s + STOPS_AFTER_S), False

    @property
    def late(self) -> frozenset[int]:
        """The cameras that could not be stopped in time: they are to be stopped once that is possible."""
        return self.started if self.is_armed is False and self.stops_at_s is None else frozenset()

    def recording(self, devices: Iterable[int]) -> Armed:
        """The order of the edge has started these, which did not record before; or disarming has not reached
        them, and they still record."""
        return replace(self, started=self.started.union(devices))

    def released(self, devices: Iterable[int]) -> Armed:
        """These have ended, or somebody has asked for them: disarming leaves them as they are."""
        return replace(self, started=self.started.difference(devices))

    def due(self, now_s: float) -> tuple[Armed, frozenset[int]]:
        """The state after the stop that is due now, and the cameras that it stops, if there are any."""
        if self.stops_at_s is None or now_s < self.stops_at_s:
            return self, frozenset()
        return replace(self, started=frozenset(), stops_at_s=None), self.started
