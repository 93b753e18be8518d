"""The view of takes, by answers made by hand: its words and filters, live, as tables, on phones."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import pytest
from playwright.async_api import Browser, Locator, Page, Route, expect

from tests.browser.looking import SIZES, opened, sized, toast
from tests.browser.running_hub import RunningHub
from tests.browser.takes import Json, Takes, files, missing
from tests.browser.test_accessibility import NARROW, findings, no_scrolling_sideways
from tests.browser.told import Told, said

pytestmark = pytest.mark.asyncio(loop_scope="session")

CAMERAS: Final = ("Front", "Left wing", "Right wing", "Tail")
HOSTILE: Final = '<img src=x onerror="window.hurt=1">\u202egnorw \u05de\u05e0\u05dc\u05d4' + 40 * "W"
RUNS: Final = {"recording": True, "recording_requested": True, "storage_free": 58_000_000_000}


class Answers:
    """What the hub answers of takes; the newest first, as is asked for."""

    def __init__(self, takes: Sequence[Json] = ()) -> None:
        self.takes = list(takes)
        self.asked: list[dict[str, str]] = []
        self.is_failing = False

    async def to(self, page: Page) -> None:
        await page.route("**/takes?*", self._answer)

    async def _answer(self, route: Route) -> None:
        if self.is_failing:
            problem = {"code": "backend-unavailable", "detail": "The history cannot be read."}
            await route.fulfill(status=503, json=problem)
            return
        query = dict(part.split("=", 1) for part in route.request.url.partition("?")[2].split("&"))
        self.asked.append(query)
        since, until = (query.get(name, "").replace("%3A", ":") for name in ("since", "until"))
        wanted = [one for one in self.takes if since <= one["time"] and (not until or one["time"] < until)]
        wanted = wanted[: int(query["limit"])]
        if route.request.headers["accept"] == "text/csv":
            await route.fulfill(body=table(wanted), content_type="text/csv; charset=utf-8")
        else:
            await route.fulfill(json={"takes": wanted})


def table(takes: Sequence[Json]) -> str:
    """Some of the columns that the hub's table has; its lines end in CR LF."""
    out = io.StringIO()
    lines = csv.DictWriter(out, ("take", "time", "device_name", "code"), extrasaction="ignore")
    lines.writeheader()
    for take in takes:
        for row in (*take["recordings"], *take["missing"]):
            lines.writerow({"take": take["time"], **row})
    return out.getvalue()


@pytest.fixture
def timezone() -> str:
    """Where it is about noon now: what was some minutes ago was today."""
    ahead = 12 - datetime.now(UTC).hour
    return f"Etc/GMT{-ahead:+}" if ahead else "UTC"


@pytest.fixture
def makes() -> Takes:
    """Takes whose second 0 is 724 s ago."""
    return Takes(datetime.now(UTC) - timedelta(seconds=724))


async def rig(page: Page, hub: RunningHub, *recording: str) -> tuple[Told, dict[str, int]]:
    """The page's channel, in which some of four cameras record; three of them have an adapter."""
    channel = Told()
    await channel.to(page)
    for name in CAMERAS:
        channel.say(name, said(**RUNS) if name in recording else said(recording=False))
    ids = {name: await hub.create(number, name) for number, name in enumerate(CAMERAS, 1)}
    for name in CAMERAS[:3]:
        await hub.until(ids[name], "connected")
    return channel, ids


def panels(page: Page) -> Locator:
    """All takes that are shown."""
    return page.locator(".take")


def row(panel: Locator, name: str) -> Locator:
    """A camera's row in a take."""
    return panel.get_by_role("row").filter(has=panel.page.get_by_role("rowheader", name=name))


async def is_seen(one: Locator) -> bool:
    """Whether it has a size: what is left to those who listen has a pixel."""
    box = await one.bounding_box()
    return box is not None and box["width"] > 1


def running_take(makes: Takes, ids: dict[str, int]) -> Json:
    """Three record; the fourth has stopped with a full card."""
    clock = {"clock_offset_ms": 20, "clock_bound_ms": 40, "storage_free": 60_000_000_000}
    tail = {
        "code": "full",
        "files": files(4_000_000_000, 3_800_000_000),
        "clock_offset_ms": 50,
        "clock_bound_ms": 40,
    }
    rows = [makes.recording(ids["Tail"], "Tail", 0.038, 550, **tail)]
    rows += [
        makes.recording(ids[name], name, 0.01 * at, None, **clock) for at, name in enumerate(CAMERAS[:3])
    ]
    return makes.take(rows)


