"""The components of a rig: heartbeats, answers to questions, changes, and an armed vehicle."""

from __future__ import annotations

import asyncio
import hashlib
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from tests.mavlink.bridge import Rig, run
from tests.mavlink.scripted_hub import ScriptedHub, device
from tests.mavlink.station import (
    ACCEPTED,
    DENIED,
    START,
    STOP,
    TEMPORARILY_REJECTED,
    UNSUPPORTED,
    Station,
    answers,
    text_of,
    told,
)
from wifimgrd.domain.errors import BackendUnavailable
from wifimgrd.domain.records import ResultRecord
from wifimgrd.domain.rig import Everyone
from wifimgrd.mavlink._bridge import QUESTIONS_AT_ONCE, QUESTIONS_S
from wifimgrd.mavlink._cameras import Memory
from wifimgrd.mavlink._frames import MINUTE, Signing
from wifimgrd.mavlink._recording import STOPS_AFTER_S

NOSE, LEFT = device(1, "Nose"), device(2, "Left")
AWAY = device(3, "Away", connected=False)
SEVEN = [device(number) for number in range(1, 8)]
KEY = hashlib.sha256(b"a passphrase of the boat").digest()
ASK, EVERY, MODE = 512, 511, 530


def beating(messages: list[Any]) -> dict[int, int]:
    """The status in the heartbeats, by component."""
    return {one.get_srcComponent(): one.system_status for one in told(messages, "HEARTBEAT")}


async def names(rig: Rig) -> dict[int, str]:
    """The labels of the components."""
    said = told(await rig.asked(0, ASK, 259), "CAMERA_INFORMATION")
    return {one.get_srcComponent(): text_of(one.model_name) for one in said}


def statuses(messages: list[Any]) -> list[tuple[int, int]]:
    return [(one.get_srcComponent(), one.video_status) for one in told(messages, "CAMERA_CAPTURE_STATUS")]


def test_each_camera_has_a_heartbeat_a_second() -> None:
    async def play(rig: Rig) -> None:
        for _ in range(10):
            said = told(await rig.after(1.0), "HEARTBEAT")
            assert [one.get_srcComponent() for one in said] == [100, 101, 102]
            assert beating(said) == {100: 4, 101: 4, 102: 3}

    run(play, NOSE, LEFT, AWAY)


def test_nothing_wakes_up_between_heartbeats() -> None:
    async def play(rig: Rig) -> None:
        loop = asyncio.get_running_loop()
        before = loop.waits  # type: ignore[attr-defined]
        await asyncio.sleep(100.0)
        assert loop.waits - before <= 101  # type: ignore[attr-defined]
        rig.station.received()

    run(play, *SEVEN[:6])


def test_heartbeats_go_on_while_the_daemon_is_away_in_standby() -> None:
    async def play(rig: Rig) -> None:
        rig.hub.leave()
        assert beating(await rig.after(1.0)) == {100: 3, 101: 3}
        rig.hub.come_back(NOSE, LEFT)
        assert beating(await rig.after(1.0)) == {100: 4, 101: 4}

    run(play, NOSE, LEFT)


def test_heartbeats_begin_before_the_daemon_is_there() -> None:
    hub, memory = ScriptedHub(), Memory(None)
    hub.is_there = False
    memory.write({100: 2, 104: 1}, 0)

    async def play(rig: Rig) -> None:
        assert beating(await rig.after(1.0)) == {100: 3, 104: 3}
        assert answers(await rig.asked(104, ASK, 259)) == [(104, ASK, TEMPORARILY_REJECTED)]
        hub.come_back(NOSE, LEFT)
        assert await names(rig) == {100: "Left", 104: "Nose"}

    run(play, hub=hub, memory=memory)


