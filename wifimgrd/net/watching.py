"""Watch changes of the kernel's tables: nftables over nfnetlink, routes, rules and settings of interfaces by
`ip monitor`, which does not report src_valid_mark."""

from __future__ import annotations

import asyncio
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Final

from wifimgrd.kernel.nftables_events import NftablesEvents
from wifimgrd.net.ruleset import TABLE_NAME
from wifimgrd.runtime.tasks import Backoff, Tasks

_MONITOR: Final = ("ip", "-4", "monitor", "link", "route", "rule", "netconf")
_BACKOFF: Final = Backoff(first_s=1.0, last_s=30.0)


def watch(changed: Callable[[str], None], own_port: int, tasks: Tasks) -> None:
    """Call `changed` with each line of `ip monitor`, also about the helper's own changes, until `tasks` are
    stopped.

    An empty line stands for changes that may have been missed, and for a change of the nftables tables by
    another program, which is one from another netlink port than `own_port`.
    """
    tasks.keep("ip-monitor", partial(_follow_routing, changed), _BACKOFF, expected=(OSError,))
    tasks.keep("nftables-events", partial(_follow_tables, changed, own_port), _BACKOFF, expected=(OSError,))


async def _follow_tables(changed: Callable[[str], None], own_port: int) -> None:
    # `nft monitor` would read all tables for each change, also for the helper's own: that takes longer than
    # the change.
    check = partial(changed, "")
    events = NftablesEvents(TABLE_NAME, own_port, on_change=check, on_overrun=check)
    events.open()
    try:
        check()  # changes before the subscription
        await asyncio.get_running_loop().create_future()
    finally:
        events.close()


async def _follow_routing(changed: Callable[[str], None]) -> None:
    process = await asyncio.create_subprocess_exec(*_MONITOR, stdin=DEVNULL, stdout=PIPE, stderr=DEVNULL)
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
