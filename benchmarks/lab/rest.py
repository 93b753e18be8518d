"""Memory of the installed hub, and its wake-ups while adapters are idle."""

from __future__ import annotations

import asyncio
from typing import Final

from benchmarks.ceilings import RSS_MB
from benchmarks.host.footprint import wake_ups
from benchmarks.lab.hub import Hub
from benchmarks.lab.joins import PART
from benchmarks.lab.stage import Stage
from benchmarks.table import Row, Target

_SETTLE_S: Final = 65.0
"""The camera process ends 30 s after its last camera; after a minute the log sums up what it left out."""
_IDLE_S: Final = 60.0


def memory(hub: Hub, when: str) -> list[Row]:
    """Of the processes that run, with all that NetworkManager's backend imports."""
    rows = []
    for name, process, limit in (
        ("daemon", hub.daemon, RSS_MB["wifimgrd"]),
        ("shim", hub.shim, RSS_MB["wifimgrd-http"]),
        ("helper", hub.helper, RSS_MB["wifimgrd-net"]),
    ):
        if process is None:
            continue
        held = process.memory()
        rows.append(
            Row(
                PART,
                f"{name}'s RSS {when}",
                "MB",
                [held.rss_mb],
                target=Target("ours", limit),
                details={"pss_mb": held.pss_mb},
            )
        )
    return rows


async def wake_ups_at_rest(stage: Stage, hub: Hub) -> dict[str, float]:
    """In a minute with adapters plugged in, none of them in use, by process."""
    adapters = [await stage.plugged(f"3.{number}", "short") for number in (1, 2)]
    for adapter in adapters:
        await hub.free(adapter.interface)
    await asyncio.sleep(_SETTLE_S)
    counted = await wake_ups({"daemon": hub.daemon, "shim": hub.shim}, _IDLE_S)
    for adapter in adapters:
        adapter.unplug()
    return counted


def idle_rows(part: str, counted: dict[str, float]) -> list[Row]:
    """What was counted."""
    return [
        Row(
            part,
            f"{name}'s wake-ups in a minute, nothing connected",
            "",
            [counted[name]],
            target=Target("ours", 0),
        )
        for name in ("daemon", "shim")
    ]