def whole_take(makes: Takes, begin: float, names: Sequence[str] = ("Tail", "Front")) -> Json:
    """One in which nobody is missing."""
    size = {"files": files(11_500_000_000)}
    return makes.take(
        [makes.recording(None, name, begin + 0.029 * at, begin + 60, **size) for at, name in enumerate(names)]
    )


async def test_one_that_runs_says_who_records_and_who_does_not(
    page: Page, hub: RunningHub, makes: Takes
) -> None:
    _, ids = await rig(page, hub, *CAMERAS[:3])
    take = running_take(makes, ids)
    take["missing"] = [missing(99, "Mast", "not-connected")]
    await Answers([take]).to(page)
    await opened(page, hub)
    await page.get_by_role("navigation").get_by_role("link", name="Takes").click()
    panel = panels(page)
    await expect(panel.locator(".badge")).to_have_text("3 of 5 cameras")
    await expect(panel.get_by_role("heading")).to_have_text(
        re.compile(r"^\d\d:\d\d:\d\d \w\w to now, 1[2-9]:\d\d$")
    )
    told = panel.locator(".take-words p")
    await expect(told).to_contain_text(
        "Begun within 38 ms of each other. Mast does not record: not connected."
    )
    await expect(told).to_contain_text(re.compile(r"Tail is missing since .+: its card is full\."))
    table = panel.get_by_role("table")
    await expect(table.get_by_role("columnheader")).to_contain_text(
        ["Camera", "Recorded, by the hub's clock", "Clock offset", "Files", "Size"]
    )
    await expect(table.get_by_role("rowheader")).to_have_text(["Tail", *CAMERAS[:3], "Mast"])
    front, tail, mast = (row(panel, name).get_by_role("cell") for name in ("Front", "Tail", "Mast"))
    await expect(front.nth(0)).to_contain_text(re.compile(r"to now, 1[2-9]:\d\d"))
    await expect(front.nth(1)).to_contain_text("+0.02 s \u00b1 0.04")
    await expect(front.nth(2)).to_contain_text("not yet known")
    await expect(front.nth(3)).to_contain_text("2.0 GB so far")
    await expect(tail.nth(0)).to_contain_text("9:10: its card is full")
    await expect(tail.nth(0).locator(".absent")).to_have_text("card full")
    await expect(tail.nth(2).locator("summary")).to_have_text("GX010001.MP4 +1")
    await expect(tail.nth(3)).to_contain_text("7.8 GB")
    await expect(mast.nth(0)).to_have_text("missing: not connected")
    await tail.nth(2).locator("summary").click()
    await expect(tail.nth(2).get_by_role("listitem")).to_have_text(
        ["100GOPRO/GX010001.MP4 4.0 GB", "100GOPRO/GX010002.MP4 3.8 GB"]
    )
    assert await findings(page) == []


async def test_it_goes_on_by_itself_and_is_read_again_only_when_something_changes(
    page: Page, hub: RunningHub, makes: Takes
) -> None:
    await page.clock.install()
    channel, ids = await rig(page, hub, *CAMERAS[:3])
    hub_says = Answers([running_take(makes, ids)])
    await hub_says.to(page)
    await opened(page, hub, "#takes")
    title = panels(page).get_by_role("heading")
    await expect(title).to_contain_text("to now, 1")
    asked = len(hub_says.asked)
    shown = await title.inner_text()
    await page.clock.fast_forward(600_000)
    await expect(title).not_to_have_text(shown)
    assert len(hub_says.asked) == asked
    for one in hub_says.takes[0]["recordings"][1:]:
        one |= {"ended": makes.at(724), "code": "stopped"}
    hub_says.takes[0]["ended"] = makes.at(724)
    for name in CAMERAS[:3]:
        channel.say(name, said(recording=False, storage_free=50_000_000_000))
    await expect(title).to_have_text(re.compile(r"[^w], 12:04$"))
    await expect(row(panels(page), "Front").get_by_role("cell").nth(2)).to_contain_text("not known")
    # Its files come later; what is free on the card has changed by then.
    hub_says.takes[0]["recordings"][1]["files"] = files(2_000_000_000)
    channel.say("Front", said(recording=False, storage_free=49_000_000_000))
    await expect(row(panels(page), "Front").get_by_role("cell").nth(2)).to_contain_text("GX010001.MP4")
    later = Takes(datetime.now(UTC))
    hub_says.takes.insert(0, later.take([later.recording(ids["Front"], "Front", 0, None) | {"id": 77}]))
    channel.say("Front", said(**RUNS))
    await expect(panels(page)).to_have_count(2)
    await expect(panels(page).first.locator(".badge")).to_have_text("1 of 1 cameras")
    assert all("since" in one for one in hub_says.asked)


