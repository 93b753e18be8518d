"""Recording on many cameras at one command, how soon a change at one is told, and what reading them costs.

The cameras are emulated ones in this process, of three makes, at TCP ports of this host.
"""

from __future__ import annotations

import asyncio
import json
import time
from typing import Final

from benchmarks import progress
from benchmarks.accounting import Account
from benchmarks.cameras.scene import Scene, running_scene
from benchmarks.ceilings import RSS_MB
from benchmarks.table import Row, Target
from wifimgrd.domain.camera import CameraDriver

PART: Final = "Cameras: emulated, by their drivers"
_COUNTS: Final = (4, 16, 64)
_JUDGED: Final = 16
"""With so many, the skew and the use of the processor have targets."""
_ROUNDS: Final = 10
"""Starts and stops."""
_CHANGES: Final = 30
_SKEW_MS: Final = 5
_IDLE_PERCENT: Final = 1
_RECORDING_PERCENT: Final = 2
_COST_S: Final = 30.0
_SETTLE_S: Final = 12.0
"""Each camera's clock is set and read, and its state once more."""
_LIMIT_S: Final = 60.0
_BETWEEN_S: Final = 0.6
"""Between two changes: what one camera does is reported every 0.25 s."""


async def measure() -> list[Row]:
    """All rows of cameras."""
    rows: list[Row] = []
    for count in _COUNTS:
        progress.say(f"cameras: {count} record at one command")
        async with running_scene(count) as scene:
            await asyncio.sleep(_SETTLE_S)
            rows += await _commands(scene)
            if count == _JUDGED:
                progress.say("cameras: from a change at a camera to the channel")
                rows.append(await _changes(scene))
                progress.say("cameras: what reading 16 costs")
                rows += await _cost(scene)
            if count == _COUNTS[-1]:
                rss = scene.process.memory().rss_mb
                rows.append(
                    Row(
                        PART,
                        f"wifimgrd-camera's RSS with {count}",
                        "MB",
                        [rss],
                        target=Target("ours", RSS_MB["wifimgrd-camera"]),
                    )
                )
    return rows


async def _commands(scene: Scene) -> list[Row]:
    """Start and stop in turns. A start and a stop have rows of their own: a camera writes its file to the end
    before it says that it has stopped."""
    answered_ms: dict[bool, list[float]] = {True: [], False: []}
    last_ms: dict[bool, list[float]] = {True: [], False: []}
    skew_ms: list[float] = []
    for number in range(_ROUNDS):
        on = number % 2 == 0
        began_s = time.perf_counter()
        results = await scene.record(on=on)
        answered_ms[on].append((time.perf_counter() - began_s) * 1000)
        last_ms[on].append(max(one["after_ms"] for one in results))
        requested_s = [one.requested_s for one in scene.cameras]
        skew_ms.append((max(requested_s) - min(requested_s)) * 1000)
        await asyncio.sleep(_BETWEEN_S)
    count = len(scene.cameras)
    rows = [
        Row(
            PART,
            f"{what} on {count}, from the request over HTTP to its answer",
            "ms",
            answered_ms[on],
            note="the cameras are read, told, and seen to do it",
            details={"last_answer_ms": last_ms[on]},
        )
        for what, on in (("record", True), ("stop", False))
    ]
    rows.append(
        Row(
            PART,
            f"the same: from the first to the last request at a socket of {count}",
            "ms",
            skew_ms,
            target=Target("ours", _SKEW_MS) if count == _JUDGED else None,
            note="when the kernel received them",
        )
    )
    return rows


async def _changes(scene: Scene) -> Row:
    """A battery loses a percent at a camera that tells by itself, until the channel's message has it."""
    index = next(number for number, one in enumerate(scene.cameras) if one.driver is CameraDriver.INSTA360)
    camera, device = scene.cameras[index].camera, scene.devices[index]
    took_s = []
    async with scene.session.ws_connect(f"{scene.world.url}/ws/management/") as channel:
        for number in range(_CHANGES):
            level = 79 - number % 50
            began_s = time.perf_counter()
            camera.set_battery(level, draining=False)
            async with asyncio.timeout(_LIMIT_S):
                async for message in channel:
                    sent = json.loads(message.data)
                    if sent["type"] != "device.camera.update" or sent["data"]["id"] != device:
                        continue
                    if sent["data"]["camera"]["battery_level"] == level:
                        break
            took_s.append(time.perf_counter() - began_s)
            await asyncio.sleep(_BETWEEN_S)
    return Row(
        PART,
        "a change that a camera tells by itself, until the page's channel has it",
        "s",
        took_s,
        target=Target("ours", 0.1),
        note=f"at most {max(took_s) * 1000:.0f} ms",
    )


async def _cost(scene: Scene) -> list[Row]:
    """The use of the processor, in percent of one core."""
    idle = await _used(scene.process)
    await scene.record(on=True)
    await asyncio.sleep(_BETWEEN_S)
    recording = await _used(scene.process)
    await scene.record(on=False)
    return [
        Row(PART, f"wifimgrd-camera's CPU, {_JUDGED} {what}", "%", [used], target=Target("ours", limit))
        for what, used, limit in (
            ("idle", idle, _IDLE_PERCENT),
            ("recording", recording, _RECORDING_PERCENT),
        )
    ]


async def _used(process: Account) -> float:
    before_s, began_s = process.cpu_s(), time.monotonic()
    await asyncio.sleep(_COST_S)
    return (process.cpu_s() - before_s) / (time.monotonic() - began_s) * 100
