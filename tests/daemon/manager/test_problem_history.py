"""The rows of problems and of refusals, as the history makes them of the hub's events."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field

import pytest

from tests.daemon.manager.test_history import SECOND, HistoryInMemory, SettableClock, run
from wifimgrd.daemon.manager.history import History
from wifimgrd.domain.camera import CameraReading, CameraStatus, Problem
from wifimgrd.domain.device import Device, DeviceId, DeviceState, DeviceStatus, Ssid
from wifimgrd.domain.errors import ErrorCode
from wifimgrd.domain.events import (
    CameraChanged,
    DeviceRemoved,
    DeviceStateChanged,
    DeviceUpdated,
    RecordingRefused,
)
from wifimgrd.domain.history import HistoryFilter, HistoryRow

NOSE, TAIL = DeviceId(1), DeviceId(2)
NAMES = {NOSE: "Nose", TAIL: "Tail"}
LOW = Problem.BATTERY_LOW
FULL = Problem.STORAGE_FULL


def status(one: DeviceId, *problems: Problem, has_driver: bool = True) -> DeviceStatus:
    device = Device(one, NAMES[one], "insta360-x4", Ssid(b"x"))
    camera = CameraStatus(CameraReading(battery_level=12), problems=problems) if has_driver else None
    return DeviceStatus(device, DeviceState.DISCONNECTED, "wlan0", camera=camera)


@dataclass
class Told:
    """A history that is told of cameras."""

    store: HistoryInMemory = field(default_factory=HistoryInMemory)
    clock: SettableClock = field(default_factory=SettableClock)
    history: History = field(init=False)

    def start(self, *statuses: DeviceStatus) -> None:
        """A run of the hub begins, whatever became of the one before."""
        self.history = History(self.store, self.clock)
        self.history.start("simulated", statuses, NAMES.__getitem__)

    def says(self, one: DeviceId, *problems: Problem) -> int:
        """A camera has these problems; returns the time."""
        self.history.publish(CameraChanged(status(one, *problems)))
        return self.clock()

    async def rows(self) -> Sequence[HistoryRow]:
        """The older ones first."""
        return (await self.history.read(HistoryFilter()))[::-1]


Test = Callable[[Told], Coroutine[None, None, None]]


def on_history(test: Test) -> None:
    async def whole() -> None:
        told = Told()
        told.start()
        await test(told)
        await told.history.stop()

    run(whole())


def test_a_problem_has_its_row_from_its_begin() -> None:
    async def test(told: Told) -> None:
        at_us = told.says(NOSE, LOW)
        [row] = await told.rows()
        assert (row.kind, row.device_id, row.device_name) == ("problem", NOSE, "Nose")
        assert (row.time_us, row.ended_us, row.interface) == (at_us, 0, "wlan0")
        assert (row.code, row.message) == ("battery-low", "Its battery is low: 12 %.")
        assert row.id in told.store.rows, "it is known if the daemon is killed now"

    on_history(test)


def test_a_problem_that_is_over_has_its_end_and_others_go_on() -> None:
    async def test(told: Told) -> None:
        told.says(NOSE, LOW, FULL)
        await asyncio.sleep(60)
        ended_us = told.says(NOSE, FULL)
        low, full = await told.rows()
        assert (low.code, low.ended_us) == ("battery-low", ended_us)
        assert (full.code, full.ended_us) == ("storage-full", 0)

    on_history(test)


def test_the_same_problem_is_written_once_whatever_else_happens() -> None:
    async def test(told: Told) -> None:
        told.says(NOSE, LOW)
        writes = len(told.store.written_s)
        for event in (CameraChanged, DeviceUpdated, DeviceStateChanged):
            told.history.publish(event(status(NOSE, LOW)))
        assert len(await told.rows()) == 1
        assert len(told.store.written_s) == writes

    on_history(test)


def test_a_problem_that_comes_back_is_another_row() -> None:
    async def test(told: Told) -> None:
        for problems in ((LOW,), (), (LOW,)):
            told.says(NOSE, *problems)
        first, second = await told.rows()
        assert bool(first.ended_us) is True
        assert bool(second.ended_us) is False

    on_history(test)


@pytest.mark.parametrize("is_removed", [True, False])
def test_the_problems_of_a_camera_that_is_gone_or_has_no_driver_any_more_are_over(is_removed: bool) -> None:
    async def test(told: Told) -> None:
        told.says(NOSE, LOW)
        told.says(TAIL, LOW)
        gone = DeviceRemoved(NOSE) if is_removed else DeviceUpdated(status(NOSE, has_driver=False))
        await asyncio.sleep(5)
        gone_us = told.clock()
        told.history.publish(gone)
        nose, tail = await told.rows()
        assert nose.ended_us == gone_us
        assert tail.ended_us == 0

    on_history(test)


def test_what_was_not_over_when_the_hub_was_killed_ended_when_it_was_last_known_to_last() -> None:
    async def test(told: Told) -> None:
        begun_us = told.says(NOSE, LOW)
        await asyncio.sleep(400)
        told.start(status(NOSE, FULL))
        low, full = await told.rows()
        assert (low.code, low.ended_us) == ("battery-low", begun_us + 310 * SECOND)
        assert low.message == (
            "Its battery is low: 12 %."
            " Its end was not seen; the time given is when it was last known to last."
        )
        assert (full.code, full.ended_us) == ("storage-full", 0)

    on_history(test)


def test_that_a_problem_lasts_is_known_soon_and_not_written_more_often() -> None:
    async def test(told: Told) -> None:
        told.says(NOSE, LOW)
        await asyncio.sleep(17)
        told.says(NOSE, LOW)
        [row] = told.store.rows.values()
        assert row.seen_us == row.time_us + 10 * SECOND
        await asyncio.sleep(3583)
        assert len(told.store.written_s) == 1 + 12, "its begin, and each 5 min"

    on_history(test)


def test_what_lasts_at_a_stop_is_written_with_the_time_of_the_stop() -> None:
    async def test(told: Told) -> None:
        told.says(NOSE, LOW)
        await asyncio.sleep(100)
        await told.history.stop()
        stopped_us = told.clock()
        told.start()
        [row] = await told.rows()
        assert row.ended_us == stopped_us

    on_history(test)


def test_a_clock_that_is_set_makes_a_problem_no_longer() -> None:
    async def test(told: Told) -> None:
        begun_us = told.says(NOSE, LOW)
        told.clock.off_us += 3600 * SECOND
        await asyncio.sleep(10)
        told.says(NOSE)
        [row] = await told.rows()
        assert row.ended_us == begun_us + 10 * SECOND

    on_history(test)


def test_the_problems_of_a_device_that_is_forgotten_leave_no_row() -> None:
    async def test(told: Told) -> None:
        told.says(NOSE, LOW)
        told.history.forget(NOSE)
        told.says(NOSE)
        assert await told.rows() == []

    on_history(test)


@pytest.mark.parametrize(
    ("on", "message"),
    [
        (True, "It did not start recording: the card is full."),
        (False, "It did not stop recording: the card is full."),
    ],
)
def test_a_refusal_says_what_a_camera_did_not_do(on: bool, message: str) -> None:
    async def test(told: Told) -> None:
        told.history.publish(RecordingRefused(NOSE, on, ErrorCode.CAMERA_REFUSED, "the card is full"))
        [row] = await told.rows()
        assert (row.kind, row.device_id, row.code) == ("refusal", NOSE, "camera-refused")
        assert (row.message, row.ended_us) == (message, 0)

    on_history(test)
