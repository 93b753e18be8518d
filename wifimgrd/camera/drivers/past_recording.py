"""A recording that has ended, whose files are wanted, and the times that prove a file to be one of them.

Cameras number their files alike, and begin anew after their card was formatted: a name proves nothing. A file
is taken for one of a recording if it was created when that began, by the camera's own clock, or if the camera
has named it in its answer to the command that ended it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

_SECOND_US: Final = 1_000_000
_NEAR_US: Final = 5 * _SECOND_US
"""How far apart a recording's begin and its file's creation may be told: whole seconds, each with the delay
of its answer, and the time from the shutter to the file."""
_TOLD_US: Final = 15 * _SECOND_US
"""After a camera has said that it has stopped, the hub knows it within so long."""


@dataclass(frozen=True, slots=True)
class PastRecording:
    """When a recording began and ended, by this host's clock as it goes now."""

    began_us: int
    """Microseconds since the epoch."""
    ended_us: int
    """When it was seen to have ended, which may be long after."""

    @property
    def length_us(self) -> int:
        """From its begin until it was seen to have ended."""
        return self.ended_us - self.began_us

    def began_at(self, moment_us: int) -> bool:
        """Whether a file that was created at this moment is its first one."""
        return abs(moment_us - self.began_us) <= _NEAR_US

    def ran_at(self, moment_us: int) -> bool:
        """Whether a file that was created at this moment was created by it."""
        return self.began_at(moment_us) or self.began_us <= moment_us <= self.ended_us

    def touched_at(self, moment_us: int) -> bool:
        """Whether it may have created a file, or written to it, at this moment."""
        return self.began_us - _NEAR_US <= moment_us <= self.ended_us + _NEAR_US

    def is_before(self, moment_us: int) -> bool:
        """Whether a file of this moment was created after it."""
        return moment_us > max(self.began_us + _NEAR_US, self.ended_us)

    def ended_at(self, moment_us: int) -> bool:
        """Whether a camera that has said at this moment that a recording has ended has meant this one."""
        return self.began_us < moment_us <= self.ended_us + _NEAR_US and self.ended_us - moment_us <= _TOLD_US

    def lasted(self, seconds: int | None) -> bool:
        """Whether a file of this length is the whole of it."""
        return seconds is not None and abs(seconds * _SECOND_US - self.length_us) <= _NEAR_US


def is_future(moment_us: int, now_us: int) -> bool:
    """Whether a file was created in the future: the camera's clock was set back since, and proves nothing."""
    return moment_us > now_us + _NEAR_US
