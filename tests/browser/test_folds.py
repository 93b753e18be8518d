"""A list of many: equal rows as one, names and reasons in full, commands to several with the first tick."""

from __future__ import annotations

from typing import Any, Final

import pytest
from playwright.async_api import Browser, Locator, Page, expect

from tests.browser.looking import opened, opened_rows, toast
from tests.browser.running_hub import RunningHub
from tests.browser.test_accessibility import findings, no_scrolling_sideways
from tests.browser.test_cards import DOWN, FULLY_READ, LONG, WHOLE
from tests.browser.test_many import fill, row, rows
from tests.browser.told import Told, ago, said
from wifimgrd.domain.camera import Problem
from wifimgrd.domain.errors import ATTEMPT_CODES, ErrorCode

pytestmark = pytest.mark.asyncio(loop_scope="session")

REASON: Final = "All 3 adapters are in use. Plug one in, or disconnect a camera."


def folds(page: Page) -> Locator:
    """The rows that stand for several."""
    return page.locator(".fold-row")


async def test_three_equal_rows_are_one_with_names_reason_and_step(page: Page, hub: RunningHub) -> None:
    await fill(hub, 10)
    await opened(page, hub)
    await expect(folds(page)).to_have_count(1)
    await expect(folds(page).locator(".unfold")).to_have_text("7 cameras")
    await expect(folds(page).locator(".badge")).to_have_text("No adapter")
    await expect(folds(page).locator(".in-why")).to_have_text(
        f"Camera 4, Camera 5, Camera 6, Camera 7 and 3 more. {REASON}"
    )
    await expect(rows(page)).to_have_count(3)
    assert await findings(page) == []
    await folds(page).get_by_role("button", name="Connect when free").click()
    await expect(toast(page, "7 cameras wait for an adapter.")).to_be_visible()
    await page.mouse.move(2, 2)  # nothing is folded under the pointer
    await expect(folds(page).locator(".badge")).to_have_text("Waiting")
    await expect(folds(page).get_by_role("button", name="Stop waiting")).to_be_visible()


async def test_two_equal_rows_are_two(page: Page, hub: RunningHub) -> None:
    channel = Told()
    await channel.to(page)
    await fill(hub, 9)
    await opened(page, hub)
    await expect(folds(page).locator(".unfold")).to_have_text("6 cameras")
    for number in (4, 5):
        channel.link(
            f"Camera {number}",
            connection_error_code="device-not-reachable",
            connection_error_message="x",
            connection_error_at=ago(5),
        )
    await expect(folds(page).locator(".unfold")).to_have_text("4 cameras")
    for number in (4, 5):
        await expect(row(page, f"Camera {number}").locator(".badge")).to_have_text("Not found")


async def test_a_fold_opens_in_place_by_the_keyboard(page: Page, hub: RunningHub) -> None:
    await fill(hub, 9)
    await opened(page, hub)
    button = folds(page).locator(".unfold")
    await button.focus()
    await page.keyboard.press("Enter")
    await expect(button).to_have_attribute("aria-expanded", "true")
    await expect(button).to_be_focused()
    await expect(page.locator(".fold-row + tr")).to_contain_text("Camera 4")
    await expect(rows(page)).to_have_count(9)
    assert await findings(page) == []
    await page.keyboard.press("Enter")
    await expect(rows(page)).to_have_count(3)
    await expect(button).to_be_focused()


async def test_a_fold_is_selected_as_a_whole(page: Page, hub: RunningHub) -> None:
    await fill(hub, 9)
    await opened(page, hub)
    await folds(page).get_by_role("checkbox").check()
    await expect(page.get_by_text("6 selected")).to_be_visible()
    await folds(page).locator(".unfold").click()
    await page.get_by_role("checkbox", name="Select Camera 4", exact=True).uncheck()
    await expect(page.get_by_text("5 selected")).to_be_visible()
    await expect(folds(page).get_by_role("checkbox")).to_have_js_property("indeterminate", value=True)
    await page.locator(".chosen").get_by_role("button", name="Connect when free").click()
    await expect(toast(page, "5 cameras wait for an adapter.")).to_be_visible()


