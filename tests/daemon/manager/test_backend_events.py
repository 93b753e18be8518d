"""Memory, adapters and links that drifted apart, and agree again."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from itertools import count

import pytest

from tests.daemon.manager.conftest import Bench, RunOnBench
from wifimgrd.daemon.manager.hub import Hub
from wifimgrd.daemon.manager.settings import HubSettings
from wifimgrd.daemon.ports import AdapterListener
from wifimgrd.domain.device import BitRates, DeviceId, DeviceState, HeldLink
from wifimgrd.domain.errors import BackendUnavailable
from wifimgrd.domain.records import device_record
from wifimgrd.runtime.tasks import Tasks
from wifimgrd.simulator._adapters import SimulatedAdapters


class LateAdapters:
    """An AdapterSource that reports the adapters of a world only when the test calls for it."""

    def __init__(self, adapters: SimulatedAdapters) -> None:
        self._adapters = adapters
        self._listener: AdapterListener | None = None

    async def start(self, listener: AdapterListener) -> None:
        self._listener = listener

    async def report(self) -> None:
        assert self._listener is not None
        await self._adapters.start(self._listener)

    async def reset_port(self, name: str) -> None:
        await self._adapters.reset_port(name)

    async def power_port(self, name: str) -> None:
        await self._adapters.power_port(name)

    async def stop(self) -> None:
        await self._adapters.stop()


async def drifted(bench: Bench) -> None:
    """udev lost events, so others may have been missed."""
    bench.adapter_events.adapters_recounted()
    await asyncio.sleep(0.1)


def test_a_link_that_vanished_without_a_word_is_lost_and_the_others_stay(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        kept, gone = await bench.connected(1), await bench.connected(2)
        bench.world.backend.joined.drop("wlan1")
        bench.story.forget()
        await drifted(bench)
        assert bench.state(gone) is DeviceState.DISCONNECTED
        assert bench.code(gone) == "connection-lost"
        assert bench.state(kept) is DeviceState.CONNECTED
        assert [line for line in bench.story.reported if line.startswith(f"{kept} ")] == []

    on_bench(test)


def test_an_interrupted_link_that_is_found_up_is_connected_again(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await bench.connected(1)
        bench.world.power_off_camera(b"SIM-CAM-1", True)
        assert bench.state(device) is DeviceState.CONNECTING
        bench.world.backend.joined.listener = None  # the event of its return is lost
        bench.world.power_on_camera(b"SIM-CAM-1")
        await asyncio.sleep(1)
        bench.world.backend.joined.listener = bench.backend_events
        assert bench.state(device) is DeviceState.CONNECTING
        await drifted(bench)
        assert bench.state(device) is DeviceState.CONNECTED
        await asyncio.sleep(60)
        assert bench.state(device) is DeviceState.CONNECTED

    on_bench(test)


def test_a_link_whose_interruption_was_missed_is_reported_as_interrupted(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await bench.connected(1)
        bench.world.backend.joined.listener = None
        bench.world.power_off_camera(b"SIM-CAM-1", True)
        bench.world.backend.joined.listener = bench.backend_events
        assert bench.state(device) is DeviceState.CONNECTED
        await drifted(bench)
        assert bench.state(device) is DeviceState.CONNECTING
        assert bench.code(device) == "connection-lost"

    on_bench(test)


def test_a_start_before_udev_knows_its_adapters_drops_no_link(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await bench.connected(1)
        await bench.hub.stop()
        late = LateAdapters(bench.world.adapters)
        world = bench.world
        bench.hub = Hub(
            HubSettings(),
            world.backend,
            late,
            bench.store,
            [],
            lambda: 1,
            world.sockets,
            world.contact,
            Tasks("test"),
        )
        await bench.hub.start()
        assert state_of(bench.hub, device) is DeviceState.DISCONNECTED
        assert [held.device_id for held in await bench.world.backend.links()] == [device]
        await late.report()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert state_of(bench.hub, device) is DeviceState.CONNECTED

    on_bench(test)


def state_of(hub: Hub, device_id: DeviceId) -> DeviceState:
    return next(status.state for status in hub.device_statuses() if status.device.id == device_id)


def test_a_replugged_adapter_waits_for_the_backend_though_that_was_late_to_lose_it(
    on_bench: RunOnBench,
) -> None:
    async def test(bench: Bench) -> None:
        plan = bench.world.adapters.get("wlan0")
        assert plan is not None
        adapter, facts = plan.adapter, plan.facts
        adapters, backend = bench.adapter_events, bench.backend_events
        adapters.adapter_gone("wlan0")
        backend.interface_facts("wlan0", None)  # the backend comes after udev
        adapters.adapter_present(adapter)
        status = bench.story.interfaces["wlan0"]
        assert (status.state.value, status.reason) == ("unavailable", "not known to simulated yet")
        backend.interface_facts("wlan0", facts)
        assert bench.story.interfaces["wlan0"].state.value == "available"
        backend.interface_facts("wlan0", None)  # the backend loses one that udev still has
        assert bench.story.interfaces["wlan0"].state.value == "unavailable"
        backend.interface_facts("wlan0", facts)

    on_bench(test)


def test_bit_rates_are_published_in_steps_of_a_tenth(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await bench.connected(1)
        [held] = await bench.world.backend.links()
        published: list[BitRates] = []
        for tx_kbps in (100_000, 109_900, 110_000, 100_000, 99_000, 0, 6_000):
            rates = BitRates(tx_kbps, 1000)
            bench.backend_events.link_changed(held.interface, replace(held.link, rates=rates))
            link = bench.story.devices[device].link
            assert link is not None
            published.append(link.rates)
        assert [rates.tx_kbps for rates in published] == [
            100_000,
            100_000,
            110_000,
            110_000,
            99_000,
            0,
            6_000,
        ]
        assert {rates.rx_kbps for rates in published} == {1000}

    on_bench(test)


def test_another_channel_is_published_and_joined_next_time(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await bench.connected(1)
        [held] = await bench.world.backend.links()
        assert held.link.sighting is not None
        moved = replace(held.link.sighting, frequency_mhz=2462)
        bench.backend_events.link_changed(held.interface, replace(held.link, sighting=moved))
        status = bench.story.devices[device]
        assert status.link is not None
        assert status.link.sighting == status.device.sightings[0] == moved
        assert device_record(status).frequency == 2462

    on_bench(test)


def test_a_reading_of_the_link_to_the_old_network_says_nothing_of_the_new_one(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await bench.connected(1)
        await bench.hub.update(device, {"ssid": b"SIM-CAM-2", "password": "camera-pass-2"})
        [held] = await bench.world.backend.links()
        bench.backend_events.link_changed(held.interface, replace(held.link, signal_percent=31))
        assert bench.story.devices[device].device.sightings == ()

    on_bench(test)


def test_another_signal_is_published_and_kept(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await bench.connected(1)
        bench.world.set_fault("signal", {"ssid": "SIM-CAM-1", "percent": 31})
        link = bench.story.devices[device].link
        assert link is not None
        assert link.signal_percent == 30

    on_bench(test)


@pytest.mark.parametrize("failure", [BackendUnavailable("no answer in time"), None])
def test_links_that_could_not_be_read_once_are_read_again(
    on_bench: RunOnBench, monkeypatch: pytest.MonkeyPatch, failure: BackendUnavailable | None
) -> None:
    async def test(bench: Bench) -> None:
        device = await bench.connected(1)
        backend, reads = bench.world.backend, count()
        links = backend.links

        async def failing_once() -> Sequence[HeldLink]:
            if next(reads) == 0:
                if failure is not None:
                    raise failure
                await asyncio.Event().wait()
            return await links()

        bench.world.set_fault("backend-gone", {})
        await asyncio.sleep(30)
        monkeypatch.setattr(backend, "links", failing_once)
        bench.world.set_fault("backend-gone", {"off": True})
        await asyncio.sleep(120)
        assert bench.state(device) is DeviceState.CONNECTED

    on_bench(test)
