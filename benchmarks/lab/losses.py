"""How soon a loss or a failure is reported, by us and by NetworkManager alone."""

from __future__ import annotations

import asyncio
import json
import time
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import aiohttp

from benchmarks.lab.hub import Hub
from benchmarks.lab.joins import PART
from benchmarks.lab.networkmanager_stage import NetworkManagerStage
from benchmarks.lab.stage import Stage, switched_on
from benchmarks.table import Row, Target
from tests.lab.guest.access_point import Camera
from tests.lab.guest.adapters import Adapter
from tests.lab.guest.network_manager import DeviceState
from tests.lab.guest.whole_hub import URL

SWITCHED_OFF: Final = "switched off, to the event"
POWER_CUT: Final = "power cut, to the event"
WRONG_SAE: Final = "wrong SAE password, scan's end to the error"
SCANS_FOR_ABSENT: Final = "scans until an absent camera is told"
ABSENT: Final = "absent camera, to the error"
_ROUNDS: Final = 8
_EVENT_S: Final = 30.0
_WRONG: Final = "not-the-password"
_LOST: Final = ("deauth", "disconnected", "connection quality monitor event: peer")
"""In a line of `iw event` about the end of an association."""


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
        """When the channel reported a state of a device, from the message of that number on."""
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


@dataclass(frozen=True, slots=True)
class Losses:
    """Seconds from each end of a camera to the event on the WebSocket."""

    switched_off: list[float]
    power_cut: list[float]
    power_cut_kernel: list[float]
    """From each cut to the kernel's own event."""


async def losses(stage: Stage, hub: Hub) -> Losses:
    """A camera that is switched off, and one whose power is cut."""
    adapter = await stage.plugged("1.3", "short")
    camera, channel = Camera("lost"), Channel()
    async with aiohttp.ClientSession() as session, session.ws_connect(URL + "/ws/management/") as socket:
        listening = asyncio.create_task(channel.listen(socket))
        with switched_on(camera):
            device = await hub.add(camera)
            await hub.free(adapter.interface)
            await hub.connected(device)
            switched_off = await _ends(channel, device, camera, _switch_off)
            async with _kernels_events() as events:
                power_cut = await _ends(channel, device, camera, _cut)
                kernel = [await _when_lost(events, adapter, began) - began for began, _ in power_cut]
            await hub.remove(device)
        listening.cancel()
    adapter.unplug()
    return Losses(_seconds(switched_off), _seconds(power_cut), kernel)


