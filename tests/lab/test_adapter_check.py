"""`wifimgrctl adapter check`, on real 802.11 with either backend."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

from .backends import on_both
from .guest.access_point import Camera
from .guest.adapters import Adapter
from .guest.namespace import run
from .guest.whole_hub import whole_hub

Cameras = Callable[..., Camera]
Plug = Callable[..., Awaitable[Adapter]]


@on_both
async def test_an_adapter_does_all_that_the_hub_needs(plug: Plug, cameras: Cameras) -> None:
    adapter = await plug()
    async with whole_hub() as hub:
        await hub.interface_state(adapter.interface, "available")
        device = await hub.add(cameras("A"))
        await hub.until(device, "connected")
        await hub.disconnect(device)
        await hub.interface_state(adapter.interface, "available")
        command = ("wifimgrctl", "adapter", "check", adapter.interface, "--seconds", "3", "--json")
        found: dict[str, Any] = json.loads(await asyncio.to_thread(run, *command))
        results = {one["check"]: one["result"] for one in found["checks"]}
        passed = ("scan", "join", "traffic", "signal", "power save", "leave", "rescan", "restart")
        assert results == dict.fromkeys(passed, "passed") | {"replug": "not tried", "power-port": "not tried"}
        replug, power = found["checks"][-2:]
        assert "is not on USB" in replug["seen"]
        assert "is not one of `power_ports`" in power["seen"]
