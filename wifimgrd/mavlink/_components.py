"""Which camera is which MAVLink component: ids that stay with a device while it is registered.

Pure, but for `Memory`, which keeps them in the state folder.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Final

import structlog

FIRST: Final = 100
"""MAV_COMP_ID_CAMERA; the last of its six is 105."""
COMPONENTS: Final = range(FIRST, FIRST + 6)

_log = structlog.get_logger("wifimgrd.mavlink")


def assigned(kept: Mapping[int, int], registered: Collection[int], wanted: Sequence[int]) -> dict[int, int]:
    """The components of all devices that have one: what was kept of those that are registered, and of those
    that are `wanted` each that finds one. Where none is free, one of a device that is not wanted becomes
    free; of two wanted devices the one that has a component keeps it, the others wait."""
    found = {device: one for device, one in kept.items() if device in registered and one in COMPONENTS}
    for device in wanted:
        if device in found:
            continue
        free = [one for one in COMPONENTS if one not in found.values()]
        if not free and (idle := sorted(found.keys() - set(wanted))):
            free = [found.pop(idle[0])]
        if free:
            found[device] = free[0]
    return found


class Memory:
    """The components on disk, and the timestamp of the signatures."""

    def __init__(self, folder: Path | None) -> None:
        """None = nothing is kept."""
        self._file = None if folder is None else folder / "components.json"
        self.components: dict[int, int] = {}
        self.signed_until = 0
        """A timestamp that no signature has reached."""
        self._read()

    def _read(self) -> None:
        try:
            value = json.loads(self._file.read_text("utf-8")) if self._file is not None else {}
            pairs = {int(device): int(one) for device, one in value.get("components", {}).items()}
            self.components = {device: one for device, one in pairs.items() if one in COMPONENTS}
            self.signed_until = int(value.get("signed_until", 0))
        except FileNotFoundError:
            pass
        except (OSError, ValueError, TypeError, AttributeError) as error:
            _log.warning("components_unreadable", reason=str(error))

    def write(self, components: Mapping[int, int], signed_until: int) -> None:
        """Keep them; what is on disk is either the old value or the new one."""
        if components == self.components and signed_until == self.signed_until:
            return
        self.components, self.signed_until = dict(components), signed_until
        if self._file is None:
            return
        named = {str(device): one for device, one in sorted(components.items())}
        new = self._file.with_suffix(".new")
        try:
            with new.open("w", encoding="utf-8") as file:
                json.dump({"components": named, "signed_until": signed_until}, file)
                file.flush()
                os.fsync(file.fileno())
            new.replace(self._file)
        except OSError as error:
            _log.error("components_not_kept", reason=str(error))
