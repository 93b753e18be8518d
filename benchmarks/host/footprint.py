"""Memory, and wake-ups of an idle hub."""

from __future__ import annotations

import asyncio
import sys
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Final

import aiohttp

from benchmarks.accounting import Account
from benchmarks.ceilings import RSS_MB
from benchmarks.host.world import DEVICES, World
from benchmarks.table import Row, Target

PART: Final = "Host: simulated world"
_CYCLES: Final = 100
_SETTLE_S: Final = 2.0
_REST_S: Final = 65.0
"""After a disconnection: 5 s later the hub looks whether the camera sleeps, and a minute later it writes one
line for all those that the journal did not get."""
IDLE_S: Final = 60.0
_BARE: Final = {
    "daemon": ("dbus_next.aio",),
    "shim": ("dbus_next.aio", "aiohttp.web"),
}
"""What each program is made of: an interpreter with these is the other side."""


async def footprint(world: World) -> list[Row]:
    """Memory after the start and after use, then a minute in which nothing is connected."""
    async with _bare(_BARE["daemon"]) as beneath_daemon, _bare(_BARE["shim"]) as beneath_shim:
        await asyncio.sleep(_SETTLE_S)
        rows = _memory(world, "after start", beneath_daemon, beneath_shim)
        await _use(world)
        await asyncio.sleep(_SETTLE_S)
        rows += _memory(world, f"after {_CYCLES} connects", beneath_daemon, beneath_shim)
        await asyncio.sleep(_REST_S)
        sleepers = {"daemon": world.daemon, "shim": world.shim, "bare": beneath_daemon}
        counted = await wake_ups(sleepers, IDLE_S)
    return rows + [
        Row(
            PART,
            f"{name}'s wake-ups in a minute, nothing connected",
            "",
            [counted[name]],
            [counted["bare"]],
            "idle interpreter",
            Target("ours", 0),
        )
        for name in ("daemon", "shim")
    ]


async def wake_ups(processes: Mapping[str, Account], seconds: float) -> dict[str, float]:
    """How often each was woken, per minute."""
    before = {name: process.sleeps() for name, process in processes.items()}
    await asyncio.sleep(seconds)
    return {name: (process.sleeps() - before[name]) * 60 / seconds for name, process in processes.items()}


def _memory(world: World, when: str, beneath_daemon: Account, beneath_shim: Account) -> list[Row]:
    rows = []
    for name, process, beneath, limit in (
        ("daemon", world.daemon, beneath_daemon, RSS_MB["wifimgrd"]),
        ("shim", world.shim, beneath_shim, RSS_MB["wifimgrd-http"]),
    ):
        held, bare = process.memory(), beneath.memory()
        rows.append(
            Row(
                PART,
                f"{name}'s RSS {when}",
                "MB",
                [held.rss_mb],
                [bare.rss_mb],
                f"Python with {' and '.join(module.split('.')[0] for module in _BARE[name])} alone",
                Target("ours", limit),
                details={"pss_mb": held.pss_mb},
            )
        )
    return rows


async def _use(world: World) -> None:
    """Connect and disconnect over HTTP, one device after the other."""
    devices = await world.register(4)
    async with aiohttp.ClientSession() as session:
        for number in range(_CYCLES):
            for path in ("wifi/connect?wait=10&", "wifi/disconnect?"):
                url = f"{world.url}{DEVICES}/{path}device_id={devices[number % len(devices)]}"
                async with session.get(url) as answer:
                    answer.raise_for_status()
                    await answer.read()


@asynccontextmanager
async def _bare(modules: tuple[str, ...]) -> AsyncIterator[Account]:
    """An interpreter that has imported these and sleeps."""
    code = f"import asyncio, {', '.join(modules)}; print(flush=True); asyncio.run(asyncio.Event().wait())"
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", code, stdin=DEVNULL, stdout=PIPE)
    try:
        if process.stdout is not None:
            await process.stdout.readline()
        yield Account(process.pid)
    finally:
        process.terminate()
        await process.wait()
