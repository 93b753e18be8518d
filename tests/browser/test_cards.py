"""Cards: rows that line up whatever the states are, names and reasons in full, one step."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pytest
from playwright.async_api import Browser, Locator, Page, expect

from tests.browser.looking import SIZES, card, opened, opened_menu, shows, sized
from tests.browser.running_hub import RunningHub
from tests.browser.test_accessibility import findings, no_scrolling_sideways
from tests.browser.told import Told, ago, said
from tests.commands import disconnect
from wifimgrd.domain.camera import Problem
from wifimgrd.domain.errors import ATTEMPT_CODES, ErrorCode
from wifimgrd.domain.link_steps import LinkStep

pytestmark = pytest.mark.asyncio(loop_scope="session")

LONG: Final = "Belly, below the keel, starboard"
PARTS: Final = (".card-head", ".card-state", ".card-foot button")
GB: Final = 10**9
FULLY_READ: Final[dict[str, Any]] = {
    "battery_level": 100,
    "battery_state": "charging",
    "storage_state": "ok",
    "storage_free": 36 * GB,
    "recording_time_left_s": 12 * 3_600 + 59 * 60,
}
WHOLE: Final = "one => one.scrollHeight <= one.clientHeight && one.scrollWidth <= one.clientWidth"
DOWN: Final[dict[str, Any]] = {
    "connection_status": "disconnected",
    "connected": False,
    "interface": None,
    "signal_strength": None,
    "reachable": None,
}


async def tops(at: Locator) -> list[float]:
    """Where the parts of a card are."""
    return [await at.locator(part).first.evaluate("one => one.getBoundingClientRect().top") for part in PARTS]


async def test_neighbours_share_each_line_whatever_their_states_are(page: Page, hub: RunningHub) -> None:
    await hub.connected(1, "Front")
    await hub.create(2, LONG, "not-its-password")
    channel = Told()
    await channel.to(page)
    channel.say(
        "Tail", said(**FULLY_READ, recording=False, recording_requested=True, problems=["not-recording"])
    )
    await hub.connected(3, "Tail")
    await hub.create(4, "Mast")
    await opened(page, hub)
    await shows(page, LONG, "Wrong password")
    await shows(page, "Tail", "Not recording")
    seen = [await tops(card(page, name)) for name in ("Front", LONG, "Tail", "Mast")]
    assert len({tuple(one) for one in seen}) == 1, "four beside each other from 1280 px on"


@pytest.mark.parametrize("size", SIZES)
async def test_a_name_takes_two_lines_and_never_vanishes(
    browser: Browser, hub: RunningHub, size: str
) -> None:
    async with sized(browser, size) as page:
        await hub.create(1, LONG, "not-its-password")
        await opened(page, hub)
        await shows(page, LONG, "Wrong password")
        name = card(page, LONG).get_by_role("heading")
        assert await name.evaluate(WHOLE)
        async with hub.without_daemon():
            await shows(page, LONG, "Unknown, was wrong password")
            assert await name.evaluate(WHOLE)
            assert await findings(page) == []
        await hub.client.wait_until(lambda client: client.available, 30)


@pytest.mark.parametrize("width", [1280, 320])
async def test_every_reason_is_seen_in_full(page: Page, hub: RunningHub, width: int) -> None:
    """With all that a camera may have said, which leaves a reason two lines."""
    await page.set_viewport_size({"width": width, "height": 800})
    channel = Told()
    await channel.to(page)
    channel.say(LONG, said(**FULLY_READ))
    device = await hub.connected(1, LONG)
    await opened(page, hub)
    await shows(page, LONG, "Connected")
    at = card(page, LONG)
    line = at.locator(".line")
    for problem in Problem:
        channel.say(LONG, said(**FULLY_READ, problems=[problem]))
        await expect(line).to_have_attribute("data-problem", problem)
        assert await line.evaluate(WHOLE), await line.inner_text()
        assert await at.locator(".card-values").evaluate(WHOLE)
    channel.say(LONG, said(**FULLY_READ))
    await expect(line).to_have_count(0)
    for step in LinkStep:
        channel.link(LONG, recovery_step=step, reachable=False)
        await shows(page, LONG, "Recovering")
        assert await line.evaluate(WHOLE), await line.inner_text()
    channel.link(LONG, reachable=False)
    await shows(page, LONG, "Not answering")
    assert await line.evaluate(WHOLE), await line.inner_text()
    channel.link(LONG)
    await disconnect(hub.client, device)
    await shows(page, LONG, "Off")
    codes = {*ATTEMPT_CODES, ErrorCode.CONNECTION_LOST, ErrorCode.INTERFACE_LOST} - {ErrorCode.CANCELLED}
    for code in sorted(codes):
        for lost_at in (None, ago(5)):
            channel.link(
                LONG,
                **DOWN,
                connection_error_code=code,
                connection_error_message=f"{code} happened",
                connection_error_at=ago(5),
                lost_at=lost_at,
            )
            await shows(page, LONG, "Searching" if lost_at else re.compile("^(?!Searching|Off|Connected)"))
            assert await line.evaluate(WHOLE), await line.inner_text()
            assert await at.locator(".card-state").evaluate(WHOLE)
    assert await no_scrolling_sideways(page)


async def test_the_step_is_tinted_where_it_is_the_cure_and_never_where_it_would_stop_something(
    page: Page, hub: RunningHub
) -> None:
    channel = Told()
    await channel.to(page)
    channel.say("Front", said(recording=True, recording_since=ago(5), recording_requested=True))
    channel.say("Tail", said(recording=True, problems=["still-recording"]))
    await hub.connected(1, "Front")
    await hub.connected(2, "Tail")
    await hub.create(3, "Nose", "not-its-password")
    await opened(page, hub)
    for name, step, is_cure in (
        ("Front", "Stop recording", False),
        ("Tail", "Stop recording", False),
        ("Nose", "Change the password", True),
    ):
        button = card(page, name).get_by_role("button", name=step, exact=True)
        await expect(button).to_have_class("cure" if is_cure else "")


async def test_a_camera_that_was_only_not_found_is_connected_and_not_woken(
    page: Page, hub: RunningHub
) -> None:
    name = "X4 SIM360.OSC"  # one that may be woken
    await hub.client.create_device(
        {"codename": "insta360-x4", "connection_type": "wifi", "ssid": name, "password": "insta-pass-1"}
    )
    await opened(page, hub)
    await shows(page, name, "Not found")
    await expect(card(page, name).locator(".card-foot button").first).to_have_text("Connect")
    menu = await opened_menu(card(page, name))
    await expect(menu.get_by_role("menuitem", name="Wake and connect")).to_be_visible()


async def test_a_state_says_since_when_it_is(page: Page, hub: RunningHub) -> None:
    await hub.connected(1, "Front")
    device = await hub.connected(2, "Tail")
    await disconnect(hub.client, device)
    await opened(page, hub)
    for name in ("Front", "Tail"):
        await expect(card(page, name).locator(".since")).to_have_text(re.compile(r"^since \d"))


@pytest.mark.parametrize(("locale", "shown"), [("en-US", r"^since [1-9]\d?:"), ("en-GB", r"^since \d\d:")])
async def test_an_hour_has_no_leading_zero_where_the_day_has_twelve(
    browser: Browser, hub: RunningHub, locale: str, shown: str
) -> None:
    await hub.connected(1, "Front")
    # A zone in which it is between one and ten o'clock now.
    hour = datetime.now(UTC).hour
    context = await browser.new_context(locale=locale, timezone_id=f"Etc/GMT{(hour - 4 + 12) % 24 - 12:+d}")
    page = await context.new_page()
    await opened(page, hub)
    await expect(card(page, "Front").locator(".since")).to_have_text(re.compile(shown))
    await context.close()


@pytest.mark.parametrize(("minutes", "drawn"), [(5, 0), (20, 1)])
async def test_a_signal_is_drawn_once_there_are_ten_minutes_of_it(
    page: Page, hub: RunningHub, minutes: int, drawn: int
) -> None:
    device = await hub.connected(1, "Front")
    now = datetime.now(UTC)
    samples = [[(now - timedelta(minutes=one)).isoformat(), 60, 50] for one in range(minutes, 0, -1)]
    body = {"step_s": 60, "samples": samples, "battery": [None] * minutes}
    await page.route(f"**/devices/{device}/signal?*", lambda route: route.fulfill(json=body))
    async with page.expect_response("**/signal?*"):
        await opened(page, hub)
    await expect(card(page, "Front").locator(".signal")).to_be_visible()
    await expect(card(page, "Front").locator(".spark polyline")).to_have_count(drawn)


async def test_a_camera_that_no_step_has_helped_says_what_was_tried_and_when_that_ends(
    page: Page, hub: RunningHub
) -> None:
    channel = Told()
    await channel.to(page)
    channel.say("Front", said(**FULLY_READ))
    device = await hub.connected(1, "Front")
    row = {"id": 1, "device_id": device, "device_name": "Front", "kind": "recovery", "code": "rejoin"}
    rows = [
        {**row, "time": ago(600), "ended": ago(590)},
        {**row, "time": ago(900), "ended": ago(890), "code": "other-adapter"},
        {**row, "time": ago(7_200), "ended": ago(7_190)},
    ]
    await page.route(
        f"**/devices/history?device_id={device}&*", lambda route: route.fulfill(json={"history": rows})
    )
    await opened(page, hub)
    await shows(page, "Front", "Connected")
    channel.link("Front", reachable=False)
    line = card(page, "Front").locator(".line")
    await expect(line).to_have_text(re.compile(r"^2 steps did not help; none is taken again before \d"))
    assert await line.evaluate(WHOLE)
