"""Which camera is which MAVLink component: ids that stay with a device while it is registered."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Final

import structlog

from wifimgrd.domain.records import DeviceRecord
from wifimgrd.mavlink._signing import LARGEST

COMPONENTS: Final = range(100, 106)
"""MAV_COMP_ID_CAMERA to MAV_COMP_ID_CAMERA6."""

_log = structlog.get_logger("wifimgrd.mavlink")


def wanted(
    devices: Mapping[int, DeviceRecord], named: Sequence[int | str]
) -> tuple[list[int], list[int | str]]:
    """The cameras that have a driver, in the order of their ids: all of them, or those that are `named`. And
    the names and ids that belong to no camera."""
    cameras = [one for one in sorted(devices) if devices[one].camera is not None]
    if not named:
        return cameras, []
    by_name: dict[int | str, int] = {device.name: one for one, device in devices.items()}
    found = {name: name if isinstance(name, int) else by_name.get(name) for name in named}
    return [one for one in cameras if one in found.values()], [
        name for name, one in found.items() if one not in cameras
    ]


def assigned(kept: Mapping[int, int], registered: Collection[int], wanted: Sequence[int]) -> dict[int, int]:
    """The devices by their components: what was kept of those that are registered, and each device that is
    `wanted` and finds one. Where none is free, one of a device that is not wanted becomes free; of two wanted
    devices the one that has a component keeps it, the other waits."""
    found = {one: device for one, device in kept.items() if device in registered}
    for device in wanted:
        if device not in found.values():
            free = [one for one in COMPONENTS if one not in found]
            free += [one for one in COMPONENTS if one in found and found[one] not in wanted]
            found |= dict.fromkeys(free[:1], device)
    return found


class Memory:
    """The devices by their components on disk, and the timestamp of the signatures."""

    def __init__(self, folder: str | None) -> None:
        """None = nothing is kept."""
        self._file = None if folder is None else Path(folder, "components.json")
        self.components: dict[int, int] = {}
        self.last_signed = 0
        """The last timestamp of a signature, or up to a minute earlier."""
        try:
            kept = {} if self._file is None else json.loads(self._file.read_text("utf-8"))
            pairs = {int(one): int(device) for one, device in kept.get("components", {}).items()}
            by_device = {device: one for one, device in pairs.items() if one in COMPONENTS}
            self.components = {one: device for device, one in by_device.items()}
            self.last_signed = min(max(0, int(kept.get("last_signed", 0))), LARGEST)
        except FileNotFoundError:
            pass
        except (OSError, ValueError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
            _log.warning("components_unreadable", reason=str(error))
        self._on_disk = self.components, self.last_signed

    def write(self, components: Mapping[int, int], last_signed: int) -> None:
        """Keep them; what is on disk is either the old value or the new one."""
        before, now = (self.components, self.last_signed), (dict(components), last_signed)
        self.components, self.last_signed = now
        if self._file is None or now == self._on_disk:
            return
        new = self._file.with_suffix(".new")
        try:
            with new.open("w", encoding="utf-8") as file:
                json.dump({"components": components, "last_signed": last_signed}, file)
                file.flush()
                os.fsync(file.fileno())
            new.replace(self._file)
            self._on_disk = now
        except OSError as error:  # it is tried again with the next change
            if now != before:
                _log.error("components_not_kept", reason=str(error))
