"""One radio is one adapter, however many network interfaces it has."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.daemon.manager.conftest import Bench, RunOnBench
from wifimgrd.domain.adapter import AdapterIdentity
from wifimgrd.domain.device import DeviceState
from wifimgrd.domain.errors import NoInterfaceAvailable, WifimgrdError
from wifimgrd.domain.interface import BackendFacts
from wifimgrd.domain.recovery import RecoveryStep

SHARED = """
camera_count = 4
[[adapter]]
name = "wlan0"
mac = "02:00:5e:00:01:01"
usb_port = "1-1.1"
[[adapter]]
name = "wlan9"
mac = "{mac}"
usb_port = "1-1.1"
radio = "{radio}"
plugged = {plugged}
[[adapter]]
name = "wlan1"
usb_port = "1-1.2"
[[adapter]]
name = "uap0"
usb_port = "1-1.1"
mode = "{mode}"
plugged = false
"""
ONE_MAC, ANOTHER_MAC = "02:00:5e:00:01:01", "02:00:5e:00:01:09"


def shared(
    folder: Path, *, mac: str = ONE_MAC, radio: str = "1-1.1", plugged: str = "true", mode: str = "ap"
) -> Path:
    """A world in which wlan9 is of the USB device of wlan0, and of its radio unless another one is given."""
    scenario = folder / "scenario.toml"
    scenario.write_text(SHARED.format(mac=mac, radio=radio, plugged=plugged, mode=mode))
    return scenario


def reasons(bench: Bench) -> dict[str, str]:
    """The state of each interface, or the reason why it is unavailable, in the clients' view."""
    return {name: one.reason or one.state.value for name, one in sorted(bench.story.interfaces.items())}


@pytest.mark.parametrize("mac", [ONE_MAC, ANOTHER_MAC])
def test_two_interfaces_of_one_radio_serve_one_camera(on_bench: RunOnBench, tmp_path: Path, mac: str) -> None:
    async def test(bench: Bench) -> None:
        wait = {"wlan0": "available", "wlan1": "available", "wlan9": "shares the radio of wlan0"}
        assert reasons(bench) == wait
        assert (bench.hub.interface_counts.total, bench.hub.interface_counts.free) == (2, 2)
        first, second = await bench.connected(1), await bench.connected(2)
        assert [bench.story.devices[one].interface for one in (first, second)] == ["wlan0", "wlan1"]
        third = await bench.create(3)
        with pytest.raises(NoInterfaceAvailable, match=r"wlan9 \(shares the radio of wlan0\)"):
            await bench.hub.connections.connect(third, wait=True)
        await bench.hub.connections.disconnect(second, wait=True)
        await bench.hub.connections.connect(third, wait=True)
        assert bench.story.devices[third].interface == "wlan1"

    on_bench(test, shared(tmp_path, mac=mac))


def test_a_waiting_device_waits_for_a_radio(on_bench: RunOnBench, tmp_path: Path) -> None:
    async def test(bench: Bench) -> None:
        first, _ = await bench.connected(1), await bench.connected(2)
        third = await bench.create(3)
        with pytest.raises(WifimgrdError):
            await bench.hub.connections.connect(third, wait=True)
        await bench.hub.connections.connect(third, wait=False, when_free=True)
        await asyncio.sleep(60)
        assert bench.state(third) is DeviceState.DISCONNECTED
        await bench.hub.connections.disconnect(first, wait=True)
        await asyncio.sleep(1)
        assert bench.story.devices[third].interface == "wlan0"

    on_bench(test, shared(tmp_path))


def test_interfaces_that_come_and_go_leave_the_link_of_their_radio_alone(
    on_bench: RunOnBench, tmp_path: Path
) -> None:
    async def test(bench: Bench) -> None:
        device = await bench.connected(1)
        for name in ("wlan9", "uap0"):
            bench.world.plug_adapter(name)
            assert reasons(bench)[name] == "shares the radio of wlan0"
            bench.world.unplug_adapter(name)
        bench.world.plug_adapter("wlan9")
        bench.world.plug_adapter("uap0")
        assert not [line for line in bench.story.reported if line.startswith(f"{device} ")]
        assert bench.hub.interface_counts.total == 2
        await bench.hub.connections.disconnect(device, wait=True)
        used = "shares the radio of uap0, which is an access point"
        assert reasons(bench) == {
            "uap0": "is an access point", "wlan0": used, "wlan1": "available", "wlan9": used
        }  # fmt: skip

    on_bench(test, shared(tmp_path, plugged="false"))


