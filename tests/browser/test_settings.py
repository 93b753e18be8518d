"""The page on a hub that is configured otherwise: with a token, and with maps."""

from __future__ import annotations

import base64
import gzip
from pathlib import Path

import pytest
from playwright.async_api import Page, expect

from tests.browser.looking import opened
from tests.browser.running_hub import running_hub

pytestmark = pytest.mark.asyncio(loop_scope="session")

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkaPhfDwAEOQHx2a9qyQAAAABJRU5ErkJggg=="
)


async def test_a_hub_with_a_token_asks_for_it(page: Page, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("open-sesame\n")
    async with running_hub(tmp_path, f'[http]\ntoken_file = "{token}"\n') as hub:
        await page.goto(hub.url)
        field = page.get_by_role("textbox", name="Access token")
        await field.fill("wrong")
        await page.get_by_role("button", name="Open").click()
        await expect(page.get_by_role("alert")).to_have_text("That is not the token.")
        await field.fill("open-sesame")
        await page.get_by_role("button", name="Open").click()
        await expect(page.locator(".hub-state.ready")).to_be_visible()
        await hub.connected(1)
        await expect(page.locator(".badge.connected")).to_be_visible()
        await page.reload()
        await expect(page.locator(".badge.connected")).to_be_visible()
        assert "open-sesame" not in str(
            await page.evaluate("JSON.stringify([localStorage, document.cookie])")
        )


async def test_the_map_is_read_when_it_is_opened(page: Page, tmp_path: Path) -> None:
    for z in range(4):
        for x in range(1 << z):
            (tmp_path / "terrain" / str(z) / str(x)).mkdir(parents=True)
            for y in range(1 << z):
                (tmp_path / "terrain" / str(z) / str(x) / f"{y}.png").write_bytes(PNG)
    (tmp_path / "roads" / "0" / "0").mkdir(parents=True)
    (tmp_path / "roads" / "0" / "0" / "0.pbf").write_bytes(gzip.compress(b"\x1a\x05"))
    sources = "".join(
        f'[[tiles.source]]\ntileset = "{name}"\ntype = "folder"\npath = "{tmp_path / name}"\n'
        for name in ("terrain", "roads")
    )
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    async with running_hub(tmp_path, sources) as hub:
        await opened(page, hub)
        assert not any("/map-" in url or "/tiles" in url for url in asked)
        await page.get_by_role("link", name="Map").click()
        await expect(page.locator(".leaflet-tile-loaded").first).to_be_visible()
        await expect(page.get_by_label("Tileset")).to_have_value("terrain")
        assert any("/tiles/terrain/" in url for url in asked)
        await expect(page.get_by_role("heading", name="Vector tiles")).to_be_visible()
        await expect(page.get_by_role("link", name="/tiles/roads.json")).to_be_visible()
        assert not [url for url in asked if not url.startswith((hub.url, "data:", "ws:"))]


async def test_nothing_is_asked_of_anybody_else(page: Page, tmp_path: Path) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    async with running_hub(tmp_path) as hub:
        for view in ("", "#adapters", "#events", "#map", "docs"):
            await page.goto(hub.url + view)
            await expect(page.locator("h1")).to_be_visible()
        assert asked
        assert [url for url in asked if not url.startswith(hub.url)] == []
