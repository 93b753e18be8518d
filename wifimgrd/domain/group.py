"""Which interfaces the devices of a group get, and which other devices give theirs up: a pure decision.

Of all decisions it is the one that, in this order,

- connects as many of the group's devices as any other, those of higher priority first;
- disconnects the fewest other devices: it frees no interface if a free one serves;
- disconnects those of the lowest priority: in order of priority, the first, the second, ... of them has no
  higher priority than that of any other decision that disconnects as few;
- gives each device the interface that the allocator would prefer for it, if the rest still get theirs.

The sets of interfaces that devices can use at once are the independent sets of a transversal matroid, and the
same is true of devices that interfaces can serve. Hence a greedy choice of each is the best one, and one
matching has both (the theorem of Mendelsohn and Dulmage).
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TypeVar

from wifimgrd.domain import sentences
from wifimgrd.domain.allocator import Allocator, Claim, NameOf, position, refusal_message
from wifimgrd.domain.device import DeviceId
from wifimgrd.domain.errors import NoInterfaceAvailable

_L = TypeVar("_L", bound=Hashable)
_R = TypeVar("_R", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Group:
    """`[[connect.group]]`: devices, by id or name, that are connected together."""

    name: str
    devices: tuple[DeviceId | str, ...]


@dataclass(frozen=True, slots=True)
class Member:
    """A device of the group that needs an interface."""

    claim: Claim
    priority: int = 0


@dataclass(frozen=True, slots=True)
class Holder:
    """A device that has an interface and can give it up."""

    device_id: DeviceId
    priority: int = 0
    is_commanded: bool = True
    """A client wanted it connected; otherwise the hub tries to reconnect it."""
    is_leaving: bool = False
    """It is being disconnected in any case."""

    @property
    def cost(self) -> tuple[bool, int, bool, int]:
        """Who comes first of those that give their interfaces up."""
        return (not self.is_leaving, self.priority, self.is_commanded, -self.device_id)


@dataclass(frozen=True, slots=True)
class GroupPlan:
    """The changes that connect a group."""

    interfaces: Mapping[DeviceId, str] = field(default_factory=lambda: MappingProxyType({}))
    """The interface for each member that is served; another one of its radio may take its place."""
    freed: tuple[DeviceId, ...] = ()
    """The devices that are disconnected for that, the one of the lowest priority first."""
    refusals: Mapping[DeviceId, NoInterfaceAvailable] = field(default_factory=lambda: MappingProxyType({}))
    """The members that get no interface."""


def plan_group(
    allocator: Allocator,
    members: Iterable[Member],
    holders: Iterable[Holder],
    name_of: NameOf,
    *,
    partial: bool = False,
) -> GroupPlan:
    """Decide for the `members` that have no interface, or one that they are leaving. The `holders` are all
    devices that can give up an interface: who has one and is not among them keeps it.

    Raises NoInterfaceAvailable unless all can be served, or `partial`.
    """
    by_radio: dict[str, list[Holder]] = {}
    able = allocator
    """With all that can be freed."""
    for holder in holders:
        if (name := allocator.assignments.get(holder.device_id)) is not None:
            by_radio.setdefault(allocator.interfaces[name].radio, []).append(holder)
            able = able.release(holder.device_id)
    claims = {
        one.claim.device_id: one.claim
        for one in sorted(members, key=lambda one: (-one.priority, one.claim.device_id))
    }
    fits = {
        device_id: [name for name in able.available if not able.refusal(claim, able.interfaces[name])]
        for device_id, claim in claims.items()
    }

    def holders_of(name: str) -> list[Holder]:
        return by_radio.get(able.interfaces[name].radio, [])

    def cost(name: str) -> tuple[object, ...]:
        given_up = tuple(sorted((one.cost for one in holders_of(name)), reverse=True))
        best = min(able.rank(claims[one], name) for one in served if name in fits[one])
        return given_up, best, position(name)

    served = [one for one in claims if one in _matched(claims, fits)]
    usable = {name: [one for one in served if name in fits[one]] for name in able.available}
    names = sorted((name for name, users in usable.items() if users), key=cost)
    chosen = _matched(names, usable)
    given = _preferred(able, [claims[one] for one in served], fits, chosen)
    refusals = {
        one: _refusal(able, claim, given, name_of) for one, claim in claims.items() if one not in given
    }
    if refusals and not partial:
        raise next(iter(refusals.values()))
    freed = {holder for name in chosen for holder in holders_of(name) if not holder.is_leaving}
    return GroupPlan(
        MappingProxyType(given),
        tuple(one.device_id for one in sorted(freed, key=lambda one: one.cost)),
        MappingProxyType(refusals),
    )


def _matched(wanting: Iterable[_L], options: Mapping[_L, Collection[_R]]) -> dict[_L, _R]:
    """As many as possible, each with another one of its options; an earlier one is never left out for a later
    one."""
    taken: dict[_R, _L] = {}

    def place(one: _L, tried: set[_R]) -> bool:
        for option in options[one]:
            if option not in tried:
                tried.add(option)
                if option not in taken or place(taken[option], tried):
                    taken[option] = one
                    return True
        return False

    for one in wanting:
        place(one, set())
    return {one: option for option, one in taken.items()}


def _preferred(
    able: Allocator,
    claims: Sequence[Claim],
    fits: Mapping[DeviceId, Collection[str]],
    chosen: Collection[str],
) -> dict[DeviceId, str]:
    """Divide the chosen interfaces, one for each claim, as the allocator prefers: the first claim first."""
    given: dict[DeviceId, str] = {}
    left = set(chosen)
    for number, claim in enumerate(claims):
        later = [one.device_id for one in claims[number + 1 :]]
        mine = left.intersection(fits[claim.device_id])
        for name in sorted(mine, key=lambda name: (able.rank(claim, name), position(name))):
            rest = {one: left.intersection(fits[one]) - {name} for one in later}
            if len(_matched(later, rest)) == len(later):
                given[claim.device_id] = name
                left.remove(name)
                break
    return given


def _refusal(
    able: Allocator, claim: Claim, given: Mapping[DeviceId, str], name_of: NameOf
) -> NoInterfaceAvailable:
    """Why a member gets no interface, although all that can be are freed."""
    reasons = {name: able.refusal(claim, interface, name_of) for name, interface in able.interfaces.items()}
    for device_id, name in given.items():
        reasons[name] = reasons[name] or sentences.needed_for(device_id, name_of(device_id))
    whose = sentences.title(claim.device_id, name_of(claim.device_id))
    return NoInterfaceAvailable(f"{whose}: {refusal_message(reasons)}", reasons)
