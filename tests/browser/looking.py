"""What the tests look for on the page."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from playwright.async_api import Browser, Locator, Page, expect

from tests.browser.running_hub import RunningHub

SIZES: Final = {"phone": (390, 844), "tablet": (820, 1180), "desktop": (1280, 800)}
"""Width and height in CSS pixels."""


async def opened(page: Page, hub: RunningHub, view: str = "") -> None:
    """Open the page and wait until it is live."""
    await page.goto(hub.url + view)
    await expect(page.locator("[data-hub=ready]")).to_be_attached()


UNFOLD: Final = """
new MutationObserver(() => {
  for (const one of document.querySelectorAll('.unfold[aria-expanded="false"]')) one.click();
}).observe(document, {childList: true, subtree: true});
"""


async def opened_rows(page: Page, hub: RunningHub, view: str = "") -> None:
    """The same with a row for each camera: equal ones are never folded for long."""
    await page.add_init_script(UNFOLD)
    await opened(page, hub, view)


def card(page: Page, name: str) -> Locator:
    """The card of a camera."""
    return page.locator(".card").filter(has=page.get_by_role("heading", name=name, exact=True))


async def shows(page: Page, name: str, state: str | re.Pattern[str]) -> None:
    """Wait until a camera's card shows a state."""
    await expect(card(page, name).locator(".badge")).to_have_text(state)


async def press(button: Locator) -> None:
    """Press a button once the last command is answered: it is not heeded before."""
    await expect(button).to_have_attribute("aria-busy", "false")
    await button.click()


async def act(at: Locator, name: str) -> None:
    """Do what a card, a row or a camera's page offers: by its button, or in its menu."""
    await expect(at).to_be_visible()
    button = at.get_by_role("button", name=name, exact=True)
    if await button.count():
        await press(button)
    else:
        await (await opened_menu(at)).get_by_role("menuitem", name=name, exact=True).click()


async def adapters_stayed(page: Page) -> None:
    """What happened to adapters before is not of a page's cameras: one that went shortly before a camera used
    it counts as an error of that camera, and the tests of one hub share its adapters."""
    await page.route("**/devices/history?limit=*", lambda route: route.fulfill(json={"history": []}))


async def opened_menu(at: Locator) -> Locator:
    """Open the menu of a card, a row or a camera's page."""
    await at.get_by_role("button", name=re.compile("^More for ")).click()
    menu = at.page.get_by_role("menu")
    await expect(menu).to_be_visible()
    return menu


async def details(page: Page, name: str) -> Locator:
    """Go to a camera's own page, which has all that is known of it."""
    await page.get_by_role("link", name=name, exact=True).click()
    article = page.get_by_role("article", name=name)
    await expect(article).to_be_visible()
    return article


async def beside(page: Page, hub: RunningHub, view: str) -> Page:
    """A second page, beside the first, with another view."""
    other = await page.context.new_page()
    await opened(other, hub, view)
    return other


async def mark(page: Page) -> None:
    """Mark the document, so that a reload shows."""
    await page.evaluate("window.wasHereBefore = true")


async def is_the_same(page: Page) -> bool:
    """Whether it is still the document that was marked."""
    return bool(await page.evaluate("window.wasHereBefore === true"))


async def choose_network(page: Page, network: str) -> Locator:
    """Open the dialog for a new camera and go on with a network that was found; the dialog."""
    await page.get_by_role("button", name="Add a camera").click()
    dialog = page.get_by_role("dialog", name="Add a camera")
    await dialog.get_by_role("radio", name=network).check()
    await dialog.get_by_role("button", name="Next").click()
    return dialog


def toast(page: Page, text: str | re.Pattern[str]) -> Locator:
    """A message over the page."""
    return page.locator(".toast").filter(has_text=text)


@asynccontextmanager
async def sized(browser: Browser, size: str) -> AsyncIterator[Page]:
    """A page on a screen of one of the sizes."""
    width, height = SIZES[size]
    context = await browser.new_context(viewport={"width": width, "height": height})
    try:
        yield await context.new_page()
    finally:
        await context.close()
