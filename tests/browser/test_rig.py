"""The rig at the top of the page: its sentence, as on the command line, and what is done with all cameras."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Page, Route, expect

from tests.browser.looking import card, opened, shows, toast
from tests.browser.made_rig import CONNECTED, MadeRig, failed, recording, stopped
from tests.browser.running_hub import RunningHub
from tests.browser.test_accessibility import findings
from tests.browser.test_answers import results_are
from tests.browser.test_recording import CAMERAS, clear, connected, hub_of_four
from tests.browser.told import Told, said
from tests.cli.running import wifimgrctl
from tests.commands import disconnect

pytestmark = pytest.mark.asyncio(loop_scope="session")

LOST_S = 60
NOT_CONNECTED = {
    "connected": False,
    "connection_status": "disconnected",
    "camera": said(recording=None, recording_requested=True),
}


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def whole_hub(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[RunningHub]:
    """A hub with four cameras in the air, which leaves their clocks alone."""
    async with hub_of_four(tmp_path_factory.mktemp("rig")) as hub:
        yield hub


@pytest_asyncio.fixture(loop_scope="session")
async def hub(whole_hub: RunningHub) -> RunningHub:
    """The same, without devices; no camera records, and all are on."""
    for _, ssid, _ in CAMERAS.values():
        await whole_hub.client.simulate("PowerOnCamera", "ay", ssid.encode())
    await clear(whole_hub)
    return whole_hub


async def told(page: Page, *names: str, **members: Any) -> Told:
    """The channel of a page on which these cameras say what they are asked for, and are of the rig."""
    channel = Told()
    await channel.to(page)
    for name in names:
        channel.say(name, said(**{"recording": False, **members}))
    channel.expect(*names)
    return channel


async def test_the_sentence_is_that_of_the_command_line(page: Page, hub: RunningHub) -> None:
    front, back = await connected(hub, "Front", "Back")
    await opened(page, hub)
    sentence = page.locator(".rig h2")
    rig = page.locator(".rig")
    for words, tone in (
        ("Both cameras are ready.", "good"),
        ("1 of 2 cameras is ready: Back is not connected.", "bad"),
    ):
        await expect(sentence).to_have_text(words)
        await expect(rig).to_have_class(f"rig {tone}")
        ran = await wifimgrctl(hub.bus, "check")
        assert ran.out.splitlines()[0] == words
        if tone == "good":
            await hub.client.simulate("PowerOffCamera", "ayb", CAMERAS["Back"][1].encode(), True)
            await hub.client.wait_until(lambda client: client.devices[back].state == "disconnected", LOST_S)
    await hub.client.record([front], on=True)
    await expect(sentence).to_have_text("1 of 2 cameras record. Back is not connected.")


async def test_nobody_to_check_is_neither_good_nor_bad(page: Page, hub: RunningHub) -> None:
    await opened(page, hub)
    await expect(page.locator(".rig.calm h2")).to_have_text("No cameras yet.")
    await expect(page.get_by_text("No cameras yet.")).to_have_count(1)
    (front,) = await connected(hub, "Front")
    await expect(page.locator(".rig.good h2")).to_have_text("Front is ready.")
    await disconnect(hub.client, front)
    await expect(page.locator(".rig.calm h2")).to_have_text("There is no camera to check.")
    await expect(page.locator(".rig.calm p")).to_have_text("None was asked to connect.")


async def test_a_full_card_is_the_cause_and_who_stops_next_is_named(page: Page, hub: RunningHub) -> None:
    await connected(hub, "Front", "Back", "Tail")
    channel = await told(page, "Front", "Back", "Tail")
    await opened(page, hub)
    await expect(page.locator(".rig.good h2")).to_have_text("All 3 cameras are ready.")
    running = {"recording": True, "recording_requested": True, "recording_time_left_s": 2_900}
    channel.say("Front", said(**running))
    channel.say("Back", said(**running | {"recording_time_left_s": 5_000, "problems": ["battery-low"]}))
    channel.say("Tail", said(**running))
    await expect(page.locator(".rig.busy h2")).to_have_text("3 of 3 cameras record. Back has a low battery.")
    stopped = running | {"recording": False, "problems": ["not-recording", "storage-full"]}
    channel.say("Tail", said(**stopped | {"recording_time_left_s": 0}))
    words = "2 of 3 cameras record. Tail does not record: it has a full card."
    await expect(page.locator(".rig.bad h2")).to_have_text(words)
    below = "Room for 48 min: then the card of Front is full. Back has a low battery."
    await expect(page.locator(".rig p")).to_have_text(below)
    assert await findings(page) == []


async def test_the_height_is_the_same_whatever_is_said(page: Page, hub: RunningHub) -> None:
    channel = await told(page, "Front")
    await opened(page, hub)
    heights = [await page.locator(".rig").evaluate("one => one.offsetHeight")]
    await connected(hub, "Front")
    device = min(hub.client.devices)
    await hub.client.update_device(device, {"name": "Front, " + "below the keel and far behind, " * 3})
    await expect(page.locator(".rig h2")).to_contain_text("below the keel")
    heights.append(await page.locator(".rig").evaluate("one => one.offsetHeight"))
    async with hub.without_daemon():
        await expect(page.locator(".rig.unknown")).to_be_visible()
        heights.append(await page.locator(".rig").evaluate("one => one.offsetHeight"))
    assert len(set(heights)) == 1
    await hub.until(device, "connected")
    channel.say("Front", None)


async def test_record_on_all_is_loud_only_while_it_changes_something(page: Page, hub: RunningHub) -> None:
    await connected(hub, "Front", "Back")
    await opened(page, hub)
    record = page.locator(".record-on-all .start")
    await expect(record).to_have_text("Record on all")
    filled = "one => getComputedStyle(one).backgroundColor"
    loud = await record.evaluate(filled)
    place = await record.bounding_box()
    await record.click()
    await expect(record).to_have_text("All record")
    await expect(record).to_have_attribute("aria-disabled", "true")
    await expect(record).to_be_focused()
    assert await record.bounding_box() == place
    await page.mouse.move(0, 0)
    assert await record.evaluate(filled) != loud
    await expect(page.locator(".rig.recording h2")).to_have_text("2 of 2 cameras record.")
    assert await findings(page) == []


async def test_a_camera_page_has_a_pill_that_leads_back(page: Page, hub: RunningHub) -> None:
    (front,) = await connected(hub, "Front")
    await opened(page, hub, f"#camera/{front}")
    await expect(page.locator(".rig")).to_have_count(0)
    await page.get_by_role("banner").get_by_role("link", name="Front is ready.").click()
    await expect(page.locator(".rig h2")).to_have_text("Front is ready.")


async def test_while_the_hub_is_away_the_sentence_is_a_memory(page: Page, hub: RunningHub) -> None:
    (front,) = await connected(hub, "Front")
    await opened(page, hub)
    async with hub.without_daemon():
        await expect(page.locator(".rig.unknown h2")).to_have_text("Last known: Front is ready.")
        await expect(page.get_by_role("alert")).to_be_visible()
    await hub.until(front, "connected")
    await expect(page.locator(".rig.good h2")).to_have_text("Front is ready.")


async def test_what_goes_with_the_hub_is_not_what_was_last_known(page: Page, hub: RunningHub) -> None:
    rig = MadeRig({name: recording(0) for name in ("Front", "Back")})
    await rig.to(page)
    await opened(page, hub)
    head = page.locator(".rig h2")
    await expect(card(page, "Front").locator(".badge")).to_contain_text("0:05")
    await expect(head).to_have_text("2 of 2 cameras record.")
    # Its links are told as lost before it is.
    for name in ("Front", "Back"):
        rig.change(name, **failed("connection-lost"), **NOT_CONNECTED)
    await expect(head).to_contain_text("0 of 2 cameras record.")
    await rig.cut()
    await expect(head).to_have_text("Last known: 2 of 2 cameras record.")


async def test_who_cannot_be_told_to_record_is_not_counted_among_those_that_can(
    page: Page, hub: RunningHub
) -> None:
    off = failed("device-not-reachable")
    rig = MadeRig({"Front": recording(), "Back": recording(), "Fixed 1": off, "Fixed 2": off})
    await rig.to(page)
    await opened(page, hub)
    head = page.locator(".rig h2")
    await expect(head).to_have_text("2 of 2 cameras record. 2 others are not ready.")
    rig.change("Back", **stopped())
    await expect(head).to_have_text("1 of 2 cameras record. Back does not record.")
    await expect(page.locator(".rig p")).to_contain_text("2 others are not ready.")


async def test_where_all_is_well_who_is_not_counted_is_named(page: Page, hub: RunningHub) -> None:
    rig = MadeRig({"Front": CONNECTED | {"camera": said(recording=False)}, "Spare": {}})
    await rig.to(page)
    await opened(page, hub)
    await expect(page.locator(".rig.good h2")).to_have_text("Front is ready.")
    await expect(page.locator(".rig p")).to_have_text("Not counted: Spare.")
    for number in range(1, 4):
        rig.add(f"Spare {number}")
    await expect(page.locator(".rig p")).to_have_text("Not counted: 4 cameras.")
    rig.change("Spare", **failed("device-not-reachable"))
    await expect(page.locator(".rig p")).not_to_contain_text("Not counted")


async def test_the_step_of_an_answer_connects_who_is_not_connected(page: Page, hub: RunningHub) -> None:
    front, back = await connected(hub, "Front", "Back")
    await hub.client.simulate("PowerOffCamera", "ayb", CAMERAS["Back"][1].encode(), True)
    await hub.client.wait_until(lambda client: client.devices[back].state == "disconnected", LOST_S)
    await opened(page, hub)
    await page.get_by_role("button", name="Record on all").click()
    answer = toast(page, "1 of 2 cameras record. Not connected: Back.")
    assert front
    await hub.client.simulate("PowerOnCamera", "ay", CAMERAS["Back"][1].encode())
    await answer.get_by_role("button", name="Connect Back").click()
    await expect(answer).to_have_count(0)
    await shows(page, "Back", "Not recording")
    await expect(card(page, "Front").locator(".badge")).to_contain_text("Recording")


async def test_the_step_of_an_answer_with_another_reason_tries_again(page: Page, hub: RunningHub) -> None:
    (front,) = await connected(hub, "Front")
    await opened(page, hub)
    row = {
        "device_id": front,
        "done": False,
        "after_ms": None,
        "code": "camera-busy",
        "message": "it is busy",
    }
    await results_are(page, [row])
    await page.get_by_role("button", name="Record on all").click()
    answer = toast(page, "0 of 1 cameras record. Front: it is busy.")
    await expect(answer).to_have_class("toast bad")
    asked: list[Any] = []

    async def done(route: Route) -> None:
        asked.append(route.request.post_data_json)
        await route.fulfill(json={"results": [row | {"done": True, "code": None}]})

    await page.route("**/devices/recording", done)
    await answer.get_by_role("button", name="Try again").click()
    await expect(toast(page, re.compile("^1 of 1 cameras record"))).to_have_class("toast good")
    assert asked == [{"recording": True, "all": True}]
    await expect(page.locator(".toast").get_by_role("button")).to_have_count(1)
