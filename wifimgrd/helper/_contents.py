"""The contents of the nftables tables for cameras, and the transaction that changes them to other contents.

A change of one camera costs the same however many others there are, and does not touch them: a limit that is
written again counts anew. So a transaction has only the differences; it has everything if nobody knows what
the tables contain.
"""

from __future__ import annotations

import socket
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Set
from dataclasses import dataclass
from typing import Final, NamedTuple

from wifimgrd.domain.addresses import SocketKind
from wifimgrd.helper._plan import Camera, Plan, changed_cameras
from wifimgrd.helper._ruleset import NEW_FLOW, OPENED, TABLE_NAME, TO_ACCEPTED, frame

_NUMBERS: Final = {SocketKind.TCP: socket.IPPROTO_TCP, SocketKind.UDP: socket.IPPROTO_UDP}
"""Of protocols, whose names nft would look up in /etc/protocols, which a host may not have."""
_PER_SECOND: Final = "limit rate over 50/second burst 100 packets"
"""Of ICMP, and of ARP, from one camera: far more than a working camera sends."""
_FLOWS_PER_SECOND: Final = "limit rate over 50/second burst 200 packets"
"""Of new flows from one camera to accepted ports: each takes an entry of the host's conntrack table, which
all programs share."""
_TRIAL: Final = f"{TABLE_NAME}-trial"


@dataclass(frozen=True, slots=True)
class Contents:
    """The contents of both tables."""

    plan: Plan
    opened: frozenset[int]
    """The indices of the interfaces whose forwarding the helper has switched on."""
    filtered: tuple[Camera, ...]
    """The cameras that have a chain in the table of family netdev."""

    @classmethod
    def of(cls, plan: Plan, opened: Collection[int] = ()) -> Contents:
        """Those of a plan, all of whose cameras are filtered."""
        return cls(plan, frozenset(opened), plan.cameras)


class Element(NamedTuple):
    """An element of a map or a set."""

    owner: str
    """The name of the map or set."""
    key: str
    value: str = ""

    def __str__(self) -> str:
        return f"{self.key} : {self.value}" if self.value else self.key


class Chain(NamedTuple):
    """A chain of one camera's."""

    name: str
    rules: tuple[str, ...]
    base: str = ""
    """Where the kernel calls it; empty for one that others jump to."""


_Object = Element | Chain


def transaction(there: Contents | None, wanted: Contents) -> str:
    """The commands that make `wanted` of what is there; None stands for what is not known. Empty where
    nothing differs."""
    if there is None or not there.plan.has_base_of(wanted.plan):
        return f"{addresses(wanted)}\n{filters(wanted.filtered)}"
    gone, new = there.plan.cameras, wanted.plan.cameras
    gone_filters, new_filters = there.filtered, wanted.filtered
    return "\n".join(
        [
            *_differences(
                f"ip {TABLE_NAME}",
                {
                    *_objects(changed_cameras(gone, new)),
                    *_opened(there.opened - wanted.opened),
                },
                {
                    *_objects(changed_cameras(new, gone)),
                    *_opened(wanted.opened - there.opened),
                },
            ),
            *_differences(
                f"netdev {TABLE_NAME}",
                {*map(_filter, changed_cameras(gone_filters, new_filters))},
                {*map(_filter, changed_cameras(new_filters, gone_filters))},
            ),
        ]
    )


def addresses(wanted: Contents) -> str:
    """The commands that replace the table of family ip, whatever is there."""
    objects = {*_objects(wanted.plan.cameras), *_opened(wanted.opened)}
    return "\n".join([frame(wanted.plan), *_differences(f"ip {TABLE_NAME}", set(), objects)])


def filters(cameras: Iterable[Camera], name: str = TABLE_NAME) -> str:
    """The commands that replace the table of family netdev, whatever is there. It passes no IPv6, and
    neighbour requests only from the camera, so that the camera cannot fill the kernel's table of neighbours,
    which all interfaces share. The kernel checks the reverse path of such a request, too: hence the mark."""
    table = f"netdev {name}"
    new = {_filter(camera) for camera in cameras}
    begin = [f"add table {table}", f"delete table {table}", f"add table {table}"]
    return "\n".join([*begin, *_differences(table, set(), new)])


def filters_trial(cameras: Iterable[Camera]) -> str:
    """A transaction that changes nothing, and is refused where `filters` of these cameras is."""
    return f"{filters(cameras, _TRIAL)}\ndelete table netdev {_TRIAL}"


