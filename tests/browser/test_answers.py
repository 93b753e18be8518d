"""What a click came to is said as it is: done, not done, or not known; and whom it left out."""

from __future__ import annotations

import re
from typing import Any, Final

import pytest
from playwright.async_api import Browser, Locator, Page, Route, expect

from tests.browser.looking import SIZES, act, card, opened, shows, sized, toast
from tests.browser.running_hub import NO_DEVICE, RunningHub
from tests.browser.told import Told, said
from tests.commands import disconnect

pytestmark = pytest.mark.asyncio(loop_scope="session")

BOX = "one => { const box = one.getBoundingClientRect(); return [box.top, box.bottom]; }"
IS_WHOLE = "one => one.scrollHeight <= one.clientHeight && one.scrollWidth <= one.clientWidth"


async def with_driver(page: Page, hub: RunningHub, *names: str, **said_of: Any) -> Told:
    """Cameras that record on command, the first three of them connected, in the channel of a page."""
    channel = Told()
    await channel.to(page)
    for number, name in enumerate(names, 1):
        channel.say(name, said(**{"recording": False, **said_of}))
        await (hub.connected(number, name) if number <= 3 else hub.create(number, name))
    return channel


async def results_are(page: Page, rows: list[dict[str, Any]]) -> None:
    """Have a command to record on several answered with these rows."""
    await page.route("**/devices/recording", lambda route: route.fulfill(json={"results": rows}))


async def test_it_is_said_if_it_is_not_known_whether_a_camera_records(page: Page, hub: RunningHub) -> None:
    await with_driver(page, hub, "Left")
    await opened(page, hub)
    body = {"code": "unconfirmed", "detail": "the camera's answer was lost"}
    await page.route("**/devices/*/recording", lambda route: route.fulfill(status=504, json=body))
    await act(card(page, "Left"), "Record")
    shown = page.locator(".toast")
    await expect(shown).to_have_text(re.compile("^It is not known whether Left records[.]✕$"))
    await expect(shown).to_have_class("toast warn")


async def test_an_answer_that_is_lost_before_it_is_here_is_not_a_refusal(page: Page, hub: RunningHub) -> None:
    await with_driver(page, hub, "Left")
    await opened(page, hub)
    await page.route("**/devices/*/recording", lambda route: route.abort())
    await act(card(page, "Left"), "Record")
    words = "It is not known whether Left records. Cannot reach the hub."
    await expect(toast(page, words)).to_have_class("toast warn")
    await page.route("**/wifi/disconnect?*", lambda route: route.fulfill(status=502, body="Bad gateway"))
    await act(card(page, "Left"), "Disconnect")
    words = "It is not known whether Left has done it. The hub answered with status 502."
    await expect(toast(page, words)).to_have_class("toast warn")


async def test_record_on_all_is_for_the_cameras_that_should_be_connected(page: Page, hub: RunningHub) -> None:
    channel = await with_driver(page, hub, "Left", "Nose")
    channel.expect("Left", "Nose", expected=False)
    await opened(page, hub)
    record, stop = (page.get_by_role("button", name=name) for name in ("Record on all", "Stop all"))
    await expect(record).to_be_disabled()
    await expect(record).to_have_accessible_description(
        "No camera that the hub can start or stop was asked to connect."
    )
    await expect(stop).to_be_disabled()
    # One that was told to record, and was not seen to stop, is stopped whether it is of the rig or not.
    channel.say("Nose", said(recording=None, recording_requested=True))
    await expect(stop).to_be_enabled()
    await expect(record).to_be_disabled()
    channel.expect("Left")
    device = next(one.id for one in hub.client.devices.values() if one.name == "Left")
    await disconnect(hub.client, device)
    await hub.client.update_device(device, {"priority": 7})  # its whole record, from now on expected
    await expect(record).to_be_enabled()
    await shows(page, "Left", "Off")


async def test_stop_all_asks_also_if_it_is_not_known_whether_a_camera_records(
    page: Page, hub: RunningHub
) -> None:
    channel = await with_driver(page, hub, "Left", "Nose")
    channel.expect("Left", "Nose")
    channel.say("Nose", said(recording=None, recording_requested=True))
    await opened(page, hub)
    asked: list[Any] = []

    async def answer(route: Route) -> None:
        asked.append(route.request.post_data_json)
        await route.fulfill(json={"results": []})

    await page.route("**/devices/recording", answer)
    await page.get_by_role("button", name="Stop all").click()
    question = page.get_by_role("dialog", name="Stop all recordings?")
    await expect(question).to_contain_text("0 cameras record now. Not known: Nose.")
    assert asked == []
    await question.get_by_role("button", name="Stop all").click()
    await expect(page.locator(".toast")).to_have_count(1)
    assert asked == [{"recording": False, "all": True}]


