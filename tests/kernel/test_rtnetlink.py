"""Changes of interfaces, addresses, routes and rules, in a network namespace; and what the kernel answers."""

from __future__ import annotations

import errno
import socket
import struct
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import IPv4Address, IPv4Network

import pytest

from tests.kernel.conftest import Host
from wifimgrd.kernel import rtnetlink
from wifimgrd.kernel._messages import DONE, ERROR, HEADER, INTERRUPTED, time_limit
from wifimgrd.kernel.addresses import Address, first_address, list_addresses
from wifimgrd.kernel.links import Link, index_of, name_of
from wifimgrd.kernel.routes import NEW_ROUTE, Route, host_network, list_routes
from wifimgrd.kernel.rtnetlink import (
    Action,
    Change,
    Entry,
    KernelError,
    carry_out,
    listed,
    looked_up,
    together,
)
from wifimgrd.kernel.rules import Rule

TO = IPv4Network("192.168.42.1/32")


@pytest.fixture
def wired(host: Host) -> Host:
    """With an interface that is up."""
    host("ip", "link", "add", "eth7", "type", "bridge")
    host("ip", "link", "set", "eth7", "up")
    return host


def deleted(*entries: Entry) -> Iterator[Change]:
    return (Change(Action.DELETE, one) for one in entries)


def test_what_is_gone_is_deleted_without_complaint(wired: Host) -> None:
    with wired.inside():
        index = index_of("eth7")
        carry_out(
            deleted(
                Route(TO, index),
                Route(TO, index, table=0x77490007),
                Route(TO, 4711),
                Rule(7749, 0x77490007, table=0x77490007),
                Address(index, IPv4Address("10.77.0.254")),
                Address(4711, IPv4Address("10.77.0.254")),
                Link("wifimgrd0"),
            )
        )


@pytest.mark.parametrize("entry", [Route(TO, 2), Rule(7749, 0x77490007, table=5), Address(2, IPv4Address(9))])
def test_what_exists_is_not_added_again(wired: Host, entry: Entry) -> None:
    with wired.inside():
        assert index_of("eth7") == 2
        carry_out([Change(Action.ADD, entry)])
        with pytest.raises(KernelError, match="File exists") as refused:
            carry_out([Change(Action.ADD, entry)])
        assert refused.value.errno == errno.EEXIST
        assert str(refused.value).startswith(f"add {str(entry).split()[0]} ")
        carry_out(deleted(entry))


def test_those_after_a_refused_one_are_made_and_the_kernels_words_are_kept(wired: Host) -> None:
    wired("ip", "link", "add", "down7", "type", "bridge")
    with wired.inside():
        up, down = index_of("eth7"), index_of("down7")
        first, last = IPv4Network("10.9.0.1"), IPv4Network("10.9.0.2")
        refused = [Change(Action.REPLACE, Route(TO, down)), Change(Action.ADD, Route(TO, 4711))]
        made = [Change(Action.ADD, Route(to, up)) for to in (first, last)]
        with pytest.raises(KernelError) as caught:
            carry_out([made[0], *refused, made[1]])
        assert {one.destination for one in list_routes() if one.table == 254} == {first, last}
    assert caught.value.errno == errno.ENETDOWN
    one, other = str(caught.value).split("; ")
    assert one == "replace route 192.168.42.1 dev down7: Network is down (Device for nexthop is not up)"
    assert other.startswith("add route 192.168.42.1 dev 4711: ")


def test_many_changes_are_made_in_their_order(wired: Host) -> None:
    with wired.inside():
        index = index_of("eth7")
        routes = [Route(host_network(IPv4Address(0x0A090000 + n)), index) for n in range(1, 1000)]
        twice = [change for one in routes for change in (Change(Action.ADD, one), *deleted(one))]
        carry_out([*twice, *(Change(Action.ADD, one) for one in routes)])
        assert set(routes) <= set(list_routes())
        with pytest.raises(KernelError) as refused:
            carry_out(Change(Action.ADD, one) for one in routes)
        assert str(refused.value).count("File exists") == len(routes)


def test_none_needs_no_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "socket", None)
    carry_out(())


