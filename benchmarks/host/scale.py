"""Many adapters and devices against few: what one connect costs."""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import islice
from typing import Final

from benchmarks.host.world import World
from benchmarks.table import Row, Target

BIG: Final = (256, 1000)
"""Adapters and devices."""
SMALL: Final = (4, 4)
_AT_ONCE: Final = SMALL[1]
_ROUNDS: Final = 7
_AT_MOST: Final = 1.15
"""On a quiet machine; beside other work a run may show up to 1.3."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one connect, in ms."""

    daemon_cpu: float
    shim_cpu: float
    wall: float


async def connect_cost(big: World, small: World) -> list[Row]:
    """The rows of it."""
    many = await big.register(BIG[1])
    few = await small.register(SMALL[1])
    rounds = [await _round(big, small, _share(many, number), few) for number in range(_ROUNDS + 1)]
    del rounds[0]  # both warm now
    sides = f"{SMALL[0]} adapters x {SMALL[1]} devices"
    return [
        Row(
            "Host: simulated world",
            f"{what} per connect, {BIG[0]} adapters x {BIG[1]} devices",
            "ms",
            [getattr(cost, name) for cost, _ in rounds],
            [getattr(cost, name) for _, cost in rounds],
            sides,
            Target("ratio", _AT_MOST),
        )
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


async def _round(big: World, small: World, many: list[int], few: list[int]) -> tuple[Cost, Cost]:
    """Fill the big world, four devices at a time; after each four connect the small world's, which are
    disconnected again. So whatever else this machine does falls on both."""
    meters = _Meter(big), _Meter(small)
    rest = iter(many)
    while batch := list(islice(rest, _AT_ONCE)):
        await meters[0].connect(batch)
        await meters[1].connect(few)
        await small.disconnect(few)
        await small.quiet()
    await big.disconnect(many)
    await big.quiet()
    return meters[0].cost(len(many)), meters[1].cost(len(many))


class _Meter:
    """Sums up what connects cost."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._daemon = self._shim = self._wall = 0.0

    async def connect(self, devices: list[int]) -> None:
        world = self._world
        daemon, shim, began = world.daemon.cpu_s(), world.shim.cpu_s(), time.perf_counter()
        await world.connect(devices)
        self._wall += time.perf_counter() - began
        await world.quiet()
        self._daemon += world.daemon.cpu_s() - daemon
        self._shim += world.shim.cpu_s() - shim

    def cost(self, connects: int) -> Cost:
        return Cost(*(1000 * seconds / connects for seconds in (self._daemon, self._shim, self._wall)))
