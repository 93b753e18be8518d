"""From the daemon's signal on the bus to the frame on the page, against the WebSocket message alone."""

from __future__ import annotations

import asyncio
import json
import tempfile
import time
from pathlib import Path
from typing import Final

import aiohttp
from playwright.async_api import Page, async_playwright, expect

from benchmarks import progress
from benchmarks.page.cameras import measure as measure_cameras
from benchmarks.page.fleet import measure as measure_fleet
from benchmarks.page.opening import measure as measure_opening
from benchmarks.table import Row, Target
from tests.browser.conftest import CHROMIUM, FLAGS
from tests.browser.running_hub import RunningHub, running_hub
from wifimgrd.client.changes import Change, DeviceChanged

ROUNDS: Final = 60
_AT_MOST_MS: Final = 100.0
_ANSWER_S: Final = 10.0

# Each change of the text is noted once the frame that shows it is about to be drawn.
_WATCH: Final = """() => {
  window.shown = {};
  new MutationObserver(() => requestAnimationFrame(() => {
    const text = document.querySelector('.card h3')?.textContent;
    if (text && !(text in window.shown)) window.shown[text] = performance.timeOrigin + performance.now();
  })).observe(document.body, {subtree: true, childList: true, characterData: true});
}"""


async def measure() -> list[Row]:
    """All rows of the page."""
    progress.say("page: from the bus to the pixel")
    with tempfile.TemporaryDirectory() as folder:
        async with running_hub(Path(folder)) as hub, async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
            page = await browser.new_page()
            await page.goto(hub.url)
            device = await hub.connected(1)
            await expect(page.locator(".badge.connected")).to_be_visible()
            await page.evaluate(_WATCH)
            rows = await _rounds(hub, page, device)
            await browser.close()
    return rows + await measure_opening() + await measure_cameras() + await measure_fleet()


async def _rounds(hub: RunningHub, page: Page, device: int) -> list[Row]:
    on_bus: dict[str, float] = {}
    on_channel: dict[str, float] = {}

    def on_change(change: Change) -> None:
        if isinstance(change, DeviceChanged):
            on_bus.setdefault(change.after.name, time.time() * 1000)

    async with aiohttp.ClientSession() as session, session.ws_connect(hub.url + "ws/management/") as channel:

        async def listen() -> None:
            async for message in channel:
                at, data = time.time() * 1000, json.loads(message.data)
                if data["type"] == "device.updated":
                    on_channel.setdefault(data["data"]["name"], at)

        listening = asyncio.create_task(listen())
        end = hub.client.subscribe(on_change)
        names = [f"Camera {number}" for number in range(ROUNDS)]
        for name in names:
            await hub.client.update_device(device, {"name": name})
            await page.wait_for_function("name => name in window.shown", arg=name, timeout=_ANSWER_S * 1000)
        end()
        listening.cancel()
    shown: dict[str, float] = await page.evaluate("window.shown")
    to_pixel = [(shown[name] - on_bus[name]) / 1000 for name in names]
    to_message = [(on_channel[name] - on_bus[name]) / 1000 for name in names]
    worst = sorted(to_pixel)[int(len(to_pixel) * 0.95)]
    return [
        Row(
            "page",
            "event on the bus to the frame that shows it",
            "s",
            to_pixel,
            to_message,
            "the WebSocket message alone",
            Target("ours", _AT_MOST_MS / 1000),
            note=f"95 % within {worst * 1000:.0f} ms; headless Chromium on the same machine",
        )
    ]
