"""*Record on all* is for the whole rig, on emulated cameras: who is off is named, and nothing is green."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Page, expect

from tests.browser.looking import card, opened, shows, toast
from tests.browser.running_hub import RunningHub, running_hub
from tests.browser.test_recording import CAMERAS, NEVER, SCENARIO, connected
from tests.commands import connect, disconnect
from wifimgrd.domain.rig import Everyone

pytestmark = pytest.mark.asyncio(loop_scope="session")

FAULTS = ("card-full", "command-unanswered")
LOST_S = 60


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def whole_hub(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[RunningHub]:
    """A hub with four cameras in the air, which gives up a lost link soon."""
    folder = tmp_path_factory.mktemp("rig")
    settings = "[link]\ngrace_s = 1\n[cameras]\nset_clock = false\n"
    async with running_hub(folder, settings, SCENARIO.read_text(encoding="utf-8")) as hub:
        yield hub


@pytest_asyncio.fixture(loop_scope="session")
async def hub(whole_hub: RunningHub) -> RunningHub:
    """The same, without devices; each camera is on, and none records."""
    for fault in FAULTS:
        await whole_hub.set_fault(fault, off=True)
    for _, ssid, _ in CAMERAS.values():
        await whole_hub.client.simulate("PowerOnCamera", "ay", ssid.encode())
    await whole_hub.client.record([], on=False, everyone=Everyone.CONNECTED)
    for device in list(whole_hub.client.devices):
        await whole_hub.client.remove_device(device)
    return whole_hub


async def switch_off(hub: RunningHub, name: str, device: int) -> None:
    """Switch a camera off, and wait until its link is lost."""
    await hub.client.simulate("PowerOffCamera", "ayb", CAMERAS[name][1].encode(), True)
    await hub.client.wait_until(lambda client: client.devices[device].state == "disconnected", LOST_S)


async def test_a_camera_that_is_off_is_named_and_nothing_is_green(page: Page, hub: RunningHub) -> None:
    _, _, tail = await connected(hub, "Front", "Back", "Tail")
    await opened(page, hub)
    await switch_off(hub, "Tail", tail)
    await page.get_by_role("button", name="Record on all").click()
    told = toast(page, "2 of 3 cameras record. Not connected: Tail.")
    await expect(told).to_have_class("toast warn")
    for name in ("Front", "Back"):
        await expect(card(page, name).locator(".badge")).to_contain_text("Recording 0:")
    await page.get_by_role("button", name="Stop all …").click()
    await page.get_by_role("dialog").get_by_role("button", name="Stop all").click()
    told = toast(page, "2 of 3 cameras have stopped. Not connected: Tail.")
    await expect(told).to_have_class("toast warn")


async def test_a_camera_that_was_disconnected_is_not_of_the_rig(page: Page, hub: RunningHub) -> None:
    front, back = await connected(hub, "Front", "Back")
    await disconnect(hub.client, back)
    await hub.until(back, "disconnected")
    await opened(page, hub)
    await page.get_by_role("button", name="Record on all").click()
    await expect(toast(page, "1 of 1 cameras record.")).to_have_class("toast good")
    assert (hub.client.devices[front].camera or NEVER).recording_state == "recording"
    await connect(hub.client, back, wait=True)
    await shows(page, "Back", "Connected")
    await page.get_by_role("button", name="Record on all").click()
    await expect(toast(page, "2 of 2 cameras record.")).to_have_class("toast good")


async def test_the_buttons_are_there_with_every_camera_of_the_rig_off(page: Page, hub: RunningHub) -> None:
    (front,) = await connected(hub, "Front")
    await opened(page, hub)
    await switch_off(hub, "Front", front)
    await page.get_by_role("button", name="Record on all").click()
    told = toast(page, "0 of 1 cameras record. Not connected: Front.")
    await expect(told).to_have_class("toast warn")


async def test_a_refusal_stands_behind_who_is_not_connected(page: Page, hub: RunningHub) -> None:
    _, back, _ = await connected(hub, "Front", "Back", "Tail")
    await hub.set_fault("card-full", ssid=CAMERAS["Tail"][1])
    await opened(page, hub)
    await switch_off(hub, "Back", back)
    await page.get_by_role("button", name="Record on all").click()
    told = toast(page, "1 of 3 cameras record. Not connected: Back. Tail: the card is full.")
    await expect(told).to_have_class("toast bad")


async def test_a_camera_whose_answer_is_lost_is_not_known(page: Page, hub: RunningHub) -> None:
    await connected(hub, "Front", "Back")
    await opened(page, hub)
    await hub.set_fault("command-unanswered", ssid=CAMERAS["Back"][1])
    await page.get_by_role("button", name="Record on all").click()
    told = toast(page, "1 of 2 cameras record. Not known: Back.")
    await expect(told).to_have_class("toast warn", timeout=30_000)
    await shows(page, "Back", "Recording unconfirmed")
    await hub.set_fault("command-unanswered", off=True)
    await expect(card(page, "Back").locator(".badge")).to_contain_text("Recording 0:", timeout=60_000)