IS_ON_TOP: Final = """one => {
  const box = one.getBoundingClientRect();
  const places = [box.left + 4, box.left + box.width / 2, box.right - 4];
  return places.every((x) => one.contains(document.elementFromPoint(x, box.top + box.height / 2)));
}"""


@pytest.mark.parametrize("size", SIZES)
async def test_no_message_is_cut_and_none_moves(browser: Browser, hub: RunningHub, size: str) -> None:
    async with sized(browser, size) as page:
        channel = await with_driver(page, hub, "Left")
        channel.expect("Left")
        await opened(page, hub)
        away = {"done": False, "after_ms": None, "code": "not-connected", "message": ""}
        await results_are(page, [away | {"device_id": NO_DEVICE + number} for number in range(26)])
        body = {"code": "busy", "detail": "it copies " + "what it has recorded, " * 8}
        await page.route("**/wifi/disconnect?*", lambda route: route.fulfill(status=409, json=body))
        await act(card(page, "Left"), "Disconnect")
        below = toast(page, "it copies")
        await expect(below).to_have_class("toast bad")
        before = await below.evaluate(BOX)
        await page.get_by_role("button", name="Record on all").click()
        above = toast(page, "0 of 26 cameras record. Not connected: ")
        await expect(above).to_contain_text(f"Camera {NO_DEVICE + 25}.")
        for one in (below, above):
            await expect(one).to_be_in_viewport(ratio=1)
            assert await one.locator("span").evaluate(IS_WHOLE)
        assert await below.evaluate(BOX) == before
        assert await bottom(above) <= before[0], "none lies on the other"
        place = await above.evaluate(BOX)
        await below.get_by_role("button", name="Dismiss").click()
        await expect(below).to_have_count(0)
        assert await above.evaluate(BOX) == place


async def bottom(at: Locator) -> float:
    """Where a message ends."""
    return float((await at.evaluate(BOX))[1])


async def test_an_answer_that_is_not_good_stays_until_it_is_dismissed(page: Page, hub: RunningHub) -> None:
    channel = await with_driver(page, hub, "Left")
    channel.expect("Left")
    await page.clock.install()
    await opened(page, hub)
    away = {"device_id": NO_DEVICE, "done": False, "after_ms": None, "code": "not-connected", "message": ""}
    await results_are(page, [away])
    await page.get_by_role("button", name="Record on all").click()
    shown = toast(page, f"0 of 1 cameras record. Not connected: Camera {NO_DEVICE}.")
    await expect(shown).to_be_visible()
    await page.clock.fast_forward(600_000)
    await expect(shown).to_be_visible()
    await results_are(page, [away | {"done": True, "code": None}])
    await page.get_by_role("button", name="Record on all").click()
    await expect(toast(page, "1 of 1 cameras record.")).to_be_visible()
    await page.clock.fast_forward(600_000)
    await expect(page.locator(".toast")).to_have_count(0)


async def refused(page: Page, hub: RunningHub, view: str = "") -> Locator:
    """The message of a command that two cameras do not obey."""
    reasons = {"done": False, "after_ms": None, "code": "busy", "message": "it copies"}
    await results_are(page, [reasons | {"device_id": NO_DEVICE}])
    channel = await with_driver(page, hub, "Left")
    channel.expect("Left")
    await opened(page, hub, view)
    await page.get_by_role("button", name="Record on all").click()
    shown = toast(page, "0 of 1 cameras record.")
    await expect(shown).to_be_visible()
    return shown


async def test_a_message_that_stays_says_when_it_was_so(page: Page, hub: RunningHub) -> None:
    shown = await refused(page, hub)
    await expect(shown.locator("time")).to_have_text(re.compile(r"^\d+:\d\d"))


async def test_nothing_is_tried_again_while_the_hub_is_away(page: Page, hub: RunningHub) -> None:
    shown = await refused(page, hub)
    again = shown.get_by_role("button", name="Try again")
    await expect(again).to_be_enabled()
    async with hub.without_daemon():
        await expect(again).to_be_disabled()
    await expect(again).to_be_enabled()
    await hub.client.wait_until(lambda client: client.available, 30)


@pytest.mark.parametrize("width", [820, 1366])
async def test_no_message_lies_on_the_button_for_all_cameras(
    browser: Browser, hub: RunningHub, width: int
) -> None:
    context = await browser.new_context(viewport={"width": width, "height": 500})
    try:
        page = await context.new_page()
        shown = await refused(page, hub, "#check")
        ends = await shown.evaluate("one => one.getBoundingClientRect().right")
        button = page.get_by_role("button", name="Record on all")
        assert ends < await button.evaluate("one => one.getBoundingClientRect().left")
    finally:
        await context.close()


async def test_an_open_menu_lies_over_the_messages(browser: Browser, hub: RunningHub) -> None:
    async with sized(browser, "phone") as page:
        await refused(page, hub)
        await page.get_by_role("button", name="More", exact=True).click()
        for item in await page.get_by_role("menu").locator("> *").all():
            assert await item.evaluate(IS_ON_TOP)
