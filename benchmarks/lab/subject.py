"""A camera and an adapter that are connected again and again."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from benchmarks.lab.hub import Hub
from benchmarks.lab.stage import Stage, switched_on
from tests.lab.guest.access_point import Camera
from tests.lab.guest.adapters import Adapter


@dataclass(frozen=True, slots=True)
class Subject:
    """A camera that is on and known to the hub, and an adapter for it."""

    adapter: Adapter
    camera: Camera
    device: int


@asynccontextmanager
async def connected_once(stage: Stage, hub: Hub) -> AsyncIterator[Subject]:
    """A camera and an adapter that have been connected once."""
    adapter = await stage.plugged("1.1", "short")
    camera = Camera("listed")
    with switched_on(camera):
        device = await hub.add(camera)
        await hub.free(adapter.interface)
        await hub.connected(device)  # without NetworkManager an adapter is registered by its first join
        await hub.disconnect(device)
        yield Subject(adapter, camera, device)
        await hub.remove(device)
    adapter.unplug()
