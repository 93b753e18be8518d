"""What happened, also before the page was opened: by camera and by kind, repeats as one."""

from __future__ import annotations

import re

import pytest
from playwright.async_api import Page, expect

from tests.browser.cable import cable_to
from tests.browser.looking import adapters_stayed, details, opened, shows
from tests.browser.running_hub import RunningHub
from tests.commands import connect, disconnect
from wifimgrd.domain.errors import WifimgrdError

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_they_begin_before_the_page_was_opened(page: Page, hub: RunningHub) -> None:
    device = await hub.connected(1, "Early bird")
    await disconnect(hub.client, device)
    await hub.until(device, "disconnected")
    await opened(page, hub, "#events")
    log = page.get_by_role("log")
    await expect(log.get_by_text("Early bird is connected through")).to_be_visible()
    await expect(log.get_by_text("Early bird is disconnected")).to_be_visible()
    await expect(page.get_by_role("heading", name="Today")).to_be_visible()
    # What happens now stands above it, once.
    await connect(hub.client, device)
    await expect(log.get_by_text("Early bird is connected through")).to_have_count(2)
    await expect(log.locator("li").first).to_contain_text("Early bird is connected through")


async def test_they_are_filtered_by_camera_and_kind(page: Page, hub: RunningHub) -> None:
    await hub.connected(1, "Hawk")
    await hub.create(2, "Owl", "not-its-password")
    await opened(page, hub)
    await shows(page, "Owl", "Wrong password")
    await page.get_by_role("link", name="Events").click()
    log = page.get_by_role("log")
    kinds = page.get_by_role("group", name="Kind")
    await expect(log.get_by_text("Owl: The password was refused.", exact=True)).to_be_visible()
    await kinds.get_by_role("button", name="Problems").click()
    await expect(log.get_by_text("Hawk is connected")).to_have_count(0)
    await expect(log.get_by_text("Owl: The password was refused.")).to_be_visible()
    await kinds.get_by_role("button", name="All").click()
    await page.get_by_role("combobox", name="Camera").select_option("Hawk")
    await expect(log.get_by_text("Hawk is connected")).to_be_visible()
    await expect(log.get_by_text("Owl")).to_have_count(0)
    await kinds.get_by_role("button", name="Recordings").click()
    await expect(page.get_by_text("No events.")).to_be_visible()
    await kinds.get_by_role("button", name="All").click()
    await page.get_by_role("combobox", name="Camera").select_option("All cameras")


async def test_beside_a_camera_are_its_own(page: Page, hub: RunningHub) -> None:
    device = await hub.connected(1, "Hawk")
    await hub.connected(2, "Owl")
    await opened(page, hub)
    log = page.get_by_role("log")
    await expect(log.get_by_text("Owl is connected")).to_be_visible()
    await page.goto(f"{hub.url}#camera/{device}")
    await expect(log.get_by_text("Hawk is connected")).to_be_visible()
    await expect(log.get_by_text("Owl")).to_have_count(0)


async def test_repeats_are_one_line(page: Page, hub: RunningHub) -> None:
    device = await hub.create(2, "Parrot", "not-its-password")
    await hub.client.wait_until(lambda client: client.devices[device].connection_error_code is not None, 20)
    for _ in range(2):
        with pytest.raises(WifimgrdError, match="password"):
            await connect(hub.client, device, wait=True)
    await opened(page, hub, "#events")
    line = page.get_by_role("log").locator("li").filter(has_text="Parrot: The password was refused.")
    await expect(line).to_have_count(1)
    await expect(line).to_contain_text("(3 times)")
    await expect(line.locator("time")).to_have_attribute("title", re.compile(r" ago\)$"))


async def test_a_name_from_right_to_left_leaves_the_order_of_a_line(page: Page, hub: RunningHub) -> None:
    """Now and before: where the line begins with it, and where it does not."""
    name = "\u05de\u05e6\u05dc\u05de\u05d4"
    device = await hub.connected(1, name)
    await opened(page, hub, "#events")
    await disconnect(hub.client, device)
    await hub.until(device, "disconnected")
    for verb in ("connected through", "disconnected"):
        line = page.get_by_role("log").get_by_text(f"\u2068{name}\u2069 is {verb}")
        await expect(line).to_be_visible()
        assert await line.evaluate("one => getComputedStyle(one).direction") == "ltr"