async def test_while_the_hub_is_away_nothing_is_said_to_run(
    page: Page, hub: RunningHub, makes: Takes
) -> None:
    await page.clock.install()
    _, ids = await rig(page, hub, *CAMERAS[:3])
    await Answers([running_take(makes, ids)]).to(page)
    await opened(page, hub, "#takes")
    title = panels(page).get_by_role("heading")
    await expect(title).to_contain_text("to now")
    await page.context.set_offline(True)
    await expect(page.get_by_role("alert")).to_be_visible()
    await expect(title).to_have_text(re.compile(r"^\d.*M, was recording$"))
    await expect(panels(page).locator(".badge")).to_have_text(re.compile("^was "))
    bar = row(panels(page), "Front").locator(".recorded")
    shown = await bar.evaluate("one => one.outerHTML")
    await page.clock.run_for(2_000)
    assert await bar.evaluate("one => one.outerHTML") == shown
    await page.context.set_offline(False)
    await expect(title).to_contain_text("to now")


async def test_what_is_not_known_is_said_in_words(page: Page, hub: RunningHub, makes: Takes) -> None:
    _, ids = await rig(page, hub, "Front")
    running = makes.take([makes.recording(ids["Tail"], "Tail", 0, None)])
    over = makes.take([makes.recording(ids["Front"], "Front", -300, -290)], [missing(7, "Mast")])
    await Answers([running, over]).to(page)
    await opened(page, hub, "#takes")
    await page.get_by_role("button", name="7 days 2").click()
    for at, name, words in ((0, "Tail", "not yet known"), (1, "Front", "not known")):
        cells = row(panels(page).nth(at), name).get_by_role("cell")
        await expect(cells.nth(1)).to_contain_text("not known")
        await expect(cells.nth(2)).to_have_text(f"Files{words}")
        await expect(cells.nth(3)).to_have_text(f"Size{words}")
    tail = row(panels(page).first, "Tail").get_by_role("cell")
    await expect(tail.nth(0)).to_contain_text("not known whether it still records")
    await expect(tail.nth(0).locator(".unsure")).to_be_visible()


async def test_each_filter_has_its_count(page: Page, hub: RunningHub, makes: Takes) -> None:
    day = 86_400
    takes = [
        makes.take([makes.recording(None, "Front", 0, None)]),
        whole_take(makes, -day),
        makes.take([makes.recording(None, "Tail", 1 - day, 9 - day)], [missing(7, "Mast")]),
        makes.take(
            [
                makes.recording(None, "Tail", -3 * day, 9 - 3 * day, code="full"),
                makes.recording(None, "Front", -3 * day, 60 - 3 * day),
            ]
        ),
        whole_take(makes, -20 * day),
    ]
    await Answers(takes).to(page)
    await opened(page, hub, "#takes")
    filters = page.get_by_role("group", name="Filter").get_by_role("button")
    await expect(filters).to_have_text(["Today 1", "Yesterday 2", "7 days 4", "All", "Somebody missing 2"])
    await expect(panels(page)).to_have_count(1)
    for name, count in (("Yesterday 2", 2), ("7 days 4", 4), ("Somebody missing 2", 2)):
        chosen = filters.filter(has_text=name)
        await chosen.click()
        await expect(chosen).to_have_attribute("aria-pressed", "true")
        await expect(panels(page)).to_have_count(count)
    await expect(panels(page).first.get_by_role("heading")).to_contain_text("Yesterday ")
    await filters.filter(has_text="All").click()
    await expect(filters.filter(has_text="All 5")).to_be_visible()
    await expect(panels(page)).to_have_count(5)
    # It is kept while another view is open.
    await page.get_by_role("link", name="Events").click()
    await page.get_by_role("link", name="Takes").click()
    await expect(panels(page)).to_have_count(5)


