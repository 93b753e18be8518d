"""Records as JSON values, exactly as the contract names them."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wifimgrd.client.json_records import (
    connection_status_json,
    device_json,
    interface_json,
    interfaces_json,
    status_json,
)
from wifimgrd.client.json_text import dumps
from wifimgrd.config import catalog
from wifimgrd.domain.records import DeviceRecord, InterfaceRecord, ServiceRecord
from wifimgrd.wire.kinds import settings_json, time_text

POWER = dict.fromkeys(
    (
        "connection_phase",
        "recovery_step",
        "power_state",
        "last_seen",
        "auto_wake",
        "paired",
        "bluetooth_address",
    )
)
"""Those of a device that cannot be woken, and for which no recovery step runs."""
CONNECTED = DeviceRecord(
    3,
    "Front",
    "insta360-x4",
    ssid="Kamera ä".encode(),
    state="connected",
    interface="wlan0",
    last_connection_attempt=1_700_000_000_000_001,
    last_successful_connection=1_700_000_001_000_000,
    local_address="192.168.42.2",
    camera_address="192.168.42.1",
    address="10.77.0.3",
    signal_strength=70,
    frequency=5180,
    tx_bitrate=866_700,
    rx_bitrate=780_000,
)


def test_a_device_record_has_the_contracts_members_and_those_of_reconnecting() -> None:
    assert device_json(CONNECTED) == {
        "id": 3,
        "name": "Front",
        "codename": "insta360-x4",
        "connection_type": "wifi",
        "connection_status": "connected",
        "connected": True,
        "connection_settings": {"ssid": "Kamera ä"},
        "expected": False,
        "interface": "wlan0",
        "local_address": "192.168.42.2",
        "camera_address": "192.168.42.1",
        "signal_strength": 70,
        "frequency": 5180,
        "tx_bitrate": 866_700,
        "rx_bitrate": 780_000,
        "address": "10.77.0.3",
        "reachable": False,
        "device_reachability": "unavailable",
        "last_connection_attempt": "2023-11-14T22:13:20.000001Z",
        "last_successful_connection": "2023-11-14T22:13:21.000000Z",
        "last_disconnection": None,
        "connection_error_code": None,
        "connection_error_message": None,
        "connection_error_at": None,
        "waiting_since": None,
        **POWER,
        "camera": None,
        "device_type_icon_url": None,
        "device_type_icon": "icons.device.video-camera",
        "auto_reconnect": True,
        "priority": 0,
        "lost_at": None,
        "pin": None,
        "warnings": [],
    }


def test_what_a_new_device_lacks_is_null() -> None:
    absent = {name for name, value in device_json(DeviceRecord(1)).items() if value is None}
    assert absent >= {"interface", "local_address", "camera_address", "signal_strength"}
    assert absent >= {"frequency", "tx_bitrate", "rx_bitrate"}
    assert absent >= {"last_connection_attempt", "last_successful_connection", "connection_error_code"}


def test_an_ssid_that_is_no_text_is_reported_in_hex_as_well() -> None:
    assert settings_json(b"ab\xff") == {"ssid": "ab\ufffd", "ssid_hex": "6162ff"}


@given(st.binary(max_size=32))
def test_every_ssid_makes_json_that_can_be_encoded(ssid: bytes) -> None:
    settings = settings_json(ssid)
    assert dumps(settings).encode()
    assert settings["ssid"].encode() == ssid or bytes.fromhex(settings["ssid_hex"]) == ssid


@given(st.datetimes(min_value=datetime(1970, 1, 1)))  # noqa: DTZ001 - written as UTC
def test_times_are_rfc_3339_with_microseconds(moment: datetime) -> None:
    delta = moment - datetime(1970, 1, 1)  # noqa: DTZ001
    microseconds = (delta.days * 86_400 + delta.seconds) * 1_000_000 + delta.microseconds
    text = time_text(microseconds)
    assert datetime.fromisoformat(text).replace(tzinfo=None) == moment
    assert len(text) == len("2023-11-14T22:13:20.000001Z")


@pytest.mark.parametrize(
    ("device", "reported"),
    [
        (DeviceRecord(1), "unknown"),
        (replace(CONNECTED, reachable=True), "healthy"),
        (CONNECTED, "unavailable"),
        (replace(CONNECTED, state="connecting", reachable=True), "unknown"),
    ],
)
def test_whether_a_device_answers_is_reported_as_the_platform_names_it(
    device: DeviceRecord, reported: str
) -> None:
    for values in (device_json(device), connection_status_json(device), status_json(device)):
        assert values["device_reachability"] == reported


@pytest.mark.parametrize(
    ("codename", "icon"),
    [("insta360-x3", "camera-360"), ("gopro-hero9", "video-camera"), ("generic-wifi-camera", "video-camera")],
)
def test_a_model_has_the_picture_of_the_platform_that_is_closest(codename: str, icon: str) -> None:
    device = DeviceRecord(1, icon=catalog.load()[codename].icon)
    assert device_json(device)["device_type_icon"] == f"icons.device.{icon}"


def test_a_status_has_the_contracts_members_and_no_other() -> None:
    assert status_json(CONNECTED) == {
        "device_connection_id": 3,
        "device_name": "Front",
        "connection_type": "wifi",
        "connection_status": "connected",
        "connected": True,
        "interface": "wlan0",
        "device_reachability": "unavailable",
        "last_connection_attempt": "2023-11-14T22:13:20.000001Z",
        "last_successful_connection": "2023-11-14T22:13:21.000000Z",
        "last_disconnection": None,
        "connection_error_code": None,
        "connection_error_message": None,
        "connection_error_at": None,
        "waiting_since": None,
        **POWER,
        "is_wifi_connection": True,
    }


def test_an_interface_has_the_contracts_members_and_no_other() -> None:
    adapter = ("02:00:00:00:00:01", "mt76x2u", "0e8d", "7612", "WLAN", "1-1.4", ("2.4",))
    wlan0 = InterfaceRecord("wlan0", "in-use", None, 3, 4, *adapter)
    assert interface_json(wlan0) == {
        "name": "wlan0",
        "state": "in-use",
        "reason": None,
        "device_id": 3,
        "reserved_device_id": 4,
        "mac_address": "02:00:00:00:00:01",
        "driver": "mt76x2u",
        "usb": {"vendor_id": "0e8d", "product_id": "7612", "product": "WLAN", "port": "1-1.4"},
        "bands": ["2.4"],
        "health": None,
        "health_reason": None,
    }


def test_the_answer_on_interfaces_adds_up() -> None:
    interfaces = {
        "wlan0": InterfaceRecord("wlan0", "in-use", device_id=3),
        "wlan1": InterfaceRecord("wlan1"),
        "wlan2": InterfaceRecord("wlan2", "unavailable", "it carries the default route"),
        "wlan3": InterfaceRecord("wlan3", reserved_device_id=3),
        "wlan9": InterfaceRecord("wlan9", "unavailable", "shares the radio of wlan0"),
    }
    answer = interfaces_json(interfaces, ServiceRecord(total_interfaces=4))
    assert answer["available_interfaces"] == ["wlan1"]
    assert answer["interface_assignments"] == {"3": "wlan0"}
    assert (answer["total_interfaces"], answer["assigned_interfaces"]) == (4, 1)
    assert [one["name"] for one in answer["interfaces"]] == [*interfaces]
