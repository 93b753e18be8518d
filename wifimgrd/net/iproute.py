"""`ip` of iproute2: listings as JSON, changes as one batch.

Each call waits for its process, some milliseconds: the helper has nothing else to do meanwhile, and a
process that asyncio starts takes three times as long.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from typing import Any, Final

_TIMEOUT_S: Final = 5.0


class IpError(Exception):
    """A command that failed, with what it said."""


def listed(*command: str) -> list[dict[str, Any]]:
    """What `ip -4 -j COMMAND` lists; raises IpError."""
    out = _run(["-4", "-j", *command], "")
    try:
        return list(json.loads(out or "[]"))
    except ValueError:
        raise IpError(f"ip {' '.join(command)} printed no JSON") from None


def batch(lines: Sequence[str]) -> None:
    """Run commands in order, the rest also where one fails; raises IpError then."""
    if lines:
        _run(["-4", "-force", "-batch", "-"], "\n".join(lines) + "\n")


def _run(arguments: Sequence[str], stdin: str) -> str:
    try:
        done = subprocess.run(  # noqa: S603 - our own words; interfaces' names are the kernel's
            ["ip", *arguments],  # noqa: S607 - the service manager sets PATH
            input=stdin,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise IpError(f"ip {' '.join(arguments)}: {error}") from None
    if done.returncode:
        raise IpError(done.stderr.strip() or f"ip ended with {done.returncode}")
    return done.stdout
