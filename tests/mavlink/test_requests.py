"""The meaning of each command."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.mavlink.station import mavlink
from wifimgrd.mavlink import _frames as wire
from wifimgrd.mavlink._requests import (
    ALL,
    LONGEST_S,
    SHORTEST_S,
    Capture,
    Command,
    Question,
    Result,
    meaning,
)

INFORMATION, STATUS = wire.CAMERA_INFORMATION, wire.CAMERA_CAPTURE_STATUS
NAN, INFINITE = math.nan, math.inf


def command(number: int, *parameters: float) -> Command:
    first, second, third = (*parameters, 0.0, 0.0, 0.0)[:3]
    return Command(number, (first, second, third), 100, 255, 190)


@pytest.mark.parametrize(
    ("number", "parameters", "meant"),
    [
        (512, (259,), Question(INFORMATION)),
        (512, (260,), Question(wire.CAMERA_SETTINGS)),
        (512, (261, 1), Question(wire.STORAGE_INFORMATION)),
        (512, (262,), Question(STATUS)),
        (512, (269,), Result.UNSUPPORTED),
        (512, (0,), Result.UNSUPPORTED),
        (512, (NAN,), Result.UNSUPPORTED),
        (512, (INFINITE,), Result.UNSUPPORTED),
        (512, (259.5,), Result.UNSUPPORTED),
        (512, (3e38,), Result.UNSUPPORTED),
        (521, (1,), Question(INFORMATION)),
        (522, (1,), Question(wire.CAMERA_SETTINGS)),
        (525, (0, 1), Question(wire.STORAGE_INFORMATION)),
        (525, (1,), Question(wire.STORAGE_INFORMATION)),
        (527, (100, 1), Question(STATUS)),
        (527, (NAN, NAN), Question(STATUS)),
        (511, (262, 1e6), Question(STATUS, 1.0)),
        (511, (262, 1), Question(STATUS, SHORTEST_S)),
        (511, (262, 3e38), Question(STATUS, LONGEST_S)),
        (511, (262, -1), Question(STATUS, 0.0)),
        (511, (262, 0), Question(STATUS, 0.0)),
        (511, (262, -2), Result.DENIED),
        (511, (262, NAN), Result.DENIED),
        (511, (262, INFINITE), Result.DENIED),
        (511, (262, -INFINITE), Result.DENIED),
        (511, (269, 1e6), Result.UNSUPPORTED),
        (530, (0, 1), Result.ACCEPTED),
        (530, (0, 0), Result.DENIED),
        (530, (0, 2), Result.DENIED),
        (530, (0, NAN), Result.DENIED),
        (2500, (), Capture(on=True)),
        (2500, (0, 1), Capture(on=True, interval_s=1.0)),
        (2500, (0, 100), Capture(on=True, interval_s=SHORTEST_S)),
        (2500, (0, 1e-45), Capture(on=True, interval_s=LONGEST_S)),
        (2500, (NAN, NAN, NAN), Capture(on=True)),
        (2500, (3, INFINITE), Capture(on=True)),
        (2500, (0, -1), Capture(on=True)),
        (2501, (), Capture(on=False)),
        (2501, (NAN, NAN), Capture(on=False)),
        (2000, (), Result.UNSUPPORTED),
        (2502, (), Result.UNSUPPORTED),
        (531, (1, 1), Result.UNSUPPORTED),
        (520, (1,), Result.UNSUPPORTED),
        (400, (1,), Result.UNSUPPORTED),
        (65535, (), Result.UNSUPPORTED),
    ],
)
def test_a_command_means(number: int, parameters: tuple[float, ...], meant: object) -> None:
    assert meaning(command(number, *parameters)) == meant


@pytest.mark.parametrize(("number", "place"), [(2500, 2), (2501, 1), (530, 0)])
@pytest.mark.parametrize(
    ("value", "camera"),
    [(0, ALL), (NAN, ALL), (103, 103), (7, 7), (3, 3), (-1, -1), (103.5, None), (INFINITE, None)],
)
def test_the_parameter_for_the_target_camera_is_read(
    number: int, place: int, value: float, camera: int | None
) -> None:
    parameters = [0.0, 0.0, 0.0]
    parameters[place] = value
    assert command(number, *parameters).camera == camera


@pytest.mark.parametrize("number", [511, 512, 521, 527, 2000])
def test_other_commands_name_no_camera(number: int) -> None:
    assert command(number, 103, 103, 103).camera == ALL


@given(number=st.integers(0, 65535), parameters=st.lists(st.floats(width=32), min_size=7, max_size=7))
def test_whatever_the_parameters_are_a_command_has_a_meaning(number: int, parameters: list[float]) -> None:
    mav = mavlink.MAVLink(None, srcSystem=255, srcComponent=190)
    long = mav.command_long_encode(1, 100, number, 0, *parameters).pack(mav)
    first, second, third, fourth, *_ = parameters
    whole = mav.command_int_encode(1, 100, 2, number, 0, 0, first, second, third, fourth, -5, 7, 0.0).pack(
        mav
    )
    commands = [Command.of(frame) for frame in wire.frames(bytes(long) + bytes(whole))]
    assert [(one.number, one.target, one.system, one.component) for one in commands] == [
        (number, 100, 255, 190)
    ] * 2
    for one in commands:
        meant = meaning(one)
        if isinstance(meant, Question | Capture) and meant.interval_s:
            assert SHORTEST_S <= meant.interval_s <= LONGEST_S
