"""The model of an emulated camera: what time and its client do to it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from tests.simulator.emulators.served import WALL_S, Clock, made
from wifimgrd.domain.camera import StopReason, StorageState, TemperatureState
from wifimgrd.simulator.emulators._camera import (
    BYTES_PER_S,
    SLOW_CARD_S,
    CameraSettings,
    Change,
    EmulatedCamera,
    Refusal,
    Refused,
)


def last_reason(camera: EmulatedCamera) -> StopReason | None:
    return None if camera.last_ended is None else camera.last_ended.reason


def test_a_recording_fills_the_card_and_drains_the_battery() -> None:
    camera, clock = made(CameraSettings(battery=80, card_bytes=64_000_000_000))
    camera.start()
    clock.passed_s = 450
    assert camera.is_recording
    assert camera.counted_s == 450
    assert camera.card_free == 64_000_000_000 - 450 * BYTES_PER_S
    assert camera.battery == 70
    ended = camera.stop()
    assert (ended.seconds, ended.size, ended.reason) == (450, 450 * BYTES_PER_S, StopReason.STOPPED)
    clock.passed_s = 900
    assert camera.card_free == 64_000_000_000 - 450 * BYTES_PER_S
    assert camera.counted_s == 0


def test_it_stops_at_the_moment_at_which_the_card_is_full() -> None:
    camera, clock = made(CameraSettings(card_free_bytes=60 * BYTES_PER_S))
    camera.start()
    assert camera.seconds_left == 60
    clock.passed_s = 3600
    assert not camera.is_recording
    assert camera.storage is StorageState.FULL
    assert camera.card_free == 0
    assert camera.last_ended is not None
    assert camera.last_ended.seconds == pytest.approx(60)
    assert camera.last_ended.reason is StopReason.FULL


def test_it_stops_when_the_battery_is_empty() -> None:
    camera, clock = made(CameraSettings(battery=1))
    camera.start()
    clock.passed_s = 600
    assert last_reason(camera) is StopReason.BATTERY
    assert camera.battery == 0
    with pytest.raises(Refused) as caught:
        camera.start()
    assert caught.value.refusal is Refusal.BATTERY


def test_a_battery_that_is_charged_gains_and_is_never_more_than_full() -> None:
    camera, clock = made(CameraSettings(battery=10, charging=True))
    clock.passed_s = 3600
    assert 40 < camera.battery < 60
    clock.passed_s = 100 * 3600
    assert camera.battery == 100


@pytest.mark.parametrize(
    ("settings", "refusal"),
    [
        (CameraSettings(card_bytes=0), Refusal.CARD_MISSING),
        (CameraSettings(card_free_bytes=0), Refusal.CARD_FULL),
        (CameraSettings(battery=0), Refusal.BATTERY),
        (CameraSettings(temperature_c=80), Refusal.TOO_HOT),
        (CameraSettings(recording=True), Refusal.BUSY),
    ],
)
def test_what_it_refuses(settings: CameraSettings, refusal: Refusal) -> None:
    camera, _ = made(settings)
    with pytest.raises(Refused) as caught:
        camera.start()
    assert caught.value.refusal is refusal


def test_it_refuses_without_a_reason_and_to_stop_what_does_not_run() -> None:
    camera, _ = made()
    camera.refuses_recording = True
    with pytest.raises(Refused) as caught:
        camera.start()
    assert caught.value.refusal is Refusal.OTHER
    with pytest.raises(Refused) as caught:
        camera.stop()
    assert caught.value.refusal is Refusal.IDLE


def test_heat_ends_a_recording() -> None:
    camera, _ = made()
    states = [camera.temperature]
    camera.start()
    camera.set_hot(is_hot=True)
    states.append(camera.temperature)
    assert states == [TemperatureState.NORMAL, TemperatureState.TOO_HOT]
    assert last_reason(camera) is StopReason.TOO_HOT
    camera.set_hot(is_hot=False)
    camera.start()


def test_a_slow_card_ends_a_recording_soon() -> None:
    camera, clock = made()
    camera.set_card(slow=True)
    camera.start()
    clock.passed_s = SLOW_CARD_S / 2
    assert camera.is_recording
    clock.passed_s = SLOW_CARD_S
    assert last_reason(camera) is StopReason.SLOW_CARD
    assert camera.storage is StorageState.SLOW


def test_a_card_that_is_pulled_out_ends_a_recording() -> None:
    camera, _ = made()
    camera.start()
    camera.set_card(missing=True)
    assert not camera.is_recording
    assert (camera.storage, camera.card_total, camera.card_free) == (StorageState.MISSING, 0, 0)
    camera.set_card(missing=False)
    assert camera.storage is StorageState.OK


def test_recordings_that_end_by_themselves() -> None:
    camera, clock = made()
    camera.start()
    camera.set_stops(5, StopReason.BATTERY)
    clock.passed_s = 20
    assert camera.last_ended is not None
    assert (camera.last_ended.seconds, camera.last_ended.reason) == (5, StopReason.BATTERY)
    camera.set_stops(0)
    camera.start()
    assert not camera.is_recording
    camera.set_stops(None)
    camera.start()
    clock.passed_s = 100
    assert camera.is_recording


def test_its_clock_is_off_and_drifts() -> None:
    camera, clock = made(CameraSettings(clock_offset_s=-7, clock_drift_ppm=100))
    assert camera.clock_s == WALL_S - 7
    clock.passed_s = 100_000
    assert camera.clock_s == pytest.approx(clock.wall() - 7 + 10)
    camera.set_clock(clock.wall(), 120)
    assert (camera.clock_s, camera.zone_min) == (clock.wall(), 120)


def test_it_tells_its_changes_when_it_is_looked_at() -> None:
    camera, clock = made(CameraSettings(card_free_bytes=30 * BYTES_PER_S))
    told: list[Change] = []
    unsubscribe = camera.subscribe(told.append)
    camera.start()
    clock.passed_s = camera.seconds_to_change()
    assert clock.passed_s < 30  # the battery's next percent
    clock.passed_s = 30
    camera.advance()
    assert told == [Change.STARTED, Change.BATTERY, Change.STOPPED, Change.CARD]
    unsubscribe()
    clock.passed_s = 10_000
    camera.advance()
    assert len(told) == 4


def test_who_is_told_may_look_at_the_camera() -> None:
    camera, clock = made(CameraSettings(card_free_bytes=20 * BYTES_PER_S))
    seen: list[tuple[Change, bool, int]] = []
    camera.subscribe(lambda change: seen.append((change, camera.is_recording, camera.card_free)))
    camera.start()
    clock.passed_s = 3600
    camera.advance()
    assert (Change.STOPPED, False, 0) in seen
    assert camera.seconds_to_change() > 0
    assert camera.battery == pytest.approx(80 - 20 / 45 - 3580 / 216, abs=1)


def test_only_the_newest_recordings_are_kept() -> None:
    camera, clock = made()
    for _ in range(150):
        camera.start()
        clock.passed_s += 1
        camera.stop()
    assert [camera.files[0].number, camera.files[-1].number] == [51, 150]


MAYBE = st.none() | st.booleans()


class AnyLife(RuleBasedStateMachine):
    """Whatever happens in whatever order."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = Clock()
        self.camera = EmulatedCamera(
            CameraSettings(battery=30, card_bytes=1_000 * BYTES_PER_S), self.clock.monotonic, self.clock.wall
        )
        self.started = self.stopped = 0
        self.camera.subscribe(self._count)

    def _count(self, change: Change) -> None:
        self.started += change is Change.STARTED
        self.stopped += change is Change.STOPPED
        assert self.started - self.stopped in {0, 1}

    @rule(seconds=st.floats(0, 5000))
    def wait(self, seconds: float) -> None:
        self.clock.passed_s += seconds

    @rule()
    def wait_for_change(self) -> None:
        self.clock.passed_s += min(1e6, self.camera.seconds_to_change())

    @rule(on=st.booleans())
    def command(self, on: bool) -> None:
        was_recording = self.camera.is_recording
        refusal = None
        try:
            if on:
                self.camera.start()
            else:
                self.camera.stop()
        except Refused as refused:
            refusal = refused.refusal
        assert (refusal is Refusal.BUSY) == (on and was_recording)

    @rule(missing=MAYBE, full=MAYBE, slow=MAYBE)
    def change_card(self, missing: bool | None, full: bool | None, slow: bool | None) -> None:
        self.camera.set_card(missing=missing, full=full, slow=slow)

    @rule(percent=st.none() | st.integers(0, 100), draining=st.booleans())
    def change_battery(self, percent: int | None, draining: bool) -> None:
        self.camera.set_battery(percent, draining=draining)

    @rule(is_hot=st.booleans())
    def heat(self, is_hot: bool) -> None:
        self.camera.set_hot(is_hot=is_hot)

    @rule(after_s=st.none() | st.floats(0, 100))
    def stop_by_itself(self, after_s: float | None) -> None:
        self.camera.set_stops(after_s)

    @invariant()
    def it_is_possible(self) -> None:
        camera = self.camera
        assert 0 <= camera.battery <= 100
        assert 0 <= camera.card_free <= camera.card_total
        assert camera.seconds_to_change() >= 0
        assert camera.counted_s >= 0
        if camera.is_recording:
            assert camera.storage in {StorageState.OK, StorageState.SLOW}
            assert camera.temperature is not TemperatureState.TOO_HOT


TestAnyLife = AnyLife.TestCase
TestAnyLife.settings = settings(max_examples=40, deadline=None)


@given(st.lists(st.floats(0.001, 300), min_size=1, max_size=30))
def test_it_does_not_matter_how_often_it_is_looked_at(waits: list[float]) -> None:
    often, clock = made(CameraSettings(battery=3, card_free_bytes=90 * BYTES_PER_S))
    once, other_clock = made(CameraSettings(battery=3, card_free_bytes=90 * BYTES_PER_S))
    often.start()
    once.start()
    for seconds in waits:
        clock.passed_s += seconds
        other_clock.passed_s += seconds
        often.advance()
    assert often.is_recording == once.is_recording
    assert often.card_free == pytest.approx(once.card_free, abs=2)
    assert last_reason(often) == last_reason(once)
    assert abs(often.battery - once.battery) <= 1
