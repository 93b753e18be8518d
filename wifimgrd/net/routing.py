"""Routes and routing rules of a plan, as commands of `ip -batch`; and what the host's own routes allow.

Each camera has a routing table with one route, to the camera's own address. The rule that selects the table
matches the camera's mark: of packets to the camera's address, and of packets from the camera, whose reverse
path is checked with that mark (src_valid_mark). For any other destination the table has no route, and the
rules of the host decide.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from ipaddress import IPv4Address, IPv4Network
from typing import Any, Final

from wifimgrd.domain.addresses import is_private
from wifimgrd.net.plan import LARGEST_INDEX, MARKS, OWNER, Camera, Plan, is_mark

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
_AUTOMATIC: Final = ("kernel", "dhcp")
_LAST: Final = 0xFFFFFFFE
"""The metric of a route that is used where there is no other."""
_DEFAULT_LIKE: Final = 1
"""Routes up to this prefix length count as default routes: some VPNs split the default route in two."""

Route = Mapping[str, Any]
"""A route as `ip -j route` lists it."""


def additions(plan: Plan, present: Collection[int]) -> list[str]:
    """The commands that add the rules of marks that are not in `present`."""
    return [
        f"rule add fwmark {one.mark:#x} lookup {one.mark} preference {PREFERENCE}"
        for one in plan.reachable
        if one.mark not in present
    ]


def camera_routes(plan: Plan, but: Collection[Camera] = ()) -> list[str]:
    """The commands that add the routes of cameras that are not in `but`; each needs its interface up.

    First comes an unreachable route for the time in which the interface is gone, because the table `main`
    could lead to another camera.
    """
    commands = []
    for one in plan.reachable:
        if one not in but:
            commands += [
                f"route replace unreachable {one.camera_address} metric {_LAST} table {one.mark}",
                f"route replace {one.camera_address} dev {one.interface} scope link table {one.mark}",
            ]
    return commands


def broadcasts(plan: Plan, routes: Iterable[Route]) -> list[tuple[str, Camera]]:
    """The broadcast addresses of cameras' links that the kernel has made ones of this host, with the cameras:
    another host with such an address could not be reached, whatever routes there are to it."""
    cameras = {one.interface: one for one in plan.cameras}
    return [
        (str(route["dst"]), cameras[str(route["dev"])])
        for route in routes
        if _is_broadcast(route) and route.get("table") == "local" and route.get("dev") in cameras
    ]


def broadcast_routes(camera: Camera, addresses: Iterable[IPv4Address]) -> list[str]:
    """The commands by which these are broadcast addresses for what comes from a camera alone."""
    return [
        f"route replace broadcast {address} dev {camera.interface} scope link table {camera.mark}"
        for address in sorted(addresses)
        if address != camera.camera_address
    ]


def forget(marks: Collection[int], rules: Collection[int] | None = None) -> list[str]:
    """The commands that delete the rules and routes of marks; `rules` are the marks that have a rule, None =
    all."""
    found = marks if rules is None else rules
    return [
        f"rule del fwmark {mark:#x} lookup {mark} preference {PREFERENCE}" for mark in marks if mark in found
    ] + [f"route flush table {mark}" for mark in marks]


def marks_of(rules: Iterable[Mapping[str, Any]]) -> list[int]:
    """The marks of the helper's own rules (as `ip -j rule` lists them)."""
    found = []
    for rule in rules:
        if rule.get("priority") == PREFERENCE and "fwmark" in rule:
            mark = int(str(rule["fwmark"]), 16)
            if is_mark(mark) and str(rule.get("table")) == str(mark):
                found.append(mark)
    return found


def gates(plan: Plan, opened: Iterable[str]) -> set[str]:
    """The rules, as `ip rule` takes them, that keep this host from being a router on the interfaces whose
    forwarding the helper has switched on. They hold also while there are no nftables rules: what has no
    camera's mark is not routed, and a camera's replies to hosts of shared networks have one.
    """
    replies = {
        f"iif {one.interface} fwmark {one.mark:#x} lookup main preference {_BEFORE}"
        for one in plan.reachable
        if plan.shared
    }
    return replies | {f"iif {interface} unreachable preference {_AFTER}" for interface in opened}


