"""What the kernel reports of a host's network, in a namespace."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from ipaddress import IPv4Address, IPv4Network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kernel.conftest import Host
from wifimgrd.kernel._messages import Message, attribute
from wifimgrd.kernel.addresses import Address
from wifimgrd.kernel.events import Event, NetworkEvents, Settings, Topic, event_in
from wifimgrd.kernel.links import Link, index_of
from wifimgrd.kernel.routes import Route, host_network
from wifimgrd.kernel.rtnetlink import Action, Change, carry_out
from wifimgrd.kernel.rules import Rule

ALL = Topic.LINKS | Topic.ADDRESSES | Topic.ROUTES | Topic.RULES | Topic.SETTINGS
PATIENCE_S = 20.0
Reported = asyncio.Queue[Event | str]


@asynccontextmanager
async def reported_in(host: Host, topics: Topic) -> AsyncIterator[Reported]:
    reported: Reported = asyncio.Queue()
    events = NetworkEvents(topics, reported.put_nowait, lambda: reported.put_nowait("overrun"))
    with host.inside():
        events.open()
    try:
        yield reported
    finally:
        events.close()


async def until(reported: Reported, wanted: Event | str | Callable[[Event], bool]) -> list[Event | str]:
    """What is reported until then."""
    seen: list[Event | str] = []
    async with asyncio.timeout(PATIENCE_S):
        while True:
            seen.append(one := await reported.get())
            if one == wanted or (callable(wanted) and isinstance(one, Event) and wanted(one)):
                return seen


async def test_each_kind_of_change_is_reported(host: Host) -> None:
    async with reported_in(host, ALL) as reported:
        host("ip", "link", "add", "eth7", "type", "bridge")
        with host.inside():
            index = index_of("eth7")
        await until(reported, Event(Link("eth7", index)))
        host("ip", "link", "set", "eth7", "name", "eth8")
        await until(reported, Event(Link("eth8", index)))
        host("ip", "link", "set", "eth8", "up")
        host("ip", "address", "add", "192.168.7.10/24", "dev", "eth8")
        address = Address(index, IPv4Address("192.168.7.10"), 24)
        await until(reported, Event(address))
        own = IPv4Address("192.168.7.10")
        network = Route(IPv4Network("192.168.7.0/24"), index, protocol=2, source=own)
        await until(reported, Event(network))
        host("ip", "rule", "add", "iif", "eth8", "fwmark", "0x77490007", "lookup", "55", "preference", "7748")
        await until(reported, Event(Rule(7748, 0x77490007, "eth8", 55)))
        host("ip", "rule", "del", "preference", "7748")
        await until(reported, Event(Rule(7748, 0x77490007, "eth8", 55), is_gone=True))
        host("sysctl", "-q", "-w", "net.ipv4.conf.eth8.rp_filter=2")
        await until(reported, Event(Settings(index)))
        host("ip", "address", "del", "192.168.7.10/24", "dev", "eth8")
        seen = await until(reported, Event(network, is_gone=True))
        assert Event(address, is_gone=True) in seen
        host("ip", "link", "del", "eth8")
        await until(reported, Event(Link("eth8", index), is_gone=True))


async def test_what_nobody_has_subscribed_to_is_not_reported(host: Host) -> None:
    async with reported_in(host, Topic.LINKS) as reported:
        host("ip", "rule", "add", "lookup", "55", "preference", "7748")
        host("ip", "address", "add", "192.168.7.10/32", "dev", "lo")
        host("ip", "link", "add", "eth7", "type", "bridge")
        seen = await until(reported, lambda event: getattr(event.entry, "name", "") == "eth7")
    assert all(isinstance(one, Event) and isinstance(one.entry, Link) for one in seen)


async def test_lost_messages_are_reported(host: Host) -> None:
    host("ip", "link", "set", "lo", "up")
    async with reported_in(host, Topic.ROUTES) as reported:
        routes = [Route(host_network(IPv4Address(0x0A000000 + n)), 1) for n in range(1, 5000)]
        with host.inside():  # nothing is read meanwhile
            carry_out(Change(Action.ADD, one) for one in routes)
        seen = await until(reported, "overrun")
        async with asyncio.timeout(PATIENCE_S):
            while Event(routes[0], is_gone=True) not in seen:  # it is lost, too, until the others are read
                with host.inside():
                    carry_out(Change(action, routes[0]) for action in (Action.REPLACE, Action.DELETE))
                await asyncio.sleep(0)
                seen = [reported.get_nowait() for _ in range(reported.qsize())]


def link(*attributes: bytes, family: int = socket.AF_UNSPEC) -> Message:
    return Message(16, struct.pack("=BxHiII", family, 1, 7, 0, 0) + b"".join(attributes), 0)


def test_ports_of_bridges_are_no_changes_of_an_interface() -> None:
    name = attribute(3, "wlan0")
    assert event_in(link(name)) == Event(Link("wlan0", 7))
    assert event_in(link(name, family=socket.AF_BRIDGE)) is None


def reported(*attributes: bytes) -> Link:
    event = event_in(link(attribute(3, "wlan0"), *attributes))
    assert event is not None
    assert isinstance(event.entry, Link)
    return event.entry


def test_an_interface_is_in_use_while_it_is_associated() -> None:
    down, dormant, up = (attribute(16, bytes([state])) for state in (2, 5, 6))
    assert reported(down).use != reported(dormant).use == reported(up).use
    assert reported(up, attribute(23, bytes(16))).use == reported(up).use
    assert reported(up).identity == reported(down).identity


def test_an_interface_is_known_by_its_permanent_address_if_it_has_one() -> None:
    one, other = (attribute(1, bytes((2, 0, 0, 0, 0, last))) for last in (1, 2))
    permanent = attribute(54, bytes((2, 0, 0, 0, 0, 3)))
    assert reported(one).identity != reported(other).identity
    assert reported(one, permanent).identity == reported(other, permanent).identity


@pytest.mark.parametrize("kind", [16, 20, 24, 32, 80])
def test_a_message_that_is_cut_reports_nothing(kind: int) -> None:
    assert event_in(Message(kind, b"\2\0", 0)) is None


@given(st.sampled_from([16, 17, 20, 21, 24, 25, 32, 33, 80, 81]), st.binary(max_size=80))
def test_any_bytes_are_an_event_or_none(kind: int, body: bytes) -> None:
    assert isinstance(event_in(Message(kind, body, 0)), Event | None)
