"""Light or dark: as the system, or as a person chose in this browser, from the first picture on."""

from __future__ import annotations

import asyncio

import pytest
from playwright.async_api import Page, Route, expect

from tests.browser.looking import opened
from tests.browser.running_hub import RunningHub

pytestmark = pytest.mark.asyncio(loop_scope="session")

GROUND = "getComputedStyle(document.body).backgroundColor"
SCHEME = "getComputedStyle(document.documentElement).colorScheme"
DARK, LIGHT = "rgb(15, 19, 23)", "rgb(246, 247, 248)"


async def test_the_system_is_followed_until_a_person_chooses(page: Page, hub: RunningHub) -> None:
    await opened(page, hub)
    assert await page.evaluate(GROUND) == LIGHT
    await page.emulate_media(color_scheme="dark")
    await expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    assert (await page.evaluate(GROUND), await page.evaluate(SCHEME)) == (DARK, "dark")
    theme = page.get_by_role("group", name="Theme")
    await theme.get_by_role("button", name="Light theme").click()
    assert (await page.evaluate(GROUND), await page.evaluate(SCHEME)) == (LIGHT, "light")
    await page.reload()
    await expect(theme.get_by_role("button", name="Light theme")).to_have_attribute("aria-pressed", "true")
    assert await page.evaluate(GROUND) == LIGHT
    await theme.get_by_role("button", name="Theme as the system").click()
    assert await page.evaluate(GROUND) == DARK


async def test_the_first_picture_has_the_colours_that_were_chosen(page: Page, hub: RunningHub) -> None:
    await opened(page, hub)
    await page.get_by_role("button", name="Dark theme").click()
    is_let = asyncio.Event()

    async def hold(route: Route) -> None:
        await is_let.wait()
        await route.continue_()

    await page.route("**/assets/page-*.js", hold)
    await page.goto(hub.url, wait_until="commit")
    await expect(page.get_by_role("heading", name="Camera hub", level=1)).to_be_visible()
    assert await page.evaluate(GROUND) == DARK
    await expect(page.get_by_role("group", name="Theme")).to_have_count(0)
    is_let.set()
    await expect(page.locator("[data-hub=ready]")).to_be_attached()


@pytest.mark.parametrize("view", ["docs", "style", "nowhere"])
async def test_each_document_has_them(page: Page, hub: RunningHub, view: str) -> None:
    await opened(page, hub)
    await page.get_by_role("button", name="Dark theme").click()
    await page.goto(hub.url + view)
    assert await page.evaluate(GROUND) == DARK


async def test_another_tab_follows(page: Page, hub: RunningHub) -> None:
    await opened(page, hub)
    other = await page.context.new_page()
    await opened(other, hub)
    await page.get_by_role("button", name="Dark theme").click()
    await expect(other.locator("html")).to_have_attribute("data-theme", "dark")
    await other.close()
