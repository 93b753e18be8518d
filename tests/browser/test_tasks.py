"""Sixteen tasks of a day, done as a person does them, with their clicks and seconds; CONTRIBUTING.md has
the numbers."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Locator, Page, expect

from tests.browser.looking import act, card, opened, shows
from tests.browser.running_hub import RunningHub
from wifimgrd.domain.rig import Everyone

pytestmark = pytest.mark.asyncio(loop_scope="session")

GUIDE = Path(__file__).parents[2] / "CONTRIBUTING.md"
MOST = 5
COUNT = """
  window.clicks = 0;
  addEventListener("pointerdown", event => { if (event.isTrusted) window.clicks += 1; }, true);
"""
"""Each press of a mouse or a finger is one, whatever events follow from it."""
THINK_S, POINT_S, PRESS_S, HOME_S, KEY_S = 1.35, 1.1, 0.2, 0.4, 0.28
"""Keystroke-level model (Card, Moran and Newell, 1980), average typist: to prepare mentally, to point, to
press and release a button, to move a hand to keyboard or mouse, to type a character."""


class Hand:
    """A person with a mouse and a keyboard, who begins on the page as it is opened."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self._selections = 0
        self._typing_s = 0.0

    async def select(self, field: Locator, choice: str) -> None:
        """Choose from a list that unfolds: one click opens it, one chooses."""
        await field.select_option(choice)
        self._selections += 2

    async def write(self, field: Locator, text: str) -> None:
        """Type where the focus is already: it costs no click, so the focus has to be there."""
        await expect(field).to_be_focused()
        await self.page.keyboard.insert_text(text)
        self._typing_s += HOME_S + THINK_S + KEY_S * len(text) + HOME_S

    async def paste(self, text: str) -> None:
        """Paste where the focus is already: two keys."""
        await self.page.evaluate(
            """text => {
                const clipboardData = new DataTransfer();
                clipboardData.setData("text/plain", text);
                const options = { clipboardData, bubbles: true, cancelable: true };
                document.activeElement.dispatchEvent(new ClipboardEvent("paste", options));
            }""",
            text,
        )
        self._typing_s += HOME_S + THINK_S + 2 * KEY_S + HOME_S

    async def choose(self, at: Locator, name: str) -> None:
        """Choose from a menu: it is held, and let go of over the item."""
        button = at.get_by_role("button", name=re.compile("^More for "))
        await expect(button).to_be_enabled()
        await button.hover()
        await self.page.mouse.down()
        await self.page.get_by_role("menuitem", name=name, exact=True).hover()
        await self.page.mouse.up()

    async def clicks(self) -> int:
        """So far."""
        return int(await self.page.evaluate("window.clicks")) + self._selections

    async def seconds(self) -> int:
        """What a person needs for that by the keystroke-level model, the page's own time not counted."""
        return round(await self.clicks() * (THINK_S + POINT_S + PRESS_S) + self._typing_s)


@pytest_asyncio.fixture(loop_scope="session")
async def hand(page: Page) -> AsyncIterator[Hand]:
    await page.add_init_script(COUNT)
    yield Hand(page)


async def add_a_camera(hand: Hand, hub: RunningHub) -> None:
    page = hand.page
    await opened(page, hub)
    await page.get_by_role("button", name="Add a camera").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_role("radio", name="SIM-CAM-2").click()
    await dialog.get_by_role("button", name="Next").click()
    await hand.write(dialog.get_by_label("Password", exact=True), "camera-pass-2")
    await dialog.get_by_role("button", name="Add and connect").click()
    await shows(page, "SIM-CAM-2", "Connected")


async def fix_a_wrong_password(hand: Hand, hub: RunningHub) -> None:
    page = hand.page
    await hub.create(1, "Front", "not-its-password")
    await opened(page, hub)
    await expect(card(page, "Front").locator(".trouble")).to_be_visible()
    await act(card(page, "Front"), "Change the password")
    await hand.write(page.get_by_label("Camera's Wi-Fi password"), "camera-pass-1")
    await page.get_by_role("button", name="Save and connect").click()
    await shows(page, "Front", "Connected")


