"""The rows of recordings and their takes, as the history makes them of the hub's events."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field, replace

import pytest

from tests.daemon.manager.test_history import SECOND, HistoryInMemory, SettableClock, run
from wifimgrd.daemon.manager.history import History
from wifimgrd.domain.camera import CameraReading, CameraStatus, EndSeen, StopReason
from wifimgrd.domain.clocks import Clocks
from wifimgrd.domain.device import Device, DeviceId, DeviceState, DeviceStatus, Ssid
from wifimgrd.domain.errors import ErrorCode
from wifimgrd.domain.events import RecordingFailed, RecordingFiles, RecordingStarted, RecordingStopped
from wifimgrd.domain.history import HistoryFilter, HistoryKind, HistoryRow
from wifimgrd.domain.recordings import ExpectedCamera, RecordedFile, Recording
from wifimgrd.domain.takes import Take, TakeFilter

NOSE, TAIL, LEFT = DeviceId(1), DeviceId(2), DeviceId(3)
NAMES = {NOSE: "Nose", TAIL: "Tail", LEFT: "Left"}
RIG = tuple(ExpectedCamera(device, name) for device, name in NAMES.items())


@dataclass
class Recorded:
    """A history that is told what cameras do."""

    store: HistoryInMemory = field(default_factory=HistoryInMemory)
    clock: SettableClock = field(default_factory=SettableClock)
    over: list[int] = field(default_factory=list)
    """The takes that were told to be over, by the ids of their first rows."""
    began: dict[DeviceId, int] = field(default_factory=dict)
    """The recordings that run."""
    history: History = field(init=False)

    def __post_init__(self) -> None:
        self.open()

    def open(self) -> None:
        self.history = History(self.store, self.clock)
        self.history.recordings.take_over.subscribe(self.over.append)

    def start(self, *, knows_driver: bool = True) -> None:
        """As the hub does, with what is on disk of each device."""
        statuses = [
            DeviceStatus(
                replace(device(one), recording_began_us=self.began.get(one, 0)),
                DeviceState.DISCONNECTED,
                camera=CameraStatus(CameraReading(serial_number=f"SN{one}")) if knows_driver else None,
            )
            for one in NAMES
        ]
        self.history.start("simulated", statuses, NAMES.__getitem__)

    async def killed(self) -> None:
        """The daemon is killed, and starts again."""
        self.open()
        await asyncio.sleep(10)

    def begins(self, one: DeviceId, *, ago_s: float = 0, **known: object) -> int:
        since_us = self.began[one] = self.clock() - round(ago_s * SECOND)
        recording = replace(Recording(expected=RIG), **known)  # type: ignore[arg-type]
        self.history.publish(RecordingStarted(one, NAMES[one], since_us, recording))
        return since_us

    def ends(
        self,
        one: DeviceId,
        *,
        seen: EndSeen = EndSeen.DIRECTLY,
        ended_us: int = 0,
        serial_number: str = "",
    ) -> int:
        since_us = self.began.pop(one)
        reason = StopReason.STOPPED if seen is EndSeen.DIRECTLY else StopReason.UNKNOWN
        self.history.publish(
            RecordingStopped(
                one,
                NAMES[one],
                reason,
                since_us,
                seen,
                "",
                ended_us or self.clock(),
                40,
                1000,
                serial_number,
            )
        )
        return since_us

    def fails(self, one: DeviceId, *, code: ErrorCode = ErrorCode.CAMERA_REFUSED, ago_s: float = 0) -> None:
        now_s = asyncio.get_running_loop().time()
        self.history.publish(RecordingFailed(one, code, Clocks(self.clock(), now_s - ago_s)))

    async def rows(self) -> Sequence[HistoryRow]:
        return await self.history.read(HistoryFilter())

    async def takes(self) -> list[Take]:
        return await self.history.takes.newest(TakeFilter())

    async def missing(self) -> dict[str, str]:
        [take] = await self.takes()
        return {camera.device_name: camera.code for camera in take.missing}

    async def cameras(self) -> list[list[str]]:
        return [[row.device_name for row in take.recordings] for take in await self.takes()]


def device(one: DeviceId) -> Device:
    return Device(one, NAMES[one], "insta360-x4", Ssid(NAMES[one].encode()), expected=True)


Test = Callable[[Recorded], Coroutine[None, None, None]]


def on_history(test: Test) -> None:
    async def whole() -> None:
        recorded = Recorded()
        recorded.start()
        await test(recorded)
        await recorded.history.stop()

    run(whole())


def test_a_recording_has_its_row_from_its_begin() -> None:
    async def test(recorded: Recorded) -> None:
        since_us = recorded.begins(NOSE, serial_number="SN1", battery_level=80, clock_offset_us=5)
        [row] = await recorded.rows()
        assert (row.kind, row.device_name, row.time_us, row.ended_us) == ("recording", "Nose", since_us, 0)
        assert (row.code, row.message) == ("", "")
        assert row.recording is not None
        assert (row.recording.serial_number, row.recording.battery_level) == ("SN1", 80)
        assert recorded.store.rows[row.id].ended_us == 0, "it is known if the daemon is killed now"

    on_history(test)


def test_the_same_row_has_its_end() -> None:
    async def test(recorded: Recorded) -> None:
        recorded.begins(NOSE, battery_level=80)
        [begun] = await recorded.rows()
        await asyncio.sleep(60)
        recorded.ends(NOSE)
        [row] = await recorded.rows()
        assert (row.id, row.time_us) == (begun.id, begun.time_us)
        assert row.ended_us - row.time_us == pytest.approx(60 * SECOND, abs=SECOND)
        assert (row.code, row.message) == ("stopped", "The recording was stopped.")
        assert row.recording is not None
        assert (row.recording.battery_level, row.recording.battery_level_after) == (80, 40)
        assert row.recording.storage_free_after == 1000

    on_history(test)


def test_an_end_that_is_seen_later_has_no_values_of_the_reconnection() -> None:
    async def test(recorded: Recorded) -> None:
        recorded.begins(NOSE, battery_level=80)
        recorded.ends(NOSE, seen=EndSeen.LATER)
        [row] = await recorded.rows()
        assert row.recording is not None
        assert (row.recording.battery_level_after, row.recording.storage_free_after) == (None, None)

    on_history(test)


@pytest.mark.parametrize(("at_begin", "known"), [("", "SN2"), ("SN1", "SN1")])
def test_a_serial_number_that_is_read_during_the_recording_is_that_of_its_camera(
    at_begin: str, known: str
) -> None:
    async def test(recorded: Recorded) -> None:
        recorded.begins(NOSE, serial_number=at_begin)
        recorded.ends(NOSE, serial_number="SN2")
        [row] = await recorded.rows()
        assert row.recording is not None
        assert row.recording.serial_number == known

    on_history(test)


FILES = (RecordedFile("100GOPRO/GX010123.MP4", 4096), RecordedFile("100GOPRO/GX020123.MP4"))


@pytest.mark.parametrize("is_early", [True, False])
def test_the_files_are_kept_with_their_recording_also_before_its_end_is_told(is_early: bool) -> None:
    async def test(recorded: Recorded) -> None:
        since_us = recorded.begins(NOSE)
        if is_early:
            recorded.history.publish(RecordingFiles(NOSE, since_us, FILES))
        recorded.ends(NOSE)
        await asyncio.sleep(5)
        recorded.begins(NOSE)
        if not is_early:
            recorded.history.publish(RecordingFiles(NOSE, since_us, FILES))
        later, row = await recorded.rows()
        assert later.recording is not None
        assert later.recording.files is None
        assert row.recording is not None
        assert row.recording.files == FILES

    on_history(test)


def test_files_of_a_recording_that_is_not_known_change_nothing() -> None:
    async def test(recorded: Recorded) -> None:
        recorded.begins(NOSE)
        before = dict(recorded.store.rows)
        recorded.history.publish(RecordingFiles(NOSE, 1, FILES))
        recorded.history.publish(RecordingFiles(TAIL, 1, FILES))
        assert recorded.store.rows == before

    on_history(test)


def test_the_end_of_a_recording_whose_row_was_deleted_has_a_row() -> None:
    async def test(recorded: Recorded) -> None:
        recorded.begins(NOSE)
        recorded.history.forget(NOSE)
        assert await recorded.rows() == []
        recorded.ends(NOSE)
        [row] = await recorded.rows()
        assert (row.device_name, row.code) == ("Nose", "stopped")

    on_history(test)


# -- restarts


async def gone_on(recorded: Recorded) -> HistoryRow:
    [row] = await recorded.rows()
    assert (row.ended_us, row.code) == (0, "")
    return row


def test_a_recording_goes_on_when_the_daemon_is_killed() -> None:
    async def test(recorded: Recorded) -> None:
        recorded.begins(NOSE, serial_number="SN1")
        before = await gone_on(recorded)
        await recorded.killed()
        recorded.start()
        after = await gone_on(recorded)
        assert (after.id, after.time_us, after.recording) == (before.id, before.time_us, before.recording)
        recorded.ends(NOSE, seen=EndSeen.LATER)
        [row] = await recorded.rows()
        assert (row.id, row.code) == (before.id, "unknown")
        assert row.ended_us - row.time_us == pytest.approx(10 * SECOND, abs=SECOND)

    on_history(test)


@pytest.mark.parametrize("seen", [EndSeen.LATER, EndSeen.DIRECTLY])
def test_an_end_that_only_the_history_has_stored_counts_unless_the_camera_still_records(
    seen: EndSeen,
) -> None:
    async def test(recorded: Recorded) -> None:
        began_us = recorded.begins(NOSE)
        await asyncio.sleep(5)
        recorded.ends(NOSE)
        [ended] = await recorded.rows()
        recorded.began[NOSE] = began_us
        await recorded.killed()
        recorded.start()
        await gone_on(recorded)
        assert recorded.store.rows[ended.id].seen_us == ended.ended_us, (
            "it is known if the daemon is killed now"
        )
        recorded.ends(NOSE, seen=seen)
        [row] = await recorded.rows()
        assert (row == ended) == (seen is EndSeen.LATER)
        assert row.ended_us >= ended.ended_us

    on_history(test)


def test_an_end_that_the_history_has_not_stored_is_when_it_was_last_known_to_record() -> None:
    async def test(recorded: Recorded) -> None:
        recorded.begins(NOSE)
        await asyncio.sleep(310)
        del recorded.began[NOSE]
        await recorded.killed()
        recorded.start()
        [row] = await recorded.rows()
        assert row.ended_us - row.time_us == pytest.approx(300 * SECOND, abs=SECOND)
        assert (row.code, "last known" in row.message) == ("unknown", True)

    on_history(test)


@pytest.mark.parametrize("knows_driver", [True, False])
def test_a_recording_that_began_before_the_history_was_kept_has_a_row_from_then_on(
    knows_driver: bool,
) -> None:
    async def test() -> None:
        recorded = Recorded()
        since_us = recorded.begins(NOSE, ago_s=-0.5)
        assert await recorded.rows() == []
        recorded.start(knows_driver=knows_driver)
        row = await gone_on(recorded)
        assert (row.device_name, row.time_us) == ("Nose", since_us)
        assert row.recording is not None
        assert row.recording.serial_number == ("SN1" if knows_driver else "")
        if knows_driver:
            assert await recorded.missing() == {"Tail": "", "Left": ""}
        await recorded.history.stop()

    run(test())


def test_an_end_that_is_seen_before_the_history_is_open_ends_the_row() -> None:
    async def test(recorded: Recorded) -> None:
        recorded.begins(NOSE)
        [begun] = await recorded.rows()
        await recorded.killed()
        recorded.ends(NOSE, seen=EndSeen.LATER)
        recorded.start()
        [row] = await recorded.rows()
        assert (row.id, row.code) == (begun.id, "unknown")
        assert row.ended_us - row.time_us == pytest.approx(10 * SECOND, abs=SECOND)
        assert row.message == "The recording stopped while the hub could not see it; why is not known."
        recorded.begins(TAIL)
        assert await recorded.cameras() == [["Tail"], ["Nose"]]

    on_history(test)


def test_a_recording_of_a_removed_device_ends_in_its_row() -> None:
    async def test(recorded: Recorded) -> None:
        recorded.begins(NOSE)
        recorded.ends(NOSE, seen=EndSeen.NEVER)
        [row] = await recorded.rows()
        assert row.message == "The camera was removed, and the recording was not seen to stop."

    on_history(test)


def test_how_long_a_recording_lasts_is_written_now_and_then() -> None:
    async def test(recorded: Recorded) -> None:
        recorded.begins(NOSE)
        await asyncio.sleep(601)
        [row] = recorded.store.rows.values()
        assert row.seen_us - row.time_us == pytest.approx(600 * SECOND, abs=SECOND)

    on_history(test)


def test_how_long_a_recording_lasts_is_known_on_disk_when_another_one_begins() -> None:
    async def test(recorded: Recorded) -> None:
        recorded.begins(NOSE)
        await asyncio.sleep(400)
        recorded.begins(TAIL)
        await asyncio.sleep(10)
        recorded.fails(LEFT)
        row = recorded.store.rows[1]
        assert row.seen_us - row.time_us == pytest.approx(410 * SECOND, abs=SECOND)

    on_history(test)


# -- takes


def test_recordings_that_overlap_are_one_take_and_later_ones_another() -> None:
    async def test(recorded: Recorded) -> None:
        for first, second in ((NOSE, TAIL), (LEFT, NOSE)):
            recorded.begins(first)
            await asyncio.sleep(5)
            recorded.begins(second)
            recorded.ends(first)
            await asyncio.sleep(5)
            recorded.ends(second)
            await asyncio.sleep(60)
        assert await recorded.cameras() == [["Left", "Nose"], ["Nose", "Tail"]]

    on_history(test)


def test_the_present_take_has_no_end() -> None:
    async def test(recorded: Recorded) -> None:
        recorded.begins(NOSE)
        recorded.begins(TAIL)
        recorded.ends(NOSE)
        [take] = await recorded.takes()
        assert take.ended_us == 0

    on_history(test)


def test_a_take_goes_on_when_the_daemon_is_killed() -> None:
    async def test(recorded: Recorded) -> None:
        recorded.begins(NOSE)
        await asyncio.sleep(5)
        recorded.begins(TAIL)
        recorded.ends(NOSE)
        await recorded.killed()
        recorded.start()
        recorded.begins(LEFT)
        assert await recorded.cameras() == [["Nose", "Tail", "Left"]]

    on_history(test)


def test_a_recording_that_is_found_later_belongs_to_the_takes_in_which_it_ran() -> None:
    async def test(recorded: Recorded) -> None:
        for one in (NOSE, TAIL):
            recorded.begins(one)
            await asyncio.sleep(60)
            recorded.ends(one)
            await asyncio.sleep(60)
        assert await recorded.cameras() == [["Tail"], ["Nose"]]
        recorded.begins(LEFT, ago_s=100)
        assert await recorded.cameras() == [["Tail", "Left"], ["Nose"]]
        recorded.ends(LEFT)
        recorded.begins(LEFT, ago_s=200)
        assert await recorded.cameras() == [["Nose", "Left", "Tail", "Left"]], "by their begins"

    on_history(test)


def test_a_begin_that_a_camera_counts_in_whole_seconds_joins_no_earlier_take() -> None:
    async def test(recorded: Recorded) -> None:
        recorded.begins(NOSE)
        await asyncio.sleep(60)
        recorded.ends(NOSE)
        await asyncio.sleep(0.3)
        recorded.begins(NOSE, ago_s=0.9)
        assert await recorded.cameras() == [["Nose"], ["Nose"]]

    on_history(test)


@pytest.mark.parametrize("hours", [14, -14])
def test_a_clock_that_is_set_during_a_take_splits_it_not_and_makes_it_no_longer(hours: int) -> None:
    async def test(recorded: Recorded) -> None:
        recorded.clock.off_us = 20 * 3600 * SECOND
        began_us = recorded.begins(NOSE)
        await asyncio.sleep(60)
        recorded.clock.off_us += hours * 3600 * SECOND
        recorded.begins(TAIL)
        await asyncio.sleep(60)
        recorded.ends(NOSE, ended_us=began_us + 120 * SECOND)
        recorded.ends(TAIL)
        [take] = await recorded.takes()
        assert len(take.recordings) == 2
        assert take.time_us == began_us
        assert take.ended_us - began_us == pytest.approx(120 * SECOND, abs=SECOND)

    on_history(test)


def test_a_clock_that_is_set_back_makes_one_take_of_no_two() -> None:
    async def test(recorded: Recorded) -> None:
        recorded.clock.off_us = 3600 * SECOND
        for _ in range(2):
            recorded.begins(NOSE)
            await asyncio.sleep(600)
            recorded.ends(NOSE)
            await asyncio.sleep(10)
            recorded.clock.off_us -= 900 * SECOND
        assert await recorded.cameras() == [["Nose"], ["Nose"]]

    on_history(test)


def test_who_was_expected_and_does_not_record_is_missing() -> None:
    async def test(recorded: Recorded) -> None:
        recorded.begins(NOSE)
        assert await recorded.missing() == {"Tail": "", "Left": ""}
        recorded.begins(TAIL)
        assert await recorded.missing() == {"Left": ""}

    on_history(test)


def test_who_was_missing_stays_so_whatever_becomes_of_the_others_rows() -> None:
    """The rows of one that records often are the first to go."""

    async def test(recorded: Recorded) -> None:
        recorded.begins(NOSE)
        recorded.begins(TAIL)
        recorded.ends(TAIL)
        del recorded.store.rows[2]
        assert await recorded.missing() == {"Left": ""}

    on_history(test)


@pytest.mark.parametrize("seconds", [-14, 14])
def test_who_failed_to_record_is_missing_with_the_code_of_the_command(seconds: int) -> None:
    """The command fails before the first recording begins, or after it."""

    async def test(recorded: Recorded) -> None:
        if seconds < 0:
            recorded.fails(TAIL)
            await asyncio.sleep(-seconds)
        recorded.begins(NOSE)
        if seconds > 0:
            await asyncio.sleep(seconds)
            recorded.fails(TAIL, ago_s=seconds + 0.5)
        assert await recorded.missing() == {"Tail": "camera-refused", "Left": ""}

    on_history(test)


def test_a_command_of_long_before_is_not_why_a_camera_is_missing() -> None:
    async def test(recorded: Recorded) -> None:
        recorded.fails(TAIL)
        await asyncio.sleep(16)
        recorded.begins(NOSE)
        assert await recorded.missing() == {"Tail": "", "Left": ""}

    on_history(test)


def test_a_command_that_ends_after_a_short_take_is_of_that_take() -> None:
    async def test(recorded: Recorded) -> None:
        recorded.begins(NOSE)
        await asyncio.sleep(3)
        recorded.ends(NOSE)
        await asyncio.sleep(7)
        recorded.fails(TAIL, ago_s=10.5)
        recorded.fails(LEFT, ago_s=5, code=ErrorCode.NOT_CONNECTED)  # of a command after the take
        assert await recorded.missing() == {"Tail": "camera-refused", "Left": ""}

    on_history(test)


@pytest.mark.parametrize("is_early", [True, False])
def test_a_command_for_the_take_before_is_not_why_a_camera_is_missing(is_early: bool) -> None:
    """It fails before the first take begins, or once the second one has begun."""

    async def test(recorded: Recorded) -> None:
        if is_early:
            recorded.fails(TAIL)
        recorded.begins(NOSE)
        await asyncio.sleep(3)
        recorded.ends(NOSE)
        await asyncio.sleep(3)
        recorded.begins(NOSE)
        if not is_early:
            recorded.fails(TAIL, ago_s=5)
        codes = [[(one.device_name, one.code) for one in take.missing] for take in await recorded.takes()]
        assert codes == [[("Tail", ""), ("Left", "")], [("Tail", "camera-refused"), ("Left", "")]]

    on_history(test)


def test_a_camera_that_failed_and_records_later_in_the_take_is_not_missing() -> None:
    async def test(recorded: Recorded) -> None:
        recorded.begins(NOSE)
        recorded.fails(TAIL)
        await asyncio.sleep(30)
        recorded.begins(TAIL)
        assert await recorded.missing() == {"Left": ""}

    on_history(test)


def test_a_camera_whose_history_was_deleted_is_neither_recorded_nor_missing() -> None:
    async def test(recorded: Recorded) -> None:
        recorded.begins(NOSE)
        recorded.begins(TAIL)
        recorded.history.forget(TAIL)
        recorded.history.forget(LEFT)
        recorded.fails(LEFT)
        assert await recorded.cameras() == [["Nose"]]
        assert await recorded.missing() == {}

    on_history(test)


def test_many_takes_are_read_though_rows_are_read_in_parts() -> None:
    async def test(recorded: Recorded) -> None:
        for _ in range(50):
            for one in NAMES:
                recorded.begins(one)
            await asyncio.sleep(3)
            for one in NAMES:
                recorded.ends(one)
            await asyncio.sleep(3)
        assert [len(take.recordings) for take in await recorded.takes()] == [3] * 50
        newest = await recorded.history.takes.newest(TakeFilter(limit=7))
        assert newest == (await recorded.takes())[:7]
        since_us = newest[-1].time_us
        assert await recorded.history.takes.newest(TakeFilter(since_us=since_us)) == newest
        [oldest] = await recorded.history.takes.newest(
            TakeFilter(until_us=since_us - 43 * 6 * SECOND + SECOND)
        )
        assert oldest.recordings[0].id == 1

    on_history(test)


# -- the end of a take


def test_a_take_is_over_once_the_files_of_all_recordings_are_known() -> None:
    async def test(recorded: Recorded) -> None:
        begun = {one: recorded.begins(one) for one in (NOSE, TAIL)}
        recorded.ends(NOSE)
        recorded.history.publish(RecordingFiles(NOSE, begun[NOSE], FILES))
        recorded.ends(TAIL)
        await asyncio.sleep(20)
        assert recorded.over == []
        recorded.history.publish(RecordingFiles(TAIL, begun[TAIL], None))
        assert recorded.over == [1]
        await asyncio.sleep(60)
        assert recorded.over == [1], "it is told once"
        take = await recorded.history.takes.of(1)
        assert take is not None
        assert [row.id for row in take.recordings] == [1, 2]

    on_history(test)


def test_a_take_is_told_30_s_after_its_end_where_files_do_not_come() -> None:
    async def test(recorded: Recorded) -> None:
        recorded.begins(NOSE)
        recorded.ends(NOSE)
        await asyncio.sleep(29)
        assert recorded.over == []
        await asyncio.sleep(2)
        assert recorded.over == [1]

    on_history(test)


def test_the_files_of_a_removed_device_are_not_waited_for() -> None:
    async def test(recorded: Recorded) -> None:
        recorded.begins(NOSE)
        recorded.ends(NOSE, seen=EndSeen.NEVER)
        assert recorded.over == [1]

    on_history(test)


def test_a_take_that_goes_on_is_not_over() -> None:
    async def test(recorded: Recorded) -> None:
        recorded.begins(NOSE)
        await asyncio.sleep(60)
        recorded.ends(NOSE)
        await asyncio.sleep(10)
        recorded.begins(TAIL, ago_s=30)
        await asyncio.sleep(60)
        assert recorded.over == []
        recorded.ends(TAIL)
        await asyncio.sleep(31)
        assert recorded.over == [1]

    on_history(test)


def test_a_new_take_does_not_hold_up_the_one_before() -> None:
    async def test(recorded: Recorded) -> None:
        recorded.begins(NOSE)
        recorded.ends(NOSE)
        await asyncio.sleep(5)
        recorded.begins(NOSE)
        await asyncio.sleep(31)
        assert recorded.over == [1]

    on_history(test)


def test_of_a_take_whose_rows_were_deleted_nothing_is_known() -> None:
    async def test(recorded: Recorded) -> None:
        recorded.begins(NOSE)
        recorded.ends(NOSE)
        recorded.begins(TAIL)
        recorded.history.forget(NOSE)
        assert await recorded.history.takes.of(1) is None
        assert [row.kind for row in await recorded.rows()] == [HistoryKind.RECORDING]

    on_history(test)


def test_a_take_is_told_though_the_row_of_its_last_recording_was_deleted() -> None:
    async def test(recorded: Recorded) -> None:
        since_us = recorded.begins(NOSE)
        recorded.begins(TAIL)
        recorded.ends(TAIL)
        recorded.history.forget(TAIL)
        recorded.ends(NOSE)
        recorded.history.publish(RecordingFiles(NOSE, since_us, FILES))
        [take_id] = recorded.over
        take = await recorded.history.takes.of(take_id)
        assert take is not None
        assert [row.device_name for row in take.recordings] == ["Nose"]

    on_history(test)


def test_a_take_whose_newest_rows_are_older_than_an_id_is_not_looked_for_further() -> None:
    async def test(recorded: Recorded) -> None:
        recorded.begins(NOSE)
        recorded.ends(NOSE)
        assert await recorded.history.takes.of(2) is None

    on_history(test)


# -- deleted rows


@pytest.mark.parametrize("is_killed", [False, True])
def test_who_is_missing_is_known_though_the_row_of_the_first_recording_is_deleted(is_killed: bool) -> None:
    async def test(recorded: Recorded) -> None:
        recorded.begins(NOSE)
        recorded.begins(TAIL)
        if is_killed:
            recorded.ends(NOSE)
            await recorded.killed()
            recorded.start()
        recorded.history.forget(NOSE)
        assert await recorded.missing() == {"Left": ""}
        recorded.fails(LEFT)
        assert await recorded.missing() == {"Left": "camera-refused"}
        recorded.begins(LEFT)
        assert await recorded.missing() == {}

    on_history(test)


def test_takes_are_found_to_be_one_though_the_row_of_the_first_recording_was_deleted() -> None:
    async def test(recorded: Recorded) -> None:
        recorded.begins(NOSE)
        await asyncio.sleep(60)
        recorded.ends(NOSE)
        await asyncio.sleep(60)
        for one in (LEFT, NOSE):
            recorded.begins(one)
        await asyncio.sleep(60)
        for one in (LEFT, NOSE):
            recorded.ends(one)
        recorded.history.forget(LEFT)
        recorded.begins(TAIL, ago_s=150)
        assert await recorded.cameras() == [["Nose", "Tail", "Nose"]]

    on_history(test)


class OpenedHistory(HistoryInMemory):
    """Knows what was on disk when it was opened, as the real one."""

    last_recordings: Sequence[HistoryRow] = ()
    unended: Sequence[HistoryRow] = ()

    def __init__(self, rows: dict[int, HistoryRow]) -> None:
        super().__init__()
        before = HistoryInMemory()
        self.rows = before.rows = rows
        self.last_recordings, self.unended = before.last_recordings, before.unended


def test_rows_that_are_deleted_before_the_history_is_open_do_not_come_back() -> None:
    async def test(recorded: Recorded) -> None:
        recorded.begins(NOSE)
        recorded.begins(TAIL)
        session = HistoryRow(9, recorded.clock(), HistoryKind.SESSION, NOSE, "Nose", seen_us=recorded.clock())
        recorded.store.put([session])
        opened = OpenedHistory(recorded.store.rows)
        await recorded.killed()
        recorded.ends(NOSE, seen=EndSeen.NEVER)
        recorded.history.forget(NOSE)
        recorded.store = opened
        recorded.history.keep_in(recorded.store)
        recorded.start()
        assert [row.device_name for row in await recorded.rows()] == ["Tail"]
        assert await recorded.missing() == {"Left": ""}

    on_history(test)


def test_a_recording_that_ends_before_the_history_is_open_ends_where_the_camera_records_again() -> None:
    async def test(recorded: Recorded) -> None:
        recorded.begins(NOSE)
        await asyncio.sleep(100)
        await recorded.killed()
        recorded.ends(NOSE, seen=EndSeen.LATER)
        recorded.begins(NOSE)
        await asyncio.sleep(20)
        recorded.start()
        later, row = await recorded.rows()
        assert (later.ended_us, row.code) == (0, "unknown")
        assert row.ended_us - row.time_us == pytest.approx(110 * SECOND, abs=SECOND)
        assert await recorded.cameras() == [["Nose"], ["Nose"]]

    on_history(test)


# -- what reading costs


class CountedHistory(HistoryInMemory):
    """Knows how many rows were read, and how often."""

    def __init__(self, takes: int) -> None:
        super().__init__()
        self.read_rows: list[int] = []
        began_us = [number * 60 * SECOND for number in range(1, takes + 1)]
        for number, time_us in enumerate(began_us, 1):
            self.rows[number] = HistoryRow(
                number,
                time_us,
                HistoryKind.RECORDING,
                NOSE,
                "Nose",
                ended_us=time_us + SECOND,
                recording=Recording(take=number),
            )

    async def read(self, wanted: HistoryFilter) -> Sequence[HistoryRow]:
        rows = await super().read(wanted)
        self.read_rows.append(len(rows))
        return rows


@pytest.mark.parametrize(
    ("wanted", "found", "read"),
    [
        (TakeFilter(until_us=60 * SECOND + 1, limit=1), 1, [250, 250, 250, 250, 0]),
        (TakeFilter(limit=1000), 1000, [1000, 0]),
        (TakeFilter(since_us=990 * 60 * SECOND, limit=1), 1, [250]),
        (TakeFilter(since_us=990 * 60 * SECOND, limit=60), 11, [250]),
        (TakeFilter(since_us=2000 * 60 * SECOND, limit=1), 0, [250]),
        (TakeFilter(before=500, limit=1), 1, [250]),
    ],
)
def test_few_rows_are_read_and_not_in_small_parts(wanted: TakeFilter, found: int, read: list[int]) -> None:
    async def test() -> None:
        store = CountedHistory(1000)
        history = History(store, SettableClock())
        assert len(await history.takes.newest(wanted)) == found
        assert store.read_rows == read

    run(test())


def test_a_few_takes_of_a_clock_that_was_set_back_end_no_search() -> None:
    async def test() -> None:
        store = CountedHistory(100)
        for number in range(70, 101):
            row = store.rows[number]
            store.rows[number] = replace(row, time_us=row.time_us // 1000, ended_us=row.ended_us // 1000)
        history = History(store, SettableClock())
        takes = await history.takes.newest(TakeFilter(since_us=60 * 60 * SECOND))
        assert [take.recordings[0].id for take in takes] == list(range(69, 59, -1))

    run(test())


def test_the_take_of_an_id_is_looked_for_among_newer_rows_only() -> None:
    async def test() -> None:
        store = CountedHistory(1000)
        del store.rows[900]
        history = History(store, SettableClock())
        take = await history.takes.of(901)
        assert take is not None
        assert take.recordings[0].id == 901
        assert await history.takes.of(900) is None
        assert store.read_rows == [250, 250]

    run(test())
