"""A command that many clients of the channel are told of, against the same with one client."""

from __future__ import annotations

import asyncio
import time
from contextlib import AsyncExitStack
from typing import Final

import aiohttp

from benchmarks.host.toggles import COMMAND, is_status
from benchmarks.host.world import World
from benchmarks.table import Row, Target

PART: Final = "Host: simulated world"
_MANY: Final = 100
_TOGGLES: Final = 30
_PAUSE_S: Final = 0.12
"""At most 20 commands a second are taken."""
_LAST_MS: Final = 50


async def channel_clients(world: World, device_id: int) -> list[Row]:
    """The rows of it, of a device that is disconnected."""
    last: dict[int, list[float]] = {}
    cpu: dict[int, list[float]] = {}
    for clients in (1, _MANY):
        last[clients], cpu[clients] = await _toggled(world, device_id, clients)
    return [
        Row(
            PART,
            f"shim's CPU time per command, {_MANY} clients of the channel",
            "ms",
            cpu[_MANY],
            cpu[1],
            "1 client",
        ),
        Row(
            PART,
            f"from a command to the last of {_MANY} clients that read its outcome, theirs included",
            "ms",
            last[_MANY],
            last[1],
            "1 client",
            Target("ours", _LAST_MS),
        ),
    ]


async def _toggled(world: World, device_id: int, clients: int) -> tuple[list[float], list[float]]:
    """Milliseconds from each command to the last client, and the shim's of processor time."""
    async with AsyncExitStack() as opened:
        session = await opened.enter_async_context(aiohttp.ClientSession())
        channels = [
            await opened.enter_async_context(
                session.ws_connect(world.url + "/ws/management/", max_msg_size=0)
            )
            for _ in range(clients)
        ]
        times, costs = [], []
        for number in range(2 * _TOGGLES):
            verb, status = (("disconnect", "disconnected"), ("connect", "connected"))[number % 2 == 0]
            await world.quiet()
            began, used_s = time.perf_counter(), world.shim.cpu_s()
            command = {"type": COMMAND + verb, "device_connection_id": device_id}
            await channels[0].send_json(command)
            async with asyncio.timeout(10):
                await asyncio.gather(*(_told(one, device_id, status) for one in channels))
            times.append(1000 * (time.perf_counter() - began))
            await world.quiet()
            costs.append(1000 * (world.shim.cpu_s() - used_s))
            await asyncio.sleep(_PAUSE_S)
    return times, costs


async def _told(channel: aiohttp.ClientWebSocketResponse, device_id: int, status: str) -> None:
    while not is_status(await channel.receive_json(), device_id, status):
        continue
