"""The time line of a connect, drawn from what was captured."""

from __future__ import annotations

import struct

from dbus_next.constants import MessageType
from dbus_next.message import Message
from dbus_next.signature import Variant

from benchmarks.lab.time_line import Cost, Names, costs_drawn, drawn, of_bus, of_netlink, packets

NAMES = Names({"": "wifimgrd", "org.wifimgrd1.Net": "wifimgrd-net"}, {77: "nm"}, 28)
"""The library writes no sender: the bus adds it."""


def pcap(*found: tuple[float, bytes]) -> bytes:
    data = struct.pack("=IHHIIII", 0xA1B2C3D4, 2, 4, 0, 0, 1 << 16, 231)
    for time_s, packet in found:
        seconds = int(time_s)
        microseconds = round((time_s - seconds) * 1e6)
        data += struct.pack("=IIII", seconds, microseconds, len(packet), len(packet)) + packet
    return data


def bytes_of(message: Message, serial: int) -> bytes:
    message.serial = serial
    return bytes(message._marshall())  # type: ignore[no-untyped-call]


def netlink(
    protocol: int, *messages: tuple[int, bytes], port: int = 77, flags: int = 1, sequence: int = 1
) -> bytes:
    data = struct.pack(">14xH", protocol)
    for kind, body in messages:
        data += struct.pack("=IHHII", 16 + len(body), kind, flags, sequence, port) + body
    return data


def test_a_reply_says_how_long_it_took_and_an_incomplete_packet_is_left_out() -> None:
    call = Message("org.wifimgrd1.Net", "/net", "org.wifimgrd1.Net", "Apply")
    reply = Message(message_type=MessageType.METHOD_RETURN, reply_serial=9)
    captured = pcap((10.0, bytes_of(call, 9)), (10.0125, bytes_of(reply, 4)), (10.1, bytes_of(reply, 5)))[:-1]
    first, second = of_bus(packets(captured), NAMES)
    assert (first.sender, first.receiver, first.what) == ("wifimgrd", "wifimgrd-net", "Apply")
    assert second.what == "reply to Apply after 12.5 ms"


def test_changed_properties_are_shown_and_secrets_are_not() -> None:
    changed = {"State": Variant("s", "associating"), "Psk": Variant("s", "camera-pass-1")}
    signal = Message(
        path="/1",
        interface="org.freedesktop.DBus.Properties",
        member="PropertiesChanged",
        message_type=MessageType.SIGNAL,
        signature="sa{sv}as",
        body=["fi.w1.wpa_supplicant1.Interface", changed, []],
    )
    [event] = of_bus([(1.0, bytes_of(signal, 1))], NAMES)
    assert event.what == "* State=associating, Psk"


def test_the_arguments_of_calls_are_not_shown() -> None:
    call = Message(
        "org.wifimgrd1.Net",
        "/net",
        "org.wifimgrd1.Net",
        "AddNetwork",
        signature="ss",
        body=["wlan0", "camera-pass-1"],
    )
    [event] = of_bus([(1.0, bytes_of(call, 1))], NAMES)
    assert event.what == "AddNetwork"


def test_netlink_names_what_it_carries_and_who_sends_it() -> None:
    asked = netlink(0, (26, b"\0" * 12), port=0, sequence=5)
    answer = netlink(0, (24, b"\0" * 12), (3, b""), flags=2, sequence=5)
    told = netlink(0, (20, b"\0" * 8), port=0, flags=0)
    batch = netlink(12, (16, b""), (0x0A0C, b""), (0x0A0C, b""), (17, b""))
    scan = netlink(16, (28, b"\x21\0\0\0"))
    events = of_netlink([(1, asked), (1, answer), (2, told), (2.1, told), (3, batch), (4, scan)], NAMES)
    assert [(one.sender, one.receiver, one.what) for one in events] == [
        ("nm", "kernel", "route GETROUTE"),
        ("kernel", "nm", "route NEWROUTE, end"),
        ("kernel", "", "route NEWADDR"),
        ("nm", "kernel", "nft batch, 2 x NEWSETELEM, end"),
        ("nm", "kernel", "nl80211 TRIGGER_SCAN"),
    ]


def test_requests_without_a_pause_are_one_line() -> None:
    rules, links = netlink(0, (34, b"\0" * 12)), netlink(0, (18, b"\0" * 16))
    answer = netlink(0, (3, b""), flags=2)
    captured = [
        (10.001, rules),
        (10.0015, answer),
        (10.002, rules + b"\0"),
        (10.0025, links),
        (10.2, links + b"\0"),
    ]
    assert drawn(of_netlink(captured, NAMES), 10.0, 11.0).splitlines() == [
        "     1.0   +1.0  nm -> kernel  2 x route GETRULE; route GETLINK (3 in 1.5 ms)",
        "   200.0 +197.5  nm -> kernel  route GETLINK",
    ]


def test_a_file_of_the_next_generation_is_read_too() -> None:
    header = struct.pack("=4sIIHHqI", b"\n\r\r\n", 28, 0x1A2B3C4D, 1, 0, -1, 28)
    upper, lower = divmod(10_500_000, 1 << 32)
    packet = struct.pack("=IIIIIII4sI", 6, 36, 0, upper, lower, 3, 3, b"abc\0", 36)
    assert list(packets(header + packet + packet[:-1])) == [(10.5, b"abc")]


def test_the_time_line_begins_with_the_call_and_marks_the_reply() -> None:
    call = Message("org.wifimgrd1.Net", "/net", "org.wifimgrd1.Net", "Apply")
    packet = bytes_of(call, 9)
    text = drawn(of_bus([(9.0, packet), (10.002, packet), (10.03, packet)], NAMES), 10.0, 10.02)
    assert text.splitlines() == [
        "     2.0   +2.0  wifimgrd -> wifimgrd-net  Apply",
        "------ the client has its reply, 20.0 ms",
        "    30.0  +28.0  wifimgrd -> wifimgrd-net  Apply",
    ]


def test_costs_are_drawn_with_the_most_expensive_process_first() -> None:
    lines = costs_drawn([Cost("a", 0.001, 2), Cost("b", 0.02, 4), Cost("idle", 0, 0)]).splitlines()
    assert [line.split() for line in lines[1:]] == [["b", "20.0", "4.0"], ["a", "1.0", "2.0"]]
