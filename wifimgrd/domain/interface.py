"""An interface: an adapter as the hub may or may not use it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from wifimgrd.domain.adapter import Adapter, Band
from wifimgrd.domain.device import DeviceId


class InterfaceState(StrEnum):
    """Whether an interface can be assigned."""

    AVAILABLE = "available"
    IN_USE = "in-use"
    UNAVAILABLE = "unavailable"


@dataclass(frozen=True, slots=True)
class BackendFacts:
    """What the backend knows of an interface and udev does not."""

    obstacle: str = ""
    """Why the backend must not use it now (a connection that is not ours, unmanaged, the
    default route, an access point); empty where nothing stands in the way."""
    bands: frozenset[Band] = frozenset()
    """Empty where they are not known."""


@dataclass(frozen=True, slots=True)
class Interface:
    """A listed Wi-Fi interface of this host."""

    adapter: Adapter
    exclusion: str = ""
    """Why the configuration excludes it; empty where it does not."""
    facts: BackendFacts = BackendFacts()
    trouble: str = ""
    """Why it is not to be used although it is there: it does not work (wifimgrd.domain.recovery)."""
    suspect: bool = False
    """Another one is to be preferred."""

    @property
    def name(self) -> str:
        """The kernel's name of it, e.g. `wlan0`."""
        return self.adapter.name

    @property
    def obstacle(self) -> str:
        """Why it cannot be taken although no device has it; empty where it can."""
        if self.exclusion:
            return self.exclusion
        if self.adapter.rfkill:
            return f"blocked by rfkill ({self.adapter.rfkill})"
        return self.trouble or self.facts.obstacle


@dataclass(frozen=True, slots=True)
class InterfaceStatus:
    """An interface as clients see it at one instant."""

    interface: Interface
    state: InterfaceState
    reason: str = ""
    """Why it is UNAVAILABLE; empty in the other states."""
    device: DeviceId | None = None
    """The device that has it, exactly while it is IN_USE."""


@lru_cache(maxsize=1024)
def natural_key(name: str) -> tuple[tuple[int, str | int], ...]:
    """Sorts `wlan2` before `wlan10`."""
    return tuple(
        (1, int(part)) if part.isdecimal() else (0, part) for part in re.split(r"(\d+)", name) if part
    )
