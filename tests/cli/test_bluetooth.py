"""Cameras that sleep, from the command line: against the daemon with its simulated world."""

from __future__ import annotations

import io
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.cli.running import on_terminal, wifimgrctl
from tests.message_bus import MessageBusDaemon
from tests.processes import Hub, quick_bluetooth, running_hub
from wifimgrd.bus.connection import Variant
from wifimgrd.cli._bluetooth import Step, bluetooth_view, camera_steps, heard_step, host_step
from wifimgrd.cli._screen import Screen
from wifimgrd.domain.records import BluetoothRecord, DeviceRecord, ServiceRecord

GOPRO = "F4:DD:11:52:0A:9A"
NOSE = DeviceRecord(1, "Nose", codename="gopro-hero12", auto_wake=False, paired=True, bluetooth_address=GOPRO)
HEARD = BluetoothRecord(address=GOPRO, name="GoPro 0001", power_state="asleep", rssi=-60, device_id=1)


@pytest.fixture
async def hub(message_bus: MessageBusDaemon, tmp_path: Path) -> AsyncIterator[Hub]:
    """The daemon, whose cameras wake fast."""
    async with running_hub(message_bus.address, tmp_path / "state", quick_bluetooth(tmp_path)) as hub:
        yield hub


async def registered(hub: Hub) -> None:
    """A GoPro that is registered over Bluetooth, connected, and then asleep."""
    ran = await wifimgrctl(hub.address, "add", "--bluetooth", GOPRO, "--name", "Nose")
    assert (ran.status, ran.out) == (0, "Nose is registered\n")
    await hub.until(1, "connected")
    ran = await wifimgrctl(hub.address, "sleep", "Nose")
    assert (ran.status, ran.out, ran.err) == (0, "Nose is asleep\n", "")


async def test_the_cameras_that_are_heard(hub: Hub) -> None:
    ran = await wifimgrctl(hub.address, "bluetooth")
    assert (ran.status, ran.out) == (0, "")
    assert ran.err.splitlines()[0] == "Bluetooth on this host is ready"
    assert "wifimgrctl bluetooth search" in ran.err
    assert (await wifimgrctl(hub.address, "bluetooth", "--json")).value == []
    ran = await wifimgrctl(hub.address, "bluetooth", "search", "--seconds", "3")
    assert ran.status == 0
    assert ran.out.splitlines()[:2] == [
        "ADDRESS            NAME        MODEL         POWER   PAIRING  SIGNAL   CAMERA",
        "F4:DD:11:52:0A:9A  GoPro 0001  gopro-hero12  asleep  ready    -60 dBm  -",
    ]
    first, *_ = (await wifimgrctl(hub.address, "bluetooth", "--json")).value
    assert first["address"] == GOPRO
    assert first["power_state"] == "asleep"
    ran = await wifimgrctl(hub.address, "bluetooth", "search", "--seconds", "21")
    assert ran.status == 2
    await hub.client.simulate("SetFault", "sa{sv}", "bluetooth-off", {})
    ran = await wifimgrctl(hub.address, "bluetooth", "search")
    assert ran.status == 1
    assert "(bluetooth-unavailable)" in ran.err


