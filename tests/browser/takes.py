"""Takes as the hub answers them, made by hand."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import count
from typing import Any

Json = dict[str, Any]


def written(moment: datetime) -> str:
    """A time as the hub writes it."""
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


class Takes:
    """Makes takes, each with rows of its own; times are in seconds after `begin`."""

    def __init__(self, begin: datetime) -> None:
        self._begin = begin
        self._ids = count(1)

    def at(self, seconds: float) -> str:
        return written(self._begin + timedelta(seconds=seconds))

    def recording(
        self, device_id: int | None, name: str, begin: float, end: float | None, **members: Any
    ) -> Json:
        """A row; one that has ended was stopped by a command."""
        return {
            "id": next(self._ids),
            "time": self.at(begin),
            "device_id": device_id,
            "device_name": name,
            "kind": "recording",
            "interface": "wlan0",
            "code": None if end is None else "stopped",
            "message": None,
            "ended": None if end is None else self.at(end),
            "signal_minimum": None,
            "signal_mean": None,
            "serial_number": None,
            "battery_level": None,
            "battery_level_after": None,
            "storage_free": None,
            "storage_free_after": None,
            "clock_offset_ms": None,
            "clock_bound_ms": None,
            "files": None,
            **members,
        }

    def take(self, recordings: Sequence[Json], missing: Sequence[Json] = ()) -> Json:
        """From the first begin until none runs."""
        ends = [one["ended"] for one in recordings]
        return {
            "time": min(one["time"] for one in recordings),
            "ended": None if None in ends else max(ends),
            "recordings": list(recordings),
            "missing": list(missing),
        }


def missing(device_id: int | None, name: str, code: str | None = None) -> Json:
    """A camera that was expected."""
    return {"device_id": device_id, "device_name": name, "code": code}


def files(*sizes: int | None, folder: str = "100GOPRO") -> list[Json]:
    """Files of a card."""
    return [{"name": f"{folder}/GX01{number:04}.MP4", "size": size} for number, size in enumerate(sizes, 1)]
