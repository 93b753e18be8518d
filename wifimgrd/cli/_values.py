"""The values of arguments, as argparse reads them: each function raises ArgumentTypeError."""

from __future__ import annotations

import argparse
import os
import re
import time
from datetime import datetime
from typing import Final

from wifimgrd.domain.errors import InvalidRequest
from wifimgrd.domain.power import LONGEST_SEARCH_S
from wifimgrd.domain.registration import parse_bluetooth_address

_LONGEST_TIMEOUT_S: Final = 86400.0
_LARGEST_COUNT: Final = 1_000_000_000
_SECONDS_OF: Final = {"s": 1, "min": 60, "h": 3600, "d": 86400}


def search_time(argument: str) -> int:
    """How long to search for cameras over Bluetooth, seconds."""
    if not (argument.isascii() and argument.isdecimal() and 1 <= int(argument[:9]) <= LONGEST_SEARCH_S):
        raise argparse.ArgumentTypeError(f"{argument!r} is not a whole number from 1 to {LONGEST_SEARCH_S}")
    return int(argument)


def count(argument: str) -> int:
    """A whole number, from 0 on."""
    if not (argument.isascii() and argument.isdecimal() and int(argument[:20]) <= _LARGEST_COUNT):
        raise argparse.ArgumentTypeError(f"{argument!r} is not a whole number from 0 to {_LARGEST_COUNT}")
    return int(argument)


def percent(argument: str) -> int:
    """A whole number of percent."""
    if not (argument.isascii() and argument.isdecimal() and int(argument[:9]) <= 100):
        raise argparse.ArgumentTypeError(f"{argument!r} is not a whole number from 0 to 100")
    return int(argument)


def bluetooth_address(argument: str) -> str:
    """A Bluetooth address; empty if there is none."""
    try:
        return argument and parse_bluetooth_address(argument)
    except InvalidRequest:
        raise argparse.ArgumentTypeError(
            f"{argument!r} is not a Bluetooth address such as F4:DD:12:34:56:78"
        ) from None


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


def data(argument: str) -> bytes:
    """An argument as the bytes that were typed, even if they are not text."""
    return os.fsencode(argument)


def hexadecimal(argument: str) -> bytes:
    """Bytes, each of two digits."""
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