async def test_a_camera_sleeps_wakes_and_is_connected(hub: Hub) -> None:
    await registered(hub)
    ran = await wifimgrctl(hub.address, "devices")
    assert ran.out.splitlines()[1].split()[:3] == ["1", "Nose", "Asleep"]
    assert "1: 1 asleep" in (await wifimgrctl(hub.address, "status")).out
    shown = (await wifimgrctl(hub.address, "status", "Nose")).out
    assert "  Power                asleep, seen 20" in shown
    assert f"  Paired               yes, Bluetooth address {GOPRO}" in shown
    assert "  Wakes                on command only" in shown
    ran = await wifimgrctl(hub.address, "wake", "Nose")
    assert (ran.status, ran.out) == (0, "Nose is awake\n")
    assert (await wifimgrctl(hub.address, "sleep", "Nose", "--json")).value["power_state"] == "asleep"
    ran = await wifimgrctl(hub.address, "connect", "Nose", "--wake")
    assert (ran.status, ran.out.split(" through ")[0]) == (0, "Nose is connected")
    await wifimgrctl(hub.address, "sleep", "Nose")
    ran = await wifimgrctl(hub.address, "wake", "Nose", "--no-wait")
    assert (ran.status, ran.out) == (0, "Nose is waking up\n")
    await hub.client.wait_until(lambda client: client.devices[1].power_state == "awake", 20)
    history = (await wifimgrctl(hub.address, "history", "Nose")).out
    assert history.count(" woken ") == 3


async def test_any_attempt_may_wake_a_camera(hub: Hub) -> None:
    await registered(hub)
    ran = await wifimgrctl(hub.address, "set", "Nose", "--auto-wake", "yes")
    assert (ran.status, ran.out) == (0, "Nose was changed\n")
    ran = await wifimgrctl(hub.address, "connect", "Nose")
    assert (ran.status, ran.err) == (0, "")
    assert "for any attempt to connect" in (await wifimgrctl(hub.address, "status", "Nose")).out


async def test_a_pairing_is_forgotten_and_made_anew(hub: Hub) -> None:
    await registered(hub)
    ran = await wifimgrctl(hub.address, "unpair", "Nose")
    assert (ran.status, ran.out) == (0, "Nose is no longer paired with this hub\n")
    ran = await wifimgrctl(hub.address, "connect", "Nose", "--wake")
    assert (ran.status, ran.out) == (1, "")
    assert "(not-paired)" in ran.err
    assert "wifimgrctl pair Nose" in ran.err
    ran = await wifimgrctl(hub.address, "pair", "Nose", "--address", "here")
    assert ran.status == 1
    assert "(invalid-request)" in ran.err
    ran = await wifimgrctl(hub.address, "pair", "Nose", "--address", GOPRO)
    assert (ran.status, ran.out) == (
        0,
        f"Nose is paired with this hub, Bluetooth address {GOPRO}\n",
    )
    assert (await wifimgrctl(hub.address, "status", "Nose", "--json")).value["paired"] is True


THETA_V = """
adapter_count = 2

[times]
search_s = 0.1
wake_s = 0.2
absent_s = 0.2

[[camera]]
ssid = "THETAYL00101234.OSC"
password = "00101234"
bluetooth = "theta"
bluetooth_name = "00101234"
camera_model = "RICOH THETA V"
serial_number = "YL00101234"
driver = "osc"
"""


async def test_a_theta_v_knows_the_hub_once_it_was_paired_while_it_was_connected(
    message_bus: MessageBusDaemon, tmp_path: Path
) -> None:
    world = tmp_path / "theta-v.toml"
    world.write_text(THETA_V)
    async with running_hub(message_bus.address, tmp_path / "state", f"--simulate={world}") as hub:
        network = {"connection_type": "wifi", "ssid": "THETAYL00101234.OSC", "password": "00101234"}
        await hub.client.create_device(network | {"codename": "ricoh-theta-v", "name": "Dome"})
        await hub.until(1, "connected")
        ran = await wifimgrctl(hub.address, "sleep", "Dome")
        assert (ran.status, "(not-paired)" in ran.err) == (1, True)
        ran = await wifimgrctl(hub.address, "pair", "Dome")
        assert (ran.status, ran.err) == (0, "")
        await wifimgrctl(hub.address, "sleep", "Dome")
        ran = await wifimgrctl(hub.address, "pair", "Dome")
        assert (ran.status, "(not-connected)" in ran.err) == (1, True)
        ran = await wifimgrctl(hub.address, "connect", "Dome", "--wake")
        assert (ran.status, ran.out.split(" through ")[0]) == (0, "Dome is connected")
        await wifimgrctl(hub.address, "unpair", "Dome")
        ran = await wifimgrctl(hub.address, "sleep", "Dome")
        assert (ran.status, "(not-paired)" in ran.err) == (1, True)