def test_while_the_daemon_is_away_only_what_stays_true_is_told() -> None:
    async def play(rig: Rig) -> None:
        rig.hub.set_camera(1, model="HERO12", storage_total=1 << 30, storage_free=1 << 20)
        rig.hub.set_recording(1, "recording", 1)
        rig.hub.leave()
        rig.hub.known = {}
        assert statuses(await rig.after()) == [(100, 1), (100, 0)]
        said = await rig.asked(100, ASK, 262)
        assert (answers(said), statuses(said)) == ([(100, ASK, ACCEPTED)], [(100, 0)])
        assert [one.recording_time_ms for one in told(said, "CAMERA_CAPTURE_STATUS")] == [0]
        said = told(await rig.asked(100, ASK, 261), "STORAGE_INFORMATION")
        assert [(one.status, one.available_capacity) for one in said] == [(3, 0.0)]
        [one] = told(await rig.asked(100, ASK, 259), "CAMERA_INFORMATION")
        assert (text_of(one.model_name), text_of(one.vendor_name)) == ("Nose", "HERO12")
        rig.hub.come_back(device(1, "Nose", recording_state="recording"))
        assert statuses(await rig.after()) == [(100, 1)]

    run(play, NOSE)


def test_a_question_to_all_counts_as_one_to_each() -> None:
    async def play(rig: Rig) -> None:
        for _ in range(QUESTIONS_AT_ONCE):
            rig.station.command(0, ASK, 262)
        assert len(answers(await rig.after(0.5))) == QUESTIONS_AT_ONCE

    run(play, NOSE, LEFT)


def test_what_has_changed_while_the_daemon_was_away_is_told_when_it_is_back() -> None:
    async def play(rig: Rig) -> None:
        rig.hub.leave()
        rig.station.received()
        rig.hub.come_back(device(1, "Bow", recording_state="recording"))
        assert statuses(await rig.after()) == [(100, 1)]
        assert await names(rig) == {100: "Bow"}

    run(play, NOSE, LEFT)


@pytest.mark.parametrize(
    ("number", "kind"),
    [
        (259, "CAMERA_INFORMATION"),
        (260, "CAMERA_SETTINGS"),
        (261, "STORAGE_INFORMATION"),
        (262, "CAMERA_CAPTURE_STATUS"),
    ],
)
def test_a_question_is_answered_by_its_component_with_the_message(number: int, kind: str) -> None:
    older = {259: 521, 260: 522, 261: 525, 262: 527}[number]

    async def play(rig: Rig) -> None:
        for command, parameter in ((ASK, number), (older, 1)):
            said = await rig.asked(101, command, parameter)
            assert [one.get_type() for one in said] == ["COMMAND_ACK", kind]
            assert {one.get_srcComponent() for one in said} == {101}
            assert answers(said) == [(101, command, ACCEPTED)]
        everybody = await rig.asked(0, ASK, number)
        assert [one.get_srcComponent() for one in told(everybody, kind)] == [100, 101]
        assert answers(everybody) == [(100, ASK, ACCEPTED), (101, ASK, ACCEPTED)]

    run(play, NOSE, LEFT)


def test_the_time_since_the_start_only_rises() -> None:
    async def play(rig: Rig) -> None:
        times = [
            told(await rig.asked(100, ASK, 262), "CAMERA_CAPTURE_STATUS")[0].time_boot_ms for _ in range(9)
        ]
        assert times == sorted(times)
        assert times[-1] < 60_000

    run(play, NOSE)


@pytest.mark.parametrize(
    ("target", "number", "parameters", "answered"),
    [
        (100, 2000, (), [(100, UNSUPPORTED)]),
        (100, ASK, (269,), [(100, UNSUPPORTED)]),
        (100, EVERY, (269, 1e6), [(100, UNSUPPORTED)]),
        (100, EVERY, (262, -7), [(100, DENIED)]),
        (100, 65535, (), [(100, UNSUPPORTED)]),
        (0, 2000, (), []),  # others answer
        (0, ASK, (269,), []),
        (0, ASK, (148,), []),
        (0, EVERY, (0, 1e6), []),
        (0, 400, (1,), []),
        (100, MODE, (0, 1), [(100, ACCEPTED)]),
        (100, MODE, (0, 0), [(100, DENIED)]),
        (100, MODE, (105, 1), [(100, DENIED)]),
        (0, MODE, (0, 1), [(100, ACCEPTED), (101, ACCEPTED)]),
        (0, MODE, (101, 1), [(101, ACCEPTED)]),
        (0, MODE, (0, 0), []),
        (1, ASK, (259,), []),
        (105, ASK, (259,), []),
        (190, 400, (1,), []),
    ],
)
def test_what_is_not_for_a_camera(
    target: int, number: int, parameters: tuple[float, ...], answered: list[tuple[int, int]]
) -> None:
    async def play(rig: Rig) -> None:
        said = await rig.asked(target, number, *parameters)
        assert [(one, result) for one, _, result in answers(said)] == answered
        assert not {one.get_type() for one in said} - {"COMMAND_ACK", "HEARTBEAT"}

    run(play, NOSE, LEFT)