def gates_of(rules: Iterable[Mapping[str, Any]]) -> set[str]:
    """The rules of `gates` that are present (as `ip -j rule` lists them)."""
    found = set()
    for rule in rules:
        match rule:
            case {"priority": int(before), "iif": str(interface), "fwmark": str(mark)} if before == _BEFORE:
                found.add(f"iif {interface} fwmark {mark} lookup main preference {_BEFORE}")
            case {"priority": int(after), "iif": str(interface), "action": "unreachable"} if after == _AFTER:
                found.add(f"iif {interface} unreachable preference {_AFTER}")
    return found


def is_complete(
    plan: Plan,
    direct: Collection[Camera],
    gates: Collection[str],
    rules: Iterable[Mapping[str, Any]],
    routes: Iterable[Route],
) -> bool:
    """Whether rules and routes (as `ip -j` lists them) are those of the plan, with routes in `main` to the
    cameras in `direct`, and none of them is missing or left over."""
    routes, rules = list(routes), list(rules)
    found = {
        (str(one.get("table")), one.get("dev"), one.get("dst"))
        for one in routes
        if _is_in(one, MARKS) and one.get("dev") and not _is_broadcast(one)
    }
    wanted = {(str(one.mark), one.interface, str(one.camera_address)) for one in plan.reachable}
    owned = plan.network is None or any(
        route.get("dst") == str(plan.network) and route.get("dev") == OWNER for route in routes
    )
    in_main = {(one.get("dst"), one.get("dev")) for one in routes if _is_direct(one)}
    return (
        owned
        and wanted == found
        and in_main == {(str(one.camera_address), one.interface) for one in direct}
        and not unwanted_routes(plan, routes)
        and not broadcasts(plan, routes)
        and sorted(marks_of(rules)) == sorted(plan.marks)
        and gates_of(rules) == set(gates)
    )


# -- the table main


def direct_cameras(
    plan: Plan, routes: Iterable[Route], in_use: Collection[IPv4Address]
) -> tuple[Camera, ...]:
    """The cameras to whose own addresses the table `main` gets a route.

    Such an address is private, not in the plan's own network, of this one connected camera, covered by no
    route of others (a default route does not count), and not in use as a gateway or, by `in_use`, as a
    resolver or time server.
    """
    routes = list(routes)
    others = [one for one in routes if not _is_ours(one, plan)]
    taken = {*in_use, *_gateways(others)}
    count = Counter(one.camera_address for one in plan.reachable)
    return tuple(
        one
        for one in plan.reachable
        if one.camera_address is not None
        and count[one.camera_address] == 1
        and is_private(one.camera_address)
        and (plan.network is None or one.camera_address not in plan.network)
        and one.camera_address not in taken
        and not any(_covers(route, one.camera_address) for route in others)
    )


def direct_routes(wanted: Collection[Camera], routes: Iterable[Route]) -> list[str]:
    """The commands that make the routes in `main` those to the cameras in `wanted`; `routes` are the present
    ones."""
    present = {(str(one.get("dst")), str(one.get("dev"))) for one in routes if _is_direct(one)}
    missing = {(str(one.camera_address), one.interface) for one in wanted}
    return [
        f"route del {address} dev {interface} metric {_DIRECT_METRIC} proto {PROTOCOL}"
        for address, interface in sorted(present - missing)
    ] + [
        f"route add {address} dev {interface} scope link metric {_DIRECT_METRIC} proto {PROTOCOL}"
        for address, interface in sorted(missing - present)
    ]


def stale_routes(plan: Plan, routes: Iterable[Route]) -> list[str]:
    """The commands that delete routes in the tables of cameras that are not the plan's: those to another
    address, and those of an earlier version."""
    wanted = {(str(one.mark), str(one.camera_address)) for one in plan.reachable}
    tables = {str(one.mark) for one in plan.reachable}
    return [
        _deletion(one)
        for one in routes
        if str(one.get("table")) in tables
        and (str(one.get("table")), str(one.get("dst"))) not in wanted
        and not _is_broadcast(one)
    ]


def unwanted_routes(plan: Plan, routes: Iterable[Route]) -> list[str]:
    """The commands that delete routes in `main` through cameras' interfaces that come from a lease or an
    address, and default routes there, whoever has added them: a link of an earlier version, or another
    configuration of the interface. NetworkManager does not add them again: to it, others have removed them.
    """
    interfaces = {one.interface for one in plan.cameras}
    return [
        _deletion(one)
        for one in routes
        if one.get("dev") in interfaces and _is_unwanted(one) and "dst" in one
    ]