async def test_without_any_it_says_when_one_begins_or_when_the_last_was(
    page: Page, hub: RunningHub, makes: Takes
) -> None:
    hub_says = Answers()
    await hub_says.to(page)
    await opened(page, hub, "#takes")
    await expect(page.locator(".empty")).to_contain_text("No takes today.")
    await expect(page.get_by_role("button", name="All as CSV")).to_be_disabled()
    assert await findings(page) == []
    hub_says.takes = [whole_take(makes, -20 * 86_400)]
    await page.get_by_role("button", name="Show all").click()
    await expect(panels(page)).to_have_count(1)
    await page.get_by_role("button", name="Today 0").click()
    await expect(page.locator(".empty")).to_contain_text(
        re.compile(r"No takes today\. The last one began at \d")
    )
    hub_says.takes = []
    await page.reload()
    await page.get_by_role("button", name="Show all").click()
    await expect(page.locator(".empty")).to_have_text(
        "No takes yet. A take begins when a camera begins to record."
    )


async def test_a_whole_one_that_is_older_is_folded_until_it_is_opened(
    page: Page, hub: RunningHub, makes: Takes
) -> None:
    older = makes.take(
        [makes.recording(None, "Tail", -300, -200, code="full"), makes.recording(None, "Front", -300, -100)]
    )
    await Answers([whole_take(makes, 0), whole_take(makes, -90), older, whole_take(makes, -600)]).to(page)
    await opened(page, hub, "#takes")
    await page.get_by_role("button", name="7 days 4").click()
    folds = page.get_by_role("button", name=re.compile("^Cameras of the take from "))
    states = [await one.get_attribute("aria-expanded") for one in await folds.all()]
    assert states == ["true", "false", "true", "false"], "the newest, and who needs a look"
    await expect(panels(page).nth(1)).to_contain_text("Begun within 29 ms of each other, nobody missing.")
    await expect(panels(page).nth(1)).to_contain_text("23.0 GB")
    await folds.nth(1).focus()
    await page.keyboard.press("Enter")
    await expect(folds.nth(1)).to_have_attribute("aria-expanded", "true")
    await expect(folds.nth(1)).to_be_focused()
    await expect(panels(page).nth(1).get_by_role("rowheader")).to_have_text(["Front", "Tail"])
    await folds.nth(2).click()
    await expect(panels(page).nth(2).get_by_role("table")).to_have_count(0)
    await page.get_by_role("link", name="Events").click()
    await page.get_by_role("link", name="Takes").click()
    await expect(folds.nth(1)).to_have_attribute("aria-expanded", "true")
    await expect(folds.nth(2)).to_have_attribute("aria-expanded", "false")


async def saved(page: Page, button: Locator, folder: Path) -> tuple[str, list[dict[str, str]]]:
    """The name and the lines of the file that a button gives."""
    async with page.expect_download() as started:
        await button.click()
    download = await started.value
    await download.save_as(folder / "saved.csv")
    text = (folder / "saved.csv").read_bytes().decode()
    return download.suggested_filename, list(csv.DictReader(io.StringIO(text, newline="")))


async def test_takes_are_saved_as_tables(page: Page, hub: RunningHub, makes: Takes, tmp_path: Path) -> None:
    name = 'Left, "wing"\r\n' + HOSTILE
    first = makes.take([makes.recording(1, name, 0, 9)], [missing(2, "Mast", "camera-refused")])
    absent = makes.take([makes.recording(1, name, -700, -690)], [missing(2, "Mast")])
    hub_says = Answers([first, whole_take(makes, -600), absent])
    await hub_says.to(page)
    await opened(page, hub, "#takes")
    await page.get_by_role("button", name="7 days 3").click()
    of_first = page.get_by_role("button", name=re.compile("^Files as CSV of the take from")).first
    file, lines = await saved(page, of_first, tmp_path)
    assert re.fullmatch(r"take-\d{8}T\d{6}\.csv", file)
    assert [(one["device_name"], one["code"]) for one in lines] == [
        (name, "stopped"),
        ("Mast", "camera-refused"),
    ]
    as_csv = page.get_by_role("button", name="All as CSV")
    file, lines = await saved(page, as_csv, tmp_path)
    assert re.fullmatch(r"takes-\d{8}T\d{6}\.csv", file)
    assert [one["device_name"] for one in lines] == [name, "Mast", "Tail", "Front", name, "Mast"]
    await page.get_by_role("button", name="Somebody missing 2").click()
    _, lines = await saved(page, as_csv, tmp_path)
    assert [one["take"] for one in lines] == 2 * [makes.at(0)] + 2 * [makes.at(-700)], "those that are shown"
    hub_says.is_failing = True
    await as_csv.click()
    await expect(toast(page, "Could not save the takes: The history cannot be read.")).to_be_visible()


