"""The field kit: what a camera answers, and whether an adapter does all that the hub needs."""

from __future__ import annotations

import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.cli.running import on_terminal, running, wifimgrctl
from tests.commands import connect
from tests.message_bus import MessageBusDaemon
from tests.processes import Hub, running_hub
from tests.recording_cameras import SCENARIO, connected
from wifimgrd.bus.connection import Variant
from wifimgrd.camera.traces import Trace
from wifimgrd.domain.camera import CameraDriver


@pytest.fixture
async def hub(message_bus: MessageBusDaemon, tmp_path: Path) -> AsyncIterator[Hub]:
    async with running_hub(message_bus.address, tmp_path / "state", f"--simulate={SCENARIO}") as hub:
        yield hub


# -- traces


async def test_a_trace_is_shown_and_written(hub: Hub, tmp_path: Path) -> None:
    await connected(hub, "ricoh-theta-x", name="Tail")
    file = tmp_path / "theta.jsonl"
    ran = await wifimgrctl(hub.address, "camera", "trace", "Tail", str(file))
    assert (ran.status, ran.out.splitlines()[-1]) == (0, f"{file} has what Tail said.")
    assert "please read all of it" in " ".join(ran.err.split())
    trace = Trace.parse(file.read_text())
    assert (trace.driver, trace.reading["model"]) == (CameraDriver.OSC, "RICOH THETA X")
    assert "00000002" not in file.read_text()
    assert ran.out.startswith(file.read_text())
    ran = await wifimgrctl(hub.address, "camera", "trace", "Tail", str(file))
    assert (ran.status, "is there already" in ran.err) == (1, True)


async def test_nothing_is_written_that_a_person_does_not_want(hub: Hub, tmp_path: Path) -> None:
    await connected(hub, "insta360-x4", name="Nose")
    file = tmp_path / "x4.jsonl"
    async with on_terminal(hub.address, "camera", "trace", "Nose", str(file)) as terminal:
        await terminal.until("[y/N]")
        terminal.type("n\n")
        assert await terminal.end() == 1
    assert not file.exists()


async def test_another_driver_is_tried(hub: Hub, tmp_path: Path) -> None:
    await connected(hub, "ricoh-theta-x", name="Tail")
    file = tmp_path / "theta.jsonl"
    ran = await wifimgrctl(
        hub.address, "camera", "trace", "Tail", str(file), "--driver", "gopro-gpcontrol", "--json"
    )
    assert ran.value == {"file": str(file), "driver": "gopro-gpcontrol", "understood": False}
    assert Trace.parse(file.read_text()).reading == {}


async def test_a_recording_is_part_of_a_trace_if_that_is_wanted(hub: Hub, tmp_path: Path) -> None:
    await connected(hub, "gopro-hero12", name="Nose")
    file = tmp_path / "hero12.jsonl"
    ran = await wifimgrctl(hub.address, "camera", "trace", "Nose", str(file), "--record")
    assert (ran.status, "/gopro/camera/shutter/start" in file.read_text()) == (0, True)


async def test_a_camera_that_is_not_connected_or_has_no_driver_is_not_traced(
    hub: Hub, tmp_path: Path
) -> None:
    network = {"connection_type": "wifi", "ssid": "Far away", "password": "12345678", "name": "Far"}
    await hub.client.create_device(network | {"codename": "gopro-hero12"})
    ran = await wifimgrctl(hub.address, "camera", "trace", "Far", str(tmp_path / "far.jsonl"))
    assert (ran.status, "(not-connected)" in ran.err) == (1, True)
    await hub.client.update_device(1, {"codename": "dji-osmo-360"})
    ran = await wifimgrctl(hub.address, "camera", "trace", "Far", str(tmp_path / "far.jsonl"))
    assert (ran.status, "(not-supported)" in ran.err) == (1, True)


# -- adapters


def results(ran_value: dict[str, object]) -> dict[str, str]:
    checks = ran_value["checks"]
    assert isinstance(checks, list)
    return {one["check"]: one["result"] for one in checks}


PASSED = dict.fromkeys(
    ("scan", "join", "traffic", "signal", "leave", "rescan", "restart", "replug"), "passed"
)


async def registered(hub: Hub) -> None:
    network = {"connection_type": "wifi", "ssid": "GP25140002", "password": "gopro-pass-2", "name": "Nose"}
    await hub.client.create_device(network | {"codename": "gopro-hero12", "connect": False})


async def test_an_adapter_passes_all_checks(hub: Hub) -> None:
    await registered(hub)
    await hub.client.update_device(1, {"pin": {"mac": hub.client.interfaces["wlan0"].mac_address}})
    ran = await wifimgrctl(hub.address, "adapter", "check", "wlan0", "--seconds", "1", "--json")
    assert results(ran.value) == PASSED | {"power save": "not tried", "power-port": "not tried"}
    assert "is not one of `power_ports`" in ran.value["checks"][-1]["seen"]
    assert "driver" in ran.value["report"]
    assert ran.status == 0


