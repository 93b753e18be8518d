"""Pairing, waking and sleeping, and each way in which they fail."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from typing import Any

import pytest

from tests.camera.conftest import FAST, SOON_S, Caller, hurried, is_at_work, until
from tests.fake_bluez import ADAPTER, ADAPTER_PATH, FakeBluez, FakeCamera, FakeGoPro, gp
from wifimgrd.bus.connection import BusError
from wifimgrd.camera._service import CameraService
from wifimgrd.simulator.emulators import (
    CameraSettings,
    EmulatedCamera,
    GoProBluetooth,
    GoProEmulator,
)

ADDRESS = "D4:32:60:00:10:01"
OTHER = "D4:32:60:00:10:02"
IN_PAIRING_MODE = {0x02F2: bytes([2, 0b101, 57, 1])}
NOT_IN_PAIRING_MODE = {0x02F2: bytes([2, 0b001, 57, 1])}
REFUSED = (
    "the camera refused the connection {} times: if this stays so, it may have forgotten this hub: pair it"
    " again"
)
FORGOTTEN = "the camera has forgotten this hub: pair it again"
KEY_MISSING = ("org.bluez.Error.Failed", "le-connection-key-missing")
AUTHENTICATION_FAILED = ("org.bluez.Error.AuthenticationFailed", "Authentication Failed")
PROOFS: tuple[dict[str, Any], ...] = (
    {"tells_reason": True},
    {"failing_connects": 1, "failure": KEY_MISSING},
    {"failing_connects": 1, "failure": AUTHENTICATION_FAILED},
)
"""How BlueZ says that a camera has no key for this host."""


def bonded(**fields: Any) -> FakeGoPro:
    return FakeGoPro(ADDRESS, bonded=True, knows_host=True, pairing_mode=False, **fields)


def emulated(**settings: Any) -> tuple[FakeGoPro, EmulatedCamera]:
    """A bonded camera that is on, and what it does."""
    camera = EmulatedCamera(CameraSettings(battery=71, **settings))
    return bonded(emulated=GoProBluetooth(GoProEmulator(camera))), camera


async def refused(call: Any) -> tuple[str, str]:
    """The last part of the name of an error, and its message."""
    with pytest.raises(BusError) as raised:
        await call
    return raised.value.name.removeprefix("org.wifimgrd1.Error."), raised.value.message


# -- pairing


@pytest.mark.parametrize(
    "trait",
    [
        {},
        {"pair_unanswered": True},
        {"connected_unsignalled": True},
        {"late_characteristics_s": 0.2},
        {"io_errors": 2},
        {"failing_connects": 3},
        {"busy_answers": 3},
        {"pushes": False},
        {"garbage": (b"", b"\x93", b"\xff" * 20, b"\x03\x93\x00\x45", b"\x05\x93\x00\x45\x01\x00")},
    ],
    ids=lambda trait: next(iter(trait), "plain"),
)
async def test_a_camera_in_pairing_mode_is_paired(bluez: FakeBluez, caller: Caller, trait: Any) -> None:
    camera = FakeGoPro(ADDRESS, **trait)
    bluez.add(camera)
    told = await caller.pair(ADDRESS)
    assert told == {
        "ssid": b"GP1001",
        "password": "dive-1234",
        "model": "HERO12 Black",
        "serial": "C3501324501001",
    }
    assert camera.pairing_finished
    assert camera.access_point
    assert await caller.is_bonded(ADDRESS)
    await until(lambda: camera.keep_alives > 0)
    await caller.call("Release", "s", ADDRESS)
    await until(lambda: not camera.connected)
    await until(lambda: not bluez.discovering)


@pytest.mark.parametrize(
    ("trait", "reason"),
    [
        ({"in_range": False}, "the camera was not heard: it is out of range, or switched off"),
        (
            {"pairing_mode": False},
            "the camera refused the connection 4 times: it may not be in its pairing mode",
        ),
        ({"refuses_pairing": True}, "the camera refused the pairing: it is not in its pairing mode"),
        ({"ignores_pair": True}, "the camera did not answer the pairing"),
        ({"loses_link_at": "read"}, "the Bluetooth connection to the camera was lost"),
        ({"loses_link_at": "write"}, "the Bluetooth connection to the camera was lost"),
        ({"password": b"short"}, "the camera told a password that is not valid"),
        ({"password": b"two\nlines"}, "the camera told a password that is not valid"),
        ({"ssid": b"\0"}, "the camera told an SSID that is not valid"),
        ({"access_point_stays_off": True}, "the camera's access point does not come up"),
        ({"busy_answers": 1000}, "the camera does not become ready"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
@hurried
async def test_a_pairing_that_fails_leaves_neither_a_bond_nor_a_link(
    bluez: FakeBluez, caller: Caller, trait: Any, reason: str
) -> None:
    camera = FakeGoPro(ADDRESS, **trait)
    bluez.add(camera)
    assert await refused(caller.pair(ADDRESS)) == ("PairingFailed", reason)
    await until(lambda: not (camera.bonded or camera.connected))
    assert not await caller.is_bonded(ADDRESS)


@hurried
async def test_where_no_agent_may_be_registered_nothing_is_paired_and_no_link_is_left(
    bluez: FakeBluez, caller: Caller
) -> None:
    camera = FakeGoPro(ADDRESS)
    bluez.add(camera)
    bluez.takes_agents = False
    name, _ = await refused(caller.pair(ADDRESS))
    assert name == "BluetoothUnavailable"
    await until(lambda: not camera.connected)
    assert not camera.bonded


@hurried
async def test_a_camera_of_another_model_is_no_gopro(bluez: FakeBluez, caller: Caller) -> None:
    bluez.add(FakeCamera(ADDRESS))
    name, reason = await refused(caller.pair(ADDRESS))
    assert (name, reason) == (
        "PairingFailed",
        "the camera does not offer what this hub needs: it is another model",
    )


async def test_a_bond_that_works_is_kept(bluez: FakeBluez, caller: Caller) -> None:
    bluez.add(bonded())
    told = await caller.pair(ADDRESS)
    assert (told["ssid"], caller.bonding) == (b"GP1001", [])
    assert "Pair" not in bluez.calls
    assert "RemoveDevice" not in bluez.calls


async def test_pairing_again_replaces_the_bond_of_a_camera_that_is_heard_in_its_pairing_mode(
    bluez: FakeBluez, caller: Caller
) -> None:
    camera = bonded(manufacturer=IN_PAIRING_MODE)
    camera.knows_host, camera.pairing_mode = False, True
    bluez.add(camera)
    assert (await refused(caller.wake(ADDRESS)))[0] == "WakeFailed"
    assert (await caller.pair(ADDRESS, again=True))["ssid"] == b"GP1001"
    assert camera.knows_host
    await caller.wake(ADDRESS)


@pytest.mark.parametrize("proof", PROOFS, ids=str)
async def test_pairing_again_replaces_a_bond_that_is_provably_lost(
    bluez: FakeBluez, caller: Caller, proof: dict[str, Any]
) -> None:
    camera = bonded(**proof)
    camera.knows_host, camera.pairing_mode = False, True
    bluez.add(camera)
    told = await caller.pair(ADDRESS, again=True)
    assert (told["ssid"], caller.bonding) == (b"GP1001", [(ADDRESS, ADAPTER)])
    assert camera.knows_host


@pytest.mark.parametrize("camera_says", [{}, {"manufacturer": NOT_IN_PAIRING_MODE}], ids=["nothing", "no"])
@hurried
async def test_pairing_again_keeps_a_bond_without_a_proof_that_it_is_lost(
    bluez: FakeBluez, caller: Caller, camera_says: dict[str, Any]
) -> None:
    camera = bonded(failing_connects=4, **camera_says)
    bluez.add(camera)
    assert await refused(caller.pair(ADDRESS, again=True)) == (
        "PairingFailed",
        "the camera refused the connection 4 times, and was not heard in its pairing mode: this hub keeps its"
        " bond",
    )
    assert "RemoveDevice" not in bluez.calls
    await caller.wake(ADDRESS)


@hurried
async def test_a_pairing_mode_of_long_ago_is_no_proof(bluez: FakeBluez, caller: Caller) -> None:
    camera = bonded(failing_connects=4, manufacturer=IN_PAIRING_MODE)
    bluez.add(camera)
    camera.manufacturer = NOT_IN_PAIRING_MODE
    assert (await refused(caller.pair(ADDRESS, again=True)))[0] == "PairingFailed"
    assert "RemoveDevice" not in bluez.calls


async def test_a_cancelled_pairing_leaves_nothing(bluez: FakeBluez, caller: Caller) -> None:
    camera = FakeGoPro(ADDRESS, hangs=True)
    bluez.add(camera)
    pairing = asyncio.create_task(caller.pair(ADDRESS))
    await until(lambda: camera.bonded)
    await caller.call("Cancel", "s", ADDRESS)
    assert await refused(pairing) == ("Cancelled", "the operation was cancelled")
    await until(lambda: not camera.known)


async def test_the_bond_is_removed_on_request_and_nothing_happens_without_one(
    bluez: FakeBluez, caller: Caller
) -> None:
    camera = bonded()
    bluez.add(camera)
    await caller.wake(ADDRESS)
    await caller.unpair(ADDRESS)
    assert not camera.known
    await caller.unpair(ADDRESS)
    assert await refused(caller.wake(ADDRESS)) == ("NotPaired", "the camera is not paired with this hub")


# -- waking


@pytest.mark.parametrize(
    "trait",
    [
        {},
        {"connected_unsignalled": True},
        {"io_errors": 3},
        {"failing_connects": 3},
        {"busy_answers": 2},
        {"pushes": False},
        {"late_characteristics_s": 0.2},
    ],
    ids=lambda trait: next(iter(trait), "plain"),
)
async def test_a_known_camera_is_woken_without_a_search(bluez: FakeBluez, caller: Caller, trait: Any) -> None:
    camera = bonded(**trait)
    bluez.add(camera)
    await caller.wake(ADDRESS)
    assert camera.access_point
    assert camera.connected
    assert "StartDiscovery" not in bluez.calls
    assert "ReadValue" not in bluez.calls
    await caller.call("Release", "s", ADDRESS)
    await until(lambda: not camera.connected)


@pytest.mark.parametrize("restarts", [True, False], ids=["by one command", "off, then on"])
@pytest.mark.parametrize("limits", [replace(FAST, access_point_s=5.0)], ids=[""])
async def test_an_access_point_that_does_not_come_up_is_switched_off_and_on(
    bluez: FakeBluez, caller: Caller, restarts: bool
) -> None:
    camera = bonded(access_point_hangs=True, restarts_access_point=restarts)
    bluez.add(camera)
    await caller.wake(ADDRESS, timeout_s=60)
    assert camera.access_point


@pytest.mark.parametrize("restarts", [True, False], ids=["by one command", "off, then on"])
async def test_the_access_point_of_a_camera_that_was_woken_is_switched_off_and_on(
    bluez: FakeBluez, caller: Caller, restarts: bool
) -> None:
    camera = bonded(restarts_access_point=restarts)
    bluez.add(camera)
    await caller.wake(ADDRESS)
    camera.access_point = False
    await caller.call("RestartAccessPoint", "ss", ADDRESS, "gopro")
    assert camera.access_point
    assert camera.connected
    with pytest.raises(BusError, match="does not restart its access point"):
        await caller.call("RestartAccessPoint", "ss", ADDRESS, "theta")


async def test_the_access_point_of_a_camera_that_nobody_has_woken_is_switched_over_a_link_for_that(
    bluez: FakeBluez, caller: Caller
) -> None:
    camera = bonded()
    bluez.add(camera)
    await caller.call("RestartAccessPoint", "ss", ADDRESS, "gopro")
    assert camera.access_point
    await until(lambda: not camera.connected)
    assert camera.keep_alives == 0


async def test_the_access_point_of_a_camera_that_records_is_left_alone(
    bluez: FakeBluez, caller: Caller
) -> None:
    camera = bonded(encoding=True)
    bluez.add(camera)
    expected = ("CameraBusy", "the camera is recording")
    assert await refused(caller.call("RestartAccessPoint", "ss", ADDRESS, "gopro")) == expected
    assert not camera.access_point, "nothing has switched it on"
    await until(lambda: not camera.connected)


async def test_a_camera_that_was_woken_to_be_joined_is_not_asked_whether_it_records(
    bluez: FakeBluez, caller: Caller
) -> None:
    camera = bonded(encoding=True)
    bluez.add(camera)
    await caller.wake(ADDRESS)
    camera.access_point = False
    await caller.call("RestartAccessPoint", "ss", ADDRESS, "gopro")
    assert camera.access_point


ENCODING = b"\x13\x0a"


class Uncommunicative(FakeGoPro):
    """It answers the question whether it records without the status."""

    def write(self, uuid: str, value: bytes) -> list[tuple[str, bytes]]:
        return [(gp(0x77), b"\x02\x13\x00")] if value[2:] == ENCODING else super().write(uuid, value)


@pytest.mark.parametrize("step", ["RestartAccessPoint", "Reboot"])
@pytest.mark.parametrize(
    ("camera", "why"),
    [
        (FakeGoPro(ADDRESS, silent_to=ENCODING), "the camera does not answer"),
        (Uncommunicative(ADDRESS), "the camera does not say whether it records"),
    ],
    ids=["silent", "uncommunicative"],
)
@hurried
async def test_a_camera_that_does_not_say_whether_it_records_is_left_alone(
    bluez: FakeBluez, caller: Caller, step: str, camera: FakeGoPro, why: str
) -> None:
    camera = replace(camera, bonded=True, knows_host=True)
    bluez.add(camera)
    assert await refused(caller.call(step, "ss", ADDRESS, "gopro")) == ("WakeFailed", why)
    assert (camera.access_point, camera.reboots) == (False, 0)


async def test_it_subscribes_anew_at_each_connection(bluez: FakeBluez, caller: Caller) -> None:
    camera = bonded()
    bluez.add(camera)
    for _ in range(3):
        camera.access_point = False
        await caller.wake(ADDRESS)
        assert gp(0x77) in camera.notifying
        bluez.lose(camera)


async def test_connect_waits_for_a_camera_that_comes_into_range(bluez: FakeBluez, caller: Caller) -> None:
    camera = bonded(in_range=False)
    bluez.add(camera)
    waking = asyncio.create_task(caller.wake(ADDRESS))
    await until(lambda: camera.connects == 1)
    camera.in_range = True
    await waking
    assert camera.connects == 1


@pytest.mark.parametrize(
    ("trait", "error"),
    [
        (
            {"in_range": False},
            ("WakeFailed", "no answer within 40 s: the camera is out of range, or switched off"),
        ),
        ({"knows_host": False}, ("WakeFailed", REFUSED.format(4))),
        ({"knows_host": False, "tells_reason": True}, ("NotPaired", FORGOTTEN)),
        ({"failing_connects": 99, "failure": KEY_MISSING}, ("NotPaired", FORGOTTEN)),
        ({"failing_connects": 99, "failure": AUTHENTICATION_FAILED}, ("NotPaired", FORGOTTEN)),
        ({"hangs": True}, ("WakeFailed", "it took longer than 1 s")),
        ({"loses_link_at": "write"}, ("WakeFailed", "the Bluetooth connection to the camera was lost")),
        ({"access_point_stays_off": True}, ("WakeFailed", "the camera's access point does not come up")),
        ({"io_errors": 99}, ("WakeFailed", "the Bluetooth adapter could not connect to the camera")),
        ({"busy_answers": 999}, ("WakeFailed", "the camera does not become ready")),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
@hurried
async def test_a_wake_that_fails_says_why_and_keeps_the_bond(
    bluez: FakeBluez, caller: Caller, trait: dict[str, Any], error: tuple[str, str]
) -> None:
    camera = bonded()
    for name, value in trait.items():
        setattr(camera, name, value)
    bluez.add(camera)
    assert await refused(caller.wake(ADDRESS, timeout_s=1 if camera.hangs else 10)) == error
    await until(lambda: not camera.connected)
    assert camera.known


@pytest.mark.parametrize("proof", [{}, *PROOFS], ids=str)
async def test_a_camera_that_seems_to_have_forgotten_the_hub_is_woken_once_it_answers(
    bluez: FakeBluez, caller: Caller, proof: dict[str, Any]
) -> None:
    """Nothing that was concluded bars the next command: not even a proof, which another radio can send."""
    camera = bonded(**proof)
    camera.knows_host = False
    bluez.add(camera)
    for _ in range(2):
        await refused(caller.wake(ADDRESS))
        assert await caller.is_bonded(ADDRESS)
    camera.knows_host, camera.failing_connects = True, 0
    await caller.wake(ADDRESS)


@pytest.mark.parametrize(
    "text",
    [
        "le-connection-concurrent-connection-limit",
        "le-connection-create-socket",
        "le-connection-busy",
        "le-connection-adapter-not-powered",
        "Software caused connection abort",
        "a text of another version",
    ],
)
async def test_the_trouble_of_this_host_says_nothing_of_the_camera(
    bluez: FakeBluez, caller: Caller, text: str
) -> None:
    camera = bonded(failing_connects=99, failure=("org.bluez.Error.Failed", text))
    bluez.add(camera)
    assert await refused(caller.wake(ADDRESS)) == (
        "WakeFailed",
        "the Bluetooth adapter could not connect to the camera",
    )
    assert camera.connects == 4


async def test_one_refused_connection_is_no_lost_bond(bluez: FakeBluez, caller: Caller) -> None:
    camera = bonded()
    camera.knows_host = False
    bluez.add(camera)
    waking = asyncio.create_task(caller.wake(ADDRESS))
    await until(lambda: camera.connects == 1)
    camera.knows_host = True
    await waking


async def test_two_cameras_are_woken_at_once_and_an_absent_one_delays_no_other(
    bluez: FakeBluez, caller: Caller
) -> None:
    cameras = [bonded(), bonded()]
    cameras[1].address = OTHER
    absent = FakeGoPro("D4:32:60:00:10:03", bonded=True, in_range=False)
    for camera in (*cameras, absent):
        bluez.add(camera)
    failing = asyncio.create_task(caller.wake(absent.address))
    await until(lambda: absent.connects == 1)
    await asyncio.gather(caller.wake(ADDRESS), caller.wake(OTHER))
    assert not failing.done()
    assert all(camera.access_point for camera in cameras)
    assert (await refused(failing))[0] == "WakeFailed"


async def test_eight_cameras_are_woken_at_once(bluez: FakeBluez, caller: Caller) -> None:
    cameras = [FakeGoPro(f"D4:32:60:00:20:0{n}", bonded=True, knows_host=True) for n in range(8)]
    for camera in cameras:
        bluez.add(camera)
    await asyncio.gather(*(caller.wake(camera.address) for camera in cameras))
    assert all(camera.access_point for camera in cameras)


async def test_one_operation_at_a_time_with_a_camera(bluez: FakeBluez, caller: Caller) -> None:
    camera = bonded(in_range=False)
    bluez.add(camera)
    waking = asyncio.create_task(caller.wake(ADDRESS))
    await until(lambda: camera.connects == 1)
    assert (await refused(caller.call("Sleep", "ss", ADDRESS, "gopro")))[0] == "Busy"
    began_s = time.monotonic()
    await caller.call("Cancel", "s", ADDRESS)
    assert (await refused(waking))[0] == "Cancelled"
    assert time.monotonic() - began_s < SOON_S
    camera.in_range = True
    await caller.wake(ADDRESS)


async def test_an_operation_that_is_cancelled_before_the_services_are_known_leaves_no_link(
    bluez: FakeBluez, caller: Caller
) -> None:
    """It would keep the camera from sleeping."""
    bluez.add(camera := bonded(never_resolves=True))
    waking = asyncio.create_task(caller.wake(ADDRESS))
    await until(lambda: camera.connected)
    await caller.connection.round_trip()
    await caller.call("Cancel", "s", ADDRESS)
    assert (await refused(waking))[0] == "Cancelled"
    await until(lambda: not camera.connected)


async def test_the_end_of_the_daemon_ends_what_it_has_started(
    bluez: FakeBluez, service: CameraService, caller: Caller
) -> None:
    awake = bonded()
    absent = FakeGoPro(OTHER, bonded=True, in_range=False)
    bluez.add(awake)
    bluez.add(absent)
    await caller.wake(ADDRESS)
    waking = asyncio.create_task(refused(caller.wake(OTHER)))
    await until(lambda: absent.connects == 1)
    waking.cancel()
    await caller.connection.close()
    await until(lambda: not awake.connected)
    await until(lambda: not is_at_work(service))


async def test_a_link_that_is_lost_while_it_is_held_ends_the_hold(
    bluez: FakeBluez, service: CameraService, caller: Caller
) -> None:
    camera = bonded()
    bluez.add(camera)
    await caller.wake(ADDRESS)
    bluez.lose(camera)
    await until(lambda: not is_at_work(service))
    await caller.wake(ADDRESS)


async def test_a_link_that_is_lost_once_is_tried_again(bluez: FakeBluez, caller: Caller) -> None:
    """Such as that of a camera that was just falling asleep."""
    camera = bonded(loses_link_at="write", losses=1)
    bluez.add(camera)
    await caller.wake(ADDRESS)
    assert camera.connects == 2


# -- sleeping


async def test_a_camera_is_put_to_sleep_and_never_switched_off(bluez: FakeBluez, caller: Caller) -> None:
    camera = bonded()
    bluez.add(camera)
    await caller.wake(ADDRESS)
    await caller.call("Sleep", "ss", ADDRESS, "gopro")
    assert camera.asleep
    await until(lambda: not camera.connected)


async def test_a_camera_that_is_gone_before_it_answers_sleeps(bluez: FakeBluez, caller: Caller) -> None:
    camera = bonded(sleeps_at_once=True)
    bluez.add(camera)
    await caller.call("Sleep", "ss", ADDRESS, "gopro")
    assert camera.asleep


async def test_a_camera_that_records_is_not_put_to_sleep(bluez: FakeBluez, caller: Caller) -> None:
    camera = bonded(encoding=True)
    bluez.add(camera)
    assert await refused(caller.call("Sleep", "ss", ADDRESS, "gopro")) == (
        "CameraBusy",
        "the camera is recording",
    )
    assert not camera.asleep


# -- rebooting


@pytest.mark.parametrize("at_once", [False, True], ids=["after an answer", "at once"])
async def test_a_camera_reboots(bluez: FakeBluez, caller: Caller, at_once: bool) -> None:
    camera = bonded(sleeps_at_once=at_once)
    bluez.add(camera)
    await caller.call("Reboot", "ss", ADDRESS, "gopro")
    assert camera.reboots == 1
    assert not camera.access_point
    await until(lambda: not camera.connected)


async def test_a_camera_that_is_kept_awake_reboots_over_its_link(bluez: FakeBluez, caller: Caller) -> None:
    camera = bonded()
    bluez.add(camera)
    await caller.wake(ADDRESS)
    await caller.call("Reboot", "ss", ADDRESS, "gopro")
    assert camera.reboots == 1
    await until(lambda: not camera.connected)


async def test_a_camera_that_records_is_not_rebooted(bluez: FakeBluez, caller: Caller) -> None:
    camera = bonded(encoding=True)
    bluez.add(camera)
    expected = ("CameraBusy", "the camera is recording")
    assert await refused(caller.call("Reboot", "ss", ADDRESS, "gopro")) == expected
    assert camera.reboots == 0
    await until(lambda: not camera.connected)


async def test_a_model_that_does_not_reboot_refuses_and_another_make_is_not_asked(
    bluez: FakeBluez, caller: Caller
) -> None:
    camera, _ = emulated(model="HERO11 Black", firmware_version="H22.01.02.32.00")
    bluez.add(camera)
    expected = ("WakeFailed", "the camera refused to reboot")
    assert await refused(caller.call("Reboot", "ss", ADDRESS, "gopro")) == expected
    name, message = await refused(caller.call("Reboot", "ss", ADDRESS, "theta"))
    assert (name, message) == ("NotSupported", "a camera of the protocol 'theta' does not reboot")


async def test_a_stranger_is_not_rebooted(bluez: FakeBluez, caller: Caller) -> None:
    bluez.add(FakeGoPro(ADDRESS))
    name, _ = await refused(caller.call("Reboot", "ss", ADDRESS, "gopro"))
    assert name == "NotPaired"


# -- commands


async def test_a_camera_records_and_stops_over_bluetooth(bluez: FakeBluez, caller: Caller) -> None:
    fake, camera = emulated()
    bluez.add(fake)
    result, reading = await caller.command(ADDRESS, "start-recording")
    assert (result["code"], result["message"]) == ("", "")
    assert result["after"] > 0
    assert camera.is_recording
    assert (reading["recording"], reading["battery_level"]) == ("recording", 71)
    assert (reading["model"], reading["firmware_version"]) == ("HERO12 Black", "H23.01.02")
    await until(lambda: not fake.connected)  # nothing is kept
    result, reading = await caller.command(ADDRESS, "stop-recording")
    assert (result["code"], reading["recording"]) == ("", "idle")
    assert not camera.is_recording
    await until(lambda: not fake.connected)
    assert fake.connects == 2
    assert not fake.access_point
    assert "StartDiscovery" not in bluez.calls


async def test_the_clock_is_set_over_bluetooth(bluez: FakeBluez, caller: Caller) -> None:
    fake, camera = emulated(clock_offset_s=-500)
    bluez.add(fake)
    result, reading = await caller.command(ADDRESS, "set-clock")
    assert result["code"] == ""
    assert abs(camera.clock_s - time.time()) < 3
    assert abs(reading["clock_offset_us"]) < 3_000_000
    camera.start()
    result, reading = await caller.command(ADDRESS, "set-clock")
    assert (result["code"], reading["recording"]) == ("camera-busy", "recording")


async def test_why_a_camera_refuses_a_command_over_bluetooth(bluez: FakeBluez, caller: Caller) -> None:
    fake, _ = emulated(card_bytes=0)
    bluez.add(fake)
    result, reading = await caller.command(ADDRESS, "start-recording")
    assert (result["code"], result["message"]) == ("camera-refused", "the camera has no card")
    assert reading["storage_state"] == "missing"
    await until(lambda: not fake.connected)


@pytest.mark.parametrize(
    ("trait", "name", "message"),
    [
        ({"in_range": False}, "DeviceNotReachable", "no answer within 40 s"),
        ({"silent_to": b"\x01"}, "DeviceNotReachable", "the camera does not answer"),
        ({"silent_to": b"\x13"}, "DeviceNotReachable", "the camera does not answer"),
        ({"busy_answers": 1000}, "DeviceNotReachable", "the camera does not become ready"),
        ({"loses_link_at": "write"}, "DeviceNotReachable", "the Bluetooth connection to the camera was lost"),
        ({"knows_host": False}, "DeviceNotReachable", REFUSED.format(3)),
        ({"knows_host": False, "tells_reason": True}, "NotPaired", FORGOTTEN),
        ({"bonded": False}, "NotPaired", "the camera is not paired with this hub"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
@hurried
async def test_a_command_that_does_not_reach_the_camera(
    bluez: FakeBluez, caller: Caller, trait: dict[str, Any], name: str, message: str
) -> None:
    fake, camera = emulated()
    for attribute, value in trait.items():
        setattr(fake, attribute, value)
    bluez.add(fake)
    told = await refused(caller.command(ADDRESS, "start-recording"))
    assert told[0] == name
    assert told[1].startswith(message)
    await until(lambda: not fake.connected)
    assert not camera.is_recording


class Mute(GoProBluetooth):
    """It obeys the shutter, and its answer to that is lost."""

    def answer(self, message: bytes) -> bytes:
        answer = super().answer(message)
        return b"" if message[:1] == b"\x01" else answer


@hurried
async def test_a_command_over_bluetooth_whose_answer_is_lost_is_done_if_it_is_seen_to_be(
    bluez: FakeBluez, caller: Caller
) -> None:
    camera = EmulatedCamera(CameraSettings())
    bluez.add(bonded(emulated=Mute(GoProEmulator(camera))))
    result, reading = await caller.command(ADDRESS, "start-recording")
    assert (result["code"], reading["recording"]) == ("", "recording")
    assert result["after"] > 0


@hurried
async def test_a_camera_that_goes_silent_after_a_command_over_bluetooth_leaves_it_unconfirmed(
    bluez: FakeBluez, caller: Caller
) -> None:
    fake, camera = emulated()
    camera.set_unanswered(is_set=True)
    bluez.add(fake)
    result, _ = await caller.command(ADDRESS, "start-recording")
    assert (result["code"], result["message"]) == (
        "unconfirmed",
        "the camera's answer was lost, and its state could not be read in time",
    )
    assert camera.is_recording


async def test_a_link_that_ends_after_a_command_leaves_it_unconfirmed(
    bluez: FakeBluez, caller: Caller
) -> None:
    fake, camera = emulated()
    camera.set_unanswered(is_set=True)
    bluez.add(fake)
    command = asyncio.create_task(caller.command(ADDRESS, "start-recording"))
    await until(lambda: camera.is_recording)
    bluez.lose(fake)
    result, _ = await command
    assert result["code"] == "unconfirmed"


@pytest.mark.parametrize("limits", [replace(FAST, command_s=0.5)])
async def test_a_command_over_bluetooth_that_takes_too_long_is_unconfirmed_once_it_was_sent(
    bluez: FakeBluez, caller: Caller
) -> None:
    fake, camera = emulated()
    camera.set_unanswered(is_set=True)
    bluez.add(fake)
    assert (await refused(caller.command(ADDRESS, "start-recording")))[0] == "Unconfirmed"
    assert camera.is_recording


async def test_one_command_at_a_time_and_a_cancelled_one_disconnects(
    bluez: FakeBluez, caller: Caller
) -> None:
    fake, camera = emulated()
    fake.hangs = True
    bluez.add(fake)
    first = asyncio.create_task(refused(caller.command(ADDRESS, "start-recording")))
    await until(lambda: fake.connected)
    assert (await refused(caller.command(ADDRESS, "stop-recording")))[0] == "Busy"
    await caller.call("Cancel", "s", ADDRESS)
    assert (await first)[0] == "Cancelled"
    await until(lambda: not fake.connected)
    assert not camera.is_recording


async def test_a_command_ends_what_keeps_a_woken_camera_awake(bluez: FakeBluez, caller: Caller) -> None:
    fake, camera = emulated()
    bluez.add(fake)
    await caller.wake(ADDRESS)
    await caller.command(ADDRESS, "start-recording")
    assert camera.is_recording
    await until(lambda: not fake.connected)


async def test_what_is_not_a_command(caller: Caller) -> None:
    for arguments in (
        ("x", "gopro", "start-recording"),
        (ADDRESS, "theta", "start-recording"),
        (ADDRESS, "gopro", "format"),
    ):
        assert (await refused(caller.call("Command", "sss", *arguments)))[0] == "InvalidArguments"


# -- bluetoothd


async def test_after_a_restart_of_bluetoothd_a_camera_is_woken_and_another_paired(
    bluez: FakeBluez, caller: Caller
) -> None:
    known, new = bonded(), FakeGoPro(OTHER)
    bluez.add(known)
    await caller.wake(ADDRESS)
    await bluez.stop()
    await until(lambda: caller.states and caller.states[-1][0] != "ready")
    assert (await refused(caller.wake(ADDRESS)))[0] == "BluetoothUnavailable"
    await bluez.start()
    await until(lambda: caller.states[-1] == ("ready", ""))
    await caller.wake(ADDRESS)
    bluez.add(new)
    assert (await caller.pair(OTHER))["ssid"] == b"GP1001"


async def test_bluetoothd_that_is_killed_ends_the_operation(bluez: FakeBluez, caller: Caller) -> None:
    camera = bonded(hangs=True)
    bluez.add(camera)
    waking = asyncio.create_task(caller.wake(ADDRESS))
    await until(lambda: camera.connected)
    await bluez.stop()
    assert (await refused(waking))[0] in ("WakeFailed", "BluetoothUnavailable")
    await bluez.start()


PHASES: Any = {
    "connecting": ({"in_range": False}, lambda camera: camera.connects),
    "reading": ({"hangs": True}, lambda camera: camera.connected),
    "without services": ({"late_characteristics_s": 9.0}, lambda camera: camera.connected),
    "booting": ({"busy_answers": 99}, lambda camera: camera.busy_answers < 99),
    "access point": ({"access_point_stays_off": True}, lambda camera: len(camera.notifying) > 1),
}
ENDS: Any = {
    "killed": lambda bluez: bluez.stop(),
    "stopped": lambda bluez: bluez.stop_in_order(),
    "unplugged": lambda bluez: bluez.unplug(),
    "off": lambda bluez: bluez.power(False),
}


@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS.keys())
@pytest.mark.parametrize("phase", PHASES.values(), ids=PHASES.keys())
async def test_bluetooth_that_ends_in_any_phase_ends_the_wake_and_serves_the_next(
    bluez: FakeBluez, caller: Caller, phase: Any, end: Any
) -> None:
    traits, is_reached = phase
    bluez.add(camera := bonded(**traits))
    waking = asyncio.create_task(caller.wake(ADDRESS))
    await until(lambda: is_reached(camera))
    began_s = time.monotonic()
    if (ending := end(bluez)) is not None:
        await ending
    name, reason = await refused(waking)
    assert name in ("WakeFailed", "BluetoothUnavailable", "NotPaired"), reason
    assert time.monotonic() - began_s < SOON_S
    if end not in (ENDS["killed"], ENDS["stopped"]):
        await bluez.stop()
    bluez.powered = camera.in_range = True
    bluez.adapters[ADAPTER_PATH] = ADAPTER
    camera.hangs = camera.access_point_stays_off = False
    camera.late_characteristics_s, camera.busy_answers = 0.0, 0
    await bluez.start()
    await until(lambda: caller.states[-1] == ("ready", ""))
    await caller.wake(ADDRESS)
    assert camera.access_point


async def test_a_link_that_is_lost_before_the_pairing_is_made_once_more(
    bluez: FakeBluez, caller: Caller
) -> None:
    camera = FakeGoPro(ADDRESS, late_characteristics_s=60.0)
    bluez.add(camera)
    bluez.hear(camera)
    pairing = asyncio.create_task(caller.pair(ADDRESS))
    await until(lambda: camera.resolved)
    camera.late_characteristics_s = 0.0
    bluez.lose(camera)
    assert (await pairing)["ssid"] == b"GP1001"
    assert camera.pairs == 1


PAIRING_PHASES: Any = {
    "connecting": ({"in_range": False}, lambda camera: camera.connects),
    "bonding": ({"ignores_pair": True}, lambda camera: camera.pairs),
    "reading": ({"hangs": True}, lambda camera: camera.bonded),
    "access point": ({"access_point_stays_off": True}, lambda camera: camera.pairing_finished),
}


@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS.keys())
@pytest.mark.parametrize("phase", PAIRING_PHASES.values(), ids=PAIRING_PHASES.keys())
async def test_bluetooth_that_ends_in_any_phase_ends_the_pairing_and_serves_the_next(
    bluez: FakeBluez, caller: Caller, phase: Any, end: Any
) -> None:
    traits, is_reached = phase
    camera = FakeGoPro(ADDRESS, **(traits | {"in_range": True}))
    bluez.add(camera)
    await caller.search(("fea6", ""))
    camera.in_range = traits.get("in_range", True)
    pairing = asyncio.create_task(caller.pair(ADDRESS))
    await until(lambda: is_reached(camera))
    began_s = time.monotonic()
    if (ending := end(bluez)) is not None:
        await ending
    name, reason = await refused(pairing)
    assert name in ("PairingFailed", "BluetoothUnavailable"), reason
    assert time.monotonic() - began_s < SOON_S
    if end not in (ENDS["killed"], ENDS["stopped"]):
        await bluez.stop()
    bluez.powered = camera.in_range = camera.pairing_mode = True
    bluez.adapters[ADAPTER_PATH] = ADAPTER
    camera.hangs = camera.ignores_pair = camera.access_point_stays_off = False
    await bluez.start()
    await until(lambda: caller.states[-1] == ("ready", ""))
    assert (await caller.pair(ADDRESS))["ssid"] == b"GP1001"
    assert camera.access_point


@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS.keys())
async def test_bluetooth_that_ends_ends_searches_beacons_and_sleeps(
    bluez: FakeBluez, caller: Caller, end: Any
) -> None:
    camera = bonded(hangs=True)
    bluez.add(camera)
    beacon = asyncio.create_task(caller.call("Wake", "ssayu", "7", "beacon", bytes(8), 20))
    await until(lambda: bluez.advertising)
    search = asyncio.create_task(caller.search(("fea6", ""), seconds=20))  # waits for the beacon
    sleep = asyncio.create_task(caller.call("Sleep", "ss", ADDRESS, "gopro"))
    await until(lambda: camera.connected)
    began_s = time.monotonic()
    if (ending := end(bluez)) is not None:
        await ending
    names = [(await refused(one))[0] for one in (beacon, search, sleep)]
    assert names[:2] == ["BluetoothUnavailable"] * 2
    assert names[2] in ("WakeFailed", "BluetoothUnavailable", "NotPaired")
    assert time.monotonic() - began_s < SOON_S


async def test_an_adapter_that_is_switched_off_is_told(bluez: FakeBluez, caller: Caller) -> None:
    bluez.add(bonded())
    bluez.power(False)
    await until(lambda: caller.states)
    name, reason = await refused(caller.wake(ADDRESS))
    assert (name, reason) == (
        "BluetoothUnavailable",
        "the Bluetooth adapter is switched off: bluetoothctl power on",
    )
    bluez.power(True)
    await until(lambda: caller.states[-1] == ("ready", ""))
    await caller.wake(ADDRESS)
