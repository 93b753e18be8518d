"""Thousands of devices: what the last ones cost to register, against the first ones."""

from __future__ import annotations

from typing import Final

from benchmarks.host.world import World
from benchmarks.table import Row, Target

_BLOCK: Final = 1000
_BLOCKS: Final = 8
REGISTERED: Final = _BLOCK * _BLOCKS
_AT_MOST: Final = 1.3


async def registrations(world: World) -> list[Row]:
    """The row of it; the shim, which is told of each device, is not counted."""
    costs = [await _cost(world, 1 + number * _BLOCK) for number in range(_BLOCKS)]
    return [
        Row(
            "Host: simulated world",
            f"daemon's CPU time per registration, the last {_BLOCK:,} of {REGISTERED:,} devices",
            "ms",
            costs[-1:],
            costs[:1],
            f"the first {_BLOCK:,}",
            Target("ratio", _AT_MOST),
            details={"each_thousand": costs},
        )
    ]


async def _cost(world: World, first: int) -> float:
    """Of one registration, in ms."""
    began_s = world.daemon.cpu_s()
    await world.register(_BLOCK, first=first)
    await world.quiet()
    return 1000 * (world.daemon.cpu_s() - began_s) / _BLOCK
