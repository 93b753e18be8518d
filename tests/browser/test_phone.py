"""A phone: the sentence at the top, what is pressed at the thumb, and nothing behind it."""

from __future__ import annotations

from typing import Final

import pytest
from playwright.async_api import Browser, Locator, Page, expect

from tests.browser.looking import opened, opened_rows, sized, toast
from tests.browser.running_hub import RunningHub
from tests.browser.test_accessibility import findings, no_scrolling_sideways
from tests.browser.test_answers import results_are, with_driver
from tests.browser.test_many import fill, rows

pytestmark = pytest.mark.asyncio(loop_scope="session")

FIRST_PX: Final = 150
FINGER_PX: Final = 44
SMALL: Final = """all => all.filter(one => one.checkVisibility()).flatMap(one => {
  const { width, height } = one.getBoundingClientRect();
  return width < 44 || height < 44 ? [`${one.textContent} ${width}x${height}`] : [];
})"""
"""What is too small for a finger."""


async def top(at: Locator) -> float:
    return float(await at.evaluate("one => one.getBoundingClientRect().top"))


async def bottom(at: Locator) -> float:
    return float(await at.evaluate("one => one.getBoundingClientRect().bottom"))


@pytest.mark.parametrize(("count", "first"), [(3, ".card"), (8, ".card"), (12, ".list tbody tr")])
async def test_the_first_camera_is_near_the_top(
    browser: Browser, hub: RunningHub, count: int, first: str
) -> None:
    async with sized(browser, "phone") as page:
        await fill(hub, count)
        await opened(page, hub)
        await expect(page.locator(first).first).to_be_visible()
        assert await top(page.locator(first).first) <= FIRST_PX
        assert await no_scrolling_sideways(page)


async def test_record_and_stop_are_at_the_thumb_and_nothing_is_behind_them(
    browser: Browser, hub: RunningHub
) -> None:
    async with sized(browser, "phone") as page:
        channel = await with_driver(page, hub, "Left", "Nose")
        channel.expect("Left", "Nose")
        await opened(page, hub)
        bar = page.locator(".thumb")
        for name in ("Record on all", "Stop all …"):
            button = bar.get_by_role("button", name=name)
            await expect(button).to_be_in_viewport(ratio=1)
            assert await top(button) > 844 * 0.8
        assert (
            await page.locator(".thumb :is(a, button), .camera-tools :is(a, button)").evaluate_all(SMALL)
            == []
        )
        await page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
        assert await bottom(page.locator("footer > :last-child")) <= await top(bar)
        assert await findings(page) == []


async def test_an_answer_stands_above_the_bar(browser: Browser, hub: RunningHub) -> None:
    async with sized(browser, "phone") as page:
        channel = await with_driver(page, hub, "Left")
        channel.expect("Left")
        await opened(page, hub)
        row = {
            "device_id": 1,
            "done": False,
            "after_ms": None,
            "code": "camera-busy",
            "message": "it is busy",
        }
        await results_are(page, [row])
        await page.get_by_role("button", name="Record on all").click()
        answer = toast(page, "0 of 1 cameras record.")
        await expect(answer).to_have_class("toast bad")
        assert await bottom(answer) <= await top(page.locator(".thumb"))


async def tab(page: Page, name: str) -> Locator:
    return page.get_by_role("navigation").get_by_role("link", name=name)


async def test_the_tabs_lead_to_every_view(browser: Browser, hub: RunningHub) -> None:
    async with sized(browser, "phone") as page:
        await opened(page, hub)
        for name, title in (("Takes", "Takes"), ("Events", "Events"), ("Check", "There is no camera")):
            await (await tab(page, name)).click()
            await expect(page.get_by_role("heading", level=2, name=title)).to_be_visible()
            await expect(await tab(page, name)).to_have_attribute("aria-current", "page")
        more = page.get_by_role("button", name="More", exact=True)
        await more.click()
        assert await page.get_by_role("menu").get_by_role("menuitem").evaluate_all(SMALL) == []
        await page.get_by_role("menuitem", name="Adapters").click()
        await expect(page.get_by_role("heading", level=2, name="Adapters")).to_be_visible()
        await expect(more).to_have_attribute("aria-current", "page")
        await more.click()
        await page.get_by_role("menuitemradio", name="Dark theme").click()
        await expect(page.locator("html")).to_have_attribute("data-theme", "dark")
        await more.click()
        dark = page.get_by_role("menuitemradio", name="Dark theme")
        await expect(dark).to_have_attribute("aria-checked", "true")


async def test_the_search_is_behind_its_picture(browser: Browser, hub: RunningHub) -> None:
    async with sized(browser, "phone") as page:
        await fill(hub, 12)
        await opened_rows(page, hub)
        field = page.get_by_role("searchbox", name="Find a camera")
        await expect(field).to_be_hidden()
        opener = page.get_by_role("button", name="Search")
        await opener.click()
        await expect(field).to_be_focused()
        await field.fill("camera 12")
        await expect(rows(page)).to_have_count(1)
        await opener.click()
        await expect(field).to_be_hidden()
        await expect(rows(page)).to_have_count(12)


async def test_many_are_chosen_in_a_bar_of_their_own(browser: Browser, hub: RunningHub) -> None:
    async with sized(browser, "phone") as page:
        await fill(hub, 30)
        await opened_rows(page, hub)
        await page.get_by_role("checkbox", name="Select Camera 1", exact=True).check()
        chosen = page.locator(".chosen")
        await chosen.get_by_role("checkbox", name="Select all").check()
        await expect(chosen).to_contain_text("30 selected")
        assert await bottom(chosen) <= await top(page.locator(".thumb"))
        assert await chosen.locator(":is(button, label)").evaluate_all(SMALL) == []
        assert await rows(page).locator("button").evaluate_all(SMALL) == []
        await page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
        assert await bottom(page.locator("footer > :last-child")) <= await top(chosen)
        last = rows(page).last.get_by_role("link")
        await page.evaluate("scrollTo(0, 0)")
        await last.focus()
        assert await bottom(last) <= await top(chosen)
        assert await findings(page) == []
        assert await no_scrolling_sideways(page)


async def test_where_little_fits_nothing_is_cut(browser: Browser, hub: RunningHub) -> None:
    context = await browser.new_context(viewport={"width": 320, "height": 640})
    page = await context.new_page()
    await with_driver(page, hub, "Left", "Nose")
    await opened(page, hub)
    assert await no_scrolling_sideways(page)
    for one in await page.locator(".thumb :is(a, button)").all():
        await expect(one).to_be_in_viewport(ratio=1)
        assert await one.evaluate("one => one.scrollWidth <= one.clientWidth")
    await context.close()
