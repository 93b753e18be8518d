"""Why a recording ended that the camera does not explain: that its link was lost meanwhile is known."""

from __future__ import annotations

from typing import Any, Final

import pytest
from playwright.async_api import Page, expect

from tests.browser.looking import card, opened, shows
from tests.browser.running_hub import RunningHub
from tests.browser.told import Told, ago, said
from tests.commands import disconnect
from wifimgrd.domain.camera import EndSeen, StopReason
from wifimgrd.domain.sentences import recording_ended

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


def rows_of(device: int, seen: EndSeen, error: str) -> list[dict[str, Any]]:
    """The history of a camera whose recording has ended, as the hub has seen that."""
    row = {"device_id": device, "device_name": "Nose", "interface": "wlan0", "code": None, "message": None}
    signal = {"signal_minimum": None, "signal_mean": None}
    session, recorded = row | signal | {"kind": "session"}, row | signal | {"kind": "recording"}
    end = {"code": "unknown", "message": recording_ended(StopReason.UNKNOWN, seen, error)}
    return [
        session | {"id": 4, "time": ago(600), "ended": None},
        recorded | end | {"id": 3, "time": ago(1_000), "ended": ago(700)},
        session | {"id": 2, "time": ago(2_000), "ended": ago(700), "code": "connection-lost", "message": OFF},
    ]


@pytest.mark.parametrize(
    ("seen", "error", "words"),
    [
        (EndSeen.SWITCHED_OFF, "", "it was switched off"),
        (EndSeen.LATER, OFF, "it was switched off"),
        (EndSeen.LATER, SILENT, "its link was lost"),
        (EndSeen.LATER, "", "it does not say why"),
        (EndSeen.DIRECTLY, "", "it does not say why"),
    ],
)
async def test_the_history_says_why_as_the_hub_knows_it(
    page: Page, hub: RunningHub, seen: EndSeen, error: str, words: str
) -> None:
    device = await hub.connected(1, "Nose")
    await disconnect(hub.client, device)
    rows = rows_of(device, seen, error)
    await page.route("**/history?*", lambda route: route.fulfill(json={"history": rows}))
    await opened(page, hub, f"#camera/{device}")
    past = page.get_by_role("article").get_by_role("listitem").filter(has_text="Recorded from")
    await expect(past).to_contain_text(rows[1]["message"])
    await page.get_by_role("link", name="Events").click()
    told = page.get_by_role("log").locator("li.bad").filter(has_text="Nose stopped recording: ")
    await expect(told).to_contain_text(words)