def losses_rows(losses: Losses, alone: Alone) -> list[Row]:
    """Of NetworkManager's backend."""
    return [
        Row(PART, what, "s", ours, [theirs], "NetworkManager alone", Target("ours", limit))
        for what, ours, theirs, limit in (
            (SWITCHED_OFF, losses.switched_off, alone.switched_off, 0.15),
            (POWER_CUT, losses.power_cut, alone.power_cut, 1.3),
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


async def _ends(
    channel: Channel, device: int, camera: Camera, end: Callable[[Camera], float]
) -> list[tuple[float, float]]:
    """When the camera ended each time, and when the event came.

    The kernel looks for lost beacons on full seconds of its own: the ends are spread over one.
    """
    ends = []
    for number in range(_ROUNDS):
        await asyncio.sleep((number / _ROUNDS - time.monotonic()) % 1)
        first = len(channel.messages)
        ending = asyncio.create_task(asyncio.to_thread(end, camera))
        reported = await channel.state(device, "connecting", first)
        ends.append((await ending, reported))
        first = len(channel.messages)
        await asyncio.to_thread(camera.on)
        await channel.state(device, "connected", first)
    return ends


def _seconds(ends: list[tuple[float, float]]) -> list[float]:
    return [reported - began for began, reported in ends]


@asynccontextmanager
async def _kernels_events() -> AsyncIterator[asyncio.StreamReader]:
    """The lines of `iw event -t`, from here on; each line begins with its time."""
    process = await asyncio.create_subprocess_exec("stdbuf", "-oL", "iw", "event", "-t", stdout=PIPE)
    try:
        if process.stdout is None:
            raise RuntimeError("iw event has no output")
        yield process.stdout
    finally:
        process.kill()
        await process.wait()


async def _when_lost(events: asyncio.StreamReader, adapter: Adapter, since_s: float) -> float:
    """When the kernel reported that an association was lost, the first time since then."""
    to_monotonic = time.monotonic() - time.time()
    async with asyncio.timeout(_EVENT_S):
        while line := (await events.readline()).decode():
            reported, _, event = line.partition(": ")
            if not event.startswith(adapter.interface) or not any(word in event for word in _LOST):
                continue
            if (reported_s := float(reported) + to_monotonic) >= since_s:
                return reported_s
    raise RuntimeError("iw event ended")


@dataclass(frozen=True, slots=True)
class Failures:
    """Connects that fail."""

    wrong_sae: list[float]
    """Seconds from the end of the last scan to the error."""
    absent: float
    """Seconds until a camera that is not there is reported as such."""
    scans_for_absent: int


async def failures(stage: Stage, hub: Hub) -> Failures:
    """A wrong SAE password, and a camera that is not there."""
    adapter = await stage.plugged("1.4", "all")
    guarded, absent = Camera("guarded", security="sae"), Camera("absent")
    wrong_sae: list[float] = []
    with switched_on(guarded):
        device = await hub.add(guarded, _WRONG)
        await hub.free(adapter.interface)
        await hub.connect(device)  # without NetworkManager an adapter is registered by its first attempt
        for _ in range(_ROUNDS):
            await hub.free(adapter.interface)
            await stage.forget(adapter)
            began = time.monotonic()
            seconds, error = await hub.connect(device)
            _expect(error, "AuthenticationFailed")
            done = [end for _, end in await stage.scans(adapter, began) if end <= began + seconds]
            wrong_sae.append(began + seconds - max(done, default=began))
        await hub.remove(device)
        device = await hub.add(absent)
        await hub.free(adapter.interface)
        await stage.forget(adapter)
        began = time.monotonic()
        seconds, error = await hub.connect(device)
        _expect(error, "DeviceNotReachable")
        scans = [start for start, _ in await stage.scans(adapter, began) if start <= began + seconds]
        await hub.remove(device)
    adapter.unplug()
    return Failures(wrong_sae, seconds, len(scans))


def failures_rows(failures: Failures, alone: Alone) -> list[Row]:
    """Of NetworkManager's backend."""
    other = "NetworkManager alone"
    return [
        Row(
            PART,
            WRONG_SAE,
            "s",
            failures.wrong_sae,
            [alone.wrong_sae],
            f"{other}, in all",
            Target("ours", 0.5),
        ),
        Row(
            PART,
            SCANS_FOR_ABSENT,
            "",
            [failures.scans_for_absent],
            [alone.scans_for_absent],
            other,
            Target("ours", 2),
        ),
        Row(PART, ABSENT, "s", [failures.absent], [alone.absent], other),
    ]


def _expect(error: str, wanted: str) -> None:
    if error != wanted:
        raise RuntimeError(f"expected {wanted}, got {error or 'a connection'}")


async def networkmanager_alone(stage: NetworkManagerStage) -> Alone:
    """All four at once, each on an adapter of its own; no daemon of ours runs."""
    adapters = [await stage.plugged(f"2.{number}", "short") for number in range(1, 5)]
    off, cut = Camera("off"), Camera("cut")
    guarded, absent = Camera("guarded", security="sae"), Camera("absent")
    with switched_on(off, cut, guarded):
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


async def _absence(stage: NetworkManagerStage, adapter: Adapter, camera: Camera) -> tuple[float, int]:
    began = time.monotonic()
    seconds, _ = await stage.outcome_bare(adapter, camera)
    return seconds, len(await stage.scans(adapter, began))


async def _loss(stage: NetworkManagerStage, adapter: Adapter, end: Callable[[], None]) -> float:
    device, first = await stage.nm.device(adapter.interface), len(stage.nm.transitions)
    began = time.monotonic()
    await asyncio.to_thread(end)
    lost = await stage.transition(device, first, DeviceState.FAILED, DeviceState.DISCONNECTED)
    return lost.time_s - began
