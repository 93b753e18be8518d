"""`wifimgrctl record`, `stop` and `clock`, on the real daemon."""

from __future__ import annotations

import asyncio
import io
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.cli.running import line_with, running, wifimgrctl
from tests.commands import disconnect
from tests.message_bus import MessageBusDaemon
from tests.processes import Hub, running_hub
from tests.recording_cameras import CAMERAS, SCENARIO, connected
from wifimgrd.bus.connection import Variant
from wifimgrd.cli._recording import conclude, result_line, with_names
from wifimgrd.cli._screen import Screen
from wifimgrd.domain.records import DeviceRecord, ResultRecord


@pytest.fixture
async def cameras(message_bus: MessageBusDaemon, tmp_path: Path) -> AsyncIterator[Hub]:
    """The daemon, with a GoPro, an Insta360 and a Theta that are connected."""
    state = tmp_path / "state"
    async with running_hub(message_bus.address, state, f"--simulate={SCENARIO}") as hub:
        names = ("Nose", "Left", "Tail")
        await asyncio.gather(
            *(connected(hub, codename, name) for codename, name in zip(CAMERAS, names, strict=True))
        )
        yield hub


async def test_all_record_and_stop(cameras: Hub) -> None:
    address = cameras.address
    ran = await wifimgrctl(address, "record", "--all")
    assert ran.status == 0
    assert ran.err == "3 of 3 cameras record.\n"
    lines = ran.out.splitlines()
    assert {line.split()[0] for line in lines} == {"Nose", "Left", "Tail"}
    for line in lines:
        assert re.fullmatch(r"\w+ is recording, after \d+ ms", line)
    ran = await wifimgrctl(address, "record", "Nose", "Left")
    assert (ran.status, ran.out.count("is recording, already")) == (0, 2)
    ran = await wifimgrctl(address, "status")
    assert "  Recording  3 of 3 cameras\n" in ran.out
    assert re.search(r"^Left +Recording \d:\d\d +75 % +.* left +-$", ran.out, re.MULTILINE)
    assert (await wifimgrctl(address, "status", "--json")).value["recording_devices"] == 3
    assert "Recording 0:" in (await wifimgrctl(address, "devices")).out
    ran = await wifimgrctl(address, "clock", "Nose")
    assert (ran.status, ran.out) == (1, "")
    assert "(camera-busy)" in ran.err
    ran = await wifimgrctl(address, "stop", "--all", "--json")
    assert ran.status == 0
    assert all(one["done"] and one["after_ms"] >= 0 for one in ran.value["results"])
    assert len(ran.value["results"]) == 3
    ran = await wifimgrctl(address, "clock", "Nose")
    assert (ran.status, ran.out) == (0, "Nose has the time of its hub\n")
    ran = await wifimgrctl(address, "history")
    assert (
        len(re.findall(r" recorded  .*The recording was stopped\. \(stopped\)$", ran.out, re.MULTILINE)) == 3
    )


async def test_a_partial_success_is_a_failure_with_its_cause(cameras: Hub) -> None:
    fault = {"ssid": Variant("s", CAMERAS["insta360-x4"][0])}
    await cameras.client.simulate("SetFault", "sa{sv}", "refuses-recording", fault)
    ran = await wifimgrctl(cameras.address, "record", "--all")
    assert ran.status == 1
    assert ran.err == "2 of 3 cameras record.\n"
    [line] = [line for line in ran.out.splitlines() if "was not started" in line]
    assert line.startswith("Left ")
    assert line.endswith(" (camera-refused)")


GENERIC = {"codename": "generic-wifi-camera"}


