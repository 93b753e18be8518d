"""`org.wifimgrd1.Camera` and recording on many, on a real bus, with emulated cameras of three makes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final

import pytest

from tests.commands import connect, disconnect
from tests.message_bus import MessageBusDaemon
from tests.processes import START_TIMEOUT_S, Hub, running_hub
from tests.recording_cameras import CAMERAS, SCENARIO, camera_of, connected, until
from wifimgrd.bus import names as bus_names
from wifimgrd.bus.connection import BusConnection, BusError, Signal, Variant
from wifimgrd.bus.values import typed
from wifimgrd.wire import names

NO_OPTIONS: Final[dict[str, Variant]] = {}


@pytest.fixture
async def hub(message_bus: MessageBusDaemon, tmp_path: Path) -> AsyncIterator[Hub]:
    async with running_hub(message_bus.address, tmp_path / "state", f"--simulate={SCENARIO}") as hub:
        yield hub


async def call(bus: BusConnection, device: int, member: str) -> list[object]:
    path = names.device_path(device)
    return await bus.call(names.BUS_NAME, path, names.CAMERA, member, "a{sv}", [NO_OPTIONS])


async def record(bus: BusConnection, member: str, paths: list[str], **options: bool) -> list[dict[str, Any]]:
    body = [paths, {name: Variant("b", value) for name, value in options.items()}]
    reply = await bus.call(names.BUS_NAME, names.ROOT_PATH, names.MANAGER, member, "aoa{sv}", body)
    rows: list[dict[str, Any]] = typed(tuple[list[dict[str, object]]], reply)[0]
    return rows


@pytest.mark.parametrize("codename", CAMERAS)
async def test_each_make_is_read_records_and_stops(hub: Hub, bus: BusConnection, codename: str) -> None:
    device, ends = await connected(hub, codename), list[Signal]()
    await bus.watch(ends.append, interface=names.CAMERA, member="RecordingStopped")
    camera = await until(hub, device, lambda camera: camera.battery_level is not None)
    assert camera.recording_state == "idle"
    assert camera.storage_state == "ok"
    assert camera.storage_free
    assert camera.model
    await call(bus, device, "StartRecording")
    camera = await until(hub, device, lambda camera: camera.recording_since is not None)
    assert (camera.recording_state, camera.recording_requested) == ("recording", True)
    assert ends == []
    await call(bus, device, "StopRecording")
    camera = await until(hub, device, lambda camera: camera.recording_state == "idle")
    assert (camera.recording_since, camera.recording_requested) == (None, False)
    await bus.get(names.BUS_NAME, names.ROOT_PATH, names.MANAGER, "Version")
    assert [(one.path, one.body) for one in ends] == [(names.device_path(device), ["stopped"])]


async def test_the_battery_is_in_the_history_with_the_next_reading_of_the_signal(
    hub: Hub, bus: BusConnection
) -> None:
    device = await connected(hub, "gopro-hero12")
    camera = await until(hub, device, lambda camera: camera.battery_level is not None)
    weak = {"percent": Variant("u", 30), "ssid": Variant("s", hub.client.devices[device].ssid.decode())}
    await hub.client.simulate("SetFault", "sa{sv}", "signal", weak)
    await hub.client.wait_until(lambda client: client.devices[device].signal_strength == 30, 10)

    async def history(method: str, *span: int) -> list[Any]:
        path, body = names.device_path(device), [*(span or (0, 0)), NO_OPTIONS]
        return await bus.call(names.BUS_NAME, path, names.DEVICE, method, "tta{sv}", body)

    step, [*_, [begun, level]] = await history("GetBatteryHistory")
    assert (step, level) == (60_000_000, camera.battery_level)
    assert begun in [at for at, *_ in (await history("GetSignalHistory"))[1]]
    assert (await history("GetBatteryHistory", begun, 2**64 - 1))[1][0] == [begun, level]
    assert await history("GetBatteryHistory", 0, 1) == [step, []]
    found = await hub.client.signal_history(device)
    assert (found.battery[-1], len(found.battery)) == (level, len(found.samples))


async def test_many_are_told_at_once_and_each_has_a_result(hub: Hub, bus: BusConnection) -> None:
    gopro, insta360 = await connected(hub, "gopro-hero12"), await connected(hub, "insta360-x4")
    rows = await record(bus, "StartRecording", [names.device_path(one) for one in (insta360, 99, gopro)])
    assert [(row["device"], row["done"], row["code"]) for row in rows] == [
        (names.device_path(insta360), True, ""),
        (names.device_path(99), False, "device-not-found"),
        (names.device_path(gopro), True, ""),
    ]
    assert all(row["after"] > 0 for row in rows if row["done"])
    assert await record(bus, "StopRecording", []) == []
    rows = await record(bus, "StopRecording", [], all=True)
    assert [(row["device"], row["done"]) for row in rows] == [
        (names.device_path(one), True) for one in (gopro, insta360)
    ]
    with pytest.raises(BusError, match="DeviceNotFound"):
        await record(bus, "StartRecording", ["/org/wifimgrd1/interfaces/wlan0"])


async def test_what_is_not_known_is_minus_one_or_empty(hub: Hub, bus: BusConnection) -> None:
    device = await hub.client.create_device(
        {"codename": "gopro-hero12", "connection_type": "wifi", "ssid": "NOBODY", "password": "12345678"}
    )
    path = names.device_path(device)
    reply = await bus.call(names.BUS_NAME, path, bus_names.PROPERTIES, "GetAll", "s", [names.CAMERA])
    assert typed(tuple[dict[str, object]], reply)[0] == {
        "BatteryLevel": -1,
        "BatteryState": "",
        "RecordingState": "",
        "RecordingSince": 0,
        "RecordingRequested": False,
        "StorageState": "",
        "StorageFree": -1,
        "StorageTotal": -1,
        "RecordingTimeLeft": -1,
        "TemperatureState": "",
        "ClockOffset": 0,
        "ClockBound": -1,
        "ClockReadAt": 0,
        "Model": "",
        "SerialNumber": "",
        "FirmwareVersion": "",
        "Problems": [],
        "ReadAt": 0,
    }
    with pytest.raises(BusError, match="NotConnected"):
        await call(bus, device, "StartRecording")


async def test_a_model_without_a_driver_lacks_the_interface(hub: Hub, bus: BusConnection) -> None:
    device = await hub.client.create_device(
        {"codename": "wifi-camera", "connection_type": "wifi", "ssid": "NOBODY", "password": "12345678"}
    )
    with pytest.raises(BusError, match=r"UnknownInterface|UnknownMethod"):
        await call(bus, device, "StartRecording")


async def test_battery_and_card_outlive_the_link_and_the_rest_does_not(hub: Hub) -> None:
    device = await connected(hub, "insta360-x4")
    before = camera_of(hub.client, device)
    await disconnect(hub.client, device)
    after = camera_of(hub.client, device)
    assert (after.battery_level, after.storage_free) == (before.battery_level, before.storage_free)
    assert (after.recording_state, after.recording_time_left, after.clock_read_at) == (None, None, None)


async def test_a_daemon_that_is_killed_reads_the_truth_again(hub: Hub, bus: BusConnection) -> None:
    """The emulated camera is of the daemon's own process; what is asked here is what the hub remembers."""
    device = await connected(hub, "gopro-hero12")
    await call(bus, device, "StartRecording")
    assert hub.process is not None
    hub.process.kill()
    await hub.process.wait()
    await hub.client.wait_until(lambda client: not client.available, START_TIMEOUT_S)
    await hub.start()
    camera = camera_of(hub.client, device)
    assert camera.recording_requested
    if hub.client.devices[device].state != "connected":
        await connect(hub.client, device)
    await until(hub, device, lambda camera: camera.recording_state == "idle")


async def test_the_clock_is_set_when_a_camera_is_connected(hub: Hub) -> None:
    """The emulated Theta's is 75 s slow."""
    device = await connected(hub, "ricoh-theta-x")
    await until(
        hub, device, lambda camera: camera.clock_read_at is not None and camera.clock_offset > -5_000_000
    )
    assert "clock-wrong" not in camera_of(hub.client, device).problems
