"""The names of the camera process on the message bus, for it and for the daemon."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

GOPRO: Final = "gopro"
THETA: Final = "theta"
BEACON: Final = "beacon"
"""The protocols: how a camera is woken."""
PROTOCOLS: Final[Mapping[str, str]] = MappingProxyType(
    {"fea6": GOPRO, "8af982b1-f1ff-4d49-83f0-a56db4c431a7": THETA}
)
"""The protocol of the cameras with a service, by its UUID as the catalog has it."""
READY: Final = "ready"
OFF: Final = "off"
ABSENT: Final = "absent"
"""The states of Bluetooth on this host."""
NO_ADAPTER: Final = "this host has no Bluetooth adapter"
BLOCKED: Final = "Bluetooth is switched off by rfkill: rfkill unblock bluetooth"
NOT_INSTALLED: Final = "BlueZ is not installed: apt install bluez"
NOT_RUNNING: Final = "bluetoothd is not running: systemctl start bluetooth"
"""Why it is not ready, as the process and the daemon say it."""
ASLEEP: Final = "asleep"
AWAKE: Final = "awake"
"""The power state in a camera's advertisement; empty if the advertisement has none."""
LONGEST_SEARCH_S: Final = 60
LONGEST_WAKE_S: Final = 300
LARGEST_BEACON: Final = 26
"""Bytes of manufacturer data that fit into an advertisement, the company's two included, beside the flags."""
MOST_TARGETS: Final = 32
MOST_CAMERAS: Final = 256
"""Connected cameras that are attached."""
WANTED_S: Final = 10.0
"""How long the process waits for a socket that it wants."""
MOST_WANTED: Final = 256
"""Sockets that it waits for at a time."""
MOST_WANTED_OF_ONE: Final = 4
"""To one camera."""
PORT_REFUSED: Final = "port-refused"
"""A socket is refused with it if the camera refuses connections at that port, beside the public codes."""
