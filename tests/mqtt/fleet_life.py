"""A random life of several hubs at one broker: what a view of all shows is what each hub says.

`make test-all` runs it for two minutes, `make soak` for longer; it is no part of the suite.
"""

from __future__ import annotations

import asyncio
import json
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest

from tests.commands import connect, disconnect
from tests.faults.random_life import chance_of, duration_s, seed
from tests.faults.simulated_world import CAMERAS, SimulatedWorld
from tests.message_bus import MessageBusDaemon
from tests.mqtt.bridge_process import BridgeProcess
from tests.mqtt.fleet_view import FleetView, fleet_view
from tests.mqtt.mosquitto import Mosquitto
from tests.mqtt.observer import observer
from tests.processes import Hub, camera, has_no_traceback, running_hub
from wifimgrd.client.json_records import device_json, interface_json
from wifimgrd.client.json_text import dumps
from wifimgrd.domain.errors import WifimgrdError
from wifimgrd.mqtt._connection import BrokerError
from wifimgrd.mqtt._pace import CAMERA_COUNTS, DEVICE_NUMBERS
from wifimgrd.mqtt._topics import Topics

DURATION_S: Final = duration_s("2m")
SEED: Final = seed()
HUBS: Final = ("hub-1", "hub-2", "hub-3")
DEVICES_EACH: Final = 4
ACTS: Final = 15
"""Between two quiet moments."""
MEANWHILE: Final = 4
"""Changes while something is away, at most."""
SETTLED_S: Final = 90.0
"""The limit of a quiet moment: attempts of cameras end, and everybody has connected again."""
RUNNING: Final = {"connecting", "disconnecting"}
ENDS: Final = (signal.SIGTERM, signal.SIGKILL)
PACED: Final = {f"{name}{unit}" for name in (*DEVICE_NUMBERS, *CAMERA_COUNTS) for unit in ("", "_ms", "_s")}
"""What changes all the time, by its names in JSON: it is published in steps, or once a minute."""


@dataclass(slots=True)
class Life:
    """One hub: its daemon, its bridge, its cameras and adapters."""

    name: str
    hub: Hub
    bridge: BridgeProcess
    world: SimulatedWorld
    chance: random.Random
    devices: list[int] = field(default_factory=list)
    """In the order of their creation; the first is never removed."""
    names: int = 0

    async def create(self) -> None:
        number, name = self.chance.choice(CAMERAS), self._name()
        self.devices.append(await self.hub.client.create_device({**camera(number), "name": name}))

    async def rename(self, device: int) -> None:
        await self.hub.client.update_device(device, {"name": self._name()})

    async def act(self) -> None:
        """One change by a user, or of the world. What is chosen does not depend on what has come of it."""
        kinds = ("create", "connect", "connect", "disconnect", "rename", "remove", "world", "world")
        kind, device, when_free = (
            self.chance.choice(kinds),
            self.chance.choice(self.devices),
            self.chance.choice((False, True)),
        )
        match kind:
            case "create" if len(self.devices) < DEVICES_EACH:
                await self.create()
            case "connect":
                with suppress(WifimgrdError):  # no adapter is free, or the camera is off
                    await connect(self.hub.client, device, when_free=when_free)
            case "disconnect":
                with suppress(WifimgrdError):
                    await disconnect(self.hub.client, device)
            case "rename":
                await self.rename(device)
            case "remove" if device != self.devices[0]:
                self.devices.remove(device)
                await self.hub.client.remove_device(device)
            case "world":
                await self.world.act()

    def _name(self) -> str:
        self.names += 1
        return f"{self.name} {self.names}"


