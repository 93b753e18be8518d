"""What must be done so that memory, the adapters and the backend's links agree: one pure function.

Used whenever the three may have drifted apart: at start, when the backend or its bus is back, when an
adapter appears, after udev lost events. Invariants, tested over any mix of the three:

- once the actions are done, a second run gives none;
- then a device is connected exactly where its own link stands, on a listed interface;
- no link is left of a device that is unknown or being removed, nor a second one of any device;
- a link under a connected device is never touched, and of a known device's links one is kept;
- what an attempt or a release is at work on is its own: nothing is done there.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass
from enum import Enum, auto

from wifimgrd.domain.device import DeviceId, HeldLink
from wifimgrd.domain.interface import natural_key


class Phase(Enum):
    """What memory says of a device's link."""

    AT_REST = auto()
    """It has none, and no interface."""
    JOINING = auto()
    """An attempt runs on its interface."""
    UP = auto()
    WAITING = auto()
    """It was interrupted, and the backend tries to restore it."""
    ENDING = auto()
    """It is being taken down, or its end is being told."""


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a device stands in memory."""

    device: DeviceId
    phase: Phase = Phase.AT_REST
    interface: str | None = None
    """Set in every phase but AT_REST."""
    removing: bool = False
    """Somebody has asked to forget it."""


@dataclass(frozen=True, slots=True)
class Inventory:
    """The wireless interfaces that are there."""

    listed: frozenset[str] = frozenset()
    """The hub's."""
    foreign: frozenset[str] = frozenset()
    """There, and none of the hub's."""


@dataclass(frozen=True, slots=True)
class Lose:
    """A device's link is gone for good."""

    device: DeviceId


@dataclass(frozen=True, slots=True)
class Adopt:
    """A link stands that memory does not know of: it is its device's."""

    link: HeldLink


@dataclass(frozen=True, slots=True)
class Interrupt:
    """A link that memory has up is interrupted."""

    link: HeldLink


@dataclass(frozen=True, slots=True)
class Restore:
    """A link that memory has interrupted is up."""

    link: HeldLink


@dataclass(frozen=True, slots=True)
class Drop:
    """A link stands that is nobody's: the backend is to take it down."""

    link: HeldLink


Action = Lose | Adopt | Interrupt | Restore | Drop


def reconcile(
    standings: Iterable[Standing], inventory: Inventory, links: Iterable[HeldLink]
) -> tuple[Action, ...]:
    """The actions that make the three agree, in order: losses, then links found, then strays.

    A backend holds one link an interface at most. A link on an interface that is not there (yet) waits
    for it, as long as its device has no other.
    """
    by_interface = {link.interface: link for link in links}
    known = {standing.device: standing for standing in standings}
    holders = {
        standing.interface: standing.device for standing in known.values() if standing.interface is not None
    }
    losses: list[Action] = []
    found: list[Action] = []
    for standing in known.values():
        if standing.interface is None:
            continue
        own = by_interface.get(standing.interface)
        if own is not None and own.device != standing.device:
            own = None
        action = _of_own(standing, own, inventory)
        if isinstance(action, Lose):
            losses.append(action)
            del holders[standing.interface]
        elif action is not None:
            found.append(action)
    served = set(holders.values())
    for link in _best_first(by_interface.values()):
        standing_of_link = known.get(link.device)
        if (
            standing_of_link is not None
            and not standing_of_link.removing
            and link.device not in served
            and link.interface in inventory.listed
            and link.interface not in holders
        ):
            holders[link.interface] = link.device
            served.add(link.device)
            found.append(Adopt(link))
            if not link.up:
                found.append(Interrupt(link))
    strays = [
        Drop(link)
        for link in by_interface.values()
        if link.interface not in holders and not _awaits(link, known, served, inventory)
    ]
    return (*losses, *found, *strays)


def _of_own(standing: Standing, own: HeldLink | None, inventory: Inventory) -> Action | None:
    """What is to be done about a device that has an interface, given the link that stands there."""
    if standing.interface not in inventory.listed:
        return Lose(standing.device)
    match standing.phase:
        case Phase.UP | Phase.WAITING if own is None:
            return Lose(standing.device)
        case Phase.UP if own is not None and not own.up:
            return Interrupt(own)
        case Phase.WAITING if own is not None and own.up:
            return Restore(own)
    return None


def _awaits(
    link: HeldLink,
    known: dict[DeviceId, Standing],
    served: Container[DeviceId],
    inventory: Inventory,
) -> bool:
    """Whether a link is a known device's only one, on an interface that is not there yet."""
    standing = known.get(link.device)
    is_there = link.interface in inventory.listed or link.interface in inventory.foreign
    return standing is not None and not standing.removing and link.device not in served and not is_there


def _best_first(links: Iterable[HeldLink]) -> list[HeldLink]:
    return sorted(links, key=lambda link: (not link.up, natural_key(link.interface)))
