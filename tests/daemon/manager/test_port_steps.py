"""Recovery steps of USB ports: they end no link but the dead one, and count as often as they are taken."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from tests.daemon.manager.conftest import Bench
from tests.daemon.manager.test_dead_links import Faults, connected, interface, recover, run, steps
from tests.daemon.manager.test_one_radio import ANOTHER_MAC, reasons, shared
from wifimgrd.domain.device import DeviceId, DeviceState
from wifimgrd.domain.errors import Busy, NoInterfaceAvailable
from wifimgrd.domain.recovery import RecoveryStep

# -- a USB device with two radios


def of_two_radios(folder: Path) -> Path:
    """A world in which wlan9 is another radio of the USB device of wlan0."""
    return shared(folder, mac=ANOTHER_MAC, radio="another")


async def with_slow_leave(bench: Bench) -> tuple[DeviceId, DeviceId]:
    """A camera that is connected, and whose adapter takes 3 s to leave; and one that is not."""
    device, other = await connected(bench), await bench.create(2)
    leave = bench.world.backend.leave

    async def slow(name: str) -> None:
        await asyncio.sleep(3)
        await leave(name)

    bench.world.backend.leave = slow  # type: ignore[method-assign]
    bench.world.unplug_adapter("wlan1")
    return device, other


def test_no_camera_connects_through_a_usb_device_whose_port_is_reset(tmp_path: Path) -> None:
    async def test(bench: Bench, faults: Faults) -> None:
        device, other = await with_slow_leave(bench)
        waiting = asyncio.ensure_future(recover(bench, device, step="reset-port", wait=True))
        await asyncio.sleep(0.5)
        assert reasons(bench)["wlan9"] == "being recovered (reset-port)"
        with pytest.raises(NoInterfaceAvailable):
            await bench.hub.connections.connect(other, wait=True)
        await waiting
        assert steps(bench) == ["reset-port", "came-back"]
        await bench.hub.connections.connect(other, wait=True)
        assert interface(bench, other) == "wlan9"

    run(test, scenario=of_two_radios(tmp_path))


def test_a_radio_is_free_again_although_that_of_the_step_has_not_come_back(tmp_path: Path) -> None:
    async def test(bench: Bench, faults: Faults) -> None:
        device = await connected(bench)
        reset = bench.world.adapters.reset_port

        async def loses_one(name: str) -> None:
            await reset(name)
            bench.world.unplug_adapter("wlan0")
            assert reasons(bench)["wlan9"] == "being recovered (reset-port)"

        bench.world.adapters.reset_port = loses_one  # type: ignore[method-assign]
        await recover(bench, device, step="reset-port", wait=True)
        assert reasons(bench)["wlan9"] != "being recovered (reset-port)"

    run(test, scenario=of_two_radios(tmp_path))


@pytest.mark.parametrize("step", [RecoveryStep.RESTART, RecoveryStep.REPLUG])
def test_a_step_by_command_on_one_radio_keeps_cameras_from_the_other_one(
    tmp_path: Path, step: RecoveryStep
) -> None:
    async def test(bench: Bench, faults: Faults) -> None:
        seen: list[str] = []

        async def slow(*_: object) -> None:
            seen.append(reasons(bench)["wlan9"])

        bench.world.adapters.reset_port = slow  # type: ignore[method-assign, assignment]
        bench.world.backend.recover = slow  # type: ignore[method-assign, assignment]
        await bench.hub.recover_interface("wlan0", step)
        assert seen == [f"being recovered ({step}): by command"]
        assert reasons(bench)["wlan9"] == "available"

    run(test, scenario=of_two_radios(tmp_path))


def test_a_port_is_not_reset_if_another_program_uses_its_usb_device_meanwhile(tmp_path: Path) -> None:
    async def test(bench: Bench, faults: Faults) -> None:
        device, _ = await with_slow_leave(bench)
        waiting = asyncio.ensure_future(recover(bench, device, step="reset-port", wait=True))
        await asyncio.sleep(0.5)
        sibling = bench.hub_state.allocator.interfaces["wlan9"].adapter
        bench.adapter_events.adapter_present(replace(sibling, is_active=True))
        with pytest.raises(Busy, match="another interface"):
            await waiting
        assert faults.resets == []
        assert bench.state(device) is DeviceState.CONNECTED

    run(test, scenario=of_two_radios(tmp_path))
