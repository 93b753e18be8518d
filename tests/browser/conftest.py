"""A browser and the hub that it looks at."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, ConsoleMessage, Page, ViewportSize, async_playwright, expect

from tests.browser.running_hub import RunningHub, running_hub

CHROMIUM = "/usr/bin/chromium-headless-shell"
"""Without the user interface of the other one, which takes a second of a processor for each page opened."""
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
PATIENCE_MS = 15_000
expect.set_options(timeout=PATIENCE_MS)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def whole_hub(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[RunningHub]:
    """What `make run` runs, for all tests that need no configuration of their own."""
    async with running_hub(tmp_path_factory.mktemp("hub"), "[link]\ngrace_s = 2\n") as hub:
        yield hub


@pytest_asyncio.fixture(loop_scope="session")
async def hub(whole_hub: RunningHub) -> RunningHub:
    """The hub without devices, its world as it was in the beginning."""
    await whole_hub.reset()
    return whole_hub


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    """Debian's Chromium, without a window."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield browser
        await browser.close()


@pytest.fixture
def timezone() -> str | None:
    """The time zone of the browser of `page`; None is that of the host."""
    return None


@pytest_asyncio.fixture(loop_scope="session")
async def page(browser: Browser, timezone: str | None) -> AsyncIterator[Page]:
    """A page on a desktop; a script that fails, or breaks the page's own policy, fails the test."""
    size: ViewportSize = {"width": 1280, "height": 800}
    context = await browser.new_context(viewport=size, timezone_id=timezone)
    page = await context.new_page()
    page.set_default_timeout(PATIENCE_MS)
    wrong: list[str] = []

    def on_message(message: ConsoleMessage) -> None:
        # A request that the service refuses is reported on the console, too; some tests are about that.
        refused = "Failed to load resource" in message.text or "WebSocket connection" in message.text
        if message.type in ("error", "warning") and not refused:
            wrong.append(message.text)

    page.on("console", on_message)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    yield page
    await context.close()
    assert wrong == []