async def test_each_camera_has_a_result_and_one_that_failed_is_a_failure(hub: Hub) -> None:
    await hub.create(1, name="Front")
    await hub.create(2, name="Rear", **GENERIC)
    await hub.until(1, "connected")
    await disconnect(hub.client, 1)
    ran = await wifimgrctl(hub.address, "record", "Rear", "1", "Front")
    assert (ran.status, ran.out.splitlines()) == (
        1,
        [
            "Rear was not started: the hub has no driver for cameras of the model Wi-Fi camera"
            " (not-supported)",
            "Front was not started: the camera is disconnected (not-connected)",
        ],
    )
    assert ran.err == "0 of 2 cameras record.\nNot connected: Front.\n"
    ran = await wifimgrctl(hub.address, "stop", "1", "--json")
    assert ran.status == 1
    [result] = ran.value["results"]
    assert result["message"]
    assert {**result, "message": ""} == {
        "device_id": 1,
        "done": False,
        "after_ms": None,
        "code": "not-connected",
        "message": "",
    }


@pytest.mark.slow
async def test_all_are_the_whole_rig_and_one_that_is_lost_is_named(cameras: Hub) -> None:
    nose, left, tail = [one.id for one in cameras.client.devices.values()]
    await cameras.client.simulate("PowerOffCamera", "ayb", CAMERAS["ricoh-theta-x"][0].encode(), True)
    await cameras.until(tail, "disconnected")
    await disconnect(cameras.client, left)
    ran = await wifimgrctl(cameras.address, "record", "--all")
    assert ran.status == 1
    assert ran.err == "1 of 2 cameras record.\nNot connected: Tail.\n"
    assert [line.split()[0] for line in ran.out.splitlines()] == ["Nose", "Tail"]
    ran = await wifimgrctl(cameras.address, "record", "--all", "--connected")
    assert (ran.status, ran.err) == (0, "1 of 1 cameras record.\n")
    ran = await wifimgrctl(cameras.address, "stop", "--all", "--json")
    assert [(one["device_id"], one["code"]) for one in ran.value["results"]] == [
        (nose, None),
        (tail, "not-connected"),
    ]


async def test_a_name_that_nobody_has_commands_no_camera(hub: Hub) -> None:
    await hub.create(1, name="Front")
    ran = await wifimgrctl(hub.address, "record", "Front", "Reer")
    assert (ran.status, ran.out) == (1, "")
    assert 'there is no camera "Reer"' in ran.err
    assert hub.client.devices[1].camera is not None
    assert not hub.client.devices[1].camera.recording_requested


async def test_recording_on_none_is_a_failure_and_stopping_none_is_not(hub: Hub) -> None:
    await hub.create(1, **GENERIC)
    await hub.until(1, "connected")
    ran = await wifimgrctl(hub.address, "record", "--all")
    assert (ran.status, ran.out) == (1, "")
    assert ran.err == "There is no camera to command, so none records.\n"
    ran = await wifimgrctl(hub.address, "stop", "--all")
    assert (ran.status, ran.err) == (0, "There is no camera to command.\n")
    assert (await wifimgrctl(hub.address, "record", "--all", "--json")).value == {"results": []}


async def test_the_clock_of_a_camera_that_is_not_connected_is_not_set(hub: Hub) -> None:
    await hub.create(1, name="Front")
    await hub.until(1, "connected")
    await disconnect(hub.client, 1)
    ran = await wifimgrctl(hub.address, "clock", "Front")
    assert (ran.status, ran.out) == (1, "")
    assert "(not-connected)\nConnect it first: wifimgrctl connect Front\n" in ran.err


@pytest.mark.slow
async def test_a_monitor_tells_why_a_recording_has_ended_and_what_is_wrong(cameras: Hub) -> None:
    device = next(one for one in cameras.client.devices.values() if one.name == "Nose")
    async with running(cameras.address, "monitor") as process:
        await line_with(process, "watching 3 cameras")
        await cameras.client.record([device.id], on=True)
        await line_with(process, f"Nose ({device.id}): recording")
        fault = {"ssid": Variant("s", CAMERAS["gopro-hero12"][0])}
        await cameras.client.simulate("SetFault", "sa{sv}", "card-full", fault)
        await line_with(process, f"Nose ({device.id}): problem: card full")
        await line_with(process, f"Nose ({device.id}): the recording stopped: the card is full")
        await line_with(process, f"Nose ({device.id}): problem: not recording")
    ran = await wifimgrctl(cameras.address, "history", "Nose")
    ends = [line.rpartition("  ")[2] for line in ran.out.splitlines()]
    assert "The recording stopped: the card is full. (full)" in ends
    assert "It should record and does not: its card is full. (not-recording)" in ends
    ran = await wifimgrctl(cameras.address, "status", "Nose")
    lines = [line.split(maxsplit=1) for line in ran.out.splitlines()]
    assert ["Problems", "not recording, card full"] in lines
    assert ["Recording", "no, though it was told to"] in lines


