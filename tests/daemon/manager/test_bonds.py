"""Bonds that the hub has made are its own; those of other programs of this host are never removed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Collection
from typing import Any

import pytest
from structlog.testing import capture_logs

from tests.daemon.manager.conftest import Bench, RunOnBench
from tests.daemon.manager.test_power import GOPRO, asleep, fails, is_paired, paired, status
from wifimgrd.domain.bonds import UNKNOWN, Claim, HostBonds
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
    bench.world.bluetooth.bonded = {address}
    return address


def bonds(bench: Bench) -> set[str]:
    """Those of the host."""
    return bench.world.bluetooth.bonded


def made(bench: Bench) -> dict[str, set[str]]:
    """On disk: the adapters of the hub's bonds, by camera."""
    return {address: set(claim.own) for address, claim in bench.store.made_bonds.items()}


async def settled(bench: Bench) -> None:
    await asyncio.sleep(1)
    assert not [one for one in asyncio.all_tasks() if one.get_name().startswith("test/bonds/")]


def bluetooth_ready(bench: Bench) -> None:
    """As once an adapter is plugged in, or bluetoothd runs again."""
    bench.bluetooth_events.bluetooth_changed(bench.world.bluetooth.status)


async def unpair(bench: Bench, device: DeviceId) -> None:
    await bench.hub.bluetooth.unpair(device)
    assert not status(bench, device).device.bluetooth_address


async def remove(bench: Bench, device: DeviceId) -> None:
    await bench.hub.remove(device)


async def pair_another(bench: Bench, device: DeviceId) -> None:
    other = "02:00:00:00:00:01"

    async def pair(_: str, __: str, own: Collection[str]) -> PairedCamera:
        assert not own
        bench.bluetooth_events.bonding(other, ADAPTER)
        bonds(bench).add(other)
        return PairedCamera(GOPRO["ssid"].encode(), Passphrase(GOPRO["password"]))

    bench.world.bluetooth.pair = pair  # type: ignore[method-assign, assignment]
    bench.bluetooth_events.advertised([Advertiser(other, "GoPro 0002", "fea6")])
    await bench.hub.bluetooth.pair(device, wait=True, address=other)
    bonds(bench).remove(other)


async def become_unfit(bench: Bench, device: DeviceId) -> None:
    bench.bluetooth_events.camera_unfit(status(bench, device).device.bluetooth_address, KEYBOARD)


@pytest.mark.parametrize("end", [unpair, remove, pair_another, become_unfit])
@pytest.mark.parametrize("is_own", [True, False])
def test_a_bond_ends_with_what_it_was_for_if_the_hub_has_made_it(
    on_bench: RunOnBench, end: Any, is_own: bool
) -> None:
    async def test(bench: Bench) -> None:
        device = await asleep(bench)
        address = await (address_of_gopro(bench) if is_own else bonded_by_others(bench))
        await bench.hub.bluetooth.pair(device, wait=True)
        assert made(bench) == ({address: {ADAPTER}} if is_own else {})
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
        device, pair, known = await asleep(bench), bench.world.bluetooth.pair, list[dict[str, set[str]]]()

        async def observed(address: str, service: str, own: Collection[str]) -> PairedCamera:
            known.append(made(bench))
            assert not own
            return await pair(address, service, own)

        bench.world.bluetooth.pair = observed  # type: ignore[method-assign]
        await bench.hub.bluetooth.pair(device, wait=True)
        address = status(bench, device).device.bluetooth_address
        assert known == [{address: {ADAPTER}}]
        assert made(bench) == {address: {ADAPTER}}

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
        bench.world.bluetooth.bonded = {address, ABSENT}
        bench.world.set_fault("bluetooth-off", {})
        await bench.hub.remove(device)
        await settled(bench)
        assert (bonds(bench), made(bench)) == ({address, ABSENT}, {address: {ADAPTER}})
        bench.world.set_fault("bluetooth-off", {"off": True})
        await settled(bench)
        assert (bonds(bench), bench.store.made_bonds) == ({ABSENT}, {})

    on_bench(test)


