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
    MOST_STEPS,
    NO_NUMBER,
    Capture,
    Question,
    Result,
    camera_meant,
    meaning,
)

INFORMATION, STATUS = wire.CAMERA_INFORMATION, wire.CAMERA_CAPTURE_STATUS
NAN, INFINITE = math.nan, math.inf


def command(number: int, *parameters: float) -> wire.Values:
    first, second, third = (*parameters, 0.0, 0.0, 0.0)[:3]
    return {"command": number, "param1": first, "param2": second, "param3": third}


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
        (511, (262, 1e6), Question(STATUS, 2)),
        (511, (262, 1), Question(STATUS, 1)),
        (511, (262, 3e38), Question(STATUS, MOST_STEPS)),
        (511, (262, -1), Question(STATUS, 0)),
        (511, (262, 0), Question(STATUS, 0)),
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
        (2500, (0, 1), Capture(on=True, steps=2)),
        (2500, (0, 100), Capture(on=True, steps=1)),
        (2500, (0, 1e-45), Capture(on=True, steps=MOST_STEPS)),
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
    [(0, ALL), (NAN, ALL), (103, 103), (7, 7), (3, 3), (-1, -1), (103.5, NO_NUMBER), (INFINITE, NO_NUMBER)],
)
def test_the_parameter_for_the_target_camera_is_read(
    number: int, place: int, value: float, camera: int
) -> None:
    parameters = [0.0, 0.0, 0.0]
    parameters[place] = value
    assert camera_meant(command(number, *parameters)) == camera


@pytest.mark.parametrize("number", [511, 512, 521, 527, 2000])
def test_other_commands_name_no_camera(number: int) -> None:
    assert camera_meant(command(number, 103, 103, 103)) == ALL


@given(number=st.integers(0, 65535), parameters=st.lists(st.floats(width=32), min_size=7, max_size=7))
def test_whatever_the_parameters_are_a_command_has_a_meaning(number: int, parameters: list[float]) -> None:
    mav = mavlink.MAVLink(None, srcSystem=255, srcComponent=190)
    long = mav.command_long_encode(1, 100, number, 0, *parameters).pack(mav)
    first, second, third, fourth, *_ = parameters
    whole = mav.command_int_encode(1, 100, 2, number, 0, 0, first, second, third, fourth, -5, 7, 0.0).pack(
        mav
    )
    for one in wire.frames(bytes(long) + bytes(whole)):
        assert (one.values["command"], one.values["target_component"]) == (number, 100)
        camera_meant(one.values)
        meant = meaning(one.values)
        if isinstance(meant, Question | Capture) and meant.steps:
            assert 1 <= meant.steps <= MOST_STEPS
