"""Why a recording ended that the camera does not explain: that its link was lost meanwhile is known."""

from __future__ import annotations

from typing import Any, Final

import pytest
from playwright.async_api import Page, expect

from tests.browser.looking import card, opened, shows
from tests.browser.running_hub import RunningHub
from tests.browser.told import Told, ago, said
from tests.commands import disconnect

pytestmark = pytest.mark.asyncio(loop_scope="session")

RECORDS: Final = {"recording": True, "recording_requested": True}
OFF: Final = "the connection was lost: the camera SIM-CAM-1 was switched off"
SILENT: Final = "the connection was lost: the camera is out of range"


async def recording(page: Page, hub: RunningHub) -> Told:
    """A connected camera that records, in the channel of a page."""
    channel = Told()
    await channel.to(page)
    channel.say("Nose", said(**RECORDS))
    await hub.connected(1, "Nose")
    await opened(page, hub)
    await expect(card(page, "Nose").locator(".badge")).to_contain_text("Recording")
    return channel


async def ends(page: Page, channel: Told, words: str) -> None:
    """Its recording ends without a reason, which is told so."""
    channel.say("Nose", said(recording=False, recording_requested=True))
    channel.stopped("Nose", "unknown")
    told = page.locator(".events li.bad").filter(has_text="Nose stopped recording")
    await expect(told.first).to_contain_text(f"Nose stopped recording: {words}")
    await expect(page.locator(".toast").filter(has_text="Nose stopped")).to_contain_text(words)


@pytest.mark.parametrize(("orderly", "words"), [(True, "it was switched off"), (False, "its link was lost")])
async def test_a_camera_whose_link_was_lost_is_told_as_that(
    page: Page, hub: RunningHub, orderly: bool, words: str
) -> None:
    channel = await recording(page, hub)
    if orderly:
        await hub.power(1, on=False)
    else:
        await hub.set_fault("out-of-range", ssid="SIM-CAM-1")
    await shows(page, "Nose", "Searching")
    channel.say("Nose", said(recording=None, recording_requested=True))
    if orderly:
        await hub.power(1, on=True)
    else:
        await hub.set_fault("out-of-range", off=True)
    device = next(iter(hub.client.devices))
    await hub.until(device, "connected")
    await shows(page, "Nose", "Connected")
    await ends(page, channel, words)
    # What ended one recording says nothing of the next.
    channel.say("Nose", said(**RECORDS))
    await expect(card(page, "Nose").locator(".badge")).to_contain_text("Recording")
    await ends(page, channel, "it does not say why")


async def test_a_recording_that_outlived_a_lost_link_did_not_end_by_it(page: Page, hub: RunningHub) -> None:
    channel = await recording(page, hub)
    await hub.power(1, on=False)
    await shows(page, "Nose", "Searching")
    channel.say("Nose", said(recording=None, recording_requested=True))
    await hub.power(1, on=True)
    await hub.until(next(iter(hub.client.devices)), "connected")
    await shows(page, "Nose", "Connected")
    channel.say("Nose", said(**RECORDS))
    await expect(card(page, "Nose").locator(".badge")).to_contain_text("Recording")
    await ends(page, channel, "it does not say why")


def rows_of(device: int, message: str, back_s: float, ended_s: float) -> list[dict[str, Any]]:
    """The history of a camera that recorded from 1,000 s ago on, was lost 700 s ago, and came back."""
    row = {"device_id": device, "device_name": "Nose", "interface": "wlan0", "code": None, "message": None}
    signal = {"signal_minimum": None, "signal_mean": None}
    session, recorded = row | signal | {"kind": "session"}, row | signal | {"kind": "recording"}
    lost = {"code": "connection-lost", "message": message}
    return [
        session | {"id": 4, "time": ago(back_s), "ended": None},
        recorded | {"id": 3, "time": ago(1_000), "ended": ago(ended_s), "code": "unknown"},
        session | lost | {"id": 2, "time": ago(2_000), "ended": ago(700)},
        # Of another camera, which is no reason.
        session | lost | {"id": 1, "device_id": device + 1, "time": ago(2_000), "ended": ago(699)},
    ]


@pytest.mark.parametrize(
    ("message", "back_s", "ended_s", "words"),
    [
        (OFF, 500, 499, "it was switched off"),
        (SILENT, 500, 499, "its link was lost"),
        (OFF, 500, 100, "it does not say why"),
        (OFF, 500, 800, "it does not say why"),
    ],
)
async def test_the_history_says_the_same(
    page: Page, hub: RunningHub, message: str, back_s: float, ended_s: float, words: str
) -> None:
    device = await hub.connected(1, "Nose")
    await disconnect(hub.client, device)
    rows = rows_of(device, message, back_s, ended_s)
    await page.route("**/history?*", lambda route: route.fulfill(json={"history": rows}))
    await opened(page, hub, f"#camera/{device}")
    past = page.get_by_role("article").get_by_role("listitem").filter(has_text="Recorded ")
    await expect(past).to_contain_text(f"The recording ended: {words}.")
    await page.get_by_role("link", name="Events").click()
    told = page.get_by_role("log").locator("li.bad").filter(has_text="Nose stopped recording: ")
    await expect(told).to_contain_text(words)