async def find_out_why_a_camera_was_lost(hand: Hand, hub: RunningHub) -> None:
    page = hand.page
    device = await hub.connected(1, "Front")
    await hub.power(1, on=False)
    await hub.until(device, "disconnected")
    await hub.power(1, on=True)
    await hub.until(device, "connected")
    await opened(page, hub)
    await page.get_by_role("link", name="Front", exact=True).click()
    session = page.get_by_role("article").get_by_role("listitem").filter(has_text="Ended:")
    await expect(session).to_contain_text("Ended: The connection was lost.")
    await expect(session).to_contain_text("switched off")


async def give_the_last_adapter_to_another_camera(hand: Hand, hub: RunningHub) -> None:
    page = hand.page
    for number in (1, 2, 3):
        await hub.connected(number)
    await hub.create(4, "Tail")
    await opened(page, hub)
    await hand.choose(card(page, "SIM-CAM-3"), "Disconnect")
    await shows(page, "SIM-CAM-3", "Off")  # also while it is disconnecting, and has its adapter
    await expect(card(page, "Tail").get_by_role("button", name="Connect when free")).to_have_count(0)
    await act(card(page, "Tail"), "Connect")
    await shows(page, "Tail", "Connected")


async def let_a_camera_wait_for_an_adapter(hand: Hand, hub: RunningHub) -> None:
    page = hand.page
    for number in (1, 2, 3):
        await hub.connected(number)
    await hub.create(4, "Tail")
    await opened(page, hub)
    await act(card(page, "Tail"), "Connect when free")
    await shows(page, "Tail", "Waiting")


async def rename_a_camera(hand: Hand, hub: RunningHub) -> None:
    page = hand.page
    await hub.connected(1)
    await opened(page, hub)
    await hand.choose(card(page, "SIM-CAM-1"), "Edit")
    await page.get_by_label("Name", exact=True).click(click_count=1)
    await page.keyboard.press("Control+A")
    await hand.write(page.get_by_label("Name", exact=True), "Front")
    await page.get_by_role("button", name="Save").click()
    await shows(page, "Front", "Connected")


async def reserve_an_adapter(hand: Hand, hub: RunningHub) -> None:
    page = hand.page
    await hub.connected(1, "Front")
    await opened(page, hub)
    await hand.choose(card(page, "Front"), "Edit")
    await hand.select(page.get_by_label("Reserved adapter"), "wlan1: any adapter in USB port 1-1.2")
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_role("dialog")).to_have_count(0)
    await page.evaluate("location.hash = document.querySelector('.card h3 a').hash")
    await expect(page.get_by_role("article")).to_contain_text("any adapter in USB port 1-1.2")


async def disconnect_all_of_many(hand: Hand, hub: RunningHub) -> None:
    page = hand.page
    devices = [await hub.connected(number) for number in (1, 2, 3)]
    for number in range(4, 31):
        await hub.create(number)
    await opened(page, hub)
    await page.get_by_role("checkbox", name="Select all").click()
    await page.locator(".chosen").get_by_role("button", name="Disconnect", exact=True).click()
    for device in devices:
        await hub.until(device, "disconnected")
    await expect(page.locator(".badge.connected")).to_have_count(0)


async def find_the_cameras_that_do_not_answer(hand: Hand, hub: RunningHub) -> None:
    page = hand.page
    await hub.set_fault("silent", ssid="SIM-CAM-2")
    for number in (1, 2):
        await hub.connected(number)
    for number in range(3, 31):
        await hub.create(number)
    await opened(page, hub)
    await page.get_by_role("button", name="Not answering 1").click()
    await expect(page.locator("tbody tr")).to_have_count(1)
    await expect(page.locator("tbody tr")).to_contain_text("SIM-CAM-2")


async def remove_a_camera(hand: Hand, hub: RunningHub) -> None:
    page = hand.page
    await hub.connected(1, "Front")
    await opened(page, hub)
    await hand.choose(card(page, "Front"), "Remove")
    await page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    await expect(page.get_by_text("No cameras yet.")).to_be_visible()


async def find_last_nights_gap(hand: Hand, hub: RunningHub) -> None:
    page = hand.page
    device = await hub.connected(1, "Front")
    await hub.power(1, on=False)
    await hub.until(device, "connecting")
    await hub.power(1, on=True)
    await hub.until(device, "connected")
    await opened(page, hub)
    await page.get_by_role("link", name="Front", exact=True).click()
    await page.get_by_role("button", name="24 h").click()
    await expect(page.get_by_role("slider", name="Last 24 hours: 1 session, 1 interruption")).to_be_visible()
    await expect(page.locator("[data-kind=interruption]")).to_contain_text("Interrupted")


