"""What the tests look for on the page."""

from __future__ import annotations

from playwright.async_api import Locator, Page, expect

from tests.browser.running_hub import RunningHub


async def opened(page: Page, hub: RunningHub, view: str = "") -> None:
    """Open the page and wait until it is live."""
    await page.goto(hub.url + view)
    await expect(page.locator(".hub-state.ready")).to_be_visible()


def card(page: Page, name: str) -> Locator:
    """The card of a camera."""
    return page.locator(".card").filter(has=page.get_by_role("heading", name=name, exact=True))


async def shows(page: Page, name: str, state: str) -> None:
    """Wait until a camera's card shows a state."""
    await expect(card(page, name).locator(".badge")).to_have_text(state)


async def mark(page: Page) -> None:
    """Mark the document, so that a reload shows."""
    await page.evaluate("window.wasHereBefore = true")


async def is_the_same(page: Page) -> bool:
    """Whether it is still the document that was marked."""
    return bool(await page.evaluate("window.wasHereBefore === true"))