async def test_a_thousand_are_shown_in_parts(page: Page, hub: RunningHub, makes: Takes) -> None:
    takes = [whole_take(makes, -100 * number) for number in range(1_005)]
    hub_says = Answers(takes)
    await hub_says.to(page)
    await opened(page, hub, "#takes")
    await page.get_by_role("group", name="Filter").get_by_role("button", name="All").click()
    await expect(page.get_by_role("button", name="All 1000")).to_be_visible()
    await expect(panels(page)).to_have_count(30)
    await page.get_by_role("button", name="Show 30 more").click()
    await expect(panels(page)).to_have_count(60)
    await expect(panels(page).nth(30).get_by_role("heading")).to_be_focused()
    more = page.get_by_role("button", name=re.compile(r"^Show \d+ more$"))
    for count in (*range(90, 1_000, 30), 1_000):
        await more.click()
        await expect(panels(page)).to_have_count(count)
    await page.get_by_role("button", name="Show earlier ones").click()
    await expect(panels(page)).to_have_count(1_005)
    assert hub_says.asked[-1]["limit"] == "1000"
    await page.get_by_role("button", name="Show earlier ones").click()  # an answer may be a short one
    await expect(page.get_by_role("button", name=re.compile("^Show"))).to_have_count(0)
    await expect(panels(page)).to_have_count(1_005)


async def test_why_they_cannot_be_read_is_said_until_they_can(
    page: Page, hub: RunningHub, makes: Takes
) -> None:
    channel, ids = await rig(page, hub)
    hub_says = Answers([makes.take([makes.recording(ids["Front"], "Front", 0, None)])])
    hub_says.is_failing = True
    await hub_says.to(page)
    await opened(page, hub, "#takes")
    fault = page.get_by_role("alert").filter(has_text="The history cannot be read.")
    await expect(fault).to_be_visible()
    hub_says.is_failing = False
    channel.say("Front", said(**RUNS))
    await expect(panels(page)).to_have_count(1)
    await expect(fault).to_have_count(0)


def hostile(makes: Takes) -> list[Json]:
    """Names and files that nobody would choose."""
    path = f"DCIM/{HOSTILE}/{HOSTILE}.MP4"
    two = [{"name": path, "size": 1}, {"name": path, "size": None}]
    rows = [
        makes.recording(
            1,
            HOSTILE,
            0,
            300,
            code="unknown",
            files=two,
            serial_number="C1",
            clock_offset_ms=-31_536_000_000,
            clock_bound_ms=40,
        ),
        makes.recording(2, HOSTILE, 0, 302, files=two[:1], serial_number="C2"),
        makes.recording(1, HOSTILE, 306, 700, code="of-a-later-version"),
        makes.recording(3, "W" * 64, 0.5, 500, files=[]),
    ]
    return [
        makes.take(rows, [missing(None, HOSTILE, "of-a-later-version")]),
        whole_take(makes, -9_000, ["W" * 64, HOSTILE]),
    ]


@pytest.mark.parametrize("size", SIZES)
async def test_hostile_names_break_nothing_on_any_screen(
    browser: Browser, hub: RunningHub, makes: Takes, size: str
) -> None:
    async with sized(browser, size) as page:
        await Answers(hostile(makes)).to(page)
        await opened(page, hub, "#takes")
        await page.get_by_role("button", name="7 days 2").click()
        await expect(panels(page)).to_have_count(2)
        await page.get_by_role("button", name=re.compile("^Cameras of the take")).last.click()
        for one in await page.locator("summary").all():
            await one.click()
        assert await no_scrolling_sideways(page)
        assert await findings(page) == []
        assert await page.evaluate("window.hurt") is None
        told = await panels(page).first.inner_text()
        assert "\u202e" not in told
        assert "serial number C1" in told
        assert "serial number C2" in told


