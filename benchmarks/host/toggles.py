"""Connect and disconnect as messages on the channel, against the same by GET."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any, Final

import aiohttp

from benchmarks.host.world import DEVICES, World
from benchmarks.table import Row, Target

_TOGGLES: Final = 60
_PAUSE_S: Final = 0.12
"""Two commands in each toggle, and at most 20 a second."""
_UPDATE: Final = "device.connection_status.update"
COMMAND: Final = "command.device.device_connection."


async def toggles(world: World, device_id: int) -> list[Row]:
    """From a command until its outcome is read on the channel, of a device that is disconnected."""
    async with (
        aiohttp.ClientSession() as session,
        session.ws_connect(world.url + "/ws/management/", max_msg_size=0) as channel,
    ):

        async def by_message(verb: str) -> None:
            await channel.send_json({"type": COMMAND + verb, "device_connection_id": device_id})

        async def by_get(verb: str) -> None:
            async with session.get(f"{world.url}{DEVICES}/wifi/{verb}?device_id={device_id}") as answer:
                answer.raise_for_status()

        async def reach(status: str) -> None:
            async with asyncio.timeout(10):
                while not is_status(await channel.receive_json(), device_id, status):
                    continue

        async def toggle(command: Callable[[str], Awaitable[None]]) -> float:
            began = time.perf_counter()
            await command("connect")
            await reach("connected")
            await command("disconnect")
            await reach("disconnected")
            return 1000 * (time.perf_counter() - began)

        samples: dict[Callable[[str], Awaitable[None]], list[float]] = {by_message: [], by_get: []}
        for _ in range(_TOGGLES):
            for command, times in samples.items():  # in turns: what slows the host slows both
                times.append(await toggle(command))
                await asyncio.sleep(_PAUSE_S)
    return [
        Row(
            "Host: simulated world",
            "connect and disconnect over the channel, until both are read there",
            "ms",
            samples[by_message],
            samples[by_get],
            "the same by GET",
            Target("ratio", 1.0),
        )
    ]


def is_status(message: Any, device_id: int, status: str) -> bool:
    """Whether a message of the channel says that a device has this status."""
    if message["type"] != _UPDATE:
        return False
    data = message["data"]
    return (data["id"], data["connection_status"]) == (device_id, status)
