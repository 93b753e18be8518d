"""Recovery steps of USB ports: they end no link but the dead one, and count as often as they are taken."""

from __future__ import annotations

import asyncio
import errno
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import pytest

from tests.daemon.manager.conftest import Bench
from tests.daemon.manager.test_dead_links import Faults, connected, interface, recover, run, states, steps
from tests.daemon.manager.test_one_radio import ANOTHER_MAC, reasons, shared
from wifimgrd.domain.device import DeviceId, DeviceState
from wifimgrd.domain.errors import Busy, Cancelled, InterfaceLost, NoInterfaceAvailable, WifimgrdError
from wifimgrd.domain.link_steps import LinkRules, LinkStep
from wifimgrd.domain.recovery import WINDOW_S, RecoveryStep
from wifimgrd.domain.time_limits import LINK_STEP_S

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

    bench.world.backend.leave = slow  # type: ignore[method-assign, assignment]
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
        await waiting  # the camera answers again
        assert faults.resets == []
        assert bench.state(device) is DeviceState.CONNECTED

    run(test, scenario=of_two_radios(tmp_path))


# -- a thread that goes on


@dataclass
class Thread:
    """A reset of a port in a thread, which ends after a time whatever becomes of who waits for it."""

    bench: Bench
    seconds: float
    ended: bool = False

    def begins(self) -> None:
        """The next steps are carried out by it."""
        adapters, reset = self.bench.world.adapters, self.bench.world.adapters.reset_port

        async def work(name: str) -> None:
            await asyncio.sleep(self.seconds)
            await reset(name)
            self.ended = True

        async def step(name: str) -> None:
            await asyncio.shield(asyncio.ensure_future(work(name)))

        adapters.reset_port = adapters.power_port = step  # type: ignore[method-assign]


async def on_one_adapter(bench: Bench) -> DeviceId:
    """A camera that is connected through the only adapter."""
    device = await connected(bench)
    for name in ("wlan1", "wlan2"):
        bench.world.unplug_adapter(name)
    return device


BEING_RESET = "being recovered (reset-port)"


@pytest.mark.parametrize("after_s", [0.5, 3.0])
def test_nobody_uses_an_adapter_whose_port_is_still_being_reset_after_a_disconnect(after_s: float) -> None:
    async def test(bench: Bench, faults: Faults) -> None:
        device, other, thread = await on_one_adapter(bench), await bench.create(2), Thread(bench, 6)
        thread.begins()
        waiting = asyncio.ensure_future(recover(bench, device, step="reset-port", wait=True))
        await asyncio.sleep(after_s)
        await bench.hub.connections.disconnect(device)
        with pytest.raises(Cancelled):
            await waiting
        assert bench.state(device) is DeviceState.DISCONNECTED
        assert reasons(bench)["wlan0"] == BEING_RESET
        await bench.hub.connections.connect(other, wait=False, when_free=True)
        await asyncio.sleep(1)
        assert (thread.ended, bench.state(other)) == (False, DeviceState.DISCONNECTED)
        await asyncio.sleep(60)
        assert (interface(bench, other), bench.state(other)) == ("wlan0", DeviceState.CONNECTED)
        assert [one for one in states(bench, other) if one != "disconnected"] == ["connecting", "connected"]
        assert bench.hub_state.allocator.promises == {}

    run(test)


def test_nobody_uses_an_adapter_whose_reset_takes_too_long_before_it_has_ended() -> None:
    async def test(bench: Bench, faults: Faults) -> None:
        device = await on_one_adapter(bench)
        Thread(bench, 100).begins()
        with pytest.raises(WifimgrdError):
            await recover(bench, device, step="reset-port", wait=True)
        assert steps(bench) == ["reset-port", "did-not"]
        assert reasons(bench)["wlan0"] == BEING_RESET
        with pytest.raises(NoInterfaceAvailable, match="being recovered"):
            await bench.hub.connections.connect(device, wait=True)
        await asyncio.sleep(100)
        await bench.hub.connections.connect(device, wait=True)

    run(test)


