"""Routes and routing rules of a plan; and what the host's own routes allow.

Each camera has a routing table with one route, to the camera's own address. The rule that selects the table
matches the camera's mark: of packets to the camera's address, and of packets from the camera, whose reverse
path is checked with that mark (src_valid_mark). For any other destination the table has no route, and the
rules of the host decide.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import replace
from ipaddress import IPv4Address, IPv4Network
from typing import Final

from wifimgrd.domain.addresses import is_private
from wifimgrd.helper._plan import LARGEST_INDEX, MARKS, OWNER, Camera, Plan, is_mark
from wifimgrd.kernel.events import Event, Settings
from wifimgrd.kernel.links import Link, name_of
from wifimgrd.kernel.routes import BY_DHCP, BY_KERNEL, LOCAL, MAIN, Route, RouteKind, host_network
from wifimgrd.kernel.rtnetlink import Action, Change
from wifimgrd.kernel.rules import Rule, RuleAction

PREFERENCE: Final = 7749
"""The preference of the cameras' rules: after the table `local`, before `main`."""
_BEFORE: Final = PREFERENCE - 1
_AFTER: Final = PREFERENCE + 1
PROTOCOL: Final = 77
"""The routing protocol of the routes in `main` that lead to cameras' own addresses: it identifies them.
https://git.kernel.org/pub/scm/network/iproute2/iproute2.git/tree/etc/iproute2/rt_protos"""
LINK_TABLES: Final = 0x774A0000
"""The tables of links are numbered from here on: `ipv4.route-table` of the profiles. No rule selects them."""
_DIRECT_METRIC: Final = 30_000
_AUTOMATIC: Final = (BY_KERNEL, BY_DHCP)
_LAST: Final = 0xFFFFFFFE
"""The metric of a route that is used where there is no other."""
_DEFAULT_LIKE: Final = 1
"""Routes up to this prefix length count as default routes: some VPNs split the default route in two."""


def additions(plan: Plan, present: Collection[int]) -> list[Change]:
    """The changes that add the rules of marks that are not in `present`."""
    return [Change(Action.ADD, _rule(mark)) for mark in plan.marks if mark not in present]


def camera_routes(cameras: Iterable[Camera]) -> list[Change]:
    """The changes that add the routes of cameras that are reachable; each needs its interface up.

    First comes an unreachable route for the time in which the interface is gone, because the table `main`
    could lead to another camera.
    """
    changes = []
    for one in cameras:
        to = _own_network(one)
        last = Route(to, table=one.mark, kind=RouteKind.UNREACHABLE, metric=_LAST)
        changes += [
            Change(Action.REPLACE, last),
            Change(Action.REPLACE, Route(to, one.index, table=one.mark)),
        ]
    return changes


def broadcasts(plan: Plan, routes: Iterable[Route]) -> list[tuple[Route, Camera]]:
    """The broadcast addresses of cameras' links that the kernel has made ones of this host, with the cameras:
    another host with such an address could not be reached, whatever routes there are to it."""
    cameras = {one.index: one for one in plan.linked}
    return [(route, cameras[route.index]) for route in routes if _makes_broadcast(route, cameras)]


def moved_broadcasts(camera: Camera, addresses: Iterable[IPv4Address]) -> list[Change]:
    """The changes that make these broadcast addresses of a camera's link ones for packets from the camera
    only: the kernel has made them ones of this host."""
    changes = []
    for address in sorted(addresses):
        own = Route(host_network(address), camera.index, table=camera.mark, kind=RouteKind.BROADCAST)
        kernels = replace(own, table=LOCAL, protocol=BY_KERNEL)
        changes.append(Change(Action.DELETE, kernels))
        if address != camera.camera_address:
            changes.append(Change(Action.REPLACE, own))
    return changes


def forget(mark: int, routes: Iterable[Route]) -> list[Change]:
    """The changes that delete the rule of a mark, and the routes of its table."""
    return [Change(Action.DELETE, _rule(mark)), *(Change(Action.DELETE, one) for one in routes)]


def marks_of(rules: Iterable[Rule]) -> list[int]:
    """The marks of the helper's own rules."""
    return [
        one.mark for one in rules if one.mark is not None and is_mark(one.mark) and one == _rule(one.mark)
    ]


