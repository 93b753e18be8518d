"""The check before a take-off: what stands in the way, by limits asked for, and what leads out of it."""

from __future__ import annotations

import re
import shlex
from collections.abc import AsyncIterator
from typing import Any, Final

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Locator, Page, expect

from tests.browser.looking import SIZES, opened, opened_rows, sized
from tests.browser.running_hub import RunningHub
from tests.browser.test_accessibility import findings, no_scrolling_sideways
from tests.browser.test_recording import CAMERAS, clear, connected, hub_of_four
from tests.browser.test_rig import told
from tests.browser.told import Told, ago, said
from tests.cli.running import wifimgrctl
from tests.commands import disconnect

pytestmark = pytest.mark.asyncio(loop_scope="session")

FINE: Final[dict[str, Any]] = {
    "battery_level": 80,
    "recording": False,
    "recording_time_left_s": 7_200,
    "clock_offset_ms": 20,
    "clock_bound_ms": 40,
    "clock_read_at": ago(5),
}


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def whole_hub(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[RunningHub]:
    """A hub with four cameras in the air, which leaves their clocks alone."""
    async with hub_of_four(tmp_path_factory.mktemp("check")) as hub:
        yield hub


@pytest_asyncio.fixture(loop_scope="session")
async def hub(whole_hub: RunningHub) -> RunningHub:
    """The same, without devices; no camera records."""
    await clear(whole_hub)
    return whole_hub


async def rig(page: Page, hub: RunningHub, *names: str) -> Told:
    """Cameras that are fine, on the check's page."""
    await connected(hub, *names)
    channel = await told(page, *names, **FINE)
    await opened(page, hub, "#check")
    await expect(title(page)).to_be_visible()
    return channel


def title(page: Page) -> Locator:
    """The result."""
    return page.locator("#check-title")


def rows(page: Page) -> Locator:
    """The findings."""
    return page.get_by_role("list", name="What stands in the way").get_by_role("listitem")


async def test_the_result_is_that_of_the_command_that_stands_below(page: Page, hub: RunningHub) -> None:
    front, *_ = await connected(hub, *CAMERAS)
    await opened_rows(page, hub)
    await page.get_by_role("link", name="Check").click()
    each = page.locator(".findings > li:not(.several)")
    steps: tuple[tuple[str, str], ...] = (
        ("Battery at least", "80"),
        ("Time left at least", "60"),
        ("Clock within", "500"),
    )
    for label, value in (("", ""), *steps):
        if label:
            await page.get_by_label(label).fill(value)
        line = await page.locator(".check-foot code").inner_text()
        ran = await wifimgrctl(hub.bus, *shlex.split(line)[1:])
        first, *others = ran.out.splitlines()
        await expect(title(page)).to_have_text(first)
        await expect(each).to_have_count(len(others))
        codes = [one.rpartition("(")[2].rstrip(")") for one in others]
        assert await each.evaluate_all("all => all.map(one => one.dataset.code)") == codes
    assert line == "wifimgrctl check --battery 80 --minutes-left 60 --clock-ms 500"
    await page.get_by_label("Recording now").check()
    await expect(page.locator(".check-foot code")).to_contain_text("check --recording --battery 80")
    assert front


async def test_red_would_not_record_and_amber_was_asked_for(page: Page, hub: RunningHub) -> None:
    channel = await rig(page, hub, "Front", "Back", "Tail")
    await expect(page.locator(".checked.good")).to_be_visible()
    await page.get_by_label("Battery at least").fill("90")
    await expect(page.locator(".checked.busy")).to_be_visible()
    await expect(rows(page)).to_have_text([re.compile("^3 cameras")])
    channel.say("Tail", said(**FINE | {"problems": ["storage-full"], "recording_time_left_s": 0}))
    await expect(page.locator(".checked.bad")).to_be_visible()
    # In the contract's order: a battery stands before a card.
    await expect(rows(page).last).to_have_class("bad")
    await expect(rows(page).last).to_contain_text("Card full.")
    await expect(rows(page).last.get_by_role("link", name="Show the camera")).to_be_visible()
    assert await findings(page) == []


async def test_each_finding_has_a_cure(page: Page, hub: RunningHub) -> None:
    channel = await rig(page, hub, "Front", "Back")
    device = next(one.id for one in hub.client.devices.values() if one.name == "Back")
    channel.say("Front", said(**FINE | {"problems": ["not-recording"], "recording_requested": True}))
    await expect(rows(page).get_by_role("button")).to_have_text(["Record"])
    channel.say("Front", said(**FINE | {"problems": ["clock-wrong"], "clock_offset_ms": 75_000}))
    await expect(rows(page).get_by_role("button")).to_have_text(["Set the clock"])
    await expect(rows(page)).to_contain_text("Clock 75 s ahead of the hub's")
    await disconnect(hub.client, device)
    await hub.client.update_device(device, {"priority": 3})  # its whole record, in which it is of the rig
    await expect(rows(page).first).to_contain_text("Back")
    await rows(page).first.get_by_role("button", name="Connect").click()
    await expect(rows(page)).to_have_count(1)


async def test_what_is_accepted_counts_again_once_it_changes(page: Page, hub: RunningHub) -> None:
    channel = await rig(page, hub, "Front", "Back")
    channel.say("Front", said(**FINE | {"problems": ["battery-low"], "battery_level": 14}))
    await expect(title(page)).to_have_text("1 of 2 cameras is ready: Front has a low battery.")
    await rows(page).get_by_role("button", name="Accept").click()
    await expect(title(page)).to_have_text("Both cameras are ready.")
    await expect(page.locator(".check-head")).to_contain_text("1 finding is accepted here")
    assert await findings(page) == []
    await page.reload()
    await expect(title(page)).to_have_text("Both cameras are ready.")
    channel.say("Front", said(**FINE | {"problems": ["battery-low"], "battery_level": 13}))
    await expect(title(page)).to_have_text("1 of 2 cameras is ready: Front has a low battery.")
    channel.say("Front", said(**FINE))
    await expect(rows(page)).to_have_count(0)
    channel.say("Front", said(**FINE | {"problems": ["battery-low"], "battery_level": 14}))
    await expect(rows(page).get_by_role("button")).to_have_text(["Accept"])


async def test_green_says_for_how_long(page: Page, hub: RunningHub) -> None:
    channel = await rig(page, hub, "Front", "Back")
    channel.say("Back", said(**FINE | {"recording_time_left_s": 2_900}))
    await expect(page.locator(".check-head")).to_contain_text(
        "Room for 48 min: then the card of Back is full."
    )
    least = page.locator(".ready-ones .least")
    await expect(least.filter(has_text="48 min")).to_have_count(1)


async def test_limits_are_kept_in_the_browser(page: Page, hub: RunningHub) -> None:
    await rig(page, hub, "Front")
    await page.get_by_label("Battery at least").fill("40")
    await page.get_by_label("Recording now").check()
    await page.get_by_label("Clock within").fill("a second")
    await expect(page.get_by_label("Clock within")).to_have_attribute("aria-invalid", "true")
    await page.reload()
    await expect(page.get_by_label("Battery at least")).to_have_value("40")
    await expect(page.get_by_label("Recording now")).to_be_checked()
    await expect(page.get_by_label("Clock within")).to_have_value("")


@pytest.mark.parametrize("size", SIZES)
async def test_the_check_fits_on_every_screen(browser: Browser, hub: RunningHub, size: str) -> None:
    async with sized(browser, size) as page:
        channel = await rig(page, hub, "Front", "Back", "Tail")
        channel.say("Front", said(**FINE | {"problems": ["battery-low"], "battery_level": 14}))
        channel.say("Tail", said(**FINE | {"problems": ["storage-full"]}))
        await expect(rows(page)).to_have_count(2)
        assert await findings(page) == []
        assert await no_scrolling_sideways(page)
