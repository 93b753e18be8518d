"""Whatever a camera says and leaves out by turns, it decides no rate; an honest one loses nothing."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.daemon.manager.test_cameras import Cameras, run_on_cameras
from tests.virtual_time import VirtualTimeLoop
from wifimgrd.domain.camera import (
    CLOCK_STEP_US,
    BatteryState,
    CameraReading,
    CameraStatus,
    Problem,
    RecordingState,
    StopReason,
    StorageState,
    TemperatureState,
)
from wifimgrd.domain.camera_steps import PUBLISHED, is_number, steps
from wifimgrd.domain.device import DeviceId
from wifimgrd.domain.events import CameraChanged, RecordingStopped
from wifimgrd.domain.steadiness import MINUTE_S, MOST_CHANGES

S, GB = 1_000_000, 10**9
_OF_ONE = 2 * MOST_CHANGES
"""A value changes ten times and is held; what was held is known again, and changes as often: before a minute
is over it may do both in part. What silence hides and shows again is among it."""


def run(test: Callable[[Cameras, DeviceId], Coroutine[Any, Any, None]]) -> None:
    """Run a coroutine function on a started hub with one connected camera."""

    async def on_one(cameras: Cameras) -> None:
        await test(cameras, await cameras.connected())

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        runner.run(run_on_cameras(on_one))


@dataclass
class Told:
    """What was told, and when."""

    cameras: Cameras
    changes: list[tuple[float, CameraStatus]] = field(default_factory=list)
    ends: list[float] = field(default_factory=list)

    def note(self) -> None:
        now_s, story = asyncio.get_running_loop().time(), self.cameras.bench.story
        for event in story.of(CameraChanged):
            assert event.status.camera is not None
            self.changes.append((now_s, event.status.camera))
        self.ends += [now_s] * len(story.of(RecordingStopped))
        story.forget()

    def by_kind(self) -> Mapping[str, Sequence[float]]:
        """When each value and each problem was told as another one."""
        found: dict[str, list[float]] = {}
        for (_, before), (at_s, now) in zip(self.changes, self.changes[1:], strict=False):
            names = [one for one in PUBLISHED if has_turned(one, now.reading, before.reading)]
            problems = {one.value for one in {*now.problems} ^ {*before.problems}}
            for name in (*names, *problems):
                found.setdefault(name, []).append(at_s)
        return found


def has_turned(name: str, now: CameraReading, before: CameraReading) -> bool:
    """Whether a value was told as another one, of a number by two steps."""
    if is_number(name, now, before):
        return abs(steps(name, now, before)) >= 2
    return bool(getattr(now, name) != getattr(before, name))


def most_in_a_minute(times: Sequence[float]) -> int:
    return max((sum(0 <= one - since < MINUTE_S for one in times) for since in times), default=0)


VALUES: Mapping[str, st.SearchStrategy[Any]] = {
    "recording": st.sampled_from([*RecordingState, None]),
    "recorded_s": st.none() | st.integers(0, 30),
    "recording_since_us": st.none() | st.integers(0, 30),
    "stop_reason": st.sampled_from([*StopReason, None]),
    "battery_level": st.none() | st.integers(0, 100) | st.integers(12, 20),
    "battery_state": st.sampled_from([*BatteryState, None]),
    "storage_state": st.sampled_from([*StorageState, None]),
    "storage_free": st.none() | st.integers(0, 64 * GB) | st.integers(10 * GB, 11 * GB),
    "storage_total": st.none() | st.integers(0, 1 << 50),
    "time_left_s": st.none() | st.integers(0, 9000) | st.integers(580, 680) | st.integers(60, 140),
    "temperature": st.sampled_from([*TemperatureState, None]),
    "clock_offset_us": st.none()
    | st.integers(-8 * S, 8 * S)
    | st.sampled_from([0, 1_500_000, 4 * S, 5 * S, -5 * S]),
    "clock_read_us": st.integers(0, 3),
    "model": st.sampled_from(["", "X4", "X5"]),
}
READINGS = st.builds(CameraReading, read_us=st.integers(0, 3), **VALUES)
"""`read_us` is made greater by each reading, by any step."""
ONE_VALUE = st.sampled_from([*VALUES]).flatmap(
    lambda name: st.lists(st.builds(CameraReading, **{name: VALUES[name]}), min_size=2, max_size=3)
)
PATTERNS = st.tuples(
    st.lists(READINGS, min_size=1, max_size=4) | ONE_VALUE,
    st.integers(1, 40),
    st.sampled_from([0.25, 0.25, 0.5, 1.0, 2.5, 5.9, 31.0]),
)
RECORDS = CameraReading(recording=RecordingState.RECORDING)


@settings(max_examples=20)
@given(st.lists(PATTERNS, min_size=1, max_size=3))
@example([([replace(RECORDS, recorded_s=9), replace(RECORDS, recorded_s=8)], 60, 0.25)])
@example([([CameraReading(battery_level=10), CameraReading()], 60, 0.25)])
@example([([CameraReading(clock_offset_us=9 * S, clock_read_us=one) for one in (1, 2)], 60, 0.25)])
@example([([CameraReading(clock_offset_us=n * CLOCK_STEP_US) for n in range(100)], 2, 0.25)])
@example([([CameraReading(time_left_s=one, storage_state=StorageState.OK) for one in (590, 665)], 60, 0.25)])
def test_a_camera_decides_no_rate(patterns: list[tuple[list[CameraReading], int, float]]) -> None:
    async def test(cameras: Cameras, device: DeviceId) -> None:
        told, read_us = Told(cameras), 0
        assert cameras.control.listener is not None
        for readings, repeats, every_s in patterns:
            for number in range(repeats * len(readings)):
                reading = readings[number % len(readings)]
                read_us += 1 + reading.read_us * 10 * S
                cameras.control.listener.camera_read(device, replace(reading, read_us=read_us))
                told.note()
                await asyncio.sleep(every_s)
                told.note()
        for name, times in told.by_kind().items():
            assert most_in_a_minute(times) <= _OF_ONE, name
        assert most_in_a_minute(told.ends) <= MOST_CHANGES
        assert most_in_a_minute([at_s for at_s, _ in told.changes]) <= len(PUBLISHED) * (MOST_CHANGES + 2)

    run(test)


STEPS = st.tuples(
    st.floats(1, 5),  # seconds until the next reading
    st.floats(0, 0.3),  # percent of the battery in each
    st.integers(0, 80_000_000),  # bytes of the card
    st.floats(0.5, 1.5),  # seconds of what is left
    st.integers(-100, 100),  # microseconds of the clock
    st.sampled_from([None, None, *PUBLISHED]),  # what is not said this time
)


@settings(max_examples=20)
@given(st.lists(STEPS, min_size=30, max_size=60))
def test_of_an_honest_camera_each_step_is_told_and_nothing_is_held(
    steps: list[tuple[float, float, int, float, int, str | None]],
) -> None:
    async def test(cameras: Cameras, device: DeviceId) -> None:
        battery, free, left, clock, unsaid = 95.0, 60 * GB, 3000.0, 0, Counter[str]()
        at_s = 0.0
        for number, (every_s, percent, size, slower, drift, name) in enumerate(steps):
            at_s += every_s
            battery, free = max(0.0, battery - percent * every_s), max(0, free - int(size * every_s))
            left, clock = max(0.0, left - slower * every_s), clock + int(drift * every_s)
            reading = CameraReading(
                read_us=int(at_s * S),
                battery_level=int(battery),
                battery_state=BatteryState.DISCHARGING,
                recording=RecordingState.RECORDING,
                recorded_s=int(at_s),
                storage_state=StorageState.OK,
                storage_free=free,
                storage_total=64 * GB,
                time_left_s=int(left),
                temperature=[*TemperatureState][number // 10 % 3],
                clock_offset_us=clock + number % 2 * 999_999,
                clock_read_us=int(at_s * S),
                model="X4",
                serial_number="1",
                firmware_version="1",
            )
            if name is not None and unsaid[name] < at_s // 40:  # now and then
                unsaid[name] += 1
                reading = replace(reading, **{name: getattr(CameraReading(), name)})
            assert cameras.control.listener is not None
            cameras.control.listener.camera_read(device, reading)
            camera = cameras.camera(device)
            assert Problem.UNSTABLE not in camera.problems
            for one in PUBLISHED:
                assert not has_turned(one, reading, camera.reading), one
            await asyncio.sleep(every_s)
        assert cameras.ends() == []

    run(test)
