"""Which cameras a command to all of them is for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wifimgrd.domain.device import DeviceId
from wifimgrd.domain.rig import Everyone, RigCamera, commanded

CONNECTED = RigCamera(DeviceId(1), is_expected=True, is_connected=True, may_record=False)
LOST = RigCamera(DeviceId(2), is_expected=True, is_connected=False, may_record=False)
PUT_AWAY = RigCamera(DeviceId(3), is_expected=False, is_connected=False, may_record=False)
PUT_AWAY_RECORDING = RigCamera(DeviceId(4), is_expected=False, is_connected=False, may_record=True)
NOT_EXPECTED = RigCamera(DeviceId(5), is_expected=False, is_connected=True, may_record=False)
ALL = (PUT_AWAY_RECORDING, NOT_EXPECTED, LOST, PUT_AWAY, CONNECTED)


@pytest.mark.parametrize(
    ("whom", "on", "ids"),
    [
        (Everyone.NOBODY, True, []),
        (Everyone.RIG, True, [1, 2]),
        (Everyone.RIG, False, [1, 2, 4]),
        (Everyone.CONNECTED, True, [1, 5]),
        (Everyone.CONNECTED, False, [1, 5]),
    ],
)
def test_a_command_to_all_is_for_the_rig_or_for_those_that_are_connected(
    whom: Everyone, on: bool, ids: list[int]
) -> None:
    assert commanded(ALL, whom, on=on) == ids


@pytest.mark.parametrize(
    ("everyone", "connected", "whom"),
    [
        (False, False, Everyone.NOBODY),
        (False, True, Everyone.NOBODY),
        (True, False, Everyone.RIG),
        (True, True, Everyone.CONNECTED),
    ],
)
def test_connected_narrows_all(everyone: bool, connected: bool, whom: Everyone) -> None:
    assert Everyone.of(everyone=everyone, connected=connected) is whom


CAMERAS = st.lists(
    st.builds(
        RigCamera,
        st.integers(1, 50).map(DeviceId),
        is_expected=st.booleans(),
        is_connected=st.booleans(),
        may_record=st.booleans(),
    ),
    unique_by=lambda one: one.id,
)


@given(CAMERAS, st.booleans())
def test_no_expected_camera_is_left_out(cameras: list[RigCamera], on: bool) -> None:
    found = commanded(cameras, Everyone.RIG, on=on)
    assert {one.id for one in cameras if one.is_expected} <= set(found)
    assert found == sorted(set(found))


@given(CAMERAS)
def test_whatever_may_record_is_told_to_stop(cameras: list[RigCamera]) -> None:
    found = commanded(cameras, Everyone.RIG, on=False)
    assert {one.id for one in cameras if one.may_record} <= set(found)
