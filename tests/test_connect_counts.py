"""What a connect costs in counts, from what was captured."""

from __future__ import annotations

from collections import Counter

from benchmarks.lab.counts import Calls, calls_drawn, calls_in, counted, counts_drawn
from benchmarks.lab.time_line import Event, Kind


def call(caller: str, callee: str, member: str, began_s: float, ended_s: float) -> list[Event]:
    """A call and its reply."""
    return [
        Event(began_s, caller, callee, member, Kind.CALL),
        Event(ended_s, callee, caller, f"reply to {member}", Kind.REPLY, began_s),
    ]


BEGIN = call("wifimgrd", "wpa_supplicant", "SelectNetwork", 20.0, 21.0)


def round_trips(*events: list[Event]) -> int:
    return counted([*(one for some in events for one in some), *BEGIN], 0.0, 30.0).round_trips


def test_calls_one_after_another_count_each() -> None:
    first = call("wifimgrd", "wpa_supplicant", "GetAll", 1.0, 2.0)
    second = call("wifimgrd", "wifimgrd-net", "AddNetwork", 3.0, 8.0)
    within = call("wifimgrd-net", "wpa_supplicant", "AddNetwork", 4.0, 5.0)
    assert round_trips() == 0
    assert round_trips(first, second) == 2
    assert round_trips(first, second, within) == 3


def test_calls_at_the_same_time_count_once() -> None:
    first = call("wifimgrd", "wpa_supplicant", "GetAll", 1.0, 3.0)
    beside = call("wifimgrd", "wifimgrd-net", "ConfigureLink", 2.0, 4.0)
    assert round_trips(first, beside) == 1


def test_calls_that_the_join_cannot_have_waited_for_do_not_count() -> None:
    unanswered = call("wifimgrd", "systemd-network", "DescribeLink", 19.0, 25.0)
    anothers = call("wifimgrd-http", "wifimgrd", "GetAll", 1.0, 2.0)
    assert round_trips(unanswered, anothers) == 0


def test_messages_are_those_of_our_processes_without_the_client() -> None:
    events = [
        *call("client", "wifimgrd", "Connect", 0.5, 29.0),
        *call("wifimgrd", "wpa_supplicant", "GetAll", 1.0, 2.0),
        *call("systemd-network", "polkitd", "CheckAuthorization", 3.0, 4.0),
        Event(5.0, "wifimgrd", "", "* State=connected", Kind.SIGNAL),
        Event(5.0, "wpa_supplicant", "", "* State=completed", Kind.SIGNAL),
        Event(40.0, "wifimgrd", "", "* State=disconnecting", Kind.SIGNAL),
    ]
    assert counted(events, 0.0, 30.0).messages == {("wifimgrd", "wpa_supplicant"): 2, ("all", "wifimgrd"): 1}


def test_datagrams_are_those_of_our_sockets_in_both_directions() -> None:
    def datagram(sender: str, receiver: str, what: str) -> Event:
        return Event(1.0, sender, receiver, what, Kind.DATAGRAM)

    events = [
        datagram("wifimgrd-net", "kernel", "nft GETGEN"),
        datagram("kernel", "wifimgrd-net", "nft NEWGEN"),
        datagram("another socket", "kernel", "route GETADDR"),
        datagram("", "kernel", "nft batch"),
        datagram("", "kernel", "route SETLINK"),
        datagram("wpa_supplicant", "kernel", "nl80211 ASSOCIATE"),
        datagram("kernel", "", "route NEWLINK"),
    ]
    counts = counted(events, 0.0, 30.0)
    assert counts.datagrams.total() == 4
    drawn = counts_drawn([counts]).splitlines()
    assert drawn[:2] == [
        "round trips one after another, before the join begins: 0",
        "messages on the bus, ours: 0",
    ]
    assert "netlink datagrams, ours: 4" in drawn


TABLE = """\
% time     seconds  usecs/call     calls    errors syscall
------ ----------- ----------- --------- --------- ----------------
 61.40    0.004113          12       342        17 recvmsg
 20.10    0.001346           7       190           clock_gettime
  0.00    0.000000           0         3           sendmsg
------ ----------- ----------- --------- --------- ----------------
100.00    0.005459          10       535        17 total
"""


def test_a_table_of_strace_is_read_and_clocks_are_left_out() -> None:
    assert calls_in(TABLE) == {"recvmsg": 342, "clock_gettime": 190, "sendmsg": 3}
    ours = Calls({"wifimgrd": calls_in(TABLE), "dbus-daemon": Counter(recvmsg=55)})
    bare = Calls({"dbus-daemon": Counter(recvmsg=100, clock_gettime=7)})
    assert ours.total() == 400
    lines = calls_drawn([ours], [bare]).splitlines()
    assert lines[0].endswith(": 400, by the bare script 100, 4.00x")
    assert lines[1].split()[:3] == ["345", "0", "wifimgrd"]
