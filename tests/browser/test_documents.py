"""The documents that the hub serves below `/docs/`: their search, and that everybody can read them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from playwright.async_api import Browser, Page, expect

from tests.browser.looking import SIZES, sized
from tests.browser.running_hub import RunningHub
from tests.browser.test_accessibility import OF_COLOURS, RULES, no_scrolling_sideways, violations
from tests.programs import axe, built_site

pytestmark = pytest.mark.asyncio(loop_scope="session")

FINGER_PX = 44


class _Quiet(SimpleHTTPRequestHandler):
    """Python's own web server, without its log."""

    def log_message(self, *_: Any) -> None:
        """Log nothing."""


@asynccontextmanager
async def plain_server() -> AsyncIterator[str]:
    """`python3 -m http.server`, with the site in a folder."""
    serve = partial(_Quiet, directory=str(built_site().parent))
    server = ThreadingHTTPServer(("127.0.0.1", 0), serve)
    serving = asyncio.create_task(asyncio.to_thread(server.serve_forever))
    try:
        yield f"http://127.0.0.1:{server.server_port}/{built_site().name}/"
    finally:
        await asyncio.to_thread(server.shutdown)
        await serving
        server.server_close()


async def find_and_open(page: Page, words: str, title: str) -> None:
    """Search, and follow a result."""
    await page.get_by_role("searchbox", name="Search the documents").fill(words)
    results = page.get_by_role("region", name="Search results")
    await expect(results.get_by_role("status")).to_contain_text("result")
    await results.get_by_role("link", name=title, exact=True).click()
    await expect(results).to_be_hidden()


async def test_a_word_is_found_from_the_page_of_the_api(page: Page, hub: RunningHub) -> None:
    await page.goto(hub.url + "docs")
    await page.get_by_role("link", name="All documents").click()
    await expect(page).to_have_url(hub.url + "docs/")
    await find_and_open(page, "brown", "Operating guide: Hardware")
    await expect(page).to_have_url(hub.url + "docs/operating/#hardware")
    await expect(page.get_by_role("heading", name="Hardware", exact=True)).to_be_in_viewport()
    await find_and_open(page, "API promises", "What never changes: What the API promises")
    await expect(page).to_have_url(hub.url + "docs/api-stability/#what-the-api-promises")


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("grace_s", "Configuration"),
        ("no-interface-available", "Operating guide: no-interface-available"),
        ("no inter", "result"),
        ("title:x ^2 ~1 +rfkill -*", "result"),
        ("xyzzyplugh", "Nothing was found"),
        ('"', ""),
    ],
)
async def test_whatever_is_typed_is_searched_for(page: Page, hub: RunningHub, typed: str, found: str) -> None:
    await page.goto(hub.url + "docs/http/")
    await page.get_by_role("searchbox").fill(typed)
    results = page.locator("#site-results")
    if found == "":
        await expect(results).to_be_hidden()
    else:
        await expect(results).to_contain_text(found)
        if typed in found:  # what has the word in its title comes first
            await expect(results.get_by_role("link").first).to_have_text(found)


async def test_a_plain_web_server_will_do_and_so_will_any_folder(page: Page) -> None:
    async with plain_server() as url:
        await page.goto(url)
        await find_and_open(page, "brown", "Operating guide: Hardware")
        await expect(page).to_have_url(url + "operating/#hardware")
        await page.get_by_role("navigation", name="Documents").get_by_role("link", name="MQTT").click()
        await expect(page).to_have_url(url + "mqtt/")
        await page.get_by_role("link", name="wifimgrd", exact=True).click()
        await expect(page).to_have_url(url)


@pytest.mark.parametrize("size", SIZES)
async def test_axe_finds_nothing_in_light_and_dark(browser: Browser, hub: RunningHub, size: str) -> None:
    async with sized(browser, size) as page:
        for path in ("", "operating/", "dbus-api/"):
            await page.goto(f"{hub.url}docs/{path}")
            await page.get_by_role("searchbox").fill("adapter")
            await expect(page.get_by_role("status")).to_contain_text("result")
            await page.locator("details > summary").click()
            await page.evaluate(axe())
            assert await violations(page, RULES) == []
            ground = "getComputedStyle(document.body).backgroundColor"
            light = await page.evaluate(ground)
            await page.emulate_media(color_scheme="dark")
            assert await page.evaluate(ground) != light
            assert await violations(page, OF_COLOURS) == []
            await page.emulate_media(color_scheme="light")
            assert await no_scrolling_sideways(page)


async def test_a_finger_hits_what_leads_somewhere(browser: Browser, hub: RunningHub) -> None:
    async with sized(browser, "phone") as page:
        await page.goto(f"{hub.url}docs/operating/")
        await page.get_by_role("searchbox").fill("adapter")
        await expect(page.get_by_role("status")).to_contain_text("result")
        await page.locator("details > summary").click()
        places = "header :is(a, input), nav a, summary, #site-results a"
        heights = await page.eval_on_selector_all(
            places,
            "all => all.filter(one => one.checkVisibility()).map(one => one.getBoundingClientRect().height)",
        )
        assert len(heights) > 40
        assert min(heights) >= FINGER_PX
        # The list of all documents is below what is read, and one touch away.
        await page.get_by_role("searchbox").press("Escape")
        await page.get_by_role("link", name="All documents").click()
        await expect(page.get_by_role("link", name="Operating guide", exact=True)).to_be_in_viewport()


async def test_the_keyboard_is_enough(page: Page, hub: RunningHub) -> None:
    await page.goto(hub.url + "docs/operating/")
    await page.keyboard.press("Tab")
    await expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("main")).to_be_focused()
    await page.get_by_role("searchbox").focus()
    await page.keyboard.type("rfkill")
    results = page.get_by_role("region", name="Search results")
    await expect(results.get_by_role("link").first).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(results).to_be_hidden()
    await page.keyboard.insert_text("rfkill")  # at once: each letter has results of its own
    await expect(results.get_by_role("status")).to_contain_text("result")
    first = results.get_by_role("link").first
    target = await first.get_attribute("href")
    await page.keyboard.press("Tab")
    await expect(first).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(page).to_have_url(f"{hub.url}docs/{(target or '').removeprefix('../')}")


async def test_nothing_of_the_search_is_read_before_somebody_goes_to_its_field(
    page: Page, hub: RunningHub
) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    await page.goto(hub.url + "docs/", wait_until="networkidle")
    assert not [url for url in asked if "/search/" in url]
    async with page.expect_request("**/search/search_index.json"):
        await page.get_by_role("searchbox").focus()
