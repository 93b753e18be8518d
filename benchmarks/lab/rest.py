"""Memory of the installed hub, and its wake-ups while adapters are idle."""

from __future__ import annotations

import asyncio
from typing import Final

from benchmarks.host.footprint import DAEMON_MB, SHIM_MB, wake_ups
from benchmarks.lab.hub import Hub
from benchmarks.lab.joins import PART
from benchmarks.table import Row, Target

_SETTLE_S: Final = 10.0
"""What was plugged in a moment ago is still being read."""
_IDLE_S: Final = 60.0


def memory(hub: Hub, when: str) -> list[Row]:
    """Of both processes, with all that NetworkManager's backend imports."""
    rows = []
    for name, process, limit in (("daemon", hub.daemon, DAEMON_MB), ("shim", hub.shim, SHIM_MB)):
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


async def idle(hub: Hub) -> list[Row]:
    """A minute with adapters plugged in, none of them in use."""
    await asyncio.sleep(_SETTLE_S)
    counted = await wake_ups({"daemon": hub.daemon, "shim": hub.shim}, _IDLE_S)
    return [
        Row(
            PART,
            f"{name}'s wake-ups in a minute, nothing connected",
            "",
            [counted[name]],
            target=Target("ours", 0),
        )
        for name in ("daemon", "shim")
    ]
