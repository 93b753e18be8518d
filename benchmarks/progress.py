"""What is being measured right now, on stderr: the table has stdout to itself."""

from __future__ import annotations

import sys
import time
from typing import Final

_BEGAN: Final = time.monotonic()


def say(what: str) -> None:
    """Print one line."""
    sys.stderr.write(f"[bench {time.monotonic() - _BEGAN:4.0f} s] {what}\n")
    sys.stderr.flush()
