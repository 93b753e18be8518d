"""The states of cameras: the words of the command line and of the page, by one table."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from typing import Any, Final

import pytest

from tests.programs import node
from wifimgrd.cli._screen import Screen
from wifimgrd.cli._times import local_time
from wifimgrd.cli._views import device_view, devices_view, hub_view, interfaces_view, networks_view
from wifimgrd.client.json_records import device_json
from wifimgrd.domain.camera import Problem
from wifimgrd.domain.camera_state import PROBLEM_WORDS, CameraState, last_known
from wifimgrd.domain.records import (
    AbsentRecord,
    CameraRecord,
    DeviceRecord,
    InterfaceRecord,
    NetworkRecord,
    ServiceRecord,
)
from wifimgrd.domain.sentences import STEP_WORDS

NOW: Final = 1_764_000_000_000_000


def problems(*codes: str) -> CameraRecord:
    """A camera with what is wrong with it."""
    return CameraRecord(problems=codes)


CASES: Final[list[tuple[str, dict[str, Any]]]] = [
    ("Connected", {"state": "connected", "reachable": True}),
    ("Connected", {"state": "connected", "reachable": True, "connection_error_code": "connection-lost"}),
    ("Not answering", {"state": "connected", "reachable": False}),
    ("Recovering", {"state": "connected", "reachable": False, "recovery_step": "reboot-camera"}),
    ("Recovering", {"state": "connecting", "connection_phase": "joining", "recovery_step": "rejoin"}),
    ("Recovering", {"state": "connecting", "connection_phase": "waking", "recovery_step": "rejoin"}),
    ("Recovering", {"state": "connected", "reachable": True, "recovery_step": "a-later-one"}),
    ("Off", {"state": "disconnecting", "recovery_step": "rejoin"}),
    ("Connecting", {"state": "connecting"}),
    ("Connecting", {"state": "connecting", "connection_error_code": "connection-lost"}),
    ("Connecting", {"state": "connecting", "waiting_since": NOW}),
    ("Connecting", {"state": "connecting", "lost_at": NOW}),
    ("Waiting", {"waiting_since": NOW}),
    ("Waiting", {"waiting_since": NOW, "connection_error_code": "no-interface-available"}),
    ("Waiting", {"waiting_since": NOW, "lost_at": NOW}),
    ("Searching", {"lost_at": NOW, "connection_error_code": "connection-lost"}),
    ("Searching", {"lost_at": NOW}),
    ("Waking", {"connection_phase": "waking"}),
    ("Waking", {"state": "connecting", "connection_phase": "waking", "power_state": "asleep"}),
    ("Connecting", {"state": "connecting", "connection_phase": "joining", "power_state": "awake"}),
    ("Asleep", {"power_state": "asleep"}),
    ("Asleep", {"power_state": "asleep", "connection_error_code": "device-not-reachable"}),
    ("Asleep", {"power_state": "asleep", "lost_at": NOW}),
    ("Waiting", {"power_state": "asleep", "waiting_since": NOW}),
    ("Off", {"power_state": "awake"}),
    ("Failed", {"connection_error_code": "authentication-failed"}),
    ("No adapter", {"connection_error_code": "no-interface-available"}),
    ("Off", {}),
    ("Off", {"connection_error_code": "cancelled"}),
    ("Off", {"state": "disconnecting"}),
    ("Off", {"state": "disconnecting", "connection_error_code": "authentication-failed"}),
    ("Connected", {"state": "connected", "reachable": True, "camera": problems("storage-full")}),
    (
        "Not recording",
        {"state": "connected", "reachable": True, "camera": problems("not-recording", "too-hot")},
    ),
    ("Not recording", {"state": "connected", "reachable": False, "camera": problems("not-recording")}),
    ("Still recording", {"state": "connected", "camera": problems("still-recording")}),
    ("Recording unconfirmed", {"state": "connected", "camera": problems("recording-unconfirmed")}),
    ("Recording unconfirmed", {"lost_at": NOW, "camera": problems("recording-unconfirmed")}),
    (
        "Recording unconfirmed",
        {"state": "connecting", "recovery_step": "rejoin", "camera": problems("recording-unconfirmed")},
    ),
    ("Recording unconfirmed", {"state": "connecting", "camera": problems("recording-unconfirmed")}),
]
RECORDS: Final = {"state": "connected", "reachable": True}
RECORDINGS: Final[list[tuple[str, dict[str, Any], int | None]]] = [
    ("Recording 0:00", RECORDS, 0),
    ("Recording 0:07", RECORDS, 7),
    ("Recording 12:03", RECORDS, 723),
    ("Recording 1:02:03", RECORDS, 3723),
    ("Recording 100:00:00", RECORDS, 360_000),
    ("Recording 0:00", RECORDS, -5),
    ("Recording", RECORDS, None),
    ("Not answering", RECORDS | {"reachable": False}, 7),
    ("Connecting", {"state": "connecting"}, 7),
    (
        "Still recording",
        RECORDS | {"camera": CameraRecord(recording_state="recording", problems=("still-recording",))},
        7,
    ),
]
"""What a badge says of a camera that records, and for how many seconds it has; None = that is not known."""
WORDS_OF_PAGE = """
import { build } from "esbuild";
const source = `export { stateOf } from "./src/camera_state"; export { t } from "./src/messages";
  export { recordingLabel } from "./src/reading";`;
