"""Takes on a real bus, with emulated cameras of three makes."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.message_bus import MessageBusDaemon
from tests.processes import Hub, running_hub
from tests.recording_cameras import SCENARIO, connected, until
from wifimgrd.bus.connection import BusConnection, Signal, Variant
from wifimgrd.client.changes import TakeEnded
from wifimgrd.domain.errors import InvalidRequest
from wifimgrd.wire import names


@pytest.fixture
async def hub(message_bus: MessageBusDaemon, tmp_path: Path) -> AsyncIterator[Hub]:
    async with running_hub(message_bus.address, tmp_path / "state", f"--simulate={SCENARIO}") as hub:
        yield hub


async def rows(bus: BusConnection, member: str, **options: int) -> list[dict[str, Any]]:
    of = {name: Variant("t", value) for name, value in options.items()}
    [found] = await bus.call(names.BUS_NAME, names.ROOT_PATH, names.MANAGER, member, "a{sv}", [of])
    assert isinstance(found, list)
    return found


async def recording(hub: Hub, codename: str) -> int:
    """A camera that is connected, and records."""
    device = await connected(hub, codename)
    await until(hub, device, lambda camera: camera.battery_level is not None)
    await hub.client.record([device], on=True)
    await until(hub, device, lambda camera: camera.recording_since is not None)
    return device


async def test_a_take_has_its_recordings_as_rows_of_the_history_and_who_is_missing(
    hub: Hub, bus: BusConnection
) -> None:
    missing = await connected(hub, "insta360-x4")
    device = await recording(hub, "gopro-hero12")
    [take] = await rows(bus, "GetTakes")
    assert take.keys() == {"time", "recordings", "missing"}, "it has not ended"
    [row] = take["recordings"]
    history = [one for one in await rows(bus, "GetHistory") if one["kind"] == "recording"]
    assert history == [row]
    assert (row["device_id"], row["time"]) == (device, take["time"])
    assert row["serial_number"]
    assert 0 < row["battery_level"] <= 100
    name = hub.client.devices[missing].name
    assert take["missing"] == [{"device_id": missing, "device_name": name}]
    await hub.client.record([device], on=False)
    await until(hub, device, lambda camera: camera.recording_state == "idle")
    [take] = await rows(bus, "GetTakes")
    [row] = take["recordings"]
    assert take["ended"] == row["ended"]
    assert row["battery_level_after"]


async def test_takes_are_read_by_time_and_number(hub: Hub, bus: BusConnection) -> None:
    device = await connected(hub, "gopro-hero12")
    for on in (True, False, True):
        await hub.client.record([device], on=on)
    newer, older = await rows(bus, "GetTakes")
    assert await rows(bus, "GetTakes", limit=1) == [newer]
    assert await rows(bus, "GetTakes", since=older["ended"] + 1) == [newer]
    assert await rows(bus, "GetTakes", until=newer["time"]) == [older]
    assert await rows(bus, "GetTakes", before=newer["recordings"][0]["id"]) == [older]
    assert [take.time for take in await hub.client.takes(until_us=newer["time"])] == [older["time"]]
    with pytest.raises(InvalidRequest):
        await hub.client.takes(limit=1001)


async def test_a_take_that_is_over_is_told(hub: Hub, bus: BusConnection) -> None:
    device = await recording(hub, "gopro-hero12")
    ends, is_over = list[Signal](), asyncio.Event()
    await bus.watch(ends.append, interface=names.MANAGER, member="TakeEnded")
    end = hub.client.subscribe(lambda change: is_over.set() if isinstance(change, TakeEnded) else None)
    await hub.client.remove_device(device)  # its files are not waited for
    await is_over.wait()
    end()
    await bus.round_trip()
    [signal] = ends
    assert [signal.body[0]] == await rows(bus, "GetTakes")


async def test_a_take_is_told_with_the_files_of_its_recordings(hub: Hub, bus: BusConnection) -> None:
    devices = [
        await recording(hub, codename) for codename in ("gopro-hero12", "insta360-x4", "ricoh-theta-x")
    ]
    told, is_over = list[TakeEnded](), asyncio.Event()

    def heard(change: object) -> None:
        if isinstance(change, TakeEnded):
            told.append(change)
            is_over.set()

    end = hub.client.subscribe(heard)
    await hub.client.record(devices, on=False)
    async with asyncio.timeout(60):
        await is_over.wait()
    end()
    [take] = await rows(bus, "GetTakes")
    files = {row["device_id"]: row["files"] for row in take["recordings"]}
    for device, end_of_name in zip(devices, ("/GX010001.MP4", "_00_001.insv", "/R0010001.MP4"), strict=True):
        [file] = files[device]
        assert file["name"].endswith(end_of_name)
        assert file["size"] > 0
    assert len(told) == 1


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
async def test_a_recording_that_ended_while_the_daemon_was_stopped_ends_in_its_row(
    hub: Hub, bus: BusConnection, how: signal.Signals
) -> None:
    """A simulated camera does not outlive the daemon."""
    device = await recording(hub, "gopro-hero12")
    [before] = await rows(bus, "GetTakes")
    await hub.end(how)
    await hub.start()
    await until(hub, device, lambda camera: camera.recording_state == "idle")
    [take] = await rows(bus, "GetTakes")
    [row] = take["recordings"]
    assert (row["id"], row["time"]) == (before["recordings"][0]["id"], before["time"])
    assert (row["code"], row["ended"]) == ("unknown", take["ended"])
    assert row["serial_number"] == before["recordings"][0]["serial_number"]


async def test_a_take_that_is_over_is_told_before_the_daemon_stops(hub: Hub, bus: BusConnection) -> None:
    device = await recording(hub, "gopro-hero12")
    told = asyncio.Event()
    await bus.watch(lambda _: told.set(), interface=names.MANAGER, member="TakeEnded")
    await hub.client.record([device], on=False)
    await hub.end(signal.SIGTERM)
    async with asyncio.timeout(5):
        await told.wait()