async def test_without_a_camera_the_rest_is_checked(hub: Hub) -> None:
    ran = await wifimgrctl(hub.address, "adapter", "check", "wlan1", "--seconds", "1")
    assert ran.status == 0
    lines = [line.split()[:2] for line in ran.out.splitlines()]
    assert ["join", "not"] in lines
    assert ["replug", "passed"] in lines
    assert "For a report about this adapter:" in ran.err


async def test_an_adapter_that_is_stuck_fails(hub: Hub) -> None:
    await hub.client.simulate("SetFault", "sa{sv}", "adapter-stuck", {"interface": Variant("s", "wlan1")})
    ran = await wifimgrctl(hub.address, "adapter", "check", "wlan1", "--seconds", "1", "--json")
    assert (ran.status, results(ran.value)["scan"]) == (1, "failed")


async def test_only_an_idle_adapter_is_checked(hub: Hub) -> None:
    await registered(hub)
    await connect(hub.client, 1, wait=True)
    used = hub.client.devices[1].interface
    assert used is not None
    ran = await wifimgrctl(hub.address, "adapter", "check", used)
    assert (ran.status, "(busy)" in ran.err) == (1, True)
    ran = await wifimgrctl(hub.address, "adapter", "check", "wlan9")
    assert (ran.status, "(interface-not-found)" in ran.err) == (1, True)


async def test_a_camera_that_is_connected_is_left_alone(hub: Hub) -> None:
    device = await connected(hub, "gopro-hero12", name="Nose")
    free = next(name for name, one in hub.client.interfaces.items() if one.state == "available")
    ran = await wifimgrctl(hub.address, "adapter", "check", free, "--device", "Nose")
    assert (ran.status, "(busy)" in ran.err) == (1, True)
    assert hub.client.devices[device].is_connected


async def test_a_check_that_is_interrupted_leaves_the_camera(hub: Hub) -> None:
    await registered(hub)
    await hub.client.update_device(1, {"pin": {"mac": hub.client.interfaces["wlan0"].mac_address}})
    async with running(hub.address, "adapter", "check", "wlan0") as check:
        await hub.until(1, "connected")
        check.send_signal(signal.SIGINT)
        assert await check.wait() == 130
        await hub.until(1, "disconnected")


async def test_a_camera_is_expected_after_a_check_as_before(hub: Hub) -> None:
    await registered(hub)
    ran = await wifimgrctl(hub.address, "simulate", "power-off", "GP25140002")
    ran = await wifimgrctl(
        hub.address, "adapter", "check", "wlan0", "--device", "Nose", "--seconds", "1", "--json"
    )
    assert (ran.status, results(ran.value)["join"]) == (1, "failed")
    assert not hub.client.devices[1].expected
    await wifimgrctl(hub.address, "simulate", "power-on", "GP25140002")
    await connect(hub.client, 1, wait=True)
    used = hub.client.devices[1].interface
    assert used is not None
    await hub.client.update_device(
        1, {"auto_reconnect": False, "pin": {"mac": hub.client.interfaces[used].mac_address}}
    )
    await wifimgrctl(hub.address, "simulate", "power-off", "GP25140002")
    await hub.until(1, "disconnected")
    await wifimgrctl(hub.address, "simulate", "power-on", "GP25140002")
    ran = await wifimgrctl(hub.address, "adapter", "check", used, "--seconds", "1", "--json")
    assert results(ran.value)["leave"] == "passed"
    await hub.until(1, "connected")
    assert hub.client.devices[1].expected


async def test_the_power_of_a_named_port_is_switched_while_the_rest_of_its_hub_is_idle(
    message_bus: MessageBusDaemon, tmp_path: Path
) -> None:
    config = tmp_path / "wifimgrd.toml"
    config.write_text('[recovery]\npower_ports = ["1-1.2"]\n')
    arguments = (f"--simulate={SCENARIO}", f"--config={config}")
    check = ("adapter", "check", "wlan1", "--seconds", "1", "--json")
    async with running_hub(message_bus.address, tmp_path / "state", *arguments) as hub:
        ran = await wifimgrctl(hub.address, *check)
        assert (ran.status, results(ran.value)["power-port"]) == (0, "passed")
        await connected(hub, "gopro-hero12", name="Nose")
        assert hub.client.devices[1].interface == "wlan0"
        ran = await wifimgrctl(hub.address, *check)
        assert results(ran.value)["power-port"] == "not tried"
        assert "in use, or not known to be idle, at the same hub: 1-1.1" in ran.value["checks"][-1]["seen"]
