"""A bug of a backend, of Bluetooth or of a camera's session costs what was asked of it, and nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
import structlog

from tests.daemon.manager.conftest import Bench, RunOnBench
from tests.daemon.manager.test_power import GOPRO
from wifimgrd.domain.device import DeviceState
from wifimgrd.domain.errors import InternalError
from wifimgrd.domain.interface import InterfaceState
from wifimgrd.domain.recovery import RecoveryStep

CAMERA = b"SIM-CAM-1"

Break = Callable[[object, str], list[str]]
"""Break a method of an object; returns the list of its calls."""


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> Break:
    """Methods that raise an error that nobody expects."""

    def break_(thing: object, method: str) -> list[str]:
        calls: list[str] = []

        async def fail(*_: object, **__: object) -> None:
            calls.append(method)
            raise RuntimeError("a bug")

        monkeypatch.setattr(thing, method, fail)
        return calls

    return break_


def is_free(bench: Bench, interface: str) -> bool:
    statuses = {status.interface.name: status.state for status in bench.hub.interface_statuses()}
    return statuses[interface] is InterfaceState.AVAILABLE


def test_a_join_ends_with_an_internal_error_and_frees_its_interface(
    on_bench: RunOnBench, broken: Break
) -> None:
    async def test(bench: Bench) -> None:
        broken(bench.world.backend, "join")
        device = await bench.create()
        with structlog.testing.capture_logs() as logged, pytest.raises(InternalError):
            await bench.hub.connections.connect(device, wait=True)
        assert "join_crashed" in [line["event"] for line in logged]
        assert (bench.state(device), bench.code(device)) == (DeviceState.DISCONNECTED, "internal")
        assert is_free(bench, "wlan0")

    on_bench(test)


def test_a_disconnect_ends_and_frees_its_interface(
    on_bench: RunOnBench, broken: Break, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def test(bench: Bench) -> None:
        device = await bench.connected()
        broken(bench.world.backend, "leave")
        with structlog.testing.capture_logs() as logged:
            await bench.hub.connections.disconnect(device)
        monkeypatch.undo()
        assert "leave_crashed" in [line["event"] for line in logged]
        assert bench.state(device) is DeviceState.DISCONNECTED
        assert is_free(bench, "wlan0")
        await bench.world.backend.leave("wlan0")

    on_bench(test)


def test_a_search_is_repeated_until_the_camera_is_found(
    on_bench: RunOnBench, broken: Break, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def test(bench: Bench) -> None:
        device = await bench.connected()
        searches = broken(bench.world.backend, "is_visible")
        bench.world.power_off_camera(CAMERA, orderly=True)
        await asyncio.sleep(60)
        assert len(searches) > 1
        monkeypatch.undo()
        bench.world.power_on_camera(CAMERA)
        await asyncio.sleep(300)
        assert bench.state(device) is DeviceState.CONNECTED

    on_bench(test)


def test_a_scan_fails_at_its_own_interface(on_bench: RunOnBench, monkeypatch: pytest.MonkeyPatch) -> None:
    async def test(bench: Bench) -> None:
        scan = bench.world.backend.scan

        async def fail_at_one(interface: str) -> None:
            if interface == "wlan1":
                raise RuntimeError("a bug")
            await scan(interface)

        monkeypatch.setattr(bench.world.backend, "scan", fail_at_one)
        report = await bench.hub.scan()
        assert list(report.scanned) == ["wlan0", "wlan2"]
        assert report.skipped == {"wlan1": "its scan failed"}

    on_bench(test)


def test_a_recovery_step_is_followed_by_the_next(on_bench: RunOnBench, broken: Break) -> None:
    async def test(bench: Bench) -> None:
        await bench.recover_by(RecoveryStep.RESCAN, RecoveryStep.RESTART)
        steps = broken(bench.world.backend, "recover")
        bench.world.set_fault("adapter-stuck", {"interface": "wlan0", "heals": "restart"})
        with structlog.testing.capture_logs() as logged:
            for _ in range(8):
                device = await bench.create()
                await bench.hub.connections.connect(device, wait=False)
                await asyncio.sleep(60)
                await bench.hub.remove(device)
        assert "recovery_step_crashed" in [line["event"] for line in logged]
        assert len(steps) > 1

    on_bench(test)


@pytest.mark.parametrize("command", ["wake", "pair"])
def test_a_command_over_bluetooth_ends_with_an_internal_error(
    on_bench: RunOnBench, broken: Break, command: str
) -> None:
    async def test(bench: Bench) -> None:
        device = await bench.hub.create({"connection_type": "wifi"} | GOPRO)
        await asyncio.sleep(60)
        if command == "wake":
            await bench.hub.bluetooth.pair(device, wait=True)
        broken(bench.world.bluetooth, command)
        for _ in range(2):
            with structlog.testing.capture_logs() as logged, pytest.raises(InternalError):
                await getattr(bench.hub.bluetooth, command)(device, wait=True)
            assert "operation_crashed" in [line["event"] for line in logged]

    on_bench(test)
