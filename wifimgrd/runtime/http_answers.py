"""Where an HTTP answer begins: a HERO12 with firmware 1.30 writes lines of its log before it
(https://github.com/gopro/OpenGoPro/issues/437)."""

from __future__ import annotations

import re
from typing import Final

_STATUS_LINE: Final = b"HTTP/"
_LINES: Final = 4
"""That may come before."""
_BYTES: Final = 1024
"""Of all of them."""
_LINE: Final = re.compile(rb"[\x20-\x7e\t]+\r?\n?")


class NotHttp(ValueError):
    """The bytes received are not the beginning of an HTTP answer."""

    def __init__(self) -> None:
        super().__init__("what was received is not an HTTP answer")


def begin_of_answer(received: bytes) -> int | None:
    """Where the status line of an answer begins, after a few printable lines at most; None if more bytes are
    needed to tell. Raises NotHttp."""
    begin = 0
    for _ in range(_LINES + 1):
        rest = received[begin : begin + _BYTES]
        if rest.startswith(_STATUS_LINE):
            return begin
        if _STATUS_LINE.startswith(rest):
            return None
        line = _LINE.match(rest)
        end = 0 if line is None else line.end()
        if begin + end >= _BYTES or (end < len(rest) and not rest[:end].endswith(b"\n")):
            break
        if not rest[:end].endswith(b"\n"):
            return None
        begin += end
    raise NotHttp