@dataclass(slots=True)
class Fleet:
    """The hubs, the broker, and the view of all of them."""

    broker: Mosquitto
    view: FleetView
    chance: random.Random
    lives: list[Life]
    done: Counter[str] = field(default_factory=Counter)

    async def act(self) -> None:
        """One change somewhere, or something is away for some changes."""
        happenings: dict[str, Callable[[Life], Awaitable[None]]] = {
            "camera or adapter": Life.act,
            "command": self._command,
            "broker killed": self._kill_broker,
            "broker stands still": self._stall_broker,
            "bridge restarted": self._restart_bridge,
            "daemon restarted": self._restart_daemon,
        }
        [kind] = self.chance.choices(list(happenings), weights=(12, 4, 1, 1, 2, 1))
        self.done[kind] += 1
        await happenings[kind](self.chance.choice(self.lives))

    async def _meanwhile(self) -> None:
        for _ in range(self.chance.randint(0, MEANWHILE)):
            await self.chance.choice(self.lives).act()

    async def _command(self, life: Life) -> None:
        """A command over the broker, if that and the hub's bridge are there by now."""
        device = self.chance.choice(life.devices)
        action = self.chance.choice(("connect", "disconnect"))
        with suppress(BrokerError, TimeoutError):
            await self.view.command(life.name, device, action, timeout_s=5)

    async def _kill_broker(self, _: Life) -> None:
        self.broker.persistence = self.chance.choice((False, True))
        await self.broker.kill()
        await self._meanwhile()
        await self.broker.start()

    async def _stall_broker(self, _: Life) -> None:
        assert self.broker.process is not None
        self.broker.process.send_signal(signal.SIGSTOP)
        await self._meanwhile()
        self.broker.process.send_signal(signal.SIGCONT)

    async def _restart_bridge(self, life: Life) -> None:
        await life.bridge.end(self.chance.choice(ENDS))
        await self._meanwhile()
        await life.bridge.start()

    async def _restart_daemon(self, life: Life) -> None:
        await life.hub.end(self.chance.choice(ENDS))
        life.world.pulled.clear()
        await life.hub.start()

    # -- quiet moments

    async def quiet(self) -> None:
        """Everything works, nobody acts, and each hub has published a last change: all show the same."""
        for life in self.lives:
            await life.world.mend()
            await life.rename(life.devices[0])
        changed = asyncio.Event()
        ends = [one.subscribe(lambda _: changed.set()) for one in (life.hub.client for life in self.lives)]
        ends.append(self.view.subscribe(lambda *_: changed.set()))
        try:
            async with asyncio.timeout(SETTLED_S):
                while self._differences():
                    changed.clear()
                    await changed.wait()
        except TimeoutError:
            raise AssertionError(f"not the same: {self._differences()}") from None
        finally:
            for end in ends:
                end()
        async with observer(self.broker.port) as seen:
            await seen.until(lambda: set(seen.retained) - self._not_retained() == self._topics())

    def _differences(self) -> list[str]:
        """Where the view shows something else than a hub says over D-Bus, or something is in between."""
        found = [f"{hub}: not a hub" for hub in self.view.hubs if hub not in HUBS]
        for life in self.lives:
            if not self.view.is_online(life.name):
                found.append(f"{life.name}: not online")
                continue
            said, shown = life.hub.client, _comparable(self.view.hubs[life.name].records)
            records: dict[str, Any] = {f"devices/{one.id}": device_json(one) for one in said.devices.values()}
            records |= {f"interfaces/{one.name}": interface_json(one) for one in said.interfaces.values()}
            expected = _comparable(json.loads(dumps(records)))
            shown.pop("hub", None)
            if sorted(said.devices) != sorted(life.devices):
                found.append(f"{life.name}: cameras {sorted(said.devices)}, registered {life.devices}")
            found += [
                f"{life.name}/{below}: {shown.get(below)}, not {expected.get(below)}"
                for below in shown.keys() | expected.keys()
                if shown.get(below) != expected.get(below)
            ]
            found += [
                f"{life.name}/{one.id}: {one.state}" for one in said.devices.values() if one.state in RUNNING
            ]
        return found

    def _not_retained(self) -> set[str]:
        """What an observer may receive beside that: its own marker, and events."""
        return {"answers/marker", *(Topics("wifimgrd", life.name).events for life in self.lives)}

    def _topics(self) -> set[str]:
        """What the broker is to retain, and nothing else."""
        found: set[str] = set()
        for life in self.lives:
            topics, client = Topics("wifimgrd", life.name), life.hub.client
            found |= {topics.availability, topics.claim, topics.hub_record, topics.discovery_record}
            found |= {topics.device(one) for one in client.devices}
            found |= {topics.interface(one) for one in client.interfaces}
            found |= {topics.discovery("homeassistant", one) for one in (None, *client.devices)}
        return found


def _comparable(records: Mapping[str, Any]) -> dict[str, Any]:
    """The records but for what is published in steps, or once a minute: of that, whether it is known."""
    return {
        name: value is not None
        if name in PACED
        else _comparable(value)
        if isinstance(value, Mapping)
        else value
        for name, value in records.items()
    }


@asynccontextmanager
async def a_life(folder: Path, number: int, port: int) -> AsyncIterator[Life]:
    """A hub of its own message bus, from start to stop."""
    name = HUBS[number]
    folder /= name
    folder.mkdir()
    with MessageBusDaemon.start() as bus:
        async with running_hub(bus.address, folder / "state") as hub:
            keys = f'broker = "mqtt://127.0.0.1:{port}"\nhub = "{name}"\ncommands = true'
            bridge = BridgeProcess(folder / "bridge", bus.address, keys)
            world = SimulatedWorld(hub.client, chance_of(SEED, 2 * number + 1))
            life = Life(name, hub, bridge, world, chance_of(SEED, 2 * number + 2))
            await life.create()
            await bridge.start()
            try:
                yield life
            finally:
                await bridge.end(signal.SIGKILL)
    has_no_traceback(bridge.log)
    assert "camera-pass" not in bridge.log.read_text()


async def test_the_fleet_view_shows_what_each_hub_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    end = time.monotonic() + DURATION_S
    broker = Mosquitto(tmp_path / "broker", persistence=True)
    await broker.start()
    try:
        async with AsyncExitStack() as stack:
            lives = [
                await stack.enter_async_context(a_life(tmp_path, number, broker.port))
                for number in range(len(HUBS))
            ]
            view = await stack.enter_async_context(fleet_view(broker.port))
            fleet = Fleet(broker, view, chance_of(SEED, 0), lives)
            moments = 0
            while time.monotonic() < end or not moments:
                for _ in range(ACTS):
                    await fleet.act()
                began = time.monotonic()
                await fleet.quiet()
                moments += 1
                with capsys.disabled():
                    waited_s = time.monotonic() - began
                    sys.stdout.write(
                        f"\nseed {SEED}, quiet moment {moments} after {waited_s:.1f} s; {dict(fleet.done)}"
                    )
    finally:
        await broker.kill()
