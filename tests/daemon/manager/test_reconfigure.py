"""Other settings while the hub runs: they count from then on, and no link is dropped for them."""

from __future__ import annotations

import asyncio

from tests.daemon.manager.conftest import Bench, RunOnBench
from tests.daemon.manager.test_reconnecting import CAMERA, LOST_FOR_GOOD_S
from wifimgrd.daemon.manager.settings import HubSettings
from wifimgrd.domain.allocator import AllocationRules
from wifimgrd.domain.device import DeviceState
from wifimgrd.domain.interface import InterfaceState


def test_an_excluded_interface_is_reported_and_a_link_on_it_stays(on_bench: RunOnBench) -> None:
    async def scenario(bench: Bench) -> None:
        device = await bench.connected(1)
        await bench.hub.reconfigure(HubSettings(rules=AllocationRules(exclude=("wlan0", "wlan1"))))
        states = {name: one.state for name, one in bench.story.interfaces.items()}
        assert states["wlan0"] is InterfaceState.IN_USE
        assert states["wlan1"] is InterfaceState.UNAVAILABLE
        assert states["wlan2"] is InterfaceState.AVAILABLE
        assert bench.state(device).value == "connected"
        await bench.hub.connections.disconnect(device)
        reported = [bench.story.interfaces["wlan0"].state]
        await bench.hub.reconfigure(HubSettings())
        reported.append(bench.story.interfaces["wlan0"].state)
        assert reported == [InterfaceState.UNAVAILABLE, InterfaceState.AVAILABLE]

    on_bench(scenario)


def test_a_new_device_waits_for_its_first_command_where_that_is_set_now(on_bench: RunOnBench) -> None:
    async def scenario(bench: Bench) -> None:
        await bench.hub.reconfigure(HubSettings(connect_on_create=False))
        device = await bench.create(1)
        assert bench.state(device).value == "disconnected"

    on_bench(scenario)


def test_lost_devices_are_brought_back_from_the_reload_on_that_asks_for_it(on_bench: RunOnBench) -> None:
    async def scenario(bench: Bench) -> None:
        await bench.hub.reconfigure(HubSettings(auto_reconnect=False))
        device = await bench.connected(1)
        bench.world.power_off_camera(CAMERA, orderly=True)
        await asyncio.sleep(LOST_FOR_GOOD_S)
        bench.world.power_on_camera(CAMERA)
        await asyncio.sleep(100)
        assert bench.state(device) is DeviceState.DISCONNECTED
        assert not bench.story.devices[device].lost_us
        await bench.hub.reconfigure(HubSettings())
        assert bench.story.devices[device].lost_us
        await asyncio.sleep(2)
        assert bench.state(device) is DeviceState.CONNECTED

    on_bench(scenario)


def test_lost_devices_are_looked_for_no_more_after_a_reload_that_ends_it(on_bench: RunOnBench) -> None:
    async def scenario(bench: Bench) -> None:
        device = await bench.connected(1)
        bench.world.power_off_camera(CAMERA, orderly=True)
        await asyncio.sleep(LOST_FOR_GOOD_S)
        assert bench.story.devices[device].lost_us
        await bench.hub.reconfigure(HubSettings(auto_reconnect=False))
        assert not bench.story.devices[device].lost_us
        bench.world.power_on_camera(CAMERA)
        await asyncio.sleep(100)
        assert bench.state(device) is DeviceState.DISCONNECTED

    on_bench(scenario)


def test_devices_that_somebody_disconnected_stay_so_through_a_reload(on_bench: RunOnBench) -> None:
    async def scenario(bench: Bench) -> None:
        device = await bench.connected(1)
        await bench.hub.connections.disconnect(device)
        await bench.hub.reconfigure(HubSettings(auto_reconnect=False))
        await bench.hub.reconfigure(HubSettings())
        await asyncio.sleep(100)
        assert bench.state(device) is DeviceState.DISCONNECTED

    on_bench(scenario)


def test_the_backend_is_told_which_interfaces_are_the_hubs_now(on_bench: RunOnBench) -> None:
    async def scenario(bench: Bench) -> None:
        told: list[str] = []

        async def claim(interface: str) -> None:
            told.append(f"{interface} claimed")

        async def release(interface: str) -> None:
            told.append(f"{interface} released")

        bench.world.backend.claim = claim  # type: ignore[method-assign]
        bench.world.backend.release = release  # type: ignore[method-assign]
        await bench.hub.reconfigure(HubSettings(rules=AllocationRules(exclude=("wlan1",))))
        await bench.hub.reconfigure(HubSettings(rules=AllocationRules(exclude=("wlan1",))))
        assert told == ["wlan1 released"]
        await bench.hub.reconfigure(HubSettings())
        assert told == ["wlan1 released", "wlan1 claimed"]

    on_bench(scenario)


def test_of_two_reloads_the_later_one_decides_which_adapters_are_given_back(on_bench: RunOnBench) -> None:
    async def scenario(bench: Bench) -> None:
        backend = bench.world.backend
        original = backend.release

        async def release(interface: str) -> None:
            await asyncio.sleep(0.5)
            await original(interface)

        backend.release = release  # type: ignore[method-assign]
        excluding = HubSettings(rules=AllocationRules(exclude=("wlan0", "wlan1")))
        first = asyncio.create_task(bench.hub.reconfigure(excluding))
        await asyncio.sleep(0.1)
        await bench.hub.reconfigure(HubSettings())
        await first
        states = {one.state for one in bench.story.interfaces.values()}
        assert states == {InterfaceState.AVAILABLE}
        assert backend.held == {"wlan0", "wlan1", "wlan2"}

    on_bench(scenario)
