"""The values of arguments, as argparse reads them: each function raises ArgumentTypeError."""

from __future__ import annotations

import argparse
import os
import re
import time
from datetime import datetime
from typing import Final

from wifimgrd.config import TOPIC_PREFIX
from wifimgrd.domain.errors import InvalidRequest
from wifimgrd.domain.power import LONGEST_SEARCH_S
from wifimgrd.domain.registration import parse_bluetooth_address
from wifimgrd.tiles.coordinates import DEEPEST, Box
from wifimgrd.tiles.source import numbers_of
from wifimgrd.web_address import BrokerAddress, broker_address

_LONGEST_TIMEOUT_S: Final = 86400.0
_SECONDS_OF: Final = {"s": 1, "min": 60, "h": 3600, "d": 86400}


def search_time(argument: str) -> int:
    """How long to search for cameras over Bluetooth, seconds."""
    if not (argument.isascii() and argument.isdecimal() and 1 <= int(argument[:9]) <= LONGEST_SEARCH_S):
        raise argparse.ArgumentTypeError(f"{argument!r} is not a whole number from 1 to {LONGEST_SEARCH_S}")
    return int(argument)


def bluetooth_address(argument: str) -> str:
    """A Bluetooth address; empty if there is none."""
    try:
        return argument and parse_bluetooth_address(argument)
    except InvalidRequest:
        raise argparse.ArgumentTypeError(
            f"{argument!r} is not a Bluetooth address such as F4:DD:12:34:56:78"
        ) from None


def broker_at(argument: str) -> BrokerAddress:
    """Where a broker is."""
    try:
        return broker_address(argument)
    except ValueError:
        # Without the argument: it may have a password in it.
        raise argparse.ArgumentTypeError("expected mqtts://HOST[:PORT], without a user or password") from None


def topic_prefix(argument: str) -> str:
    """What topics begin with."""
    if not re.fullmatch(TOPIC_PREFIX, argument):
        raise argparse.ArgumentTypeError(f"{argument!r} may contain only letters, digits, _, - and /")
    return argument


def box(argument: str) -> Box:
    """An area, degrees."""
    numbers = numbers_of(argument, 4)
    if numbers is None or not (-90 <= numbers[1] <= numbers[3] <= 90 and max(map(abs, numbers)) <= 180):
        raise argparse.ArgumentTypeError(f"{argument!r} is not west,south,east,north in degrees")
    return Box(*numbers)


def zooms(argument: str) -> tuple[int, int]:
    """The lowest and the highest zoom level."""
    first, dash, last = argument.partition("-")
    pair = (first, last if dash else first)
    if not all(one.isascii() and one.isdecimal() and len(one) < 3 for one in pair):
        raise argparse.ArgumentTypeError(f"{argument!r} is not a zoom level or a range such as 0-14")
    lowest, highest = map(int, pair)
    if not lowest <= highest <= DEEPEST:
        raise argparse.ArgumentTypeError(f"{argument!r} is not a range of zoom levels from 0 to {DEEPEST}")
    return lowest, highest


def switch(argument: str) -> bool:
    """Yes or no."""
    if argument not in ("yes", "no"):
        raise argparse.ArgumentTypeError(f"{argument!r} is neither yes nor no")
    return argument == "yes"


def moment(argument: str) -> int:
    """A point in time, microseconds since the epoch: local time, or a duration before now."""
    if found := re.fullmatch(r"([0-9]{1,6})(s|min|h|d)", argument):
        return time.time_ns() // 1000 - int(found[1]) * _SECONDS_OF[found[2]] * 1_000_000
    try:
        return int(datetime.fromisoformat(argument).astimezone().timestamp() * 1e6)
    except (ValueError, OverflowError):
        raise argparse.ArgumentTypeError(
            f'{argument!r} is neither a time such as "2026-11-20 17:00" nor a span such as 30min, 12h or 7d'
        ) from None


def octets(argument: str) -> bytes:
    """An argument as the octets that were typed, even if they are not text."""
    return os.fsencode(argument)


def hexadecimal(argument: str) -> bytes:
    """Octets, each of two digits."""
    try:
        return bytes.fromhex(argument)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{argument!r} is not hexadecimal") from None


def seconds(argument: str) -> float:
    """A duration, seconds."""
    try:
        number = float(argument)
    except ValueError:
        number = -1
    if not 0 < number <= _LONGEST_TIMEOUT_S:
        raise argparse.ArgumentTypeError(f"{argument!r} is not a number of seconds")
    return number
