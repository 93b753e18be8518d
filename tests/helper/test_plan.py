"""What is to stand in the kernel's tables, which networks cannot be had, and which cameras `main` has."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import IPv4Address, IPv4Network
from typing import Any

import pytest

from wifimgrd.domain.addresses import AcceptedPort, SocketKind
from wifimgrd.helper._contents import Contents, transaction
from wifimgrd.helper._plan import Camera, Plan
from wifimgrd.helper._routing import (
    additions,
    broadcasts,
    camera_routes,
    concerned_by,
    conflict,
    direct_cameras,
    direct_routes,
    gates,
    gates_of,
    is_complete,
    makes_broadcast,
    moved_broadcasts,
    stale_routes,
    unwanted_routes,
)
from wifimgrd.kernel.events import Event, Settings
from wifimgrd.kernel.links import Link
from wifimgrd.kernel.routes import BY_DHCP, BY_KERNEL, LOCAL, MAIN, Hop, Route, RouteKind
from wifimgrd.kernel.rtnetlink import Action, Change
from wifimgrd.kernel.rules import Rule, RuleAction

NETWORK = IPv4Network("10.77.0.0/24")
OWNER, ETH0, TUN0, WLAN0, WLAN1, WLAN2, WLAN3 = 2, 3, 4, 6, 7, 8, 9
"""Indices of interfaces."""
MARK = 0x77490000 + WLAN1
LINK_TABLE = 0x774A0001
BY_STATIC = 4


def route(to: str, index: int = 0, **given: Any) -> Route:
    return Route(IPv4Network(to), index, **given)


def via(gateway: str) -> dict[str, Any]:
    return {"gateway": IPv4Address(gateway)}


DEFAULT = route("0.0.0.0/0", ETH0, **via("192.168.8.1"))


def camera(number: int = 1, own: str = "192.168.42.1") -> Camera:
    """The camera at 10.77.0.N, behind wlanN."""
    address = IPv4Address(f"10.77.0.{number}")
    return Camera(number, f"wlan{number}", 6 + number, address, IPv4Address(own) if own else None)


PLAN = Plan(NETWORK, (camera(),))


@pytest.mark.parametrize(
    "other",
    [
        route("10.77.0.0/24", ETH0),
        route("10.77.0.128/25", ETH0),
        route("10.0.0.0/8", TUN0, **via("192.168.8.1")),
        route("10.77.0.9", ETH0, kind=RouteKind.LOCAL, table=LOCAL),
        route("10.77.0.0/16", kind=RouteKind.UNREACHABLE),
        route("10.77.0.0/24", ETH0, table=100),
        route("10.77.0.0/25", WLAN1),
    ],
)
def test_a_network_that_the_host_reaches_otherwise_is_not_taken(other: Route) -> None:
    said = conflict(PLAN, [DEFAULT, other], OWNER)
    assert said.startswith(f"10.77.0.0/24 overlaps {other.destination}, which this host reaches")


@pytest.mark.parametrize(
    "other",
    [
        DEFAULT,
        route("0.0.0.0/1", TUN0),
        route("192.168.42.0/24", WLAN0),
        route("10.77.0.0/24", OWNER),
        route("10.77.0.254", OWNER, kind=RouteKind.LOCAL, table=LOCAL),
        # a camera's lease in the network
        route("10.77.0.0/25", WLAN1, table=LINK_TABLE),
        route("10.77.0.0/25", WLAN1, protocol=BY_KERNEL, metric=30001),
        route("10.77.0.5", WLAN1, kind=RouteKind.LOCAL, table=LOCAL),
    ],
)
def test_other_routes_do_not_matter(other: Route) -> None:
    assert conflict(PLAN, [other], OWNER) == ""


def test_without_a_network_there_is_no_conflict() -> None:
    confined = PLAN.without_network()
    assert conflict(confined, [route("10.77.0.0/24", ETH0)], OWNER) == ""
    assert [(one.address, one.camera_address) for one in confined.cameras] == [
        (None, IPv4Address("192.168.42.1"))
    ]


def test_an_interface_without_a_mark_is_refused() -> None:
    with pytest.raises(ValueError, match="65536"):
        Camera(1, "wlan0", 65536)


def test_two_cameras_of_one_interface_are_refused() -> None:
    with pytest.raises(ValueError, match="one interface"):
        Plan(NETWORK, (camera(1), replace(camera(2), index=WLAN1)))


@pytest.mark.parametrize(
    ("device_id", "zone"), [(0, 1), (1, 2), (0xFFFE, 0xFFFF), (0xFFFF, 2), (70_000, 4467)]
)
def test_each_device_has_a_zone_that_is_not_the_hosts_or_that_of_idle_adapters(
    device_id: int, zone: int
) -> None:
    assert Camera(device_id, "wlan0", 1).zone == zone


def test_sockets_have_a_mark_of_their_device_not_of_its_interface() -> None:
    first, second = Camera(1, "wlan0", 5), Camera(2, "wlan0", 5)
    assert first.socket_mark == Camera(1, "wlan1", 6).socket_mark
    assert first.socket_mark != second.socket_mark


def test_ports_are_accepted_from_cameras_with_an_address_alone() -> None:
    port = (AcceptedPort(SocketKind.UDP, 8554),)
    with_address = replace(camera(1), accepts=port)
    without = replace(camera(2), address=None, accepts=port)
    unlinked = replace(camera(3, ""), accepts=port)
    text = transaction(None, Contents.of(Plan(NETWORK, (with_address, without, unlinked))))
    assert [line for line in text.splitlines() if " wifimgrd accepted " in line] == [
        "add element ip wifimgrd accepted { 7 . 17 . 8554 }"
    ]


def test_a_plan_knows_itself_in_the_kernels_tables() -> None:
    rules = [Rule(7749, MARK, table=MARK)]
    routes = [
        route("192.168.42.1", WLAN1, table=MARK),
        route("192.168.42.1", kind=RouteKind.UNREACHABLE, table=MARK),
        route("10.77.0.0/24", OWNER),
        route("192.168.42.1", WLAN1, protocol=77, metric=30000),
    ]

    def complete(rules: list[Rule], routes: list[Route], plan: Plan = PLAN, owner: int = OWNER) -> bool:
        return is_complete(plan, plan.cameras, (), rules, routes, owner)

    assert complete(rules, routes)
    assert not complete([], routes)
    for missing in (0, 2, 3):
        assert not complete(rules, routes[:missing] + routes[missing + 1 :])
    assert not complete(rules, routes, Plan(NETWORK))
    assert not complete(rules, routes, owner=0)
    assert not complete([*rules, Rule(7750, interface="lan8", action=RuleAction.UNREACHABLE)], routes)
    earlier = route("192.168.42.0/24", WLAN1, protocol=BY_KERNEL, metric=30001)
    assert not complete(rules, [*routes, earlier])


def test_a_route_through_no_interface_is_not_through_one_that_does_not_exist() -> None:
    refused = route("10.77.0.0/16", kind=RouteKind.UNREACHABLE)
    assert "overlaps 10.77.0.0/16" in conflict(PLAN, [refused], owner=0)


def test_gates_are_known_among_the_rules() -> None:
    plan = Plan(NETWORK, (camera(),), (IPv4Network("192.168.8.0/24"),))
    wanted = gates(plan, ["lan8", "wlan1"])
    assert wanted == {
        Rule(7748, MARK, "wlan1", MAIN),
        Rule(7750, interface="lan8", action=RuleAction.UNREACHABLE),
        Rule(7750, interface="wlan1", action=RuleAction.UNREACHABLE),
    }
    others = {
        Rule(0, table=LOCAL),
        Rule(7748, interface="wlan1", table=MAIN),
        Rule(7749, MARK, table=MARK),
        Rule(7750, action=RuleAction.UNREACHABLE),
        Rule(7750, interface="wlan1", table=MAIN),
        Rule(32766, table=MAIN),
    }
    assert gates_of(wanted | others) == wanted


# -- the table main


@pytest.mark.parametrize("own", ["192.168.42.1", "10.5.5.9", "172.16.0.1", "172.31.255.1", "169.254.3.4"])
def test_one_camera_with_a_private_address_is_reached_there_too(own: str) -> None:
    plan = Plan(NETWORK, (camera(1, own), camera(2, "")))
    assert direct_cameras(plan, [DEFAULT], (), OWNER) == (plan.cameras[0],)


def test_of_two_cameras_with_one_address_neither_is() -> None:
    plan = Plan(NETWORK, (camera(1), camera(2), camera(3, "10.5.5.9")))
    assert direct_cameras(plan, [], (), OWNER) == (plan.cameras[2],)


@pytest.mark.parametrize(
    "own", ["8.8.8.8", "172.32.0.1", "192.169.0.1", "100.64.0.1", "127.0.0.2", "224.0.0.1", "0.0.0.0"]
)
def test_no_other_than_a_private_address_is_taken(own: str) -> None:
    assert direct_cameras(Plan(NETWORK, (camera(1, own),)), [], (), OWNER) == ()


def test_an_address_in_the_cameras_network_is_no_cameras_own() -> None:
    plan = Plan(NETWORK, (camera(1, "10.77.0.9"), camera(2, "10.77.1.9")))
    assert direct_cameras(plan, [], (), OWNER) == (plan.cameras[1],)


@pytest.mark.parametrize(
    "other",
    [
        route("192.168.42.0/24", ETH0),
        route("192.168.42.1", ETH0),
        route("192.0.0.0/2", TUN0),
        route("192.168.0.0/16", TUN0, table=51820),
        route("192.168.42.0/24", kind=RouteKind.BLACKHOLE),
        route("192.168.42.0/24", WLAN1),
        route("192.168.42.1", ETH0, kind=RouteKind.LOCAL, table=LOCAL),
        route("0.0.0.0/0", ETH0, **via("192.168.42.1")),
        route("203.0.113.0/24", hops=(Hop(ETH0, IPv4Address("192.168.42.1")),)),
    ],
)
def test_an_address_that_the_host_has_a_use_for_is_left_alone(other: Route) -> None:
    assert direct_cameras(PLAN, [DEFAULT, other], (), OWNER) == ()


@pytest.mark.parametrize(
    "other",
    [
        DEFAULT,
        route("128.0.0.0/1", TUN0),
        route("192.168.8.0/24", ETH0),
        route("192.168.42.1", WLAN1, protocol=77, metric=30000),
        route("192.168.42.1", WLAN1, table=MARK),
        route("192.168.42.0/24", WLAN1, table=LINK_TABLE),
        route("192.168.42.0/24", WLAN1, protocol=BY_KERNEL, metric=30001),
        route("192.168.42.255", WLAN1, kind=RouteKind.BROADCAST, table=LOCAL),
    ],
)
def test_routes_that_do_not_cover_it_and_the_helpers_own_are_no_reason(other: Route) -> None:
    assert direct_cameras(PLAN, [other], (), OWNER) == PLAN.cameras


def test_the_address_of_a_resolver_or_time_server_is_left_alone() -> None:
    assert direct_cameras(PLAN, [], {IPv4Address("192.168.42.1")}, OWNER) == ()


def test_the_routes_in_main_change_where_they_differ() -> None:
    old = route("10.5.5.9", WLAN3, protocol=77, metric=30000)
    kept = route("192.168.42.1", WLAN1, protocol=77, metric=30000)
    assert direct_routes(PLAN.cameras, [old]) == [
        Change(Action.DELETE, old),
        Change(Action.ADD, kept),
    ]
    assert direct_routes(PLAN.cameras, [kept, DEFAULT]) == []


def test_what_earlier_versions_have_left_is_deleted_and_nothing_else() -> None:
    routes = [
        route("192.168.42.0/24", WLAN1, protocol=BY_KERNEL, metric=30001),
        route("192.168.42.0/24", ETH0, protocol=BY_KERNEL, metric=30001),
        route("172.31.0.0/24", WLAN1, **via("192.168.42.1")),
        route("172.31.0.0/24", WLAN1, protocol=BY_STATIC, metric=30001),
        route("0.0.0.0/0", WLAN1, table=MARK),
        route("0.0.0.0/0", kind=RouteKind.UNREACHABLE, table=MARK, metric=4294967294),
        route("192.168.42.1", kind=RouteKind.UNREACHABLE, table=MARK, metric=4294967294),
        route("192.168.42.1", WLAN1, table=MARK),
        route("0.0.0.0/0", TUN0, table=100),
    ]
    assert unwanted_routes(PLAN, routes) == routes[:1]
    assert stale_routes(PLAN, routes) == routes[4:6]


def test_broadcast_addresses_of_cameras_links_in_local_are_found() -> None:
    hiding = route("192.168.1.127", WLAN1, kind=RouteKind.BROADCAST, table=LOCAL)
    routes = [
        hiding,
        replace(hiding, index=ETH0),
        replace(hiding, kind=RouteKind.LOCAL),
        replace(hiding, table=MARK),
    ]
    assert broadcasts(PLAN, routes) == [(hiding, PLAN.cameras[0])]
    assert stale_routes(PLAN, [routes[3]]) == []  # for what comes from the camera


def test_a_broadcast_address_is_one_for_its_camera_alone() -> None:
    addresses = map(IPv4Address, ("192.168.42.255", "192.168.42.1"))
    its_own = route("192.168.42.255", WLAN1, kind=RouteKind.BROADCAST, table=MARK)
    hosts = replace(its_own, table=LOCAL, protocol=BY_KERNEL)
    assert moved_broadcasts(camera(), addresses) == [
        Change(Action.DELETE, replace(hosts, destination=IPv4Network("192.168.42.1"))),
        Change(Action.DELETE, hosts),
        Change(Action.REPLACE, its_own),
    ]


HIDING = route("192.168.1.127", WLAN1, kind=RouteKind.BROADCAST, table=LOCAL, protocol=BY_KERNEL)


@pytest.mark.parametrize(
    ("event", "does"),
    [
        (Event(HIDING), True),
        (Event(replace(HIDING, index=WLAN2)), False),
        (Event(replace(HIDING, table=MARK)), False),
        (Event(replace(HIDING, kind=RouteKind.LOCAL)), False),
        (Event(HIDING, is_gone=True), False),
        (Event(Link("wlan1", WLAN1)), False),
    ],
)
def test_a_new_broadcast_address_of_a_cameras_link_is_noticed(event: Event, does: bool) -> None:
    assert makes_broadcast(PLAN, event) is does


def test_what_another_program_configures_on_an_adapter_without_a_link_stays() -> None:
    plan = Plan(NETWORK, (Camera(0, "wlan1", WLAN1),))
    routes = [route("192.168.42.0/24", WLAN1, protocol=BY_DHCP), HIDING, replace(DEFAULT, index=WLAN1)]
    assert unwanted_routes(plan, routes) == []
    assert broadcasts(plan, routes) == []
    assert not makes_broadcast(plan, Event(HIDING))


def test_the_route_of_a_camera_comes_after_the_one_for_the_time_without_it() -> None:
    last = route("192.168.42.1", kind=RouteKind.UNREACHABLE, table=MARK, metric=0xFFFFFFFE)
    assert camera_routes(PLAN.cameras) == [
        Change(Action.REPLACE, last),
        Change(Action.REPLACE, route("192.168.42.1", WLAN1, table=MARK)),
    ]
    assert additions(PLAN, ()) == [Change(Action.ADD, Rule(7749, MARK, table=MARK))]
    assert additions(PLAN, [MARK]) == []


# -- changes by others


@pytest.mark.parametrize(
    ("event", "concerned"),
    [
        (Event(Rule(7749, MARK, table=MARK), is_gone=True), True),
        (Event(Rule(7750, interface="lan8", action=RuleAction.UNREACHABLE), is_gone=True), True),
        (Event(route("0.0.0.0/0", kind=RouteKind.UNREACHABLE, table=MARK), is_gone=True), True),
        (Event(Link("wlan1", WLAN1)), True),
        (Event(Link("wlan1", WLAN3)), True),
        (Event(Link("wlan9", WLAN1)), True),
        (Event(Link("wifimgrd0", OWNER), is_gone=True), True),
        (Event(Settings(WLAN1)), True),
        (Event(route("10.0.0.0/8", TUN0, **via("192.168.8.1"))), True),
        (Event(route("10.77.0.9", ETH0, kind=RouteKind.LOCAL, table=LOCAL), is_gone=True), True),
        (Event(route("192.168.42.0/24", ETH0, source=IPv4Address("192.168.42.10"))), True),
        (Event(route("203.0.113.0/24", ETH0, source=IPv4Address("192.168.42.1"))), True),
        (Event(route("0.0.0.0/0", ETH0, protocol=BY_DHCP, **via("192.168.42.1"))), True),
        (Event(route("0.0.0.0/0", WLAN1)), True),
        (Event(route("0.0.0.0/0", hops=(Hop(WLAN1), Hop(ETH0)))), True),
        (Event(Link("wlan2", WLAN2)), False),
        (Event(Settings(WLAN2)), False),
        (Event(Settings(-1)), False),
        (Event(Rule(32766, table=MAIN)), False),
        (Event(route("192.168.43.0/24", WLAN2, source=IPv4Address("192.168.43.10"))), False),
        (Event(route("0.0.0.0/0", ETH0, protocol=BY_DHCP, **via("192.168.8.1"))), False),
        (Event(route("0.0.0.0/1", TUN0)), False),
    ],
)
def test_what_others_do_elsewhere_concerns_nobody(event: Event, concerned: bool) -> None:
    assert concerned_by(PLAN, event) is concerned
    assert concerned_by(Plan(NETWORK, shared=(IPv4Network("192.168.8.0/24"),)), event)
