"""How well a simulated camera is received, and the bit rates that follow from it."""

from __future__ import annotations

import math
import zlib
from typing import Final

from wifimgrd.domain.adapter import Band
from wifimgrd.domain.device import BitRates

_SWING_S: Final = 3600.0
"""From one strongest moment to the next."""
_KBPS_2_4: Final = (14_400, 28_900, 43_300, 57_800, 86_700, 115_600, 130_000, 144_400)
"""802.11n, two streams of 20 MHz, short guard interval: IEEE 802.11-2020, table 19-28."""
_KBPS_5: Final = (65_000, 130_000, 195_000, 260_000, 390_000, 520_000, 585_000, 650_000, 780_000, 866_700)
"""802.11ac, two streams of 80 MHz; the last one with a short guard interval: table 21-33."""


def signal_after(percent: int, swing: int, up_s: float) -> int:
    """The signal of a link that is up for so long: `swing` percent around `percent`, which it begins with."""
    return min(100, max(0, percent + round(swing * math.sin(math.tau * up_s / _SWING_S))))


def rates_of(percent: int, frequency_mhz: int, salt: int = 0) -> BitRates:
    """The bit rates at a signal strength; another `salt` makes others, as interference does."""
    table = _KBPS_2_4 if Band.of_frequency(frequency_mhz) is Band.GHZ_2_4 else _KBPS_5
    best = percent * (len(table) - 1) // 100
    worse = zlib.crc32(salt.to_bytes(8)) % 2 if salt else 0
    return BitRates(table[max(0, best - worse)], table[max(0, best - 1)])