@pytest.mark.parametrize(("system", "answered"), [(0, True), (1, False), (7, True), (8, False)])
def test_only_the_own_system_and_everybody_are_answered(system: int, answered: bool) -> None:
    async def play(rig: Rig) -> None:
        rig.station.command(100, ASK, 259, system=system)
        assert bool(answers(await rig.after())) is answered

    run(play, NOSE, system=7)


def test_a_station_with_the_vehicles_own_system_is_answered() -> None:
    async def play(rig: Rig) -> None:
        companion = Station(system=1, component=191)
        rig.station.send(companion.packed(100, ASK, 259))
        companion.close()
        [answer] = told(await rig.after(), "COMMAND_ACK")
        assert (answer.target_system, answer.target_component) == (1, 191)

    run(play, NOSE)


def test_own_frames_that_come_back_are_no_commands() -> None:
    async def play(rig: Rig) -> None:
        loop = Station(system=1, component=103)
        rig.station.send(loop.packed(0, START))
        rig.station.send(loop.packed(100, ASK, 259))
        loop.close()
        assert answers(await rig.after()) == []
        assert rig.hub.orders == []

    run(play, NOSE)


def test_a_burst_of_six_cameras_is_answered_and_more_is_not() -> None:
    async def play(rig: Rig) -> None:
        for component in range(100, 106):
            for kind in (270, 262, 261, 260, 259):
                rig.station.command(component, ASK, kind)
        assert len(answers(await rig.after(QUESTIONS_S))) == 30
        for _ in range(2 * QUESTIONS_AT_ONCE):
            rig.station.command(100, ASK, 262)
        assert len(answers(await rig.after(0.5))) == QUESTIONS_AT_ONCE
        await asyncio.sleep(QUESTIONS_S)
        assert answers(await rig.asked(100, ASK, 262)) == [(100, ASK, ACCEPTED)]

    run(play, *SEVEN[:6])


def test_a_recording_that_begins_or_ends_is_told_unasked() -> None:
    async def play(rig: Rig) -> None:
        rig.hub.set_recording(2, "recording", 1)
        assert statuses(await rig.after()) == [(101, 1)]
        rig.hub.set_recording(2, "recording", 2)
        assert statuses(await rig.after()) == []
        rig.hub.set_recording(2, "idle")
        assert statuses(await rig.after()) == [(101, 0)]

    run(play, NOSE, LEFT)


def test_a_message_is_repeated_at_the_interval_that_was_asked_for() -> None:
    async def play(rig: Rig) -> None:
        assert answers(await rig.asked(100, EVERY, 262, 2e6)) == [(100, EVERY, ACCEPTED)]
        assert statuses(await rig.after(20.5)) == [(100, 0)] * 10
        assert answers(await rig.asked(100, EVERY, 262, -1)) == [(100, EVERY, ACCEPTED)]
        assert statuses(await rig.after(20.0)) == []

    run(play, NOSE, LEFT)


def test_an_interval_of_a_microsecond_is_half_a_second() -> None:
    async def play(rig: Rig) -> None:
        await rig.asked(100, EVERY, 262, 1)
        await rig.after(1.0)
        assert len(statuses(await rig.after(10.0))) == 20

    run(play, NOSE)


