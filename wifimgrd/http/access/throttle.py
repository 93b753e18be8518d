"""A limit of attempts per address."""

from __future__ import annotations

import ipaddress
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from wifimgrd.config.web_address import ip_address_of

_KEPT: Final = 4096
"""Addresses that are stored; the one whose last attempt is the oldest is dropped first."""


class Throttle:
    """Admits `burst` attempts of an address at once, and one in `period_s` seconds after that."""

    def __init__(self, burst: int, period_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._period_s = period_s
        self._burst_s = burst * period_s
        self._clock = clock
        self._paid_until: OrderedDict[str, float] = OrderedDict()

    def wait_s(self, address: str) -> float:
        """Count an attempt and return 0, or the seconds until the next is admitted."""
        key, now = address_group(address), self._clock()
        paid = max(self._paid_until.get(key, now), now) + self._period_s
        if paid - now > self._burst_s:
            return paid - now - self._burst_s
        self._paid_until[key] = paid
        self._paid_until.move_to_end(key)
        if len(self._paid_until) > _KEPT:
            self._paid_until.popitem(last=False)
        return 0.0


def address_group(address: str) -> str:
    """The address of one client: an IPv4 address, or the /64 that an IPv6 address is in."""
    parsed = ip_address_of(address)
    if parsed is None:
        return address
    if parsed.version == 4:
        return str(parsed)
    return str(ipaddress.ip_network((parsed, 64), strict=False))
