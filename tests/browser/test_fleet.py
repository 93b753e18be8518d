"""The page of all hubs of a broker: what it shows, its commands, what is hostile, what goes wrong."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import subprocess
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import pytest_asyncio
from playwright.async_api import Browser, Locator, Page, expect

from tests.browser.cable import cable_to
from tests.browser.fleet import (
    GUEST,
    OWN,
    PASSWORD,
    USER,
    FleetPage,
    camera_row,
    device_record,
    fleet_page,
    hub_record,
    hub_row,
    open_all,
    sign_in,
    signed_in,
    websocket_broker,
)
from tests.browser.looking import SIZES, opened, sized, toast
from tests.browser.test_accessibility import findings, no_scrolling_sideways
from tests.browser.test_bluetooth import asleep
from tests.commands import disconnect
from tests.docs.code_blocks import CHECKOUT, code_blocks
from tests.http.fake_hub import FakeHub
from tests.http.served import Served
from tests.http.test_embedding import AROUND, NGINX, START_S
from tests.mqtt.certificates import Authority
from tests.mqtt.mosquitto import free_port
from tests.mqtt.test_client_ids import client_ids, told
from wifimgrd.client.json_records import interface_json
from wifimgrd.config.web_address import web_socket_address
from wifimgrd.domain.records import CameraRecord, InterfaceRecord
from wifimgrd.http._server import bind
from wifimgrd.http.page.resource import content_security_policy
from wifimgrd.http.settings import Fleet, Settings

pytestmark = pytest.mark.asyncio(loop_scope="session")
IS_WHOLE = "e => e.scrollWidth <= e.clientWidth && e.scrollHeight <= e.clientHeight"


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def whole_fleet(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[FleetPage]:
    async with fleet_page(tmp_path_factory.mktemp("fleet")) as fleet:
        await fleet.seen.until(lambda: fleet.is_bare)
        yield fleet


@pytest_asyncio.fixture(loop_scope="session")
async def fleet(whole_fleet: FleetPage) -> FleetPage:
    """The page with one real hub, which has no cameras."""
    await whole_fleet.reset()
    return whole_fleet


def count(page: Page, state: str) -> Locator:
    """How many cameras there are of a state, or hubs in need or offline: the button that shows them alone."""
    return page.locator(f'[data-count="{state}"]')


def band(page: Page) -> Locator:
    """How all hubs are, in large."""
    return page.locator(".rig")


async def test_hubs_and_cameras_appear_and_are_counted(page: Page, fleet: FleetPage) -> None:
    fleet.publish_hub("plane", device_record(1), device_record(2, state="connecting"))
    await signed_in(page, fleet.url)
    await expect(page.get_by_role("heading", name="2 of 2 hubs online")).to_be_visible()
    await expect(hub_row(page, "plane")).to_contain_text("1 of 2 cameras connected")
    await expect(hub_row(page, OWN)).to_contain_text("3 of 3 adapters free")
    await expect(hub_row(page, OWN)).to_contain_text("No change since you opened this page")
    device = await fleet.hub.connected(1, "Front")
    await expect(count(page, "connected")).to_have_text("Connected 2")
    await expect(count(page, "connecting")).to_have_text("Connecting 1")
    await expect(hub_row(page, OWN)).to_contain_text("Last message")
    await expect(hub_row(page, OWN)).to_contain_text("2 of 3 adapters free")
    await open_all(page)
    await expect(camera_row(page, OWN, device)).to_contain_text("Front")
    await expect(camera_row(page, OWN, device)).to_contain_text("wlan")
    name = fleet.hub.client.devices[device].interface or ""
    adapter = fleet.hub.client.interfaces[name]
    await fleet.hub.client.update_device(device, {"pin": {"usb_port": adapter.usb_port}})
    await disconnect(fleet.hub.client, device)
    await expect(hub_row(page, OWN)).to_contain_text(f"2 of 3 adapters free, {name} reserved for Front")
    await fleet.hub.client.remove_device(device)
    await expect(camera_row(page, OWN, device)).to_have_count(0)
    await expect(hub_row(page, OWN)).to_contain_text("3 of 3 adapters free")


async def test_an_adapter_that_is_checked_or_in_quarantine_is_not_counted_as_free(
    page: Page, fleet: FleetPage
) -> None:
    fleet.publish_hub("plane", device_record(1))
    healths = {"wlan0": "good", "wlan1": "suspect", "wlan2": "quarantined", "wlan3": "of-a-later-version"}
    for name, health in healths.items():
        record = dict(interface_json(InterfaceRecord(name))) | {"health": health}
        fleet.publish(f"plane/interfaces/{name}", record)
    await signed_in(page, fleet.url)
    words = "2 of 4 adapters free, wlan1 being checked, wlan2 quarantined"
    await expect(hub_row(page, "plane")).to_contain_text(words)


async def test_a_hub_has_a_link_to_its_own_page_if_it_says_where_that_is(
    page: Page, fleet: FleetPage
) -> None:
    address = "https://192.0.2.7:8443/"
    fleet.publish_hub("plane", device_record(1), page=address)
    fleet.publish_hub("wreck", device_record(1), page="javascript:alert(1)")
    fleet.publish_hub("spy", device_record(1), page="https://pilot:secret@192.0.2.7/")
    fleet.publish_hub("older", device_record(1))
    await signed_in(page, fleet.url)
    await expect(page.locator("[data-hub]")).to_have_count(5)
    link = hub_row(page, "plane").get_by_role("link", name="Open the page of plane")
    await expect(link).to_have_attribute("href", address)
    assert {"noopener", "noreferrer"} <= set((await link.get_attribute("rel") or "").split())
    await expect(page.locator("[data-hub] a")).to_have_count(1)
    fleet.publish("plane/hub", hub_record("plane", page=None))
    await expect(page.locator("[data-hub] a")).to_have_count(0)


async def test_a_camera_that_sleeps_is_woken_at_its_hub(page: Page, fleet: FleetPage) -> None:
    device = await asleep(fleet.hub)
    await signed_in(page, fleet.url)
    await fleet.hub.client.search_bluetooth(1)
    await expect(count(page, "asleep")).to_have_text("Asleep 1")
    await open_all(page)
    await camera_row(page, OWN, device).get_by_role("button", name="Wake and connect").click()
    await expect(count(page, "connected")).to_have_text("Connected 1")


async def test_a_camera_that_is_recovered_says_by_which_step(page: Page, fleet: FleetPage) -> None:
    steps = {1: "rejoin", 2: "of-a-later-version"}
    records = [device_record(one, reachable=False, recovery_step=step) for one, step in steps.items()]
    earlier = device_record(3)
    del earlier["recovery_step"]
    fleet.publish_hub("plane", *records, earlier)
    await signed_in(page, fleet.url)
    await expect(count(page, "recovering")).to_have_text("Recovering 2")
    await open_all(page)
    for device, words in ((1, "joining the camera's network again"), (2, "trying to recover it")):
        row = camera_row(page, "plane", device)
        await expect(row.locator(".badge")).to_have_text("Recovering")
        await expect(row.locator(".why")).to_have_text(f"The hub is {words}.")
        await expect(row.get_by_role("button", name="Stop")).to_be_enabled()
    await expect(camera_row(page, "plane", 3).locator(".badge")).to_have_text("Connected")


async def test_battery_recording_and_problems_are_shown(page: Page, fleet: FleetPage) -> None:
    front = CameraRecord(battery_level=78, battery_state="charging", recording_state="recording")
    tail = CameraRecord(recording_state="idle", problems=("not-recording", "storage-full"))
    records = [
        device_record(1, camera=front, signal_strength=70),
        device_record(2, camera=tail),
        device_record(3, camera=front, state="disconnected"),
        device_record(5, camera=CameraRecord(problems=("recording-unconfirmed",)), state="disconnected"),
        device_record(4) | {"camera": device_record(4, camera=front)["camera"] | {"battery_level": 101}},
    ]
    records[1]["camera"]["problems"].append("of-a-later-version")
    del records[0]["camera"]["model"]  # what the page does not use
    fleet.publish_hub("plane", *records)
    await signed_in(page, fleet.url)
    counted = "2 of 4 cameras connected, 1 recording, 1 not recording, 1 recording unconfirmed, "
    await expect(hub_row(page, "plane")).to_contain_text(counted)
    await expect(hub_row(page, "plane")).to_contain_text("1 record unreadable")
    await open_all(page)
    row = camera_row(page, "plane", 1)
    await expect(row.locator(".badge")).to_have_text("Recording")
    await expect(row.locator("[data-shape=recording]")).to_be_visible()
    await expect(row.locator(".battery")).to_have_text("78 %, charging")
    await expect(camera_row(page, "plane", 2).locator(".why")).to_have_text("Not recording.")
    for number, state, word in (
        (2, "not-recording", "Not recording"),
        (5, "recording-unconfirmed", "Recording unconfirmed"),
    ):
        await expect(camera_row(page, "plane", number).locator(".badge")).to_have_text(word)
        await expect(camera_row(page, "plane", number).locator(f"[data-shape={state}]")).to_be_visible()
        await expect(count(page, state)).to_have_text(f"{word} 1")
    await expect(count(page, "connected")).to_have_text("Connected 1")
    await expect(camera_row(page, "plane", 2).get_by_role("button")).to_contain_text("Record")
    await expect(camera_row(page, "plane", 5).get_by_role("button")).to_contain_text("Connect")
    await expect(camera_row(page, "plane", 2).locator(".battery")).to_have_count(0)
    await expect(camera_row(page, "plane", 3).locator(".battery, .badge.recording")).to_have_count(0)
    assert await findings(page) == []
    fleet.publish("plane/availability", "offline")
    await expect(row.locator(".badge")).to_have_text("Unknown, was connected")


async def test_a_hub_goes_offline_by_its_last_will_and_comes_back(page: Page, fleet: FleetPage) -> None:
    device = await fleet.hub.connected(1, "Front")
    await signed_in(page, fleet.url)
    await open_all(page)
    row = camera_row(page, OWN, device)
    await expect(row.locator(".badge")).to_have_text("Connected")
    await fleet.bridge.end(signal.SIGKILL)
    await expect(hub_row(page, OWN).locator(".badge")).to_have_text("Offline")
    await expect(row.locator(".badge")).to_contain_text("Unknown")
    await expect(count(page, "unknown")).to_have_text("Unknown 1")
    button = row.get_by_role("button")
    await expect(button).to_be_disabled()
    await expect(button).to_have_accessible_description("The hub is offline")
    await fleet.bridge.start()
    await expect(hub_row(page, OWN).locator(".badge")).to_have_text("Online")
    await expect(button).to_be_enabled()


async def test_a_camera_is_disconnected_and_connected_by_its_hub(page: Page, fleet: FleetPage) -> None:
    device = await fleet.hub.connected(1, "Front")
    await signed_in(page, fleet.url)
    await open_all(page)
    row = camera_row(page, OWN, device)
    await row.get_by_role("button", name="Disconnect Front at boat").click()
    await expect(toast(page, "Front (boat) is disconnected.")).to_be_visible()
    await expect(row.locator(".badge")).to_have_text("Off")
    await fleet.hub.until(device, "disconnected")
    await row.get_by_role("button", name="Connect Front at boat").click()
    await expect(row.locator(".badge")).to_have_text("Connected")
    await fleet.hub.until(device, "connected")
    assert not [one for one in client_ids(fleet.broker, "wifimgrd-fleet-") if one in told(fleet.seen)]


async def test_a_camera_waits_for_an_adapter_of_its_hub(page: Page, fleet: FleetPage) -> None:
    first, *_ = [await fleet.hub.connected(number) for number in (1, 2, 3)]
    tail = await fleet.hub.create(4, "Tail")
    await signed_in(page, fleet.url)
    await open_all(page)
    row = camera_row(page, OWN, tail)
    await expect(row).to_contain_text("No adapter is free.")
    await row.get_by_role("button", name="Connect when free").click()
    await expect(toast(page, "Tail (boat) is waiting for a free adapter.")).to_be_visible()
    await expect(row.get_by_role("button", name="Stop waiting")).to_be_visible()
    await camera_row(page, OWN, first).get_by_role("button", name="Disconnect").click()
    await expect(row.locator(".badge")).to_have_text("Connected")


async def test_a_hub_without_commands_gets_none(page: Page, fleet: FleetPage) -> None:
    fleet.publish_hub("plane", device_record(1), commands=False)
    await signed_in(page, fleet.url)
    await open_all(page)
    button = camera_row(page, "plane", 1).get_by_role("button")
    await expect(button).to_be_disabled()
    await expect(button).to_have_accessible_description("The hub does not accept commands")


async def test_a_user_who_may_not_send_commands_is_shown_why(page: Page, fleet: FleetPage) -> None:
    fleet.publish_hub("plane", device_record(1))
    await signed_in(page, fleet.url, GUEST)
    await open_all(page)
    await camera_row(page, "plane", 1).get_by_role("button").click()
    refused = toast(page, "Camera 1 (plane): This user is not allowed to send commands.")
    await expect(refused).to_be_visible()


async def test_a_refused_command_says_why_and_an_answer_of_another_hub_is_none(
    page: Page, fleet: FleetPage
) -> None:
    fleet.publish_hub("plane", device_record(1))
    await signed_in(page, fleet.url)
    await open_all(page)
    await camera_row(page, "plane", 1).get_by_role("button").click()
    topic = "wifimgrd/plane/devices/1/command"
    await fleet.seen.until(lambda: fleet.seen.seen(topic))
    sent = fleet.seen.seen(topic)[-1]
    assert sent.response_topic is not None
    assert json.loads(sent.payload) == {"command": "disconnect", "options": {}}
    answer = {"command": "disconnect", "device_id": 1, "ok": False, "code": "busy", "message": "it is busy"}
    forged = sent.response_topic.replace("/plane/", "/boat/")
    fleet.seen.send(forged, answer | {"message": "forged"}, CorrelationData=sent.correlation)
    fleet.seen.send(sent.response_topic, answer, CorrelationData=sent.correlation)
    await expect(toast(page, "Camera 1 (plane): The camera is busy. It is busy.")).to_be_visible()


async def test_hubs_and_cameras_are_found(page: Page, fleet: FleetPage) -> None:
    fleet.publish_hub("plane", device_record(1, name="Nose"), device_record(2, name="Tail"))
    fleet.publish_hub("ship", device_record(1, name="Mast", state="connecting"), online=True)
    fleet.publish_hub("wreck", online=False)
    await signed_in(page, fleet.url)
    await expect(page.locator("[data-hub]")).to_have_count(4)
    find = page.get_by_label("Find")
    await find.fill("nOSe")
    await expect(page.locator("[data-hub]")).to_have_count(1)
    await expect(page.locator("[data-camera]")).to_have_count(1)
    await expect(camera_row(page, "plane", 1)).to_be_visible()
    await find.fill("no such thing")
    await expect(page.get_by_text("No matches")).to_be_visible()
    await find.fill("")
    await count(page, "offline").click()
    await expect(page.locator("[data-hub]")).to_have_count(1)
    await expect(hub_row(page, "wreck")).to_be_visible()
    await count(page, "connecting").click()
    await expect(page.locator("[data-camera]")).to_have_count(1)
    await expect(camera_row(page, "ship", 1)).to_be_visible()


async def test_what_needs_somebody_is_said_at_the_top_and_shown_alone(page: Page, fleet: FleetPage) -> None:
    recording = CameraRecord(recording_state="recording")
    fleet.publish_hub("calm", device_record(1, camera=recording), ready=True, ready_message="It is ready.")
    await signed_in(page, fleet.url)
    await expect(hub_row(page, "calm").locator("strong")).to_have_text("It is ready.")
    await expect(band(page)).to_contain_text("No hub needs you.")
    await expect(band(page)).to_contain_text("2 of 2 hubs online, 1 of 1 camera records.")
    await expect(count(page, "attention")).to_have_count(0)
    words = "1 of 2 cameras is ready: Tail is not connected."
    tail = device_record(2, name="Tail", state="disconnected", expected=True)
    fleet.publish_hub("plane", device_record(1), tail, ready=False, ready_message=words)
    fleet.publish_hub("wreck", device_record(1), online=False)
    # Nobody expects its camera: that it is off is no trouble.
    fleet.publish_hub("shed", device_record(1, state="disconnected"), ready=False, ready_message="Nobody.")
    await expect(band(page)).to_contain_text(f"2 of 5 hubs need you. wreck is offline. plane: {words}")
    await count(page, "attention").click()
    await expect(page.locator("[data-hub]")).to_have_count(2)
    await expect(hub_row(page, "plane").locator("strong")).to_have_text(words)
    await expect(hub_row(page, "wreck").locator("strong")).to_have_text("It is offline.")
    fleet.publish("plane/availability", "offline")
    await expect(band(page)).to_contain_text("2 of 5 hubs need you. plane and wreck are offline.")


async def test_hubs_are_ordered_by_need_and_then_by_name(page: Page, fleet: FleetPage) -> None:
    lost = device_record(1, state="disconnected", connection_error_code="authentication-failed")
    for name in ("b", "a"):
        fleet.publish_hub(f"{name}-calm", device_record(1))
        fleet.publish_hub(f"{name}-lost", lost)
        fleet.publish_hub(f"{name}-wreck", device_record(1), online=False)
    await signed_in(page, fleet.url)
    await expect(page.locator("[data-hub]")).to_have_count(7)
    await expect(page.locator("[data-hub] > button")).to_have_text(
        [f"Hub {name}" for name in ("a-wreck", "b-wreck", "a-lost", "b-lost", "a-calm", "b-calm", OWN)]
    )


async def test_no_hub_moves_under_the_pointer(page: Page, fleet: FleetPage) -> None:
    for name in ("a", "c"):
        fleet.publish_hub(name, device_record(1))
    await signed_in(page, fleet.url)
    names = page.locator("[data-hub] > button")
    await expect(names).to_have_text(["Hub a", f"Hub {OWN}", "Hub c"])
    await hub_row(page, "a").hover()
    fleet.publish("c/availability", "offline")
    await expect(hub_row(page, "c").locator(".badge")).to_have_text("Offline")
    await expect(names).to_have_text(["Hub a", f"Hub {OWN}", "Hub c"])
    await page.mouse.move(1, 1)
    await expect(names).to_have_text(["Hub c", "Hub a", f"Hub {OWN}"])


async def test_a_camera_that_records_can_be_stopped_and_is_not_disconnected(
    page: Page, fleet: FleetPage
) -> None:
    recording = CameraRecord(recording_state="recording")
    fleet.publish_hub("plane", device_record(1, camera=recording))
    await signed_in(page, fleet.url)
    await open_all(page)
    button = camera_row(page, "plane", 1).get_by_role("button")
    await expect(button).to_have_text("Stop recording Camera 1 at plane")
    await button.click()
    topic = "wifimgrd/plane/devices/1/command"
    await fleet.seen.until(lambda: any(b"stop_recording" in one.payload for one in fleet.seen.seen(topic)))
    sent = fleet.seen.seen(topic)[-1]
    assert json.loads(sent.payload) == {"command": "stop_recording", "options": {}}
    answer = {"command": "stop_recording", "device_id": 1, "ok": True, "code": None, "message": "done"}
    assert sent.response_topic is not None
    fleet.seen.send(sent.response_topic, answer, CorrelationData=sent.correlation)
    await expect(toast(page, "Camera 1 (plane) stopped recording.")).to_be_visible()


async def test_what_counts_hubs_and_what_counts_cameras_is_told_apart(page: Page, fleet: FleetPage) -> None:
    fleet.publish_hub("plane", device_record(1, state="connecting"))
    await signed_in(page, fleet.url)
    await expect(count(page, "connecting")).to_be_visible()
    chips = page.get_by_role("group", name="Show")
    await expect(chips).to_have_text("HubsAll 2CamerasConnecting 1")


@pytest.mark.parametrize("size", SIZES)
async def test_the_hint_of_the_search_is_not_cut(browser: Browser, fleet: FleetPage, size: str) -> None:
    async with sized(browser, size) as page:
        await signed_in(page, fleet.url)
        find = page.get_by_label("Find")
        await find.fill(str(await find.get_attribute("placeholder")))
        assert await find.evaluate("one => one.scrollWidth <= one.clientWidth")


async def test_a_camera_has_the_model_that_it_says_it_is(page: Page, fleet: FleetPage) -> None:
    fleet.publish_hub(
        "plane", device_record(1, camera=CameraRecord(model="Insta360 X3")), device_record(2, codename="mine")
    )
    await signed_in(page, fleet.url)
    await open_all(page)
    await expect(camera_row(page, "plane", 1).locator(".named")).to_contain_text("X3 · Insta360 X3")
    await expect(camera_row(page, "plane", 2).locator(".named")).to_contain_text("X3 · mine")


async def test_each_camera_of_a_hub_has_a_mark_by_its_state(page: Page, fleet: FleetPage) -> None:
    recording = CameraRecord(recording_state="recording")
    cameras = [device_record(one, camera=recording) for one in range(1, 18)]
    fleet.publish_hub("plane", *cameras, device_record(18, state="connecting"))
    fleet.publish_hub("boat-2", device_record(1), device_record(2, state="connecting"))
    await signed_in(page, fleet.url)
    await expect(hub_row(page, "plane").locator(".mark.recording")).to_have_count(15)
    await expect(hub_row(page, "plane").locator(".more")).to_have_text("+3")
    await expect(hub_row(page, "boat-2").locator(".mark [data-shape=connected]")).to_be_visible()
    await expect(hub_row(page, "boat-2").locator(".mark [data-shape=connecting]")).to_be_visible()
    fleet.publish("boat-2/availability", "offline")
    await expect(hub_row(page, "boat-2").locator(".marks.past")).to_be_visible()


async def test_a_hub_that_is_removed_from_the_broker_disappears(page: Page, fleet: FleetPage) -> None:
    fleet.publish_hub("plane", device_record(1))
    await signed_in(page, fleet.url)
    await expect(hub_row(page, "plane")).to_be_visible()
    for topic in ("availability", "hub", "devices/1"):
        fleet.publish(f"plane/{topic}", b"")
    await expect(hub_row(page, "plane")).to_have_count(0)


async def test_a_wrong_password_is_said_and_asked_for_again(page: Page, fleet: FleetPage) -> None:
    await sign_in(page, fleet.url, "wrong")
    await expect(page.get_by_role("alert")).to_have_text("The broker refused this user or password.")
    await page.get_by_label("Password").fill(PASSWORD)
    await page.get_by_role("button", name="Sign in").click()
    await expect(hub_row(page, OWN)).to_be_visible()


async def test_the_password_is_kept_nowhere(page: Page, fleet: FleetPage) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("websocket", lambda socket: asked.append(socket.url))
    await signed_in(page, fleet.url)
    assert await page.evaluate("localStorage.length + sessionStorage.length") == 0
    assert await page.evaluate("document.cookie") == ""
    assert any(one.startswith("ws://") for one in asked)
    assert not [one for one in (*asked, page.url) if PASSWORD in one or USER in one]
    await page.get_by_role("button", name="Sign out").click()
    await expect(page.get_by_label("Password")).to_have_value("")
    await page.reload()
    await expect(page.get_by_label("Password")).to_have_value("")


async def test_a_broker_that_goes_away_is_said_and_joined_again(page: Page, tmp_path: Path) -> None:
    async with fleet_page(tmp_path) as fleet:
        fleet.publish_hub("plane", device_record(1))
        await signed_in(page, fleet.url)
        await expect(page.get_by_role("heading", name="2 of 2 hubs online")).to_be_visible()
        await open_all(page)
        await fleet.broker.kill()
        banner = page.get_by_role("alert")
        await expect(page.get_by_role("heading", name="2 hubs, states unknown")).to_be_visible()
        await expect(camera_row(page, "plane", 1).locator(".badge")).to_contain_text("Unknown")
        await expect(camera_row(page, "plane", 1).get_by_role("button")).to_be_disabled()
        await expect(banner).to_contain_text("or this browser does not trust its certificate")
        await fleet.broker.start()
        # The page and the bridge each try again after a pause.
        await expect(hub_row(page, OWN).locator(".badge")).to_have_text("Online", timeout=60_000)
        # This broker retains nothing across a restart, and no hub has published that one again.
        await expect(hub_row(page, "plane")).to_have_count(0)


HOSTILE: dict[str, Any] = {
    "no JSON": b"{",
    "no UTF-8": b'{"id": 1, "name": "\xff"}',
    "no object": [1],
    "too large": device_record(1, connection_error_message="x" * 70_000),
    "a name too long": device_record(1, name="x" * 300),
    "another id": device_record(2),
    "a wrong type": device_record(1) | {"connected": "yes"},
    "a wrong state": device_record(1) | {"connection_status": "<b>up</b>"},
    "a number out of range": device_record(1) | {"signal_strength": 1e300},
    "no settings": device_record(1) | {"connection_settings": None},
    "deep": b'{"id":' + b"[" * 30_000,
    "prototype": b'{"__proto__": {"id": 1}, "constructor": 1}',
}


@pytest.mark.parametrize("what", HOSTILE)
async def test_what_is_no_record_is_counted_and_not_shown(page: Page, fleet: FleetPage, what: str) -> None:
    fleet.publish_hub("plane", device_record(1), device_record(7))
    await signed_in(page, fleet.url)
    await open_all(page)
    await expect(page.locator("[data-camera]")).to_have_count(2)
    fleet.publish("plane/devices/1", HOSTILE[what])
    await expect(hub_row(page, "plane")).to_contain_text("1 record unreadable")
    await expect(page.locator("[data-camera]")).to_have_count(1)
    fleet.publish("plane/devices/1", device_record(1))
    await expect(camera_row(page, "plane", 1)).to_be_visible()
    await expect(hub_row(page, "plane")).not_to_contain_text("unreadable")


async def test_texts_of_the_broker_are_never_markup(page: Page, fleet: FleetPage) -> None:
    markup = '<img src=x onerror="document.title=1"><script>document.title=1</script>'
    fleet.publish_hub(
        "plane",
        device_record(1, name=markup, ssid=b"<b>x</b>", codename="a\u202eb"),
        device_record(2, state="disconnected", connection_error_code="<i>", connection_error_message=markup),
        device_record(
            3, state="disconnected", connection_error_code="constructor", connection_error_message=markup
        ),
        backend_state="unavailable",
        backend_reason=markup,
    )
    await signed_in(page, fleet.url)
    await open_all(page)
    await expect(camera_row(page, "plane", 1)).to_contain_text(markup)
    await expect(camera_row(page, "plane", 1)).to_contain_text(r"<b>x</b> · a\u202eb")
    await expect(hub_row(page, "plane")).to_contain_text(markup)
    fleet.publish_hub("plane")
    await expect(camera_row(page, "plane", 2)).to_contain_text("<img")
    await expect(camera_row(page, "plane", 3)).to_contain_text("The request failed. <img")
    assert await page.locator(".fleet img, .fleet script, .fleet b, .fleet i").count() == 0
    assert await page.title() == "All hubs"


async def test_a_hub_without_the_service_behind_its_backend_knows_no_states(
    page: Page, fleet: FleetPage
) -> None:
    fleet.publish_hub("plane", device_record(1), backend_state="unavailable", backend_reason="it stopped")
    await signed_in(page, fleet.url)
    await expect(hub_row(page, "plane")).to_contain_text(
        "The hub cannot connect cameras right now. it stopped"
    )
    await expect(hub_row(page, "plane")).not_to_contain_text("connected,")
    await open_all(page)
    await expect(camera_row(page, "plane", 1).locator(".badge")).to_contain_text("Unknown, was connected")


async def test_other_topics_are_no_hubs(page: Page, fleet: FleetPage) -> None:
    for topic in ("a b/availability", "a/devices/01", "a/devices/1/x", "ü/availability", f"{'x' * 65}/hub"):
        fleet.publish(topic, "online")
    fleet.publish_hub("zebra")
    await signed_in(page, fleet.url)
    await expect(hub_row(page, "zebra")).to_be_visible()
    await expect(page.locator("[data-hub]")).to_have_count(2)


async def test_a_hub_with_too_many_cameras_is_cut(page: Page, fleet: FleetPage) -> None:
    fleet.publish_hub("plane")
    await signed_in(page, fleet.url)
    await expect(hub_row(page, "plane")).to_be_visible()
    for number in range(1, 1003):
        fleet.publish(f"plane/devices/{number}", device_record(number))
    await expect(page.get_by_role("alert")).to_contain_text("The broker has more than this page can show")
    await expect(count(page, "connected")).to_have_text("Connected 1000")


async def test_of_many_hubs_those_in_view_are_drawn(page: Page, fleet: FleetPage) -> None:
    for number in range(300):
        fleet.publish_hub(f"hub-{number:03}", device_record(1))
    await signed_in(page, fleet.url)
    await expect(page.get_by_role("heading", name="301 of 301 hubs online")).to_be_visible()
    await expect(count(page, "connected")).to_have_text("Connected 300")
    assert await page.locator("[data-hub]").count() < 60
    await page.keyboard.press("End")
    await expect(hub_row(page, "hub-299")).to_be_in_viewport()
    await expect(page.locator("li[data-key=hub-299]")).to_have_attribute("aria-posinset", "301")
    await page.get_by_label("Find").fill("hub-150")
    await expect(hub_row(page, "hub-150")).to_be_in_viewport()


async def test_everything_works_by_the_keyboard_alone(page: Page, fleet: FleetPage) -> None:
    device = await fleet.hub.connected(1, "Front")
    await page.goto(fleet.url)
    keys = page.keyboard
    await expect(page.get_by_label("User")).to_be_focused()
    await keys.type(USER)
    await keys.press("Tab")
    await keys.type(PASSWORD)
    await keys.press("Enter")
    await expect(page.get_by_role("heading", name="1 of 1 hub online")).to_be_focused()
    # A hub can be opened once a camera of it is known; until then Tab passes it.
    await expect(hub_row(page, OWN).get_by_role("button")).to_be_enabled()
    await page.get_by_role("button", name="Show all cameras").focus()
    await keys.press("Tab")
    await expect(hub_row(page, OWN).get_by_role("button")).to_be_focused()
    await keys.press("Enter")
    await expect(hub_row(page, OWN).get_by_role("button")).to_have_attribute("aria-expanded", "true")
    await keys.press("Tab")
    await expect(camera_row(page, OWN, device).get_by_role("button")).to_be_focused()
    await keys.press("Enter")
    await expect(page.get_by_role("status")).to_have_text("Front (boat) is disconnected.")
    await expect(camera_row(page, OWN, device).locator(".badge")).to_have_text("Off")
    await expect(camera_row(page, OWN, device).get_by_role("button")).to_be_focused()


async def test_the_row_with_the_focus_keeps_it_out_of_view(page: Page, fleet: FleetPage) -> None:
    for number in range(100):
        fleet.publish_hub(f"hub-{number:02}", device_record(1))
    await signed_in(page, fleet.url)
    button = hub_row(page, "hub-00").get_by_role("button")
    await button.focus()
    await page.mouse.move(400, 500)
    await page.mouse.wheel(0, 4000)
    await expect(hub_row(page, "hub-60")).to_be_visible()
    await expect(button).to_be_focused()


@pytest.mark.parametrize("size", SIZES)
async def test_axe_finds_nothing_on_any_size(browser: Browser, fleet: FleetPage, size: str) -> None:
    failed = device_record(
        3, state="disconnected", connection_error_code="authentication-failed", connection_error_message="no"
    )
    fleet.publish_hub("ship", page="https://192.0.2.7:8443/")
    fleet.publish_hub(
        "plane",
        device_record(1, name="A camera with a name that is " + "long " * 8),
        device_record(2),
        failed,
    )
    fleet.publish_hub("wreck", device_record(1), online=False)
    fleet.publish("wreck/devices/2", b"rubbish")
    async with sized(browser, size) as page:
        await sign_in(page, fleet.url, "wrong")
        await expect(page.get_by_role("alert")).to_be_visible()
        assert await findings(page) == []
        await signed_in(page, fleet.url)
        await open_all(page)
        await expect(camera_row(page, "wreck", 1)).to_be_visible()
        assert await findings(page) == []
        assert await no_scrolling_sideways(page)


async def test_on_a_phone_no_count_and_no_reason_is_cut(browser: Browser, fleet: FleetPage) -> None:
    failed = device_record(
        1, state="disconnected", connection_error_code="authentication-failed", connection_error_message="no"
    )
    fleet.publish_hub("plane", failed, device_record(2), page="https://192.0.2.7:8443/")
    async with sized(browser, "phone") as page:
        await signed_in(page, fleet.url)
        await open_all(page)
        counts = hub_row(page, "plane").get_by_text("1 of 2 cameras connected, 1 wrong password, no adapter")
        reason = camera_row(page, "plane", 1).get_by_text("The password was refused.")
        for text in (counts, reason):
            await expect(text).to_be_visible()
            assert await text.evaluate(IS_WHOLE)


async def test_the_theme_is_chosen_here_too(page: Page, fleet: FleetPage) -> None:
    await signed_in(page, fleet.url)
    await page.get_by_role("button", name="Dark").click()
    await expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    await page.reload()
    await expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    await page.evaluate("localStorage.clear()")


async def test_the_hubs_own_page_leads_there_without_its_library(page: Page, fleet: FleetPage) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    await opened(page, fleet.hub)
    assert not [one for one in asked if "mqtt" in one or "fleet" in one]
    await page.get_by_role("link", name="All hubs").click()
    await expect(page.get_by_role("button", name="Sign in")).to_be_visible()
    assert [one for one in asked if "mqtt" in one]


@pytest.mark.slow
async def test_a_cut_cable_to_the_broker_is_noticed(page: Page, fleet: FleetPage) -> None:
    async with cable_to(f"http://127.0.0.1:{fleet.websocket_port}") as cable:
        settings = Settings(fleet=Fleet(web_socket_address(f"ws://127.0.0.1:{cable.port}"), "wifimgrd"))
        async with Served.start(FakeHub(), settings) as served:
            await signed_in(page, served.url + "/fleet/")
            await expect(hub_row(page, OWN).locator(".badge")).to_have_text("Online")
            cable.cut()
            alert = page.get_by_role("alert")
            await expect(alert).to_contain_text("The connection to the broker was lost.", timeout=60_000)
            await expect(hub_row(page, OWN).locator(".badge")).to_have_text("Unknown")
            cable.mend()
            await expect(hub_row(page, OWN).locator(".badge")).to_have_text("Online", timeout=60_000)


@pytest.mark.parametrize("trusted", [True, False])
async def test_the_broker_needs_a_certificate_that_the_browser_trusts(
    browser: Browser, tmp_path: Path, trusted: bool
) -> None:
    certificate, key = Authority(tmp_path / "certificates", "authority").sign("broker")
    port = free_port()
    broker = websocket_broker(tmp_path / "broker", port, after=(f"certfile {certificate}", f"keyfile {key}"))
    await broker.start()
    settings = Settings(fleet=Fleet(web_socket_address(f"wss://127.0.0.1:{port}"), "wifimgrd"))
    context = await browser.new_context(ignore_https_errors=trusted)
    try:
        async with Served.start(FakeHub(), settings) as served:
            page = await context.new_page()
            await sign_in(page, served.url + "/fleet/")
            if trusted:
                await expect(page.get_by_text("No hub publishes to this broker")).to_be_visible()
            else:
                alert = page.get_by_role("alert")
                await expect(alert).to_contain_text("or this browser does not trust its certificate.")
                await expect(alert).to_contain_text("The page reconnects automatically.")
                await expect(alert).not_to_contain_text("last known state")
    finally:
        await context.close()
        await broker.kill()


def written_configuration(folder: Path, broker: str, port: int) -> Path:
    """Follow docs/http.md for a web server without a hub; its configuration."""
    [commands] = [one.text for one in code_blocks("docs/http.md") if one.where == "installed"]
    [lines] = [one.text for one in code_blocks("docs/http.md") if one.language == "nginx"]
    for printed, here in (
        ("/usr/lib/python3/dist-packages", str(CHECKOUT)),
        ("wss://broker.example:8084/mqtt", broker),
    ):
        assert printed in commands
        commands = commands.replace(printed, here)
    subprocess.run(["sh", "-euc", commands], cwd=folder, check=True)
    for printed, here in (
        ("443 ssl", f"127.0.0.1:{port}"),
        ("/srv", str(folder)),
        ("wss://broker.example:8084", broker),
    ):
        assert printed in lines
        lines = lines.replace(printed, here)
    lines = "include /etc/nginx/mime.types;\n" + re.sub(r"ssl_certificate.*;", "", lines)
    file = folder / "nginx.conf"
    file.write_text(AROUND.format(folder=folder, lines=lines))
    return file


@pytest_asyncio.fixture(loop_scope="session")
async def static_page(fleet: FleetPage, tmp_path: Path) -> AsyncIterator[str]:
    """The address of the page on nginx."""
    [listening] = bind("127.0.0.1", 0)
    with listening:
        port = listening.getsockname()[1]
    broker = f"ws://127.0.0.1:{fleet.websocket_port}"
    configuration = await asyncio.to_thread(written_configuration, tmp_path, broker, port)
    process = await asyncio.create_subprocess_exec(str(NGINX), "-c", configuration, "-p", tmp_path)
    url = f"http://127.0.0.1:{port}/fleet/"
    try:
        async with asyncio.timeout(START_S), aiohttp.ClientSession() as session:
            while True:
                with suppress(aiohttp.ClientConnectorError):
                    async with session.get(url) as answer:
                        assert answer.headers["Content-Security-Policy"] == content_security_policy(broker)
                        break
                await asyncio.sleep(0.01)  # there is no event to wait for
        yield url
    finally:
        process.terminate()
        await process.wait()


async def test_a_web_server_without_a_hub_serves_it_as_documented(
    page: Page, fleet: FleetPage, static_page: str
) -> None:
    fleet.publish_hub("plane", device_record(1))
    await signed_in(page, static_page)
    await expect(hub_row(page, "plane").locator(".badge")).to_have_text("Online")
