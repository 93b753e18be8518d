"""Recording and clocks by the page, on emulated cameras of three makes that answer as real ones do."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Final

import pytest
import pytest_asyncio
from playwright.async_api import Page, expect

from tests.browser.looking import act, card, opened, opened_menu, opened_rows, press, shows, toast
from tests.browser.running_hub import RunningHub, running_hub
from tests.commands import disconnect
from wifimgrd.domain.records import CameraRecord
from wifimgrd.domain.rig import Everyone

pytestmark = pytest.mark.asyncio(loop_scope="session")

SCENARIO: Final = Path(__file__).parents[2] / "wifimgrd/simulator/recording.toml"
CAMERAS: Final = {
    "Front": ("insta360-x4", "X4 SIM401.OSC", "insta-pass-401"),
    "Back": ("insta360-x4", "X4 SIM402.OSC", "insta-pass-402"),
    "Helmet": ("gopro-hero12", "GP25140002", "gopro-pass-2"),
    "Tail": ("ricoh-theta-x", "THETAYR00000002.OSC", "00000002"),
}
FAULTS: Final = ("card-full", "refuses-recording", "stops-recording", "battery", "control-silent")
NEVER: Final = CameraRecord()
"""What a camera says that was never read."""
PROBLEM_MS: Final = 30_000
"""Until a camera is said not to do what it should, on a busy machine; 10 s on an idle one."""


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def whole_hub(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[RunningHub]:
    """A hub with four cameras in the air, which leaves their clocks alone."""
    async with hub_of_four(tmp_path_factory.mktemp("recording")) as hub:
        yield hub


def hub_of_four(folder: Path) -> AbstractAsyncContextManager[RunningHub]:
    """A hub with the cameras of SCENARIO in the air, which leaves their clocks alone."""
    return running_hub(folder, "[cameras]\nset_clock = false\n", SCENARIO.read_text())


@pytest_asyncio.fixture(loop_scope="session")
async def hub(whole_hub: RunningHub) -> RunningHub:
    """The same, without devices; no camera records."""
    await clear(whole_hub)
    return whole_hub


async def clear(hub: RunningHub, *, history: bool = False) -> None:
    """End all faults and recordings, and remove all devices; `history`: with their rows."""
    for fault in FAULTS:
        await hub.set_fault(fault, off=True)
    await hub.client.record([], on=False, everyone=Everyone.RIG)
    for device in list(hub.client.devices):
        await hub.client.remove_device(device, history=history)


async def connected(hub: RunningHub, *names: str) -> list[int]:
    """Register cameras; they are connected, and were read."""
    devices = []
    for name in names:
        codename, ssid, password = CAMERAS[name]
        wanted = {"codename": codename, "connection_type": "wifi", "ssid": ssid, "password": password}
        devices.append(await hub.client.create_device(wanted | {"name": name}))
    await hub.client.wait_until(
        lambda client: all(
            (client.devices[one].camera or NEVER).recording_state == "idle" for one in devices
        ),
        60,
    )
    return devices


OPEN_GOPRO: Final = """async base => {
  const ask = async path => {
    const answer = await fetch(base + path);
    return [answer.status, await answer.json()];
  };
  const [status, version] = await ask("/gopro/version");
  const encodes = async () => (await ask("/gopro/camera/state"))[1].status["10"];
  const told = [await encodes()];
  for (const shutter of ["start", "stop"]) {
    await ask("/gopro/camera/shutter/" + shutter);
    told.push(await encodes());
  }
  const [, media] = await ask("/gopro/media/list");
  return [status, version, told, media.media[0].fs.length, (await fetch(base + "1/gopro/version")).status];
}"""
"""The requests that https://gopro.github.io/OpenGoPro/http has."""


async def test_a_page_speaks_with_a_gopro_at_the_port_of_its_api(page: Page, hub: RunningHub) -> None:
    [helmet] = await connected(hub, "Helmet")
    await opened(page, hub)
    found = await page.evaluate(OPEN_GOPRO, f"{hub.url}cameras/{helmet}:8080")
    assert found == [200, {"version": "2.0"}, [0, 1, 0], 1, 404]


