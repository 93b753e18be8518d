"""Devices by name or id."""

from __future__ import annotations

from wifimgrd.domain.device import DeviceId
from wifimgrd.domain.device_names import members_of, name_of, unknown_of
from wifimgrd.domain.records import DeviceRecord

ONE, TWO, THREE = map(DeviceId, (1, 2, 3))
NAMES = {ONE: "Nose", TWO: "Tail", THREE: "7"}


def test_members_are_named_by_id_or_name_and_count_once() -> None:
    listed = "Tail", DeviceId(2), ONE, "nobody", DeviceId(9), "7"
    assert members_of(listed, NAMES) == (TWO, ONE, THREE)
    assert unknown_of(listed, NAMES) == ("nobody", DeviceId(9))


def test_a_text_of_digits_is_a_name() -> None:
    assert members_of(("1", "7"), NAMES) == (THREE,)


def test_a_device_that_is_gone_has_a_number() -> None:
    devices = {1: DeviceRecord(1, "Nose", "gopro-hero12")}
    assert [name_of(one, devices) for one in (1, 2)] == ["Nose", "camera 2"]
