"""What four cameras send at once to an accepted port, beside the same through NetworkManager's own links."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from typing import Final

from benchmarks.lab.hub import ACCEPTED_PORT, Hub
from benchmarks.lab.joins import PART
from benchmarks.lab.networkmanager_stage import NetworkManagerStage
from benchmarks.lab.stage import switched_on
from benchmarks.table import Row, Target
from tests.lab.guest.access_point import Camera
from tests.lab.guest.adapters import Adapter
from tests.lab.guest.network_manager import DeviceState

_CAMERAS: Final = 4
_HOST: Final = 20
"""The host number that each camera lends."""
_BLOCKS: Final = 3
_ROUNDS: Final = 3
_BYTES: Final = 5_000_000
_CHUNK: Final = 1 << 18
_PATIENCE_S: Final = 60.0
_OF_DIRECT: Final = 0.95


async def pushes(stage: NetworkManagerStage, hub: Hub) -> list[Row]:
    """Blocks of rounds in turns. The cameras differ in their subnets, which links of NetworkManager's own
    need to be told apart."""
    adapters = [await stage.plugged(f"5.{number}", "short") for number in range(1, _CAMERAS + 1)]
    cameras = [
        Camera(f"push{number}", subnet=f"192.168.{50 + number}", leases=(_HOST, _HOST))
        for number in range(_CAMERAS)
    ]
    ours: list[float] = []
    direct: list[float] = []
    with switched_on(*cameras):
        for adapter in adapters:
            await hub.free(adapter.interface)
        devices = [await hub.add(camera) for camera in cameras]
        for _ in range(_BLOCKS):
            for device in devices:
                await hub.connected(device)
            ours += await _rounds(cameras)
            for device in devices:
                await hub.disconnect(device)
            for adapter in adapters:
                await hub.free(adapter.interface)
            async with _bare(stage, adapters, cameras):
                direct += await _rounds(cameras)
        for device in devices:
            await hub.remove(device)
    for adapter in adapters:
        adapter.unplug()
    return [
        Row(
            PART,
            f"{_BYTES // 10**6} MB from each of {_CAMERAS} cameras at once, to an accepted port",
            "s",
            ours,
            direct,
            "through links of NetworkManager alone",
            Target("ratio", 1 / _OF_DIRECT),
        )
    ]


@contextlib.asynccontextmanager
async def _bare(
    stage: NetworkManagerStage, adapters: list[Adapter], cameras: list[Camera]
) -> AsyncIterator[None]:
    """Links that NetworkManager has made by itself."""
    for adapter, camera in zip(adapters, cameras, strict=True):
        _, state = await stage.outcome_bare(adapter, camera)
        if state is not DeviceState.ACTIVATED:
            raise RuntimeError(f"NetworkManager did not join {camera.name}")
    yield
    for adapter in adapters:
        await stage.leave_bare(adapter)


async def _rounds(cameras: list[Camera]) -> list[float]:
    """Seconds of each round but a first one: from the first connection to the last byte of all."""
    return [await _round(cameras) for _ in range(_ROUNDS + 1)][1:]


async def _round(cameras: list[Camera]) -> float:
    left = len(cameras)
    all_came = asyncio.Event()

    async def receive(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal left
        data = 0
        while chunk := await reader.read(_CHUNK):
            data += len(chunk)
        writer.close()
        if data != _BYTES:
            raise ConnectionError(f"{data} bytes came of {_BYTES}")
        left -= 1
        if not left:
            all_came.set()

    async with await asyncio.start_server(receive, "0.0.0.0", ACCEPTED_PORT), asyncio.timeout(_PATIENCE_S):
        began = time.monotonic()
        sent = [
            asyncio.to_thread(one.stream, f"{one.subnet}.{_HOST}", ACCEPTED_PORT, _BYTES) for one in cameras
        ]
        await asyncio.gather(*sent)
        await all_came.wait()
        return time.monotonic() - began
