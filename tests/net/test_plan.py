"""What is to stand in the kernel's tables, and which networks cannot be had."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network
from typing import Any

import pytest

from wifimgrd.net.plan import Camera, Plan, conflict

NETWORK = IPv4Network("10.77.0.0/24")


@pytest.mark.parametrize(
    "route",
    [
        {"dst": "10.77.0.0/24", "dev": "eth0"},
        {"dst": "10.77.0.128/25", "dev": "eth0"},
        {"dst": "10.0.0.0/8", "gateway": "192.168.8.1", "dev": "tun0"},
        {"type": "local", "dst": "10.77.0.9", "dev": "eth0", "table": "local"},
        {"type": "unreachable", "dst": "10.77.0.0/16"},
        {"dst": "10.77.0.0/24", "dev": "eth0", "table": "100"},
    ],
)
def test_a_network_that_the_host_reaches_otherwise_is_not_taken(route: dict[str, Any]) -> None:
    said = conflict(NETWORK, [{"dst": "default", "gateway": "192.168.8.1", "dev": "eth0"}, route])
    assert said.startswith(f"10.77.0.0/24 overlaps {IPv4Network(route['dst'])}, which this host reaches")


@pytest.mark.parametrize(
    "route",
    [
        {"dst": "default", "gateway": "192.168.8.1", "dev": "eth0"},
        {"dst": "0.0.0.0/1", "dev": "tun0"},
        {"dst": "192.168.42.0/24", "dev": "wlan0"},
        {"dst": "10.77.0.0/24", "dev": "wifimgrd0"},
        {"type": "local", "dst": "10.77.0.254", "dev": "wifimgrd0", "table": "local"},
        {"dst": "fe80::/64", "dev": "eth0"},
    ],
)
def test_other_routes_do_not_matter(route: dict[str, Any]) -> None:
    assert conflict(NETWORK, [route]) == ""


def test_an_interface_without_a_mark_is_refused() -> None:
    with pytest.raises(ValueError, match="65536"):
        Camera(IPv4Address("10.77.0.1"), "wlan0", 65536, IPv4Address("192.168.42.1"))


def test_a_plan_knows_itself_in_the_listings_of_ip() -> None:
    plan = Plan(NETWORK, (Camera(IPv4Address("10.77.0.1"), "wlan0", 7, IPv4Address("192.168.42.1")),))
    rules = [{"priority": 7749, "src": "all", "fwmark": "0x77490007", "table": "2001272839"}]
    routes = [
        {"dst": "default", "dev": "wlan0", "table": "2001272839"},
        {"dst": "10.77.0.0/24", "dev": "wifimgrd0"},
    ]
    assert plan.holds(rules, routes)
    assert not plan.holds([], routes)
    assert not plan.holds(rules, routes[:1])
    assert not plan.holds(rules, routes[1:])
    assert not Plan(NETWORK).holds(rules, routes)


@pytest.mark.parametrize(
    ("line", "concerned"),
    [
        ("Deleted 7749:\tfrom all fwmark 0x77490007 lookup 2001272839", True),
        ("Deleted unreachable default table 2001272839 metric 4294967294", True),
        ("4: wlan0: <BROADCAST,MULTICAST> mtu 1500 qdisc mq state DOWN group default", True),
        ("Deleted 3: wifimgrd0: <BROADCAST,NOARP> mtu 1500 qdisc noop state DOWN group default", True),
        ("delete table ip wifimgrd", True),
        ("10.0.0.0/8 via 192.168.8.1 dev tun0", True),
        ("Deleted local 10.77.0.9 dev eth0 table local proto kernel scope host src 10.77.0.9", True),
        ("5: wlan1: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc mq state UP group default", False),
        ("192.168.42.0/24 dev wlan1 proto kernel scope link src 192.168.42.10", False),
        ("default via 192.168.8.1 dev eth0 proto dhcp metric 100", False),
        ("delete table ip docker", False),
        ("# new generation 17 by process 4711 (nft)", False),
    ],
)
def test_what_others_do_elsewhere_concerns_nobody(line: str, concerned: bool) -> None:
    plan = Plan(NETWORK, (Camera(IPv4Address("10.77.0.1"), "wlan0", 7, IPv4Address("192.168.42.1")),))
    assert plan.concerned_by(line) is concerned
    shared = Plan(NETWORK, shared=(IPv4Network("192.168.8.0/24"),))
    assert shared.concerned_by(line)
