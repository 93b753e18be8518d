"""The hub going away and coming back under the open page."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from playwright.async_api import Page, expect

from tests.browser.cable import cable_to
from tests.browser.looking import card, is_the_same, mark, opened, shows
from tests.browser.running_hub import RunningHub
from tests.commands import disconnect

NOTICED_MS = 60_000
"""Generous: how soon it is noticed, a test on a clock of its own says."""
pytestmark = pytest.mark.asyncio(loop_scope="session")


async def nothing_looks_alive(page: Page) -> None:
    """No card and no adapter claims a state that nobody knows."""
    await expect(page.locator(".badge.connected, .badge.available, .badge.in-use")).to_have_count(0)
    await expect(page.get_by_role("button", name="Add a camera")).to_be_disabled()


async def test_the_daemon_is_restarted(page: Page, hub: RunningHub) -> None:
    await opened(page, hub)
    device = await hub.connected(1)
    await shows(page, "SIM-CAM-1", "Connected")
    await mark(page)
    async with hub.without_daemon():
        await expect(page.get_by_role("alert")).to_contain_text("The hub cannot connect cameras right now.")
        await shows(page, "SIM-CAM-1", "Unknown, was connected")
        await nothing_looks_alive(page)
        await expect(page.locator(".toast.bad")).to_have_count(0)  # the banner says it, once
    await hub.until(device, "connected")
    await shows(page, "SIM-CAM-1", "Connected")
    await expect(page.locator(".banner")).to_have_count(0)
    assert await is_the_same(page)


async def test_the_daemon_is_frozen(page: Page, hub: RunningHub) -> None:
    await opened(page, hub)
    device = await hub.connected(1)
    await shows(page, "SIM-CAM-1", "Connected")
    async with hub.frozen_daemon():
        alert = page.get_by_role("alert")
        await expect(alert).to_contain_text("Wifimgrd does not answer.", timeout=NOTICED_MS)
        await expect(page.locator(".rig h2")).to_contain_text("Last known: ")
        await shows(page, "SIM-CAM-1", "Unknown, was connected")
        await nothing_looks_alive(page)
    await hub.until(device, "connected")
    await shows(page, "SIM-CAM-1", "Connected")
    await expect(page.locator(".banner")).to_have_count(0)
    await expect(page.locator("[data-hub=ready]")).to_be_attached()


async def test_the_backend_goes_away(page: Page, hub: RunningHub) -> None:
    await opened(page, hub)
    await hub.connected(1)
    await hub.set_fault("backend-gone")
    await expect(page.get_by_role("alert")).to_contain_text("NetworkManager is not running")
    await nothing_looks_alive(page)
    await hub.set_fault("backend-gone", off=True)
    await expect(page.locator(".banner")).to_have_count(0)
    await expect(page.locator("[data-hub=ready]")).to_be_attached()


async def test_the_cable_is_cut_and_mended(page: Page, hub: RunningHub) -> None:
    """Nothing closes, so that the page has to find out by itself; what it missed it gets in order."""
    async with cable_to(hub.url) as cable:
        device = await hub.connected(1)
        await page.goto(cable.url)
        await shows(page, "SIM-CAM-1", "Connected")
        await mark(page)
        cable.cut()
        await expect(page.get_by_role("alert")).to_contain_text("The hub is not responding.")
        await shows(page, "SIM-CAM-1", "Unknown, was connected")
        await nothing_looks_alive(page)
        await disconnect(hub.client, device)
        await hub.client.update_device(device, {"name": "Front"})
        await expect(card(page, "SIM-CAM-1")).to_be_visible()
        cable.mend()
        await shows(page, "Front", "Off")
        await expect(page.locator(".banner")).to_have_count(0)
        log = page.get_by_role("log")
        await expect(log).to_contain_text("SIM-CAM-1 is disconnected")
        await expect(log).to_contain_text("SIM-CAM-1 was renamed to Front")
        assert await is_the_same(page)


@pytest.mark.slow
async def test_the_channel_is_cut_for_a_minute(page: Page, hub: RunningHub) -> None:
    """The minute is the browser's: its clock is moved on, and all its timers with it."""
    joins: list[str] = []
    page.on("websocket", lambda socket: joins.append(socket.url))
    await page.clock.install()
    async with cable_to(hub.url) as cable:
        device = await hub.connected(1)
        await page.goto(cable.url)
        await shows(page, "SIM-CAM-1", "Connected")
        await mark(page)
        cable.cut()
        await expect(page.get_by_role("alert")).to_be_visible()
        await hub.client.update_device(device, {"name": "Front"})
        tried = len(joins)
        for _ in range(12):
            await page.clock.run_for(5_000)
            await shows(page, "SIM-CAM-1", "Unknown, was connected")
        assert len(joins) - tried >= 5, "it goes on trying"
        cable.mend()
        await shows(page, "Front", "Connected")
        await expect(page.locator(".banner")).to_have_count(0)
        await expect(page.get_by_role("log")).to_contain_text("SIM-CAM-1 was renamed to Front")
        assert await is_the_same(page)


async def test_a_person_can_try_at_once(page: Page, hub: RunningHub) -> None:
    """The browser's clock is stopped when the page has noticed, so that it does not try by itself."""
    await page.clock.install()
    async with cable_to(hub.url) as cable:
        await page.goto(cable.url)
        await expect(page.locator("[data-hub=ready]")).to_be_attached()
        await page.clock.pause_at(datetime.now(UTC) + timedelta(seconds=5))
        cable.cut()
        for _ in range(200):  # a look, its time-out, and not yet the pause before the first try
            await page.clock.run_for(50)
            if await page.get_by_role("alert").is_visible():
                break
        cable.mend()
        await page.get_by_role("button", name="Try now").click()
        await expect(page.locator(".banner")).to_have_count(0)


async def test_the_adapters_show_the_same(page: Page, hub: RunningHub) -> None:
    await opened(page, hub, "#adapters")
    await expect(page.locator(".badge.available")).to_have_count(3)
    async with hub.without_daemon():
        await nothing_looks_alive_on_adapters(page)
    await hub.client.wait_until(lambda client: client.available, 30)
    await expect(page.locator(".badge.available")).to_have_count(3)


async def nothing_looks_alive_on_adapters(page: Page) -> None:
    await expect(page.locator(".badge.stale")).to_have_count(3)
