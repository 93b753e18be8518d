"""The page of a hub with four cameras, opened in a browser on a slowed processor: first paint, and state."""

from __future__ import annotations

import asyncio
import json
import tempfile
from pathlib import Path
from typing import Final

from playwright.async_api import Browser, async_playwright

from benchmarks import progress
from benchmarks.table import Row, Target
from tests.browser.conftest import CHROMIUM, FLAGS
from tests.browser.running_hub import running_hub

_SLOWED: Final = 4
_ROUNDS: Final = 9
_AT_MOST_S: Final = 0.3
_OPEN_S: Final = 30.0
_WATCH: Final = """
new PerformanceObserver((list) => {
  const painted = performance.getEntriesByName('first-contentful-paint')[0];
  stateDrawn(JSON.stringify([painted.startTime, list.getEntries()[0].renderTime]));
}).observe({type: 'element'});
new MutationObserver((_, observer) => {
  const badge = document.querySelector('.card .badge.connected');
  if (!badge) return;
  observer.disconnect();
  badge.setAttribute('elementtiming', 'state');
}).observe(document, {subtree: true, childList: true});
"""
"""Reports when the first paint was, and when the first camera's state was painted, as the browser says it:
https://developer.mozilla.org/en-US/docs/Web/API/PerformanceElementTiming/renderTime. The page's own timers
may run between a frame and a timer of this script. The browser calls back: Playwright's own ways to wait
put a script into the page while it starts, which takes 0.04 s of it."""


async def measure() -> list[Row]:
    """The rows of opening the page: nothing of it is in the browser's cache."""
    progress.say(f"page: opened on a processor slowed {_SLOWED} times")
    paints: dict[int, list[float]] = {1: [], _SLOWED: []}
    states: dict[int, list[float]] = {1: [], _SLOWED: []}
    with tempfile.TemporaryDirectory() as folder:
        async with running_hub(Path(folder)) as hub, async_playwright() as playwright:
            for number in (1, 2, 3):
                await hub.connected(number)
            await hub.create(4)
            browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
            await _opened(browser, hub.url, 1)  # the service compresses its files at the first request
            for _ in range(_ROUNDS):
                for rate in (1, _SLOWED):
                    paint_ms, state_ms = await _opened(browser, hub.url, rate)
                    paints[rate].append(paint_ms / 1000)
                    states[rate].append(state_ms / 1000)
            await browser.close()
    what = f"page opened on a processor slowed {_SLOWED} times, until"
    return [
        Row("page", f"{what} {name}", "s", of[_SLOWED], of[1], "not slowed", Target("ours", _AT_MOST_S))
        for name, of in (("the first paint", paints), ("the frame with the cameras' states", states))
    ]


async def _opened(browser: Browser, url: str, rate: int) -> tuple[float, float]:
    """Open the page once; first paint and state in milliseconds."""
    context = await browser.new_context(viewport={"width": 1280, "height": 800})
    try:
        page = await context.new_page()
        await page.add_init_script(_WATCH)
        session = await context.new_cdp_session(page)
        reported: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        session.on("Runtime.bindingCalled", lambda call: reported.set_result(call["payload"]))
        await session.send("Runtime.enable")
        await session.send("Runtime.addBinding", {"name": "stateDrawn"})
        await session.send("Emulation.setCPUThrottlingRate", {"rate": rate})
        await page.goto(url)
        paint_ms, state_ms = json.loads(await asyncio.wait_for(reported, _OPEN_S))
        return paint_ms, state_ms
    finally:
        await context.close()
