"""A bridge at a broker, as processes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from benchmarks.accounting import Account
from tests.mqtt.bridge_process import BridgeProcess
from tests.mqtt.mosquitto import Mosquitto


@asynccontextmanager
async def running_broker(folder: Path, *lines: str, persistence: bool = False) -> AsyncIterator[Mosquitto]:
    """A broker with its default limits. With persistence it stores everything every few seconds."""
    if persistence:
        lines += ("persistence true", f"persistence_location {folder}/", "autosave_interval 5")
    broker = Mosquitto(folder, ("allow_anonymous true", *lines))
    await broker.start()
    try:
        yield broker
    finally:
        await broker.kill()


@asynccontextmanager
async def running_bridge(folder: Path, bus: str, keys: str) -> AsyncIterator[Account]:
    """A bridge with these lines of configuration, from its connection to the broker to its end."""
    bridge = BridgeProcess(folder, bus, keys, is_cold=True)
    await bridge.start()
    try:
        await bridge.until_logged("broker_connected")
        if bridge.process is None:
            raise RuntimeError("the bridge has not started")
        yield Account(bridge.process.pid)
    finally:
        await bridge.end()
