"""Hears that somebody changed the kernel's tables, of `nft monitor` and `ip monitor`."""

from __future__ import annotations

import asyncio
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Callable
from contextlib import suppress
from typing import Final

import structlog

_log = structlog.get_logger()

_MONITORS: Final = (("nft", "monitor"), ("ip", "-4", "monitor", "link", "route", "rule"))
_AGAIN_S: Final = 1.0


async def watch(changed: Callable[[str], None]) -> None:
    """Call `changed` with each line that tells of a change, ours included, until cancelled.

    An empty one stands for changes that nobody has told of.
    """
    async with asyncio.TaskGroup() as group:
        for command in _MONITORS:
            group.create_task(_follow(command, changed))


async def _follow(command: tuple[str, ...], changed: Callable[[str], None]) -> None:
    while True:
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
        _log.warning("monitor_ended", command=command[0])
        await asyncio.sleep(_AGAIN_S)


async def _next_line(output: asyncio.StreamReader) -> str:
    """A line with its end, an empty line for one that is too long; empty at the end."""
    try:
        return (await output.readline()).decode(errors="replace")
    except ValueError:
        return "\n"