@pytest.mark.parametrize("step", [RecoveryStep.REPLUG, LinkStep.POWER_PORT])
def test_a_step_by_command_keeps_its_adapter_until_it_has_ended(
    step: Literal[RecoveryStep.REPLUG, LinkStep.POWER_PORT],
) -> None:
    async def test(bench: Bench, faults: Faults) -> None:
        Thread(bench, 100).begins()
        with pytest.raises(InterfaceLost, match="took longer"):
            await bench.hub.recover_interface("wlan0", step)
        assert reasons(bench)["wlan0"] == "being recovered (replug): by command"
        with pytest.raises(Busy):
            await bench.hub.recover_interface("wlan0", step)
        await asyncio.sleep(100)
        assert reasons(bench)["wlan0"] == "available"

    run(test, rules=LinkRules(power_ports=frozenset({"1-1.1"})))


def test_nobody_uses_an_adapter_that_is_still_being_reset_after_the_longest_step() -> None:
    async def test(bench: Bench, faults: Faults) -> None:
        device, thread = await on_one_adapter(bench), Thread(bench, 2 * LINK_STEP_S)
        thread.begins()
        await recover(bench, device, step="reset-port")
        await asyncio.sleep(LINK_STEP_S + 60)
        assert bench.state(device) is not DeviceState.CONNECTED
        with pytest.raises(Busy, match="wlan0 is unavailable: being recovered"):
            await bench.hub.recover_interface("wlan0", RecoveryStep.REPLUG)
        await asyncio.sleep(LINK_STEP_S)
        assert thread.ended
        assert states(bench, device)[-2:] == ["connecting", "connected"], "the lost camera is brought back"
        assert states(bench, device).count("connected") == 1

    run(test)


def test_a_stop_waits_for_no_thread() -> None:
    async def test(bench: Bench, faults: Faults) -> None:
        device = await on_one_adapter(bench)
        Thread(bench, 100).begins()
        await recover(bench, device, step="reset-port")
        await asyncio.sleep(5)
        began_s = asyncio.get_running_loop().time()
        await bench.hub.stop_work()
        assert asyncio.get_running_loop().time() - began_s < 5

    run(test)


# -- once an hour

DEAD_S = 3 * LinkRules().silent_link_s + 120
"""So long after its adapter died, a camera has had its steps, and the adapter its own."""


async def dead_adapter(bench: Bench, faults: Faults) -> None:
    """A camera is connected through wlan0, which then dies; the hub takes its steps."""
    device = await connected(bench)
    assert interface(bench, device) == "wlan0"
    faults.adapters.add("wlan0")
    await asyncio.sleep(DEAD_S)
    assert steps(bench)[:3] == ["rejoin", "did-not", "other-adapter"]


def test_a_power_cut_by_command_counts_for_dead_links() -> None:
    async def test(bench: Bench, faults: Faults) -> None:
        await bench.hub.recover_interface("wlan0", LinkStep.POWER_PORT)
        await bench.hub.recover_interface("wlan0", RecoveryStep.REPLUG)
        await dead_adapter(bench, faults)
        assert (faults.power, faults.resets) == (["wlan0"], ["wlan0"])
        await asyncio.sleep(WINDOW_S)

    run(test, rules=LinkRules(power_ports=frozenset({"1-1.1"})))


def test_a_reset_for_a_crash_that_fails_counts_for_dead_links() -> None:
    async def test(bench: Bench, faults: Faults) -> None:
        tried: list[str] = []

        async def refuse(name: str) -> None:
            tried.append(name)
            bench.world.unplug_adapter(name)
            await asyncio.sleep(1)
            bench.world.plug_adapter(name)
            raise OSError(errno.EIO, "Input/output error")

        bench.world.adapters.reset_port = refuse  # type: ignore[method-assign]
        await bench.recover_by(RecoveryStep.REPLUG)
        bench.adapter_events.adapter_firmware_failed("wlan0")
        await asyncio.sleep(60)
        assert tried == ["wlan0"]
        await bench.recover_by()
        await dead_adapter(bench, faults)
        assert tried == ["wlan0"]

    run(test)


def test_an_adapter_that_was_pulled_and_plugged_in_has_its_steps_anew() -> None:
    async def test(bench: Bench, faults: Faults) -> None:
        await bench.hub.recover_interface("wlan0", RecoveryStep.REPLUG)
        bench.world.unplug_adapter("wlan0")
        bench.world.plug_adapter("wlan0")
        await dead_adapter(bench, faults)
        assert faults.resets == ["wlan0", "wlan0"]

    run(test)
