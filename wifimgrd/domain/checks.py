"""Conditions for values, and the error that names a value's key if it does not meet them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

Key = str | int
"""A key of a table, or the number of an item in a list."""


class Invalid(ValueError):
    """The value under some keys is invalid; the text has the form `KEY: expected WHAT`."""

    def __init__(self, keys: Sequence[Key], problem: str) -> None:
        self.keys = tuple(keys)
        """The way to the value from the outermost table."""
        self.problem = problem
        name = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in keys)
        super().__init__(f"{name.removeprefix('.')}: {problem}" if keys else problem)


@dataclass(frozen=True, slots=True)
class Check:
    """Annotates the type of a field: `Annotated[int, within(1, 65535)]`."""

    fits: Callable[[Any], object]
    expected: str


def within(low: float, high: float, unit: str = "") -> Check:
    """A number from `low` to `high`."""
    return Check(lambda value: low <= value <= high, f"{low} to {high} {unit}".rstrip())


def zero_or_within(low: float, high: float, unit: str = "") -> Check:
    """A number from `low` to `high`, or 0."""
    return Check(
        lambda value: value == 0 or low <= value <= high, f"{low} to {high} {unit}".rstrip() + ", or 0"
    )


def matching(pattern: str, expected: str) -> Check:
    """A text that a regular expression matches as a whole."""
    return Check(re.compile(pattern).fullmatch, expected)


def one_of(texts: Iterable[str]) -> Check:
    """One of some texts."""
    allowed = tuple(texts)
    return Check(lambda value: value in allowed, either(f'"{text}"' for text in allowed))


def either(words: Iterable[str]) -> str:
    """Some words as `A, B or C`."""
    *first, last = words
    return f"{', '.join(first)} or {last}" if first else last


def expect(fits: object, key: str, expected: str) -> None:
    """Raise Invalid for `key`, such as `share[0]`, unless its value fits."""
    if not fits:
        keys = re.findall(r"\w+", key)
        raise Invalid([int(one) if one.isdigit() else one for one in keys], f"expected {expected}")