async def test_a_camera_records_and_stops_by_the_keyboard_alone(page: Page, hub: RunningHub) -> None:
    await connected(hub, "Front")
    await opened(page, hub)
    front = card(page, "Front")
    await expect(front.locator(".battery")).to_have_text(re.compile(r"^7\d %$"))
    await expect(front.locator(".memory")).to_have_text(re.compile(r"^\d+ (GB free|h \d+ min left)$"))
    record = front.get_by_role("button", name="Record", exact=True)
    await record.focus()
    await page.keyboard.press("Enter")
    await expect(front.locator(".badge")).to_have_text(re.compile(r"^Recording 0:\d\d$"))
    await expect(toast(page, "Front is recording.")).to_be_visible()
    stop = front.get_by_role("button", name="Stop recording")
    await expect(stop).to_be_focused()
    await expect(stop).to_have_attribute("aria-busy", "false")
    await expect(stop).to_have_attribute("aria-disabled", "false")
    await page.keyboard.press("Enter")
    await shows(page, "Front", "Connected")
    await expect(toast(page, "Front stopped recording.")).to_be_visible()
    await expect(record).to_be_focused()
    await expect(page.get_by_role("log")).to_contain_text("Front is recording")
    await expect(page.locator(".events li.bad")).to_have_count(0)
    await page.get_by_role("link", name="Front", exact=True).click()
    past = page.get_by_role("article").get_by_role("listitem").filter(has_text="Recorded ")
    await expect(past).to_have_count(1)
    await expect(past).not_to_contain_text("The recording ended")


async def test_all_record_but_one_whose_card_is_full(page: Page, hub: RunningHub) -> None:
    await connected(hub, *CAMERAS)
    await hub.set_fault("card-full", ssid=CAMERAS["Tail"][1])
    await opened(page, hub)
    await page.get_by_role("button", name="Record on all").click()
    await expect(toast(page, "3 of 4 cameras record. Tail: the card is full.")).to_be_visible()
    for name in ("Front", "Back", "Helmet"):
        await expect(card(page, name).locator(".badge")).to_contain_text("Recording 0:")
    await expect(card(page, "Tail").locator("[data-problem]")).to_be_visible()
    await expect(card(page, "Tail").locator(".memory")).to_have_text("Card full")
    stop_all = page.get_by_role("button", name="Stop all …")
    question = page.get_by_role("dialog", name="Stop all recordings?")
    await stop_all.click()
    await expect(question).to_contain_text("3 cameras record now.")
    await question.get_by_role("button", name="Keep recording").click()
    await expect(question).to_have_count(0)
    await expect(page.locator(".badge.recording")).to_have_count(3)
    await stop_all.click()
    await question.get_by_role("button", name="Stop all").click()
    await expect(toast(page, "4 of 4 cameras have stopped.")).to_be_visible()
    await expect(page.locator(".badge.recording")).to_have_count(0)


@pytest.mark.slow
async def test_a_recording_that_ends_by_itself_is_noticed(page: Page, hub: RunningHub) -> None:
    device, _ = await connected(hub, "Front", "Helmet")
    await opened(page, hub)
    await hub.set_fault("stops-recording", seconds=1.0, reason="too-hot", ssid=CAMERAS["Front"][1])
    await act(card(page, "Front"), "Record")
    told = "Front stopped recording: it is too hot"
    await expect(page.locator(".events li.bad").filter(has_text=told)).to_be_visible()
    problem = card(page, "Front").locator("[data-problem=not-recording]")
    await expect(problem).to_contain_text("It was told to record.", timeout=PROBLEM_MS)
    assert hub.client.devices[device].state == "connected"
    await act(card(page, "Front"), "Leave it stopped")
    await expect(problem).to_have_count(0)
    menu = await opened_menu(card(page, "Front"))
    await expect(menu.get_by_role("menuitem", name="Leave it stopped")).to_have_count(0)
    await page.keyboard.press("Escape")
    await page.get_by_role("link", name="Front", exact=True).click()
    past = page.get_by_role("article").get_by_role("listitem").filter(has_text="Recorded from")
    await expect(past.first).to_contain_text("The recording stopped: the camera is too hot.")


