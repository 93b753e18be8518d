"""Whether a connected camera answers, with hysteresis: a pure state machine.

A link that is up does not prove that the camera works: its access point can run while its software hangs.
So each connected camera is probed periodically. `Reachability` is a value; each operation returns a new one.
Invariants, tested for any history:

- a camera is reachable from its first answer on (a DHCP lease counts as one) until SILENCES probes in a row
  were not answered;
- a single unanswered probe changes nothing that is reported;
- while it answers, it is probed at long intervals; after the first unanswered probe, the next follows soon;
  a camera that stays silent is probed less and less often, but at least every LONGEST_S.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

SILENCES: Final = 3
ANSWERED_S: Final = 10.0
"""From an answer to the next probe."""
DOUBT_S: Final = 1.0
"""From an unanswered probe to the next, while the camera still counts as reachable."""
FIRST_SILENT_S: Final = 2.0
LONGEST_S: Final = 10.0


@dataclass(frozen=True, slots=True)
class Reachability:
    """The probe history of one connected camera; new for each link."""

    reachable: bool = False
    silences: int = 0
    """Unanswered probes in a row."""

    @classmethod
    def addressed(cls) -> Reachability:
        """For a link that has just come up by DHCP: the camera's DHCP server has answered."""
        return cls(reachable=True)

    def answered(self) -> Reachability:
        """A probe was answered."""
        return Reachability(reachable=True)

    def silent(self) -> Reachability:
        """A probe was not answered in time."""
        silences = self.silences + 1
        return replace(self, reachable=self.reachable and silences < SILENCES, silences=silences)

    @property
    def wait_s(self) -> float:
        """The time until the next probe, in seconds."""
        if self.silences == 0:
            return ANSWERED_S
        if self.silences < SILENCES:
            return DOUBT_S
        return min(LONGEST_S, FIRST_SILENT_S * 2.0 ** min(self.silences - SILENCES, 16))
