"""How soon a loss or a failure is told, by us and by NetworkManager alone."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import aiohttp

from benchmarks.lab.hub import Hub
from benchmarks.lab.joins import PART
from benchmarks.lab.stage import Stage, on_air
from benchmarks.table import Row, Target
from tests.lab.guest.access_point import Camera
from tests.lab.guest.adapters import Adapter
from tests.lab.guest.network_manager import DeviceState
from tests.lab.guest.whole_hub import URL

_ROUNDS: Final = 8
_EVENT_S: Final = 30.0
_WRONG: Final = "not-the-password"


@dataclass(frozen=True, slots=True)
class Alone:
    """What NetworkManager by itself needs, in seconds."""

    switched_off: float
    power_cut: float
    wrong_sae: float
    absent: float
    scans_for_absent: int


@dataclass(slots=True)
class Channel:
    """The management channel's messages, with the time at which each came."""

    messages: list[tuple[float, Any]] = field(default_factory=list)
    arrival: asyncio.Event = field(default_factory=asyncio.Event)

    async def listen(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        async for message in socket:
            self.messages.append((time.monotonic(), json.loads(message.data)))
            self.arrival.set()

    async def state(self, device: int, state: str, first: int) -> float:
        """When the channel told a state of a device, from the message of that number on."""
        async with asyncio.timeout(_EVENT_S):
            while True:
                for came, message in self.messages[first:]:
                    data = message.get("data", {})
                    if message["type"] == "device.connection_status.update" and (
                        data["id"],
                        data["connection_status"],
                    ) == (device, state):
                        return came
                self.arrival.clear()
                await self.arrival.wait()


async def losses(stage: Stage, hub: Hub, alone: Alone) -> list[Row]:
    """From the camera's end to the event on the WebSocket."""
    adapter = await stage.plugged("1.3", "short")
    camera, channel = Camera("lost"), Channel()
    async with aiohttp.ClientSession() as session, session.ws_connect(URL + "/ws/management/") as socket:
        listening = asyncio.create_task(channel.listen(socket))
        with on_air(camera):
            device = await hub.add(camera)
            await hub.free(adapter.interface)
            await hub.connected(device)
            times = [await _times(channel, device, camera, end) for end in (_switch_off, _cut)]
            await hub.remove(device)
        listening.cancel()
    adapter.unplug()
    return [
        Row(PART, f"{what}, to the event", "s", ours, [theirs], "NetworkManager alone", Target("ours", limit))
        for what, ours, theirs, limit in (
            ("switched off", times[0], alone.switched_off, 0.15),
            ("power cut", times[1], alone.power_cut, 1.3),
        )
    ]


def _switch_off(camera: Camera) -> float:
    began = time.monotonic()
    camera.stop()
    return began


def _cut(camera: Camera) -> float:
    camera.crash()
    began = time.monotonic()
    camera.fall_silent()
    return began


async def _times(
    channel: Channel, device: int, camera: Camera, end: Callable[[Camera], float]
) -> list[float]:
    """Seconds from each end of the camera to the event.

    The kernel looks for lost beacons on full seconds of its own: the ends are spread over one.
    """
    seconds = []
    for number in range(_ROUNDS):
        await asyncio.sleep((number / _ROUNDS - time.monotonic()) % 1)
        first = len(channel.messages)
        ending = asyncio.create_task(asyncio.to_thread(end, camera))
        told = await channel.state(device, "connecting", first)
        seconds.append(told - await ending)
        first = len(channel.messages)
        await asyncio.to_thread(camera.on)
        await channel.state(device, "connected", first)
    return seconds


async def failures(stage: Stage, hub: Hub, alone: Alone) -> list[Row]:
    """A wrong SAE password, and a camera that is not there."""
    adapter = await stage.plugged("1.4", "all")
    guarded, absent = Camera("guarded", security="sae"), Camera("absent")
    after_scan: list[float] = []
    in_all: list[float] = []
    scans: list[float] = []
    with on_air(guarded):
        device = await hub.add(guarded, _WRONG)
        for _ in range(_ROUNDS):
            await hub.free(adapter.interface)
            await stage.forget(adapter)
            began = time.monotonic()
            seconds, error = await hub.connect(device)
            _expect(error, "AuthenticationFailed")
            done = [end for _, end in await stage.scans(adapter, began) if end <= began + seconds]
            after_scan.append(began + seconds - max(done, default=began))
        await hub.remove(device)
        device = await hub.add(absent)
        await hub.free(adapter.interface)
        await stage.forget(adapter)
        began = time.monotonic()
        seconds, error = await hub.connect(device)
        _expect(error, "DeviceNotReachable")
        in_all.append(seconds)
        begun = [start for start, _ in await stage.scans(adapter, began) if start <= began + seconds]
        scans.append(len(begun))
        await hub.remove(device)
    adapter.unplug()
    other = "NetworkManager alone"
    return [
        Row(
            PART,
            "wrong SAE password, scan's end to the error",
            "s",
            after_scan,
            [alone.wrong_sae],
            f"{other}, in all",
            Target("ours", 0.5),
        ),
        Row(
            PART,
            "scans until an absent camera is told",
            "",
            scans,
            [alone.scans_for_absent],
            other,
            Target("ours", 2),
        ),
        Row(PART, "absent camera, to the error", "s", in_all, [alone.absent], other),
    ]


def _expect(error: str, wanted: str) -> None:
    if error != wanted:
        raise RuntimeError(f"expected {wanted}, got {error or 'a connection'}")


async def networkmanager_alone(stage: Stage) -> Alone:
    """All four at once, each on an adapter of its own; no daemon of ours runs."""
    adapters = [await stage.plugged(f"2.{number}", "short") for number in range(1, 5)]
    off, cut = Camera("off"), Camera("cut")
    guarded, absent = Camera("guarded", security="sae"), Camera("absent")
    with on_air(off, cut, guarded):
        for adapter, camera in zip(adapters, (off, cut), strict=False):
            await stage.outcome_bare(adapter, camera)
        (wrong_sae, _), (not_there, scans), switched_off, power_cut = await asyncio.gather(
            stage.outcome_bare(adapters[2], guarded, _WRONG),
            _absence(stage, adapters[3], absent),
            _loss(stage, adapters[0], off.stop),
            _loss(stage, adapters[1], cut.kill),
        )
    for adapter in adapters:
        adapter.unplug()
    return Alone(switched_off, power_cut, wrong_sae, not_there, scans)


async def _absence(stage: Stage, adapter: Adapter, camera: Camera) -> tuple[float, int]:
    began = time.monotonic()
    seconds, _ = await stage.outcome_bare(adapter, camera)
    return seconds, len(await stage.scans(adapter, began))


async def _loss(stage: Stage, adapter: Adapter, end: Callable[[], None]) -> float:
    device, first = await stage.nm.device(adapter.interface), len(stage.nm.transitions)
    began = time.monotonic()
    await asyncio.to_thread(end)
    lost = await stage.transition(device, first, DeviceState.FAILED, DeviceState.DISCONNECTED)
    return lost.time_s - began
