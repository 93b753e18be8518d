"""The history: which rows are made of what happens, and when they are written."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import pytest

from tests.daemon.manager.conftest import Bench, make_bench
from tests.daemon.manager.story import Story
from tests.virtual_time import VirtualTimeLoop
from wifimgrd.daemon.manager._state import Clock, Steady, loop_s
from wifimgrd.daemon.manager.history import History
from wifimgrd.domain import sentences
from wifimgrd.domain.camera import EndSeen, StopReason
from wifimgrd.domain.camera_control import CameraControl
from wifimgrd.domain.device import DeviceId
from wifimgrd.domain.errors import DeviceNotReachable, NoInterfaceAvailable
from wifimgrd.domain.events import Event, RecordingStopped
from wifimgrd.domain.history import HistoryFilter, HistoryKind, HistoryRow
from wifimgrd.domain.signal_history import Samples, SignalSample

SECOND = 1_000_000


class HistoryInMemory:
    """Keeps what tests/daemon/store proves of the real one, and when it was written."""

    def __init__(self) -> None:
        self.rows: dict[int, HistoryRow] = {}
        self.written_s: list[float] = []
        self.signals: dict[DeviceId, dict[int, SignalSample]] = {}
        self.signals_written: list[float] = []
        """When samples were written."""

    @property
    def next_id(self) -> int:
        return max(self.rows, default=0) + 1

    @property
    def unended(self) -> Sequence[HistoryRow]:
        lasting = ("session", "problem", "recovery")
        return [row for row in self.rows.values() if row.kind in lasting and not row.ended_us]

    @property
    def last_recordings(self) -> Sequence[HistoryRow]:
        recordings = [row for row in self.rows.values() if row.kind == "recording"]
        last = {row.device_id: row.id for row in recordings}
        first = {row.recording.take: row.id for row in recordings[::-1] if row.recording is not None}
        known = {*last.values(), *first.values()}
        return [row for row in recordings if not row.ended_us or row.id in known]

    def put(self, rows: Sequence[HistoryRow]) -> None:
        self.written_s.append(asyncio.get_running_loop().time())
        self.rows |= {row.id: row for row in rows}

    async def read(self, wanted: HistoryFilter) -> Sequence[HistoryRow]:
        await asyncio.sleep(0.001)
        newest = sorted(self.rows.values(), key=lambda row: -row.id)
        return [row for row in newest if wanted.fits(row)][: wanted.limit]

    def put_signals(self, samples: Mapping[DeviceId, Samples]) -> None:
        self.signals_written.append(asyncio.get_running_loop().time())
        for device_id, added in samples.items():
            self.signals.setdefault(device_id, {}).update(added)

    async def read_signal(self, device_id: DeviceId, minutes: range) -> Samples:
        await asyncio.sleep(0.001)
        return {at: one for at, one in self.signals.get(device_id, {}).items() if at in minutes}

    def forget(self, device_id: DeviceId) -> None:
        self.signals.pop(device_id, None)
        self.rows = {one: row for one, row in self.rows.items() if row.device_id != device_id}

    async def close(self) -> None:
        pass


class Reported:
    """A story that passes events on to the history."""

    def __init__(self, story: Story, history: History) -> None:
        self._publish = story.publish
        self._history = history

    def __call__(self, event: Event) -> None:
        self._publish(event)
        self._history.publish(event)


def now_us() -> int:
    return int(asyncio.get_running_loop().time() * SECOND) + SECOND


class SettableClock:
    """A host's clock that is put forward, or back."""

    def __init__(self) -> None:
        self.off_us = 0

    def __call__(self) -> int:
        return now_us() + self.off_us


def run(test: Coroutine[Any, Any, None]) -> None:
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        runner.run(test)


