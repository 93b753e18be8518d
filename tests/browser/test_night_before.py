"""The night before: problems, refusals, what runs, adapters and recovery steps, each with begin and end."""

from __future__ import annotations

import re
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.async_api import Browser, Page, Route, expect

from tests.browser.looking import SIZES, details, opened, shows, sized, toast
from tests.browser.running_hub import RunningHub
from tests.browser.test_accessibility import findings, no_scrolling_sideways
from tests.browser.test_camera_page import drawn
from tests.browser.told import Told, ago, said
from wifimgrd.client.json_records import history_json
from wifimgrd.domain import sentences
from wifimgrd.domain.records import HistoryRecord

pytestmark = pytest.mark.asyncio(loop_scope="session")

LOST: Final[dict[str, Any]] = {
    "connection_status": "connecting",
    "connected": False,
    "reachable": None,
    "device_reachability": "unknown",
    "connection_error_code": "connection-lost",
}
STOPPED: Final = "the connection was lost: The simulated NetworkManager stopped."
TRYING: Final = "The adapter wlan0 does not work; trying rescan."
WHY: Final = "The camera answers ARP and nothing else."


def row(kind: str, begun_s: float, ended_s: float | None = None, **members: Any) -> dict[str, Any]:
    """A row of the history, from so many seconds ago."""
    made = dict(history_json(HistoryRecord(id=1, time=0, kind=kind)))
    times = {"time": ago(begun_s), "ended": None if ended_s is None else ago(ended_s)}
    return made | {"interface": "wlan0", "device_name": "Nose"} | times | members


def night(device: int) -> list[dict[str, Any]]:
    """A camera's evening and the adapter's, as the hub gives it: by the ids."""
    of_it = {"device_id": device}
    none = {"device_id": None, "device_name": None}
    refused = "It did not start recording: the card is full."
    rows = [
        row("session", 3_000, **of_it),
        row("problem", 2_000, 1_988, code="battery-low", message="Its battery is low: 9 %.", **of_it),
        row("problem", 1_500, code="storage-full", message="Its card is full.", **of_it),
        row("refusal", 1_400, code="camera-refused", message=refused, **of_it),
        row("refusal", 1_390, code="camera-refused", message=refused, **of_it),
        row("recovery", 1_200, 1_170, code="rejoin", message=f"{WHY} It has helped.", **of_it),
        row("adapter", 1_190, code="unplugged", message="The adapter wlan0 was unplugged.", **none),
        row("adapter", 1_180, code="rescan", message=TRYING, **none),
        row("adapter", 1_180, code="unplugged", message="The adapter wlan7 was unplugged.", **none)
        | {"interface": "wlan7"},
        row("recording", 600, **of_it),
    ]  # fmt: skip
    return [one | {"id": number} for number, one in enumerate(rows, 1)][::-1]


async def kept(page: Page, rows: list[dict[str, Any]]) -> None:
    """The hub has such a history."""

    async def answer(route: Route) -> None:
        is_of_one = "device_id=" in route.request.url
        found = [one for one in rows if one["device_id"] is not None or not is_of_one]
        await route.fulfill(json={"history": found})

    await page.route("**/history?*", answer)


async def test_a_cameras_page_tells_it_with_begin_and_end(page: Page, hub: RunningHub) -> None:
    device = await hub.connected(1, "Nose")
    await kept(page, night(device))
    await opened(page, hub)
    past = (await details(page, "Nose")).locator(".past > li")
    await expect(past).to_have_count(8)
    kinds = [await one.get_attribute("data-kind") for one in await past.all()]
    assert kinds == [
        *("recording", "adapter", "adapter", "recovery"),
        *("refusal", "problem", "problem", "session"),
    ]
    running, rescan, _, step, refused, full, low, session = [past.nth(at) for at in range(8)]
    await expect(running).to_contain_text("Recording since ")
    await expect(running).to_contain_text(", not known whether it still does")  # it does not say so itself
    await expect(rescan).to_contain_text(TRYING)
    await expect(step).to_contain_text(", 30 s")
    await expect(refused).to_contain_text("Refused (2 times) from ")
    await expect(refused).to_contain_text("It did not start recording: the card is full.")
    await expect(refused).to_contain_text("Code camera-refused")
    await expect(full).to_contain_text("Problem since ")
    await expect(full).to_contain_text("Its card is full.")
    await expect(full).to_contain_text("Change it, or delete recordings.")
    await expect(low).to_contain_text("Problem from ")
    await expect(low).to_contain_text(", 12 s")
    await expect(low).to_contain_text("Its battery is low: 9 %.")
    await expect(session).to_contain_text("Connected since ")
    assert await findings(page) == []


