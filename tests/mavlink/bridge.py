"""The bridge in virtual time, with a scripted hub, and a station at a socket."""

from __future__ import annotations

import asyncio
import secrets
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from tests.mavlink.scripted_hub import ScriptedHub
from tests.mavlink.station import Station
from tests.virtual_time import VirtualTimeLoop
from wifimgrd.config.configuration import Mavlink
from wifimgrd.domain.records import DeviceRecord
from wifimgrd.mavlink._bridge import Bridge
from wifimgrd.mavlink._cameras import Memory
from wifimgrd.mavlink._link import PAUSE_S
from wifimgrd.runtime.tasks import Tasks

MOMENT_S = 5 * PAUSE_S
"""For what was sent to be read and answered, though this process may have to wait in between."""


def free_port() -> int:
    """A port below those that sockets get by themselves: hundreds of stations do meanwhile, and one of them
    would have it."""
    while True:
        port = 20_000 + secrets.randbelow(12_768)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one, suppress(OSError):
            one.bind(("127.0.0.1", port))
            return port


@dataclass
class Rig:
    """The bridge, its hub, and the station that it sends to."""

    hub: ScriptedHub
    station: Station
    bridge: Bridge
    memory: Memory

    async def after(self, seconds: float = MOMENT_S) -> list[Any]:
        """What the station has received when some time has passed."""
        await asyncio.sleep(seconds)
        return self.station.received()

    async def asked(self, component: int, number: int, *parameters: float) -> list[Any]:
        """What comes within a moment after a command."""
        self.station.received()
        self.station.command(component, number, *parameters)
        return await self.after()

    async def armed(self, *said: bool, component: int = 1, system: int = 1) -> None:
        """Heartbeats of the autopilot, one each second."""
        autopilot = Station(system=system, component=component)
        autopilot.peer = self.station.peer
        # the same socket, since the bridge hears only whom it sends to
        autopilot.close()
        autopilot.socket = self.station.socket
        for one in said:
            autopilot.beat(armed=one, kind=2)
            await asyncio.sleep(1.0)


def run(
    play: Callable[[Rig], Awaitable[None]],
    *devices: DeviceRecord,
    memory: Memory | None = None,
    key: bytes | None = None,
    hub: ScriptedHub | None = None,
    connection: str = "",
    **settings: Any,
) -> None:
    """Play a test; in it the bridge has sent its first heartbeats."""

    async def main() -> None:
        station = Station(key=key)
        chosen, kept = hub or ScriptedHub(*devices), memory or Memory(None)
        table = Mavlink(connection=connection or station.address, **settings)
        tasks = Tasks("test")
        bridge = Bridge(chosen, table, key, kept, tasks)
        try:
            await bridge.start()
            await asyncio.sleep(PAUSE_S)
            station.received()
            await play(Rig(chosen, station, bridge, kept))
            assert not any(station.gaps.values()), "a station would show losses"
        finally:
            await bridge.stop()
            station.close()

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        runner.run(main())