def _deletion(route: Route) -> str:
    words = ["route del", str(route.get("type", "")), str(route["dst"])]
    if route.get("dev"):
        words.append(f"dev {route['dev']}")
    if route.get("metric"):
        words.append(f"metric {route['metric']}")
    if route.get("table"):
        words.append(f"table {route['table']}")
    return " ".join(filter(None, words))


# -- the host's own routes


def carrying(routes: Iterable[Route]) -> set[str]:
    """The interfaces that carry a connection of this host: `main` has a default route through them, or one
    that comes from an address or a lease. The routes of cameras' links are in tables of their own."""
    return {
        str(hop["dev"])
        for route in routes
        if _is_unwanted(route)
        for hop in (route, *route.get("nexthops", ()))
        if "dev" in hop
    }


def conflict(plan: Plan, routes: Iterable[Route]) -> str:
    """Why the plan's network cannot be used for cameras on this host, given all its routes; empty where it
    can. Routes of the cameras' own links are no reason: the lease of a camera must not end the addresses."""
    if plan.network is None:
        return ""
    for route in routes:
        if _is_ours(route, plan):
            continue
        if _overlaps(there := str(route.get("dst", "")), plan.network):
            where = f" through {route['dev']}" if route.get("dev") else ""
            return f"{plan.network} overlaps {IPv4Network(there)}, which this host reaches{where}"
    return ""


def concerned_by(plan: Plan, line: str) -> bool:
    """Whether a line of `ip monitor` may concern a part of the plan, a network that overlaps it, or a route
    to a camera's own address. Where networks are shared, any route may concern them."""
    if plan.shared:
        return True
    tokens = {token.rstrip(":") for token in line.split()}
    ours = {OWNER, *map(str, (_BEFORE, PREFERENCE, _AFTER))}
    ours.update(*((one.interface, str(one.mark)) for one in plan.cameras))
    if not tokens.isdisjoint(ours):
        return True
    networks = [network for token in tokens if (network := _network(token)) is not None]
    return any(
        (plan.network is not None and network.overlaps(plan.network))
        or any(one.camera_address is not None and one.camera_address in network for one in plan.reachable)
        for network in networks
    )


def makes_broadcast(plan: Plan, line: str) -> bool:
    """Whether a line of `ip monitor` says that the kernel has made a broadcast address of a camera's link one
    of this host: with a new address, or when the link is up again."""
    match line.split():
        case ["broadcast", _, "dev", interface, "table", "local", *_]:
            return any(one.interface == interface for one in plan.cameras)
    return False


def _is_ours(route: Route, plan: Plan) -> bool:
    """Whether a route is the helper's, or is of a camera's link and made by NetworkManager or the kernel."""
    interfaces = {one.interface for one in plan.cameras}
    return (
        route.get("dev") == OWNER
        or _is_in(route, MARKS)
        or _is_in(route, LINK_TABLES)
        or _is_direct(route)
        or (route.get("dev") in interfaces and (_is_unwanted(route) or route.get("table") == "local"))
    )


def _is_broadcast(route: Route) -> bool:
    return route.get("type") == "broadcast"


def _is_in(route: Route, first: int) -> bool:
    table = str(route.get("table", ""))
    return table.isdecimal() and first <= int(table) <= first + LARGEST_INDEX


def _is_direct(route: Route) -> bool:
    return str(route.get("protocol")) == str(PROTOCOL) and "table" not in route


def _is_unwanted(route: Route) -> bool:
    return (
        "table" not in route
        and not _is_direct(route)
        and (route.get("protocol") in _AUTOMATIC or _network(str(route.get("dst"))) is None)
    )


def _gateways(routes: Iterable[Route]) -> set[IPv4Address]:
    found = set()
    for route in routes:
        for hop in (route, *route.get("nexthops", ())):
            try:
                found.add(IPv4Address(str(hop.get("gateway", ""))))
            except ValueError:
                continue
    return found


def _covers(route: Route, address: IPv4Address) -> bool:
    network = _network(str(route.get("dst", "")))
    return network is not None and address in network


def _overlaps(destination: str, network: IPv4Network) -> bool:
    there = _network(destination)
    return there is not None and there.overlaps(network)


def _network(destination: str) -> IPv4Network | None:
    """A route's destination; None for a default route, IPv6, or a word that is no destination."""
    try:
        there = IPv4Network(destination)
    except ValueError:
        return None
    return there if there.prefixlen > _DEFAULT_LIKE else None