@contextmanager
def remembered(
    store: HistoryInMemory,
    control: CameraControl | None = None,
    clock: Clock = now_us,
    steady_s: Steady = loop_s,
) -> Iterator[tuple[Bench, History]]:
    bench, history = make_bench(control=control), History(store, clock, steady_s)
    bench.story.publish = Reported(bench.story, history)  # type: ignore[method-assign]
    bench.clock = clock
    yield bench, history


async def started(bench: Bench, history: History) -> None:
    await bench.hub.start()
    history.start("simulated", bench.hub.device_statuses(), bench.hub.device_name)


async def kinds(history: History) -> list[str]:
    return [
        f"{row.kind} {row.device_name or row.interface} {row.code}"
        for row in await history.read(HistoryFilter())
    ]


def test_a_session_has_its_begin_its_end_its_reason_and_its_signal() -> None:
    async def test() -> None:
        with remembered(HistoryInMemory()) as (bench, history):
            await started(bench, history)
            device = await bench.connected()
            (row,) = await history.read(HistoryFilter())
            assert (row.kind, row.device_id, row.device_name, row.ended_us) == ("session", 1, "SIM-CAM-1", 0)
            assert (row.interface, row.signal_minimum, row.signal_mean) == ("wlan0", 70, 70)
            begun_us = row.time_us
            await asyncio.sleep(60)
            await bench.hub.connections.disconnect(device)
            (row,) = await history.read(HistoryFilter())
            assert row.time_us == begun_us
            assert row.ended_us - begun_us == pytest.approx(60 * SECOND, abs=SECOND)
            assert (row.code, row.message) == ("", "Disconnected by a command.")
            await bench.hub.stop()

    run(test())


def test_a_lost_link_ends_the_session_at_its_interruption_with_the_error() -> None:
    async def test() -> None:
        with remembered(HistoryInMemory()) as (bench, history):
            await started(bench, history)
            await bench.connected()
            await asyncio.sleep(30)
            lost_us = now_us()
            bench.world.power_off_camera(b"SIM-CAM-1", orderly=True)
            await asyncio.sleep(15)
            assert await kinds(history) == ["session SIM-CAM-1 connection-lost"]
            (row,) = await history.read(HistoryFilter())
            assert row.ended_us - lost_us == pytest.approx(0, abs=2 * SECOND)
            await bench.hub.stop()

    run(test())


async def interrupted(bench: Bench, seconds: float = 3) -> int:
    """Switch the camera off for a moment; returns when."""
    begun_us = now_us()
    bench.world.power_off_camera(b"SIM-CAM-1", orderly=True)
    await asyncio.sleep(seconds)
    bench.world.power_on_camera(b"SIM-CAM-1")
    await asyncio.sleep(2)
    return begun_us


def test_an_interruption_that_is_over_in_time_is_a_row_and_its_session_goes_on() -> None:
    async def test() -> None:
        with remembered(HistoryInMemory()) as (bench, history):
            await started(bench, history)
            device = await bench.connected()
            await asyncio.sleep(30)
            begun_us = await interrupted(bench)
            row, session = await history.read(HistoryFilter())
            assert (row.kind, row.device_id, row.device_name) == ("interruption", device, "SIM-CAM-1")
            assert (row.interface, row.code) == ("wlan0", "connection-lost")
            assert "was switched off" in row.message
            assert row.time_us == pytest.approx(begun_us, abs=SECOND)
            assert row.ended_us - row.time_us == pytest.approx(3 * SECOND, abs=SECOND)
            assert (session.kind, session.ended_us, session.code) == ("session", 0, "")
            await bench.hub.connections.disconnect(device)
            assert await kinds(history) == ["interruption SIM-CAM-1 connection-lost", "session SIM-CAM-1 "]
            await bench.hub.stop()

    run(test())


