"""Tiles in a page of another origin, in a browser."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web
from playwright.async_api import async_playwright

from tests.browser.conftest import CHROMIUM
from tests.http.served import Served
from wifimgrd.config.configuration import TileSource
from wifimgrd.http._server import bind
from wifimgrd.http.settings import Settings
from wifimgrd.http.tiles._replies import blank_png

PAGE = "<!doctype html><title>another origin</title>"
SHOW = """([address, crossOrigin]) => new Promise((resolve) => {
    const image = new Image();
    if (crossOrigin !== null) image.crossOrigin = crossOrigin;
    image.onload = () => resolve("shown");
    image.onerror = () => resolve("missing");
    image.src = address;
})"""


@pytest.fixture
async def page_address() -> AsyncIterator[str]:
    """A page on another origin; loopback names are different sites."""

    async def page(_: web.Request) -> web.Response:
        # Pages that embed nothing without its consent: the strictest policy of a page.
        headers = {"Cross-Origin-Embedder-Policy": "require-corp"}
        return web.Response(text=PAGE, content_type="text/html", headers=headers)

    app = web.Application()
    app.router.add_get("/", page)
    runner = web.AppRunner(app)
    await runner.setup()
    [listener] = bind("127.0.0.1", 0)
    await web.SockSite(runner, listener).start()
    yield f"http://localhost:{listener.getsockname()[1]}"
    await runner.cleanup()


@pytest.fixture
def settings(tmp_path: Path, page_address: str) -> Settings:
    """A tileset with one tile."""
    tile = tmp_path / "tiles/5/7/9.png"
    tile.parent.mkdir(parents=True)
    tile.write_bytes(blank_png())
    sources = (TileSource("map", "folder", tmp_path / "tiles"),)
    return Settings(tile_sources=sources, origins=frozenset({page_address}))


@pytest.mark.parametrize("cross_origin", [None, "anonymous", "use-credentials"])
async def test_a_browser_shows_a_tile_and_sees_that_one_is_missing(
    served: Served, page_address: str, cross_origin: str | None
) -> None:
    platform = f"{served.url}/plugin-views/platform_plugin_map/map/offline-tiles/?z=5&x=7"
    wanted = {f"{platform}&y=9": "shown", f"{platform}&y=8": "missing"}
    async with async_playwright() as playwright:
        flags = ["--no-sandbox", "--disable-dev-shm-usage"]
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=flags)
        page = await browser.new_page()
        statuses: dict[str, int] = {}
        page.on("response", lambda answer: statuses.__setitem__(answer.url, answer.status))
        await page.goto(page_address)
        for address, what in wanted.items():
            assert await page.evaluate(SHOW, [address, cross_origin]) == what
        await browser.close()
    assert [statuses.get(address) for address in wanted] == [200, 404]  # one that is blocked has none
