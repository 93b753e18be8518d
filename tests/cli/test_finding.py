"""Devices are found by id or by name, and never guessed."""

from __future__ import annotations

import pytest

from wifimgrd.cli._finding import find_device
from wifimgrd.domain.errors import DeviceNotFound, InvalidRequest
from wifimgrd.domain.records import DeviceRecord

DEVICES = {
    number: DeviceRecord(number, name)
    for number, name in {1: "Front", 2: "Twin", 3: "Twin", 4: "1", 5: "77", 6: "前門"}.items()
}


@pytest.mark.parametrize(("wanted", "found"), [("1", 1), ("Front", 1), ("4", 4), ("77", 5), ("前門", 6)])
def test_found(wanted: str, found: int) -> None:
    assert find_device(DEVICES, wanted).id == found


def test_two_of_one_name_are_distinguished_by_id() -> None:
    with pytest.raises(InvalidRequest, match="id instead: 2, 3"):
        find_device(DEVICES, "Twin")


@pytest.mark.parametrize("wanted", ["nobody", "", "99", "-1", "9" * 30, "²", "1.0", " 1"])
def test_not_found(wanted: str) -> None:
    with pytest.raises(DeviceNotFound, match="there is no camera"):
        find_device(DEVICES, wanted)


def test_a_slip_is_understood_but_not_obeyed() -> None:
    with pytest.raises(DeviceNotFound, match='did you mean "Front"'):
        find_device(DEVICES, "Fromt")