async def test_a_camera_without_bluetooth_cannot_be_woken(hub: Hub) -> None:
    await hub.create(1, name="Front", codename="generic-wifi-camera")
    ran = await wifimgrctl(hub.address, "wake", "Front")
    assert (ran.status, ran.out) == (1, "")
    assert "(not-supported)" in ran.err


@pytest.mark.parametrize("more", [["--open"], ["--password-stdin"], ["--ssid", "GP25140001"]])
async def test_a_camera_that_tells_its_password_needs_none(hub: Hub, more: list[str]) -> None:
    ran = await wifimgrctl(hub.address, "add", "--bluetooth", GOPRO, *more)
    assert ran.status == 2
    assert not hub.client.devices


async def test_what_is_no_address_is_refused_before_anything_is_said_of_pairing(hub: Hub) -> None:
    ran = await wifimgrctl(hub.address, "add", "--bluetooth", "nonsense")
    assert (ran.status, ran.out) == (2, "")
    assert "'nonsense' is not a Bluetooth address" in " ".join(ran.err.split())
    assert "Pairing with" not in ran.err


async def test_one_of_several_cameras_in_pairing_mode_is_chosen(hub: Hub) -> None:
    ran = await wifimgrctl(hub.address, "add", "--bluetooth")
    assert ran.status == 1
    assert f"GoPro 0001 ({GOPRO}), 12345678 (" in ran.err
    assert (await wifimgrctl(hub.address, "add", "--bluetooth", "--json")).value["error"]["code"] == (
        "pairing-failed"
    )
    async with on_terminal(hub.address, "add", "--bluetooth") as terminal:
        await terminal.until("Which one, 1 to 2?")
        terminal.type("3\n")
        await terminal.until("Which one, 1 to 2? 3\r\nWhich one, 1 to 2?")
        terminal.type("1\n")
        await terminal.until("is registered")
        assert await terminal.end() == 0
    assert hub.client.devices[1].bluetooth_address == GOPRO
    assert hub.client.devices[1].codename == "gopro-hero12"
    ran = await wifimgrctl(hub.address, "add", "--bluetooth")  # only one is left
    assert (ran.status, ran.out) == (0, "THETAYR12345678.OSC is registered\n")
    assert "Found 12345678 (" in ran.err
    ran = await wifimgrctl(hub.address, "add", "--bluetooth")
    assert ran.status == 1
    assert "no new camera in pairing mode was heard" in ran.err


async def test_ctrl_c_ends_the_choice(hub: Hub) -> None:
    async with on_terminal(hub.address, "add", "--bluetooth") as terminal:
        await terminal.until("Which one, 1 to 2?")
        assert await terminal.interrupt() == 130
    assert not hub.client.devices


async def test_the_check_wakes_a_camera(hub: Hub) -> None:
    await registered(hub)
    ran = await wifimgrctl(hub.address, "bluetooth", "check", "Nose", "--seconds", "3")
    lines = ran.out.splitlines()
    assert ran.status == 0
    assert lines[:2] == [
        "1. passed: Bluetooth on this host is ready",
        "2. passed: 3 cameras were heard",
    ]
    assert "3. passed: Nose is paired, was heard and asleep" in lines
    assert "4. passed: Nose woke within " in ran.out
    assert "open: " not in ran.out  # of the cameras that are not asked about
    assert "wifimgrctl set 1 --auto-wake yes" in lines[-1]
    checked = (await wifimgrctl(hub.address, "bluetooth", "check", "--json")).value
    assert checked["bluetooth_state"] == "ready"
    assert checked["steps"][0] == {"what": "Bluetooth on this host is ready", "passed": True, "advice": ""}
    assert len(checked["bluetooth_devices"]) == 3


