"""Reads over HTTP: answered from memory, or by asking the daemon?"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Any, Final

import aiohttp

from benchmarks.host.bus_monitor import watched
from benchmarks.host.world import DEVICES, World
from benchmarks.table import Row, Target
from wifimgrd.bus import names as bus_names
from wifimgrd.wire import names

_LISTS: Final = 10
_LONG_LISTS: Final = 2
_STATUSES: Final = 400
_ROUNDS: Final = 3


async def reads(world: World, devices: int) -> list[Row]:
    """List and status of a world with that many devices; the other side asks over D-Bus each time."""
    async with aiohttp.ClientSession() as session:

        async def get(path: str) -> Any:
            async with session.get(world.url + DEVICES + path) as answer:
                answer.raise_for_status()
                return await answer.json()

        async def list_http() -> None:
            if len(await get("/")) != devices:
                raise RuntimeError("the list is not complete")

        async def status_http() -> None:
            await get("/wifi/status?device_id=1")

        async def list_bus() -> None:
            await _managed_objects(world)

        async def status_bus() -> None:
            await world.bus.get_all(names.BUS_NAME, names.device_path(1), names.DEVICE)

        lists = await _in_turns(list_http, list_bus, _LISTS)
        statuses = await _in_turns(status_http, status_bus, _STATUSES)
        ours = await _messages(world, list_http, status_http)
        theirs = await _messages(world, list_bus, status_bus)
    part = "Host: simulated world"
    return [
        Row(
            part,
            f"D-Bus messages for {_STATUSES} status and {_LISTS} list requests",
            "",
            [ours],
            [theirs],
            "asked over D-Bus each time",
            Target("ours", 0),
        ),
        Row(part, f"list of {devices} devices over HTTP", "ms", *lists, "GetManagedObjects"),
        Row(part, "status of one of them over HTTP", "ms", *statuses, "GetAll"),
    ]


async def long_list(world: World, devices: int) -> list[Row]:
    """Only the list, of a world with that many devices."""
    async with aiohttp.ClientSession() as session:

        async def list_http() -> None:
            async with session.get(f"{world.url}{DEVICES}/") as answer:
                answer.raise_for_status()
                await answer.read()

        async def list_bus() -> None:
            await _managed_objects(world)

        lists = await _in_turns(list_http, list_bus, _LONG_LISTS)
    what = f"list of {devices:,} devices over HTTP"
    return [Row("Host: simulated world", what, "ms", *lists, "GetManagedObjects")]


async def _managed_objects(world: World) -> None:
    await world.bus.call(names.BUS_NAME, names.ROOT_PATH, bus_names.OBJECT_MANAGER, "GetManagedObjects")


async def _in_turns(
    ours: Callable[[], Awaitable[None]], theirs: Callable[[], Awaitable[None]], count: int
) -> tuple[list[float], list[float]]:
    """Milliseconds of each, a sample per round."""
    samples: tuple[list[float], list[float]] = ([], [])
    for _ in range(_ROUNDS):
        for side, kept in zip((ours, theirs), samples, strict=True):
            began = time.perf_counter()
            for _ in range(count):
                await side()
            kept.append(1000 * (time.perf_counter() - began) / count)
    return samples


async def _messages(
    world: World, a_list: Callable[[], Awaitable[None]], a_status: Callable[[], Awaitable[None]]
) -> float:
    async with watched(world.address) as seen:
        for _ in range(_LISTS):
            await a_list()
        for _ in range(_STATUSES):
            await a_status()
    return float(seen.count)