def gates(plan: Plan, opened: Iterable[str]) -> set[Rule]:
    """The rules that keep this host from being a router on the interfaces whose forwarding the helper has
    switched on. They hold also while there are no nftables rules: what has no camera's mark is not routed,
    and a camera's replies to hosts of shared networks have one.
    """
    replies = {Rule(_BEFORE, one.mark, one.interface, MAIN) for one in plan.reachable if plan.shared}
    return replies | {
        Rule(_AFTER, interface=interface, action=RuleAction.UNREACHABLE) for interface in opened
    }


def gates_of(rules: Iterable[Rule]) -> set[Rule]:
    """The rules of `gates` that are present."""
    return {
        one
        for one in rules
        if one.interface
        and (
            (one.priority == _BEFORE and one.mark is not None)
            or (one.priority == _AFTER and one.action is RuleAction.UNREACHABLE)
        )
    }


def is_complete(
    plan: Plan,
    direct: Collection[Camera],
    gates: Collection[Rule],
    rules: Collection[Rule],
    routes: Collection[Route],
    owner: int,
) -> bool:
    """Whether rules and routes are those of the plan, with routes in `main` to the cameras in `direct`, and
    none of them is missing or left over. `owner` is the index of the interface that owns the network."""
    found = {
        (one.table, one.index, one.destination)
        for one in routes
        if _is_in(one, MARKS) and one.index and one.kind is not RouteKind.BROADCAST
    }
    owned = plan.network is None or any(
        one.destination == plan.network and _is_through(one, owner) for one in routes
    )
    in_main = {(one.destination, one.index) for one in routes if _is_direct(one)}
    return (
        owned
        and found == {(one.mark, one.index, _own_network(one)) for one in plan.reachable}
        and in_main == {(_own_network(one), one.index) for one in direct}
        and not unwanted_routes(plan, routes)
        and not broadcasts(plan, routes)
        and sorted(marks_of(rules)) == sorted(plan.marks)
        and gates_of(rules) == set(gates)
    )


# -- the table main


def direct_cameras(
    plan: Plan, routes: Iterable[Route], in_use: Collection[IPv4Address], owner: int
) -> tuple[Camera, ...]:
    """The cameras to whose own addresses the table `main` gets a route.

    Such an address is private, not in the plan's own network, of this one connected camera, covered by no
    route of others (a default route does not count), and not in use as a gateway or, by `in_use`, as a
    resolver or time server. `owner` as in `is_complete`.
    """
    interfaces = {one.index for one in plan.cameras}
    others = [one for one in routes if not _is_ours(one, interfaces, owner)]
    taken = {*in_use, *(way.gateway for one in others for way in one.ways)}
    covered = {one.destination for one in others if not _is_default(one.destination)}
    count = Counter(one.camera_address for one in plan.reachable)
    return tuple(
        one
        for one in plan.reachable
        if one.camera_address is not None
        and count[one.camera_address] == 1
        and is_private(one.camera_address)
        and (plan.network is None or one.camera_address not in plan.network)
        and one.camera_address not in taken
        and not any(one.camera_address in network for network in covered)
    )


def direct_routes(wanted: Iterable[Camera], routes: Iterable[Route]) -> list[Change]:
    """The changes that make the routes in `main` those to the cameras in `wanted`; `routes` are the present
    ones."""
    missing = {(_own_network(one), one.index) for one in wanted}
    present = [one for one in routes if _is_direct(one)]
    stale = [one for one in present if (one.destination, one.index) not in missing]
    missing.difference_update((one.destination, one.index) for one in present)
    return [Change(Action.DELETE, one) for one in stale] + [
        Change(Action.ADD, Route(to, index, protocol=PROTOCOL, metric=_DIRECT_METRIC))
        for to, index in sorted(missing)
    ]


def stale_routes(plan: Plan, routes: Iterable[Route]) -> list[Route]:
    """The routes in the tables of cameras that are not the plan's: those to another address, and those of an
    earlier version."""
    wanted = {one.mark: _own_network(one) for one in plan.reachable}
    return [
        one
        for one in routes
        if one.table in wanted
        and one.destination != wanted[one.table]
        and one.kind is not RouteKind.BROADCAST
    ]


def unwanted_routes(plan: Plan, routes: Iterable[Route]) -> list[Route]:
    """The routes in `main` through cameras' interfaces that come from a lease or an address, and default
    routes there, whoever has added them: a link of an earlier version, or another configuration of the
    interface. NetworkManager does not add them again: to it, others have removed them.
    """
    interfaces = {one.index for one in plan.linked}
    return [one for one in routes if one.index in interfaces and _is_unwanted(one)]


