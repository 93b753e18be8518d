"""What cameras advertise, and what others do in their name."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wifimgrd.camera._advertisements import (
    Advertisement,
    Target,
    is_address,
    matching_service,
    name_of,
    parse,
)
from wifimgrd.camera.drivers import gopro_messages as gopro
from wifimgrd.proxies.bluez.definitions import DeviceProperties

THETA = "0f291746-0c80-4726-87a7-3c501fd3b4b6"


def device(status: int, schema: int = 2, company: int = 0x02F2) -> DeviceProperties:
    return {
        "Address": "D4:32:60:00:10:01",
        "Name": "GoPro 1001",
        "UUIDs": [gopro.SERVICE],
        "ManufacturerData": {company: bytes([schema, status, 57, 1]) + bytes(8)},
        "ServiceData": {gopro.SERVICE: b"\xd4\x32\x60\x00" + (b"1001" if schema == 2 else b"45011001")},
    }


@pytest.mark.parametrize("company", [0x02F2, 0xF202])
def test_a_gopro_that_sleeps(company: int) -> None:
    assert parse(device(0, company=company), gopro.SERVICE) == Advertisement(
        "GoPro 1001", "asleep", False, False, "1001", 57
    )


def test_a_gopro_that_is_on_with_its_access_point_and_in_pairing_mode() -> None:
    assert parse(device(0b111, schema=3), gopro.SERVICE) == Advertisement(
        "GoPro 1001", "awake", True, True, "45011001", 57
    )


@pytest.mark.parametrize("data", [b"", b"\x02", b"\x04\x01", b"\x00\x01\x02"])
def test_another_schema_says_nothing(data: bytes) -> None:
    assert parse({"Name": "GoPro 1001", "ManufacturerData": {0x02F2: data}}, gopro.SERVICE) == Advertisement(
        "GoPro 1001"
    )


def test_a_short_status_tells_what_it_has() -> None:
    assert parse({"ManufacturerData": {0x02F2: b"\x02\x01"}}, gopro.SERVICE) == Advertisement(
        "", "awake", False, False, ""
    )


@pytest.mark.parametrize("serial", [b"", b"10", b"10 1", b"\xff\xff\xff\xff", b"1001100", b"1001\n"])
def test_a_serial_number_of_another_form_is_left_out(serial: bytes) -> None:
    advertised = device(1)
    advertised["ServiceData"] = {gopro.SERVICE: bytes(4) + serial}
    assert parse(advertised, gopro.SERVICE).serial == ""
    assert parse(advertised, gopro.SERVICE).power_state == "awake"


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("X4 34UQG5", "X4 34UQG5"),
        ("\x1b[2JGoPro\u202e 1001", "[2JGoPro 1001"),
        ("\n\t", ""),
        ("a" * 249, ""),
        ("é" * 125, ""),
    ],
)
def test_a_name_has_no_characters_that_do_harm(name: str, shown: str) -> None:
    assert name_of({"Name": name}) == shown


def test_a_device_matches_by_service_or_by_its_whole_name() -> None:
    targets = [
        Target.of("FEA6", ""),
        Target.of("", "X[345] [0-9A-Z]{6}"),
        Target.of(THETA.upper(), "THETA.*"),
    ]
    assert matching_service(targets, {"UUIDs": [gopro.SERVICE]}) == gopro.SERVICE
    assert matching_service(targets, {"ServiceData": {THETA: b""}}) == THETA
    assert matching_service(targets, {"Name": "X4 34UQG5"}) == ""
    assert matching_service(targets, {"Name": "THETA 12"}) == ""
    for name in ("X4 34UQG5.OSC", "my X4 34UQG5", "", "X4"):
        assert matching_service(targets, {"Name": name, "UUIDs": []}) is None


@pytest.mark.parametrize(
    ("service", "pattern"), [("", ""), ("fea", ""), ("fea6\n", ""), ("zzzz", ""), ("", "("), ("", "a" * 201)]
)
def test_a_target_that_is_none_is_refused(service: str, pattern: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        Target.of(service, pattern)


@pytest.mark.parametrize(
    "text", ["", "d4:32:60:00:10:01", "D4:32:60:00:10", "D4:32:60:00:10:01\n", "/org/bluez"]
)
def test_an_address_is_one_of_bluez(text: str) -> None:
    assert not is_address(text)
    assert is_address("D4:32:60:00:10:01")


anything = st.fixed_dictionaries(
    {},
    optional={
        "Name": st.text(max_size=300),
        "UUIDs": st.lists(st.text(max_size=40), max_size=4),
        "ManufacturerData": st.dictionaries(st.sampled_from([0x02F2, 0xF202, 1]), st.binary(max_size=255)),
        "ServiceData": st.dictionaries(st.sampled_from([gopro.SERVICE, "x"]), st.binary(max_size=255)),
    },
)


@given(anything)
def test_nothing_that_is_advertised_makes_it_fail(advertised: DeviceProperties) -> None:
    said = parse(advertised, gopro.SERVICE)
    assert said.power_state in ("", "asleep", "awake")
    assert len(said.serial) in (0, 4, 8)
    assert all(letter.isprintable() for letter in said.name + said.serial)
    matching_service([Target.of("fea6", ""), Target.of("", "GoPro .*")], advertised)