def _differences(table: str, there: Set[_Object], wanted: Set[_Object]) -> list[str]:
    """The commands for one table. What is deleted comes first: a key may get another value, and no element
    may lead to a chain that is deleted. One of which only the rules change stays: elements lead to it."""
    gone, new = there - wanted, wanted - there
    deleted = {(one.name, one.base): one for one in gone if isinstance(one, Chain)}
    added = {(one.name, one.base): one for one in new if isinstance(one, Chain)}
    return [
        *_of_elements("delete", table, ((one.owner, one.key) for one in gone if isinstance(one, Element))),
        *(line for key in sorted(deleted.keys() - added) for line in _deletion(table, deleted[key])),
        *(
            line
            for key in sorted(added)
            for line in (_begin(table, added[key], exists=key in deleted), *_rules(table, added[key]))
        ),
        *_of_elements("add", table, ((one.owner, str(one)) for one in new if isinstance(one, Element))),
    ]


def _of_elements(verb: str, table: str, elements: Iterable[tuple[str, str]]) -> list[str]:
    by_owner = defaultdict[str, list[str]](list)
    for owner, element in sorted(elements):
        by_owner[owner].append(element)
    return [f"{verb} element {table} {owner} {{ {', '.join(some)} }}" for owner, some in by_owner.items()]


def _deletion(table: str, chain: Chain) -> list[str]:
    """The kernel deletes the chain of an interface that is gone: then there is one again to delete."""
    again = [f"add chain {table} {chain.name}"] if chain.base else []
    return [*again, f"delete chain {table} {chain.name}"]


def _begin(table: str, chain: Chain, *, exists: bool) -> str:
    if exists:
        return f"flush chain {table} {chain.name}"
    return f"add chain {table} {chain.name}{f' {{ {chain.base} }}' if chain.base else ''}"


def _rules(table: str, chain: Chain) -> list[str]:
    return [f"add rule {table} {chain.name} {rule}" for rule in chain.rules]


# -- what is one camera's


def _objects(cameras: Iterable[Camera]) -> Iterator[_Object]:
    for one in cameras:
        yield from _chains(one)
        yield from _elements(one)


def _chains(camera: Camera) -> Iterator[Chain]:
    """`ct zone set` takes no map, and a limit counts for its rule."""
    yield Chain(f"zone{camera.index}", (f"ct zone set {camera.zone}",))
    yield Chain(
        f"flood{camera.index}",
        (
            f"meta l4proto icmp {_PER_SECOND} drop",
            f"{TO_ACCEPTED} {NEW_FLOW} {_FLOWS_PER_SECOND} drop",
        ),
    )


def _elements(camera: Camera) -> Iterator[Element]:
    index, mark, address, own = camera.index, hex(camera.mark), camera.address, camera.camera_address
    key = str(index)
    yield Element("closed", key)
    yield Element("zone_of", key, f"jump zone{index}")
    yield Element("flood_of", key, f"jump flood{index}")
    if address is not None:
        yield Element("zone_at", str(address), f"jump zone{index}")
    if own is None:
        return
    yield Element("mark_of", key, mark)
    yield Element("routes", f"{key} . {mark}")
    yield Element("sources", f"{key} . {own}")
    yield Element("sockets", f"{key} . {camera.socket_mark:#x} . {own}")
    if address is None:  # what it would send to a port would arrive with an address that others may share
        return
    yield Element("interface_of", str(address), mark)
    yield Element("camera_of", str(address), str(own))
    yield Element("own_of", key, str(address))
    for port in camera.accepts:
        yield Element("accepted", f"{key} . {_NUMBERS[port.kind]} . {port.number}")


def _opened(indices: Iterable[int]) -> Iterator[Element]:
    for index in indices:
        yield Element(OPENED, str(index))


def _filter(camera: Camera) -> Chain:
    others: tuple[str, ...] = ()
    if camera.camera_address is not None:
        others = (f"arp operation request arp saddr ip != {{ 0.0.0.0, {camera.camera_address} }} drop",)
    return Chain(
        f"i{camera.index}",
        (
            "meta protocol ip6 drop",
            *others,
            f"meta protocol arp {_PER_SECOND} drop",
            f"meta protocol arp meta mark set {camera.mark:#x}",
        ),
        f'type filter hook ingress device "{camera.interface}" priority 0; policy accept;',
    )