def test_messages_that_are_repeated_go_out_together() -> None:
    async def play(rig: Rig) -> None:
        for component in range(100, 106):
            for kind in (259, 260, 261, 262):
                await rig.asked(component, EVERY, kind, 500_000 + 100 * component + kind)
        loop = asyncio.get_running_loop()
        before = loop.waits  # type: ignore[attr-defined]
        for _ in range(60):
            await rig.after(1.0)
        assert loop.waits - before <= 60 * 6  # type: ignore[attr-defined]

    run(play, *SEVEN[:6])


def test_the_rate_in_a_start_lasts_while_the_camera_records() -> None:
    async def play(rig: Rig) -> None:
        await rig.asked(100, EVERY, 262, 10e6)
        await rig.asked(100, START, 0, 1)
        await rig.after(1.0)
        assert len(statuses(await rig.after(30.0))) >= 30
        await rig.asked(100, STOP)
        assert len(statuses(await rig.after(30.0))) == 3

    run(play, NOSE)


def test_the_rate_in_a_start_is_not_that_of_the_next_recording() -> None:
    async def play(rig: Rig) -> None:
        await rig.asked(100, START, 0, 1)
        rig.hub.set_recording(1, "idle")
        await rig.after(1.0)
        rig.hub.set_recording(1, "recording")
        rig.station.received()
        assert statuses(await rig.after(30.0)) == []

    run(play, NOSE)


def test_the_rate_in_a_start_that_was_refused_is_not_that_of_a_later_recording() -> None:
    async def play(rig: Rig) -> None:
        rig.hub.errors[1] = "camera-refused", "no card"
        await rig.asked(100, START, 0, 1)
        await rig.after(1.0)
        rig.hub.set_recording(1, "recording")
        rig.station.received()
        assert statuses(await rig.after(30.0)) == []

    run(play, NOSE)


def test_the_rate_in_a_start_lasts_though_a_stop_was_refused() -> None:
    async def play(rig: Rig) -> None:
        await rig.asked(100, START, 0, 1)
        rig.hub.errors[1] = "camera-refused", "it is busy"
        await rig.asked(100, STOP)
        assert len(statuses(await rig.after(30.0))) == 30

    run(play, NOSE)


def test_a_slow_rate_in_a_start_leaves_the_interval_that_was_asked_for() -> None:
    async def play(rig: Rig) -> None:
        await rig.asked(100, EVERY, 262, 1e6)
        await rig.asked(100, START, 0, 0.02)
        assert len(statuses(await rig.after(20.0))) >= 20

    run(play, NOSE)


def test_a_camera_that_takes_long_to_start_with_a_rate_costs_no_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def play(rig: Rig) -> None:
        rig.hub.takes_s = 10.0
        rig.station.command(100, START, 0, 1)
        await rig.after(0.5)
        turns = 0

        kept = rig.bridge._repeat

        def counted(*arguments: Any) -> None:
            nonlocal turns
            turns += 1
            assert turns < 100, "it spins"
            kept(*arguments)

        monkeypatch.setattr(rig.bridge, "_repeat", counted)
        assert statuses(await rig.after(9.0)) == []
        assert statuses(await rig.after(5.0)) == [(100, 1)] * 5

    run(play, NOSE)


def test_the_rate_in_a_start_that_fails_is_none() -> None:
    async def play(rig: Rig) -> None:
        rig.hub.errors[1] = "camera-refused", "no"
        await rig.asked(100, START, 0, 1)
        assert statuses(await rig.after(30.0)) == []

    run(play, NOSE)


def test_a_seventh_camera_gets_the_component_that_becomes_free(tmp_path: Path) -> None:
    async def play(rig: Rig) -> None:
        assert list(await names(rig)) == [100, 101, 102, 103, 104, 105]
        rig.hub.remove(2)
        assert (await names(rig))[101] == "Camera 7"
        assert {one: name for one, name in (await names(rig)).items() if one != 101} == {
            place: f"Camera {number}" for place, number in ((100, 1), (102, 3), (103, 4), (104, 5), (105, 6))
        }
        assert beating(await rig.after(1.0)).keys() == set(range(100, 106))

    run(play, *SEVEN, memory=Memory(str(tmp_path)))
    assert Memory(str(tmp_path)).components[101] == 7


