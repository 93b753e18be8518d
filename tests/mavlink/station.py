"""A ground station at a socket: pymavlink decodes strictly what arrives, and makes what is sent."""

from __future__ import annotations

import os
import socket
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

os.environ.setdefault("MAVLINK20", "1")

from pymavlink.dialects.v20 import common

mavlink = common
ACCEPTED, TEMPORARILY_REJECTED, DENIED, UNSUPPORTED, FAILED, IN_PROGRESS = range(6)
START, STOP = 2500, 2501


def text_of(value: str | list[int]) -> str:
    """A text field, of whichever type pymavlink gives it."""
    data = value.encode() if isinstance(value, str) else bytes(value)
    return data.partition(b"\0")[0].decode()


@dataclass
class Station:
    """One that listens at a port of its own, or sends to one."""

    port: int = 0
    """Of a bridge that listens."""
    system: int = 255
    component: int = 190
    key: bytes | None = None
    sequences: dict[int, int] = field(default_factory=dict)
    gaps: Counter[int] = field(default_factory=Counter)
    """Frames of each component that are missing by its sequence."""

    def __post_init__(self) -> None:
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        self.socket.bind(("127.0.0.1", 0))
        self.peer = ("127.0.0.1", self.port) if self.port else None
        self.mav = mavlink.MAVLink(None, srcSystem=self.system, srcComponent=self.component)
        if self.key is not None:
            self.mav.signing.secret_key = self.key
            self.mav.signing.sign_outgoing = True
            self.mav.signing.timestamp = (time.time_ns() // 1000 - 1_420_070_400_000_000) // 10

    @property
    def address(self) -> str:
        """Where a bridge sends to."""
        return f"udpout:127.0.0.1:{self.socket.getsockname()[1]}"

    def close(self) -> None:
        self.socket.close()

    def received(self) -> list[Any]:
        """The messages that have arrived; what is broken raises."""
        found: list[Any] = []
        while True:
            try:
                data, self.peer = self.socket.recvfrom(4096)
            except BlockingIOError:
                return found
            [message] = self.mav.parse_buffer(data)
            component = message.get_srcComponent()
            expected = self.sequences.get(component, message.get_seq())
            self.gaps[component] += (message.get_seq() - expected) % 256
            self.sequences[component] = (message.get_seq() + 1) % 256
            found.append(message)

    def send(self, data: bytes) -> None:
        assert self.peer is not None, "nothing has come from the bridge"
        self.socket.sendto(data, self.peer)

    def beat(self, *, armed: bool = False, kind: int = 6) -> None:
        self.send(self.mav.heartbeat_encode(kind, 8, 0x80 * armed, 0, 4).pack(self.mav))

    def packed(self, component: int, number: int, *parameters: float, system: int = 1) -> bytes:
        seven = (*parameters, 0, 0, 0, 0, 0, 0, 0)[:7]
        message = self.mav.command_long_encode(system, component, number, 0, *seven)
        return bytes(message.pack(self.mav))

    def command(self, component: int, number: int, *parameters: float, system: int = 1) -> None:
        self.send(self.packed(component, number, *parameters, system=system))

    def command_int(self, component: int, number: int, *parameters: float) -> None:
        four = (*parameters, 0, 0, 0, 0)[:4]
        message = self.mav.command_int_encode(1, component, 2, number, 0, 0, *four, 0, 0, 0.0)
        self.send(message.pack(self.mav))


def answers(messages: list[Any]) -> list[tuple[int, int, int]]:
    """The component, the command and the result of each answer."""
    return [
        (one.get_srcComponent(), one.command, one.result)
        for one in messages
        if one.get_type() == "COMMAND_ACK"
    ]


def told(messages: list[Any], kind: str) -> list[Any]:
    """The messages of a type."""
    return [one for one in messages if one.get_type() == kind]
