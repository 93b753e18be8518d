"""Whether a connected camera answers, with hysteresis: a pure state machine.

A link that is up does not prove that anybody is there to talk to: a camera's access point can run while
its program hangs. So each connected camera is asked now and then. `Reachability` is a value; each
operation returns the next one. Invariants, tested for any history:

- it is reachable from its first answer on, the one that gave the host its address included, and no
  longer after SILENCES questions in a row without one;
- a single silence changes nothing that is told;
- while it answers it is asked at long intervals; the first silence is looked into soon; one that stays
  silent is asked less and less often, to LONGEST_S and not beyond.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

SILENCES: Final = 3
ANSWERED_S: Final = 10.0
"""After an answer, the next question."""
DOUBT_S: Final = 1.0
"""After a silence, while it is not decided."""
FIRST_SILENT_S: Final = 2.0
LONGEST_S: Final = 10.0


@dataclass(frozen=True, slots=True)
class Reachability:
    """What is held of one connected camera; new for each link."""

    reachable: bool = False
    silences: int = 0
    """In a row."""

    @classmethod
    def addressed(cls) -> Reachability:
        """Of a link that has just come up by DHCP: the camera has answered that far."""
        return cls(reachable=True)

    def answered(self) -> Reachability:
        """It answered."""
        return Reachability(reachable=True)

    def silent(self) -> Reachability:
        """It was asked, and did not answer in time."""
        silences = self.silences + 1
        return replace(self, reachable=self.reachable and silences < SILENCES, silences=silences)

    @property
    def wait_s(self) -> float:
        """Until it is asked again, in seconds."""
        if self.silences == 0:
            return ANSWERED_S
        if self.silences < SILENCES:
            return DOUBT_S
        return min(LONGEST_S, FIRST_SILENT_S * 2.0 ** min(self.silences - SILENCES, 16))