def test_an_interruption_that_lasts_is_no_row() -> None:
    async def test() -> None:
        with remembered(HistoryInMemory()) as (bench, history):
            await started(bench, history)
            await bench.connected()
            bench.world.power_off_camera(b"SIM-CAM-1", orderly=True)
            await asyncio.sleep(3)
            (session,) = await history.read(HistoryFilter())
            assert (session.ended_us, session.code) == (0, "")
            await bench.hub.stop()

    run(test())


def test_what_is_ended_by_a_command_while_it_is_interrupted_has_ended_at_the_interruption() -> None:
    async def test() -> None:
        with remembered(HistoryInMemory()) as (bench, history):
            await started(bench, history)
            device = await bench.connected()
            await asyncio.sleep(30)
            lost_us = now_us()
            bench.world.power_off_camera(b"SIM-CAM-1", orderly=True)
            await asyncio.sleep(5)
            await bench.hub.remove(device)
            (session,) = await history.read(HistoryFilter())
            assert (session.kind, session.code) == ("session", "connection-lost")
            assert session.ended_us == pytest.approx(lost_us, abs=SECOND)
            await bench.hub.stop()

    run(test())


def test_an_interruption_is_written_when_it_begins_and_when_it_ends() -> None:
    async def test() -> None:
        store = HistoryInMemory()
        with remembered(store) as (bench, history):
            await started(bench, history)
            await bench.connected()
            await asyncio.sleep(100)
            bench.world.power_off_camera(b"SIM-CAM-1", orderly=True)
            await asyncio.sleep(0.5)
            assert store.rows[1].interrupted_us, "it is known if the daemon is killed now"
            bench.world.power_on_camera(b"SIM-CAM-1")
            await asyncio.sleep(3.5)
            assert not store.rows[1].interrupted_us
            assert [row.kind for row in store.rows.values()] == [
                HistoryKind.SESSION,
                HistoryKind.INTERRUPTION,
            ]
            await bench.hub.stop()

    run(test())


@pytest.mark.parametrize("comes_back", [True, False])
def test_an_interruption_in_which_the_daemon_is_restarted(comes_back: bool) -> None:
    """The link is up again when the daemon starts, or comes back after that."""

    async def test() -> None:
        store, begun_us = HistoryInMemory(), now_us()
        store.rows[1] = HistoryRow(
            1, 6, HistoryKind.SESSION, DeviceId(1), "SIM-CAM-1", "wlan0", interrupted_us=begun_us
        )
        with remembered(store) as (bench, history):
            await bench.hub.start()
            await bench.connected()
            if not comes_back:
                bench.world.power_off_camera(b"SIM-CAM-1", orderly=True)
            await asyncio.sleep(2)
            history.start("simulated", bench.hub.device_statuses(), bench.hub.device_name)
            if not comes_back:
                assert [row.kind for row in await history.read(HistoryFilter())] == ["session"]
                bench.world.power_on_camera(b"SIM-CAM-1")
                await asyncio.sleep(2)
            row, session = await history.read(HistoryFilter())
            assert (row.kind, row.time_us, row.code) == ("interruption", begun_us, "connection-lost")
            assert now_us() - row.ended_us < 2 * SECOND
            assert (session.id, session.ended_us, session.interrupted_us) == (1, 0, 0)
            assert ("when the hub found it again" in row.message) == comes_back
            await bench.hub.stop()

    run(test())


def test_a_session_whose_interruption_the_hub_did_not_outlive_ended_for_its_reason() -> None:
    async def test() -> None:
        store = HistoryInMemory()
        with remembered(store) as (bench, history):
            await started(bench, history)
            await bench.connected()
            await asyncio.sleep(30)
            lost_us = now_us()
            bench.world.power_off_camera(b"SIM-CAM-1", orderly=True)
            await asyncio.sleep(2)
            (row,) = await history.read(HistoryFilter())
            assert (row.code, row.message) == ("", ""), "it may come back"
            await history.stop()
            await bench.hub.stop()
        with remembered(store) as (bench, history):
            await started(bench, history)
            (row,) = await history.read(HistoryFilter())
            assert (row.kind, row.code) == ("session", "connection-lost")
            assert "was switched off" in row.message
            assert row.ended_us == pytest.approx(lost_us, abs=SECOND)
            await bench.hub.stop()

    run(test())


