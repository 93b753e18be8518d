"""Many adapters and devices against few: what one connect and one disconnect cost."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

import aiohttp

from benchmarks.host.world import DEVICES, World
from benchmarks.table import Row, Target

BIG: Final = (256, 1000)
"""Adapters and devices."""
SMALL: Final = (4, 4)
_AT_ONCE: Final = SMALL[1]
_ROUNDS: Final = 5
_AT_MOST: Final = 1.15
"""On a quiet machine; beside other work a run may show up to 1.3."""

Commands = Callable[[World, str, Sequence[int]], Awaitable[None]]
"""Carries out a command, `connect` or `disconnect`, for devices at once, to the end."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one command, in ms."""

    daemon_cpu: float
    shim_cpu: float
    wall: float


async def connect_cost(big: World, small: World) -> list[Row]:
    """The rows of it, over D-Bus and over HTTP."""
    many = await big.register(BIG[1])
    few = await small.register(SMALL[1])
    rows = await _rows("", _over_bus, big, small, many, few)
    async with aiohttp.ClientSession() as session:

        async def over_http(world: World, verb: str, devices: Sequence[int]) -> None:
            await asyncio.gather(*(_get(session, world, verb, device) for device in devices))

        return rows + await _rows(" over HTTP", over_http, big, small, many, few)


async def _over_bus(world: World, verb: str, devices: Sequence[int]) -> None:
    await (world.connect if verb == "connect" else world.disconnect)(devices)


async def _get(session: aiohttp.ClientSession, world: World, verb: str, device: int) -> None:
    wait = "wait=10&" if verb == "connect" else ""
    async with session.get(f"{world.url}{DEVICES}/wifi/{verb}?{wait}device_id={device}") as answer:
        answer.raise_for_status()
        await answer.read()


async def _rows(
    by: str, commands: Commands, big: World, small: World, many: list[int], few: list[int]
) -> list[Row]:
    costs: dict[str, list[tuple[Cost, Cost]]] = {"connect": [], "disconnect": []}
    for number in range(_ROUNDS + 1):
        share = _share(many, number)
        for verb, found in costs.items():
            cost = await _round(commands, verb, big, small, share, few)
            if number:  # both are warm now
                found.append(cost)
    sides = f"{SMALL[0]} adapters x {SMALL[1]} devices"
    return [
        Row(
            "Host: simulated world",
            f"{what} per {verb}{by}, {BIG[0]} adapters x {BIG[1]} devices",
            "ms",
            [getattr(cost, name) for cost, _ in found],
            [getattr(cost, name) for _, cost in found],
            sides,
            Target("ratio", _AT_MOST),
            in_turns=True,
        )
        for verb, found in costs.items()
        for what, name in (
            ("daemon's CPU time", "daemon_cpu"),
            ("shim's CPU time", "shim_cpu"),
            ("time", "wall"),
        )
    ]


def _share(devices: list[int], number: int) -> list[int]:
    """As many devices as there are adapters, others each time."""
    first = number * BIG[0] % (len(devices) - BIG[0] + 1)
    return devices[first : first + BIG[0]]


async def _round(
    commands: Commands, verb: str, big: World, small: World, many: list[int], few: list[int]
) -> tuple[Cost, Cost]:
    """Fill or empty the big world, four devices at a time; after each four do the same with the small
    world's, which then goes back. So whatever else this machine does falls on both."""
    back = "disconnect" if verb == "connect" else "connect"
    meters = _Meter(big), _Meter(small)
    rest = iter(many)
    while batch := list(islice(rest, _AT_ONCE)):
        if verb == "disconnect":
            await commands(small, back, few)
            await small.quiet()
        await meters[0].measure(commands(big, verb, batch))
        await meters[1].measure(commands(small, verb, few))
        if verb == "connect":
            await commands(small, back, few)
            await small.quiet()
    return meters[0].cost(len(many)), meters[1].cost(len(many))


class _Meter:
    """Sums up what commands cost."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._daemon = self._shim = self._wall = 0.0

    async def measure(self, commands: Awaitable[None]) -> None:
        world = self._world
        daemon, shim, began = world.daemon.cpu_s(), world.shim.cpu_s(), time.perf_counter()
        await commands
        self._wall += time.perf_counter() - began
        await world.quiet()
        self._daemon += world.daemon.cpu_s() - daemon
        self._shim += world.shim.cpu_s() - shim

    def cost(self, commands: int) -> Cost:
        return Cost(*(1000 * seconds / commands for seconds in (self._daemon, self._shim, self._wall)))
