"""What a camera says of itself, on cards, in rows, on its page and among the events; nothing is made up."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

import pytest
from playwright.async_api import Browser, Locator, Page, Route, expect

from tests.browser.looking import SIZES, card, details, opened, opened_menu, shows, sized, toast
from tests.browser.running_hub import NO_DEVICE, RunningHub
from tests.browser.test_accessibility import NARROW, findings, no_scrolling_sideways
from tests.browser.told import Told, ago, said
from tests.commands import disconnect

pytestmark = pytest.mark.asyncio(loop_scope="session")

GB = 1_000_000_000
IDLE = {
    "battery_level": 78,
    "battery_state": "charging",
    "recording": False,
    "storage_state": "ok",
    "storage_free": 41 * GB,
    "storage_total": 128 * GB,
}
DETAILS = {
    "recording_time_left_s": 7_859,
    "temperature_state": "warning",
    "clock_offset_ms": -90_000,
    "clock_read_at": ago(0),
    "model": "Insta360 X3",
    "serial_number": "IXSE0001",
    "firmware_version": "1.2.3",
}


async def told(page: Page) -> Told:
    """A page in whose channel cameras say what the test has them say."""
    channel = Told()
    await channel.to(page)
    return channel


def recording(seconds: float, **members: Any) -> dict[str, Any]:
    """A camera that has recorded for so long."""
    return said(
        **IDLE | {"recording": True, "recording_requested": True, "recording_since": ago(seconds)} | members
    )


def problems(at: Locator) -> Locator:
    """The lines about what is wrong."""
    return at.locator("[data-problem]")


async def test_a_card_says_battery_and_card(page: Page, hub: RunningHub) -> None:
    channel = await told(page)
    channel.say("Front", said(**IDLE))
    device = await hub.connected(1, "Front")
    await opened(page, hub)
    front = card(page, "Front")
    await expect(front.locator(".battery")).to_have_text("78 %, charging")
    await expect(front.locator(".memory")).to_have_text("41 GB free")
    await shows(page, "Front", "Connected")
    channel.say("Front", said(**IDLE, recording_time_left_s=4_320))
    await expect(front.locator(".memory")).to_have_text("1 h 12 min left")
    for state, words in (("full", "Card full"), ("missing", "No card"), ("error", "Card unusable")):
        channel.say("Front", said(storage_state=state, storage_free=0, recording_time_left_s=0))
        await expect(front.locator(".memory")).to_have_text(words)
        await expect(front.locator(".battery")).to_have_count(0)
    channel.say("Front", said(storage_state="slow", storage_free=9_870_000_000, battery_level=0))
    await expect(front.locator(".memory")).to_have_text("Card too slow")
    await expect(front.locator(".battery")).to_have_text("0 %")
    await disconnect(hub.client, device)
    await expect(front.locator(".battery")).to_have_text("0 %")  # the time of both is at their end
    await expect(front.locator(".memory")).to_have_text(re.compile(r"^Card too slow at \d"))
    channel.say("Front", said(battery_level=7))
    await expect(front.locator(".battery")).to_have_text(re.compile(r"^7 % at \d"))


async def test_what_is_not_known_is_not_there(page: Page, hub: RunningHub) -> None:
    channel = await told(page)
    channel.say("Front", said(read_at=None))
    await hub.connected(1, "Front")
    await hub.connected(2, "Without driver")
    await opened(page, hub)
    await shows(page, "Front", "Connected")
    for name in ("Front", "Without driver"):
        await expect(card(page, name).locator(".battery, .memory")).to_have_count(0)
    await expect(card(page, "Front").get_by_role("button", name="Record", exact=True)).to_be_enabled()
    menu = await opened_menu(card(page, "Front"))
    await expect(menu.get_by_role("menuitem", name="Stop recording")).to_have_count(0)
    await page.keyboard.press("Escape")
    await expect(card(page, "Without driver").get_by_role("button", name="Record", exact=True)).to_have_count(
        0
    )
    # A camera that was read, and does not say whether it records, can be told both.
    channel.say("Front", said(battery_level=5))
    await expect(card(page, "Front").locator(".battery")).to_have_text("5 %")
    menu = await opened_menu(card(page, "Front"))
    await expect(menu.get_by_role("menuitem", name="Stop recording")).to_have_attribute(
        "aria-disabled", "false"
    )
    await page.keyboard.press("Escape")
    await page.get_by_role("link", name="Without driver").click()
    await expect(page.get_by_role("heading", name="Without driver", level=2)).to_be_visible()
    await expect(page.get_by_role("heading", name="What the camera says")).to_have_count(0)


async def test_a_running_time_goes_on(page: Page, hub: RunningHub) -> None:
    channel = await told(page)
    channel.say("Front", recording(3_593))
    await hub.connected(1, "Front")
    await opened(page, hub)
    badge = card(page, "Front").locator(".badge")
    await expect(badge).to_have_text(re.compile(r"^Recording 59:5\d$"))
    await expect(badge.locator("[data-shape=recording]")).to_be_visible()
    await expect(badge).to_have_text(re.compile(r"^Recording 1:00:0\d$"))
    channel.say("Front", recording(-3_600))
    await expect(badge).to_have_text("Recording 0:00")  # begun in the future: cameras tell whole seconds
    channel.say("Front", recording(0, recording_since=None))
    await expect(badge).to_have_text("Recording")
    channel.say("Front", said(**IDLE))
    await expect(badge).to_have_text("Connected")


@pytest.mark.parametrize("year", [2001, 2040])
async def test_a_running_time_is_by_the_hubs_clock(page: Page, hub: RunningHub, year: int) -> None:
    await page.clock.install(time=datetime(year, 1, 1, tzinfo=UTC))
    channel = await told(page)
    channel.say("Front", recording(724))
    await hub.connected(1, "Front")
    await opened(page, hub)
    await expect(card(page, "Front").locator(".badge")).to_have_text(re.compile(r"^Recording 12:[0-2]\d$"))
    await expect(card(page, "Front").locator(".battery")).to_have_text("78 %, charging")


@pytest.mark.slow
async def test_what_was_read_long_ago_is_not_so_now(page: Page, hub: RunningHub) -> None:
    channel = await told(page)
    channel.say("Front", recording(724, read_at=ago(90), problems=["storage-low"]))
    await hub.connected(1, "Front")
    await opened(page, hub)
    front = card(page, "Front")
    await shows(page, "Front", "Connected")
    await expect(front.locator(".was-recording")).to_have_text(re.compile(r"^Was recording at \d"))
    await expect(front.locator(".battery")).to_have_text("78 %, charging")
    await expect(problems(front)).to_have_count(0)
    channel.say("Front", recording(724))
    await expect(front.locator(".was-recording")).to_have_count(0)
    await expect(front.locator(".badge")).to_contain_text("Recording 12:")
    # Nobody knows what a camera does that answers nothing.
    await hub.set_fault("silent")
    await shows(page, "Front", "Not answering")
    await expect(front.locator(".was-recording")).to_be_visible()


async def test_while_the_hub_is_away_nothing_runs(page: Page, hub: RunningHub) -> None:
    channel = await told(page)
    channel.say("Front", recording(724))
    device = await hub.connected(1, "Front")
    await opened(page, hub)
    await expect(card(page, "Front").locator(".badge")).to_contain_text("Recording 12:")
    async with hub.without_daemon():
        await shows(page, "Front", "Unknown, was connected")
        await expect(card(page, "Front").locator(".was-recording")).to_be_visible()
        await expect(page.get_by_role("button", name="Record on all")).to_be_disabled()
    await hub.until(device, "connected")


async def test_problems_are_lines_with_the_next_step(page: Page, hub: RunningHub) -> None:
    channel = await told(page)
    channel.say("Tail", recording(5))
    await hub.connected(1, "Tail")
    await opened(page, hub)
    await expect(card(page, "Tail").locator(".badge")).to_contain_text("Recording")
    failed = said(
        **IDLE
        | {
            "recording_requested": True,
            "storage_state": "full",
            "problems": ["not-recording", "storage-full"],
        }
    )
    channel.say("Tail", failed)
    not_recording = "Not recording. Card full. Change it, or delete recordings."  # what it was, and why
    text = f"Tail: {not_recording}"
    await expect(toast(page, text)).to_be_visible()
    await expect(page.get_by_role("log")).to_contain_text(text)
    await shows(
        page, "Tail", "Not recording"
    )  # the most urgent is the state; why, and what to do, is one line
    await expect(problems(card(page, "Tail"))).to_have_text(["Card full. Change it, or delete recordings."])
    shown = await details(page, "Tail")
    lines = problems(shown)
    await expect(lines).to_have_text([not_recording])
    for name in ("Record", "Leave it stopped"):
        await expect(shown.get_by_role("button", name=name, exact=True)).to_be_enabled()
    channel.say("Tail", failed | {"problems": ["storage-full", "of-a-later-version", "constructor"]})
    await expect(lines).to_have_count(1)
    channel.say("Tail", said(**IDLE))
    await expect(lines).to_have_count(0)


@pytest.mark.parametrize(
    ("reason", "requested", "words"),
    [
        ("full", True, "Front stopped recording: its card is full"),
        ("battery", True, "Front stopped recording: its battery is empty"),
        ("too-hot", True, "Front stopped recording: it is too hot"),
        ("slow-card", True, "Front stopped recording: its card is too slow"),
        ("unknown", True, "Front stopped recording: it does not say why"),
        ("of-a-later-version", True, "Front stopped recording: it does not say why"),
        ("stopped", True, "Front stopped recording: it was stopped at the camera"),
        ("stopped", False, None),
    ],
)
async def test_the_end_of_a_recording_is_told_with_its_reason(
    page: Page, hub: RunningHub, reason: str, requested: bool, words: str | None
) -> None:
    channel = await told(page)
    channel.say("Front", recording(5, recording_requested=requested))
    await hub.connected(1, "Front")
    await opened(page, hub)
    await expect(card(page, "Front").locator(".badge")).to_contain_text("Recording")
    channel.say("Front", said(**IDLE, recording_requested=requested))
    channel.stopped("Front", reason)
    await expect(page.locator(".events li").first).to_contain_text(words or "Front stopped recording")
    await expect(page.locator(".events li").first).to_have_class("bad" if words else "plain")
    await expect(page.locator(".toast")).to_have_count(1 if words else 0)
    channel.say("Front", recording(0))
    await expect(page.locator(".events li").first).to_contain_text("Front is recording")


async def test_the_page_of_a_camera_has_the_rest(page: Page, hub: RunningHub) -> None:
    channel = await told(page)
    channel.say("Front", said(**IDLE, **DETAILS))
    device = await hub.connected(1, "Front")
    await opened(page, hub, f"#camera/{device}")
    shown = page.get_by_role("region", name="What the camera says")
    facts = {
        "Card size": "128 GB",
        "Temperature": "Hot",
        "Clock": "90 s behind the hub's",
        "Model": "Insta360 X3",
        "Serial number": "IXSE0001",
        "Firmware": "1.2.3",
    }
    await expect(shown.locator("dt")).to_have_text(list(facts))
    await expect(shown.locator("dd")).to_have_text(list(facts.values()))
    # In large above it, and not once more.
    await expect(page.locator(".stats")).to_contain_text("2 h 10 min left")
    assert await findings(page) == []
    channel.say("Front", recording(5, clock_offset_ms=90_061_000, recording_time_left_s=59))
    await expect(shown.locator("dd")).to_have_text(["128 GB", "25 h ahead of the hub's"])
    button = shown.get_by_role("button", name="Set the clock")
    await expect(button).to_be_disabled()
    await expect(button).to_have_accessible_description("The clock cannot be set while the camera records.")
    channel.say("Front", said(**IDLE, clock_offset_ms=400))
    await expect(shown.locator("dd").last).to_have_text("As the hub's")
    channel.say("Front", said(**IDLE, clock_offset_ms=-43, clock_bound_ms=17))
    await expect(shown.locator("dd").last).to_have_text("\u22120.04 s \u00b1 0.02")


async def test_many_results_are_one_message(page: Page, hub: RunningHub) -> None:
    channel = await told(page)
    for name in ("Tail", "Left", "Nose"):
        channel.say(name, said(**IDLE))
        channel.expect(name)
    device = await hub.connected(1, "Tail")
    left, nose = await hub.create(2, "Left"), await hub.create(3, "Nose")
    await opened(page, hub)
    done = {"device_id": NO_DEVICE, "done": True, "after_ms": 12, "code": None, "message": None}
    away = {
        "device_id": nose,
        "done": False,
        "after_ms": None,
        "code": "not-connected",
        "message": "it is off",
    }
    lost = {"device_id": left, "done": False, "after_ms": None, "code": "unconfirmed", "message": "no answer"}
    failed = {"device_id": device, "done": False, "after_ms": None, "code": "camera-refused"}
    full, silent = failed | {"message": "the card is full"}, failed | {"device_id": NO_DEVICE, "message": ""}
    asked: list[Any] = []
    results: list[Any] = []

    async def answer(route: Route) -> None:
        asked.append((route.request.method, route.request.post_data_json))
        await route.fulfill(json={"results": results})

    await page.route("**/devices/recording", answer)
    for name, results, words, tone in (  # noqa: B007, used by `answer`
        ("Record on all", [done] * 3 + [full], "3 of 4 cameras record. Tail: the card is full.", "bad"),
        ("Record on all", [done] * 4, "4 of 4 cameras record.", "good"),
        ("Record on all", [done], "1 of 1 cameras record.", "good"),
        ("Record on all", [done, away], "1 of 2 cameras record. Not connected: Nose.", "warn"),
        ("Record on all", [away], "0 of 1 cameras record. Not connected: Nose.", "warn"),
        ("Record on all", [done, lost], "1 of 2 cameras record. Not known: Left.", "warn"),
        (
            "Record on all",
            [full, done, lost, away],
            "1 of 4 cameras record. Not connected: Nose. Not known: Left. Tail: the card is full.",
            "bad",
        ),
        ("Stop all", [done] * 2, "2 of 2 cameras have stopped.", "good"),
        ("Stop all", [done], "1 of 1 cameras have stopped.", "good"),
        ("Stop all", [done, lost], "1 of 2 cameras have stopped. Not known: Left.", "warn"),
        (
            "Stop all",
            [silent],
            f"0 of 1 cameras have stopped. Camera {NO_DEVICE}: The camera refused.",
            "bad",
        ),
        (
            "Record on all",
            [full, full | {"device_id": nose}, full | {"device_id": left, "message": "it is too hot"}],
            "0 of 3 cameras record. Tail, Nose: the card is full. Left: it is too hot.",
            "bad",
        ),
        ("Record on all", [], "No camera that the hub can start or stop was asked to connect.", "bad"),
    ):
        await page.get_by_role("button", name=name).click()
        # One that stays has its time, too.
        whole = re.compile(rf"^{re.escape(words)}( \d+:\d\d.*)?$")
        await expect(page.locator(".toast > span")).to_have_text([whole])
        await expect(page.locator(".toast")).to_have_class(f"toast {tone}")
        assert asked.pop() == ("POST", {"recording": name == "Record on all", "all": True})
    await page.unroute("**/devices/recording")
    body = {"code": "backend-unavailable", "detail": "wifimgrd-camera does not run"}
    await page.route("**/devices/recording", lambda route: route.fulfill(status=503, json=body))
    await page.get_by_role("button", name="Stop all").click()
    await expect(toast(page, "The hub could not connect. Wifimgrd-camera does not run.")).to_be_visible()


async def world(page: Page, hub: RunningHub) -> Told:
    """A camera that records, one with problems, one that was read long ago, in the channel of a page."""
    channel = await told(page)
    channel.say("Front", recording(724))
    channel.say(
        "Left wing",
        said(**IDLE, recording_requested=True, problems=["not-recording", "storage-low", "clock-wrong"]),
    )
    channel.say("Tail", recording(724, read_at=ago(600)))
    for number, name in enumerate(("Front", "Left wing", "Tail"), 1):
        await hub.connected(number, name)
    return channel


@pytest.mark.parametrize("size", SIZES)
async def test_axe_finds_nothing(browser: Browser, hub: RunningHub, size: str) -> None:
    async with sized(browser, size) as page:
        await world(page, hub)
        await opened(page, hub)
        await expect(card(page, "Front").locator(".badge.recording")).to_be_visible()
        assert await findings(page) == []
        assert await no_scrolling_sideways(page)
        for number in range(4, 10):
            await hub.create(number)
        await expect(page.locator(".unfold")).to_have_text("6 cameras")
        assert await findings(page) == []
        await page.locator(".unfold").click()
        await expect(page.locator("tbody tr[data-device]")).to_have_count(9)
        await page.get_by_role("checkbox", name="Select Front").check()
        assert await findings(page) == []
        assert await no_scrolling_sideways(page)
        await page.get_by_role("link", name="Front", exact=True).click()
        await expect(page.get_by_role("heading", name="What the camera says")).to_be_visible()
        assert await findings(page) == []


@pytest.mark.parametrize("size", NARROW)
async def test_nothing_is_lost_where_little_fits(browser: Browser, hub: RunningHub, size: str) -> None:
    options: Any = NARROW[size]
    context = await browser.new_context(**options)
    page = await context.new_page()
    await world(page, hub)
    await opened(page, hub)
    for name in ("Record on all", "Stop all"):
        await expect(page.get_by_role("button", name=name)).to_be_in_viewport(ratio=1)
    assert await no_scrolling_sideways(page)
    for number in range(4, 10):
        await hub.create(number)
    badge = page.get_by_role("row").filter(has=page.get_by_role("link", name="Front")).locator(".badge")
    await badge.scroll_into_view_if_needed()
    await expect(badge).to_contain_text("Recording 12:")
    inside = "one => one.getBoundingClientRect().right <= one.closest('td').getBoundingClientRect().right"
    assert await badge.evaluate(inside), "the whole time is seen"
    assert await no_scrolling_sideways(page)
    await context.close()


async def test_the_dot_blinks_but_where_motion_is_reduced(browser: Browser, hub: RunningHub) -> None:
    drawn = "dot => [getComputedStyle(dot).animationName, getComputedStyle(dot).fill]"
    for motion, animation in (("no-preference", "blink"), ("reduce", "none")):
        options: Any = {"reduced_motion": motion}
        context = await browser.new_context(**options)
        page = await context.new_page()
        channel = await told(page)
        channel.say("Front", recording(5))
        await hub.reset()
        await hub.connected(1, "Front")
        await opened(page, hub)
        dot = card(page, "Front").locator("[data-shape=recording]")
        assert await dot.evaluate(drawn) == [animation, "rgb(209, 26, 42)"]
        await context.close()


async def test_a_recording_is_seen_in_forced_colours(browser: Browser, hub: RunningHub) -> None:
    context = await browser.new_context(forced_colors="active")
    page = await context.new_page()
    channel = await told(page)
    channel.say("Front", recording(5))
    await hub.connected(1, "Front")
    await opened(page, hub)
    dot = card(page, "Front").locator("[data-shape=recording]")
    fill, ground = await dot.evaluate(
        "dot => [getComputedStyle(dot).fill, getComputedStyle(dot.parentElement).backgroundColor]"
    )
    assert fill != ground
    await context.close()