async def test_they_are_marks_of_the_plot(page: Page, hub: RunningHub) -> None:
    device = await hub.connected(1, "Nose")
    await kept(page, night(device))
    await opened(page, hub)
    shown = await details(page, "Nose")
    name = "Last hour: 1 session, 1 recording, 1 recovery step, 2 problems, 3 errors"
    await expect(shown.get_by_role("slider", name=name)).to_be_visible()
    await expect(shown.locator(".legend")).to_contain_text("recovery step")
    await expect(shown.locator(".legend")).to_contain_text("problem")
    await page.wait_for_function("() => document.querySelector('.plot canvas')")
    problems = await drawn(page, "--busy")
    assert problems["pixels"] > 500, "from 1,500 s ago"
    assert problems["right"] > 0.95, "until now"


async def test_events_tell_it_with_begin_and_end(page: Page, hub: RunningHub) -> None:
    device = await hub.connected(1, "Nose")
    await kept(page, night(device))
    await opened(page, hub, "#events")
    lines = page.get_by_role("log").locator("li")
    for text, tone in {
        "Nose: Battery low. Charge it, or change it.": "bad",
        "Nose: problem over: battery low": "plain",
        "Nose: Card full. Change it, or delete recordings.": "bad",
        "Nose did not start recording: the card is full": "bad",
        "Nose is recording": "plain",
        "The adapter wlan0 was unplugged": "bad",
        "The adapter wlan7 was unplugged": "bad",
        "The adapter wlan0 does not work; trying rescan": "warn",
    }.items():
        line = lines.filter(has_text=text)
        await expect(line).to_have_count(1)
        await expect(line).to_have_class(tone)
    await expect(lines.filter(has_text="did not start recording")).to_contain_text("(2 times)")
    times = [str(await one.get_attribute("datetime")) for one in await lines.locator("time").all()]
    assert times == sorted(times, reverse=True), "the newest first"
    shown = await lines.locator("time").first.inner_text()
    assert shown.count(":") == 2, "to the second"
    await page.get_by_role("group", name="Kind").get_by_role("button", name="Hub").click()
    await expect(lines.filter(has_text="wlan0")).to_have_count(2)
    await expect(lines.filter(has_text="Nose")).to_have_count(0)
    await page.get_by_role("group", name="Kind").get_by_role("button", name="All").click()


@pytest.mark.parametrize("size", SIZES)
async def test_it_fits_every_screen(browser: Browser, hub: RunningHub, size: str) -> None:
    device = await hub.connected(1, "Nose")
    async with sized(browser, size) as page:
        await kept(page, night(device))
        for view in (f"#camera/{device}", "#events"):
            await opened(page, hub, view)
            await expect(page.get_by_text("wlan0").first).to_be_visible()
            assert await no_scrolling_sideways(page)
            assert await findings(page) == []


async def test_a_refusal_that_no_event_told_is_read_with_the_view(page: Page, hub: RunningHub) -> None:
    device = await hub.connected(1, "Nose")
    rows: list[dict[str, Any]] = []
    await kept(page, rows)
    await opened(page, hub)
    await shows(page, "Nose", "Connected")
    why = "It did not start recording: the card is full."
    rows.append(row("refusal", 0, code="camera-refused", message=why, device_id=device))
    await page.get_by_role("link", name="Events").click()
    await expect(
        page.get_by_role("log").get_by_text("Nose did not start recording: the card is full")
    ).to_have_count(1)


