"""What stands on a terminal while a command to a camera is under way."""

from __future__ import annotations

import pytest

from wifimgrd.cli._outcome import under_way
from wifimgrd.domain.commands import CONNECT, DISCONNECT
from wifimgrd.domain.records import DeviceRecord


@pytest.mark.parametrize("state", ["connected", "disconnecting"])
def test_a_camera_that_is_to_be_disconnected_is_not_called_connected(state: str) -> None:
    left = DeviceRecord(id=1, name="Left", state=state, interface="wlan1", reachable=True)
    assert under_way(DISCONNECT, left) == "Disconnecting Left"


def test_a_connect_says_how_far_it_has_come() -> None:
    off = DeviceRecord(id=1, name="Left")
    assert under_way(CONNECT, off) == "Connecting Left"
    begun = under_way(CONNECT, DeviceRecord(id=1, name="Left", state="connecting"))
    assert "Connecting" not in begun