async def find_who_shares_a_channel(hand: Hand, hub: RunningHub) -> None:
    page = hand.page
    await hub.connected(3, "Front")
    await hub.connected(4, "Tail")
    await opened(page, hub)
    await page.get_by_role("link", name="Adapters").click()
    await expect(page.locator(".advice")).to_contain_text("Front and Tail share channel ")


async def record_on_all(hand: Hand, hub: RunningHub) -> None:
    page = hand.page
    for number in (1, 2, 3):
        await hub.connected(number)
    await opened(page, hub)
    await page.get_by_role("button", name="Record on all").click()
    await expect(page.locator(".badge.recording")).to_have_count(3)
    await hub.client.record([], on=False, everyone=Everyone.RIG)


async def find_out_why_an_adapter_is_reserved(hand: Hand, hub: RunningHub) -> None:
    page = hand.page
    device = await hub.create(1, "Front", "not-its-password")
    await hub.client.update_device(device, {"pin": {"usb_port": "1-1.2"}})
    await opened(page, hub)
    await page.get_by_role("link", name="Adapters").click()
    await expect(page.locator("[data-interface=wlan1] .badge")).to_have_text("Reserved for Front")


async def add_a_sleeping_gopro(hand: Hand, hub: RunningHub) -> None:
    page = hand.page
    await hub.connected(1)
    await opened(page, hub)
    await page.get_by_role("button", name="Add a camera").click()
    await page.get_by_role("button", name="Pair and add GoPro 0001").click()
    await shows(page, "GP25140001", "Connected")


async def add_four_cameras(hand: Hand, hub: RunningHub) -> None:
    page = hand.page
    await opened(page, hub)
    await page.get_by_role("button", name="Add a camera").click()
    await expect(page.get_by_role("radio", name="SIM-CAM-1")).to_be_visible()
    texts = [f"WIFI:T:WPA;S:SIM-CAM-{number};P:camera-pass-{number};;" for number in range(1, 5)]
    await hand.paste("\n".join(texts))
    await page.get_by_role("button", name="Add 4 cameras").click()
    await expect(page.get_by_role("dialog").get_by_role("status")).to_have_text("4 registered.")


TASKS: dict[str, Callable[[Hand, RunningHub], Awaitable[None]]] = {
    "Add a camera whose network is in range": add_a_camera,
    "Fix a wrong password": fix_a_wrong_password,
    "Find out why a camera was lost": find_out_why_a_camera_was_lost,
    "Give the last adapter to another camera": give_the_last_adapter_to_another_camera,
    "Let a camera wait for an adapter": let_a_camera_wait_for_an_adapter,
    "Rename a camera": rename_a_camera,
    "Reserve an adapter for a camera": reserve_an_adapter,
    "Disconnect all of thirty cameras": disconnect_all_of_many,
    "Find the cameras that do not answer among thirty": find_the_cameras_that_do_not_answer,
    "Remove a camera": remove_a_camera,
    "Find last night's gap": find_last_nights_gap,
    "Find which cameras share a channel": find_who_shares_a_channel,
    "Record on all cameras": record_on_all,
    "Find out why an adapter is reserved": find_out_why_an_adapter_is_reserved,
    "Add a GoPro that sleeps": add_a_sleeping_gopro,
    "Add four cameras whose QR texts are known": add_four_cameras,
}


def documented() -> dict[str, tuple[int, int]]:
    """The clicks and seconds of each task, by the guide."""
    rows = re.findall(r"^\| (.+?) \| (\d+) \| (\d+) \|", GUIDE.read_text(encoding="utf-8"), re.MULTILINE)
    return {task: (int(clicks), int(seconds)) for task, clicks, seconds in rows}


async def test_each_task_is_documented() -> None:
    assert set(documented()) == set(TASKS)
    assert max(clicks for clicks, _ in documented().values()) <= MOST


@pytest.mark.parametrize("task", TASKS)
async def test_a_task_takes_the_clicks_and_seconds_that_are_documented(
    hand: Hand, hub: RunningHub, task: str
) -> None:
    await TASKS[task](hand, hub)
    assert (await hand.clicks(), await hand.seconds()) == documented()[task]
