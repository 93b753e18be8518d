"""A camera that does not record as it was told says that first: its state is never a green "Connected"."""

from __future__ import annotations

import re
from typing import Any, Final

import pytest
from playwright.async_api import Browser, Locator, Page, expect

from tests.browser.looking import SIZES, card, opened, opened_menu, shows, sized
from tests.browser.running_hub import RunningHub
from tests.browser.test_accessibility import findings, no_scrolling_sideways
from tests.browser.told import Told, said
from tests.commands import disconnect

pytestmark = pytest.mark.asyncio(loop_scope="session")

WORDS: Final = {
    "not-recording": "Not recording",
    "still-recording": "Still recording",
    "recording-unconfirmed": "Recording unconfirmed",
}
STEPS: Final = {
    "not-recording": "It was told to record. Record again, or leave it stopped.",
    "still-recording": "It was told to stop. Stop it again, or at the camera.",
    "recording-unconfirmed": "Its answer was lost: look at it, or tell it again.",
}
"""What to do: the word is said by the state."""
SAID: Final[dict[str, dict[str, Any]]] = {
    "not-recording": {"recording": False, "recording_requested": True},
    "still-recording": {"recording": True},
    "recording-unconfirmed": {"recording": None},
}
GROUND: Final = "badge => getComputedStyle(badge).backgroundColor + getComputedStyle(badge).color"


async def world(page: Page, hub: RunningHub) -> Told:
    """A camera in each of these states, called by it, and nothing else."""
    channel = Told()
    await channel.to(page)
    for number, state in enumerate(WORDS, 1):
        channel.say(state, said(**SAID[state], problems=[state]))
        await hub.connected(number, state)
    return channel


async def drawn(badges: Locator) -> list[str]:
    """The shapes of badges."""
    return [
        str(one)
        for one in await badges.locator("path").evaluate_all("all => all.map(one => one.getAttribute('d'))")
    ]


@pytest.mark.parametrize("size", SIZES)
async def test_it_is_the_state_of_the_card(browser: Browser, hub: RunningHub, size: str) -> None:
    async with sized(browser, size) as page:
        channel = await world(page, hub)
        await opened(page, hub)
        for state, word in WORDS.items():
            badge = card(page, state).locator(".badge")
            await expect(badge).to_have_text(word)
            await expect(badge.locator(f"[data-shape={state}]")).to_be_visible()
            await expect(card(page, state)).to_have_class(re.compile(rf"\b{state}\b"))
            await expect(card(page, state).locator("small").first).to_contain_text("Connected")
            line = card(page, state).locator(f"[data-problem={state}]")
            await expect(line).to_have_text(STEPS[state])
            assert await line.evaluate("one => one.scrollHeight <= one.clientHeight"), "the line is whole"
            name = card(page, state).get_by_role("heading")
            assert await name.evaluate("one => one.clientWidth >= 64"), "the state leaves room for the name"
        assert len(set(await drawn(page.locator(".card .badge")))) == len(WORDS)
        assert await findings(page) == []
        assert await no_scrolling_sideways(page)
        troubled = await card(page, "not-recording").locator(".badge").evaluate(GROUND)
        channel.say("not-recording", said(recording=False))
        await shows(page, "not-recording", "Connected")
        assert await card(page, "not-recording").locator(".badge").evaluate(GROUND) != troubled


async def test_it_is_counted_as_attention_and_not_as_connected(page: Page, hub: RunningHub) -> None:
    await world(page, hub)
    await hub.create(4, "Front")
    await opened(page, hub)
    chips = page.get_by_role("group", name="State")
    await expect(chips.get_by_role("button", name="Attention 3")).to_be_visible()
    for word in WORDS.values():
        await expect(chips.get_by_role("button", name=f"{word} 1")).to_be_visible()
    await expect(chips.get_by_role("button", name=re.compile("^Connected"))).to_have_count(0)
    await chips.get_by_role("button", name="Not recording 1").click()
    await expect(page.locator(".card h3")).to_have_text(["not-recording"])
    await expect(page).to_have_title(re.compile(r"^\(3\) "))


async def test_it_is_the_state_of_the_row_and_of_the_cameras_page(page: Page, hub: RunningHub) -> None:
    await world(page, hub)
    for number in range(4, 10):
        await hub.create(number)
    await opened(page, hub)
    for state, word in WORDS.items():
        row = page.get_by_role("row").filter(has=page.get_by_role("link", name=state, exact=True))
        await expect(row.locator(".badge")).to_have_text(word)
        await expect(row.locator(f"[data-shape={state}]")).to_be_visible()
        await expect(row.locator(".in-why")).to_have_text(STEPS[state])
        inside = "one => one.getBoundingClientRect().right <= one.closest('td').getBoundingClientRect().right"
        assert await row.locator(".badge").evaluate(inside), "the whole word is seen"
    heights = await page.locator("tbody tr[data-device]").evaluate_all(
        "rows => rows.map(one => one.offsetHeight)"
    )
    assert len(set(heights)) == 1
    for state, word in WORDS.items():
        await page.get_by_role("link", name=state, exact=True).click()
        shown = page.get_by_role("article", name=state)
        await expect(shown.locator(".camera-head .badge")).to_have_text(word)
        await expect(shown.locator(".camera-head small")).to_contain_text("Connected")
        await expect(shown.locator(f"[data-problem={state}]")).to_contain_text(f"{word}.")
        await page.go_back()


async def test_a_camera_that_was_lost_meanwhile_keeps_it_and_can_be_connected(
    page: Page, hub: RunningHub
) -> None:
    channel = Told()
    await channel.to(page)
    channel.say("Front", said(recording=None, problems=["recording-unconfirmed"]))
    device = await hub.connected(1, "Front")
    await opened(page, hub)
    await disconnect(hub.client, device)
    await expect(card(page, "Front").locator("small").first).to_contain_text("Off")
    await shows(page, "Front", "Recording unconfirmed")
    line = card(page, "Front").locator("[data-problem]")
    await expect(line).to_have_text(STEPS["recording-unconfirmed"])
    await expect(card(page, "Front").get_by_role("button", name="Connect", exact=True)).to_be_enabled()
    menu = await opened_menu(card(page, "Front"))
    await expect(menu.get_by_role("menuitem", name="Disconnect")).to_have_count(0)
    await page.keyboard.press("Escape")
    channel.say("Front", said(recording=None))
    await shows(page, "Front", "Off")


async def test_a_camera_that_does_not_record_can_be_told_to(page: Page, hub: RunningHub) -> None:
    await world(page, hub)
    await opened(page, hub)
    for state, word in (("not-recording", "Record"), ("still-recording", "Stop recording")):
        await expect(card(page, state).get_by_role("button", name=word, exact=True)).to_be_enabled()


async def test_the_last_known_state_leaves_room_for_the_name(page: Page, hub: RunningHub) -> None:
    await world(page, hub)
    await opened(page, hub)
    await shows(page, "recording-unconfirmed", "Recording unconfirmed")
    async with hub.without_daemon():
        for state, word in WORDS.items():
            await shows(page, state, f"Unknown, was {word.lower()}")
            name = card(page, state).get_by_role("heading")
            assert await name.evaluate("one => one.clientWidth >= 64")
    await hub.client.wait_until(lambda client: client.available, 30)