class Host:
    """One with two adapters, in place of the simulated one; `at` is that at which cameras are paired."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.bonded = set[tuple[str, str]]()
        self.adapters = {ADAPTER, OTHER_ADAPTER}
        self.at = ADAPTER
        self.fails = False
        """The next pairings do, after they have bonded."""
        self.leaves = False
        """What they have made is left."""
        self.has_begun = asyncio.Event()
        self.goes_on = asyncio.Event()
        self.goes_on.set()
        self.calls: list[str] = []
        bluetooth = bench.world.bluetooth
        for replaced in (self.pair, self.unpair, self.bonds):
            setattr(bluetooth, replaced.__name__, replaced)

    async def pair(self, address: str, _: str, __: object) -> PairedCamera:
        self.calls.append("pair")
        bond, is_new = (address, self.at), (address, self.at) not in self.bonded
        if is_new:
            self.bench.bluetooth_events.bonding(*bond)
        self.has_begun.set()
        await self.goes_on.wait()
        if self.leaves:
            self.bonded.add(bond)
        if self.fails:
            raise PairingFailed("the camera did not answer the pairing")
        self.bonded.add(bond)
        return PairedCamera(GOPRO["ssid"].encode(), Passphrase(GOPRO["password"]))

    async def unpair(self, address: str, adapter: str) -> None:
        if adapter not in self.adapters:
            raise BluetoothUnavailable(f"the Bluetooth adapter {adapter} is not there")
        self.calls += ["unpair"]
        await asyncio.sleep(0.1)
        self.calls += ["unpaired"]
        self.bonded.discard((address, adapter))

    async def bonds(self, address: str) -> HostBonds:
        bonded = {adapter for one, adapter in self.bonded if one == address}
        return HostBonds(frozenset(bonded & self.adapters), frozenset(self.adapters))


async def paired_host(bench: Bench) -> tuple[Host, DeviceId, str]:
    """A device whose camera is paired at ADAPTER; the camera's address."""
    host, device = Host(bench), await paired(bench)
    address = status(bench, device).device.bluetooth_address
    assert (host.bonded, made(bench)) == ({(address, ADAPTER)}, {address: {ADAPTER}})
    return host, device, address


async def upgraded_host(bench: Bench) -> tuple[Host, DeviceId, str]:
    """As `paired_host`, of a version that did not write at which adapter."""
    host, device, address = await paired_host(bench)
    await upgrade(bench, address)
    return host, device, address


async def upgrade(bench: Bench, address: str) -> None:
    """The hub begins anew with what a version has written that did not write at which adapter."""
    bench.store.made_bonds[address] = Claim(frozenset({UNKNOWN}))
    await bench.hub._bonds.load()


async def wake_fails(bench: Bench, device: DeviceId) -> None:
    async def wake(*_: object) -> None:
        raise NotPaired("the camera is not paired with this hub")

    bench.world.bluetooth.wake = wake  # type: ignore[method-assign, assignment]
    await fails(bench.hub.bluetooth.wake(device, wait=True), NotPaired)


@pytest.mark.parametrize("start", [paired_host, upgraded_host])
def test_a_bond_stays_the_hubs_while_its_adapter_is_not_there(on_bench: RunOnBench, start: Any) -> None:
    async def test(bench: Bench) -> None:
        host, device, address = await start(bench)
        host.adapters = {OTHER_ADAPTER}
        await wake_fails(bench, device)
        assert is_paired(bench, device) is (start is paired_host), "an adapter that is away says nothing"
        host.at, host.fails = OTHER_ADAPTER, True
        await fails(bench.hub.bluetooth.pair(device, wait=True, address=address), PairingFailed)
        await bench.hub.remove(device)
        await settled(bench)
        bluetooth_ready(bench)
        await settled(bench)
        assert host.bonded == {(address, ADAPTER)}
        host.adapters.add(ADAPTER)
        bluetooth_ready(bench)
        await settled(bench)
        assert (host.bonded, made(bench)) == (set(), {})

    on_bench(test)


def test_where_the_bonds_of_an_older_version_are_is_found_out_and_one_that_comes_later_is_anothers(
    on_bench: RunOnBench,
) -> None:
    async def test(bench: Bench) -> None:
        host, device, address = await upgraded_host(bench)
        bluetooth_ready(bench)
        await settled(bench)
        assert made(bench) == {address: {ADAPTER}}
        await upgraded_host_without_bond(bench, host, address)
        host.bonded.add((address, OTHER_ADAPTER))
        await bench.hub.remove(device)
        await settled(bench)
        assert host.bonded == {(address, OTHER_ADAPTER)}

    async def upgraded_host_without_bond(bench: Bench, host: Host, address: str) -> None:
        host.bonded.clear()
        await upgrade(bench, address)
        bluetooth_ready(bench)
        await settled(bench)

    on_bench(test)


