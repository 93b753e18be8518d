"""Entries of the journal: the native protocol on a real socket, and the messages that have an identity."""

from __future__ import annotations

import os
import re
import socket
import string
import struct
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from wifimgrd.runtime._journal import Journal, record_of
from wifimgrd.runtime._message_ids import MESSAGES, known_message

CATALOG = Path(__file__).parents[2] / "systemd" / "wifimgrd.catalog"


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    """What sends there."""
    with closing(Journal(str(tmp_path / "socket"))) as sending:
        yield sending


@pytest.fixture
def receiver(tmp_path: Path) -> Iterator[socket.socket]:
    """journald's socket."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(str(tmp_path / "socket"))
        listening.settimeout(5)
        yield listening


def fields_of(record: bytes) -> dict[str, str]:
    """The protocol, read back."""
    fields: dict[str, str] = {}
    while record:
        line, _, rest = record.partition(b"\n")
        name, equals, value = line.partition(b"=")
        if equals:
            record = rest
        else:
            (length,) = struct.unpack_from("<Q", rest)
            value, record = rest[8 : 8 + length], rest[9 + length :]
        fields[name.decode()] = value.decode()
    return fields


async def test_entries_keep_their_order_whether_they_wait_or_not(
    receiver: socket.socket, journal: Journal
) -> None:
    journal.info(b"first")
    receiver.setblocking(False)
    with pytest.raises(BlockingIOError):
        receiver.recv(100)
    journal.warning(b"second")
    journal.info(b"third")
    assert [receiver.recv(100) for _ in range(2)] == [b"first", b"second"]
    journal.flush()
    assert receiver.recv(100) == b"third"


def test_an_event_becomes_fields_that_can_be_searched_for(receiver: socket.socket, journal: Journal) -> None:
    event = {
        "level": "warning",
        "event": "connection_failed",
        "device": 3,
        "device_name": "Nose",
        "interface": "wlan1",
        "code": "authentication-failed",
        "reason": "the password was refused",
    }
    journal.warning(record_of(event, "unused"))
    fields = fields_of(receiver.recv(65536))
    assert fields.pop("SYSLOG_IDENTIFIER")
    assert fields == {
        "MESSAGE": '"Nose" (device 3): connecting through wlan1 failed: '
        "the password was refused (authentication-failed)",
        "MESSAGE_ID": MESSAGES["connection_failed", "authentication-failed"].identity,
        "PRIORITY": "4",
        "WIFIMGRD_EVENT": "connection_failed",
        "WIFIMGRD_OPERATION": "connect",
        "WIFIMGRD_DEVICE": "3",
        "WIFIMGRD_INTERFACE": "wlan1",
        "WIFIMGRD_CODE": "authentication-failed",
        "WIFIMGRD_REASON": "the password was refused",
    }


def test_a_text_of_several_lines_stays_one_entry(receiver: socket.socket, journal: Journal) -> None:
    journal.error(record_of({"event": "x", "level": "error"}, "one\ntwo=2\n"))
    assert fields_of(receiver.recv(65536))["MESSAGE"] == "one\ntwo=2\n"


def test_an_entry_too_large_for_a_datagram_goes_as_a_sealed_file(
    receiver: socket.socket, journal: Journal
) -> None:
    text = "x" * 20_000_000
    journal.info(record_of({"event": "x"}, text))
    data, ancillary, *_ = receiver.recvmsg(65536, socket.CMSG_SPACE(4))
    assert data == b""
    file = struct.unpack("i", ancillary[0][2])[0]
    with os.fdopen(file, "rb") as sealed:
        sealed.seek(0)
        assert fields_of(sealed.read())["MESSAGE"] == text


def test_nobody_waits_for_a_journal_that_is_full_or_away(receiver: socket.socket, journal: Journal) -> None:
    for _ in range(2000):
        journal.info(record_of({"event": "x"}, "y" * 1000))
    receiver.close()
    journal.info(record_of({"event": "x"}, "y"))


def test_a_namesake_without_the_fields_is_no_known_message() -> None:
    assert known_message({"event": "link_interrupted", "reason": "deauthenticated"}) is None


def test_bluetooth_has_messages_that_the_cause_tells_apart() -> None:
    event = {
        "device": 3,
        "device_name": "Nose",
        "reason": "the camera is out of range",
        "code": "wake-failed",
    }
    missed = known_message({"event": "wake_failed", **event})
    unpaired = known_message({"event": "wake_failed", **event, "code": "not-paired"})
    assert missed is not None
    assert unpaired is not None
    assert missed.identity != unpaired.identity
    assert missed.text.format_map(event) == (
        '"Nose" (device 3): the camera did not wake: the camera is out of range (wake-failed)'
    )
    off = {"event": "bluetooth_changed", "state": "off", "reason": "blocked by rfkill"}
    message = known_message(off)
    assert message is not None
    assert message.text.format_map(off) == "Bluetooth is off: blocked by rfkill"


def test_the_catalog_explains_each_message_once_and_nothing_else() -> None:
    explained = re.findall(r"^-- ([0-9a-f]{32})$", CATALOG.read_text(), re.MULTILINE)
    assert sorted(explained) == sorted(message.identity for message in MESSAGES.values())
    assert len(set(explained)) == len(explained)


def test_no_field_is_a_networks_name() -> None:
    named = {
        name
        for message in MESSAGES.values()
        for _, name, _, _ in string.Formatter().parse(message.text)
        if name
    }
    assert "ssid" not in named
    assert "WIFIMGRD_SSID" not in CATALOG.read_text()
    fields = fields_of(record_of({"event": "connected", "ssid": "SECRET-NAME"}, "connected"))
    assert "SECRET-NAME" not in fields.values()
