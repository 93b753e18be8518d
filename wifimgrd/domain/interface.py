"""An interface: an adapter's network interface, and whether the hub may use it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Final

from wifimgrd.domain.adapter import Adapter, Band, Mode
from wifimgrd.domain.device import DeviceId
from wifimgrd.domain.errors import AdapterTaken, InterfaceLost
from wifimgrd.domain.recovery import Health


class InterfaceState(StrEnum):
    """Whether an interface can be assigned."""

    AVAILABLE = "available"
    IN_USE = "in-use"
    UNAVAILABLE = "unavailable"


_PLAIN_NAME: Final = re.compile(r"(?!\.{1,2}\Z)[A-Za-z0-9_.-]{1,15}", re.ASCII)


def has_plain_name(interface: str) -> bool:
    """Whether the hub uses an interface of that name. The kernel allows more signs: they would end a word of
    nft, or be a pattern in `Name=` of a .network file."""
    return _PLAIN_NAME.fullmatch(interface) is not None


@dataclass(frozen=True, slots=True)
class BackendFacts:
    """The facts of an interface that only the backend can report, not udev."""

    obstacle: str = ""
    """Why the backend must not use it now (another program's connection, unmanaged, the
    default route, an access point); empty where there is no obstacle."""
    bands: frozenset[Band] = frozenset()
    """Empty where they are not known."""
    known: bool = True
    """Whether the backend has the interface; an adapter that was pulled out is often lost there first."""


@dataclass(frozen=True, slots=True)
class Interface:
    """A listed Wi-Fi interface of this host."""

    adapter: Adapter
    exclusion: str = ""
    """Why it is excluded, by the configuration or by its name; empty where it is not."""
    sharing: str = ""
    """Why its radio is not for it: another interface leads that; empty where it leads it itself."""
    reserved_for: DeviceId | None = None
    """The device for which its radio is kept (wifimgrd.domain.reservation); None = it is for all."""
    facts: BackendFacts = BackendFacts()
    trouble: str = ""
    """Why it must not be used although it is present: it does not work (wifimgrd.domain.recovery)."""
    suspect: bool = False
    """It may not work; other interfaces are preferred."""
    health: Health | None = None
    """The health of its radio, as far as it is known."""
    health_reason: str = ""
    """Why its radio may not work; empty if it is GOOD or nothing is known of it."""

    @property
    def name(self) -> str:
        """Its name in the kernel, e.g. `wlan0`."""
        return self.adapter.name

    @property
    def radio(self) -> str:
        """Its radio; one that is not known is its own."""
        return self.adapter.radio or self.name

    @property
    def obstacle(self) -> str:
        """Why it cannot be assigned although it is not in use; empty where it can."""
        if self.exclusion:
            return self.exclusion
        if self.adapter.rfkill:
            return f"blocked by rfkill ({self.adapter.rfkill})"
        if self.sharing or self.trouble:
            return self.sharing or self.trouble
        if self.adapter.mode is not Mode.STATION and not (self.facts.known and self.facts.obstacle):
            return f"is {self.adapter.mode}"
        return self.facts.obstacle


@dataclass(frozen=True, slots=True)
class InterfaceStatus:
    """An interface's status for clients, as a snapshot."""

    interface: Interface
    state: InterfaceState
    reason: str = ""
    """Why it is UNAVAILABLE; empty in the other states."""
    device_id: DeviceId | None = None
    """The device that it is assigned to; set exactly while it is IN_USE."""


@dataclass(frozen=True, slots=True)
class InterfaceCounts:
    """How many radios there are, and what is so with how many interfaces."""

    total: int
    free: int
    """Available to any device: AVAILABLE, and not reserved."""
    in_use: int


def absent(name: str) -> InterfaceLost:
    """An adapter is not there when it is to be used."""
    return InterfaceLost(f"there is no adapter {name}")


def unplugged(name: str) -> InterfaceLost:
    """The adapter of an attempt or link was unplugged."""
    return InterfaceLost(f"the adapter {name} was unplugged")


def blocked(name: str, rfkill: str) -> InterfaceLost:
    """The adapter of an attempt or link was blocked by rfkill; says how to unblock it."""
    how = "its switch, or the computer's," if rfkill == "hard-blocked" else "`rfkill unblock wifi`"
    return InterfaceLost(f"the adapter {name} was blocked by rfkill ({rfkill}); {how} unblocks it")


def taken(name: str, how: str) -> AdapterTaken:
    """Another program has the adapter of an attempt or link; `how` is the rest of the sentence."""
    return AdapterTaken(f"the adapter {name} was taken by another program: {how}")


@lru_cache(maxsize=1024)
def natural_key(name: str) -> tuple[tuple[int, str | int], ...]:
    """A sort key that puts `wlan2` before `wlan10`."""
    return tuple(
        (1, int(part)) if part.isdecimal() else (0, part) for part in re.split(r"(\d+)", name) if part
    )