# -- the host's own routes


def carrying(routes: Iterable[Route]) -> set[int]:
    """The interfaces that carry a connection of this host, by their indices: `main` has a default route
    through them, or one that comes from an address or a lease. The routes of cameras' links are in tables of
    their own."""
    return {way.index for one in routes if _is_unwanted(one) for way in one.ways if way.index}


def conflict(plan: Plan, routes: Iterable[Route], owner: int) -> str:
    """Why the plan's network cannot be used for cameras on this host, given all its routes; empty if it
    can. Routes of the cameras' own links are not a reason: the lease of a camera must not end the addresses.
    `owner` as in `is_complete`."""
    if plan.network is None:
        return ""
    interfaces = {one.index for one in plan.cameras}
    for route in routes:
        if _overlaps(route.destination, plan.network) and not _is_ours(route, interfaces, owner):
            where = f" through {name_of(route.index) or route.index}" if route.index else ""
            return f"{plan.network} overlaps {route.destination}, which this host reaches{where}"
    return ""


def concerned_by(plan: Plan, event: Event) -> bool:
    """Whether an event may concern a part of the plan, a network that overlaps it, or a route to a camera's
    own address. Where networks are shared, any event may concern them."""
    if plan.shared:
        return True
    indices = {one.index for one in plan.cameras}
    match event.entry:
        case Link(name, index):
            return name == OWNER or index in indices or name in {one.interface for one in plan.cameras}
        case Settings(index):
            return index in indices
        case Rule(priority):
            return priority in (_BEFORE, PREFERENCE, _AFTER)
        case Route() as route:
            return (
                route.table in {one.mark for one in plan.cameras}
                or any(way.index in indices for way in route.ways)
                or any(_is_of_plan(plan, network) for network in _networks(route))
            )
    return False


def makes_broadcast(plan: Plan, event: Event) -> bool:
    """Whether the kernel has made a broadcast address of a camera's link one of this host: with a new
    address, or when the link is up again."""
    match event:
        case Event(Route(kind=RouteKind.BROADCAST) as route, is_gone=False):
            return _makes_broadcast(route, {one.index for one in plan.linked})
    return False


def _rule(mark: int) -> Rule:
    return Rule(PREFERENCE, mark, table=mark)


def _own_network(camera: Camera) -> IPv4Network:
    assert camera.camera_address is not None  # noqa: S101 - it is reachable
    return host_network(camera.camera_address)


def _is_ours(route: Route, interfaces: Collection[int], owner: int) -> bool:
    """Whether a route is the helper's, or is of a camera's link and made by NetworkManager or the kernel.
    `interfaces` are the indices of the cameras'."""
    return (
        _is_in(route, MARKS)
        or _is_through(route, owner)
        or _is_in(route, LINK_TABLES)
        or _is_direct(route)
        or (route.index in interfaces and (_is_unwanted(route) or route.table == LOCAL))
    )


def _is_through(route: Route, index: int) -> bool:
    """Whether a route is through an interface; none is through one that does not exist."""
    return bool(index) and route.index == index


def _makes_broadcast(route: Route, interfaces: Collection[int]) -> bool:
    return route.kind is RouteKind.BROADCAST and route.table == LOCAL and route.index in interfaces


def _is_in(route: Route, first: int) -> bool:
    return first <= route.table <= first + LARGEST_INDEX


def _is_direct(route: Route) -> bool:
    return route.protocol == PROTOCOL and route.table == MAIN


def _is_unwanted(route: Route) -> bool:
    return (
        route.table == MAIN
        and not _is_direct(route)
        and (route.protocol in _AUTOMATIC or _is_default(route.destination))
    )


def _overlaps(destination: IPv4Network, network: IPv4Network) -> bool:
    return not _is_default(destination) and destination.overlaps(network)


def _is_default(destination: IPv4Network) -> bool:
    return destination.prefixlen <= _DEFAULT_LIKE


def _networks(route: Route) -> list[IPv4Network]:
    """The networks and addresses that a route names."""
    named = [route.source, *(way.gateway for way in route.ways)]
    return [route.destination, *(host_network(one) for one in named if one is not None)]


def _is_of_plan(plan: Plan, network: IPv4Network) -> bool:
    return not _is_default(network) and (
        (plan.network is not None and network.overlaps(plan.network))
        or any(one.camera_address in network for one in plan.reachable if one.camera_address is not None)
    )
