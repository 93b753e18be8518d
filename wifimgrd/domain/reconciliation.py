"""Compute the actions that make memory, the adapters and the backend's links agree: one pure function.

Used whenever the three may differ: at start, when the backend or its bus is back, when an adapter appears,
after udev lost events. Invariants, tested over any combination of the three:

- after the actions are done, a second run returns none;
- then a device is connected exactly where its own link exists, on a listed interface;
- no link is left of a device that is unknown or being removed, nor a second one of any device;
- the link of a connected device is never touched, and one of a known device's links is kept;
- devices with a running attempt or release are left to it: there is no action for them.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass

from wifimgrd.domain.device import DeviceId, HeldLink
from wifimgrd.domain.interface import natural_key
from wifimgrd.domain.lifecycle import Phase


@dataclass(frozen=True, slots=True)
class DeviceView:
    """A device's state in memory."""

    device_id: DeviceId
    phase: Phase = Phase.IDLE
    interface: str | None = None
    """None in IDLE, and where a recovery step has taken it away."""
    removing: bool = False
    """Its removal was requested."""


@dataclass(frozen=True, slots=True)
class Inventory:
    """The wireless interfaces that are present."""

    listed: frozenset[str] = frozenset()
    """The hub's."""
    foreign: frozenset[str] = frozenset()
    """Present, but not the hub's."""


@dataclass(frozen=True, slots=True)
class Lose:
    """A device's link has ended."""

    device_id: DeviceId


@dataclass(frozen=True, slots=True)
class Adopt:
    """A link exists that is not in memory: assign it to its device."""

    link: HeldLink


@dataclass(frozen=True, slots=True)
class Interrupt:
    """A link that is up in memory is interrupted."""

    link: HeldLink


@dataclass(frozen=True, slots=True)
class Restore:
    """A link that is interrupted in memory is up."""

    link: HeldLink


@dataclass(frozen=True, slots=True)
class Drop:
    """A link exists that belongs to no device: the backend must take it down."""

    link: HeldLink


Action = Lose | Adopt | Interrupt | Restore | Drop


def reconcile(
    views: Iterable[DeviceView], inventory: Inventory, links: Iterable[HeldLink]
) -> tuple[Action, ...]:
    """The actions that make the three agree, in order: losses, then found links, then strays.

    A backend has at most one link per interface. A link on an interface that is not present (yet) is kept
    for it, as long as its device has no other link.
    """
    by_interface = {link.interface: link for link in links}
    known = {view.device_id: view for view in views}
    holders = {view.interface: view.device_id for view in known.values() if view.interface is not None}
    losses: list[Action] = []
    found: list[Action] = []
    for view in known.values():
        if view.interface is None:
            continue
        own = by_interface.get(view.interface)
        if own is not None and own.device_id != view.device_id:
            own = None
        action = _of_own(view, own, inventory)
        if isinstance(action, Lose):
            losses.append(action)
            del holders[view.interface]
        elif action is not None:
            found.append(action)
    away = (one.device_id for one in known.values() if one.interface is None and one.phase is not Phase.IDLE)
    served = {*holders.values(), *away}
    for link in _best_first(by_interface.values()):
        view_of_link = known.get(link.device_id)
        if (
            view_of_link is not None
            and not view_of_link.removing
            and link.device_id not in served
            and link.interface in inventory.listed
            and link.interface not in holders
        ):
            holders[link.interface] = link.device_id
            served.add(link.device_id)
            found.append(Adopt(link))
            if not link.up:
                found.append(Interrupt(link))
    strays = [
        Drop(link)
        for link in by_interface.values()
        if link.interface not in holders and not _awaits(link, known, served, inventory)
    ]
    return (*losses, *found, *strays)


def _of_own(view: DeviceView, own: HeldLink | None, inventory: Inventory) -> Action | None:
    """The action for a device that has an interface, given its own link there."""
    if view.interface not in inventory.listed:
        return Lose(view.device_id)
    match view.phase:
        case Phase.ARRIVING | Phase.UP | Phase.INTERRUPTED if own is None:
            return Lose(view.device_id)
        case Phase.UP if own is not None and not own.up:
            return Interrupt(own)
        case Phase.INTERRUPTED if own is not None and own.up:
            return Restore(own)
    return None


def _awaits(
    link: HeldLink,
    known: dict[DeviceId, DeviceView],
    served: Container[DeviceId],
    inventory: Inventory,
) -> bool:
    """Whether a link is a known device's only one, on an interface that is not present yet."""
    view = known.get(link.device_id)
    is_present = link.interface in inventory.listed or link.interface in inventory.foreign
    return view is not None and not view.removing and link.device_id not in served and not is_present


def _best_first(links: Iterable[HeldLink]) -> list[HeldLink]:
    return sorted(links, key=lambda link: (not link.up, natural_key(link.interface)))