const built = await build({
  stdin: { contents: source, resolveDir: "." }, bundle: true, format: "esm", write: false,
});
globalThis.navigator ??= { languages: [] };
const page = await import("data:text/javascript," + encodeURIComponent(built.outputFiles[0].text));
const { stateOf, t, recordingLabel } = page;
const [devices, recorders, now] = JSON.parse(process.argv[1]);
const words = devices.map((one) => t.states[stateOf(one)]);
console.log(JSON.stringify({
  words,
  lastKnown: words.map((one) => `${t.unknown}, ${t.lastKnown(one)}`),
  labels: recorders.map((one) => recordingLabel(one, now) || t.states[stateOf(one)]),
  steps: t.steps,
  problems: Object.fromEntries(Object.entries(t.problems).map(([code, { what }]) => [code, what])),
}));
"""


def screen() -> Screen:
    return Screen(json=False, out=io.StringIO(), err=io.StringIO())


@pytest.mark.parametrize(("word", "facts"), CASES)
def test_the_command_line_shows_the_word(word: str, facts: dict[str, Any]) -> None:
    device = DeviceRecord(1, "Front", **facts)
    _, row = devices_view([device], screen())
    assert row.startswith(f"1   Front  {word}  ")
    assert ["State", word] in [line.split(maxsplit=1) for line in device_view(device, screen())]
    assert ["Cameras", f"1: 1 {word.lower()}"] in [
        line.split(maxsplit=1)
        for line in hub_view(ServiceRecord(backend_state="ready"), [device], [], screen())
    ]


def test_the_page_shows_the_same_words() -> None:
    devices = [device_json(DeviceRecord(1, "Front", **facts)) for _, facts in CASES]
    recorders = [device_json(recorder(facts, seconds)) for _, facts, seconds in RECORDINGS]
    page = json.loads(node(WORDS_OF_PAGE, json.dumps([devices, recorders, NOW / 1000])))
    words = [word for word, _ in CASES]
    assert (page["words"], page["lastKnown"]) == (words, [last_known(word) for word in words])
    assert page["steps"] == STEP_WORDS
    assert page["labels"] == [label for label, _, _ in RECORDINGS]
    assert page["problems"] == {code: f"{word.capitalize()}." for code, word in PROBLEM_WORDS.items()}


@pytest.mark.parametrize(("word", "facts"), CASES)
def test_without_its_backend_a_hub_knows_the_last_state_alone(word: str, facts: dict[str, Any]) -> None:
    device, last = DeviceRecord(1, "Front", **facts), f"Unknown, was {word.lower()}"
    _, row = devices_view([device], screen(), current=False)
    assert row.startswith(f"1   Front  {last}  ")
    assert ["State", last] in [
        line.split(maxsplit=1) for line in device_view(device, screen(), current=False)
    ]
    service = ServiceRecord(backend_state="unavailable")
    summary = hub_view(service, [device], [InterfaceRecord("wlan0", state="available")], screen())
    lines = [line.split(maxsplit=1) for line in summary]
    assert ["Cameras", "1: 1 unknown"] in lines
    assert ["Adapters", "1: 1 unknown"] in lines


def test_without_its_backend_a_hub_knows_the_last_state_of_adapters() -> None:
    _, row = interfaces_view([InterfaceRecord("wlan0", state="in-use")], {}, screen(), current=False)
    assert row.startswith("wlan0    Unknown, was in-use  ")
    kept = InterfaceRecord("wlan0", state="available", reserved_device_id=3)
    _, row = interfaces_view([kept], {3: DeviceRecord(3, "Nose")}, screen(), current=False)
    assert row.startswith("wlan0    Unknown, was reserved for Nose  ")


def test_the_interfaces_of_one_radio_are_counted_once() -> None:
    sibling = InterfaceRecord("uap0", state="unavailable", reason="shares the radio of wlan0")
    adapters = [InterfaceRecord("wlan0", state="available"), sibling]
    summary = hub_view(ServiceRecord(backend_state="ready"), [], adapters, screen())
    assert ["Adapters", "1: 1 available"] in [line.split(maxsplit=1) for line in summary]


def test_the_warnings_of_a_device_are_shown() -> None:
    lines = device_view(DeviceRecord(1, "Front", warnings=("It has no adapter.",)), screen())
    assert ["Warnings", "It has no adapter."] in [line.split(maxsplit=1) for line in lines]


@pytest.mark.parametrize("state", ["in-use", "unavailable"])
def test_a_reservation_is_shown_in_every_state(state: str) -> None:
    reserved = InterfaceRecord("wlan0", state=state, reason="soft-blocked", reserved_device_id=3)
    _, row = interfaces_view([reserved], {3: DeviceRecord(3, "Nose")}, screen())
    assert row.startswith(f"wlan0    {state}  ")
    assert row.endswith("soft-blocked; reserved for Nose")


def test_an_adapter_in_use_is_no_warning() -> None:
    colourful = Screen(json=False, out=io.StringIO(), err=io.StringIO(), colour=True)
    _, row = interfaces_view([InterfaceRecord("wlan0", state="in-use")], {}, colourful)
    assert "\x1b" not in row


def test_a_reserved_adapter_that_is_away_has_a_row() -> None:
    plain = Screen(json=False, out=io.StringIO(), err=io.StringIO(), colour=False)
    absent = [AbsentRecord(3, usb_port="1-1.3", interface="wlan2", unplugged_at=1_700_000_000_000_000)]
    _, row = interfaces_view([], {3: DeviceRecord(3, "Nose")}, plain, [*absent])
    assert row.split()[:2] == ["wlan2", "away"]
    assert f"unplugged since {local_time(1_700_000_000_000_000)}; reserved for 3 Nose" in row
    _, row = interfaces_view([], {}, plain, [AbsentRecord(3, mac_address="02:00:00:00:00:07")])
    assert "unplugged; reserved for 3" in row


def recorder(facts: dict[str, Any], seconds: int | None) -> DeviceRecord:
    since = None if seconds is None else NOW - seconds * 1_000_000
    camera = CameraRecord(recording_state="recording", recording_since=since)
    return replace(DeviceRecord(1, "Front", camera=camera), **facts)


@pytest.mark.parametrize(("label", "facts", "seconds"), RECORDINGS)
def test_a_camera_that_records_says_for_how_long(
    label: str, facts: dict[str, Any], seconds: int | None
) -> None:
    device = recorder(facts, seconds)
    _, row = devices_view([device], screen(), NOW)
    assert row.startswith(f"1   Front  {label}  ")
    assert ["State", label] in [line.split(maxsplit=1) for line in device_view(device, screen(), NOW)]
    _, row = devices_view([device], screen(), NOW, current=False)
    assert "ecording" not in row.replace("was still recording", ""), "that may no longer be true"


def test_every_problem_has_a_word() -> None:
    assert {one.value for one in Problem} == PROBLEM_WORDS.keys()
    assert len(set(PROBLEM_WORDS.values())) == len(PROBLEM_WORDS)


def test_every_state_is_in_the_table() -> None:
    assert {word for word, _ in CASES} == {state.label for state in CameraState}


def test_a_network_that_is_encrypted_without_a_password_is_called_so() -> None:
    network = NetworkRecord(
        ssid=b"CAM",
        bssids=("02:00:00:00:00:01",),
        frequencies_mhz=(2412,),
        security="owe",
        bands=("2.4GHz",),
        signal_strength=70,
        interfaces=("wlan0",),
    )
    [_, row] = networks_view([network], {}, screen())
    assert "Open, encrypted" in row
