"""Asks the questions of `wifimgrctl setup` at a terminal: each again until its answer can be used."""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

from wifimgrd.cli._password import UsageError
from wifimgrd.cli._text import safe

DATABASE: Final = Path("/lib/firmware/regulatory.db")
"""Of Debian's `wireless-regdb`; its format is in the kernel's net/wireless/reg.c."""
_HEADER: Final = struct.Struct(">4sI")
_COUNTRY: Final = struct.Struct(">2sH")
_FORMAT: Final = (b"RGDB", 20)


def known_countries() -> frozenset[str] | None:
    """The codes of the countries; None if no database can be read."""
    try:
        data = DATABASE.read_bytes()
    except OSError:
        return None
    if len(data) < _HEADER.size or _HEADER.unpack_from(data) != _FORMAT:
        return None
    codes = set()
    for at in range(_HEADER.size, len(data) - _COUNTRY.size + 1, _COUNTRY.size):
        code, rules = _COUNTRY.unpack_from(data, at)
        if not rules:  # the end of the list
            break
        codes.add(code.decode("ascii", "replace"))
    return frozenset(codes)


_MEANINGS = {"": None, "y": True, "yes": True, "n": False, "no": False}


def ask(question: str, now: str, problem: Callable[[str], str]) -> str:
    """An answer for which `problem` is empty; an empty one keeps what is `now`. Raises UsageError."""
    while True:
        answer = _line(question, now)
        if not answer or not (reason := problem(answer)):
            return answer
        tell(reason)


def ask_switch(question: str, *, now: bool) -> bool:
    """Yes or no. Raises UsageError."""
    answer = ask(
        question,
        "yes" if now else "no",
        lambda one: "" if one.casefold() in _MEANINGS else "expected yes or no",
    )
    meant = _MEANINGS[answer.casefold()]
    return now if meant is None else meant


def tell(reason: str) -> None:
    """Say why a question comes again."""
    sys.stderr.write(f"{safe(reason)}\n")


def _line(question: str, now: str) -> str:
    sys.stderr.write(f"{question} [{safe(now)}]: ")
    sys.stderr.flush()
    line = sys.stdin.readline()
    if not line:
        raise UsageError("the dialog has ended before its last question")
    return line.strip()