def test_components_are_the_same_after_a_restart(tmp_path: Path) -> None:
    async def first(rig: Rig) -> None:
        rig.hub.remove(1)
        assert await names(rig) == {101: "Left"}

    async def second(rig: Rig) -> None:
        assert await names(rig) == {101: "Left", 100: "Away"}

    run(first, NOSE, LEFT, memory=Memory(str(tmp_path)))
    run(second, LEFT, AWAY, memory=Memory(str(tmp_path)))


def test_a_camera_without_a_driver_is_none() -> None:
    async def play(rig: Rig) -> None:
        dumb = device(5, "Dumb", camera=None)
        rig.hub.add(dumb)
        assert await names(rig) == {100: "Nose"}
        rig.hub.change(replace(device(5, "Dumb")))
        assert await names(rig) == {100: "Nose", 101: "Dumb"}
        rig.hub.change(dumb)
        assert await names(rig) == {100: "Nose"}

    run(play, NOSE)


def test_a_new_name_is_the_label_at_once() -> None:
    async def play(rig: Rig) -> None:
        rig.hub.change(replace(NOSE, name="Bow"))
        assert await names(rig) == {100: "Bow"}

    run(play, NOSE)


def test_of_the_settings_what_is_no_camera_is_said_once() -> None:
    async def play(rig: Rig) -> None:
        assert await names(rig) == {100: "Nose"}
        rig.hub.add(AWAY)
        rig.hub.change(replace(LEFT, name="Right"))
        rig.hub.add(device(9, "Tail"))
        assert await names(rig) == {100: "Nose", 101: "Tail"}

    with capture_logs() as log:
        run(play, NOSE, LEFT, devices=("Tail", 1, "Nose"))
    said = [one for one in log if one["event"] == "without_component"]
    assert [(one["devices"], one["not_found"]) for one in said] == [([], ["Tail"])]


def test_of_seven_cameras_the_one_without_a_component_is_said_once() -> None:
    async def play(rig: Rig) -> None:
        rig.hub.change(replace(SEVEN[0], name="Bow"))

    with capture_logs() as log:
        run(play, *SEVEN)
    said = [one for one in log if one["event"] == "without_component"]
    assert [one["devices"] for one in said] == [[7]]


# -- an armed vehicle


def orders(rig: Rig) -> list[tuple[tuple[int, ...], bool]]:
    assert all(everyone is Everyone.NOBODY for *_, everyone in rig.hub.orders)
    return [(ids, on) for ids, on, _ in rig.hub.orders]


def test_arming_records_and_disarming_stops() -> None:
    async def play(rig: Rig) -> None:
        await rig.armed(False, True, True)
        assert orders(rig) == [((1, 2), True)]
        await rig.armed(False)
        assert orders(rig) == [((1, 2), True)]
        await asyncio.sleep(STOPS_AFTER_S + 1)
        assert orders(rig) == [((1, 2), True), ((1, 2), False)]
        rig.station.received()

    run(play, NOSE, LEFT, device(4, connected=False, expected=False), record_while_armed=True)


@pytest.mark.parametrize(
    ("said", "who"),
    [
        ((True, True), {}),  # the first heartbeat is no edge
        ((False, False), {}),
        ((False, True), {"component": 191}),
        ((False, True), {"component": 190}),
        ((False, True), {"component": 100}),
        ((False, True), {"system": 2}),
        ((False, True), {"system": 255}),
    ],
)
def test_it_is_no_edge(said: tuple[bool, ...], who: dict[str, int]) -> None:
    async def play(rig: Rig) -> None:
        await rig.armed(*said, **who)
        assert orders(rig) == []
        rig.station.received()

    run(play, NOSE, record_while_armed=True)


def test_without_the_setting_arming_is_nothing() -> None:
    async def play(rig: Rig) -> None:
        await rig.armed(False, True)
        assert orders(rig) == []

    run(play, NOSE)


def test_silence_is_no_disarming() -> None:
    async def play(rig: Rig) -> None:
        await rig.armed(False, True)
        await asyncio.sleep(3600.0)
        rig.station.received()
        assert orders(rig) == [((1,), True)]

    run(play, NOSE, record_while_armed=True)


