"""The page of a hub with 200 cameras in a browser, each of which changes once a second."""

from __future__ import annotations

import asyncio
import json
import random
import tempfile
from pathlib import Path
from typing import Any, Final

from playwright.async_api import Page, WebSocketRoute, async_playwright, expect

from benchmarks import progress
from benchmarks.page.fleet import longest_task
from benchmarks.table import Row, Target
from tests.browser.conftest import CHROMIUM, FLAGS
from tests.browser.running_hub import running_hub
from tests.browser.told import ago, said

CAMERAS: Final = 200
_BURSTS: Final = 20
"""In a second, each of as many cameras."""
_TASK_AT_MOST_S: Final = 0.05
_WAIT: Final = "seconds => new Promise(done => setTimeout(done, seconds * 1000))"


class _Many:
    """The channel between the hub and a page, in which its one camera is two hundred."""

    def __init__(self) -> None:
        self._page: WebSocketRoute | None = None

    async def to(self, page: Page) -> None:
        """Be that page's channel."""
        await page.route_web_socket("**/ws/management/**", self._route)

    async def change(self) -> None:
        """Change the signal of each camera once a second, until this is cancelled."""
        chance = random.Random(1)
        while True:
            for number in range(1, CAMERAS + 1):
                data = {"id": number, "signal_strength": chance.randint(30, 95)}
                if self._page is not None:
                    self._page.send(json.dumps({"type": "device.signal", "time": ago(0), "data": data}))
                if number % (CAMERAS // _BURSTS) == 0:
                    await asyncio.sleep(1 / _BURSTS)

    def _route(self, page: WebSocketRoute) -> None:
        self._page = page
        page.connect_to_server().on_message(lambda text: page.send(_as_many(str(text))))


def _as_many(text: str) -> str:
    message: dict[str, Any] = json.loads(text)
    if message["type"] == "snapshot":
        [one] = message["devices"]
        camera = said(battery_level=50, recording=False, storage_state="ok", storage_free=40_000_000_000)
        message["devices"] = [
            {**one, "id": number, "name": f"Camera {number}", "camera": camera}
            for number in range(1, CAMERAS + 1)
        ]
    return json.dumps(message)


async def measure() -> list[Row]:
    """The row of a list of many cameras."""
    progress.say(f"page: {CAMERAS} cameras that change each second")
    with tempfile.TemporaryDirectory() as folder:
        async with running_hub(Path(folder)) as hub, async_playwright() as playwright:
            await hub.connected(1)
            browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
            page = await browser.new_page(viewport={"width": 1280, "height": 800})
            many = _Many()
            await many.to(page)
            await page.goto(hub.url)
            await expect(page.locator("tbody tr[data-device]")).to_have_count(CAMERAS)
            await page.wait_for_load_state("networkidle")
            idle = await longest_task(page, _WAIT)
            changing = asyncio.create_task(many.change())
            longest = await longest_task(page, _WAIT)
            changing.cancel()
            await browser.close()
    return [
        Row(
            "page",
            f"{CAMERAS} cameras, each changing once a second: processor time of the longest task",
            "s",
            [longest],
            [idle],
            "the same without changes",
            Target("ours", _TASK_AT_MOST_S),
        )
    ]
