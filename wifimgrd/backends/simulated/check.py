"""Strict reading of tables, for scenario files and for the options of control calls alike.

A check converts a value to the expected type or raises Invalid with what it expected. A `Table` returns
checked values and, in `finish`, refuses keys that were never read.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypeVar

from wifimgrd.domain.device import Passphrase, Ssid

T = TypeVar("T")
D = TypeVar("D")

Check = Callable[[object], T]

MAX_SECONDS: Final = 86400.0
_SHOWN: Final = 40
"""An invalid value is quoted up to this many characters."""
_MAC: Final = re.compile(r"[0-9a-f]{2}(:[0-9a-f]{2}){5}")
_WPA_HEX: Final = re.compile(r"[0-9A-Fa-f]{64}")


class Invalid(Exception):
    """A value is not valid; the argument is what was expected."""


class FieldError(Exception):
    """An invalid key and its problem, as a predicate."""

    def __init__(self, key: str, problem: str) -> None:
        super().__init__(f"{key}: {problem}")
        self.key = key
        self.problem = problem


class Table:
    """One table of values; `path` names it in errors, e.g. `camera[2]`."""

    def __init__(self, values: Mapping[str, object], path: str = "") -> None:
        self._values = values
        self._path = path
        self._known: list[str] = []

    def take(self, key: str, check: Check[T], default: D, *, secret: bool = False) -> T | D:
        """The checked value under `key`, or `default` where there is none.

        Raises FieldError; the value of a `secret` is not quoted in it.
        """
        self._known.append(key)
        if key not in self._values:
            return default
        return self._checked(key, check, secret=secret)

    def need(self, key: str, check: Check[T]) -> T:
        """As `take`, of a key that must be there."""
        if key not in self._values:
            raise self.error(key, "is missing")
        self._known.append(key)
        return self._checked(key, check)

    def has(self, key: str) -> bool:
        """Whether the table holds `key`."""
        return key in self._values

    def error(self, key: str, problem: str) -> FieldError:
        """An error in this table, with the full key."""
        return FieldError(f"{self._path}.{key}" if self._path else key, problem)

    def _checked(self, key: str, check: Check[T], *, secret: bool = False) -> T:
        value = self._values[key]
        try:
            return check(value)
        except Invalid as invalid:
            found = "" if secret else f", not {_show(value)}"
            raise self.error(key, f"expected {invalid}{found}") from None

    def finish(self) -> None:
        """Raises FieldError where the table has a key that was never read."""
        for key in self._values:
            if key not in self._known:
                known = ", ".join(sorted(self._known)) or "none"
                raise self.error(key, f"is unknown; known here: {known}")


def _show(value: object) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case Mapping():
            return "a table"
        case list() | tuple():
            return "a list"
    text = repr(value)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "..."


def flag(value: object) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise Invalid("true or false")
    return value


def text(value: object) -> str:
    """Any text without control characters."""
    if not isinstance(value, str) or not value.isprintable():
        raise Invalid("printable text")
    return value


def seconds(value: object) -> float:
    """A duration in seconds, whole or not, of at most a day."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Invalid("a number of seconds")
    if not math.isfinite(value) or not 0 <= value <= MAX_SECONDS:
        raise Invalid("a number of seconds from 0 to 86400")
    return float(value)


def whole(low: int, high: int) -> Check[int]:
    """A whole number between two bounds, both included."""

    def check(value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise Invalid(f"a whole number from {low} to {high}")
        return value

    return check


def one_of(choices: Iterable[str]) -> Check[str]:
    """One of a few strings."""
    allowed = tuple(choices)

    def check(value: object) -> str:
        if not isinstance(value, str) or value not in allowed:
            raise Invalid("one of " + ", ".join(f'"{choice}"' for choice in allowed))
        return str(value)

    return check


def list_of(check: Check[T]) -> Check[tuple[T, ...]]:
    """A list of things that pass `check`."""

    def check_all(value: object) -> tuple[T, ...]:
        if not isinstance(value, list | tuple):
            raise Invalid("a list")
        try:
            return tuple(check(item) for item in value)
        except Invalid as invalid:
            raise Invalid(f"a list, each item {invalid}") from None

    return check_all


def table(value: object) -> Mapping[str, object]:
    """A table, its keys not checked yet."""
    if not isinstance(value, Mapping):
        raise Invalid("a table")
    return value


def ssid(value: object) -> Ssid:
    """A network name as text or octets."""
    try:
        octets = value.encode() if isinstance(value, str) else value
    except UnicodeEncodeError:
        octets = None
    if not isinstance(octets, bytes | bytearray) or not 1 <= len(octets) <= 32:
        raise Invalid("an SSID of 1 to 32 bytes")
    return Ssid(bytes(octets))


def ssid_hex(value: object) -> Ssid:
    """A network name in hexadecimal digits."""
    try:
        octets = bytes.fromhex(value) if isinstance(value, str) else b""
    except ValueError:
        octets = b""
    if not 1 <= len(octets) <= 32:
        raise Invalid("the 1 to 32 bytes of an SSID in hexadecimal")
    return Ssid(octets)


def passphrase(value: object) -> Passphrase:
    """A WPA passphrase or key, or the empty text of an open network."""
    if isinstance(value, str):
        printable = value.isascii() and value.isprintable() and 8 <= len(value) <= 63
        if not value or printable or _WPA_HEX.fullmatch(value):
            return Passphrase(value)
    raise Invalid('8 to 63 printable ASCII characters, 64 hexadecimal digits, or "" for an open network')


def mac(value: object) -> str:
    """A MAC address; in lower case."""
    if not isinstance(value, str) or not _MAC.fullmatch(value.lower()):
        raise Invalid("a MAC address such as 02:00:00:00:00:01")
    return value.lower()


def interface_name(value: object) -> str:
    """A name that Linux accepts for a network interface."""
    plain = isinstance(value, str) and value.isascii() and value.isprintable() and 1 <= len(value) <= 15
    if not isinstance(value, str) or not plain or value in {".", ".."} or set(value) & set("/: %"):
        raise Invalid("an interface name of 1 to 15 characters such as wlan0")
    return value
