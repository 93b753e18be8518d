"""The neighbour table, in network namespaces of its own and as bytes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from ipaddress import IPv4Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kernel.conftest import Host
from wifimgrd.kernel._messages import attribute
from wifimgrd.kernel.neighbours import UNANSWERED, Neighbour, State, neighbour_in, neighbour_of

ADDRESS = IPv4Address("192.168.7.20")
READ = """
import json, sys
from wifimgrd.kernel.neighbours import neighbour_of
found = neighbour_of("wlan7", sys.argv[1])
print(json.dumps(found and [int(found.state), found.confirmed_s, found.changed_s, str(found.address)]))
"""
SEND = """
import socket, sys
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
    one.sendto(b"x", (sys.argv[1], 9))
"""


def header(state: int = State.REACHABLE, family: int = 2) -> bytes:
    return (
        bytes([family, 0, 0, 0]) + (7).to_bytes(4, sys.byteorder) + state.to_bytes(2, sys.byteorder) + b"\0\1"
    )


def times(*ticks: int) -> bytes:
    return attribute(3, b"".join(one.to_bytes(4, sys.byteorder) for one in ticks))


def test_an_entry_is_read_with_its_times() -> None:
    body = header(State.DELAY) + attribute(1, ADDRESS.packed) + times(1250, 3, 475, 0)
    assert neighbour_in(body) == Neighbour(7, ADDRESS, State.DELAY, 12.5, 4.75)


def test_an_entry_without_times_has_none() -> None:
    expected = Neighbour(7, ADDRESS, State.REACHABLE)
    assert neighbour_in(header() + attribute(1, ADDRESS.packed)) == expected
    assert neighbour_in(header() + attribute(1, ADDRESS.packed) + times(1, 2, 3)) == expected


def test_what_is_no_entry_of_ipv4_is_left_out() -> None:
    assert neighbour_in(header()[:-1]) is None
    assert neighbour_in(header(family=10)) is None


@given(st.binary(max_size=120))
def test_any_bytes_are_an_entry_or_none(data: bytes) -> None:
    for body in (data, header(*data[:1]) + data):
        found = neighbour_in(body)
        assert found is None or found.confirmed_s is None or found.confirmed_s >= 0


def test_an_interface_that_is_not_there_and_no_address_have_no_neighbour() -> None:
    assert neighbour_of("none0", str(ADDRESS)) is None
    assert neighbour_of("lo", "not an address") is None


@pytest.fixture
def camera(host: Host) -> Iterator[Host]:
    """The namespace of a camera at the end of a link, `wlan7` of the host."""
    camera = Host(f"{host.name}c")
    subprocess.run(["ip", "netns", "add", camera.name], check=True)
    host("ip", "link", "add", "wlan7", "type", "veth", "peer", "name", "ap0", "netns", camera.name)
    host("ip", "address", "add", "192.168.7.10/24", "dev", "wlan7")
    host("ip", "link", "set", "wlan7", "up")
    camera("ip", "address", "add", f"{ADDRESS}/24", "dev", "ap0")
    camera("ip", "link", "set", "ap0", "up")
    yield camera
    subprocess.run(["ip", "netns", "del", camera.name], check=True)


def sent(host: Host, address: str) -> Neighbour | None:
    """The entry after something was sent to an address, and the camera has had time to answer."""
    host(sys.executable, "-c", SEND, address)
    return read(host, address)


def read(host: Host, address: str) -> Neighbour | None:
    found = json.loads(host(sys.executable, "-c", READ, address))
    return found and Neighbour(0, IPv4Address(found[3]), State(found[0]), found[1], found[2])


def test_a_host_that_was_asked_by_nobody_has_no_entry(host: Host, camera: Host) -> None:
    assert read(host, str(ADDRESS)) is None


def test_a_host_that_answers_is_confirmed_now(host: Host, camera: Host) -> None:
    found = sent(host, str(ADDRESS))
    assert found is not None
    assert (found.address, found.state) == (ADDRESS, State.REACHABLE)
    assert found.confirmed_s is not None
    assert found.confirmed_s < 10


def test_a_host_that_does_not_answer_is_being_asked(host: Host, camera: Host) -> None:
    found = sent(host, "192.168.7.99")
    assert found is not None
    assert found.state & UNANSWERED
    assert not found.is_known


def test_a_host_that_no_longer_answers_was_confirmed_before(host: Host, camera: Host) -> None:
    assert sent(host, str(ADDRESS))
    camera("ip", "link", "set", "ap0", "arp", "off")
    camera("ip", "neighbour", "flush", "all")
    host("ip", "neighbour", "change", str(ADDRESS), "dev", "wlan7", "nud", "stale")
    found = sent(host, str(ADDRESS))
    assert found is not None
    assert found.state in (State.STALE, State.DELAY, State.PROBE)
    assert found.changed_s is not None
    assert found.confirmed_s is not None
    assert found.confirmed_s >= found.changed_s