def test_an_interface_is_added_set_up_and_down_and_deleted(host: Host) -> None:
    def flags() -> str:
        return host("ip", "-o", "link", "show", "wifimgrd0").partition("<")[2].partition(">")[0]

    with host.inside():
        carry_out([Change(Action.ADD, Link("wifimgrd0", kind="bridge"))])
        index = index_of("wifimgrd0")
        assert name_of(index) == "wifimgrd0"
        carry_out([Change(Action.SET, Link("wifimgrd0", is_up=True))])
        assert "UP" in flags().split(",")
        carry_out([Change(Action.SET, Link("another name", index, is_up=False))])
        assert "UP" not in flags().split(",")
        with pytest.raises(KernelError, match="set interface wifimgrd1 up: No such device"):
            carry_out([Change(Action.SET, Link("wifimgrd1", is_up=True))])
        with pytest.raises(KernelError, match="not supported"):
            carry_out([Change(Action.ADD, Link("wifimgrd1", kind="no such kind"))])
        carry_out(deleted(Link("wifimgrd0")))
        assert index_of("wifimgrd0") == 0
        assert name_of(index) == ""


def test_addresses_are_those_that_were_added_and_are_deleted(wired: Host) -> None:
    wired("ip", "address", "add", "192.168.7.10/24", "brd", "+", "dev", "eth7")
    wired("ip", "address", "add", "192.168.7.11/24", "dev", "eth7")
    wired("ip", "address", "add", "10.1.0.1", "peer", "10.1.0.2/30", "dev", "eth7")
    with wired.inside():
        index = index_of("eth7")
        carry_out([Change(Action.ADD, Address(index, IPv4Address("10.77.0.254")))])
        found = list_addresses()
        assert set(found) == {
            Address(index, IPv4Address("192.168.7.10"), 24, broadcast=IPv4Address("192.168.7.255")),
            Address(index, IPv4Address("192.168.7.11"), 24),
            Address(index, IPv4Address("10.1.0.1"), 30, IPv4Address("10.1.0.2")),
            Address(index, IPv4Address("10.77.0.254"), 32),
        }
        assert first_address(index) == IPv4Address("192.168.7.10")
        assert first_address(index + 1) is None
        [peer] = [one for one in found if one.peer]
        assert peer.network == IPv4Network("10.1.0.0/30")
        assert "inet 10.77.0.254/32 scope global eth7" in wired("ip", "address")
        assert list_addresses(index) == found
        assert list_addresses(index_of("lo")) == []
        assert list_addresses(0) == []  # that of an interface that is gone: to the kernel, all
        assert list_addresses(4711) == []
        carry_out(deleted(*found))  # with the first, the kernel deletes the second of its network
        assert list_addresses() == []


def test_an_address_can_be_without_a_route_to_its_network(wired: Host) -> None:
    with wired.inside():
        carry_out(
            [Change(Action.ADD, Address(index_of("eth7"), IPv4Address("192.168.7.10"), 24, is_routed=False))]
        )
    assert "noprefixroute" in wired("ip", "address")
    assert wired("ip", "route") == ""


def test_without_the_capability_nothing_is_changed(wired: Host) -> None:
    program = """
from wifimgrd.kernel.links import Link
from wifimgrd.kernel.rtnetlink import Action, Change, carry_out
carry_out([Change(Action.SET, Link("eth7", is_up=False))])
"""
    unprivileged = ("setpriv", "--bounding-set=-net_admin", "--inh-caps=-net_admin", "--")
    said = wired("sh", "-c", f"{' '.join(unprivileged)} {sys.executable} -c '{program}' 2>&1 || true")
    assert "set interface eth7 down: Operation not permitted" in said


# -- answers that this kernel does not give at will


class Kernel:
    """A socket on which the kernel answers as a test wants it."""

    def __init__(self, *answers: bytes) -> None:
        self.answers = list(answers)
        self._number = 0
        """Of the last request."""

    def send(self, request: bytes) -> None:
        assert len(request) > HEADER.size
        self._number = HEADER.unpack_from(request)[3]

    def recv(self, _: int) -> bytes:
        """An answer to the last request; of one to another request, the number is kept."""
        if not self.answers:
            raise BlockingIOError
        return self.answers.pop(0).replace(struct.pack("=I", LAST_REQUEST), struct.pack("=I", self._number))