def test_a_pairing_that_fails_at_another_adapter_leaves_the_bond_of_before(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        host, device, address = await paired_host(bench)
        host.adapters, host.at, host.fails = {OTHER_ADAPTER}, OTHER_ADAPTER, True
        await fails(bench.hub.bluetooth.pair(device, wait=True, address=address), PairingFailed)
        await settled(bench)
        assert made(bench) == {address: {ADAPTER}}
        host.fails = False
        await bench.hub.bluetooth.pair(device, wait=True, address=address)
        assert made(bench) == {address: {ADAPTER, OTHER_ADAPTER}}
        await fails(bench.hub.bluetooth.unpair(device), BluetoothUnavailable, ADAPTER)
        assert (host.bonded, made(bench)) == ({(address, ADAPTER)}, {address: {ADAPTER}})
        host.adapters.add(ADAPTER)
        await bench.hub.remove(device)
        await settled(bench)
        assert (host.bonded, made(bench)) == (set(), {})

    on_bench(test)


@pytest.mark.parametrize("leaves", [False, True])
def test_what_a_pairing_that_fails_has_made_or_removed_is_the_hubs_no_longer(
    on_bench: RunOnBench, leaves: bool
) -> None:
    async def test(bench: Bench) -> None:
        host, device, address = await paired_host(bench)
        host.fails, host.leaves = True, leaves
        host.goes_on.clear()
        host.has_begun.clear()
        pairing = asyncio.create_task(bench.hub.bluetooth.pair(device, wait=True, address=address))
        await host.has_begun.wait()
        host.bonded.clear()  # as the process has done it, to replace a lost one
        if leaves:
            bench.bluetooth_events.bonding(address, ADAPTER)
        host.goes_on.set()
        await fails(pairing, PairingFailed)
        await settled(bench)
        assert (host.bonded, made(bench)) == (set(), {})

    on_bench(test)


def test_a_strangers_bond_at_another_adapter_outlives_the_hubs(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        host, device, address = await paired_host(bench)
        host.bonded.add((address, OTHER_ADAPTER))
        await bench.hub.bluetooth.pair(device, wait=True, address=address)
        await bench.hub.bluetooth.unpair(device)
        assert (host.bonded, made(bench)) == ({(address, OTHER_ADAPTER)}, {})

    on_bench(test)


def test_a_bond_is_not_forgotten_while_it_is_made(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        host, device = Host(bench), await asleep(bench)
        host.goes_on.clear()
        pairing = asyncio.create_task(bench.hub.bluetooth.pair(device, wait=True))
        await host.has_begun.wait()
        [address] = made(bench)
        assert not await bench.hub._bonds.has_bond(address)
        bluetooth_ready(bench)
        await settled(bench)
        host.goes_on.set()
        await pairing
        assert (host.bonded, made(bench)) == ({(address, ADAPTER)}, {address: {ADAPTER}})
        assert "unpair" not in host.calls

    on_bench(test)


def test_a_bond_that_another_program_has_made_meanwhile_is_not_the_hubs(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        host, device = Host(bench), await asleep(bench)
        address = await address_of_gopro(bench)
        keep = bench.store.keep_bonds

        async def keep_slowly(*written: Any) -> None:
            await keep(*written)
            host.bonded.add((address, ADAPTER))

        bench.store.keep_bonds = keep_slowly  # type: ignore[method-assign, assignment]
        await bench.hub.bluetooth.pair(device, wait=True)
        assert made(bench) == {}
        bench.store.keep_bonds = keep  # type: ignore[method-assign]
        host.fails = True
        await fails(bench.hub.bluetooth.pair(device, wait=True), PairingFailed)
        await bench.hub.remove(device)
        await settled(bench)
        assert (host.bonded, host.calls) == ({(address, ADAPTER)}, ["pair", "pair"])

    on_bench(test)


def test_endings_come_one_after_another_and_before_the_next_pairing(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        host, device, address = await paired_host(bench)
        host.bonded.add((address, OTHER_ADAPTER))
        host.calls.clear()
        for adapter in (ADAPTER, OTHER_ADAPTER):
            bench.bluetooth_events.bonding(address, adapter)
        await bench.hub.bluetooth.pair(device, wait=True, address=address)
        assert host.calls == ["unpair", "unpaired"] * 2 + ["pair"]
        assert (host.bonded, made(bench)) == ({(address, ADAPTER)}, {address: {ADAPTER}})

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
        bench.bluetooth_events.bonding(address, ADAPTER)
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
            bench.bluetooth_events.camera_unfit(address, KEYBOARD)
            bench.bluetooth_events.camera_unfit(ABSENT, KEYBOARD)
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
                bench.bluetooth_events.camera_unfit(address, reason)
                await settled(bench)
            return len(bench.story.of(OperationFailed))

        assert await told(KEYBOARD) == 1
        assert await told("it also says that it is a headset") == 2
        await bench.hub.bluetooth.pair(device, wait=True)
        assert await told("it also says that it is a headset") == 3

    on_bench(test)