async def _by_a_person(rig: Rig) -> None:
    """One camera records before, as somebody has started it."""
    rig.hub.set_recording(1, "recording")
    await rig.armed(False, True, False)


async def _by_a_station_meanwhile(rig: Rig) -> None:
    await rig.armed(False, True)
    await rig.asked(100, START)
    await rig.armed(True, False)


async def _stopped_and_started_by_a_person(rig: Rig) -> None:
    await rig.armed(False, True)
    rig.hub.set_recording(1, "idle")
    rig.hub.set_recording(1, "recording")
    await rig.armed(True, False)


async def _started_by_a_station_just_before(rig: Rig) -> None:
    await rig.armed(False)
    rig.hub.takes_s = 1.5
    rig.station.command(100, START)
    await rig.armed(True, True, True, False)


async def _refused_and_started_by_a_person(rig: Rig) -> None:
    rig.hub.errors[1] = "camera-refused", "no card"
    await rig.armed(False, True)
    rig.hub.set_recording(1, "recording")
    await rig.armed(True, False)


async def _out_of_reach_and_started_by_a_person(rig: Rig) -> None:
    rig.hub.errors[1] = "not-connected", "it is not connected"
    await rig.armed(False, True)
    rig.hub.set_recording(1, "recording")
    await rig.armed(True, False)


@pytest.mark.parametrize(
    "flight",
    [
        _by_a_person,
        _by_a_station_meanwhile,
        _stopped_and_started_by_a_person,
        _started_by_a_station_just_before,
        _refused_and_started_by_a_person,
        _out_of_reach_and_started_by_a_person,
    ],
)
def test_disarming_stops_nothing_that_others_have_started(flight: Any) -> None:
    async def play(rig: Rig) -> None:
        await flight(rig)
        await asyncio.sleep(STOPS_AFTER_S + 2)
        assert [(ids, on) for ids, on, _ in rig.hub.orders if not on] == [((2,), False)]
        rig.station.received()

    run(play, NOSE, LEFT, record_while_armed=True)


def test_a_stop_by_a_person_while_armed_is_not_undone() -> None:
    async def play(rig: Rig) -> None:
        await rig.armed(False, True)
        await rig.asked(100, STOP)
        await rig.armed(True, True)
        assert orders(rig) == [((1,), True), ((1,), False)]

    run(play, NOSE, record_while_armed=True)


def test_a_camera_that_was_out_of_reach_for_a_while_is_stopped() -> None:
    async def play(rig: Rig) -> None:
        await rig.armed(False, True)
        rig.hub.set_recording(1, None)
        rig.hub.set_recording(1, "recording")
        await rig.armed(False)
        await asyncio.sleep(STOPS_AFTER_S + 1)
        assert orders(rig)[1:] == [((1,), False)]
        rig.station.received()

    run(play, NOSE, record_while_armed=True)


def test_a_recording_that_has_ended_before_its_start_was_answered_is_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def play(rig: Rig) -> None:
        start = rig.hub.record

        async def start_and_see_it_end(*ids: Any, **options: Any) -> list[ResultRecord]:
            rows = await start(*ids, **options)
            rig.hub.set_recording(1, "idle")
            return rows

        monkeypatch.setattr(rig.hub, "record", start_and_see_it_end)
        await rig.armed(False, True)
        rig.hub.set_recording(1, "recording")
        await rig.armed(True, False)
        await asyncio.sleep(STOPS_AFTER_S + 2)
        assert orders(rig) == [((1,), True)]
        rig.station.received()

    run(play, NOSE, record_while_armed=True)


def test_a_camera_that_does_not_say_whether_it_records_is_stopped_once() -> None:
    async def play(rig: Rig) -> None:
        await rig.armed(False, True)
        rig.hub.set_recording(1, None)
        rig.hub.errors[1] = "unconfirmed", "it did not answer"
        await rig.armed(False)
        await asyncio.sleep(STOPS_AFTER_S + 10.0)
        assert orders(rig)[1:] == [((1,), False)]
        rig.station.received()

    run(play, NOSE, record_while_armed=True)


