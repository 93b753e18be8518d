"""Connected cameras with a process of their own to speak to them: emulated ones at TCP ports of this host."""

from __future__ import annotations

import asyncio
import os
import pwd
from asyncio.subprocess import DEVNULL
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

import aiohttp

from benchmarks import interpreter
from benchmarks.accounting import Account
from benchmarks.cameras.emulated import CODENAMES, Served, served_cameras
from benchmarks.host.world import DEVICES, World, running_world

_LIMIT_S: Final = 60.0


@dataclass(slots=True)
class Scene:
    """Connected cameras, all of which were read."""

    world: World
    process: Account
    """wifimgrd-camera."""
    cameras: Sequence[Served]
    devices: Sequence[int]
    session: aiohttp.ClientSession

    @property
    def url(self) -> str:
        """Of the devices, over HTTP."""
        return f"{self.world.url}{DEVICES}"

    async def record(self, *, on: bool) -> list[dict[str, Any]]:
        """Command all of them; the results."""
        wanted = {"recording": on, "all": True}
        async with self.session.post(f"{self.url}/recording", json=wanted) as answer:
            answer.raise_for_status()
            results: list[dict[str, Any]] = (await answer.json())["results"]
        if len(results) != len(self.cameras) or not all(one["done"] for one in results):
            raise RuntimeError(f"not all cameras did it: {results}")
        return results

    async def until_read(self) -> None:
        """Wait until each camera was read."""
        async with asyncio.timeout(_LIMIT_S):
            for device in self.devices:
                while (await self._camera(device))["recording"] is None:  # noqa: ASYNC110 - of a process
                    await asyncio.sleep(0.1)

    async def _camera(self, device: int) -> dict[str, Any]:
        async with self.session.get(f"{self.url}/{device}/camera") as answer:
            found: dict[str, Any] = await answer.json()
            return found


@asynccontextmanager
async def running_scene(count: int, *, signal_swing: int = 0) -> AsyncIterator[Scene]:
    """So many cameras, connected and read; `signal_swing` as for a world."""
    async with served_cameras(count) as (cameras, ports):
        listed = ",".join(map(str, ports))
        daemon = (interpreter.PYTHON, "-m", "benchmarks.cameras.daemon", listed)
        async with (
            running_world(count, count, daemon=daemon, signal_swing=signal_swing) as world,
            aiohttp.ClientSession() as session,
        ):
            process = await asyncio.create_subprocess_exec(
                *interpreter.command("wifimgrd-camera"),
                *("--bus", world.address, "--user", pwd.getpwuid(os.getuid()).pw_name),
                *("--linger", "600"),
                env=interpreter.environment(),
                stdin=DEVNULL,
            )
            try:
                devices = await world.register(count, CODENAMES)
                if devices != list(range(1, count + 1)):  # each has the camera with its number
                    raise RuntimeError(f"devices were registered in another order: {devices}")
                await world.connect(devices)
                scene = Scene(world, Account(process.pid), cameras, devices, session)
                await scene.until_read()
                yield scene
            finally:
                if process.returncode is None:
                    process.terminate()
                    await process.wait()
