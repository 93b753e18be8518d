"""A sender of commands at full speed, as a process: `python -m tests.mqtt.flood PORT TOPIC BYTES`."""

from __future__ import annotations

import socket
import sys

AT_ONCE = 256 * 1024
"""Bytes that are passed to the kernel by one call."""


def number(value: int) -> bytes:
    """A Variable Byte Integer (MQTT 5, 1.5.5)."""
    data = bytearray()
    while value > 0x7F:
        data.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*data, value])


def flood(port: int, topic: str, size: int) -> None:
    """Send commands, with QoS 0, for which a sender waits for nothing, until the process is ended."""
    command = b'{"command":"connect","options":{"wait":' + b" " * (size - 44) + b"true}}"
    content = len(topic).to_bytes(2) + topic.encode() + command
    packet = b"\x30" + number(len(content)) + content
    with socket.create_connection(("127.0.0.1", port)) as opened:
        opened.sendall(b"\x10\x0c\x00\x04MQTT\x04\x02\x00\x00\x00\x00")
        opened.recv(4)
        sys.stdout.write("sending\n")
        sys.stdout.flush()
        packets = packet * max(1, AT_ONCE // len(packet))
        while True:
            opened.sendall(packets)


if __name__ == "__main__":
    flood(int(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
