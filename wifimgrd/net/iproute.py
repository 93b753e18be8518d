"""`ip` of iproute2: listings as JSON, changes as one batch."""

from __future__ import annotations

import asyncio
import json
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Sequence
from typing import Any, Final

_TIMEOUT_S: Final = 5.0


class IpError(Exception):
    """A command that failed, with what it said."""


async def listed(*command: str) -> list[dict[str, Any]]:
    """What `ip -4 -j COMMAND` lists; raises IpError."""
    out = await _run(["-4", "-j", *command], "")
    try:
        return list(json.loads(out or "[]"))
    except ValueError:
        raise IpError(f"ip {' '.join(command)} printed no JSON") from None


async def batch(lines: Sequence[str]) -> None:
    """Run commands in order, the rest also where one fails; raises IpError then."""
    if lines:
        await _run(["-4", "-force", "-batch", "-"], "\n".join(lines) + "\n")


async def _run(arguments: Sequence[str], stdin: str) -> str:
    process = await asyncio.create_subprocess_exec(
        "ip", *arguments, stdin=PIPE if stdin else DEVNULL, stdout=PIPE, stderr=PIPE
    )
    try:
        async with asyncio.timeout(_TIMEOUT_S):
            out, err = await process.communicate(stdin.encode() or None)
    except (TimeoutError, asyncio.CancelledError) as error:
        process.kill()
        await process.wait()
        if isinstance(error, TimeoutError):
            raise IpError(f"ip {' '.join(arguments)} does not end") from None
        raise
    if process.returncode:
        raise IpError(err.decode(errors="replace").strip() or f"ip ended with {process.returncode}")
    return out.decode(errors="replace")