def test_what_disarming_has_stopped_a_person_may_start(monkeypatch: pytest.MonkeyPatch) -> None:
    async def play(rig: Rig) -> None:
        await rig.armed(False, True)
        monkeypatch.setattr(rig.hub, "set_recording", lambda *_: None)  # it does not say that it has stopped
        await rig.armed(False)
        await asyncio.sleep(STOPS_AFTER_S)
        rig.hub.set_camera(1, recording_state=None)
        rig.hub.set_camera(1, recording_state="recording", recording_requested=True)
        await asyncio.sleep(3.0)
        assert orders(rig)[1:] == [((1,), False)]
        rig.station.received()

    run(play, NOSE, record_while_armed=True)


def test_a_stop_that_had_no_place_among_the_commands_is_not_forgotten() -> None:
    async def play(rig: Rig) -> None:
        await rig.armed(False, True, False)
        await asyncio.sleep(STOPS_AFTER_S - 1.1)
        for _ in range(60):  # others take all places of this second and the next
            rig.station.command(101, START)
            await asyncio.sleep(0.025)
        await asyncio.sleep(2.0)
        assert ((1,), False) in [(ids, on) for ids, on, _ in rig.hub.orders]
        rig.station.received()

    run(play, NOSE, LEFT, record_while_armed=True)


def test_a_camera_that_may_have_been_started_by_a_person_is_started_and_never_stopped() -> None:
    """Somebody has pressed the button just before; of the other camera nothing is known."""

    async def play(rig: Rig) -> None:
        await rig.armed(False)
        rig.hub.set_camera(1, recording_requested=True)
        rig.hub.set_recording(2, None)
        await rig.armed(True, True, False)
        await asyncio.sleep(STOPS_AFTER_S + 2)
        assert orders(rig) == [((1, 2, 3), True), ((3,), False)]
        rig.station.received()

    run(play, NOSE, LEFT, device(3, "Tail"), record_while_armed=True)


def test_a_vehicle_that_is_armed_again_while_cameras_are_being_stopped_records() -> None:
    async def play(rig: Rig) -> None:
        await rig.armed(False, True)
        rig.hub.takes_s = 3.0
        await rig.armed(False)
        await asyncio.sleep(STOPS_AFTER_S)
        await rig.armed(True, True, True, True, True, True)
        assert orders(rig) == [((1,), True), ((1,), False), ((1,), True)]
        await rig.armed(False)
        await asyncio.sleep(STOPS_AFTER_S + 2)
        assert orders(rig)[3:] == [((1,), False)]
        rig.station.received()

    run(play, NOSE, record_while_armed=True)


def test_cameras_that_disarming_could_not_reach_are_stopped_when_that_is_possible() -> None:
    async def play(rig: Rig) -> None:
        await rig.armed(False, True, False)
        away = rig.hub.known.pop(2)
        rig.hub.leave()
        await asyncio.sleep(STOPS_AFTER_S + 20.0)
        assert orders(rig) == [((1, 2), True)]
        rig.hub.come_back(rig.hub.known[1], replace(away, state="disconnected"))
        await asyncio.sleep(2.0)
        assert orders(rig)[1:] == [((1,), False)]
        rig.hub.change(away)
        await asyncio.sleep(20.0)
        assert orders(rig)[2:] == [((2,), False)]
        rig.station.received()

    run(play, NOSE, LEFT, record_while_armed=True)


def test_cameras_are_stopped_again_when_the_daemon_was_lost_during_the_stop() -> None:
    async def play(rig: Rig) -> None:
        await rig.armed(False, True, False)
        rig.hub.failure = BackendUnavailable("wifimgrd did not answer in time")
        await asyncio.sleep(STOPS_AFTER_S)
        assert orders(rig)[1:] == [((1,), False)]
        rig.hub.failure = None
        await asyncio.sleep(20.0)
        assert orders(rig)[2:] == [((1,), False)]
        rig.station.received()

    run(play, NOSE, record_while_armed=True)