async def test_a_recording_that_is_begun_over_bluetooth_was_not_there_already(hub: Hub) -> None:
    await registered(hub)
    assert (await wifimgrctl(hub.address, "wake", "Nose")).status == 0
    ran = await wifimgrctl(hub.address, "record", "Nose")
    assert (ran.status, ran.out) == (0, "Nose is recording, after 2 ms\n")
    ran = await wifimgrctl(hub.address, "record", "Nose")
    assert (ran.status, ran.out) == (0, "Nose is recording, already\n")


async def test_the_check_says_what_is_missing(hub: Hub) -> None:
    await registered(hub)
    await hub.client.simulate("SetFault", "sa{sv}", "bond-lost", {"ssid": Variant("ay", b"GP25140001")})
    ran = await wifimgrctl(hub.address, "bluetooth", "check", "Nose", "--seconds", "3")
    assert ran.status == 1
    assert "FAILED: Nose did not wake: " in ran.out
    assert ran.out.splitlines()[-1].endswith("then wifimgrctl pair 1")
    await hub.client.simulate("SetFault", "sa{sv}", "bluetooth-off", {})
    ran = await wifimgrctl(hub.address, "bluetooth", "check")
    assert ran.status == 1
    assert ran.out.splitlines() == [
        "1. FAILED: Bluetooth on this host is off: the simulated Bluetooth adapter is switched off",
        "   Next: rfkill unblock bluetooth, and systemctl start bluetooth",
    ]


def test_the_steps_of_a_host() -> None:
    absent = ServiceRecord(bluetooth_state="absent", bluetooth_reason="there is no adapter")
    step = host_step(absent)
    assert (step.what, step.is_passed) == ("Bluetooth on this host is absent: there is no adapter", False)
    assert "wifimgrd-camera" in step.advice
    assert heard_step([]).is_passed is False


@pytest.mark.parametrize(
    ("device", "heard", "what", "advice"),
    [
        (NOSE, [HEARD], "is paired, was heard", "bluetooth check 1"),
        (replace(NOSE, power_state="awake"), [HEARD], "was heard and awake", "wifimgrctl sleep 1"),
        (replace(NOSE, state="connected"), [HEARD], "was heard", "wifimgrctl disconnect 1"),
        (NOSE, [], "is paired, was not heard", "bluetooth check 1"),
        (replace(NOSE, paired=None), [], "needs no pairing, was not heard", "bluetooth check 1"),
        (replace(NOSE, paired=False), [], "is not paired", "wifimgrctl pair 1"),
    ],
)
def test_the_step_of_a_device(
    device: DeviceRecord, heard: list[BluetoothRecord], what: str, advice: str
) -> None:
    [step] = camera_steps(heard, [device, DeviceRecord(2, "Without Bluetooth")])
    assert what in step.what
    assert advice in step.advice


def test_the_steps_of_cameras_that_are_not_registered() -> None:
    new = replace(HEARD, device_id=None, pairing_mode=True)
    [step] = camera_steps([new], [])
    assert f"wifimgrctl add --bluetooth {GOPRO}" in step.advice
    [step] = camera_steps([replace(new, pairing_mode=False)], [])
    assert "not in pairing mode" in step.what
    [step] = camera_steps([], [])
    assert step == Step("No registered camera can be woken over Bluetooth", None, step.advice)


def test_what_a_camera_says_of_itself_is_escaped() -> None:
    screen = Screen(json=False, out=io.StringIO(), err=io.StringIO())
    evil = replace(HEARD, name="\x1b[2Jx\u202e", rssi=None, device_id=9)
    _, row = bluetooth_view([evil], {}, screen)
    assert r"\x1b[2Jx\u202e" in row
    assert row.split()[-3:] == ["-", "-", "9"]
    [step] = camera_steps([replace(evil, device_id=None)], [])
    assert step.what.isprintable()