def test_an_interruption_that_the_daemon_did_not_outlive_is_the_end_of_its_session() -> None:
    async def test() -> None:
        store = HistoryInMemory()
        store.rows[1] = HistoryRow(
            1, 6, HistoryKind.SESSION, DeviceId(9), "Gone", "wlan0", seen_us=77, interrupted_us=77
        )
        with remembered(store) as (bench, history):
            await started(bench, history)
            (session,) = await history.read(HistoryFilter())
            assert (session.kind, session.ended_us, session.interrupted_us) == ("session", 77, 0)
            await bench.hub.stop()

    run(test())


def test_failures_and_refusals_have_a_row() -> None:
    async def test() -> None:
        with remembered(HistoryInMemory()) as (bench, history):
            await started(bench, history)
            bench.world.power_off_camera(b"SIM-CAM-1", orderly=True)
            device = await bench.create()
            with pytest.raises(DeviceNotReachable):
                await bench.hub.connections.connect(device, wait=True)
            for adapter in ("wlan0", "wlan1", "wlan2"):
                bench.world.unplug_adapter(adapter)
            with pytest.raises(NoInterfaceAvailable):
                await bench.hub.connections.connect(device, wait=False)
            assert await kinds(history) == [
                "failure SIM-CAM-1 no-interface-available",
                "adapter wlan2 unplugged",
                "adapter wlan1 unplugged",
                "adapter wlan0 unplugged",
                "failure SIM-CAM-1 device-not-reachable",
            ]
            rows = await history.read(HistoryFilter())
            assert [rows[0].interface, rows[-1].interface] == ["", "wlan0"]
            await bench.hub.stop()

    run(test())


def test_adapters_and_the_backend_have_rows() -> None:
    async def test() -> None:
        with remembered(HistoryInMemory()) as (bench, history):
            await started(bench, history)
            bench.world.unplug_adapter("wlan0")
            bench.world.plug_adapter("wlan0")
            bench.world.set_fault("backend-gone", {})
            await asyncio.sleep(1)
            rows = await history.read(HistoryFilter())
            assert [(row.kind, row.code) for row in rows] == [
                ("backend", "unavailable"),
                ("adapter", "plugged-in"),
                ("adapter", "unplugged"),
            ]
            assert rows[-1].message == "The adapter wlan0 was unplugged."
            await bench.hub.stop()

    run(test())


def test_a_running_session_is_written_every_five_minutes() -> None:
    async def test() -> None:
        store = HistoryInMemory()
        with remembered(store) as (bench, history):
            await started(bench, history)
            await bench.connected()
            await asyncio.sleep(60)
            store.written_s.clear()
            begun_s = asyncio.get_running_loop().time()
            await asyncio.sleep(3600)
            waits = [later - at for at, later in pairwise([begun_s, *store.written_s])]
            assert len(waits) == 12
            assert [round(wait) for wait in waits[1:]] == [300] * 11
            await bench.hub.stop()

    run(test())


def test_a_row_is_put_at_once_and_nothing_is_where_no_session_lasts() -> None:
    """The store gathers what is put."""

    async def test() -> None:
        store = HistoryInMemory()
        with remembered(store) as (bench, history):
            await started(bench, history)
            device = await bench.connected()
            await bench.hub.connections.disconnect(device)
            assert store.rows[max(store.rows)].ended_us
            bench.world.unplug_adapter("wlan2")
            assert store.rows[max(store.rows)].code == "unplugged"
            await asyncio.sleep(600)
            store.written_s.clear()
            await asyncio.sleep(3600)
            assert store.written_s == []
            await bench.hub.stop()

    run(test())


