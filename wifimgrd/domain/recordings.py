"""The facts of a recording beside its begin and end: whose it is, where it is, who should record, too.

Values, without a clock and without I/O; what is not known is None.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from wifimgrd.domain.device import Device, DeviceId


@dataclass(frozen=True, slots=True)
class RecordedFile:
    """A file on a camera's card."""

    name: str
    """Its path there, as the camera tells it: `100GOPRO/GX010123.MP4`. Cameras name files alike."""
    size: int | None = None
    """Bytes."""


@dataclass(frozen=True, slots=True)
class ExpectedCamera:
    """A camera that should have recorded, too."""

    device_id: DeviceId
    device_name: str
    """Its name then."""
    code: str = ""
    """Why it did not, if it was told to: the error code of that command."""


@dataclass(frozen=True, slots=True)
class Recording:
    """The facts of a recording that are kept."""

    serial_number: str = ""
    """The camera's."""
    battery_level: int | None = None
    """Percent, at the begin."""
    battery_level_after: int | None = None
    """Percent, at the end."""
    storage_free: int | None = None
    """Bytes, at the begin."""
    storage_free_after: int | None = None
    """Bytes, at the end."""
    clock_offset_us: int | None = None
    """The camera's clock minus this host's, as it was last read before the begin."""
    clock_bound_us: int | None = None
    """The true offset is within that of it."""
    files: tuple[RecordedFile, ...] | None = None
    """In the order in which they were written."""
    expected: tuple[ExpectedCamera, ...] = ()
    """The cameras that are expected to record. Kept with the first recording of a take, without those that
    have recorded in it so far."""
    take: int = 0
    """Its take: the id that the first row of that had. 0 in rows of earlier versions."""
    joins: int = 0
    """An earlier take that turned out to be one with its take, by its id; only in the first row. 0 = none."""
    set_us: int = 0
    """By how much this host's clock was set forward between the begin of the take and its own, microseconds;
    negative if it was set back."""


def expected_cameras(devices: Iterable[Device]) -> tuple[ExpectedCamera, ...]:
    """Those of some devices that are expected."""
    return tuple(ExpectedCamera(one.id, one.name) for one in devices if one.expected)
