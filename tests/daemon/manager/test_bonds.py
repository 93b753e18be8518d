"""Bonds that the hub has made are its own; those of other programs of this host are never removed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any

import pytest
from structlog.testing import capture_logs

from tests.daemon.manager.conftest import Bench, RunOnBench
from tests.daemon.manager.test_power import GOPRO, asleep, fails, is_paired, paired, status
from wifimgrd.domain.device import DeviceId, Passphrase
from wifimgrd.domain.errors import BluetoothUnavailable, InternalError, NotPaired, PairingFailed
from wifimgrd.domain.events import OperationFailed
from wifimgrd.domain.power import Advertiser, PairedCamera
from wifimgrd.simulator._bluetooth import ADAPTER

OTHER_ADAPTER = "02:00:00:00:00:B2"
ABSENT = "02:00:00:00:00:99"
KEYBOARD = "it also says that it is a keyboard"


async def address_of_gopro(bench: Bench) -> str:
    await bench.hub.bluetooth.search(5)
    return next(one.address for one in bench.hub.bluetooth.records() if one.name == "GoPro 0001")


async def bonded_by_others(bench: Bench) -> str:
    """A camera that another program of this host has bonded with; its address."""
    address = await address_of_gopro(bench)
    bench.world.bluetooth._set_bonds({address})
    return address


def bonds(bench: Bench) -> set[str]:
    """Those of the host."""
    return bench.world.bluetooth._bonds


async def settled(bench: Bench) -> None:
    await asyncio.sleep(1)
    assert not bench.hub._bonds._ending


async def unpair(bench: Bench, device: DeviceId) -> None:
    await bench.hub.bluetooth.unpair(device)
    assert not status(bench, device).device.bluetooth_address


async def remove(bench: Bench, device: DeviceId) -> None:
    await bench.hub.remove(device)


async def pair_another(bench: Bench, device: DeviceId) -> None:
    other = "02:00:00:00:00:01"

    async def pair(_: str, __: str, *, replaces: bool) -> PairedCamera:
        assert not replaces
        bench.hub._waking.bonding(other, ADAPTER)
        bonds(bench).add(other)
        return PairedCamera(GOPRO["ssid"].encode(), Passphrase(GOPRO["password"]))

    bench.world.bluetooth.pair = pair  # type: ignore[method-assign, assignment]
    bench.hub._waking.advertised([Advertiser(other, "GoPro 0002", "fea6")])
    await bench.hub.bluetooth.pair(device, wait=True, address=other)
    bonds(bench).remove(other)


async def become_unfit(bench: Bench, device: DeviceId) -> None:
    bench.hub._waking.camera_unfit(status(bench, device).device.bluetooth_address, KEYBOARD)


@pytest.mark.parametrize("end", [unpair, remove, pair_another, become_unfit])
@pytest.mark.parametrize("is_own", [True, False])
def test_a_bond_ends_with_what_it_was_for_if_the_hub_has_made_it(
    on_bench: RunOnBench, end: Any, is_own: bool
) -> None:
    async def test(bench: Bench) -> None:
        device = await asleep(bench)
        address = await (address_of_gopro(bench) if is_own else bonded_by_others(bench))
        await bench.hub.bluetooth.pair(device, wait=True)
        assert bench.store.made_bonds == ({address: ADAPTER} if is_own else {})
        await end(bench, device)
        await settled(bench)
        assert bonds(bench) == (set() if is_own else {address})
        assert address not in bench.store.made_bonds

    on_bench(test)


@pytest.mark.parametrize("is_own", [True, False])
def test_a_registration_that_fails_leaves_the_bonds_as_they_were(on_bench: RunOnBench, is_own: bool) -> None:
    async def test(bench: Bench) -> None:
        async def add(*_: Any) -> None:
            raise InternalError("the disk is full")

        address = await (address_of_gopro(bench) if is_own else bonded_by_others(bench))
        before = set(bonds(bench))
        bench.store.add = add  # type: ignore[method-assign, assignment]
        await fails(bench.hub.create({"bluetooth_address": address}), InternalError, "full")
        await settled(bench)
        assert (bonds(bench), bench.store.made_bonds) == (before, {})

    on_bench(test)


def test_that_a_bond_is_the_hubs_is_on_disk_before_it_is_made(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device, pair, known = await asleep(bench), bench.world.bluetooth.pair, list[dict[str, str]]()

        async def observed(address: str, service: str, *, replaces: bool) -> PairedCamera:
            known.append(dict(bench.store.made_bonds))
            return await pair(address, service, replaces=replaces)

        bench.world.bluetooth.pair = observed  # type: ignore[method-assign]
        await bench.hub.bluetooth.pair(device, wait=True)
        address = status(bench, device).device.bluetooth_address
        assert known == [{address: ""}]
        assert bench.store.made_bonds == {address: ADAPTER}

    on_bench(test)


def test_a_pairing_that_fails_or_ends_early_claims_no_bond(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await asleep(bench)
        pairing = asyncio.create_task(bench.hub.bluetooth.pair(device, wait=True))
        await asyncio.sleep(0.1)
        await bench.hub.bluetooth.unpair(device)
        await asyncio.wait({pairing})
        await settled(bench)
        assert bench.store.made_bonds == {}
        bench.world.set_fault("radio-trouble", {"ssid": GOPRO["ssid"]})
        await fails(bench.hub.bluetooth.pair(device, wait=True), PairingFailed)
        await settled(bench)
        assert bench.store.made_bonds == {}

    on_bench(test)


def test_a_pairing_that_fails_keeps_the_good_bond_of_before(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await paired(bench)
        address = status(bench, device).device.bluetooth_address
        bench.world.set_fault("radio-trouble", {"ssid": GOPRO["ssid"]})
        await fails(bench.hub.bluetooth.pair(device, wait=True), PairingFailed)
        await settled(bench)
        assert bonds(bench) == set(bench.store.made_bonds) == {address}

    on_bench(test)


@pytest.mark.parametrize("is_own", [True, False])
def test_a_lost_bond_is_replaced_only_if_the_hub_has_made_it(on_bench: RunOnBench, is_own: bool) -> None:
    async def test(bench: Bench) -> None:
        device = await asleep(bench)
        if not is_own:
            await bonded_by_others(bench)
        await bench.hub.bluetooth.pair(device, wait=True)
        bench.world.set_fault("bond-lost", {"ssid": GOPRO["ssid"]})
        again = bench.hub.bluetooth.pair(device, wait=True)
        await (again if is_own else fails(again, PairingFailed, "has not made the bond"))
        assert len(bonds(bench)) == 1

    on_bench(test)


def test_what_is_left_of_an_earlier_pairing_is_removed_once_bluetooth_is_there(on_bench: RunOnBench) -> None:
    """As after a power cut while a camera was paired, or a removal while the adapter was not there."""

    async def test(bench: Bench) -> None:
        device = await paired(bench)
        address = status(bench, device).device.bluetooth_address
        bench.world.bluetooth._set_bonds({address, ABSENT})
        bench.world.set_fault("bluetooth-off", {})
        await bench.hub.remove(device)
        await settled(bench)
        assert (bonds(bench), bench.store.made_bonds) == ({address, ABSENT}, {address: ADAPTER})
        bench.world.set_fault("bluetooth-off", {"off": True})
        await settled(bench)
        assert (bonds(bench), bench.store.made_bonds) == ({ABSENT}, {})

    on_bench(test)


def test_a_bond_stays_the_hubs_while_its_adapter_is_not_there(on_bench: RunOnBench) -> None:
    """A host with two, of which one is pulled."""

    async def test(bench: Bench) -> None:
        pulled, asked = [True], list[str]()

        async def require(adapter: str) -> None:
            asked.append(adapter)
            if pulled[0]:
                raise BluetoothUnavailable(f"the Bluetooth adapter {adapter} is not there")

        async def has_bond(address: str, adapter: str = "") -> bool:
            await require(adapter)
            return address in bonds(bench)

        async def unpair(address: str, adapter: str = "") -> None:
            await require(adapter)
            bonds(bench).discard(address)

        async def pair(*_: object, **__: object) -> PairedCamera:
            raise PairingFailed("the camera refused the pairing")

        device, bluetooth = await paired(bench), bench.world.bluetooth
        address = status(bench, device).device.bluetooth_address
        bluetooth.has_bond, bluetooth.unpair = has_bond, unpair  # type: ignore[method-assign]
        bluetooth.pair = pair  # type: ignore[method-assign]
        await fails(bench.hub.bluetooth.pair(device, wait=True, address=address), PairingFailed)
        await bench.hub.remove(device)
        await settled(bench)
        assert (bonds(bench), bench.store.made_bonds) == ({address}, {address: ADAPTER})
        pulled[0] = False
        bench.hub._pairing.bluetooth_ready(None)
        await settled(bench)
        assert (bonds(bench), bench.store.made_bonds) == (set(), {})
        assert set(asked) == {ADAPTER}

    on_bench(test)


def test_a_bond_that_another_program_makes_meanwhile_outlives_a_pairing_that_fails(
    on_bench: RunOnBench,
) -> None:
    async def test(bench: Bench) -> None:
        device = await asleep(bench)

        async def pair(address: str, *_: object, **__: object) -> PairedCamera:
            bonds(bench).add(address)
            raise PairingFailed("the camera is out of range")

        bench.world.bluetooth.pair = pair  # type: ignore[method-assign]
        await fails(bench.hub.bluetooth.pair(device, wait=True), PairingFailed)
        await settled(bench)
        assert (len(bonds(bench)), bench.store.made_bonds) == (1, {})

    on_bench(test)


def test_a_bond_that_is_made_after_its_pairing_has_ended_here_is_removed(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        address = await bonded_by_others(bench)
        bench.hub._waking.bonding(address, OTHER_ADAPTER)
        await settled(bench)
        assert (bonds(bench), bench.store.made_bonds) == (set(), {})

    on_bench(test)


def test_a_bond_that_somebody_else_has_removed_is_the_hubs_no_longer(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await paired(bench)
        bonds(bench).clear()
        await fails(bench.hub.bluetooth.wake(device, wait=True), NotPaired)
        assert bench.store.made_bonds == {}
        await bonded_by_others(bench)
        await bench.hub.remove(device)
        await settled(bench)
        assert len(bonds(bench)) == 1

    on_bench(test)


async def not_paired(bench: Bench, work: Awaitable[object], match: str) -> None:
    async def pair(*_: object, **__: object) -> PairedCamera:
        pytest.fail("it was to be paired")

    bench.world.bluetooth.pair = pair  # type: ignore[method-assign]
    await fails(work, PairingFailed, match)
    assert bench.store.made_bonds == {}


def test_an_address_at_which_no_camera_of_the_model_is_heard_is_not_paired(on_bench: RunOnBench) -> None:
    """It may be that of a keyboard of this host."""

    async def test(bench: Bench) -> None:
        device = await asleep(bench)
        pairing = bench.hub.bluetooth.pair(device, wait=True, address=ABSENT)
        await not_paired(bench, pairing, f"no GoPro HERO12 with the address {ABSENT} is in range")
        await bench.hub.bluetooth.search(5)
        theta = next(one.address for one in bench.hub.bluetooth.records() if one.name == "12345678")
        pairing = bench.hub.bluetooth.pair(device, wait=True, address=theta)
        await not_paired(bench, pairing, "no GoPro HERO12")

    on_bench(test)


def test_a_camera_that_is_more_than_a_camera_is_told_to_people(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await paired(bench)
        address = status(bench, device).device.bluetooth_address
        with capture_logs() as logged:
            bench.hub._waking.camera_unfit(address, KEYBOARD)
            bench.hub._waking.camera_unfit(ABSENT, KEYBOARD)
            await settled(bench)
        [said] = [one for one in logged if one["event"] == "camera_unfit"]
        assert (said["log_level"], said["device"], said["reason"]) == ("warning", device, KEYBOARD)
        [failed] = bench.story.of(OperationFailed)
        assert (failed.operation, failed.code, failed.message) == ("pair", "pairing-failed", KEYBOARD)
        assert not is_paired(bench, device)
        await fails(bench.hub.bluetooth.wake(device, wait=True), NotPaired)

    on_bench(test)


def test_that_a_camera_is_more_than_a_camera_is_told_once_for_each_bond_and_reason(
    on_bench: RunOnBench,
) -> None:
    async def test(bench: Bench) -> None:
        device = await asleep(bench)
        address = await bonded_by_others(bench)
        await bench.hub.bluetooth.pair(device, wait=True)

        async def told(reason: str) -> int:
            for _ in range(5):
                bench.hub._waking.camera_unfit(address, reason)
                await settled(bench)
            return len(bench.story.of(OperationFailed))

        assert await told(KEYBOARD) == 1
        assert await told("it also says that it is a headset") == 2
        await bench.hub.bluetooth.pair(device, wait=True)
        assert await told("it also says that it is a headset") == 3

    on_bench(test)
