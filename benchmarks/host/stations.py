"""What six cameras cost as MAVLink cameras: at rest, and beside a station that asks."""

from __future__ import annotations

import asyncio
import socket
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Final

from benchmarks.accounting import Account
from benchmarks.ceilings import RSS_MB
from benchmarks.host.start import started
from benchmarks.table import Row, Target
from tests.commands import connect
from tests.message_bus import MessageBusDaemon
from tests.processes import COLD_DAEMON, Hub, running_hub
from wifimgrd.mavlink import _frames as wire

PART: Final = "Host: ground stations"
_CAMERAS: Final = 6
_SETTLE_S: Final = 5.0
_LASTS_S: Final = 60.0
_ASKS_S: Final = 1.0
_STATION: Final = (255, 190)
"""Its system and component."""
_REQUEST_MESSAGE: Final = 512
_CPU_PERCENT: Final = 0.3
"""Of one core."""
_HEARTBEATS: Final = 60
"""The wake-ups in a minute at rest."""
_SCENARIO: Final = f"""\
adapter_count = {_CAMERAS}
camera_count = {_CAMERAS}
[times]
join_s = 0.05
leave_s = 0.02
"""


async def stations() -> list[Row]:
    """A minute beside nobody, one beside a station that listens, one beside an autopilot that asks."""
    rows = []
    with tempfile.TemporaryDirectory(prefix="wifimgrd-bench-") as name, MessageBusDaemon.start() as bus:
        folder = Path(name)
        (folder / "scenario.toml").write_text(_SCENARIO)
        simulate = ("--simulate", str(folder / "scenario.toml"))
        async with running_hub(bus.address, folder / "state", *simulate, program=COLD_DAEMON) as hub:
            await _connect_all(hub)
            with closing(_station()) as station:
                port = station.getsockname()[1]
                async with started("wifimgrd-mavlink", bus.address, folder):
                    pass  # its modules are compiled now
                async with started("wifimgrd-mavlink", bus.address, folder, station=port) as bridge:
                    account = Account(bridge.pid)
                    await asyncio.sleep(_SETTLE_S)
                    cpu, woken = await _minute(account)
                    asking = asyncio.create_task(_ask(station))
                    await asyncio.sleep(_SETTLE_S)
                    asked_cpu, asked_woken = await _minute(account)
                    asking.cancel()
                    held_mb = account.memory().rss_mb
            async with started("wifimgrd-mavlink", bus.address, folder) as bridge:
                await asyncio.sleep(_SETTLE_S)
                alone_cpu, alone_woken = await _minute(Account(bridge.pid))
    for what, percent, count, most in (
        ("heartbeats alone", cpu, woken, _HEARTBEATS),
        ("the same, and nobody listens", alone_cpu, alone_woken, None),
        ("the same, and an autopilot asks each camera every second", asked_cpu, asked_woken, None),
    ):
        limit = Target("ours", _CPU_PERCENT)
        rows.append(Row(PART, f"CPU of one core, {_CAMERAS} cameras, {what}", "%", [percent], target=limit))
        at_most = None if most is None else Target("ours", most * 1.05)
        rows.append(Row(PART, "wake-ups in a minute, watchdog off", "", [count], target=at_most))
    ceiling = Target("ours", RSS_MB["wifimgrd-mavlink"])
    return [*rows, Row(PART, "its RSS after that", "MB", [held_mb], target=ceiling)]


async def _connect_all(hub: Hub) -> None:
    for number in range(1, _CAMERAS + 1):
        await connect(hub.client, await hub.create(number), wait=True)


def _station() -> socket.socket:
    """The end of a ground station or an autopilot."""
    station = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    station.bind(("127.0.0.1", 0))
    station.setblocking(False)
    return station


async def _minute(account: Account) -> tuple[float, float]:
    """The percentage of a core, and the wake-ups."""
    loop = asyncio.get_running_loop()
    cpu_s, sleeps, began_s = account.cpu_s(), account.sleeps(), loop.time()
    await asyncio.sleep(_LASTS_S)
    lasted_s = loop.time() - began_s
    return (account.cpu_s() - cpu_s) / lasted_s * 100, (account.sleeps() - sleeps) / lasted_s * 60


async def _ask(station: socket.socket) -> None:
    """What ArduPilot does, for ever: it asks each camera for its capture status, all in one instant."""
    _, camera = await asyncio.get_running_loop().sock_recvfrom(station, 2048)
    sequence = 0
    while True:
        for component in range(100, 100 + _CAMERAS):
            values = {
                "command": _REQUEST_MESSAGE,
                "param1": wire.CAMERA_CAPTURE_STATUS.id,
                "target_system": 1,
                "target_component": component,
            }
            station.sendto(wire.frame(wire.COMMAND_LONG, values, *_STATION, sequence), camera)
            sequence += 1
        await asyncio.sleep(_ASKS_S)
