"""Which address the hub gives to which device, and when."""

from __future__ import annotations

import asyncio
from ipaddress import IPv4Network

import structlog

from tests.daemon.manager.conftest import Bench, make_bench
from tests.store_in_memory import StoreInMemory
from tests.virtual_time import VirtualTimeLoop
from wifimgrd.daemon.manager.settings import HubSettings
from wifimgrd.domain.addresses import AddressPlan
from wifimgrd.domain.device import DeviceId


async def started(network: str, store: StoreInMemory | None = None) -> Bench:
    plan = AddressPlan(IPv4Network(network) if network else None)
    bench = make_bench(HubSettings(connect_on_create=False, addresses=plan), store)
    await bench.hub.start()
    return bench


def addresses(bench: Bench) -> dict[DeviceId, str]:
    return {status.device.id: status.address for status in bench.hub.device_statuses()}


def test_a_device_keeps_its_address_for_life() -> None:
    async def test() -> None:
        bench = await started("10.77.0.0/24")
        first, second = await bench.create(1), await bench.create(2)
        await bench.hub.remove(first)
        third = await bench.create(3)
        await bench.hub.stop()
        again = await started("10.77.0.0/24", bench.store)
        assert addresses(again) == {second: "10.77.0.2", third: "10.77.0.3"}
        await again.hub.stop()

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        runner.run(test())


def test_the_address_of_a_removed_device_is_reused_after_all_others() -> None:
    async def test() -> None:
        bench = await started("10.77.0.0/29")
        first, second = await bench.create(1), await bench.create(2)
        await bench.hub.remove(second)
        third = await bench.create(3)
        assert addresses(bench) == {first: "10.77.0.1", third: "10.77.0.3"}
        await bench.hub.remove(third)
        await bench.hub.stop()
        again = await started("10.77.0.0/29", bench.store)
        for number in (4, 5, 6):
            await again.create(number)
        assert list(addresses(again).values()) == ["10.77.0.1", "10.77.0.4", "10.77.0.5", "10.77.0.2"]
        await again.hub.stop()

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        runner.run(test())


def test_where_the_network_is_full_a_device_waits_for_one_to_be_removed() -> None:
    async def test() -> None:
        bench = await started("10.77.0.0/30")
        first, second = await bench.create(1), await bench.create(2)
        assert addresses(bench) == {first: "10.77.0.1", second: ""}
        bench.story.forget()
        await bench.hub.remove(first)
        assert bench.story.reported == ["1 removed", "2 updated"]
        assert bench.story.devices[second].address == "10.77.0.1"
        await bench.hub.stop()

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        runner.run(test())


def test_switched_off_no_address_is_shown_and_none_is_forgotten() -> None:
    async def test() -> None:
        bench = await started("10.77.0.0/24")
        device = await bench.create()
        await bench.hub.stop()
        off = await started("", bench.store)
        assert addresses(off) == {device: ""}
        await off.hub.stop()
        on = await started("10.77.0.0/24", bench.store)
        assert addresses(on) == {device: "10.77.0.1"}
        await on.hub.stop()

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        runner.run(test())


def test_the_devices_that_no_address_is_left_for_are_in_the_journal() -> None:
    async def warnings(network: str, store: StoreInMemory) -> list[tuple[list[DeviceId], str]]:
        with structlog.testing.capture_logs() as logs:
            bench = await started(network, store)
            await bench.hub.stop()
        return [(log["devices"], log["reason"]) for log in logs if log["event"] == "addresses_exhausted"]

    async def test() -> None:
        bench = await started("")
        _, *others = [await bench.create(number) for number in (1, 2, 3)]
        await bench.hub.stop()
        assert await warnings("", bench.store) == []
        assert await warnings("10.77.0.0/30", bench.store) == [
            (others, "all addresses of 10.77.0.0/30 are assigned")
        ]
        assert await warnings("10.77.0.0/29", bench.store) == []

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        runner.run(test())


def test_a_new_device_that_no_address_is_left_for_is_in_the_journal() -> None:
    async def test() -> None:
        bench = await started("10.77.0.0/30")
        with structlog.testing.capture_logs() as logs:
            await bench.create(1)
            assert [log for log in logs if log["event"] == "addresses_exhausted"] == []
            await bench.create(2)
        reasons = [log["reason"] for log in logs if log["event"] == "addresses_exhausted"]
        assert reasons == ["all addresses of 10.77.0.0/30 are assigned"]
        await bench.hub.stop()

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        runner.run(test())
