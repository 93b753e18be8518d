"""An adapter that may not work is not called free: it is being checked, or not used for now."""

from __future__ import annotations

import pytest
from playwright.async_api import Page, expect

from tests.browser.looking import card, opened, toast
from tests.browser.running_hub import RunningHub
from tests.browser.test_accessibility import findings
from tests.browser.told import Told

pytestmark = pytest.mark.asyncio(loop_scope="session")

WHY = "It fails to join networks that are in range."
CLAUSE = "it fails to join networks that are in range"
COLOUR = "badge => getComputedStyle(badge).color"


async def told(page: Page) -> Told:
    """A page in whose channel adapters are as the test says."""
    channel = Told()
    await channel.to(page)
    return channel


@pytest.mark.parametrize("health", ["suspect", "recovering"])
async def test_an_adapter_that_is_checked_is_not_free_and_says_why(
    page: Page, hub: RunningHub, health: str
) -> None:
    channel = await told(page)
    await opened(page, hub, "#adapters")
    row = page.locator("[data-interface=wlan0]")
    await expect(row.locator(".badge")).to_have_text("Free")
    green = await row.locator(".badge").evaluate(COLOUR)
    channel.health("wlan0", health, WHY)
    await expect(row.locator(".badge")).to_have_text("Being checked")
    await expect(row.locator(".why")).to_have_text(f"Being checked: {CLAUSE}")
    assert await row.locator(".badge").evaluate(COLOUR) != green
    await expect(page.locator("#adapters-title .count")).to_have_text("2 of 3 free, 1 being checked")
    await expect(page.locator(".tag.checked")).to_have_text(["wlan0"])
    await expect(page.locator(".tag.free")).to_have_text(["wlan1", "wlan2"])
    assert await findings(page) == []
    channel.health("wlan0", "good")
    await expect(row.locator(".badge")).to_have_text("Free")
    await expect(row.locator(".why")).to_have_count(0)


@pytest.mark.parametrize("state", ["available", "unavailable"])
async def test_an_adapter_in_quarantine_is_not_free(page: Page, hub: RunningHub, state: str) -> None:
    channel = await told(page)
    channel.health("wlan0", "quarantined", WHY, state=state)
    await opened(page, hub, "#adapters")
    row = page.locator("[data-interface=wlan0]")
    await expect(row.locator(".badge")).to_have_text("Quarantined")
    await expect(row.locator(".why")).to_have_text(f"Not used for now: {CLAUSE}")
    await expect(page.locator("#adapters-title .count")).to_have_text("2 of 3 free")
    await expect(page.locator(".tag.unavailable")).to_have_text(["wlan0"])


async def test_a_camera_on_an_adapter_that_is_checked_keeps_it(page: Page, hub: RunningHub) -> None:
    channel = await told(page)
    await hub.connected(1, "Nose")
    name = hub.client.interfaces[next(iter(hub.client.devices.values())).interface or ""].name
    channel.health(name, "suspect", WHY)
    await opened(page, hub, "#adapters")
    row = page.locator(f"[data-interface={name}]")
    await expect(row.locator(".badge")).to_have_text("In use by Nose")
    await expect(row.locator(".why")).to_have_text(f"Being checked: {CLAUSE}")


async def test_a_camera_can_have_the_last_adapter_though_it_is_checked(page: Page, hub: RunningHub) -> None:
    """It is assigned where there is no other; one in quarantine is not."""
    channel = await told(page)
    for name in ("wlan1", "wlan2"):
        await hub.set_fault("rfkill", interface=name)
    await hub.connected(1, "Nose")
    await hub.create(2, "Tail")
    await hub.client.wait_until(
        lambda client: any(one.connection_error_code for one in client.devices.values()), 20
    )
    await hub.client.remove_device(min(hub.client.devices))
    for health, offered in (("suspect", "Connect"), ("quarantined", "Connect when free")):
        channel.health("wlan0", health, WHY)
        await opened(page, hub)
        await expect(card(page, "Tail").get_by_role("button", name=offered, exact=True)).to_be_enabled()


async def test_the_events_say_it_once_and_when_it_works_again(page: Page, hub: RunningHub) -> None:
    channel = await told(page)
    await opened(page, hub)
    first = page.locator(".events li").first
    checked = "The adapter wlan0 is being checked: it fails to join networks that are in range"
    channel.health("wlan0", "suspect", WHY)
    await expect(first).to_contain_text(checked)
    await expect(first).to_have_class("bad")
    await expect(toast(page, checked)).to_be_visible()
    channel.health("wlan0", "recovering", WHY)  # a step of the same
    channel.health("wlan0", "quarantined", WHY)
    await expect(first).to_contain_text("The adapter wlan0 is not used for now: it fails to join networks")
    await expect(page.locator(".events li").filter(has_text="being checked")).to_have_count(1)
    await expect(page.locator(".events li").filter(has_text="being checked")).not_to_contain_text("times")
    channel.health("wlan0", "good")
    await expect(first).to_contain_text("The adapter wlan0 works again")
