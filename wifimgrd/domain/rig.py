"""Which cameras a command to all of them is for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum, auto

from wifimgrd.domain.device import DeviceId


class Everyone(Enum):
    """Whom a command is for beside the cameras that it names."""

    NOBODY = auto()
    RIG = auto()
    """All that are expected, connected or not."""
    CONNECTED = auto()
    """All that are connected."""

    @classmethod
    def of(cls, *, everyone: bool, connected: bool) -> Everyone:
        """As the options `all` and `connected` say; the latter only narrows the former."""
        if not everyone:
            return cls.NOBODY
        return cls.CONNECTED if connected else cls.RIG


@dataclass(frozen=True, slots=True)
class RigCamera:
    """A camera that the hub has a driver for, as far as commands to all are concerned."""

    id: DeviceId
    is_expected: bool
    is_connected: bool
    may_record: bool
    """A recording of it was seen to begin, and not to end."""


def commanded(cameras: Iterable[RigCamera], whom: Everyone, *, on: bool) -> list[DeviceId]:
    """The cameras that a command to start or stop recording is for, by id. One that may still record is told
    to stop whether it is expected or not."""
    return sorted(
        one.id
        for one in cameras
        if (whom is Everyone.CONNECTED and one.is_connected)
        or (whom is Everyone.RIG and (one.is_expected or (one.may_record and not on)))
    )
