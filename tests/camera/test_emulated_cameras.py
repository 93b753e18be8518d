"""The drivers on the emulated cameras of the simulated world, in virtual time: what they read in each fault,
and what they command."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Mapping
from functools import wraps
from pathlib import Path
from typing import Any, Final

import pytest
import structlog

from tests.daemon.backends.recording import Recorder
from tests.virtual_time import VirtualTimeLoop
from wifimgrd import simulator as simulated
from wifimgrd.camera.sessions import CameraSessions
from wifimgrd.daemon.ports import JoinRequest
from wifimgrd.domain.addresses import SocketKind
from wifimgrd.domain.camera import (
    CameraReading,
    RecordingState,
    StopReason,
    StorageState,
    TemperatureState,
)
from wifimgrd.domain.device import DeviceId
from wifimgrd.domain.errors import (
    CameraBusy,
    CameraRefused,
    DeviceNotReachable,
    NotSupported,
    Unconfirmed,
    WifimgrdError,
)
from wifimgrd.runtime.tasks import Tasks
from wifimgrd.simulator import SimulatedWorld, parse_scenario

READ_AGAIN_S: Final = 11.0
CLOCK_AGAIN_S: Final = 611.0
"""Longer than from one read of an idle camera to the next."""
SHIPPED: Final = Path(simulated.__file__).with_name("recording.toml").read_text()

Test = Callable[["Fleet"], Awaitable[None]]


class Fleet:
    """All cameras of a scenario, joined, each with a session; device N is camera N, at interface N - 1."""

    def __init__(self, text: str) -> None:
        self.scenario = parse_scenario(text)
        self.world = SimulatedWorld(self.scenario)
        loop = asyncio.get_running_loop()
        self.sessions = CameraSessions(Tasks(structlog.get_logger()), lambda: int(loop.time() * 1e6))
        self.read: dict[DeviceId, CameraReading] = {}
        self.ids = [DeviceId(number) for number in range(1, len(self.scenario.cameras) + 1)]

    def camera_read(self, device_id: DeviceId, reading: CameraReading) -> None:
        self.read[device_id] = reading

    async def open(self, device_id: DeviceId, port: int) -> socket.socket:
        sockets = self.world.sockets
        return await sockets.open(device_id, f"wlan{device_id - 1}", "192.168.42.1", port, SocketKind.TCP)

    async def start(self) -> None:
        recorder = Recorder()
        await self.world.adapters.start(recorder)
        await self.world.backend.start(recorder)
        await self.sessions.start(self, self.open)
        for device_id, plan in zip(self.ids, self.scenario.cameras.values(), strict=True):
            interface = f"wlan{device_id - 1}"
            await self.world.backend.join(JoinRequest(device_id, interface, plan.ssid, plan.passphrase, 20))
            assert plan.emulated is not None
            self.sessions.attach(device_id, plan.emulated[0])
        await asyncio.sleep(READ_AGAIN_S)

    async def stop(self) -> None:
        await self.sessions.stop()
        for device_id in self.ids:
            await self.world.backend.leave(f"wlan{device_id - 1}")
        await asyncio.sleep(1)

    async def record(self, *, on: bool) -> list[type[WifimgrdError] | None]:
        """The errors, by camera."""
        results = await self.sessions.record(self.ids, on=on)
        errors = [results[one].error for one in self.ids]
        return [None if error is None else type(error) for error in errors]

    def all_have(self, **wanted: object) -> bool:
        return all(getattr(self.read[one], key) == value for one in self.ids for key, value in wanted.items())


def with_fleet(text: str = SHIPPED) -> Callable[[Test], Callable[[], None]]:
    def decorate(test: Test) -> Callable[[], None]:
        @wraps(test)
        def run() -> None:
            async def story() -> None:
                fleet = Fleet(text)
                await fleet.start()
                try:
                    await test(fleet)
                finally:
                    await fleet.stop()

            with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
                runner.run(story())

        del run.__dict__["__wrapped__"]
        return run

    return decorate


@with_fleet()
async def test_what_is_read(fleet: Fleet) -> None:
    read = [fleet.read[one] for one in fleet.ids]
    assert [one.model for one in read] == ["HERO12 Black", "Insta360 X4", "Insta360 X4", "RICOH THETA X"]
    assert [one.battery_level for one in read] == [92, 75, 75, 18]
    assert len({one.serial_number for one in read}) == 4
    assert fleet.all_have(recording=RecordingState.IDLE, storage_state=StorageState.OK)
    assert [(one.storage_total or 0) // 10**9 for one in read] == [128, 256, 256, 46]
    assert [one.time_left_s for one in read] == [8840, 16000, 16000, 120]


@with_fleet()
async def test_all_record_and_the_one_whose_card_is_full_says_so(fleet: Fleet) -> None:
    assert await fleet.record(on=True) == [None] * 4
    await asyncio.sleep(3)
    assert fleet.all_have(recording=RecordingState.RECORDING)
    await asyncio.sleep(120)
    *others, theta = (fleet.read[one] for one in fleet.ids)
    assert all(one.is_recording for one in others)
    assert (theta.is_recording, theta.storage_state) == (False, StorageState.FULL)
    assert await fleet.record(on=False) == [None] * 4
    await asyncio.sleep(3)
    assert fleet.all_have(recording=RecordingState.IDLE)


@pytest.mark.parametrize(
    ("kind", "options", "wanted"),
    [
        ("battery", {"percent": 7}, {"battery_level": 7}),
        ("card-full", {}, {"storage_state": StorageState.FULL}),
        ("stops-recording", {"seconds": 0}, {"recording": RecordingState.IDLE}),
    ],
)
def test_what_is_read_in_a_fault(kind: str, options: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    @with_fleet()
    async def run(fleet: Fleet) -> None:
        await fleet.record(on=True)
        fleet.world.set_fault(kind, options)
        await asyncio.sleep(READ_AGAIN_S)
        assert fleet.all_have(**wanted)

    run()


@with_fleet()
async def test_heat_and_a_card_that_is_missing_or_slow_are_read_where_cameras_tell_them(fleet: Fleet) -> None:
    gopro, x4, theta = fleet.ids[0], fleet.ids[1], fleet.ids[3]
    fleet.world.set_fault("too-hot", {})
    await asyncio.sleep(READ_AGAIN_S)
    assert fleet.read[gopro].temperature is TemperatureState.TOO_HOT
    assert fleet.read[theta].temperature is TemperatureState.TOO_HOT
    fleet.world.set_fault("too-hot", {"off": True})
    fleet.world.set_fault("card-missing", {})
    await asyncio.sleep(READ_AGAIN_S)
    assert fleet.read[gopro].storage_state is StorageState.MISSING
    assert fleet.read[x4].storage_state is StorageState.MISSING
    assert fleet.read[theta].storage_state not in {StorageState.OK, None}
    fleet.world.set_fault("card-missing", {"off": True})
    await fleet.record(on=True)
    fleet.world.set_fault("card-slow", {})
    await asyncio.sleep(READ_AGAIN_S)
    assert fleet.read[gopro].storage_state is StorageState.SLOW
    assert fleet.read[x4].stop_reason is StopReason.SLOW_CARD
    assert not any(one.is_recording for one in fleet.read.values())


@with_fleet()
async def test_what_they_do_not_do(fleet: Fleet) -> None:
    for kind in ("refuses-recording", "too-hot", "card-missing", "card-full"):
        fleet.world.set_fault(kind, {})
        assert await fleet.record(on=True) == [CameraRefused] * 4, kind
        fleet.world.set_fault(kind, {"off": True})
        await asyncio.sleep(1)
    assert await fleet.record(on=True) == [None] * 4


@with_fleet()
async def test_cameras_that_take_photos_do_not_record_and_are_busy(fleet: Fleet) -> None:
    fleet.world.set_fault("takes-photos", {})
    await asyncio.sleep(READ_AGAIN_S)
    assert fleet.all_have(recording=RecordingState.IDLE)
    assert await fleet.record(on=True) == [CameraBusy] * 4
    fleet.world.set_fault("takes-photos", {"off": True})
    assert await fleet.record(on=True) == [None] * 4


@pytest.mark.parametrize(("kind", "options"), [("time-lapse", {"speed": 20}), ("paused", {})])
def test_a_recording_whose_count_is_slow_or_stands_still_is_one(kind: str, options: dict[str, Any]) -> None:
    @with_fleet()
    async def run(fleet: Fleet) -> None:
        fleet.world.set_fault(kind, options)
        await fleet.record(on=True)
        await asyncio.sleep(3)
        begins = [fleet.read[one].recording_since_us for one in fleet.ids]
        assert None not in begins
        for _ in range(10):
            await asyncio.sleep(4)
            assert fleet.all_have(recording=RecordingState.RECORDING)
            assert [fleet.read[one].recording_since_us for one in fleet.ids] == begins
        expected = 0 if kind == "paused" else 2
        assert [fleet.read[one].recorded_s for one in fleet.ids] == [expected] * 4

    run()


@pytest.mark.parametrize("on", [True, False])
def test_a_command_that_is_obeyed_and_not_answered_is_unconfirmed(on: bool) -> None:
    @with_fleet()
    async def run(fleet: Fleet) -> None:
        if not on:
            await fleet.record(on=True)
            await asyncio.sleep(3)
        fleet.world.set_fault("command-unanswered", {})
        assert await fleet.record(on=on) == [Unconfirmed] * 4
        fleet.world.set_fault("command-unanswered", {"off": True})
        await asyncio.sleep(60)
        state = RecordingState.RECORDING if on else RecordingState.IDLE
        assert fleet.all_have(recording=state)
        assert await fleet.record(on=on) == [None] * 4

    run()


@pytest.mark.parametrize("minutes", [120, -480, 330])
def test_a_clock_with_another_zone_is_right(minutes: int) -> None:
    @with_fleet()
    async def run(fleet: Fleet) -> None:
        for one in fleet.ids:
            await fleet.sessions.set_clock(one)
        fleet.world.set_fault("clock-zone", {"minutes": minutes})
        await asyncio.sleep(CLOCK_AGAIN_S)
        offsets = [fleet.read[one].clock_offset_us for one in fleet.ids]
        assert all(offset is not None and abs(offset) <= 1_000_000 for offset in offsets), offsets

    run()


@with_fleet()
async def test_a_clock_that_cameras_keep_is_not_set(fleet: Fleet) -> None:
    fleet.world.set_fault("clock-off", {"seconds": 3600})
    fleet.world.set_fault("clock-kept", {})
    for one in fleet.ids:
        with pytest.raises(CameraRefused, match="it keeps its own time"):
            await fleet.sessions.set_clock(one)


@with_fleet()
async def test_silent_and_mad_cameras_are_read_again_once_they_are_well(fleet: Fleet) -> None:
    fleet.world.set_fault("control-silent", {})
    assert await fleet.record(on=True) == [DeviceNotReachable] * 4
    fleet.world.set_fault("control-silent", {"off": True})
    fleet.world.set_fault("control-garbage", {})
    await asyncio.sleep(120)
    assert CameraRefused in await fleet.record(on=True)
    fleet.world.set_fault("control-garbage", {"off": True})
    await asyncio.sleep(60)
    assert await fleet.record(on=True) == [None] * 4
    await asyncio.sleep(3)
    assert fleet.all_have(recording=RecordingState.RECORDING)


@with_fleet()
async def test_clocks_are_set(fleet: Fleet) -> None:
    for one in fleet.ids:
        await fleet.sessions.set_clock(one)
    await asyncio.sleep(READ_AGAIN_S)
    offsets = [fleet.read[one].clock_offset_us for one in fleet.ids]
    assert all(offset is not None and abs(offset) <= 1_000_000 for offset in offsets), offsets


@with_fleet("adapter_count = 1\n[[camera]]\nssid = 'ten'\ndriver = 'gopro'\ncamera_model = 'HERO10 Black'\n")
async def test_a_gopro_that_has_fewer_routes(fleet: Fleet) -> None:
    assert fleet.read[fleet.ids[0]].battery_level == 80
    assert await fleet.record(on=True) == [None]
    await asyncio.sleep(3)
    assert fleet.all_have(recording=RecordingState.RECORDING)


@with_fleet("adapter_count = 1\n[[camera]]\nssid = 'nine'\ndriver = 'gopro-hero9'\n")
async def test_a_hero9_is_read_and_not_commanded(fleet: Fleet) -> None:
    assert fleet.read[fleet.ids[0]].battery_level == 80
    assert await fleet.record(on=True) == [NotSupported]


@with_fleet("adapter_count = 1\n[[camera]]\nssid = 's'\ndriver = 'osc'\ncamera_model = 'RICOH THETA S'\n")
async def test_a_theta_of_the_first_level(fleet: Fleet) -> None:
    assert fleet.read[fleet.ids[0]].model == "RICOH THETA S"
    assert await fleet.record(on=True) == [None]
    await asyncio.sleep(3)
    assert fleet.all_have(recording=RecordingState.RECORDING)
    assert await fleet.record(on=False) == [None]
