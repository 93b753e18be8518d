"""Takes of emulated cameras, as the hub keeps them: who records and who does not, live, later, as a table."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Locator, Page, expect

from tests.browser.looking import opened, sized
from tests.browser.running_hub import RunningHub
from tests.browser.test_accessibility import findings, no_scrolling_sideways
from tests.browser.test_recording import CAMERAS, clear, connected, hub_of_four
from tests.browser.test_takes import panels, row, saved
from tests.commands import disconnect
from wifimgrd.domain.rig import Everyone

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def whole_hub(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[RunningHub]:
    """A hub with four cameras in the air, which leaves their clocks alone."""
    async with hub_of_four(tmp_path_factory.mktemp("takes")) as hub:
        yield hub


@pytest_asyncio.fixture(loop_scope="session")
async def hub(whole_hub: RunningHub) -> RunningHub:
    """The same, without devices and takes; no camera records."""
    await clear(whole_hub, history=True)
    return whole_hub


def badge(panel: Locator) -> Locator:
    """How many of how many."""
    return panel.locator(".badge").first


async def test_a_take_begins_goes_on_and_ends_while_it_is_looked_at(
    page: Page, hub: RunningHub, tmp_path: Path
) -> None:
    devices = await connected(hub, "Front", "Helmet", "Tail")
    await opened(page, hub, "#takes")
    await expect(page.locator(".empty")).to_contain_text("No takes today.")
    await hub.client.record(devices[:2], on=True)
    panel = panels(page)
    await expect(badge(panel)).to_have_text("2 of 3 cameras")
    told = panel.locator(".take-words p")
    await expect(told).to_contain_text(re.compile("^Begun within .+ of each other. Tail does not record."))
    await expect(row(panel, "Tail").get_by_role("cell").first).to_have_text("missing")
    # Who comes later is not missing any more.
    await hub.client.record(devices[2:], on=True)
    await expect(badge(panel)).to_have_text("3 of 3 cameras")
    await expect(told).not_to_contain_text("Tail does not record")
    await expect(panel.get_by_role("heading")).to_contain_text("to now, ")
    for name in ("Front", "Helmet", "Tail"):
        await expect(row(panel, name).locator(".running")).to_be_visible()
    assert await findings(page) == []
    await hub.client.record(devices, on=False)
    await expect(panel.get_by_role("heading")).to_have_text(re.compile(r"^\S+ \w\w to \d.+, \d:\d\d$"))
    await expect(badge(panel)).to_have_text("3 of 3 cameras")
    await expect(panel.locator(".running")).to_have_count(0)
    # As it was kept, and as a table.
    await page.reload()
    await expect(badge(panel)).to_have_text("3 of 3 cameras")
    _, lines = await saved(page, page.get_by_role("button", name="All as CSV"), tmp_path)
    assert {(one["device_name"], one["code"]) for one in lines} == {
        ("Front", "stopped"),
        ("Helmet", "stopped"),
        ("Tail", "stopped"),
    }
    assert all(one["time"] and one["ended"] for one in lines)


async def test_who_refuses_and_who_is_not_connected_are_named_with_the_reason(
    page: Page, hub: RunningHub
) -> None:
    *_, helmet, _ = await connected(hub, *CAMERAS)
    await disconnect(hub.client, helmet)
    await hub.client.wait_until(lambda client: client.devices[helmet].state == "disconnected", 20)
    await hub.set_fault("card-full", ssid=CAMERAS["Tail"][1])
    await opened(page, hub)
    await page.get_by_role("button", name="Record on all").click()
    await page.get_by_role("navigation").get_by_role("link", name="Takes").click()
    panel = panels(page)
    await expect(badge(panel)).to_have_text("2 of 3 cameras")
    absent = row(panel, "Tail").get_by_role("cell").first
    await expect(absent).to_have_text(re.compile("^missing: ."))
    await expect(page.get_by_role("button", name="Somebody missing 1")).to_be_visible()


@pytest.mark.slow
async def test_a_recording_that_ends_by_itself_is_missing_from_then_on(
    browser: Browser, hub: RunningHub
) -> None:
    async with sized(browser, "phone") as page:
        await connected(hub, "Front", "Helmet")
        await hub.set_fault("stops-recording", seconds=2.0, reason="too-hot", ssid=CAMERAS["Front"][1])
        await opened(page, hub, "#takes")
        await page.get_by_role("button", name="Record on all").click()
        panel = panels(page)
        await expect(badge(panel)).to_have_text("1 of 2 cameras")
        told = panel.locator(".take-words p")
        await expect(told).to_contain_text(re.compile(r"Front is missing since .+: it is too hot\."))
        words = row(panel, "Front").get_by_role("listitem")
        await expect(words).to_contain_text("it is too hot")
        assert await findings(page) == []
        assert await no_scrolling_sideways(page)
        await hub.client.record([], on=False, everyone=Everyone.RIG)
        await expect(told).to_contain_text(re.compile(r"Front ended at .+: it is too hot\."))


async def test_a_recording_that_runs_stands_in_its_cameras_past(page: Page, hub: RunningHub) -> None:
    (device,) = await connected(hub, "Helmet")
    await hub.client.record([device], on=True)
    await opened(page, hub, f"#camera/{device}")
    past = page.get_by_role("article").get_by_role("listitem")
    await expect(past.filter(has_text="Records since")).to_have_count(1)
    await expect(page.get_by_role("slider", name=re.compile("1 recording"))).to_be_visible()
    await hub.client.record([device], on=False)
    await expect(past.filter(has_text="Recorded ")).to_have_count(1)
    await expect(past.filter(has_text="Records since")).to_have_count(0)