@pytest.mark.parametrize(
    "line", [["record"], ["stop"], ["record", "--all", "1"], ["clock"], ["stop", "1", "--connected"]]
)
async def test_cameras_are_named_or_all_are_meant(line: list[str]) -> None:
    ran = await wifimgrctl("unix:path=/nowhere", *line)
    assert ran.status == 2
    assert "usage: wifimgrctl" in ran.err


DEVICES = {1: DeviceRecord(1, "Front"), 2: DeviceRecord(2, "\x1b[2J")}


def screen() -> Screen:
    return Screen(json=False, out=io.StringIO(), err=io.StringIO())


@pytest.mark.parametrize(
    ("result", "on", "line"),
    [
        (
            ResultRecord(device_id=1, done=True, after=131_600),
            True,
            "Front is recording, after 132 ms",
        ),
        (ResultRecord(device_id=1, done=True), True, "Front is recording, already"),
        (
            ResultRecord(device_id=1, done=True, after=40),
            False,
            "Front is not recording, after 0 ms",
        ),
        (
            ResultRecord(
                device_id=2, done=False, after=5, code="camera-refused", message="its card is\nfull"
            ),
            True,
            "\\x1b[2J was not started: its card is\\nfull (camera-refused)",
        ),
        (ResultRecord(device_id=9, done=False, code="busy"), False, "camera 9 was not stopped: busy"),
        (
            ResultRecord(device_id=1, done=False, code="unconfirmed", message="no answer"),
            True,
            "Front may be recording: no answer (unconfirmed)",
        ),
        (
            ResultRecord(device_id=1, done=False, code="unconfirmed", message="no answer"),
            False,
            "Front may have stopped: no answer (unconfirmed)",
        ),
    ],
)
def test_a_result_is_a_line(result: ResultRecord, on: bool, line: str) -> None:
    assert result_line(result, DEVICES, screen(), on=on) == line


@pytest.mark.parametrize(
    ("codes", "on", "everyone", "is_done", "note"),
    [
        ([None, None, "camera-refused"], True, False, False, "2 of 3 cameras record.\n"),
        ([None, None], False, False, True, "2 of 2 cameras have stopped.\n"),
        ([None], True, False, True, ""),
        ([None], True, True, True, "1 of 1 cameras record.\n"),
        (["camera-refused"], True, False, False, ""),
        (
            [None, "not-connected", "unconfirmed", "not-connected"],
            True,
            True,
            False,
            "1 of 4 cameras record.\nNot connected: Tail, camera 4.\nNot known: Nose.\n",
        ),
        ([], True, True, False, "There is no camera to command, so none records.\n"),
        ([], False, True, True, "There is no camera to command.\n"),
    ],
)
def test_a_partial_success_is_told(
    codes: list[str | None], on: bool, everyone: bool, is_done: bool, note: str
) -> None:
    shown = screen()
    names = {1: "Left", 2: "Tail", 3: "Nose"}
    devices = {one: DeviceRecord(one, name=name) for one, name in names.items()}
    results = [
        ResultRecord(device_id=number, done=code is None, code=code) for number, code in enumerate(codes, 1)
    ]
    assert conclude(with_names(results, devices), shown, on=on, everyone=everyone) is is_done
    assert isinstance(shown.err, io.StringIO)
    assert shown.err.getvalue() == note
