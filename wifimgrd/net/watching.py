"""Hears that somebody changed the kernel's tables, of `nft monitor` and `ip monitor`."""

from __future__ import annotations

import asyncio
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Final

from wifimgrd.runtime.tasks import Backoff, Tasks

_MONITORS: Final = (("nft", "monitor"), ("ip", "-4", "monitor", "link", "route", "rule"))
_BACKOFF: Final = Backoff(first_s=1.0, last_s=30.0)


def watch(changed: Callable[[str], None], tasks: Tasks) -> None:
    """Call `changed` with each line that tells of a change, ours included, as long as `tasks` go on.

    An empty one stands for changes that nobody has told of.
    """
    for command in _MONITORS:
        tasks.keep(f"{command[0]}-monitor", partial(_follow, command, changed), _BACKOFF, expected=(OSError,))


async def _follow(command: tuple[str, ...], changed: Callable[[str], None]) -> None:
    process = await asyncio.create_subprocess_exec(*command, stdin=DEVNULL, stdout=PIPE, stderr=DEVNULL)
    assert process.stdout is not None  # noqa: S101 - for the type checker
    try:
        changed("")  # what was missed before it listened
        while line := await _next_line(process.stdout):
            changed(line.strip())
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()


async def _next_line(output: asyncio.StreamReader) -> str:
    """A line with its end, an empty line for one that is too long; empty at the end."""
    try:
        return (await output.readline()).decode(errors="replace")
    except ValueError:
        return "\n"
