"""A broker, a hub, and the bridge between them: all real processes."""

from __future__ import annotations

import signal
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from tests.message_bus import MessageBusDaemon
from tests.mqtt.bridge_process import BridgeProcess
from tests.mqtt.mosquitto import Mosquitto
from tests.mqtt.observer import Observer, observer
from tests.processes import Hub, has_no_traceback

HUB = "wifimgrd/boat"
Start = Callable[..., BridgeProcess]


@pytest.fixture
async def broker(tmp_path: Path) -> AsyncIterator[Mosquitto]:
    """A running Mosquitto; tests may change its lines and start it anew."""
    broker = Mosquitto(tmp_path / "broker", persistence=True)
    await broker.start()
    yield broker
    await broker.kill()


@pytest.fixture
async def bridges(tmp_path: Path, message_bus: MessageBusDaemon, broker: Mosquitto) -> AsyncIterator[Start]:
    """Makes bridges, which are ended with the test; the log of each must hold no traceback."""
    made: list[BridgeProcess] = []

    def make(keys: str = "commands = true", address: str = "") -> BridgeProcess:
        where = address or f"mqtt://127.0.0.1:{broker.port}"
        lines = f'broker = "{where}"\n' + ("" if "hub =" in keys else 'hub = "boat"\n') + keys
        made.append(BridgeProcess(tmp_path / f"bridge-{len(made)}", message_bus.address, lines))
        return made[-1]

    yield make
    for one in made:
        if one.process is not None:
            await one.end(signal.SIGKILL)
            has_no_traceback(one.log)


@pytest.fixture
async def bridge(bridges: Start, hub: Hub, request: pytest.FixtureRequest) -> BridgeProcess:
    """A running bridge, of the hub `boat`; a cold one for tests with such a parameter."""
    assert hub.client.available
    bridge = bridges()
    bridge.is_cold = getattr(request, "param", "") == "cold"
    await bridge.start()
    return bridge


@pytest.fixture
async def seen(broker: Mosquitto, bridge: BridgeProcess) -> AsyncIterator[Observer]:
    """What is at the broker, once the hub is online."""
    del bridge
    async with observer(broker.port) as one:
        await one.until(lambda: one.retained.get(f"{HUB}/availability") == b"online")
        yield one