def test_a_restart_goes_on_with_the_sessions_that_last_and_ends_the_others() -> None:
    async def test() -> None:
        store = HistoryInMemory()
        gone = HistoryRow(
            1,
            5,
            HistoryKind.SESSION,
            DeviceId(9),
            "Gone",
            "wlan0",
            signal_minimum=50,
            signal_mean=60,
            seen_us=77,
        )
        store.rows[1] = gone
        with remembered(store) as (bench, history):
            await bench.hub.start()
            device = await bench.create()
            await bench.hub.connections.connect(device, wait=True)
            (status,) = bench.hub.device_statuses()
            assert status.interface == "wlan0"
            store.rows[2] = HistoryRow(
                2,
                6,
                HistoryKind.SESSION,
                device,
                "Old",
                "wlan0",
                signal_minimum=10,
                signal_mean=70,
                seen_us=8,
            )
            history.start("simulated", bench.hub.device_statuses(), bench.hub.device_name)
            lasts, ended = await history.read(HistoryFilter())
            assert (lasts.id, lasts.ended_us, lasts.signal_minimum, lasts.device_name) == (2, 0, 10, "Old")
            assert (ended.id, ended.ended_us) == (1, 77)
            assert "while the hub was stopped" in ended.message
            await bench.hub.connections.disconnect(device)
            assert [row.id for row in await history.read(HistoryFilter())] == [2, 1]
            await bench.hub.stop()

    run(test())


def test_a_page_of_rows_mixes_those_on_disk_and_those_in_memory() -> None:
    async def test() -> None:
        store = HistoryInMemory()
        with remembered(store) as (bench, history):
            await started(bench, history)
            for _ in range(4):
                bench.world.unplug_adapter("wlan2")
                bench.world.plug_adapter("wlan2")
                await asyncio.sleep(3)
            ids: list[int] = []
            before = None
            while rows := await history.read(HistoryFilter(before=before, limit=3)):
                ids += [row.id for row in rows]
                before = ids[-1]
            assert ids == list(range(8, 0, -1))
            await bench.hub.stop()

    run(test())


def test_a_device_that_is_forgotten_leaves_no_row() -> None:
    async def test() -> None:
        with remembered(HistoryInMemory()) as (bench, history):
            await started(bench, history)
            device, other = await bench.connected(1), await bench.connected(2)
            await interrupted(bench)
            await bench.hub.remove(device)
            assert {"session SIM-CAM-1 ", "interruption SIM-CAM-1 connection-lost"} < set(
                await kinds(history)
            )
            history.forget(device)
            assert {row.device_id for row in await history.read(HistoryFilter())} == {other}
            await bench.hub.stop()

    run(test())


def test_a_recording_that_ended_without_its_link_says_why_that_was_lost() -> None:
    text = sentences.recording_ended(StopReason.UNKNOWN, EndSeen.LATER, "the camera was switched off")
    assert text == "The recording stopped while the camera was not connected: the camera was switched off."
    full = sentences.recording_ended(StopReason.FULL, EndSeen.LATER, "the camera was switched off")
    assert full == "The recording stopped: the card is full."


