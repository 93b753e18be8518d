"""A device is connected once its address leads to its camera, or a second after its link is up."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import replace
from ipaddress import IPv4Network

import pytest
from structlog.testing import capture_logs

from tests.daemon.manager.conftest import Bench, make_bench
from tests.virtual_time import VirtualTimeLoop
from wifimgrd.daemon.manager._arrivals import ADDRESS_S
from wifimgrd.daemon.manager.settings import HubSettings
from wifimgrd.domain.addresses import AddressPlan
from wifimgrd.domain.device import DeviceId, DeviceState, Link
from wifimgrd.domain.errors import ConnectionLost


class Routes:
    """Routes whose calls a test answers; `answers` are given at once, and None waits for `settle`."""

    def __init__(self, *answers: bool | None) -> None:
        self.calls: list[tuple[str, str, str]] = []
        self.called = asyncio.Event()
        self.called_at = 0.0
        self._answers = list(answers)
        self._settled: asyncio.Future[bool] | None = None

    async def lead(self, address: str, interface: str, camera_address: str) -> bool:
        self.calls.append((address, interface, camera_address))
        self.called.set()
        self.called_at = asyncio.get_running_loop().time()
        answer = self._answers.pop(0)
        if answer is None:
            self._settled = asyncio.get_running_loop().create_future()
            return await self._settled
        return answer

    async def pending(self) -> None:
        await self.called.wait()
        self.called.clear()

    def settle(self, answer: bool) -> None:
        assert self._settled is not None
        if not self._settled.cancelled():
            self._settled.set_result(answer)


Test = Callable[[Bench, Routes, DeviceId], Coroutine[None, None, None]]


def run(test: Test, *answers: bool | None, grace_s: float = 10.0) -> None:
    """Run a test on a hub with one device, whose first connection has not begun."""

    async def whole() -> None:
        plan = AddressPlan(IPv4Network("10.77.0.0/24"))
        routes = Routes(*answers)
        settings = HubSettings(connect_on_create=False, addresses=plan, grace_s=grace_s)
        bench = make_bench(settings, routes=routes)
        await bench.hub.start()
        for status in bench.hub.interface_statuses():
            bench.story.interfaces[status.interface.name] = status
        device = await bench.create()
        bench.story.forget()
        await test(bench, routes, device)
        bench.story.agrees()
        await bench.hub.stop()

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        runner.run(whole())


async def state_is(bench: Bench, device: DeviceId, state: DeviceState) -> None:
    """Expect a state within what the simulated world takes for it; on virtual time."""
    await asyncio.sleep(0.5)
    assert bench.state(device) is state


def test_a_device_is_connected_once_its_address_leads_to_its_camera() -> None:
    async def test(bench: Bench, routes: Routes, device: DeviceId) -> None:
        connecting = asyncio.create_task(bench.hub.connections.connect(device, wait=True))
        await routes.pending()
        assert routes.calls == [("10.77.0.1", "wlan0", "192.168.42.1")]
        assert bench.state(device) is DeviceState.CONNECTING
        routes.settle(True)
        await connecting
        assert bench.state(device) is DeviceState.CONNECTED

    run(test, None)


@pytest.mark.parametrize(("answer", "seconds"), [(None, ADDRESS_S), (False, 0.0)])
def test_an_address_that_does_not_lead_there_delays_it_by_a_second_at_most(
    answer: bool | None, seconds: float
) -> None:
    async def test(bench: Bench, routes: Routes, device: DeviceId) -> None:
        with capture_logs() as logs:
            await bench.hub.connections.connect(device, wait=True)
        assert asyncio.get_running_loop().time() - routes.called_at == pytest.approx(seconds)
        [warning] = [log for log in logs if log["event"] == "address_late"]
        assert (warning["log_level"], warning["address"]) == ("warning", "10.77.0.1")
        assert bench.state(device) is DeviceState.CONNECTED

    run(test, answer)


def test_a_signal_that_changes_meanwhile_takes_no_warning_away() -> None:
    async def test(bench: Bench, routes: Routes, device: DeviceId) -> None:
        connecting = asyncio.create_task(bench.hub.connections.connect(device, wait=True))
        await routes.pending()
        [held] = await bench.world.backend.links()
        bench.backend_events.link_changed("wlan0", replace(held.link, signal_percent=10))
        with capture_logs() as logs:
            await connecting
        assert "address_late" in [log["event"] for log in logs]

    run(test, None)


def test_a_disconnect_meanwhile_takes_the_link_down() -> None:
    async def test(bench: Bench, routes: Routes, device: DeviceId) -> None:
        await bench.hub.connections.connect(device, wait=False)
        await routes.pending()
        await bench.hub.connections.disconnect(device)
        assert bench.state(device) is DeviceState.DISCONNECTED
        assert await bench.world.backend.links() == []
        await bench.hub.connections.connect(device, wait=True)
        assert bench.state(device) is DeviceState.CONNECTED

    run(test, None, True)


def test_a_link_that_drops_meanwhile_is_published_and_then_interrupted() -> None:
    async def test(bench: Bench, routes: Routes, device: DeviceId) -> None:
        await bench.hub.connections.connect(device, wait=False)
        await routes.pending()
        bench.story.forget()
        bench.world.power_off_camera(b"SIM-CAM-1", orderly=True)
        await state_is(bench, device, DeviceState.CONNECTING)
        assert bench.story.reported == ["1 connected", "1 connecting"]
        assert bench.code(device) == "connection-lost"
        bench.world.power_on_camera(b"SIM-CAM-1")
        await state_is(bench, device, DeviceState.CONNECTED)

    run(test, None, True)


def test_an_adapter_that_is_pulled_meanwhile_is_lost() -> None:
    async def test(bench: Bench, routes: Routes, device: DeviceId) -> None:
        await bench.hub.connections.connect(device, wait=False)
        await routes.pending()
        bench.world.unplug_adapter("wlan0")
        await state_is(bench, device, DeviceState.DISCONNECTED)
        assert bench.code(device) == "interface-lost"

    run(test, None)


def test_a_link_that_is_restored_waits_as_well_and_not_for_the_grace_time() -> None:
    async def test(bench: Bench, routes: Routes, device: DeviceId) -> None:
        await bench.hub.connections.connect(device, wait=True)
        await routes.pending()
        bench.world.power_off_camera(b"SIM-CAM-1", orderly=True)
        await state_is(bench, device, DeviceState.CONNECTING)
        bench.world.power_on_camera(b"SIM-CAM-1")
        await routes.pending()
        assert bench.state(device) is DeviceState.CONNECTING
        await asyncio.sleep(0.9 * ADDRESS_S)  # virtual time: past the grace time
        assert bench.state(device) is DeviceState.CONNECTING
        routes.settle(True)
        await state_is(bench, device, DeviceState.CONNECTED)
        assert "failed" not in " ".join(bench.story.reported)

    run(test, True, None, grace_s=1.2)


def test_a_disconnect_of_a_link_that_is_being_restored_ends_it() -> None:
    async def test(bench: Bench, routes: Routes, device: DeviceId) -> None:
        await bench.hub.connections.connect(device, wait=True)
        await routes.pending()
        bench.world.power_off_camera(b"SIM-CAM-1", orderly=True)
        await state_is(bench, device, DeviceState.CONNECTING)
        bench.world.power_on_camera(b"SIM-CAM-1")
        await routes.pending()
        await bench.hub.connections.disconnect(device)
        routes.settle(True)
        await asyncio.sleep(2 * ADDRESS_S)  # virtual time
        assert bench.state(device) is DeviceState.DISCONNECTED
        assert await bench.world.backend.links() == []

    run(test, True, None)


async def interrupted(bench: Bench, routes: Routes, device: DeviceId) -> Link:
    """The device is connected, and its link dropped; returns the link."""
    await bench.hub.connections.connect(device, wait=True)
    await routes.pending()
    link = bench.entry(device).link
    assert link is not None
    bench.world.power_off_camera(b"SIM-CAM-1", orderly=True)
    await state_is(bench, device, DeviceState.CONNECTING)
    return link


def test_a_link_that_ends_at_the_moment_at_which_it_is_restored_is_lost() -> None:
    async def test(bench: Bench, routes: Routes, device: DeviceId) -> None:
        link = await interrupted(bench, routes, device)
        bench.backend_events.link_restored("wlan0", link)
        bench.backend_events.link_ended("wlan0", ConnectionLost("it has ended"))
        await state_is(bench, device, DeviceState.DISCONNECTED)
        assert bench.code(device) == "connection-lost"
        bench.world.backend.joined.drop("wlan0")

    run(test, True)


def test_a_disconnect_at_the_moment_at_which_a_link_is_restored_takes_it_down() -> None:
    async def test(bench: Bench, routes: Routes, device: DeviceId) -> None:
        link = await interrupted(bench, routes, device)
        bench.backend_events.link_restored("wlan0", link)
        await bench.hub.connections.disconnect(device)
        assert await bench.world.backend.links() == []
        bench.world.power_on_camera(b"SIM-CAM-1")
        await interrupted(bench, routes, device)  # no event of the next link is kept from it

    run(test, True, True)


def test_a_link_that_is_restored_while_the_hub_stops_is_published_no_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def test(bench: Bench, routes: Routes, device: DeviceId) -> None:
        link = await interrupted(bench, routes, device)
        stop = bench.world.backend.stop

        async def restore_and_stop() -> None:
            bench.backend_events.link_restored("wlan0", link)
            await stop()

        with monkeypatch.context() as patched:
            patched.setattr(bench.world.backend, "stop", restore_and_stop)
            await bench.hub.stop()
        assert bench.entry(device).work.joining is None

    run(test, True, None)
