"""Send log events to the journal, with fields that can be searched for.

The native protocol: https://systemd.io/JOURNAL_NATIVE_PROTOCOL/
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import socket
import struct
import sys
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from wifimgrd.runtime._message_ids import known_message

SOCKET: Final = "/run/systemd/journal/socket"
PRIORITIES: Final = {"critical": 2, "error": 3, "warning": 4, "info": 6, "debug": 7}
"""The priorities of log levels, as in syslog(3)."""

_FIELDS: Final = {
    "device": "WIFIMGRD_DEVICE",
    "group": "WIFIMGRD_GROUP",
    "interface": "WIFIMGRD_INTERFACE",
    "code": "WIFIMGRD_CODE",
}
"""The fields of an event that can be searched for; SSIDs are left out on purpose."""
_SEND_BUFFER: Final = 8 * 1024 * 1024
_LATER_S: Final = 0.25
"""Entries that are not urgent are collected for this long: each one sent wakes up the journal's process."""
_SEALS: Final = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SEAL


def is_journal_at(stream: int) -> bool:
    """Whether a file descriptor is connected to the journal: JOURNAL_STREAM of systemd.exec(5)."""
    try:
        device, inode = map(int, os.environ["JOURNAL_STREAM"].split(":"))
        there = os.fstat(stream)
    except (KeyError, ValueError, OSError):
        return False
    return (there.st_dev, there.st_ino) == (device, inode)


def record_of(event: Mapping[str, object], line: str) -> bytes:
    """A journal entry; `line` is its text where the event is none of the known messages."""
    fields = {
        "PRIORITY": str(PRIORITIES.get(str(event.get("level")), 6)),
        "SYSLOG_IDENTIFIER": Path(sys.argv[0]).name or "wifimgrd",
        "WIFIMGRD_EVENT": str(event.get("event", "")),
    }
    fields |= {name: str(event[key]) for key, name in _FIELDS.items() if event.get(key) is not None}
    message = known_message(event)
    if message is not None:
        line = message.text.format_map(event)
        if "repeated" in event:
            line += " (repeated={repeated} last={last})".format_map(event)
        fields |= {"MESSAGE_ID": message.identity, "WIFIMGRD_OPERATION": message.operation}
        if event.get("reason"):
            fields["WIFIMGRD_REASON"] = str(event["reason"])
    return b"".join(_field(name, value) for name, value in {"MESSAGE": line, **fields}.items())


def _field(name: str, value: str) -> bytes:
    data = value.encode("utf-8", "replace")
    if b"\n" not in data:
        return name.encode() + b"=" + data + b"\n"
    return name.encode() + b"\n" + struct.pack("<Q", len(data)) + data + b"\n"


class Journal:
    """Sends entries, in order. An entry for which the journal has no room is dropped: logging never blocks.

    In an event loop, entries up to `info` are sent together, `_LATER_S` later.
    """

    def __init__(self, address: str = SOCKET) -> None:
        self._address = address
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER)
        self._socket.setblocking(False)
        self._unsent: deque[bytes] = deque()

    def send(self, record: bytes) -> None:
        """Send one entry now, after the pending ones."""
        self._unsent.append(record)
        self.flush()

    def send_soon(self, record: bytes) -> None:
        """Send one entry within `_LATER_S`."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            self.send(record)
            return
        if not self._unsent:
            loop.call_later(_LATER_S, self.flush)
        self._unsent.append(record)

    def flush(self) -> None:
        """Send the pending entries."""
        with suppress(IndexError):
            while True:
                self._send(self._unsent.popleft())

    def close(self) -> None:
        """Send the pending entries and close."""
        self.flush()
        self._socket.close()

    def _send(self, record: bytes) -> None:
        """Send one entry, a large one as a sealed file."""
        try:
            try:
                self._socket.sendto(record, self._address)
            except OSError as error:
                if isinstance(error, BlockingIOError):
                    return
                self._send_file(record)
        except OSError:
            return

    def _send_file(self, record: bytes) -> None:
        file = os.memfd_create("journal-entry", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            with os.fdopen(os.dup(file), "wb") as writer:
                writer.write(record)
            fcntl.fcntl(file, fcntl.F_ADD_SEALS, _SEALS)
            rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, struct.pack("i", file))]
            self._socket.sendmsg([], rights, 0, self._address)
        finally:
            os.close(file)

    # The methods that structlog calls, by the event's level.
    msg = debug = info = send_soon
    warning = error = critical = send
