"""Whether this is `make soak`: other random cases each time; the suite has the same ones. Run as a program,
it says what is wrong with the settings of `make soak`, before that starts anything."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from typing import Final

IS_SOAK: Final = any(
    name in os.environ
    for name in (
        *("WIFIMGRD_SOAK", "WIFIMGRD_FUZZ", "WIFIMGRD_CRASHES"),
        *("WIFIMGRD_DAYS", "WIFIMGRD_JOINS"),
    )
)

_DURATION: Final = ("[1-9][0-9]{0,5}[smh]", "a duration with a unit, such as 30s, 2m or 6h")
_COUNT: Final = ("[1-9][0-9]{0,8}", "a number, such as 1000")
_DAYS: Final = ("[1-9][0-9]?", "a number of days, such as 7")
_SEED: Final = ("[0-9]{1,9}", "the number of a life, such as 7")
_LAB: Final = ("1", "1, for a life on real 802.11, or empty")
OF_MAKE: Final = {
    "DURATION": _DURATION,
    "FUZZ": _DURATION,
    "CRASHES": _COUNT,
    "DAYS": _DAYS,
    "JOINS": _COUNT,
    "SEED": _SEED,
    "LAB": _LAB,
}
"""The settings of `make soak`: what they look like, as a pattern and in words."""
OF_TESTS: Final = {
    "WIFIMGRD_SOAK": _DURATION,
    "WIFIMGRD_FUZZ": _DURATION,
    "WIFIMGRD_CRASHES": _COUNT,
    "WIFIMGRD_DAYS": _DAYS,
    "WIFIMGRD_JOINS": _COUNT,
    "WIFIMGRD_SEED": _SEED,
}
"""The same, as the tests find them."""


def examples(count: int) -> int:
    """How many examples a property has: the same ones each time in the suite, more and other ones here."""
    return 20 * count if IS_SOAK else count


def what_is_wrong(settings: Mapping[str, tuple[str, str]], environment: Mapping[str, str]) -> str:
    """The first setting that cannot be used and what it must be, as a sentence; empty where all can."""
    for name, (pattern, words) in settings.items():
        said = environment.get(name, "")
        if said and not re.fullmatch(pattern, said):
            return f'{name} is "{said}", and must be {words}'
    return ""


if __name__ == "__main__":
    if sentence := what_is_wrong(OF_MAKE, os.environ):
        sys.stderr.write(f"soak: {sentence}\n")
        sys.exit(2)