@pytest.mark.parametrize("size", NARROW)
async def test_nothing_is_lost_where_little_fits(
    browser: Browser, hub: RunningHub, makes: Takes, size: str
) -> None:
    options: Any = NARROW[size]
    context = await browser.new_context(**options)
    page = await context.new_page()
    _, ids = await rig(page, hub, *CAMERAS[:3])
    await Answers([running_take(makes, ids), *hostile(makes)]).to(page)
    await opened(page, hub, "#takes")
    await expect(panels(page).first).to_be_visible()
    assert await no_scrolling_sideways(page)
    for name in ("Takes", "Events"):
        await expect(page.get_by_role("navigation").get_by_role("link", name=name)).to_be_in_viewport(ratio=1)
    await context.close()


async def test_on_a_phone_the_axis_gives_way_to_words(
    browser: Browser, hub: RunningHub, makes: Takes
) -> None:
    async with sized(browser, "phone") as page:
        _, ids = await rig(page, hub, *CAMERAS[:3])
        take = running_take(makes, ids)
        take["missing"] = [missing(99, "Mast", "not-connected")]
        await Answers([take, whole_take(makes, -600)]).to(page)
        await opened(page, hub, "#takes")
        tail = row(panels(page).first, "Tail")
        await expect(tail.locator(".axis")).to_be_hidden()
        words = tail.get_by_role("cell").first.get_by_role("listitem")
        await expect(words).to_contain_text("9:10: its card is full")
        assert await is_seen(words)
        await expect(tail.get_by_text("Clock offset")).to_be_visible()
        mast = row(panels(page).first, "Mast").get_by_text("missing: not connected")
        await expect(mast).to_be_visible()
        pieces = await mast.evaluate("one => one.closest('b').getClientRects().length")
        assert pieces == 1, "its frame is whole"
        await expect(panels(page).first.get_by_role("table").get_by_role("row")).to_have_count(6)
        for button in await page.locator("main").get_by_role("button").all():
            box = await button.bounding_box()
            assert box is not None
            assert min(box["height"], box["width"]) >= 44
        assert await no_scrolling_sideways(page)
        assert await findings(page) == []


async def test_forced_colours_leave_bars_marks_and_counts(
    browser: Browser, hub: RunningHub, makes: Takes
) -> None:
    context = await browser.new_context(forced_colors="active", viewport={"width": 1280, "height": 800})
    page = await context.new_page()
    _, ids = await rig(page, hub, *CAMERAS[:3])
    take = running_take(makes, ids)
    take["missing"] = [missing(99, "Mast")]
    await Answers([take]).to(page)
    await opened(page, hub, "#takes")
    panel = panels(page).first
    ground = await panel.evaluate("one => getComputedStyle(one).backgroundColor")
    bar = row(panel, "Front").locator(".recorded")
    assert await bar.evaluate("one => getComputedStyle(one).backgroundColor") != ground
    for absent in ("Tail", "Mast"):
        edge = "one => [getComputedStyle(one).borderTopColor, getComputedStyle(one).borderTopStyle]"
        colour, style = await row(panel, absent).locator(".absent").evaluate(edge)
        assert (colour != ground, style) == (True, "dashed")
    badge = panel.locator(".badge")
    words, filled = await badge.evaluate(
        "one => [getComputedStyle(one).color, getComputedStyle(one).backgroundColor]"
    )
    assert words != filled
    assert filled != ground
    await context.close()


async def test_a_camera_has_the_name_that_it_has_now(page: Page, hub: RunningHub, makes: Takes) -> None:
    device = await hub.create(1, "Front")
    rows = [makes.recording(device, "Front", 0, 9), makes.recording(device + 999, "Gone", 0, 9)]
    await Answers([makes.take(rows)]).to(page)
    await opened(page, hub, "#takes")
    names = panels(page).get_by_role("rowheader")
    await page.get_by_role("button", name="7 days 1").click()
    await expect(names).to_have_text(["Front", "Gone"])
    await hub.client.update_device(device, {"name": "Nose"})
    await expect(names).to_have_text(["Gone", "Nose"])


async def test_no_text_stands_outside_of_the_catalog(browser: Browser, hub: RunningHub, makes: Takes) -> None:
    from tests.browser.test_words import OUTSIDE  # noqa: PLC0415

    context = await browser.new_context(locale="en-XA")
    page = await context.new_page()
    _, ids = await rig(page, hub, *CAMERAS[:3])
    take = running_take(makes, ids)
    take["missing"] = [missing(99, "Mast", "not-connected")]
    await Answers([take, whole_take(makes, -90_000)]).to(page)
    await page.goto(f"{hub.url}#takes")
    await expect(panels(page).first).to_be_visible()
    assert await page.evaluate(OUTSIDE) == []
    await context.close()
