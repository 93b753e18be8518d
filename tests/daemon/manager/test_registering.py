"""Registering cameras over Bluetooth: the network is said by the camera, and a repeat makes no second one."""

from __future__ import annotations

import asyncio

import pytest
from structlog.testing import capture_logs

from tests.daemon.manager.conftest import Bench, RunOnBench
from tests.daemon.manager.test_power import GOPRO, asleep, fails, paired, status
from wifimgrd.domain.device import Device, DeviceId, Passphrase
from wifimgrd.domain.errors import (
    BluetoothUnavailable,
    Busy,
    Cancelled,
    IdempotencyKeyReused,
    InvalidRequest,
    PairingFailed,
)
from wifimgrd.domain.power import Advertiser, PairedCamera


async def address_of(bench: Bench, name: str = "GoPro 0001") -> str:
    """The address of a camera in pairing mode."""
    await bench.hub.bluetooth.search(1)
    return next(one.address for one in bench.hub.bluetooth.records() if one.name == name)


def create(bench: Bench, address: str, **fields: object) -> asyncio.Task[DeviceId]:
    """Begin to register a camera by its address."""
    return asyncio.create_task(bench.hub.create({"bluetooth_address": address} | fields))


async def paired_as(bench: Bench, number: int, model: str, **fields: object) -> Device:
    """The device of another GoPro, which says this model when it is paired."""
    network = f"GP2514001{number}".encode()
    traits = {"bluetooth": "gopro", "bluetooth_name": f"GoPro 001{number}", "camera_model": model}
    bench.world.add_camera(network, "gopro-pass-2", traits)
    address = await address_of(bench, f"GoPro 001{number}")
    return status(bench, await bench.hub.create({"bluetooth_address": address} | fields)).device


