"""Routes and rules of a host, in a network namespace of its own: the same as iproute2 lists."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import pytest

from wifimgrd.kernel import routes as module
from wifimgrd.kernel.messages import attribute

LIST = """
import json
from wifimgrd.kernel.routes import list_routes, list_rules
print(json.dumps([list_routes(), list_rules()]))
"""
OF_A_ROUTE = ("dst", "type", "gateway", "dev", "table", "protocol", "metric")
OF_A_RULE = ("priority", "fwmark", "iif", "table", "action")


def listed(host: Callable[..., str]) -> list[list[dict[str, Any]]]:
    found: list[list[dict[str, Any]]] = json.loads(host(sys.executable, "-c", LIST))
    return found


def of_iproute2(host: Callable[..., str], *command: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(host("ip", "-4", "-j", *command))
    return found


def parts(listed: list[dict[str, Any]], names: tuple[str, ...]) -> list[dict[str, Any]]:
    return [{name: one[name] for name in names if name in one} for one in listed]


@pytest.fixture
def configured(host: Callable[..., str]) -> Callable[..., str]:
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


def test_routes_are_those_that_iproute2_lists(configured: Callable[..., str]) -> None:
    found, _ = listed(configured)
    wanted = of_iproute2(configured, "route", "show", "table", "all")
    assert len(found) > 10
    assert parts(found, OF_A_ROUTE) == parts(wanted, OF_A_ROUTE)
    hops = [[(hop["gateway"], hop["dev"]) for hop in one.get("nexthops", ())] for one in found]
    assert hops == [[(hop["gateway"], hop["dev"]) for hop in one.get("nexthops", ())] for one in wanted]
    assert [("192.168.7.2", "eth7"), ("192.168.7.3", "eth7")] in hops


def test_rules_are_those_that_iproute2_lists(configured: Callable[..., str]) -> None:
    _, found = listed(configured)
    wanted = of_iproute2(configured, "rule", "show")
    assert len(found) == 9
    assert parts(found, OF_A_RULE) == parts(wanted, OF_A_RULE)


def test_many_routes_are_listed_whole(host: Callable[..., str]) -> None:
    host("ip", "link", "set", "lo", "up")
    lines = "\n".join(f"route add 10.9.{high}.{low} dev lo" for high in range(4) for low in range(1, 251))
    host("sh", "-c", f"printf '%s\\n' '{lines}' | ip -batch -")
    found, _ = listed(host)
    assert sum(one["dst"].startswith("10.9.") for one in found) == 1000


def test_the_interface_of_a_route_that_has_just_gone_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    header = module._HEADER.pack(2, 32, 0, 0, 254, 77, 253, 1, 0)
    attributes = (module._RTA_DST, bytes([192, 168, 42, 1])), (module._RTA_OIF, b"\xff\xff\xff\x7f")
    body = header + b"".join(attribute(kind, value) for kind, value in attributes)
    monkeypatch.setattr(module, "dump", lambda *_: [body])
    assert module.list_routes() == [{"dst": "192.168.42.1", "protocol": "77"}]
