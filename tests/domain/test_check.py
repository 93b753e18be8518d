"""The decision whether the rig is ready."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wifimgrd.domain import check as decision
from wifimgrd.domain import sentences
from wifimgrd.domain._findings import ORDER, Want
from wifimgrd.domain.camera import CameraReading, CameraStatus, Problem, RecordingState
from wifimgrd.domain.check import Checked, Wanted, check_rig, parse_wanted
from wifimgrd.domain.device import Device, DeviceId, DeviceState, DeviceStatus, Failure, Ssid
from wifimgrd.domain.errors import ErrorCode, InvalidRequest
from wifimgrd.domain.link_steps import LinkStep
from wifimgrd.domain.records import device_record

NOTHING: Final = Wanted()
ALL: Final = Wanted(recording=True, battery=50, time_left_us=600_000_000, clock_us=500_000)
FIT: Final = CameraReading(
    read_us=1,
    battery_level=50,
    recording=RecordingState.RECORDING,
    time_left_s=600,
    clock_offset_us=-500_000,
    clock_read_us=1,
)


def camera(number: int, reading: CameraReading | None = FIT, *problems: Problem) -> DeviceStatus:
    """A connected camera that answers; without a reading the hub has no driver for it."""
    device = Device(DeviceId(number), f"Camera {number}", "x3", Ssid(b"x"))
    status = None if reading is None else CameraStatus(reading, problems=problems)
    return DeviceStatus(device, DeviceState.CONNECTED, "wlan0", reachable=True, camera=status)


def check(statuses: Sequence[DeviceStatus], wanted: Wanted) -> Checked:
    return decision.check(map(device_record, statuses), wanted)


def codes(result: Checked) -> list[tuple[int, str]]:
    return [(one.device_id, str(one.code)) for one in result.findings]


def test_cameras_that_are_all_that_is_wanted_are_ready() -> None:
    result = check([camera(2), camera(1)], ALL)
    assert (result.ok, list(result.names), result.findings) == (True, [1, 2], ())


def test_nobody_is_not_ready() -> None:
    assert not check([], NOTHING).ok


def test_of_a_camera_that_is_not_connected_nothing_else_is_told() -> None:
    away = replace(
        camera(1, CameraReading(), Problem.BATTERY_LOW), state=DeviceState.DISCONNECTED, reachable=False
    )
    assert codes(check([away], ALL)) == [(1, "not-connected")]


def test_a_camera_that_does_not_answer_is_told_with_its_problems() -> None:
    silent = replace(camera(1, FIT, Problem.CLOCK_WRONG), reachable=False)
    assert codes(check([silent], NOTHING)) == [(1, "not-answering"), (1, "clock-wrong")]


@pytest.mark.parametrize(
    ("state", "is_reachable", "code"),
    [
        (DeviceState.CONNECTED, False, Want.NOT_ANSWERING),
        (DeviceState.CONNECTED, True, Want.NOT_ANSWERING),  # the step was commanded
        (DeviceState.CONNECTING, False, Want.NOT_CONNECTED),
    ],
)
def test_a_camera_that_is_being_recovered_is_not_ready_and_the_step_is_told(
    state: DeviceState, is_reachable: bool, code: Want
) -> None:
    recovered = replace(camera(1), state=state, reachable=is_reachable, recovery_step=LinkStep.REJOIN)
    assert codes(check([recovered], NOTHING)) == [(1, code.value)]
    assert sentences.check_finding(code, recovered) == "The hub is joining the camera's network again."


def test_the_most_urgent_finding_is_the_first_whatever_the_device() -> None:
    low = camera(1, FIT, Problem.STORAGE_LOW, Problem.TOO_HOT)
    off = replace(camera(2), state=DeviceState.CONNECTING)
    assert codes(check([low, off], NOTHING)) == [(2, "not-connected"), (1, "too-hot"), (1, "storage-low")]


@pytest.mark.parametrize(
    ("reading", "code"),
    [
        (replace(FIT, recording=RecordingState.IDLE), "not-recording"),
        (replace(FIT, recording=None), "recording-unknown"),
        (replace(FIT, battery_level=49), "battery-low"),
        (replace(FIT, battery_level=None), "battery-unknown"),
        (replace(FIT, time_left_s=599), "storage-low"),
        (replace(FIT, time_left_s=None), "storage-unknown"),
        (replace(FIT, clock_offset_us=500_001), "clock-wrong"),
        (replace(FIT, clock_offset_us=-500_001), "clock-wrong"),
        (replace(FIT, clock_offset_us=None, clock_read_us=0), "clock-unknown"),
    ],
)
def test_a_value_that_was_asked_for_is_a_finding_if_it_is_not_met_or_not_known(
    reading: CameraReading, code: str
) -> None:
    assert codes(check([camera(1, reading)], ALL)) == [(1, code)]


def test_what_nobody_asks_for_may_be_unknown() -> None:
    assert check([camera(1, CameraReading())], NOTHING).ok


def test_of_a_camera_that_was_told_to_record_it_is_a_finding_that_nobody_knows() -> None:
    told = replace(camera(1), camera=CameraStatus(requested=True))
    assert codes(check([told], NOTHING)) == [(1, "recording-unknown")]
    assert codes(check([told], Wanted(recording=True))) == [(1, "recording-unknown")]
    stopped = replace(camera(1), camera=CameraStatus(requested=True, problems=(Problem.NOT_RECORDING,)))
    assert codes(check([stopped], NOTHING)) == [(1, "not-recording")], "as far as it was known"


@pytest.mark.parametrize(("since_us", "found"), [(1, []), (2, ["battery-unknown", "storage-unknown"])])
def test_a_value_of_an_earlier_connection_is_not_known(since_us: int, found: list[str]) -> None:
    silent = camera(1, replace(FIT, recording=None))
    again = replace(silent, device=replace(silent.device, last_success_us=since_us))
    wanted = Wanted(battery=50, time_left_us=600_000_000)
    assert [code for _, code in codes(check([again], wanted))] == found


def test_one_that_says_whether_it_records_was_read_though_the_clock_was_set_back() -> None:
    read = replace(camera(1), device=replace(camera(1).device, last_success_us=2))
    assert check([read], Wanted(battery=50, time_left_us=600_000_000)).ok


def test_of_a_camera_without_a_driver_nothing_is_asked() -> None:
    assert check([camera(1, None)], ALL).ok


def test_the_limit_that_is_asked_for_replaces_the_hubs_own() -> None:
    low = camera(1, replace(FIT, battery_level=12), Problem.BATTERY_LOW)
    assert codes(check([low], NOTHING)) == [(1, "battery-low")]
    assert check([low], Wanted(battery=10)).ok


def test_a_camera_that_should_record_and_does_not_is_told_once() -> None:
    stopped = camera(1, replace(FIT, recording=RecordingState.IDLE), Problem.NOT_RECORDING)
    assert codes(check([stopped], ALL)) == [(1, "not-recording")]


@given(st.lists(st.sampled_from(list(Problem)), unique=True), st.booleans(), st.booleans())
def test_each_finding_is_told_once_and_has_a_sentence(
    problems: list[Problem], is_connected: bool, is_known: bool
) -> None:
    status = camera(1, FIT if is_known else CameraReading(), *problems)
    if not is_connected:
        status = replace(status, state=DeviceState.DISCONNECTED)
    found = check([status], ALL).findings
    assert len({one.code for one in found}) == len(found)
    assert [one.code for one in found] == [code for code in ORDER if code in {one.code for one in found}]
    for one in found:
        assert sentences.check_finding(one.code, status).endswith(".")


def test_a_failure_says_why_a_camera_is_not_connected() -> None:
    failure = Failure(ErrorCode.AUTHENTICATION_FAILED, "the password is wrong", 1)
    away = replace(
        camera(1), state=DeviceState.DISCONNECTED, device=replace(camera(1).device, failure=failure)
    )
    assert sentences.check_finding(Want.NOT_CONNECTED, away) == "It is not connected: the password is wrong."


def test_a_camera_that_is_searched_for_says_that_and_not_how_its_link_ended() -> None:
    failure = Failure(ErrorCode.CONNECTION_LOST, "the connection was lost: NetworkManager stopped", 1)
    device = replace(camera(1).device, failure=failure)
    lost = replace(camera(1), state=DeviceState.DISCONNECTED, device=device, lost_us=1)
    said = sentences.check_finding(Want.NOT_CONNECTED, lost)
    assert said == "It was lost: the hub searches for its network."
    waits = replace(lost, device=replace(device, waiting_since_us=1))
    assert sentences.check_finding(Want.NOT_CONNECTED, waits) == "It waits for a free adapter."


@pytest.mark.parametrize(
    ("wanted", "sentence"),
    [
        (Wanted(battery=51), "Its battery is at 50 %; 51 % are asked for."),
        (Wanted(time_left_us=12_000_000_000), "It can record for 10 min; 200 min are asked for."),
        (Wanted(clock_us=20_000), "Its clock is off by 500 ms; at most 20 ms are asked for."),
    ],
)
def test_a_limit_that_was_asked_for_is_told_beside_the_value(wanted: Wanted, sentence: str) -> None:
    [finding] = check([camera(1)], wanted).findings
    assert sentences.check_finding(finding.code, camera(1), wanted.limit_of(finding.code)) == sentence


def test_less_than_a_minute_is_told_in_seconds() -> None:
    full = camera(1, replace(FIT, time_left_s=42), Problem.STORAGE_LOW)
    own = sentences.check_finding(Problem.STORAGE_LOW, full)
    asked = sentences.check_finding(Problem.STORAGE_LOW, full, 60_000_000)
    assert own == "Its card is almost full: it can record for 42 s more."
    assert asked == "It can record for 42 s; 1 min is asked for."


@pytest.mark.parametrize(
    "options",
    [
        {"battery": -1},
        {"battery": 101},
        {"battery": True},
        {"recording": 1},
        {"time_left": -1},
        {"clock": "1"},
    ],
)
def test_options_that_are_none_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(InvalidRequest):
        parse_wanted(options)


def test_options_are_read() -> None:
    options = {"recording": True, "battery": 50, "time_left": 600_000_000, "clock": 500_000, "group": "x"}
    assert parse_wanted(options) == ALL


def test_the_rig_is_those_that_are_expected() -> None:
    expected, spare = camera(1), replace(camera(2), state=DeviceState.DISCONNECTED)
    expected = replace(expected, device=replace(expected.device, expected=True))
    assert check_rig(map(device_record, [expected, spare])).ok


FOUR: Final = {1: "Nose", 2: "Left", 3: "Right", 4: "Tail"}
MANY: Final = {number: f"C{number}" for number in range(1, 31)}


@pytest.mark.parametrize(
    ("cameras", "findings", "sentence"),
    [
        ({}, [], "There is no camera to check."),
        ({1: "Nose"}, [], "Nose is ready."),
        ({1: "Nose"}, [(1, "not-answering"), (1, "battery-low")], "Nose does not answer."),
        ({1: "Nose", 2: "Left"}, [], "Both cameras are ready."),
        (FOUR, [], "All 4 cameras are ready."),
        (FOUR, [(4, "not-connected")], "3 of 4 cameras are ready: Tail is not connected."),
        (
            FOUR,
            [(2, "not-connected"), (4, "not-connected"), (1, "storage-full"), (1, "clock-wrong")],
            "1 of 4 cameras is ready: Left and Tail are not connected, Nose has a full card.",
        ),
        (
            FOUR,
            [(1, "not-connected"), (2, "too-hot"), (3, "battery-low"), (4, "clock-wrong")],
            "None of 4 cameras is ready: Nose is not connected, Left is too hot, Right has a low battery,"
            " 1 more is not ready.",
        ),
        (FOUR, [(one, "not-recording") for one in FOUR], "None of 4 cameras is ready: they do not record."),
        (
            MANY,
            [(one, "not-connected") for one in range(1, 28)],
            "3 of 30 cameras are ready: C1, C2, C3 and 24 others are not connected.",
        ),
        (
            MANY,
            [(one, "not-connected") for one in range(1, 5)],
            "26 of 30 cameras are ready: C1, C2, C3 and C4 are not connected.",
        ),
    ],
)
def test_one_sentence_says_whether_all_are_ready(
    cameras: dict[int, str], findings: list[tuple[int, str]], sentence: str
) -> None:
    assert sentences.readiness(cameras, findings) == sentence


@given(st.lists(st.tuples(st.sampled_from(list(MANY)), st.sampled_from(ORDER)), unique=True))
def test_the_sentence_is_short_whatever_was_found(findings: list[tuple[int, str]]) -> None:
    assert len(sentences.readiness(MANY, findings)) <= 240