@pytest.mark.parametrize(
    ("mode", "what"),
    [("ap", "an access point"), ("monitor", "a monitor"), ("p2p", "a Wi-Fi Direct interface")],
)
def test_a_radio_that_another_program_uses_is_free_once_its_interface_is_gone(
    on_bench: RunOnBench, tmp_path: Path, mode: str, what: str
) -> None:
    async def test(bench: Bench) -> None:
        bench.world.plug_adapter("uap0")
        used = f"shares the radio of uap0, which is {what}"
        assert reasons(bench) == {
            "uap0": f"is {what}", "wlan0": used, "wlan1": "available", "wlan9": used
        }  # fmt: skip
        device = await bench.connected(1)
        assert bench.story.devices[device].interface == "wlan1"
        bench.world.unplug_adapter("uap0")
        assert reasons(bench)["wlan0"] == "available"
        await bench.connected(2)

    on_bench(test, shared(tmp_path, mode=mode))


def test_the_interface_with_an_assignment_leads_its_radio(on_bench: RunOnBench, tmp_path: Path) -> None:
    async def test(bench: Bench) -> None:
        obstacle = 'carries the connection "Home"'
        bench.learn("wlan0", BackendFacts(obstacle))
        assert reasons(bench)["wlan0"] == "shares the radio of wlan9"
        _, device = await bench.connected(1), await bench.connected(2)
        assert bench.story.devices[device].interface == "wlan9"
        bench.learn("wlan0", BackendFacts())
        assert reasons(bench)["wlan0"] == "shares the radio of wlan9"
        await bench.hub.connections.disconnect(device, wait=True)
        assert reasons(bench)["wlan9"] == "shares the radio of wlan0"

    on_bench(test, shared(tmp_path))


def test_the_next_interface_leads_where_the_first_is_removed(on_bench: RunOnBench, tmp_path: Path) -> None:
    async def test(bench: Bench) -> None:
        bench.world.unplug_adapter("wlan0")
        assert reasons(bench) == {"wlan1": "available", "wlan9": "available"}
        bench.world.plug_adapter("wlan0")
        assert reasons(bench)["wlan9"] == "shares the radio of wlan0"

    on_bench(test, shared(tmp_path))


def test_a_radio_is_reserved_as_a_whole(on_bench: RunOnBench, tmp_path: Path) -> None:
    async def test(bench: Bench) -> None:
        pinned = await bench.create(1)
        await bench.hub.connections.disconnect(pinned, wait=True)
        await bench.hub.update(pinned, {"pin": {"mac": ANOTHER_MAC}})
        others = [await bench.create(number) for number in (2, 3)]
        await asyncio.sleep(1)
        assert [bench.story.devices[one].interface for one in others] == ["wlan1", None]
        await bench.hub.connections.connect(pinned, wait=True)
        assert bench.story.devices[pinned].interface == "wlan0"

    on_bench(test, shared(tmp_path, mac=ANOTHER_MAC))


@pytest.mark.parametrize("step", [RecoveryStep.RESTART, RecoveryStep.REPLUG])
@pytest.mark.parametrize(
    ("mac", "radio"), [(ONE_MAC, "1-1.1"), (ANOTHER_MAC, "1-1.1"), (ANOTHER_MAC, "other")]
)
def test_a_usb_device_is_recovered_once_none_of_its_interfaces_is_in_use(
    on_bench: RunOnBench, tmp_path: Path, step: RecoveryStep, mac: str, radio: str
) -> None:
    async def test(bench: Bench) -> None:
        await bench.recover_by(step)
        device = await bench.connected(1)
        assert bench.story.devices[device].interface == "wlan0"
        bench.adapter_events.adapter_firmware_failed("wlan9")
        await asyncio.sleep(60)
        assert bench.state(device) is DeviceState.CONNECTED
        assert not [line for line in bench.story.reported if " recovery " in line]
        await bench.hub.connections.disconnect(device, wait=True)
        await asyncio.sleep(5)
        taken = [line for line in bench.story.reported if " recovery " in line]
        assert len(taken) == 1
        assert {"wlan0", "wlan9"} <= bench.story.interfaces.keys()

    on_bench(test, shared(tmp_path, mac=mac, radio=radio))


