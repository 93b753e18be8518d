"""Devices that are not the hub's are neither paired nor harmed, nor cameras that are more than that."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.camera.conftest import Caller, hurried, is_at_work, until
from tests.fake_bluez import (
    ADAPTER,
    FEA6,
    KEYBOARD,
    OTHER_ADAPTER,
    OTHER_PATH,
    FakeBluez,
    FakeCamera,
    FakeGoPro,
    assigned,
)
from wifimgrd.bus.connection import BusError
from wifimgrd.camera import _radio
from wifimgrd.camera._offers import why_unfit
from wifimgrd.camera._service import CameraService

ADDRESS = "D4:32:60:00:10:01"
IN_PAIRING_MODE = {0x02F2: bytes([2, 0b101, 57, 1])}
KEY_MISSING = ("org.bluez.Error.Failed", "le-connection-key-missing")
UNFIT = (
    "it also says that it is a keyboard or another input device (Bluetooth service 1812): this hub keeps no"
    " bond with such a device"
)
HARM = {"Pair", "Disconnect", "RemoveDevice"}


async def refused(call: Any) -> tuple[str, str]:
    with pytest.raises(BusError) as raised:
        await call
    return raised.value.name.removeprefix("org.wifimgrd1.Error."), raised.value.message


@pytest.mark.parametrize("number", [0x1812, 0x1124, 0x110A, 0x110B, 0x111E, 0x184E, 0x1853, 0x1116])
def test_what_else_than_a_camera_a_device_says_that_it_is(number: int) -> None:
    assert f"{number:04x}" in why_unfit([FEA6, assigned(number).upper()])


@pytest.mark.parametrize("camera", [FakeGoPro(ADDRESS), FakeCamera(ADDRESS)], ids=["gopro", "other"])
def test_what_a_camera_has_is_fit(camera: FakeCamera) -> None:
    """As Open GoPro lists it, with its battery's service; a number within a maker's own UUID says nothing."""
    camera.explored = True
    assert why_unfit([*camera.seen_services, "b5f91812-aa8d-11e3-9046-0002a5d5c51b", "rubbish", ""]) == ""


# -- before the pairing


@pytest.mark.parametrize(
    "trait", [{"connected": True, "resolved": True}, {"failing_connects": 9, "failure": KEY_MISSING}], ids=str
)
@pytest.mark.parametrize("services", [(KEYBOARD,), (assigned(0x180D),)], ids=["keyboard", "heart-rate"])
@pytest.mark.parametrize("again", [False, True])
async def test_a_bonded_device_that_is_no_camera_keeps_its_bond_and_its_link(
    bluez: FakeBluez, caller: Caller, trait: dict[str, Any], services: tuple[str, ...], again: bool
) -> None:
    device = FakeCamera(ADDRESS, "K380", services, bonded=True, knows_host=True, **trait)
    bluez.add(device)
    assert (await refused(caller.pair(ADDRESS, again=again)))[0] == "PairingFailed"
    assert not HARM & set(bluez.calls)
    assert (device.bonded, device.connected) == (True, "connected" in trait)


@pytest.mark.parametrize("advertised", [False, True])
async def test_a_camera_that_is_a_keyboard_too_is_not_paired(
    bluez: FakeBluez, caller: Caller, advertised: bool
) -> None:
    camera = FakeGoPro(ADDRESS, further=(KEYBOARD,))
    if advertised:
        camera.services = (FEA6, KEYBOARD)
    bluez.add(camera)
    assert await refused(caller.pair(ADDRESS)) == ("PairingFailed", UNFIT)
    await until(lambda: not camera.connected)
    assert not {"Pair", "RemoveDevice"} & set(bluez.calls)
    assert caller.unfit == [], "there is no bond to remove"


@hurried
async def test_a_device_without_a_cameras_characteristics_is_not_paired(
    bluez: FakeBluez, caller: Caller
) -> None:
    device = FakeCamera(ADDRESS, "GoPro 1001")
    bluez.add(device)
    name, reason = await refused(caller.pair(ADDRESS))
    assert (name, "another model" in reason) == ("PairingFailed", True)
    await until(lambda: not device.connected)
    assert not {"Pair", "RemoveDevice"} & set(bluez.calls)


# -- the bonds and links of others


@pytest.mark.parametrize("trait", [{"manufacturer": IN_PAIRING_MODE}, {"tells_reason": True}], ids=str)
async def test_a_lost_bond_that_the_hub_has_not_made_is_kept(
    bluez: FakeBluez, caller: Caller, trait: dict[str, Any]
) -> None:
    bluez.add(camera := FakeGoPro(ADDRESS, bonded=True, **trait))
    name, reason = await refused(caller.pair(ADDRESS))
    assert (name, f"bluetoothctl remove {ADDRESS}" in reason) == ("PairingFailed", True)
    assert camera.bonded
    assert "RemoveDevice" not in bluez.calls


@pytest.mark.parametrize("bonded", [False, True])
async def test_a_link_that_was_there_before_stays(
    bluez: FakeBluez, service: CameraService, caller: Caller, bonded: bool
) -> None:
    camera = FakeGoPro(ADDRESS, bonded=bonded, knows_host=bonded, connected=True, resolved=True)
    camera.explored = True
    bluez.add(camera)
    bluez.hear(camera)
    await caller.pair(ADDRESS)
    await caller.call("Release", "s", ADDRESS)
    await caller.call("Command", "sss", ADDRESS, "gopro", "set-clock")
    await until(lambda: not is_at_work(service))
    await caller.wake(ADDRESS)
    await caller.call("Cancel", "s", ADDRESS)
    await caller.connection.round_trip()
    assert camera.connected
    assert "Disconnect" not in bluez.calls


async def test_a_link_that_the_process_has_made_ends_with_its_work_also_after_another_one_was_lost(
    bluez: FakeBluez, caller: Caller
) -> None:
    camera = FakeGoPro(ADDRESS, bonded=True, knows_host=True)
    bluez.add(camera)
    await caller.wake(ADDRESS)
    bluez.lose(camera)
    await caller.wake(ADDRESS)
    await caller.wake(ADDRESS)
    await caller.call("Release", "s", ADDRESS)
    await until(lambda: not camera.connected)


async def test_a_link_that_a_killed_process_has_made_ends_and_no_other(
    bluez: FakeBluez, service: CameraService, caller: Caller
) -> None:
    left, other = (
        FakeGoPro(address, bonded=True, knows_host=True, connected=True, resolved=True)
        for address in (ADDRESS, "D4:32:60:00:10:02")
    )
    bluez.add(left)
    bluez.add(other)
    await caller.call("EndLinks", "ao", [left.path])
    await until(lambda: not left.connected)
    assert other.connected
    await caller.wake(ADDRESS)
    await caller.call("Release", "s", ADDRESS)
    await until(lambda: not left.connected)


@hurried
async def test_a_link_without_a_bond_on_which_nothing_works_ends_and_the_camera_is_paired(
    bluez: FakeBluez, caller: Caller
) -> None:
    """As one that is left of a pairing in which this process was killed, or bluetoothd was stopped."""
    camera = FakeGoPro(ADDRESS, connected=True)
    bluez.add(camera)
    bluez.hear(camera)
    assert (await caller.pair(ADDRESS))["ssid"] == b"GP1001"
    assert bluez.calls.index("Disconnect") < bluez.calls.index("Pair")


async def test_a_device_without_a_bond_is_not_removed_by_an_unpairing(
    bluez: FakeBluez, caller: Caller
) -> None:
    bluez.add(camera := FakeGoPro(ADDRESS))
    bluez.hear(camera)
    await caller.unpair(ADDRESS)
    assert "RemoveDevice" not in bluez.calls


async def unplugged(bluez: FakeBluez, service: CameraService) -> None:
    bluez.unplug()
    await service.objects.until(lambda: not service.objects.adapters, None)


async def stopped(bluez: FakeBluez, service: CameraService) -> None:
    await bluez.stop()
    await service.objects.until(lambda: not service.objects.owner, None)


async def slow(bluez: FakeBluez, service: CameraService) -> None:
    """It does not say what it has."""
    await stopped(bluez, service)
    bluez.unreadable_times = 99
    await bluez.start()
    await service.objects.until(lambda: service.objects.owner != "", None)


@pytest.mark.parametrize("gone", [unplugged, stopped, slow])
async def test_what_is_not_known_is_not_taken_for_no_bond(
    bluez: FakeBluez, service: CameraService, caller: Caller, gone: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_radio, "_LOADED_S", 0.05)
    bluez.add(camera := FakeGoPro(ADDRESS, bonded=True, knows_host=True))
    assert await caller.is_bonded(ADDRESS)
    await gone(bluez, service)
    for call in (caller.is_bonded(ADDRESS), caller.unpair(ADDRESS)):
        assert (await refused(call))[0] == "BluetoothUnavailable"
    assert camera.bonded


async def test_a_bond_at_an_adapter_is_known_while_that_is_there(bluez: FakeBluez, caller: Caller) -> None:
    bluez.add(camera := FakeGoPro(ADDRESS, bonded=True, knows_host=True))
    bluez.plug()
    assert await caller.call("GetBonds", "s", ADDRESS) == [[ADAPTER], [ADAPTER, OTHER_ADAPTER]]
    bluez.unplug()
    assert await caller.call("GetBonds", "s", ADDRESS) == [[], [OTHER_ADAPTER]]
    name, reason = await refused(caller.unpair(ADDRESS))
    assert (name, ADAPTER in reason) == ("BluetoothUnavailable", True)
    assert camera.bonded


async def test_an_adapter_whose_devices_are_not_told_yet_or_are_told_to_go_is_not_one_without_bonds(
    bluez: FakeBluez, service: CameraService, caller: Caller
) -> None:
    """BlueZ tells an adapter, then each of its devices; and when it goes each of these, and then it."""
    await caller.call("GetStatus")
    bluez.cameras.append(FakeGoPro(ADDRESS, bonded=True, known=True, adapter=OTHER_PATH))
    bluez.plug(tells_devices=False)
    assert await caller.call("GetBonds", "s", ADDRESS) == [[OTHER_ADAPTER], [ADAPTER, OTHER_ADAPTER]]


@pytest.mark.parametrize("own_is_first", [False, True])
async def test_of_two_bonds_with_a_camera_the_own_one_alone_is_used_and_replaced(
    bluez: FakeBluez, caller: Caller, own_is_first: bool
) -> None:
    bluez.plug()
    own = FakeGoPro(ADDRESS, bonded=True, tells_reason=True)
    other = FakeGoPro(ADDRESS, bonded=True, tells_reason=True, adapter=OTHER_PATH)
    for camera in (own, other) if own_is_first else (other, own):
        bluez.add(camera)
    name, reason = await refused(caller.pair(ADDRESS, again=True))
    assert (name, "bluetoothctl remove" in reason) == ("PairingFailed", True)
    assert (own.bonded, other.bonded) == (False, True)
    assert own.connects
    assert await caller.call("GetBonds", "s", ADDRESS) == [[OTHER_ADAPTER], [ADAPTER, OTHER_ADAPTER]]


async def test_a_strangers_lost_bond_at_another_adapter_than_the_own_one_is_kept(
    bluez: FakeBluez, caller: Caller
) -> None:
    bluez.plug()
    bluez.add(camera := FakeGoPro(ADDRESS, bonded=True, tells_reason=True, adapter=OTHER_PATH))
    name, reason = await refused(caller.pair(ADDRESS, again=True))
    assert (name, "bluetoothctl remove" in reason) == ("PairingFailed", True)
    assert camera.bonded


async def test_the_link_at_another_adapter_is_not_taken_for_one_that_a_killed_process_has_left(
    bluez: FakeBluez, caller: Caller
) -> None:
    bluez.plug()
    left = FakeGoPro(ADDRESS, connected=True, resolved=True)
    other = FakeGoPro(ADDRESS, bonded=True, knows_host=True, connected=True, adapter=OTHER_PATH)
    bluez.add(left)
    bluez.hear(left)
    bluez.add(other)
    await caller.call("EndLinks", "ao", [left.path, "/org/bluez/hci0/dev_D4_32_60_00_10_09"])
    await until(lambda: not left.connected)
    await caller.connection.round_trip()
    assert other.connected


async def test_whether_there_is_a_bond_is_told_once_a_cancelled_pairing_has_removed_its_own(
    bluez: FakeBluez, caller: Caller
) -> None:
    bluez.add(camera := FakeGoPro(ADDRESS, busy_answers=100_000))
    bluez.hear(camera)
    pairing = asyncio.create_task(caller.pair(ADDRESS))
    await until(lambda: camera.bonded and camera.busy_answers < 100_000)
    bluez.removes.clear()
    cancelling = asyncio.create_task(caller.call("Cancel", "s", ADDRESS))
    asking = asyncio.create_task(caller.is_bonded(ADDRESS))
    await until(lambda: "RemoveDevice" in bluez.calls)
    await caller.call("GetStatus")
    await caller.call("GetStatus")
    assert not asking.done()
    bluez.removes.set()
    assert not await asking
    await cancelling
    assert (await refused(pairing))[0] == "Cancelled"


async def test_that_a_bond_is_made_is_told_before(bluez: FakeBluez, caller: Caller) -> None:
    camera = FakeGoPro(ADDRESS, ignores_pair=True)
    bluez.add(camera)
    bluez.hear(camera)
    pairing = asyncio.create_task(caller.pair(ADDRESS))
    await until(lambda: "Pair" in bluez.calls)
    await caller.connection.round_trip()
    assert caller.bonding == [(ADDRESS, ADAPTER)]
    await caller.call("Cancel", "s", ADDRESS)
    await refused(pairing)


async def test_a_bond_of_others_is_used_and_told_to_nobody(bluez: FakeBluez, caller: Caller) -> None:
    bluez.add(FakeGoPro(ADDRESS, bonded=True, knows_host=True))
    await caller.pair(ADDRESS)
    assert caller.bonding == []


# -- services that come later


async def test_a_bonded_camera_that_has_become_a_keyboard_is_refused_before_it_is_connected(
    bluez: FakeBluez, caller: Caller
) -> None:
    bluez.add(camera := FakeGoPro(ADDRESS, bonded=True, knows_host=True, further=(KEYBOARD,)))
    assert await refused(caller.wake(ADDRESS)) == ("WakeFailed", UNFIT)
    sent = caller.call("Command", "sss", ADDRESS, "gopro", "start-recording")
    assert await refused(sent) == ("DeviceNotReachable", UNFIT)
    assert await refused(caller.pair(ADDRESS)) == ("PairingFailed", UNFIT)
    assert camera.connects == 0
    assert set(caller.unfit) == {(ADDRESS, UNFIT)}


async def test_a_camera_that_becomes_a_keyboard_while_it_is_woken_is_disconnected_and_told(
    bluez: FakeBluez, caller: Caller
) -> None:
    bluez.add(camera := FakeGoPro(ADDRESS, bonded=True, knows_host=True, busy_answers=1000))
    waking = asyncio.create_task(caller.wake(ADDRESS))
    await until(lambda: camera.busy_answers < 1000)
    bluez.gain(camera, KEYBOARD)
    assert await refused(waking) == ("WakeFailed", UNFIT)
    await until(lambda: not camera.connected)
    assert caller.unfit[0] == (ADDRESS, UNFIT)


async def test_a_camera_that_becomes_a_keyboard_while_it_is_kept_awake_is_disconnected_and_told(
    bluez: FakeBluez, service: CameraService, caller: Caller
) -> None:
    bluez.add(camera := FakeGoPro(ADDRESS, bonded=True, knows_host=True))
    await caller.wake(ADDRESS)
    bluez.gain(camera, assigned(0x1850))
    await until(lambda: not camera.connected)
    await until(lambda: caller.unfit)
    assert caller.unfit[0][0] == ADDRESS
    await until(lambda: not is_at_work(service))


async def test_what_another_bonded_device_becomes_is_none_of_the_hubs_business(
    bluez: FakeBluez, caller: Caller
) -> None:
    device = FakeCamera(ADDRESS, "K380", (assigned(0x180F),), bonded=True, connected=True, resolved=True)
    bluez.add(device)
    await caller.call("GetStatus")
    bluez.gain(device, KEYBOARD)
    await caller.connection.round_trip()
    await caller.call("GetStatus")
    assert device.connected
    assert caller.unfit == []
