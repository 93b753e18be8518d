"""Routes and rules of a host, in a network namespace of its own: the same as iproute2 lists."""

from __future__ import annotations

import json
import socket
import struct
from ipaddress import IPv4Address, IPv4Network
from typing import Any

import pytest

from tests.kernel.conftest import Host
from wifimgrd.kernel._messages import attribute
from wifimgrd.kernel.links import index_of, name_of
from wifimgrd.kernel.routes import (
    LOCAL,
    TABLES,
    Hop,
    Route,
    RouteKind,
    host_network,
    list_routes,
    route_in,
    route_to,
)
from wifimgrd.kernel.rtnetlink import Action, Change, KernelError, carry_out
from wifimgrd.kernel.rules import Rule, RuleAction, list_rules, rule_in

PROTOCOLS = {2: "kernel", 4: "static", 16: "dhcp"}
MARK = 0x77490007
HEADER = struct.Struct("=BBBBBBBBI")


def of_iproute2(host: Host, *command: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(host("ip", "-4", "-j", *command))
    return found


def described(route: Route) -> dict[str, Any]:
    """A route as `ip -j route show table all` lists it."""
    to = str(route.destination) if route.destination.prefixlen else "default"
    found: dict[str, Any] = {
        "dst": to.removesuffix("/32"),
        "type": route.kind.name.lower(),
        "gateway": route.gateway and str(route.gateway),
        "dev": name_of(route.index),
        "table": TABLES.get(route.table, str(route.table)),
        "protocol": PROTOCOLS.get(route.protocol, "boot" if route.protocol == 3 else str(route.protocol)),
        "metric": route.metric,
        "prefsrc": route.source and str(route.source),
        "nexthops": [{"gateway": str(hop.gateway), "dev": name_of(hop.index)} for hop in route.hops],
    }
    usual = {"type": "unicast", "table": "main", "protocol": "boot"}
    return {name: value for name, value in found.items() if value and usual.get(name) != value}


def parts_of(route: dict[str, Any]) -> dict[str, Any]:
    """What `described` has, too."""
    names = ("dst", "type", "gateway", "dev", "table", "protocol", "metric", "prefsrc")
    hops = [{"gateway": hop["gateway"], "dev": hop["dev"]} for hop in route.get("nexthops", ())]
    return {name: route[name] for name in names if name in route} | ({"nexthops": hops} if hops else {})


@pytest.fixture
def configured(host: Host) -> Host:
    """With routes and rules of each kind."""
    host("ip", "link", "set", "lo", "up")
    host("ip", "link", "add", "eth7", "type", "bridge")
    host("ip", "address", "add", "192.168.7.10/24", "dev", "eth7")
    host("ip", "link", "set", "eth7", "up")
    for route in (
        "default via 192.168.7.1 proto dhcp metric 100",
        "0.0.0.0/1 dev eth7",
        "10.0.0.0/8 dev eth7 proto static table 55",
        "192.168.42.1 dev eth7 scope link metric 30000 proto 77",
        "192.168.42.1 dev eth7 scope link table 2001272839",
        "unreachable 192.168.42.1 metric 4294967294 table 2001272839",
        "blackhole 203.0.113.0/24",
        "prohibit 203.0.114.0/24 table 300",
        "throw 203.0.115.0/24",
        "198.51.100.0/24 nexthop via 192.168.7.2 weight 1 nexthop via 192.168.7.3 weight 2",
    ):
        host("ip", "route", "add", *route.split())
    for rule in (
        "fwmark 0x77490007 lookup 2001272839 preference 7749",
        "iif eth7 fwmark 0x77490007 lookup main preference 7748",
        "iif eth7 unreachable preference 7750",
        "from 192.168.7.0/24 lookup 55 preference 300",
        "blackhole preference 9000",
        "prohibit preference 9001",
    ):
        host("ip", "rule", "add", *rule.split())
    return host


def test_routes_are_those_that_iproute2_lists(configured: Host) -> None:
    with configured.inside():
        found = [described(one) for one in list_routes()]
        hops = (Hop(index_of("eth7"), IPv4Address("192.168.7.2")),)
        assert [one.ways[:1] for one in list_routes() if one.hops] == [hops]
    assert len(found) > 10
    assert found == [parts_of(one) for one in of_iproute2(configured, "route", "show", "table", "all")]


def test_the_kernel_lists_one_table_or_one_kind_alone(configured: Host) -> None:
    with configured.inside():
        everything = list_routes()
        for table in {one.table for one in everything}:
            assert list_routes(table) == [one for one in everything if one.table == table]
        assert list_routes(LOCAL, RouteKind.BROADCAST) == [
            one for one in everything if (one.table, one.kind) == (LOCAL, RouteKind.BROADCAST)
        ]
        assert list_routes(4711) == []  # which nobody has ever used


def test_rules_are_those_that_iproute2_lists(configured: Host) -> None:
    with configured.inside():
        found = list_rules()
    wanted = of_iproute2(configured, "rule", "show")
    assert len(found) == 9
    assert [one.priority for one in found] == [one["priority"] for one in wanted]
    assert [one.mark and hex(one.mark) for one in found] == [one.get("fwmark") for one in wanted]
    assert [one.interface or None for one in found] == [one.get("iif") for one in wanted]
    tables = [TABLES.get(one.table, str(one.table)) if one.table else None for one in found]
    assert tables == [one.get("table") for one in wanted]
    assert [None if one.table else one.action.name.lower() for one in found] == [
        one.get("action") for one in wanted
    ]


def test_many_routes_are_listed_whole(host: Host) -> None:
    host("ip", "link", "set", "lo", "up")
    lines = "\n".join(f"route add 10.9.{high}.{low} dev lo" for high in range(4) for low in range(1, 251))
    host("sh", "-c", f"printf '%s\\n' '{lines}' | ip -batch -")
    with host.inside():
        found = list_routes()
    assert sum(one.destination.subnet_of(IPv4Network("10.9.0.0/16")) for one in found) == 1000


def test_routes_and_rules_are_made_as_iproute2_makes_them(configured: Host) -> None:
    """Each is deleted, and made again from what was read of it; those with several hops are never made."""
    routes = configured("ip", "-d", "route", "show", "table", "all")
    rules = configured("ip", "-d", "rule", "show")
    with configured.inside():
        some = [one for one in list_rules() if 7000 < one.priority < 32000]
        carry_out(Change(Action.DELETE, one) for one in some)
        assert len(list_rules()) == 4
        read = [one for one in list_routes() if one.protocol != 2 and not one.hops]
        carry_out(Change(Action.DELETE, one) for one in read)
        assert not set(read) & set(list_routes())
        carry_out(Change(Action.ADD, one) for one in read)
        carry_out(Change(Action.ADD, one) for one in some)
    assert sorted(configured("ip", "-d", "route", "show", "table", "all").splitlines()) == sorted(
        routes.splitlines()
    )
    assert configured("ip", "-d", "rule", "show") == rules


def test_a_route_with_several_hops_is_deleted(configured: Host) -> None:
    with configured.inside():
        carry_out(Change(Action.DELETE, one) for one in list_routes() if one.hops)
    assert "198.51.100.0/24" not in configured("ip", "route")


def test_of_two_routes_to_one_address_the_named_one_is_deleted(configured: Host) -> None:
    configured("ip", "route", "add", "192.168.42.1", "dev", "eth7", "metric", "5")
    with configured.inside():
        named = [one for one in list_routes() if one.protocol == 77]
        carry_out(Change(Action.DELETE, one) for one in named)
    assert "192.168.42.1 dev eth7 scope link metric 5" in configured("ip", "route")
    assert "proto 77" not in configured("ip", "route")


def test_a_broadcast_address_is_added_and_the_kernels_own_deleted(configured: Host) -> None:
    to = IPv4Address("192.168.7.255")
    with configured.inside():
        [its_own] = [one for one in list_routes() if one.destination == host_network(to)]
        assert its_own.kind is RouteKind.BROADCAST
        carry_out([Change(Action.DELETE, its_own)])
        there = Route(host_network(to), its_own.index, table=MARK, kind=RouteKind.BROADCAST)
        carry_out([Change(Action.REPLACE, there)] * 2)
    listed = configured("ip", "route", "show", "table", "all", "type", "broadcast")
    assert f"broadcast 192.168.7.255 dev eth7 table {MARK} scope link" in listed
    assert "192.168.7.255 dev eth7 table local" not in listed


def test_what_has_several_names_in_a_log_is_told_apart(configured: Host) -> None:
    with configured.inside():
        texts = {str(one) for one in [*list_routes(), *list_rules()]}
    assert texts >= {
        "route 192.168.42.1 dev eth7 metric 30000",
        f"route unreachable 192.168.42.1 metric 4294967294 table {MARK}",
        "route 0.0.0.0/0 via 192.168.7.1 dev eth7 metric 100",
        "rule 7748 iif eth7 fwmark 0x77490007 lookup main",
        "rule 7750 iif eth7 unreachable",
    }


def test_the_way_to_an_address(configured: Host) -> None:
    for preference in ("9000", "9001"):
        configured("ip", "rule", "del", "preference", preference)
    with configured.inside():
        assert name_of(route_to(IPv4Address("192.168.7.20")).index) == "eth7"
        assert route_to(IPv4Address("198.18.0.1")).gateway == IPv4Address("192.168.7.1")
        with pytest.raises(KernelError):
            route_to(IPv4Address("203.0.113.1"))


def test_the_interface_of_a_route_that_has_just_gone_has_no_name() -> None:
    header = HEADER.pack(socket.AF_INET, 32, 0, 0, 254, 77, 253, 1, 0)
    gone = 0x7FFFFFFF
    read = route_in(header + attribute(1, bytes([192, 168, 42, 1])) + attribute(4, gone))
    assert read == Route(IPv4Network("192.168.42.1"), gone, protocol=77)
    assert str(read) == f"route 192.168.42.1 dev {gone}"


def test_kinds_of_routes_and_rules_that_are_not_known_are_read() -> None:
    assert route_in(HEADER.pack(socket.AF_INET, 0, 0, 0, 254, 3, 0, 99, 0)).kind is RouteKind.UNKNOWN
    rule = rule_in(HEADER.pack(socket.AF_INET, 0, 0, 0, 254, 0, 0, 99, 0))
    assert rule == Rule(0, action=RuleAction.UNKNOWN)
