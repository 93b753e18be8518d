"""Services that no camera has, without I/O: no bond is made or kept with a device that offers one of these.

BlueZ makes an input device of each bonded device that offers one, at every connection, and takes its
keystrokes; other profiles make sound and network devices. No camera that is paired here offers any of these
over Bluetooth LE."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

_ASSIGNED: Final = re.compile("0000([0-9a-f]{4})-0000-1000-8000-00805f9b34fb", re.ASCII)
"""A UUID that has a number of 16 bits: Core 5.4, volume 3, part B, 2.5.1."""
_KINDS: Final[tuple[tuple[str, frozenset[int]], ...]] = (
    # Human Interface Device, over LE and BR/EDR.
    ("a keyboard or another input device", frozenset((0x1812, 0x1124))),
    # LAN access, dial-up; the three roles of PAN.
    ("a network adapter", frozenset((0x1102, 0x1103, 0x1115, 0x1116, 0x1117))),
    # Headset, A2DP and its remote control (of which BlueZ makes an input device, too), hands-free; LE Audio.
    (
        "an audio device",
        frozenset((0x1108, *range(0x110A, 0x1110), 0x1112, 0x111E, 0x111F, 0x1131))
        | frozenset((*range(0x1843, 0x1847), 0x1848, 0x1849, *range(0x184B, 0x1856))),
    ),
)
"""By what a person calls it: https://www.bluetooth.com/specifications/assigned-numbers, 3.3 and 3.4."""


def why_unfit(services: Iterable[str]) -> str:
    """Why a device that offers these services (UUIDs as BlueZ has them) is not bonded with, as a sentence;
    empty if nothing is against it."""
    numbers = {int(found[1], 16) for one in services if (found := _ASSIGNED.fullmatch(one.lower()))}
    for kind, refused in _KINDS:
        if found_here := numbers & refused:
            return (
                f"it also says that it is {kind} (Bluetooth service {min(found_here):04x}): this hub keeps no"
                " bond with such a device"
            )
    return ""