@pytest.mark.parametrize(
    ("seen", "message"),
    [
        (EndSeen.DIRECTLY, "The recording stopped; why is not known."),
        (EndSeen.SWITCHED_OFF, "The recording stopped: the camera was switched off."),
        (EndSeen.LATER, "The recording stopped while the hub could not see it; why is not known."),
        (EndSeen.NEVER, "The camera was removed, and the recording was not seen to stop."),
    ],
)
def test_a_recording_has_a_row_that_says_how_its_end_was_seen(seen: EndSeen, message: str) -> None:
    async def test() -> None:
        history = History(HistoryInMemory(), now_us)
        history.start("simulated", [], lambda _: "")
        history.publish(RecordingStopped(DeviceId(1), "Nose", StopReason.UNKNOWN, SECOND // 2, seen))
        (row,) = await history.read(HistoryFilter())
        assert (row.kind, row.device_name, row.code) == ("recording", "Nose", "unknown")
        assert (row.time_us, row.ended_us, row.message) == (SECOND // 2, SECOND, message)
        await history.stop()

    run(test())


@pytest.mark.parametrize("hours", [14, -14])
def test_a_clock_that_is_set_makes_a_session_neither_longer_nor_its_mean_signal_another(hours: int) -> None:
    async def test() -> None:
        clock = SettableClock()
        clock.off_us = 24 * 3600 * SECOND
        with remembered(HistoryInMemory(), clock=clock) as (bench, history):
            await started(bench, history)
            device = await bench.connected()
            bench.world.set_fault("signal", {"ssid": "SIM-CAM-1", "percent": 70})
            await asyncio.sleep(45)
            bench.world.set_fault("signal", {"ssid": "SIM-CAM-1", "percent": 30})
            clock.off_us += hours * 3600 * SECOND
            await asyncio.sleep(15)
            await bench.hub.connections.disconnect(device)
            (row,) = await history.read(HistoryFilter())
            assert row.ended_us - row.time_us == pytest.approx(60 * SECOND, abs=SECOND)
            assert row.signal_mean == pytest.approx(60, abs=2)
            await bench.hub.stop()

    run(test())


def test_a_session_in_which_the_host_sleeps_is_longer_by_that() -> None:
    async def test() -> None:
        clock = SettableClock()

        def steady_s() -> float:
            return loop_s() + clock.off_us / SECOND

        with remembered(HistoryInMemory(), clock=clock, steady_s=steady_s) as (bench, history):
            await started(bench, history)
            device = await bench.connected()
            clock.off_us = 3600 * SECOND  # both clocks go on, the loop's does not
            await bench.hub.connections.disconnect(device)
            (row,) = await history.read(HistoryFilter())
            assert row.ended_us - row.time_us == pytest.approx(3600 * SECOND, abs=10 * SECOND)
            await bench.hub.stop()

    run(test())


def test_an_interruption_is_as_long_as_it_was_also_if_the_clock_is_set_in_it() -> None:
    async def test() -> None:
        clock = SettableClock()
        with remembered(HistoryInMemory(), clock=clock) as (bench, history):
            await started(bench, history)
            await bench.connected()
            await asyncio.sleep(30)
            clock.off_us = 14 * 3600 * SECOND
            bench.world.power_off_camera(b"SIM-CAM-1", orderly=True)
            await asyncio.sleep(2)
            clock.off_us = 3600 * SECOND
            bench.world.power_on_camera(b"SIM-CAM-1")
            await asyncio.sleep(5)
            interruption, session = await history.read(HistoryFilter())
            assert interruption.kind is HistoryKind.INTERRUPTION
            assert interruption.time_us - session.time_us == pytest.approx(30 * SECOND, abs=SECOND)
            assert 2 * SECOND <= interruption.ended_us - interruption.time_us <= 8 * SECOND
            await bench.hub.stop()

    run(test())


def test_a_link_that_is_interrupted_is_known_as_that_whatever_the_clock_was() -> None:
    async def test() -> None:
        clock = SettableClock()
        clock.off_us = 14 * 3600 * SECOND
        with remembered(HistoryInMemory(), clock=clock) as (bench, history):
            await started(bench, history)
            bench.world.set_fault("slow-join", {"seconds": 5})
            connecting = asyncio.create_task(bench.connected())
            await asyncio.sleep(1)
            (device,) = bench.story.devices
            assert not bench.story.devices[device].is_interrupted
            clock.off_us = 0
            await connecting
            bench.world.power_off_camera(b"SIM-CAM-1", orderly=True)
            await asyncio.sleep(2)
            assert bench.story.devices[device].is_interrupted
            await bench.hub.stop()

    run(test())
