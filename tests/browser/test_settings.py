"""The page on a hub that is configured otherwise: with a token, and with maps."""

from __future__ import annotations

import asyncio
import base64
import gzip
import json
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect

from tests.browser.looking import SIZES, card, opened, sized, toast
from tests.browser.running_hub import RunningHub, running_hub
from tests.browser.test_accessibility import findings, no_scrolling_sideways
from tests.commands import connect, disconnect

pytestmark = pytest.mark.asyncio(loop_scope="session")

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkaPhfDwAEOQHx2a9qyQAAAABJRU5ErkJggg=="
)
TOKEN = "open-sesame-open-sesame"


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def locked_hub(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[RunningHub]:
    """A hub that requires a token, with a connected camera."""
    folder = tmp_path_factory.mktemp("locked")
    (folder / "token").write_text(f"{TOKEN}\n")
    async with running_hub(folder, f'[http]\ntoken_file = "{folder / "token"}"\n') as hub:
        await hub.connected(1, "Front")
        yield hub


async def sign_in(page: Page, hub: RunningHub) -> None:
    """Open the page, and sign in."""
    await page.goto(hub.url)
    await page.get_by_role("textbox", name="Access token").fill(TOKEN)
    await page.get_by_role("button", name="Sign in").click()
    await expect(page.locator("[data-hub=ready]")).to_be_attached()


async def test_a_hub_with_a_token_asks_for_it(page: Page, locked_hub: RunningHub) -> None:
    await page.goto(locked_hub.url)
    field = page.get_by_role("textbox", name="Access token")
    await field.fill("wrong")
    await page.get_by_role("button", name="Sign in").click()
    await expect(page.get_by_role("alert")).to_have_text("Wrong token.")
    await field.fill(TOKEN)
    await page.get_by_role("button", name="Sign in").click()
    await expect(page.locator("[data-hub=ready]")).to_be_attached()
    await expect(page.locator(".badge.connected")).to_be_visible()
    await page.reload()
    await expect(page.locator(".badge.connected")).to_be_visible()
    assert TOKEN not in str(await page.evaluate("JSON.stringify([localStorage, document.cookie])"))


@pytest.mark.parametrize("size", SIZES)
async def test_signing_out_shows_the_form_for_the_token(
    browser: Browser, locked_hub: RunningHub, size: str
) -> None:
    async with sized(browser, size) as page:
        await sign_in(page, locked_hub)
        assert await no_scrolling_sideways(page)
        assert await findings(page) == []
        if size == "phone":
            await page.get_by_role("button", name="More", exact=True).press("Enter")
            await page.get_by_role("menuitem", name="Sign out").press("Enter")
        else:
            await page.get_by_role("button", name="Sign out").press("Enter")
        field = page.get_by_role("textbox", name="Access token")
        await expect(field).to_be_focused()
        await expect(page.get_by_text("Front")).to_have_count(0)
        assert await page.context.cookies() == []
        await page.reload()
        await expect(field).to_be_visible()


async def test_a_new_session_shows_the_cameras_and_what_happened_before_it(
    page: Page, locked_hub: RunningHub
) -> None:
    await sign_in(page, locked_hub)
    [device] = locked_hub.client.devices
    await asyncio.sleep(1.5)  # the page knows the hub's clock to the second
    await disconnect(locked_hub.client, device)
    await expect(page.get_by_role("log").get_by_text("Front is disconnected")).to_have_count(1)
    await page.get_by_role("button", name="Sign out").click()
    await connect(locked_hub.client, device, wait=True)
    await page.get_by_role("textbox", name="Access token").fill(TOKEN)
    await page.keyboard.press("Enter")
    await expect(card(page, "Front").locator(".badge")).to_have_text("Connected")
    await page.get_by_role("link", name="Events").click()
    log = page.get_by_role("log")
    await expect(log.get_by_text("Front is disconnected")).to_have_count(1)
    await expect(log.get_by_text("Front is connected through")).to_have_count(2)


async def test_signing_out_ends_the_session_in_other_tabs(page: Page, locked_hub: RunningHub) -> None:
    await sign_in(page, locked_hub)
    other = await page.context.new_page()
    await opened(other, locked_hub, "#adapters")
    await page.get_by_role("button", name="Sign out").click()
    await expect(other.get_by_role("textbox", name="Access token")).to_be_visible()


async def test_a_sign_out_that_the_hub_does_not_get_is_an_error(page: Page, locked_hub: RunningHub) -> None:
    await sign_in(page, locked_hub)
    await page.route("**/session", lambda route: route.abort())
    await page.get_by_role("button", name="Sign out").click()
    await expect(toast(page, "You are still signed in. Cannot reach the hub.")).to_be_visible()
    await expect(page.get_by_role("button", name="Sign out")).to_be_enabled()


async def test_the_lines_for_a_shell_have_the_token(page: Page, locked_hub: RunningHub) -> None:
    await sign_in(page, locked_hub)
    await page.goto(locked_hub.url + "docs")
    line = await page.locator("#list_devices pre.curl").inner_text()
    listed = await asyncio.create_subprocess_shell(
        line, stdout=asyncio.subprocess.PIPE, env={**os.environ, "TOKEN": TOKEN}
    )
    answer, _ = await listed.communicate()
    assert [one["name"] for one in json.loads(answer)] == ["Front"]
    assert "TOKEN" not in await page.locator("#health pre.curl").inner_text()


async def test_without_a_token_there_is_nothing_to_sign_out_of(page: Page, hub: RunningHub) -> None:
    await opened(page, hub)
    await expect(page.get_by_role("button", name="Sign out")).to_have_count(0)


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
        assert not any("/map-" in url or "/tiles/terrain" in url for url in asked)
        await page.get_by_role("link", name="Map").click()
        await expect(page.locator(".leaflet-tile-loaded").first).to_be_visible()
        await expect(page.get_by_label("Tileset")).to_have_count(0)  # one picture leaves no choice
        await expect(page.locator(".leaflet-control-scale")).to_be_visible()
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
