"""Recording by commands: who is answered what, and when."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from tests.mavlink.bridge import Rig, run
from tests.mavlink.scripted_hub import device
from tests.mavlink.station import (
    ACCEPTED,
    DENIED,
    FAILED,
    IN_PROGRESS,
    START,
    STOP,
    TEMPORARILY_REJECTED,
    UNSUPPORTED,
    Station,
    answers,
    text_of,
    told,
)
from wifimgrd.client.command_rate import COMMANDS_AT_ONCE
from wifimgrd.domain.errors import BackendUnavailable, NotAuthorized
from wifimgrd.domain.rig import Everyone
from wifimgrd.mavlink._recording import SAID_AGAIN_S, Asked
from wifimgrd.mavlink._requests import Result

NOSE, LEFT, TAIL = device(1, "Nose"), device(2, "Left"), device(3, "Tail")
AWAY = device(4, "Away", connected=False)
SPARE = device(5, "Spare", connected=False, expected=False)
CAMERAS = (NOSE, LEFT, TAIL)
Ids = tuple[int, ...]


def sentences(messages: list[Any]) -> list[tuple[int, str]]:
    """What is said to people, and by which component."""
    return [(one.get_srcComponent(), text_of(one._text_raw)) for one in told(messages, "STATUSTEXT")]


def test_one_camera_is_started_in_progress_at_once_and_then_accepted() -> None:
    async def play(rig: Rig) -> None:
        said = await rig.asked(101, START)
        assert answers(said) == [(101, START, IN_PROGRESS), (101, START, ACCEPTED)]
        assert [one.progress for one in told(said, "COMMAND_ACK")] == [255, 0]
        assert {(one.target_system, one.target_component) for one in told(said, "COMMAND_ACK")} == {
            (255, 190)
        }
        assert rig.hub.orders == [((2,), True, Everyone.NOBODY)]
        said = await rig.asked(101, STOP)
        assert answers(said)[-1] == (101, STOP, ACCEPTED)
        assert rig.hub.orders[1:] == [((2,), False, Everyone.NOBODY)]

    run(play, *CAMERAS)


def test_a_command_int_is_the_same() -> None:
    async def play(rig: Rig) -> None:
        rig.station.command_int(101, START)
        assert answers(await rig.after())[-1] == (101, START, ACCEPTED)

    run(play, *CAMERAS)


def test_a_broadcast_is_one_order_and_each_component_answers() -> None:
    async def play(rig: Rig) -> None:
        said = answers(await rig.asked(0, START))
        assert rig.hub.orders == [((), True, Everyone.RIG)]
        assert sorted(said[:5]) == [(one, START, IN_PROGRESS) for one in range(100, 105)]
        assert sorted(said[5:]) == [
            *((one, START, ACCEPTED) for one in (100, 101, 102)),
            *((one, START, TEMPORARILY_REJECTED) for one in (103, 104)),
        ]

    run(play, *CAMERAS, AWAY, SPARE)


def test_of_a_broadcast_people_are_told_of_the_cameras_that_are_expected() -> None:
    async def play(rig: Rig) -> None:
        assert sentences(await rig.asked(0, START)) == [(103, "Away: the camera is disconnected")]

    run(play, *CAMERAS, AWAY, SPARE)


def test_a_broadcast_is_for_those_that_are_listed() -> None:
    async def play(rig: Rig) -> None:
        said = answers(await rig.asked(0, START))
        assert rig.hub.orders == [((1, 4), True, Everyone.NOBODY)]
        assert sorted(said[3:]) == [
            (100, START, ACCEPTED),
            (101, START, TEMPORARILY_REJECTED),
            (102, START, TEMPORARILY_REJECTED),
        ]

    run(play, *CAMERAS, AWAY, SPARE, devices=("Nose", "Away", 5))


def test_one_that_may_record_is_told_to_stop_though_it_is_not_expected() -> None:
    async def play(rig: Rig) -> None:
        camera = SPARE.camera
        assert camera is not None
        rig.hub.change(replace(SPARE, camera=replace(camera, recording_requested=True)))
        await rig.asked(0, START)
        await rig.asked(0, STOP)
        assert [ids for ids, *_ in rig.hub.orders] == [(1,), (1, 5)]

    run(play, NOSE, SPARE, devices=("Nose", "Spare"))


@pytest.mark.parametrize(
    ("number", "target", "camera", "ordered", "answered"),
    [
        (START, 0, 102, (3,), [(102, ACCEPTED)]),  # the parameter counts
        (STOP, 0, 102, (3,), [(102, ACCEPTED)]),
        (START, 0, 105, None, []),  # there is none
        (START, 0, 3, None, []),  # an autopilot's own
        (START, 0, 0.5, None, []),
        (START, 0, float("inf"), None, []),
        (START, 101, 101, (2,), [(101, ACCEPTED)]),
        (START, 100, 101, (2,), [(100, ACCEPTED)]),  # a mission of PX4
        (STOP, 100, 101, (2,), [(100, ACCEPTED)]),
        (START, 100, 105, None, [(100, DENIED)]),
        (START, 100, 3, None, [(100, DENIED)]),
        (START, 100, 0.5, None, [(100, DENIED)]),
        (START, 100, float("nan"), (1,), [(100, ACCEPTED)]),
        (START, 103, 0, None, []),  # nobody has this component
        (START, 1, 0, None, []),
        (START, 1, 101, None, []),
    ],
)
def test_the_camera_that_is_meant(
    number: int, target: int, camera: float, ordered: Ids | None, answered: list[tuple[int, int]]
) -> None:
    async def play(rig: Rig) -> None:
        parameters = (0, 0, camera) if number == START else (0, camera)
        said = answers(await rig.asked(target, number, *parameters))
        final = [(one, result) for one, _, result in said if result != IN_PROGRESS]
        assert final == answered
        assert [ids for ids, *_ in rig.hub.orders] == ([] if ordered is None else [ordered])

    run(play, *CAMERAS)


def test_in_progress_comes_every_two_seconds_until_the_outcome() -> None:
    async def play(rig: Rig) -> None:
        rig.hub.takes_s = 7.0
        rig.station.command(100, START)
        results = [[result for *_, result in answers(await rig.after(0.5))]]
        for _ in range(8):
            said = await rig.after(1.0)
            results += [[result for *_, result in answers(said)]]
        assert results == [[5], [], [5], [], [5], [], [5], [0], []]

    run(play, NOSE)


def test_a_repetition_joins_what_runs_and_has_one_outcome() -> None:
    """MAVSDK repeats a command three seconds after it was told that it is in progress."""

    async def play(rig: Rig) -> None:
        rig.hub.takes_s = 9.0
        said = await rig.asked(100, START)
        for _ in range(2):
            await asyncio.sleep(3.0)
            said += await rig.asked(100, START)
        said += await rig.after(10.0)
        assert len(rig.hub.orders) == 1
        assert [one for one in answers(said) if one[2] != IN_PROGRESS] == [(100, START, ACCEPTED)]

    run(play, NOSE)


def test_another_station_that_asks_for_what_runs_has_an_answer_too() -> None:
    async def play(rig: Rig) -> None:
        rig.hub.takes_s = 1.0
        await rig.asked(100, START)
        other = Station(system=254, component=25)
        rig.station.send(other.packed(100, START))
        other.close()
        said = told(await rig.after(2.0), "COMMAND_ACK")
        assert {(one.target_system, one.target_component) for one in said if one.result == ACCEPTED} == {
            (255, 190), (254, 25)
        }  # fmt: skip
        assert len(rig.hub.orders) == 1

    run(play, NOSE)


def test_one_camera_joins_a_broadcast_that_is_for_it_and_no_other() -> None:
    async def play(rig: Rig) -> None:
        rig.hub.takes_s = 1.0
        rig.station.command(0, START)
        await rig.after()
        rig.station.command(100, START)
        await rig.after()
        assert len(rig.hub.orders) == 1
        rig.station.command(101, START)  # none of the rig: nobody has tried it
        await rig.after()
        assert rig.hub.orders[1:] == [((5,), True, Everyone.NOBODY)]

    run(play, NOSE, SPARE)


def test_a_broadcast_does_not_join_an_order_for_one() -> None:
    async def play(rig: Rig) -> None:
        rig.hub.takes_s = 1.0
        rig.station.command(100, START)
        await rig.after()
        rig.station.command(0, START)
        await rig.after()
        assert [everyone for *_, everyone in rig.hub.orders] == [Everyone.NOBODY, Everyone.RIG]

    run(play, NOSE)


def test_stop_does_not_wait_for_a_start_that_runs() -> None:
    async def play(rig: Rig) -> None:
        rig.hub.takes_s = 5.0
        rig.station.command(100, START)
        await rig.after()
        rig.station.command(100, STOP)
        await rig.after()
        assert [on for _, on, _ in rig.hub.orders] == [True, False]

    run(play, NOSE)


@pytest.mark.parametrize(
    ("code", "result"),
    [
        ("not-connected", TEMPORARILY_REJECTED),
        ("busy", TEMPORARILY_REJECTED),
        ("camera-busy", TEMPORARILY_REJECTED),
        ("not-supported", UNSUPPORTED),
        ("camera-refused", FAILED),
        ("unconfirmed", FAILED),
        ("a-code-of-a-later-version", FAILED),
    ],
)
def test_a_refusal_has_a_result_and_the_hubs_sentence(code: str, result: int) -> None:
    async def play(rig: Rig) -> None:
        rig.hub.errors[2] = code, "the card is full"
        said = await rig.asked(0, START)
        assert (101, START, result) in answers(said)
        assert (100, START, ACCEPTED) in answers(said)
        assert sentences(said) == [(101, "Left: the card is full")]
        assert {one.severity for one in told(said, "STATUSTEXT")} == {4}

    run(play, NOSE, LEFT)


@pytest.mark.parametrize(
    ("failure", "result", "sentence"),
    [
        (NotAuthorized("not authorized"), FAILED, "not authorized"),
        (BackendUnavailable("wifimgrd did not answer in time"), FAILED, "wifimgrd did not answer in time"),
    ],
)
def test_the_hub_fails(failure: Exception, result: int, sentence: str) -> None:
    async def play(rig: Rig) -> None:
        rig.hub.failure = failure
        said = await rig.asked(100, START)
        assert answers(said)[-1] == (100, START, result)
        assert sentences(said) == [(100, sentence)]

    run(play, NOSE)


def test_while_the_daemon_is_away_waiting_helps() -> None:
    async def play(rig: Rig) -> None:
        rig.hub.leave()
        said = await rig.asked(0, START)
        assert answers(said)[-1] == (100, START, TEMPORARILY_REJECTED)
        assert sentences(said) == [(100, "wifimgrd is not running")]
        assert rig.hub.orders == []

    run(play, NOSE)


def test_what_concerns_all_cameras_is_said_once() -> None:
    async def play(rig: Rig) -> None:
        rig.hub.leave()
        said = await rig.asked(0, START)
        for component in (100, 101, 102):
            said += await rig.asked(component, START)
        assert sentences(said) == [(100, "wifimgrd is not running")]

    run(play, *CAMERAS)


def test_an_order_for_no_camera_is_not_sent_and_says_why() -> None:
    async def play(rig: Rig) -> None:
        said = await rig.asked(0, START)
        assert sorted(answers(said)[2:]) == [(one, START, TEMPORARILY_REJECTED) for one in (100, 101)]
        (component, sentence), *rest = sentences(said)
        assert {one for one, _ in rest} <= {100}
        assert component == 100
        assert sentence.startswith("Nose: it is not expected")
        assert rig.hub.orders == []

    run(play, replace(NOSE, expected=False), SPARE, devices=("Nose", "Spare"))


def test_a_command_to_all_is_sent_though_no_camera_that_has_a_component_is_expected() -> None:
    """Others may be, and the daemon knows them."""

    async def play(rig: Rig) -> None:
        await rig.asked(0, START)
        assert rig.hub.orders == [((), True, Everyone.RIG)]

    run(play, SPARE)


def test_of_equal_orders_the_one_that_has_ended_is_over() -> None:
    async def play(rig: Rig) -> None:
        rig.hub.takes_s = 9.0
        rig.station.command(100, START)
        await rig.after()
        rig.station.command(100, STOP)
        await rig.after()
        rig.hub.takes_s = 1.0
        rig.station.command(100, START)
        await rig.after(2.0)
        [newest] = {one.orders[-1] for one in rig.bridge._cameras.values()}
        assert newest.on is False

    run(play, NOSE)


def test_a_start_after_a_stop_does_not_join_the_start_before() -> None:
    async def play(rig: Rig) -> None:
        rig.hub.takes_s = 5.0
        for command in (START, STOP, START, START):
            rig.station.command(100, command)
            await rig.after()
        assert [on for _, on, _ in rig.hub.orders] == [True, False, True]

    run(play, NOSE)


def test_who_asks_while_the_outcome_is_told_has_an_outcome_too(monkeypatch: pytest.MonkeyPatch) -> None:
    async def play(rig: Rig) -> None:
        recording, kept, has_asked = rig.bridge._recording, rig.bridge._recording.answer, False
        late = {"command": START, "target_component": 100, "param1": 0.0, "param2": 0.0, "param3": 0.0}

        def answer(component: int, asked: Asked, result: Result) -> None:
            nonlocal has_asked
            kept(component, asked, result)
            if result is Result.ACCEPTED and not has_asked:
                has_asked = True
                rig.bridge._answer((77, 7), late)

        monkeypatch.setattr(recording, "answer", answer)
        said = told(await rig.asked(100, START) + await rig.after(5.0), "COMMAND_ACK")
        assert [one.result for one in said if one.target_system == 77] == [IN_PROGRESS, ACCEPTED]

    run(play, NOSE)


def test_a_sentence_is_said_once_in_a_while() -> None:
    async def play(rig: Rig) -> None:
        said = []
        for _ in range(5):
            said += await rig.asked(100, START)
        assert len(sentences(said)) == 1
        assert len(answers(said)) == 10
        await asyncio.sleep(SAID_AGAIN_S)
        assert len(sentences(await rig.asked(100, START))) == 1

    run(play, AWAY)


@pytest.mark.parametrize(
    "sentence",
    [
        "short",
        "x" * 44,  # fifty with the name
        "x" * 45,
        "x" * 200,
        "\u00e4" * 70,
        "x" + "\u00e4" * 70,
        "\U0001f6a4" * 40,
        "nothing \0 of that",
    ],
)
def test_a_long_sentence_comes_in_parts_that_stations_put_together(sentence: str) -> None:
    async def play(rig: Rig) -> None:
        rig.hub.errors[1] = "camera-refused", sentence
        said = told(await rig.asked(100, START), "STATUSTEXT")
        parts = [bytes(one._text_raw).ljust(50, b"\0") for one in said]
        assert all(b"\0" not in part for part in parts[:-1])
        assert len(parts) == 1 or b"\0" in parts[-1]
        for part in parts:
            part.partition(b"\0")[0].decode()  # no letter is cut
        together = b"".join(parts).partition(b"\0")[0].decode()
        assert together.replace(" ", "") == f"Nose: {sentence}".replace("\0", "").replace(" ", "")
        numbers = [(one.id, one.chunk_seq) for one in said]
        assert numbers == ([(0, 0)] if len(said) == 1 else [(1, place) for place in range(len(said))])

    run(play, NOSE)


def test_a_sentence_has_an_end() -> None:
    async def play(rig: Rig) -> None:
        rig.hub.errors[1] = "camera-refused", "x" * 100_000
        assert len(told(await rig.asked(100, START), "STATUSTEXT")) == 11

    run(play, NOSE)


def test_more_commands_than_so_many_a_second_are_rejected_at_once() -> None:
    async def play(rig: Rig) -> None:
        for place in range(COMMANDS_AT_ONCE + 5):
            rig.station.command(100 + place % 3, START if place % 2 else STOP)
            await asyncio.sleep(0.03)
        said = await rig.after()
        assert len(rig.hub.orders) == COMMANDS_AT_ONCE
        assert len([one for one in answers(said) if one[2] == TEMPORARILY_REJECTED]) == 5
        assert {text for _, text in sentences(said)} == {"At most 20 commands a second are carried out."}
        await asyncio.sleep(1.0)
        assert answers(await rig.asked(100, START))[-1] == (100, START, ACCEPTED)

    run(play, *CAMERAS)


def test_a_broadcast_counts_as_one_command() -> None:
    async def play(rig: Rig) -> None:
        for place in range(COMMANDS_AT_ONCE):
            said = answers(await rig.asked(0, START if place % 2 else STOP))
            assert [result for *_, result in said][-3:] == [ACCEPTED] * 3

    run(play, *CAMERAS)


def test_questions_do_not_take_the_place_of_commands() -> None:
    async def play(rig: Rig) -> None:
        for _ in range(200):
            rig.station.command(100, 512, 259)
        await rig.after(1.0)
        for _ in range(200):
            rig.station.command(100, 512, 259)
        rig.station.command(100, START)
        assert (100, START, ACCEPTED) in answers(await rig.after(1.0))

    run(play, NOSE)


def test_a_flood_of_one_command_is_not_answered_each_time() -> None:
    async def play(rig: Rig) -> None:
        rig.hub.takes_s = 1.5
        for _ in range(200):
            rig.station.command(0, START)
        said = await rig.after(1.0)
        assert len(rig.hub.orders) == 1
        assert len(answers(said)) <= 3 * (1 + COMMANDS_AT_ONCE)

    run(play, *CAMERAS)


def test_those_who_wait_are_bounded() -> None:
    async def play(rig: Rig) -> None:
        rig.hub.takes_s = 10.0
        rig.station.command(100, START)
        said = await rig.after()
        for system in range(100):
            other = Station(system=system + 1)
            rig.station.send(other.packed(100, START))
            other.close()
            said += await rig.after(0.06)
        for _ in range(10):
            said += await rig.after(1.0)
        heard = {one.target_system: one.result for one in told(said, "COMMAND_ACK")}
        assert Counter(heard.values()) == {ACCEPTED: 48, TEMPORARILY_REJECTED: 53}

    run(play, NOSE)


def test_a_broadcast_for_cameras_without_a_component_is_joined_too() -> None:
    async def play(rig: Rig) -> None:
        rig.hub.takes_s = 5.0
        await rig.asked(0, START)
        await rig.asked(0, START)
        assert rig.hub.orders == [((), True, Everyone.RIG)]
        await rig.asked(0, STOP)
        assert rig.hub.orders[1:] == [((), False, Everyone.RIG)]
        assert [one for one, _, result in answers(await rig.after(20.0)) if result != IN_PROGRESS] == [
            100,
            100,
        ]

    run(play, SPARE)
