"""Many hubs at one broker: latency, a broker that is killed, an idle bridge."""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median, quantiles
from typing import Any, Final

from benchmarks import progress
from benchmarks.fleet.bridge import running_bridge, running_broker
from benchmarks.fleet.hubs import CAMERAS
from benchmarks.fleet.pipes import Program, program
from benchmarks.table import Row, Target
from tests.commands import connect, disconnect
from tests.message_bus import MessageBusDaemon
from tests.mqtt.certificates import Authority
from tests.mqtt.fleet_view import fleet_view, until
from tests.processes import COLD_DAEMON, Hub, running_hub
from wifimgrd.client.changes import Change, DeviceChanged
from wifimgrd.client.json_records import device_json
from wifimgrd.client.json_text import dumps

PART: Final = "Fleet: hubs at one broker"
_MANY: Final = 1000
_FEW: Final = 10
_TOGGLES: Final = 40
_CHANGES: Final = _MANY * CAMERAS // 100
"""A second."""
_SECONDS: Final = 10
_TURNS: Final = 4
_REST_S: Final = 3.0
_AWAY_S: Final = 30.0
"""So long that the pauses between connections have grown to their maximum."""
_IDLE_S: Final = 60.0
_SCENARIO: Final = """\
adapter_count = 4
camera_count = 4
[times]
join_s = 0.05
leave_s = 0.02
"""


async def measure() -> list[Row]:
    """All rows of the fleet."""
    with tempfile.TemporaryDirectory(prefix="wifimgrd-bench-") as name:
        folder = Path(name)
        rows = await _one_hub(folder)
        rows += await _many_hubs(folder)
    return rows


# -- one real hub


async def _one_hub(folder: Path) -> list[Row]:
    """From a signal on the bus to the callback, then a minute of rest."""
    authority = Authority(folder / "certificates", "authority")
    certificate, key = authority.sign("broker")
    tls = (f"cafile {authority.file}", f"certfile {certificate}", f"keyfile {key}")
    async with running_broker(folder / "broker") as broker, running_broker(folder / "tls", *tls) as with_tls:
        (folder / "scenario.toml").write_text(_SCENARIO)
        with MessageBusDaemon.start() as bus:
            arguments = ("--simulate", str(folder / "scenario.toml"))
            async with running_hub(bus.address, folder / "state", *arguments, program=COLD_DAEMON) as hub:
                progress.say(f"fleet: {_TOGGLES} connects and disconnects of a real hub")
                keys = f'broker = "mqtt://127.0.0.1:{broker.port}"\nhub = "boat"\ncommands = true'
                async with running_bridge(folder / "bridge", bus.address, keys):
                    latencies = await _toggles(hub, broker.port)
                progress.say("fleet: a minute of rest of a bridge with TLS")
                keys = f'broker = "mqtts://127.0.0.1:{with_tls.port}"\nhub = "boat"\n'
                keys += f'ca_file = "{authority.file}"'
                async with running_bridge(folder / "bridge-tls", bus.address, keys) as account:
                    await asyncio.sleep(10)  # until it has settled
                    rss_mb = account.memory().rss_mb
                    before = account.sleeps()
                    await asyncio.sleep(_IDLE_S)
                    woken = (account.sleeps() - before) * 60 / _IDLE_S
    details = {"p99_ms": quantiles(latencies, n=100)[98], "load": os.getloadavg()}
    note = "the signal as another client of the same bus receives it"
    return [
        Row(
            PART,
            f"from a hub's D-Bus signal to the callback, median of {len(latencies)}",
            "ms",
            [median(latencies)],
            target=Target("ours", 10),
            note=note,
            details=details,
        ),
        Row(PART, "bridge's RSS, with TLS", "MB", [rss_mb], target=Target("ours", 35)),
        Row(
            PART,
            "bridge's wake-ups in a minute of rest, watchdog off",
            "",
            [woken],
            target=Target("ours", 12),
            note="a keep-alive ping every 30 s and its answer, and a check of the answer every 7.5 s",
        ),
    ]


async def _toggles(hub: Hub, port: int) -> list[float]:
    """Milliseconds from each step of a connection on the bus to the same at a client of the broker."""
    device_id = await hub.create(1)
    await hub.until(device_id, "connected", 20)
    signals: dict[str, float] = {}
    latencies: list[float] = []

    def on_bus(change: Change) -> None:
        if isinstance(change, DeviceChanged) and change.is_step:
            now = time.perf_counter()
            signals.setdefault(_step(device_json(change.after)), now)

    def at_view(_: str, below: str, record: Any) -> None:
        if below == f"devices/{device_id}":
            now = time.perf_counter()
            if (began := signals.pop(_step(record), None)) is not None:
                latencies.append(1000 * (now - began))

    async with fleet_view(port) as view:
        await until(view, lambda: view.is_online("boat") and bool(view.hubs["boat"].device(device_id)))
        end = hub.client.subscribe(on_bus)
        view.subscribe(at_view)
        for _ in range(_TOGGLES):
            await disconnect(hub.client, device_id)
            await connect(hub.client, device_id, wait=True)
            await asyncio.sleep(0.1)  # a hub at rest, as between most changes
        end()
    return latencies


