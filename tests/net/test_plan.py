"""What is to stand in the kernel's tables, which networks cannot be had, and which cameras `main` has."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import IPv4Address, IPv4Network
from typing import Any

import pytest

from wifimgrd.domain.addresses import AcceptedPort, SocketKind
from wifimgrd.net.plan import Camera, Plan
from wifimgrd.net.routing import (
    broadcast_routes,
    broadcasts,
    concerned_by,
    conflict,
    direct_cameras,
    direct_routes,
    gates,
    gates_of,
    is_complete,
    makes_broadcast,
    stale_routes,
    unwanted_routes,
)
from wifimgrd.net.ruleset import elements

NETWORK = IPv4Network("10.77.0.0/24")
DEFAULT = {"dst": "default", "gateway": "192.168.8.1", "dev": "eth0"}


def camera(number: int = 1, own: str = "192.168.42.1") -> Camera:
    """The camera at 10.77.0.N, behind wlanN."""
    address = IPv4Address(f"10.77.0.{number}")
    return Camera(number, f"wlan{number}", 6 + number, address, IPv4Address(own) if own else None)


PLAN = Plan(NETWORK, (camera(),))


@pytest.mark.parametrize(
    "route",
    [
        {"dst": "10.77.0.0/24", "dev": "eth0"},
        {"dst": "10.77.0.128/25", "dev": "eth0"},
        {"dst": "10.0.0.0/8", "gateway": "192.168.8.1", "dev": "tun0"},
        {"type": "local", "dst": "10.77.0.9", "dev": "eth0", "table": "local"},
        {"type": "unreachable", "dst": "10.77.0.0/16"},
        {"dst": "10.77.0.0/24", "dev": "eth0", "table": "100"},
        {"dst": "10.77.0.0/25", "dev": "wlan1"},
    ],
)
def test_a_network_that_the_host_reaches_otherwise_is_not_taken(route: dict[str, Any]) -> None:
    said = conflict(PLAN, [DEFAULT, route])
    assert said.startswith(f"10.77.0.0/24 overlaps {IPv4Network(route['dst'])}, which this host reaches")


@pytest.mark.parametrize(
    "route",
    [
        DEFAULT,
        {"dst": "0.0.0.0/1", "dev": "tun0"},
        {"dst": "192.168.42.0/24", "dev": "wlan0"},
        {"dst": "10.77.0.0/24", "dev": "wifimgrd0"},
        {"type": "local", "dst": "10.77.0.254", "dev": "wifimgrd0", "table": "local"},
        {"dst": "fe80::/64", "dev": "eth0"},
        # a camera's lease in the network
        {"dst": "10.77.0.0/25", "dev": "wlan1", "table": str(0x774A0001)},
        {"dst": "10.77.0.0/25", "dev": "wlan1", "protocol": "kernel", "metric": 30001},
        {"type": "local", "dst": "10.77.0.5", "dev": "wlan1", "table": "local"},
    ],
)
def test_other_routes_do_not_matter(route: dict[str, Any]) -> None:
    assert conflict(PLAN, [route]) == ""


def test_without_a_network_there_is_no_conflict() -> None:
    confined = PLAN.without_network()
    assert conflict(confined, [{"dst": "10.77.0.0/24", "dev": "eth0"}]) == ""
    assert [(one.address, one.camera_address) for one in confined.cameras] == [
        (None, IPv4Address("192.168.42.1"))
    ]


def test_an_interface_without_a_mark_is_refused() -> None:
    with pytest.raises(ValueError, match="65536"):
        Camera(1, "wlan0", 65536)


@pytest.mark.parametrize(("device_id", "zone"), [(1, 2), (0xFFFE, 0xFFFF), (0xFFFF, 1), (70_000, 4466)])
def test_each_device_has_a_zone_that_is_not_the_hosts(device_id: int, zone: int) -> None:
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
    text = elements(Plan(NETWORK, (with_address, without, unlinked)))
    assert "add element ip wifimgrd accepted { 7 . 17 . 8554 }" in text
    assert "accepted" not in text.replace("accepted { 7 . 17 . 8554 }", "").replace(
        "flush set ip wifimgrd accepted", ""
    ).replace("@accepted", "")


def test_a_plan_knows_itself_in_the_listings_of_ip() -> None:
    mark = "2001272839"
    rules: list[dict[str, Any]] = [{"priority": 7749, "src": "all", "fwmark": "0x77490007", "table": mark}]
    routes: list[dict[str, Any]] = [
        {"dst": "192.168.42.1", "dev": "wlan1", "table": mark},
        {"type": "unreachable", "dst": "192.168.42.1", "table": mark},
        {"dst": "10.77.0.0/24", "dev": "wifimgrd0"},
        {"dst": "192.168.42.1", "dev": "wlan1", "protocol": "77", "metric": 30000},
    ]

    def complete(rules: list[dict[str, Any]], routes: list[dict[str, Any]], plan: Plan = PLAN) -> bool:
        return is_complete(plan, plan.cameras, (), rules, routes)

    assert complete(rules, routes)
    assert not complete([], routes)
    for missing in (0, 2, 3):
        assert not complete(rules, routes[:missing] + routes[missing + 1 :])
    assert not complete(rules, routes, Plan(NETWORK))
    assert not complete([*rules, {"priority": 7750, "iif": "lan8", "action": "unreachable"}], routes)
    earlier = {"dst": "192.168.42.0/24", "dev": "wlan1", "protocol": "kernel", "metric": 30001}
    assert not complete(rules, [*routes, earlier])


def test_gates_are_known_in_the_listing_of_rules() -> None:
    plan = Plan(NETWORK, (camera(),), (IPv4Network("192.168.8.0/24"),))
    wanted = gates(plan, ["lan8", "wlan1"])
    assert wanted == {
        "iif wlan1 fwmark 0x77490007 lookup main preference 7748",
        "iif lan8 unreachable preference 7750",
        "iif wlan1 unreachable preference 7750",
    }
    listed = [
        {"priority": 0, "src": "all", "table": "local"},
        {"priority": 7748, "src": "all", "iif": "wlan1", "fwmark": "0x77490007", "table": "main"},
        {"priority": 7750, "src": "all", "iif": "lan8", "iif_detached": None, "action": "unreachable"},
        {"priority": 7750, "src": "all", "iif": "wlan1", "action": "unreachable"},
        {"priority": 32766, "src": "all", "table": "main"},
    ]
    assert gates_of(listed) == wanted


# -- the table main


@pytest.mark.parametrize("own", ["192.168.42.1", "10.5.5.9", "172.16.0.1", "172.31.255.1", "169.254.3.4"])
def test_one_camera_with_a_private_address_is_reached_there_too(own: str) -> None:
    plan = Plan(NETWORK, (camera(1, own), camera(2, "")))
    assert direct_cameras(plan, [DEFAULT], ()) == (plan.cameras[0],)


def test_of_two_cameras_with_one_address_neither_is() -> None:
    plan = Plan(NETWORK, (camera(1), camera(2), camera(3, "10.5.5.9")))
    assert direct_cameras(plan, [], ()) == (plan.cameras[2],)


@pytest.mark.parametrize(
    "own", ["8.8.8.8", "172.32.0.1", "192.169.0.1", "100.64.0.1", "127.0.0.2", "224.0.0.1", "0.0.0.0"]
)
def test_no_other_than_a_private_address_is_taken(own: str) -> None:
    assert direct_cameras(Plan(NETWORK, (camera(1, own),)), [], ()) == ()


def test_an_address_in_the_cameras_network_is_no_cameras_own() -> None:
    plan = Plan(NETWORK, (camera(1, "10.77.0.9"), camera(2, "10.77.1.9")))
    assert direct_cameras(plan, [], ()) == (plan.cameras[1],)


@pytest.mark.parametrize(
    "route",
    [
        {"dst": "192.168.42.0/24", "dev": "eth0"},
        {"dst": "192.168.42.1", "dev": "eth0"},
        {"dst": "192.0.0.0/2", "dev": "tun0"},
        {"dst": "192.168.0.0/16", "dev": "tun0", "table": "51820"},
        {"type": "blackhole", "dst": "192.168.42.0/24"},
        {"dst": "192.168.42.0/24", "dev": "wlan1"},
        {"type": "local", "dst": "192.168.42.1", "dev": "eth0", "table": "local"},
        {"dst": "default", "gateway": "192.168.42.1", "dev": "eth0"},
        {"dst": "203.0.113.0/24", "nexthops": [{"gateway": "192.168.42.1", "dev": "eth0"}]},
    ],
)
def test_an_address_that_the_host_has_a_use_for_is_left_alone(route: dict[str, Any]) -> None:
    assert direct_cameras(PLAN, [DEFAULT, route], ()) == ()


@pytest.mark.parametrize(
    "route",
    [
        DEFAULT,
        {"dst": "128.0.0.0/1", "dev": "tun0"},
        {"dst": "192.168.8.0/24", "dev": "eth0"},
        {"dst": "192.168.42.1", "dev": "wlan1", "protocol": "77", "metric": 30000},
        {"dst": "192.168.42.1", "dev": "wlan1", "table": "2001272839"},
        {"dst": "192.168.42.0/24", "dev": "wlan1", "table": str(0x774A0001)},
        {"dst": "192.168.42.0/24", "dev": "wlan1", "protocol": "kernel", "metric": 30001},
        {"type": "broadcast", "dst": "192.168.42.255", "dev": "wlan1", "table": "local"},
    ],
)
def test_routes_that_do_not_cover_it_and_the_helpers_own_are_no_reason(route: dict[str, Any]) -> None:
    assert direct_cameras(PLAN, [route], ()) == PLAN.cameras


def test_the_address_of_a_resolver_or_time_server_is_left_alone() -> None:
    assert direct_cameras(PLAN, [], {IPv4Address("192.168.42.1")}) == ()


def test_the_commands_change_what_differs() -> None:
    old = {"dst": "10.5.5.9", "dev": "wlan3", "protocol": "77", "metric": 30000}
    kept = {"dst": "192.168.42.1", "dev": "wlan1", "protocol": "77", "metric": 30000}
    assert direct_routes(PLAN.cameras, [old]) == [
        "route del 10.5.5.9 dev wlan3 metric 30000 proto 77",
        "route add 192.168.42.1 dev wlan1 scope link metric 30000 proto 77",
    ]
    assert direct_routes(PLAN.cameras, [kept, DEFAULT]) == []


def test_what_earlier_versions_have_left_is_deleted_and_nothing_else() -> None:
    mark = "2001272839"
    routes: list[dict[str, Any]] = [
        {"dst": "192.168.42.0/24", "dev": "wlan1", "protocol": "kernel", "metric": 30001},
        {"dst": "192.168.42.0/24", "dev": "eth0", "protocol": "kernel", "metric": 30001},
        {"dst": "172.31.0.0/24", "dev": "wlan1", "gateway": "192.168.42.1"},
        {"dst": "172.31.0.0/24", "dev": "wlan1", "protocol": "static", "metric": 30001},
        {"dst": "default", "dev": "wlan1", "table": mark},
        {"type": "unreachable", "dst": "default", "table": mark, "metric": 4294967294},
        {"type": "unreachable", "dst": "192.168.42.1", "table": mark, "metric": 4294967294},
        {"dst": "192.168.42.1", "dev": "wlan1", "table": mark},
        {"dst": "default", "dev": "tun0", "table": "100"},
    ]
    assert unwanted_routes(PLAN, routes) == ["route del 192.168.42.0/24 dev wlan1 metric 30001"]
    assert stale_routes(PLAN, routes) == [
        f"route del default dev wlan1 table {mark}",
        f"route del unreachable default metric 4294967294 table {mark}",
    ]


def test_broadcast_addresses_of_cameras_links_in_local_are_found() -> None:
    hiding = {"type": "broadcast", "dst": "192.168.1.127", "dev": "wlan1", "table": "local"}
    routes: list[dict[str, Any]] = [
        hiding,
        {**hiding, "dev": "lan0"},
        {**hiding, "type": "local"},
        {**hiding, "table": "2001272839"},
    ]
    assert broadcasts(PLAN, routes) == [("192.168.1.127", PLAN.cameras[0])]
    assert stale_routes(PLAN, [routes[3]]) == []  # for what comes from the camera


def test_a_broadcast_address_is_one_for_its_camera_alone() -> None:
    addresses = map(IPv4Address, ("192.168.42.255", "192.168.42.1"))
    assert broadcast_routes(camera(), addresses) == [
        "route replace broadcast 192.168.42.255 dev wlan1 scope link table 2001272839"
    ]


@pytest.mark.parametrize(
    ("line", "does"),
    [
        ("broadcast 192.168.1.127 dev wlan1 table local proto kernel scope link src 192.168.1.77", True),
        ("broadcast 192.168.1.127 dev wlan2 table local proto kernel scope link src 192.168.1.77", False),
        ("broadcast 192.168.1.127 dev wlan1 table 2001272839 proto boot scope link", False),
        ("Deleted broadcast 192.168.1.127 dev wlan1 table local proto kernel scope link", False),
        ("", False),
    ],
)
def test_a_new_broadcast_address_of_a_cameras_link_is_noticed(line: str, does: bool) -> None:
    assert makes_broadcast(PLAN, line) is does


# -- changes by others


@pytest.mark.parametrize(
    ("line", "concerned"),
    [
        ("Deleted 7749:\tfrom all fwmark 0x77490007 lookup 2001272839", True),
        ("Deleted 7750:\tfrom all iif lan8 unreachable", True),
        ("Deleted unreachable default table 2001272839 metric 4294967294", True),
        ("4: wlan1: <BROADCAST,MULTICAST> mtu 1500 qdisc mq state DOWN group default", True),
        ("Deleted 3: wifimgrd0: <BROADCAST,NOARP> mtu 1500 qdisc noop state DOWN group default", True),
        ("10.0.0.0/8 via 192.168.8.1 dev tun0", True),
        ("Deleted local 10.77.0.9 dev eth0 table local proto kernel scope host src 10.77.0.9", True),
        ("192.168.42.0/24 dev eth0 proto kernel scope link src 192.168.42.10", True),
        ("default via 192.168.42.1 dev eth0 proto dhcp metric 100", True),
        ("5: wlan2: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc mq state UP group default", False),
        ("192.168.43.0/24 dev wlan2 proto kernel scope link src 192.168.43.10", False),
        ("default via 192.168.8.1 dev eth0 proto dhcp metric 100", False),
    ],
)
def test_what_others_do_elsewhere_concerns_nobody(line: str, concerned: bool) -> None:
    assert concerned_by(PLAN, line) is concerned
    assert concerned_by(Plan(NETWORK, shared=(IPv4Network("192.168.8.0/24"),)), line)