async def test_a_refusal_says_why(page: Page, hub: RunningHub) -> None:
    await connected(hub, "Helmet")
    await opened(page, hub)
    await hub.set_fault("refuses-recording")
    await act(card(page, "Helmet"), "Record")
    await expect(toast(page, "Helmet: The camera refused.")).to_be_visible()
    await shows(page, "Helmet", "Connected")


async def test_what_a_camera_said_last_has_its_time(page: Page, hub: RunningHub) -> None:
    (device,) = await connected(hub, "Helmet")
    await opened(page, hub)
    await act(card(page, "Helmet"), "Record")
    await expect(card(page, "Helmet").locator(".badge")).to_contain_text("Recording 0:")
    await disconnect(hub.client, device)
    await shows(page, "Helmet", "Off")
    await expect(card(page, "Helmet").locator(".battery")).to_have_text(re.compile(r"^\d+ %$"))
    await expect(card(page, "Helmet").locator(".memory")).to_have_text(re.compile(" at [0-9]"))
    await expect(card(page, "Helmet").get_by_role("button", name=re.compile("[Rr]ecord"))).to_have_count(0)
    await expect(page.get_by_role("button", name="Record on all")).to_be_disabled()
    # It goes on, and that is read before anything is claimed.
    await act(card(page, "Helmet"), "Connect")
    await expect(card(page, "Helmet").locator(".badge")).to_contain_text("Recording 0:")


async def test_a_clock_is_set(page: Page, hub: RunningHub) -> None:
    (device,) = await connected(hub, "Tail")
    await opened(page, hub, f"#camera/{device}")
    clock = page.get_by_role("region", name="What the camera says").locator("dt:text-is('Clock') + dd")
    await expect(clock).to_have_text(re.compile("^7[4-6] s behind the hub's$"))  # read in whole seconds
    await expect(page.locator("[data-problem=clock-wrong]")).to_have_text(
        "Clock wrong. Set it on the camera's page."
    )
    await press(page.get_by_role("button", name="Set the clock"))
    await expect(toast(page, "Set the clock of Tail.")).to_be_visible()
    await expect(clock).to_have_text(re.compile("^As the hub's|^[+\u2212]0\\.[0-9]{2,3} s \u00b1 0\\.[01]"))
    await expect(page.locator("[data-problem=clock-wrong]")).to_have_count(0)


async def test_several_of_many_are_recorded_on(page: Page, hub: RunningHub) -> None:
    devices = await connected(hub, "Front", "Back", "Helmet")
    for number in range(6):
        await hub.create(number, f"Absent {number}")
    await opened_rows(page, hub)
    record = page.locator(".chosen").get_by_role("button", name="Record", exact=True)
    await page.get_by_role("checkbox", name="Select Absent 0").check()
    await expect(record).to_be_disabled()
    for name in ("Front", "Helmet"):
        await page.get_by_role("checkbox", name=f"Select {name}").check()
    await record.click()
    words = toast(page, "2 of 3 cameras record. ")  # none is left out without a word
    await expect(words.and_(page.locator(".warn, .bad"))).to_contain_text("Absent 0")
    rows = page.locator("tbody tr[data-device]")
    for name in ("Front", "Helmet"):
        row = rows.filter(has=page.get_by_role("link", name=name, exact=True))
        await expect(row.locator(".badge")).to_contain_text("Recording 0:")
        await expect(row.locator(".in-battery")).to_have_text(re.compile(r"^\d+ %$"))
        await expect(row.locator(".in-card")).to_have_text(re.compile(r"^\d+ (GB free|h \d+ min left)$"))
    await expect(page.locator(".badge.recording")).to_have_count(2)
    recorded = [(hub.client.devices[one].camera or NEVER).recording_state for one in devices]
    assert recorded == ["recording", "idle", "recording"]
