"""What a socket to a camera speaks."""

from __future__ import annotations

from enum import StrEnum


class SocketKind(StrEnum):
    """The transport."""

    TCP = "tcp"
    UDP = "udp"
