"""One vocabulary of states: each has its word, its badge and its shape, in cards and in rows."""

from __future__ import annotations

import pytest
from playwright.async_api import Page, expect

from tests.browser.looking import card, opened, opened_rows
from tests.browser.running_hub import RunningHub
from tests.commands import connect, disconnect

pytestmark = pytest.mark.asyncio(loop_scope="session")

WORDS = {
    "connected": "Connected",
    "connecting": "Connecting",
    "waiting": "Waiting",
    "searching": "Searching",
    "not-answering": "Not answering",
    "wrong-password": "Wrong password",
    "no-adapter": "No adapter",
    "off": "Off",
}


async def a_camera_in_each_state(hub: RunningHub) -> None:
    """A camera in each state, called by the state."""
    for ssid in (b"SLOW", b"LOST"):
        await hub.add_camera(ssid, "")
    lost = await hub.client.create_device(
        {
            "codename": "insta360-x3",
            "connection_type": "wifi",
            "ssid": "LOST",
            "password": "",
            "name": "searching",
        }
    )
    await hub.until(lost, "connected")
    off = await hub.connected(4, "off")
    await disconnect(hub.client, off)
    await hub.client.simulate("PowerOffCamera", "ayb", b"LOST", True)
    await hub.until(lost, "disconnected")
    await hub.create(4, "wrong-password", "not-its-password")
    await hub.client.wait_until(
        lambda client: any(
            one.name == "wrong-password" and one.connection_error_code and one.state == "disconnected"
            for one in client.devices.values()
        ),
        60,
    )
    await hub.connected(1, "connected")
    await hub.set_fault("silent", ssid="SIM-CAM-2")
    await hub.connected(2, "not-answering")
    await hub.set_fault("slow-join", seconds=600.0, ssid="SLOW")
    await hub.client.create_device(
        {
            "codename": "insta360-x3",
            "connection_type": "wifi",
            "ssid": "SLOW",
            "password": "",
            "name": "connecting",
        }
    )
    waiting = await hub.create(3, "waiting")
    await connect(hub.client, waiting, when_free=True)
    await hub.client.create_device(
        {
            "codename": "insta360-x3",
            "connection_type": "wifi",
            "ssid": "SIM-CAM-3",
            "password": "camera-pass-3",
            "name": "no-adapter",
        }
    )


async def test_each_state_has_its_word_and_its_shape(page: Page, hub: RunningHub) -> None:
    await opened_rows(page, hub)
    await a_camera_in_each_state(hub)
    drawn = set()
    for state, word in WORDS.items():
        badge = card(page, state).locator(".badge")
        await expect(badge).to_have_text(word)
        await expect(badge.locator(f"[data-shape={state}]")).to_be_visible()
        drawn.add(await badge.locator("path").get_attribute("d"))
    assert len(drawn) == len(WORDS), "distinguished without colours"
    for number in range(3):  # more than eight: rows
        await hub.client.create_device(
            {
                "codename": "insta360-x3",
                "connection_type": "wifi",
                "ssid": "SIM-CAM-OFF",
                "password": "camera-pass-off",
                "name": f"More {number}",
            }
        )
    for state, word in WORDS.items():
        row = page.get_by_role("row").filter(has=page.get_by_role("link", name=state, exact=True))
        await expect(row.locator(".badge")).to_have_text(word)
        await expect(row.locator(f"[data-shape={state}]")).to_be_visible()


async def test_in_use_is_no_warning(page: Page, hub: RunningHub) -> None:
    await hub.set_fault("silent")
    await hub.connected(1)
    await hub.create(2, password="not-its-password")
    await opened(page, hub)
    await expect(page.locator(".badge.not-answering")).to_be_visible()
    colour = "badge => getComputedStyle(badge).color"
    warning = await page.locator(".badge.not-answering").evaluate(colour)
    await page.get_by_role("link", name="Adapters").click()
    assert warning != await page.locator(".badge.in-use").evaluate(colour)