def test_a_camera_is_registered_without_typing(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        address = await address_of(bench)
        device = await bench.hub.create({"bluetooth_address": address})
        created = status(bench, device).device
        assert (created.codename, created.ssid.text) == ("gopro-hero12", "GP25140001")
        assert (await bench.store.passphrase(device)).reveal() == "gopro-pass-1"
        await bench.hub.connections.connect(device, wait=True)
        await fails(bench.hub.create({"bluetooth_address": address}), PairingFailed, "GP25140001")

    on_bench(test)


def test_a_camera_of_no_known_model_is_registered_as_the_newest_with_its_own_name(
    on_bench: RunOnBench,
) -> None:
    async def test(bench: Bench) -> None:
        first = await paired_as(bench, 1, "HERO99 Black")
        second = await paired_as(bench, 2, "HERO99 Black")
        assert (first.name, first.codename) == ("HERO99 Black", "gopro-mission-1-pro")
        assert (second.name, second.codename) == ("HERO99 Black #2", "gopro-mission-1-pro")

    on_bench(test)


def test_a_camera_that_names_no_model_is_called_by_its_network(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        created = await paired_as(bench, 1, "")
        assert (created.name, created.codename) == ("GP25140011", "gopro-mission-1-pro")

    on_bench(test)


def test_a_client_that_names_a_model_has_that_one(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        created = await paired_as(bench, 1, "HERO99 Black", codename="gopro-hero9")
        assert (created.name, created.codename) == ("GP25140011", "gopro-hero9")

    on_bench(test)


def test_a_camera_that_was_registered_by_typing_is_not_registered_again(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await asleep(bench)
        address = await address_of(bench)
        assert await bench.hub.create({"bluetooth_address": address}) == device
        assert status(bench, device).device.bluetooth_address == address
        assert len(list(bench.hub.device_statuses())) == 1
        await bench.hub.connections.connect(device, wait=True)

    on_bench(test)


def test_the_network_of_a_camera_that_was_just_paired_may_be_received_later(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        looks: list[float] = []

        async def is_visible(*_: object, **__: object) -> bool:
            looks.append(asyncio.get_running_loop().time())
            return len(looks) > 4

        bench.world.backend.is_visible = is_visible  # type: ignore[method-assign]
        address = await address_of(bench)
        device = await bench.hub.create({"bluetooth_address": address})
        await bench.hub.connections.connect(device, wait=True)
        assert len(looks) == 5
        await bench.hub.connections.disconnect(device)
        await bench.hub.connections.connect(device, wait=True)
        assert len(looks) == 5

    on_bench(test)


def test_a_connected_camera_is_not_kept_awake_over_bluetooth(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        released: list[str] = []

        async def release(key: str) -> None:
            released.append(key)

        bench.world.bluetooth.release = release  # type: ignore[method-assign]
        address = await address_of(bench)
        device = await bench.hub.create({"bluetooth_address": address})
        await bench.hub.connections.connect(device, wait=True)
        await asyncio.sleep(0)
        assert released == [address]

    on_bench(test)


def test_a_camera_that_is_not_there_registers_nothing(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        await fails(bench.hub.create({"bluetooth_address": "F4:DD:00:00:00:00"}), PairingFailed, "in range")
        assert list(bench.hub.device_statuses()) == []

    on_bench(test)


def test_a_network_beside_a_bluetooth_address_is_refused(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        fields = {"bluetooth_address": "F4:DD:00:00:00:00", "ssid": "GP25140001"}
        await fails(bench.hub.create(fields), InvalidRequest, "ssid")

    on_bench(test)


def test_a_repeat_of_a_key_joins_the_pairing_that_runs(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        address = await address_of(bench)
        running = create(bench, address, idempotency_key="key")
        await asyncio.sleep(0.1)
        repeats = [create(bench, address, idempotency_key="key") for _ in range(3)]
        assert len(set(await asyncio.gather(running, *repeats))) == 1
        assert len(list(bench.hub.device_statuses())) == 1

    on_bench(test)


def test_a_key_of_a_pairing_that_runs_is_refused_for_another_request(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        address = await address_of(bench)
        running = create(bench, address, idempotency_key="key")
        await asyncio.sleep(0.1)
        await fails(create(bench, address, idempotency_key="key", name="Front"), IdempotencyKeyReused)
        typed = {"connection_type": "wifi", "idempotency_key": "key"} | GOPRO
        await fails(bench.hub.create(typed), IdempotencyKeyReused)
        device = await running
        await fails(create(bench, address, idempotency_key="key", priority=1), IdempotencyKeyReused)
        assert await create(bench, address, idempotency_key="key") == device

    on_bench(test)


def test_the_key_of_a_device_that_was_there_before_is_known_after(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await asleep(bench, idempotency_key="typed")
        address = await address_of(bench)
        assert await create(bench, address, idempotency_key="paired") == device
        assert await create(bench, address, idempotency_key="paired") == device
        await fails(create(bench, address, idempotency_key="paired", name="Front"), IdempotencyKeyReused)
        typed = {"connection_type": "wifi", "idempotency_key": "typed"} | GOPRO
        assert await bench.hub.create(typed) == device
        await bench.hub.update(device, {"password": "another-password"})
        assert await create(bench, address, idempotency_key="paired") == device

    on_bench(test)


def test_a_name_that_is_taken_is_refused_before_the_camera_is_paired(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        async def pair(*_: object, **__: object) -> PairedCamera:
            pytest.fail("it was paired")

        await bench.create(1, name="Front")
        address = await address_of(bench)
        bench.world.bluetooth.pair = pair  # type: ignore[method-assign]
        await fails(create(bench, address, name="Front"), InvalidRequest, "name")

    on_bench(test)


def test_a_stop_ends_a_pairing_and_leaves_neither_a_device_nor_keys(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        address = await address_of(bench)
        running = create(bench, address)
        await asyncio.sleep(0.1)
        await bench.hub.stop_work()
        await fails(running, Cancelled)
        assert not list(bench.hub.device_statuses())

    on_bench(test)


def test_a_camera_that_is_being_paired_is_nobody_elses(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        address = await address_of(bench)
        device = await asleep(bench)
        pairing = asyncio.create_task(bench.hub.bluetooth.pair(device, wait=True, address=address))
        await asyncio.sleep(0.1)
        await fails(create(bench, address), Busy, "is being paired")
        await pairing
        await bench.hub.bluetooth.unpair(device)
        creating = create(bench, address)
        await asyncio.sleep(0.1)
        await fails(bench.hub.bluetooth.pair(device, wait=True, address=address), Busy, "is being paired")
        assert await creating == device
        assert bench.world.bluetooth.bonded == {address}

    on_bench(test)


def test_a_renamed_network_does_not_cost_a_paired_camera_its_keys(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await paired(bench)
        address = status(bench, device).device.bluetooth_address
        await bench.hub.update(device, {"ssid": "Front"})
        await fails(bench.hub.bluetooth.pair(device, wait=True), PairingFailed, 'and not "Front"')
        assert status(bench, device).device.bluetooth_address == address
        assert bench.world.bluetooth.bonded == {address}

    on_bench(test)


def test_another_camera_takes_the_place_of_a_paired_one_whose_keys_go(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await paired(bench)
        before, other = status(bench, device).device.bluetooth_address, "02:00:00:00:00:01"

        async def pair(address: str, _: str, __: object) -> PairedCamera:
            bench.world.bluetooth.bonded.add(address)
            return PairedCamera(GOPRO["ssid"].encode(), Passphrase(GOPRO["password"]))

        bench.world.bluetooth.pair = pair  # type: ignore[method-assign, assignment]
        bench.bluetooth_events.advertised([Advertiser(other, "GoPro 0002", "fea6")])
        await bench.hub.bluetooth.pair(device, wait=True, address=other)
        await asyncio.sleep(0.1)
        assert status(bench, device).device.bluetooth_address == other
        assert before not in bench.world.bluetooth.bonded

    on_bench(test)


def test_keys_that_cannot_be_removed_are_reported(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        async def unpair(*_: str) -> None:
            raise BluetoothUnavailable("there is no adapter")

        device = await paired(bench)
        address = status(bench, device).device.bluetooth_address
        bench.world.bluetooth.unpair = unpair  # type: ignore[method-assign, assignment]
        with capture_logs() as logged:
            await bench.hub.remove(device)
            await asyncio.sleep(0.1)
        [left] = [one for one in logged if one["event"] == "keys_left"]
        assert (left["address"], left["reason"]) == (address, "there is no adapter")

    on_bench(test)