async def test_a_problem_that_is_over_is_told(page: Page, hub: RunningHub) -> None:
    channel = Told()
    await channel.to(page)
    channel.say("Nose", said(problems=["battery-low", "clock-wrong"]))
    await hub.connected(1, "Nose")
    await opened(page, hub)
    await shows(page, "Nose", "Connected")
    channel.say("Nose", said(problems=[]))
    line = page.locator(".events li").filter(has_text="Nose: problem over: battery low, clock wrong")
    await expect(line).to_have_count(1)


async def test_what_several_cameras_met_by_one_cause_is_one_line_and_one_message(
    page: Page, hub: RunningHub
) -> None:
    channel = Told()
    await channel.to(page)
    names = ("Nose", "Tail", "Mast")
    for number, name in enumerate(names, 1):
        await hub.connected(number, name)
    await opened(page, hub, "#cameras")
    lines = page.locator(".events li")
    for name in names[:2]:
        await shows(page, name, "Connected")
        channel.link(name, **LOST, connection_error_message=STOPPED)
        await expect(lines.filter(has_text=f"{name}: The connection was lost.")).to_have_count(1)
    channel.link(names[2], **LOST, connection_error_message=STOPPED)
    line = lines.filter(has_text="3 cameras were lost: the simulated NetworkManager stopped")
    await expect(line).to_have_count(1)
    await expect(line).to_contain_text("Mast, Tail and Nose")
    await expect(line).to_have_class("bad")
    await expect(lines.filter(has_text="The connection was lost.")).to_have_count(0)
    await expect(toast(page, "3 cameras were lost")).to_have_count(1)
    await expect(page.locator(".toast").filter(has_text="The connection was lost")).to_have_count(0)
    assert await findings(page) == []


async def test_what_they_met_the_night_before_is_one_line_and_each_camera_has_its_own(
    page: Page, hub: RunningHub
) -> None:
    ids = {name: await hub.create(number, name) for number, name in enumerate(("Nose", "Tail", "Mast"), 1)}
    lost = {"code": "connection-lost", "message": STOPPED}
    rows = [
        row("session", 9_000, 5_000 - number, id=10 + number, device_id=one, device_name=name) | lost
        for number, (name, one) in enumerate(ids.items())
    ]
    wrong = {"code": "authentication-failed", "message": "the camera refused the password"}
    rows += [  # what has one code, and no cause in common
        row("failure", 3_000, id=30 + one, device_id=one, device_name=name) | wrong
        for name, one in ids.items()
    ]
    rows += [  # by another cause, and at another time
        row("session", 9_000, 4_999, id=20, device_id=ids["Nose"], code="connection-lost", message="it went"),
        row("session", 9_000, 4_000, id=21, device_id=ids["Nose"]) | lost,
    ]
    await kept(page, rows)
    await opened(page, hub, "#events")
    lines = page.get_by_role("log").locator("li")
    await expect(lines.filter(has_text="3 cameras were lost: the simulated NetworkManager")).to_have_count(1)
    await expect(lines.filter(has_text="Nose: The connection was lost.")).to_have_count(2)
    await expect(lines.filter(has_text="The password was refused.")).to_have_count(3)
    await page.get_by_role("combobox", name="Camera").select_option("Tail")
    await expect(lines.filter(has_text="Tail: The connection was lost.")).to_have_count(1)
    await expect(lines.filter(has_text="3 cameras")).to_have_count(0)
    await page.get_by_role("combobox", name="Camera").select_option("All cameras")


