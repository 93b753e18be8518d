"""Watch changes of the kernel's tables by `nft monitor` and `ip monitor`."""

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
    """Call `changed` with each line about a change, the helper's own included, until `tasks` are stopped.

    An empty line stands for changes that may have been missed.
    """
    for command in _MONITORS:
        tasks.keep(f"{command[0]}-monitor", partial(_follow, command, changed), _BACKOFF, expected=(OSError,))


async def _follow(command: tuple[str, ...], changed: Callable[[str], None]) -> None:
    process = await asyncio.create_subprocess_exec(*command, stdin=DEVNULL, stdout=PIPE, stderr=DEVNULL)
    assert process.stdout is not None  # noqa: S101 - for the type checker
    try:
        changed("")  # changes before the monitor was started
        while line := await _next_line(process.stdout):
            changed(line.strip())
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()


async def _next_line(output: asyncio.StreamReader) -> str:
    """A line with its newline, an empty line for one that is too long; the empty string at the end."""
    try:
        return (await output.readline()).decode(errors="replace")
    except ValueError:
        return "\n"