def test_a_replug_takes_all_interfaces_of_the_usb_device(on_bench: RunOnBench, tmp_path: Path) -> None:
    async def test(bench: Bench) -> None:
        await bench.recover_by(RecoveryStep.REPLUG)
        bench.adapter_events.adapter_firmware_failed("wlan0")
        await asyncio.sleep(5)
        assert {"wlan0 removed", "wlan9 removed", "wlan0 added", "wlan9 added"} <= {*bench.story.reported}
        assert reasons(bench) == {
            "wlan0": "available", "wlan1": "available", "wlan9": "shares the radio of wlan0"
        }  # fmt: skip

    on_bench(test, shared(tmp_path))


def test_an_access_point_on_another_radio_of_the_usb_device_keeps_it_from_a_replug(
    on_bench: RunOnBench, tmp_path: Path
) -> None:
    async def test(bench: Bench) -> None:
        await bench.recover_by(RecoveryStep.REPLUG)
        bench.world.plug_adapter("uap0")
        bench.adapter_events.adapter_firmware_failed("wlan9")
        await asyncio.sleep(60)
        assert "wlan9 recovery replug" not in bench.story.reported
        bench.world.unplug_adapter("uap0")
        await asyncio.sleep(5)
        assert "wlan9 recovery replug" in bench.story.reported

    on_bench(test, shared(tmp_path, mac=ANOTHER_MAC, radio="other"))


@pytest.mark.parametrize("mac", [ONE_MAC, ANOTHER_MAC])
def test_a_quarantine_is_the_radios_and_ends_when_the_adapter_is_unplugged(
    on_bench: RunOnBench, tmp_path: Path, mac: str
) -> None:
    async def test(bench: Bench) -> None:
        await bench.recover_by(RecoveryStep.QUARANTINE)
        bench.adapter_events.adapter_firmware_failed("wlan0")
        await asyncio.sleep(1)
        assert "in quarantine" in reasons(bench)["wlan0"]
        bench.world.unplug_adapter("wlan9")
        bench.world.plug_adapter("wlan9")
        assert "in quarantine" in reasons(bench)["wlan0"]
        bench.learn("wlan0", BackendFacts("not managed by NetworkManager"))
        assert "in quarantine" in reasons(bench)["wlan9"], "the second interface has the same radio"
        bench.learn("wlan0", BackendFacts())
        for name in ("wlan0", "wlan9"):
            bench.world.unplug_adapter(name)
        for name in ("wlan0", "wlan9"):
            bench.world.plug_adapter(name)
        await asyncio.sleep(1)
        assert reasons(bench)["wlan0"] == "available"

    on_bench(test, shared(tmp_path, mac=mac))


def test_rfkill_blocks_a_radio(on_bench: RunOnBench, tmp_path: Path) -> None:
    async def test(bench: Bench) -> None:
        bench.world.set_fault("rfkill", {"interface": "wlan9"})
        blocked = "blocked by rfkill (soft-blocked)"
        assert reasons(bench) == {"wlan0": blocked, "wlan1": "available", "wlan9": blocked}
        bench.world.set_fault("rfkill", {"interface": "wlan0", "off": True})
        assert reasons(bench)["wlan0"] == "available"

    on_bench(test, shared(tmp_path))


def test_the_last_adapter_of_a_device_is_the_one_that_it_gets_again(
    on_bench: RunOnBench, tmp_path: Path
) -> None:
    async def test(bench: Bench) -> None:
        device = await bench.connected(1)
        await bench.hub.connections.disconnect(device, wait=True)
        assert bench.story.devices[device].device.last_adapter == AdapterIdentity(ONE_MAC, "1-1.1")
        await bench.hub.connections.connect(device, wait=True)
        assert bench.story.devices[device].interface == "wlan0"

    on_bench(test, shared(tmp_path))