def test_a_start_of_which_the_outcome_is_not_known_is_stopped_after_disarming() -> None:
    async def play(rig: Rig) -> None:
        await rig.armed(False)
        rig.hub.failure = BackendUnavailable("wifimgrd did not answer in time")
        await rig.armed(True)
        rig.hub.failure = None
        rig.hub.set_recording(1, "recording")
        await rig.armed(True, False)
        await asyncio.sleep(STOPS_AFTER_S + 1)
        assert orders(rig) == [((1,), True), ((1,), False)]
        rig.station.received()

    run(play, NOSE, record_while_armed=True)


def without_daemon() -> dict[str, Any]:
    hub, memory = ScriptedHub(), Memory(None)
    hub.is_there = False
    memory.write({100: 1}, 0)
    return {"hub": hub, "memory": memory, "record_while_armed": True}


def test_a_daemon_that_appears_after_arming_is_told_once() -> None:
    async def play(rig: Rig) -> None:
        await rig.armed(False, True)
        said, *_ = told(await rig.after(60.0), "STATUSTEXT")
        assert text_of(said._text_raw).startswith("The vehicle is armed, but wifimgrd is not running")
        rig.hub.come_back(NOSE)
        await rig.armed(True, True)
        rig.hub.leave()
        rig.hub.come_back(NOSE)
        await rig.after(2.0)
        assert orders(rig) == [((1,), True)]

    run(play, **without_daemon())


def test_a_vehicle_that_is_disarmed_before_the_daemon_appears_starts_nothing() -> None:
    async def play(rig: Rig) -> None:
        await rig.armed(False, True, False)
        rig.hub.come_back(NOSE)
        await rig.after(2.0)
        assert orders(rig) == []

    run(play, **without_daemon())


# -- with a key


def test_with_a_key_everything_is_signed_and_the_station_is_obeyed() -> None:
    async def play(rig: Rig) -> None:
        said = await rig.asked(100, START)
        assert answers(said)[-1] == (100, START, ACCEPTED)
        assert all(one.get_signed() for one in said)

    run(play, NOSE, key=KEY)


def test_with_a_key_who_has_none_is_not_heard() -> None:
    async def play(rig: Rig) -> None:
        stranger = Station()
        for data in (stranger.packed(100, START), stranger.packed(100, ASK, 259)):
            rig.station.send(data)
        stranger.close()
        await rig.armed(False, True)
        assert answers(await rig.after()) == []
        assert orders(rig) == []

    with capture_logs() as log:
        run(play, NOSE, key=KEY, record_while_armed=True)
    assert "frame_refused" in [one["event"] for one in log]
    assert KEY.hex() not in str(log)


def test_timestamps_go_on_after_a_restart_behind_those_of_a_clock_that_is_ahead(tmp_path: Path) -> None:
    used: list[int] = []

    async def play(rig: Rig) -> None:
        signing = rig.bridge._signing
        assert signing is not None
        used.append(signing.last)
        rig.station.mav.signing.timestamp += MINUTE // 2
        rig.station.beat()
        await rig.after()
        used.append(signing.last)

    for _ in range(2):
        run(play, NOSE, key=KEY, memory=Memory(str(tmp_path)))
    assert used == sorted(used)
    assert used[1] - used[0] >= MINUTE // 2


def test_the_last_timestamp_is_on_disk_within_a_minute(tmp_path: Path) -> None:
    used: list[Signing | None] = []

    async def play(rig: Rig) -> None:
        await asyncio.sleep(1.0)
        used.append(rig.bridge._signing)
        assert used[-1] is not None
        assert used[-1].last - MINUTE < Memory(str(tmp_path)).last_signed
        rig.station.received()

    for _ in range(3):
        run(play, NOSE, key=KEY, memory=Memory(str(tmp_path)))
        assert used[-1] is not None
        assert used[-1].last - MINUTE < Memory(str(tmp_path)).last_signed <= used[-1].last
        now = (time.time_ns() // 1000 - 1_420_070_400_000_000) // 10
        assert used[-1].last <= now, "a start makes timestamps later than the clock"