async def test_who_looks_for_cameras_sees_each(page: Page, hub: RunningHub) -> None:
    await fill(hub, 10)
    await opened(page, hub)
    await expect(folds(page)).to_have_count(1)
    await page.get_by_label("Find").fill("camera")
    await expect(rows(page)).to_have_count(10)
    await page.get_by_label("Find").fill("")
    await expect(rows(page)).to_have_count(3)
    state = page.get_by_role("button", name="No adapter 7")
    await state.click()
    await expect(rows(page)).to_have_count(7)
    await state.click()
    await page.get_by_role("button", name="Camera", exact=True).click()  # by name
    await expect(rows(page)).to_have_count(10)
    await expect(folds(page)).to_have_count(0)


async def test_nothing_is_folded_under_the_pointer(page: Page, hub: RunningHub) -> None:
    channel = Told()
    await channel.to(page)
    await fill(hub, 10)
    await opened(page, hub)
    await expect(folds(page)).to_have_count(1)
    await page.mouse.move(2, 2)
    for number in (4, 5):
        channel.link(f"Camera {number}", connection_error_code=None, connection_error_message=None)
        await expect(row(page, f"Camera {number}").locator(".badge")).to_have_text("Off")
    await row(page, "Camera 5").hover()
    channel.link("Camera 6", connection_error_code=None, connection_error_message=None)
    await expect(row(page, "Camera 6").locator(".badge")).to_have_text("Off")
    await expect(folds(page)).to_have_count(1)
    await expect(rows(page).last).to_contain_text("Camera 6")
    await page.mouse.move(2, 2)
    await expect(folds(page)).to_have_count(2)


async def test_the_commands_to_several_come_with_the_first_tick_and_move_nothing(
    page: Page, hub: RunningHub
) -> None:
    await fill(hub, 9)
    await opened(page, hub)
    await expect(page.locator(".chosen")).to_be_hidden()
    before = await row(page, "Camera 1").bounding_box()
    await page.get_by_role("checkbox", name="Select Camera 1", exact=True).check()
    await expect(page.locator(".chosen")).to_be_in_viewport(ratio=1)
    assert await row(page, "Camera 1").bounding_box() == before


SIZES_OF_ROWS: Final = (320, 390, 820, 1280, 1920)


@pytest.mark.parametrize("width", SIZES_OF_ROWS)
async def test_names_and_reasons_are_seen_in_full_on_every_size(
    browser: Browser, hub: RunningHub, width: int
) -> None:
    context = await browser.new_context(viewport={"width": width, "height": 900})
    page = await context.new_page()
    channel = Told()
    await channel.to(page)
    channel.say(LONG, said(**FULLY_READ))
    await hub.connected(1, LONG)
    for number in range(2, 10):
        await hub.create(number, f"Camera {number}")
    await opened_rows(page, hub)
    at = row(page, LONG)
    await expect(at.locator(".badge")).to_have_text("Connected")
    assert await no_scrolling_sideways(page)
    name, why = at.locator(".in-name .lines"), at.locator(".in-why .lines")
    heights = await rows(page).evaluate_all("rows => rows.map(one => one.offsetHeight)")
    assert len(set(heights)) == 1
    for problem in Problem:
        channel.say(LONG, said(**FULLY_READ, problems=[problem]))
        await expect(why).to_be_visible()
        await expect(at.locator(".badge")).to_be_visible()
        assert await name.evaluate(WHOLE)
        assert await why.evaluate(WHOLE), await why.inner_text()
        assert await at.locator(".in-state").evaluate(WHOLE)
    channel.say(LONG, said(**FULLY_READ))
    codes = {*ATTEMPT_CODES, ErrorCode.CONNECTION_LOST, ErrorCode.INTERFACE_LOST} - {ErrorCode.CANCELLED}
    for code in sorted(codes):
        down: dict[str, Any] = {**DOWN, "connection_error_code": code, "connection_error_message": "x"}
        channel.link(LONG, **down, connection_error_at=ago(5))
        await expect(at.locator(".in-why")).to_have_class("in-why alone")
        assert await name.evaluate(WHOLE)
        assert await why.evaluate(WHOLE), await why.inner_text()
        assert await at.locator(".in-state").evaluate(WHOLE)
    await context.close()
