"""The names of the camera process on the message bus, for it and for the daemon."""

from __future__ import annotations

from typing import Final

BUS_NAME: Final = "org.wifimgrd1.Cameras"
"""The bus name of a process of its own."""
PATH: Final = "/org/wifimgrd1/cameras"
INTERFACE: Final = "org.wifimgrd1.Cameras"
GOPRO: Final = "gopro"
THETA: Final = "theta"
BEACON: Final = "beacon"
"""The protocols: how a camera is woken."""
READY: Final = "ready"
OFF: Final = "off"
ABSENT: Final = "absent"
"""The states of Bluetooth on this host."""
ASLEEP: Final = "asleep"
AWAKE: Final = "awake"
"""What an advertisement says of the camera's power; empty where it says nothing."""
LONGEST_SEARCH_S: Final = 60
LONGEST_WAKE_S: Final = 300
LARGEST_BEACON: Final = 26
"""Bytes of manufacturer data that fit into an advertisement, the company's two included, beside the flags."""
MOST_TARGETS: Final = 32