LAST_REQUEST = 0xFACADE


def message(kind: int, body: bytes, flags: int = 0, number: int = LAST_REQUEST) -> bytes:
    return struct.pack("=IHHII", 16 + len(body), kind, flags, number, 0) + body


END = message(DONE, bytes(4))
INTERRUPTED_END = message(DONE, bytes(4), INTERRUPTED)


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> Kernel:
    kernel = Kernel()
    real = rtnetlink._connected

    @contextmanager
    def connected() -> Iterator[Kernel]:
        with real():
            yield kernel

    monkeypatch.setattr(rtnetlink, "_connected", connected)
    return kernel


def all_routes() -> list[bytes]:
    return listed(26, NEW_ROUTE, bytes(12))


def test_a_list_that_was_interrupted_is_read_again(kernel: Kernel) -> None:
    kernel.answers = [
        message(NEW_ROUTE, b"old", INTERRUPTED),
        END,
        message(NEW_ROUTE, b"old"),
        INTERRUPTED_END,
        message(NEW_ROUTE, b"new") + b"\0" + message(NEW_ROUTE, b"next"),
        message(17, b"other"),
        END,
    ]
    assert all_routes() == [b"new", b"next"]


def test_a_late_answer_to_another_request_is_passed_over(kernel: Kernel) -> None:
    late = message(NEW_ROUTE, b"late", number=1) + message(DONE, bytes(4), number=1)
    kernel.answers = [late, message(NEW_ROUTE, b"own"), END]
    assert all_routes() == [b"own"]


def test_requests_that_are_made_together_use_one_socket(wired: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[socket.socket] = []
    real = socket.socket

    class Counted(real):  # type: ignore[misc, valid-type]
        def __init__(self, *arguments: int) -> None:
            super().__init__(*arguments)
            opened.append(self)

    with wired.inside():
        index = index_of("eth7")
        monkeypatch.setattr(socket, "socket", Counted)
        with together(), together():
            carry_out([Change(Action.ADD, Route(TO, index))])
            with pytest.raises(KernelError, match="File exists"):
                carry_out([Change(Action.ADD, Route(TO, index))])
            assert TO in {one.destination for one in list_routes()}
        assert (len(opened), opened[0].fileno()) == (1, -1)
        list_routes()
    assert len(opened) == 2


def test_a_list_that_always_changes_is_an_error(kernel: Kernel) -> None:
    kernel.answers = [INTERRUPTED_END] * 100
    with pytest.raises(KernelError, match="change while they are listed"):
        all_routes()


@pytest.mark.parametrize("kind", [DONE, ERROR])
def test_a_list_that_ends_with_an_error_is_none(kernel: Kernel, kind: int) -> None:
    code = struct.pack("=i", -errno.ENOBUFS)
    kernel.answers = [message(NEW_ROUTE, b"some"), message(kind, code)]
    with pytest.raises(KernelError, match="No buffer space"):
        all_routes()


def test_a_time_limit_has_the_size_that_its_option_takes() -> None:
    assert time_limit(socket.SO_RCVTIMEO, 5) == struct.pack("@ll", 5, 0)
    assert time_limit(66, 5) == struct.pack("=qq", 5, 0)  # SO_RCVTIMEO_NEW


def test_a_kernel_that_does_not_answer_is_an_error(kernel: Kernel) -> None:
    for ask in (all_routes, lambda: looked_up(26, NEW_ROUTE, bytes(12)), lambda: carry_out(deleted(Rule(1)))):
        with pytest.raises(KernelError, match="does not answer within 5 s"):
            ask()


def test_what_was_asked_for_and_is_not_in_the_answer_is_an_error(kernel: Kernel) -> None:
    kernel.answers = [message(17, bytes(12)), message(ERROR, bytes(4))]
    with pytest.raises(KernelError, match="no such entry"):
        looked_up(26, NEW_ROUTE, bytes(12))


def test_a_process_without_netlink_has_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EAFNOSUPPORT, "Address family not supported by protocol")

    monkeypatch.setattr(socket, "socket", refuse)
    with pytest.raises(KernelError, match="Address family not supported"):
        all_routes()