SHIFTED = """
  const Real = Date;
  window.Date = class extends Real {
    constructor(...values) { values.length ? super(...values) : super(Real.now() + HOURS * 3600e3); }
    static now() { return Real.now() + HOURS * 3600e3; }
  };
"""


@pytest.mark.parametrize("hours", [-2, 2])
async def test_a_browser_whose_clock_is_wrong_shows_the_same(page: Page, hub: RunningHub, hours: int) -> None:
    name = f"Kite {hours}"
    device = await hub.connected(1, name)
    await hub.create(2, "Owl", "not-its-password")
    await hub.until(device, "connected")
    await page.add_init_script(SHIFTED.replace("HOURS", str(hours)))
    await opened(page, hub)
    await shows(page, "Owl", "Wrong password")
    log = page.get_by_role("log")
    await expect(log.get_by_text(f"{name} is connected through")).to_have_count(1)
    await disconnect(hub.client, device)
    await expect(log.get_by_text(f"{name} is disconnected")).to_have_count(1)
    await page.get_by_role("link", name="Events").click()
    await expect(log.get_by_text(f"{name} is disconnected")).to_have_count(1)
    await expect(log.get_by_text(f"{name} is connected through")).to_have_count(1)
    await expect(page.get_by_role("heading", name="Today")).to_be_visible()
    await page.get_by_role("link", name="Cameras").click()
    await adapters_stayed(page)
    shown = await details(page, name)
    await expect(shown.get_by_role("slider", name="1 session, 0 errors")).to_be_visible()


async def test_what_happened_while_the_hub_was_away_is_read_when_it_is_back(
    page: Page, hub: RunningHub
) -> None:
    """The channel begins anew, as with another run of the shim."""
    await page.add_init_script(
        """
        const Real = WebSocket;
        window.WebSocket = class extends Real { constructor(url) { super(String(url).split("?")[0]); } };
        """
    )
    async with cable_to(hub.url) as cable:
        device = await hub.connected(1, "Heron")
        await page.goto(cable.url)
        await shows(page, "Heron", "Connected")
        log = page.get_by_role("log")
        await expect(log.get_by_text("Heron is connected through")).to_have_count(1)
        cable.cut()
        await expect(page.get_by_role("alert")).to_be_visible()
        await disconnect(hub.client, device)
        await connect(hub.client, device)
        cable.mend()
        await shows(page, "Heron", "Connected")
        await expect(log.get_by_text("Heron is disconnected")).to_have_count(1)
        await expect(log.get_by_text("Heron is connected through")).to_have_count(2)
        texts = await log.locator("li").all_inner_texts()
        first = [one for one in texts if "Reconnected" in one or "is disconnected" in one]
        assert "Reconnected" in first[0], "the newest is the first"


async def test_what_comes_later_and_stands_in_the_history_is_one_line(page: Page, hub: RunningHub) -> None:
    async with cable_to(hub.url) as cable:
        device = await hub.connected(1, "Ibis")
        await page.goto(cable.url)
        await shows(page, "Ibis", "Connected")
        cable.cut()
        await expect(page.get_by_role("alert")).to_be_visible()
        await hub.power(1, on=False)
        await hub.until(device, "connecting")
        await hub.power(1, on=True)
        await hub.until(device, "connected")
        cable.mend()
        await shows(page, "Ibis", "Connected")
        await page.get_by_role("link", name="Events").click()
        log = page.get_by_role("log")
        await expect(log.get_by_text("Ibis is connected through")).to_have_count(2)
        await expect(log.locator("li.bad").filter(has_text="Ibis")).to_have_count(1)


async def test_an_attempts_end_takes_the_place_of_its_begin(page: Page, hub: RunningHub) -> None:
    device = await hub.connected(1, "Osprey")
    await opened(page, hub)
    await hub.power(1, on=False)
    await hub.until(device, "disconnected")
    for _ in range(3):
        await connect(hub.client, device)
        await hub.until(device, "disconnected")
    log = page.get_by_role("log")
    await expect(log.get_by_text("Osprey: The camera was not found.")).to_contain_text("(3 times)")
    await expect(log.get_by_text("Osprey is connecting")).to_have_count(0)
