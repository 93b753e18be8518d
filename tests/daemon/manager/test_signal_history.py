"""The signal and the battery of each device: a sample a minute of readings, and when samples are written."""

from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest

from tests.daemon.manager.test_cameras import ScriptedControl
from tests.daemon.manager.test_history import SECOND, HistoryInMemory, now_us, remembered, run, started
from tests.virtual_time import VirtualTimeLoop
from wifimgrd.daemon.manager._signal_history import WRITE_S, SignalHistory
from wifimgrd.domain.device import DeviceId
from wifimgrd.domain.signal_history import MINUTE_US, SignalReading, SignalSample

FRONT = DeviceId(1)
HOUR = 3600


def test_a_connected_device_has_a_sample_a_minute_and_gaps_are_absent() -> None:
    async def test() -> None:
        store = HistoryInMemory()
        with remembered(store) as (bench, history):
            bench.hub.signal_read.subscribe(history.signals.read)
            await started(bench, history)
            device = await bench.connected(4)
            await asyncio.sleep(300)
            bench.world.set_fault("signal", {"ssid": "SIM-CAM-4", "percent": 31})
            await asyncio.sleep(300)
            await bench.hub.connections.disconnect(device)
            await asyncio.sleep(600)
            await bench.hub.connections.connect(device, wait=True)
            await asyncio.sleep(125)
            samples = dict(await history.signals.samples(device))
            minutes = [at // MINUTE_US for at in samples]
            assert minutes == [*range(minutes[0], minutes[0] + 11), *range(minutes[0] + 20, minutes[0] + 23)]
            values = list(samples.values())
            assert values[:5] == [SignalSample(70, 70)] * 5
            assert values[5].minimum == 31
            assert 31 <= values[5].mean < 70
            assert values[6:11] == [SignalSample(31, 31)] * 5, "of the readings, not of the published steps"
            await history.stop()

    run(test())


def test_the_battery_is_recorded_while_it_is_known() -> None:
    """From the first reading on until the camera no longer answers; a value from before the link is not."""

    async def test() -> None:
        store, control = HistoryInMemory(), ScriptedControl()
        with remembered(store, control) as (bench, history):
            bench.hub.signal_read.subscribe(history.signals.read)
            await started(bench, history)
            device = await bench.create(4, codename="insta360-x4")
            await bench.hub.connections.connect(device, wait=True)
            others = await bench.connected(1)
            begin = (now_us() // MINUTE_US + 1) * MINUTE_US
            await asyncio.sleep((begin - now_us()) / SECOND)

            async def minutes(count: int, *levels: int) -> None:
                for second in range(0, count * 60, 10):
                    if levels:
                        level = levels[second * len(levels) // (count * 60)]
                        control.says(device, read_us=now_us(), battery_level=level)
                    await asyncio.sleep(10)

            await minutes(2)
            await minutes(3, 90, 89, 88)
            await minutes(2)
            await minutes(1, 87)
            await bench.hub.connections.disconnect(device)
            await minutes(10)
            await bench.hub.connections.connect(device, wait=True)
            await minutes(2)
            found = await history.signals.samples(device, begin)
            first = begin // MINUTE_US
            assert [at // MINUTE_US - first for at, _ in found[:8]] == list(range(8))
            assert [one.battery for _, one in found[:8]] == [None, None, 90, 89, 88, 88, None, 87]
            assert len(found) >= 10
            assert {one.battery for at, one in found if at // MINUTE_US >= first + 18} == {None}
            assert {one.battery for _, one in await history.signals.samples(others)} == {None}
            await history.stop()
            written = store.signals[device]
            assert [written[first + minute].battery for minute in range(8)] == [
                one.battery for _, one in found[:8]
            ]

    run(test())


def test_a_span_is_asked_for_and_what_is_not_written_is_in_the_answer() -> None:
    async def test() -> None:
        store = HistoryInMemory()
        signals = SignalHistory(store, now_us)
        for percent in (10, 20, 30, 40):
            signals.read(SignalReading(FRONT, percent))
            await asyncio.sleep(60)
        assert store.signals_written == []
        begin = now_us() // MINUTE_US * MINUTE_US
        found = await signals.samples(FRONT)
        assert [sample.mean for _, sample in found] == [10, 20, 30, 40]
        assert await signals.samples(FRONT, begin - 3 * MINUTE_US, begin - MINUTE_US) == found[1:3]
        assert await signals.samples(FRONT, begin, begin - MINUTE_US) == []
        assert await signals.samples(DeviceId(2)) == []
        await asyncio.sleep(WRITE_S)
        assert await signals.samples(FRONT) == found

    run(test())


def test_writes_are_ten_minutes_apart_and_one_is_at_the_end() -> None:
    async def test() -> None:
        store = HistoryInMemory()
        signals = SignalHistory(store, now_us)
        for second in range(0, 2 * HOUR + 300, 10):
            for device in range(1, 65):
                signals.read(SignalReading(DeviceId(device), second % 100))
            await asyncio.sleep(10)
        times = [*store.signals_written]
        assert len(times) <= 12
        assert min(later - earlier for earlier, later in pairwise(times)) >= WRITE_S
        signals.stop()
        assert len(store.signals_written) == len(times) + 1
        assert {len(samples) for samples in store.signals.values()} == {125}
        signals.read(SignalReading(FRONT, 50))
        await asyncio.sleep(HOUR)
        assert len(store.signals_written) == len(times) + 1

    run(test())


def test_nothing_is_written_while_nothing_is_read() -> None:
    async def test() -> None:
        store = HistoryInMemory()
        signals = SignalHistory(store, now_us)
        signals.read(SignalReading(FRONT, 50))
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualTimeLoop)
        waits = loop.waits
        await asyncio.sleep(HOUR)
        assert store.signals_written == [WRITE_S], "also if no reading follows"
        assert loop.waits == waits + 2
        assert [one.mean for _, one in await signals.samples(FRONT)] == [50]
        signals.stop()
        assert len(store.signals_written) == 1

    run(test())


@pytest.mark.parametrize("jump_s", [400 * 24 * HOUR, -3 * HOUR])
def test_a_clock_that_jumps_makes_no_sample(jump_s: int) -> None:
    async def test() -> None:
        store, ahead_us = HistoryInMemory(), 10 * 24 * HOUR * SECOND
        signals = SignalHistory(store, lambda: now_us() + ahead_us)
        for second in range(0, 2 * HOUR, 10):
            if second == HOUR + 300:
                ahead_us += jump_s * SECOND
            signals.read(SignalReading(FRONT, 50))
            await asyncio.sleep(10)
        signals.stop()
        assert len(store.signals[FRONT]) in (120, 121), "none between"
        [*_, (last, _)] = await signals.samples(FRONT)
        assert last <= now_us() + ahead_us

    run(test())


def test_a_forgotten_device_has_no_samples_in_memory_either() -> None:
    async def test() -> None:
        store = HistoryInMemory()
        with remembered(store) as (bench, history):
            bench.hub.signal_read.subscribe(history.signals.read)
            await started(bench, history)
            device = await bench.connected(1)
            await asyncio.sleep(1000)
            assert store.signals[device]
            await bench.hub.remove(device)
            history.forget(device)
            assert await history.signals.samples(device) == []
            await history.stop()
            assert device not in store.signals

    run(test())
