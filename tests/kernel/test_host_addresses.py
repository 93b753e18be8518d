"""The addresses in use around a host, in a network namespace of its own."""

from __future__ import annotations

import json
import sys
from ipaddress import IPv4Address

import pytest

from tests.kernel.conftest import Host
from wifimgrd.kernel import host_addresses as module
from wifimgrd.kernel.host_addresses import host_addresses

READ = """
import json, sys
from wifimgrd.kernel.host_addresses import host_addresses
found = host_addresses(sys.argv[1:])
print(json.dumps([{str(a): i for a, i in some.items()} for some in (found.own, found.neighbours)]))
"""
READ_FIRST = """
import socket, sys
from wifimgrd.kernel.addresses import first_address
print(first_address(socket.if_nametoindex(sys.argv[1])))
"""


def test_own_addresses_and_neighbours_but_those_at_cameras(host: Host) -> None:
    host("ip", "link", "set", "lo", "up")
    for interface, number in (("eth7", 7), ("wlan8", 8)):
        host("ip", "link", "add", interface, "type", "bridge")
        host("ip", "address", "add", f"192.168.{number}.10/24", "dev", interface)
        host("ip", "link", "set", interface, "up")
        for last, state in ((20, "reachable"), (21, "stale"), (22, "permanent"), (23, "failed")):
            neighbour = (f"192.168.{number}.{last}", "lladdr", "02:00:00:00:00:01", "nud", state)
            host("ip", "neighbour", "add", *neighbour, "dev", interface)
    own, neighbours = json.loads(host(sys.executable, "-c", READ, "wlan8", "wlan9"))
    assert own == {"127.0.0.1": "lo", "192.168.7.10": "eth7"}
    assert neighbours == {f"192.168.7.{last}": "eth7" for last in (20, 21, 22)}


def test_what_a_camera_gives_out_does_not_hide_the_same_elsewhere(host: Host) -> None:
    for interface in ("eth7", "wlan8"):
        host("ip", "link", "add", interface, "type", "bridge")
        host("ip", "address", "add", "192.168.7.10/24", "dev", interface)
        host("ip", "link", "set", interface, "up")
        neighbour = ("192.168.7.20", "lladdr", "02:00:00:00:00:01", "nud", "reachable")
        host("ip", "neighbour", "add", *neighbour, "dev", interface)
        host("ip", "route", "add", "default", "via", "192.168.7.1", "dev", interface, "metric", interface[-1])
    for cameras, other in (("wlan8", "eth7"), ("eth7", "wlan8")):
        own, neighbours = json.loads(host(sys.executable, "-c", READ, cameras))
        assert own == {"192.168.7.10": other}
        assert neighbours == {"192.168.7.1": other, "192.168.7.20": other}


def test_two_interfaces_with_the_same_address_have_it_each(host: Host) -> None:
    for interface in ("eth7", "wlan8", "wlan9"):
        host("ip", "link", "add", interface, "type", "bridge")
    for interface in ("eth7", "wlan8"):
        host("ip", "address", "add", "192.168.7.10/24", "dev", interface)
    first = [host(sys.executable, "-c", READ_FIRST, interface) for interface in ("eth7", "wlan8", "wlan9")]
    assert first == ["192.168.7.10\n", "192.168.7.10\n", "None\n"]


def test_many_addresses_are_read_whole(host: Host) -> None:
    host("ip", "link", "add", "eth7", "type", "bridge")
    lines = "\n".join(
        f"address add 10.9.{high}.{low}/32 dev eth7" for high in range(4) for low in range(1, 251)
    )
    host("sh", "-c", f"printf '%s\\n' '{lines}' | ip -batch -")
    own, _ = json.loads(host(sys.executable, "-c", READ))
    assert len(own) == 1000


def test_gateways_that_nothing_was_sent_to_yet(host: Host) -> None:
    for interface, number in (("eth7", 7), ("wlan8", 8)):
        host("ip", "link", "add", interface, "type", "bridge")
        host("ip", "address", "add", f"192.168.{number}.10/24", "dev", interface)
        host("ip", "link", "set", interface, "up")
        host("ip", "route", "add", "default", "via", f"192.168.{number}.1", "metric", str(number))
    ways = [word for last in (2, 3) for word in ("nexthop", "via", f"192.168.7.{last}", "weight", "1")]
    host("ip", "route", "add", "10.0.0.0/8", "table", "77", *ways)
    _, neighbours = json.loads(host(sys.executable, "-c", READ, "wlan8"))
    assert neighbours == {f"192.168.7.{last}": "eth7" for last in (1, 2, 3)}


def test_name_servers_and_time_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    servers = frozenset({IPv4Address("10.0.0.53"), IPv4Address("10.0.0.123")})
    monkeypatch.setattr(module, "used_addresses", lambda: servers)
    assert host_addresses(()).servers == servers