async def test_a_camera_that_was_switched_off_in_the_moment_in_which_its_recording_ended(
    page: Page, hub: RunningHub
) -> None:
    channel = Told()
    await channel.to(page)
    channel.say("Nose", said(recording=True, recording_requested=True))
    await hub.connected(1, "Nose")
    await opened(page, hub)
    await shows(page, "Nose", "Recording")
    channel.say("Nose", said(recording=False, recording_requested=True))
    channel.stopped("Nose", "unknown")
    channel.link("Nose", **LOST, connection_error_message="the connection was lost")
    told = page.locator(".events li.bad").filter(has_text="Nose stopped recording")
    await expect(told).to_have_count(1)
    await expect(told).to_contain_text("Nose stopped recording: it was switched off")


async def test_an_end_that_the_hub_did_not_see_is_told_as_such(page: Page, hub: RunningHub) -> None:
    device = await hub.connected(1, "Nose")
    of_it: dict[str, Any] = {"device_id": device}
    low = sentences.problem_ended_unseen("Its battery is low: 9 %.")
    rows = [
        row("problem", 800, 790, code="battery-low", message=low, **of_it) | {"id": 2},
        row("session", 900, 780, message=sentences.ended_while_stopped(), **of_it) | {"id": 1},
    ]
    await kept(page, rows)
    await opened(page, hub, "#events")
    log = page.get_by_role("log")
    await expect(log.get_by_text("Nose: problem last seen: battery low")).to_be_visible()
    await expect(log.get_by_text("Nose was last known to be connected")).to_be_visible()
    await page.goto(f"{hub.url}#camera/{device}")
    past = page.locator(".past li")
    await expect(past.filter(has_text="the time given is when it was last known to be up")).to_be_visible()
    await expect(past.filter(has_text="the time given is when it was last known to last")).to_be_visible()


async def test_an_adapter_that_comes_and_goes_is_one_line_and_what_was_before_is_read(
    page: Page, hub: RunningHub
) -> None:
    none: dict[str, Any] = {"device_id": None, "device_name": None, "interface": "wlan9"}
    codes = {"plugged-in": "was plugged in", "unplugged": "was unplugged"}
    flaps = [
        row("adapter", number, code=code, message=f"The adapter wlan9 {codes[code]}.", **none)
        for number, code in enumerate(["unplugged", "plugged-in"] * 300)
    ]
    flaps.append(
        row("backend", 700, code="unavailable", message="NetworkManager is unavailable: it stopped.")
    )
    rows = [one | {"id": number} for number, one in enumerate(flaps[::-1], 1)][::-1]

    async def answer(route: Route) -> None:
        asked = parse_qs(urlsplit(route.request.url).query)
        before, limit = int(asked.get("before", ["9999"])[0]), int(asked["limit"][0])
        await route.fulfill(json={"history": [one for one in rows if one["id"] < before][:limit]})

    await page.route("**/history?*", answer)
    await opened(page, hub, "#events")
    line = page.locator(".events li").filter(has_text="The adapter wlan9")
    await expect(line.first).to_contain_text(re.compile(r"The adapter wlan9 came and went \d+ times since "))
    assert await line.count() <= 2, "one line of each day"
    await expect(page.locator(".events li").filter(has_text="it stopped")).to_have_count(1)


@pytest.mark.parametrize(
    ("step", "words", "tone"),
    [
        ("reset-port", "The adapter wlan0 went away during reset-port", "warn"),
        ("replug", "The adapter wlan0 was unplugged", "bad"),  # so says the history of one without a camera
        ("", "The adapter wlan0 was unplugged", "bad"),
    ],
)
async def test_an_adapter_that_a_step_has_lost_was_not_unplugged(
    page: Page, hub: RunningHub, step: str, words: str, tone: str
) -> None:
    channel = Told()
    await channel.to(page)
    await opened(page, hub)
    if step:
        channel.taken("wlan0", step)
    channel.gone("wlan0")
    line = page.locator(".events li").filter(has_text="The adapter wlan0 w")
    await expect(line).to_contain_text(words)
    await expect(line).to_have_class(tone)
    await expect(toast(page, words)).to_be_visible()
