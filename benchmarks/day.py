"""What a hub at work costs: eight cameras connected and recording, their page open, the bridges at a broker
and at the port of a ground station.

The cameras are emulated ones, to which the real process of the cameras speaks; the signal of their simulated
links changes. A platform asks each minute whether the rig is ready, and for takes and history; after half of
the time one take ends and the next begins. The helper has nothing to do meanwhile, as on a hub whose links
stand.
"""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import Final

from playwright.async_api import async_playwright, expect

from benchmarks import progress
from benchmarks.accounting import Account
from benchmarks.cameras.scene import Scene, running_scene
from benchmarks.fleet.bridge import running_bridge, running_broker
from benchmarks.host.start import started
from benchmarks.table import Row, Target
from tests.browser.conftest import CHROMIUM, FLAGS

PART: Final = "A day: eight cameras record, page open, MQTT and MAVLink on"
_CAMERAS: Final = 8
_SWING_PERCENT: Final = 20
_SETTLE_S: Final = 30.0
"""What follows from the connects has happened."""
_LASTS_S: Final = 600.0
_ASKED: Final = ("check", "takes", "history?limit=50")
_ASKED_EVERY_S: Final = 60.0
_CPU_PERCENT: Final = 2
"""Of one core, all processes together."""
_WRITTEN_MB: Final = 2
"""An hour."""


async def measure() -> list[Row]:
    """The rows of ten minutes."""
    progress.say(f"day: {_CAMERAS} cameras, {_LASTS_S:.0f} s")
    with tempfile.TemporaryDirectory(prefix="wifimgrd-bench-") as name:
        folder = Path(name)
        async with (
            running_scene(_CAMERAS, signal_swing=_SWING_PERCENT) as scene,
            started("wifimgrd-net", scene.world.address, folder) as helper,
            running_broker(folder) as broker,
            running_bridge(
                folder, scene.world.address, f'broker = "mqtt://127.0.0.1:{broker.port}"'
            ) as bridge,
            started("wifimgrd-mavlink", scene.world.address, folder) as stations,
            async_playwright() as playwright,
        ):
            browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
            page = await browser.new_page()
            await page.goto(scene.world.url)
            await expect(page.locator(".badge.connected")).to_have_count(_CAMERAS)
            await scene.record(on=True)
            await asyncio.sleep(_SETTLE_S)
            return await _rows(
                scene,
                {
                    "wifimgrd": scene.world.daemon,
                    "wifimgrd-net": Account(helper.pid),
                    "wifimgrd-camera": scene.process,
                    "wifimgrd-http": scene.world.shim,
                    "wifimgrd-mqtt": bridge,
                    "wifimgrd-mavlink": Account(stations.pid),
                },
            )


async def _work(scene: Scene) -> None:
    """What a platform does with the rig in that time."""
    async with asyncio.TaskGroup() as group:
        asking = group.create_task(_ask(scene))
        await asyncio.sleep(_LASTS_S / 2)
        await scene.record(on=False)
        await scene.record(on=True)
        await asyncio.sleep(_LASTS_S / 2)
        asking.cancel()


async def _ask(scene: Scene) -> None:
    while True:
        for what in _ASKED:
            async with scene.session.get(f"{scene.url}/{what}") as answer:
                answer.raise_for_status()
                await answer.read()
        await asyncio.sleep(_ASKED_EVERY_S)


async def _rows(scene: Scene, processes: dict[str, Account]) -> list[Row]:
    before = {name: (one.cpu_s(), one.sleeps(), one.written_mb()) for name, one in processes.items()}
    began_s = asyncio.get_running_loop().time()
    await _work(scene)
    lasted_s = asyncio.get_running_loop().time() - began_s
    cpu, woken, written = {}, {}, {}
    for name, one in processes.items():
        cpu_s, sleeps, written_mb = before[name]
        cpu[name] = (one.cpu_s() - cpu_s) / lasted_s * 100
        woken[name] = (one.sleeps() - sleeps) / lasted_s
        written[name] = (one.written_mb() - written_mb) / lasted_s * 3600
    return [
        *(Row(PART, f"CPU of one core, {name}", "%", [value]) for name, value in cpu.items()),
        Row(PART, "the same, all together", "%", [sum(cpu.values())], target=Target("ours", _CPU_PERCENT)),
        *(Row(PART, f"wake-ups in a second, {name}", "", [value]) for name, value in woken.items()),
        Row(
            PART,
            "written to disk in an hour, with the logs",
            "MB",
            [sum(written.values())],
            target=Target("ours", _WRITTEN_MB),
            details=written,
        ),
    ]