def _step(device: Mapping[str, Any]) -> str:
    """What is the same on the bus and at the broker."""
    return dumps({**device, "signal_strength": None})


# -- many


async def _many_hubs(folder: Path) -> list[Row]:
    async with _world(folder / "few", _FEW) as small, _world(folder / "many", _MANY) as big:
        for _ in range(_TURNS):
            for world in (small, big):
                await world.change()
        few, many = small.delays(), big.delays()
    rows = [
        Row(
            PART,
            f"1 % of {_MANY * CAMERAS} cameras a second, from the change to the callback, p99",
            "ms",
            [many["p99_ms"]],
            [few["p99_ms"]],
            f"{_FEW} hubs",
            Target("ours", 100),
            details=many,
        ),
    ]
    for persistence in (False, True):
        rows += await _restart(folder / f"restart-{persistence}", persistence=persistence)
    return rows


@dataclass(slots=True)
class _World:
    """A broker with so many hubs, and a view of them."""

    count: int
    hubs: Program
    view: Program
    latencies: list[float] = field(default_factory=list)

    async def change(self) -> None:
        """So many changes a second, whatever the number of hubs."""
        progress.say(f"fleet: {_SECONDS} s of changes at {self.count} hubs")
        for _ in range(10 * _SECONDS):
            self.hubs.send(f"change {_CHANGES // 10}")
            await asyncio.sleep(0.1)
        self.latencies += await _latencies(self.view, _SECONDS * _CHANGES)

    def delays(self) -> dict[str, Any]:
        """What was measured."""
        return {
            "p99_ms": quantiles(self.latencies, n=100)[98],
            "median_ms": median(self.latencies),
            "most_ms": max(self.latencies),
            "changes": len(self.latencies),
            "load": os.getloadavg(),
        }


@asynccontextmanager
async def _world(folder: Path, count: int) -> AsyncIterator[_World]:
    async with (
        running_broker(folder) as broker,
        program("hubs", broker.port, count) as hubs,
        program("view", broker.port) as view,
    ):
        progress.say(f"fleet: {count} hubs connect")
        await view.request(f"count {count}")
        await asyncio.sleep(_REST_S)
        await view.request("latencies")
        yield _World(count, hubs, view)


async def _latencies(view: Program, expected: int) -> list[float]:
    """All of them: a change that is replaced by the next before it is published does not come."""
    found: list[float] = []
    for _ in range(20):
        more = await view.request("latencies")
        found += more
        if not more and len(found) > 0.9 * expected:
            return found
        await asyncio.sleep(0.25)
    raise RuntimeError(f"{len(found)} of {expected} changes have arrived")


async def _restart(folder: Path, *, persistence: bool) -> list[Row]:
    """The broker is killed, cameras change while it is away, and it is started again."""
    async with (
        running_broker(folder, persistence=persistence) as broker,
        program("hubs", broker.port, _MANY) as hubs,
        program("view", broker.port) as view,
    ):
        await view.request(f"count {_MANY}")
        await hubs.request("connections")
        kept = "with" if persistence else "without"
        progress.say(f"fleet: the broker is killed, {kept} persistence, and is away for {_AWAY_S:g} s")
        await broker.kill()
        await asyncio.sleep(_AWAY_S / 2)
        hubs.send("remove")
        hubs.send(f"change {_MANY}")
        await asyncio.sleep(_AWAY_S / 2)
        await broker.start()
        began = time.time()
        back_s = await view.request(f"count {_MANY}") - began
        await asyncio.sleep(2)  # the last records
        same = await view.request("state") == await hubs.request("state")
        connections = [at - began for at in await hubs.request("connections")]
    if not same:
        raise RuntimeError("the client does not show what the hubs have")
    a_second = Counter(int(at) for at in connections)
    details = {"most_a_second": max(a_second.values()), "a_second": dict(sorted(a_second.items()))}
    return [
        Row(
            PART,
            f"broker killed, {kept} persistence: until the last of {_MANY} hubs is shown, each as it is",
            "s",
            [back_s],
            target=Target("ours", 30),
            details=details | {"load": os.getloadavg()},
        ),
        Row(PART, "the most connections in one second then", "", [max(a_second.values())]),
    ]
