"""The header line `Date`, made once a second."""

from __future__ import annotations

import time
from email.utils import formatdate


class DateLine:
    """The line as of the present second."""

    __slots__ = ("_line", "_second")

    def __init__(self) -> None:
        self._line = b""
        self._second = 0.0

    def __call__(self) -> bytes:
        """The line, with its end."""
        now = time.time()
        if not 0 <= now - self._second < 1:
            self._second = now // 1
            self._line = f"Date: {formatdate(now, usegmt=True)}\r\n".encode()
        return self._line
