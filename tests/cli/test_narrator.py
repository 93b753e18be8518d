"""Messages of the channel in words, one sentence for each thing that is new."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from wifimgrd.cli.narrator import Narrator
from wifimgrd.dbus.client.json_records import connection_status_json, device_json, interface_json
from wifimgrd.dbus.client.messages import Message
from wifimgrd.dbus.client.records import DeviceRecord, InterfaceRecord

STATUS = "device.connection_status.update"


def narrator(*devices: DeviceRecord) -> Narrator:
    told = Narrator()
    snapshot: dict[str, Any] = {
        "devices": [device_json(device) for device in devices],
        "interfaces": [interface_json(InterfaceRecord("wlan0"))],
        "service": {},
    }
    told.tell(Message("snapshot", snapshot))
    return told


def tell(told: Narrator, kind: str, data: Mapping[str, Any]) -> list[str]:
    return [f"{sentence.subject}: {sentence.what}" for sentence in told.tell(Message(kind, data))]


def status(device: DeviceRecord, **changes: Any) -> dict[str, Any]:
    return connection_status_json(device) | changes


def test_a_snapshot_is_counted() -> None:
    data: dict[str, Any] = {"devices": [device_json(DeviceRecord(1, "A"))], "interfaces": [], "service": {}}
    assert tell(Narrator(), "snapshot", data) == ["wifimgrd: watching 1 device, 0 interfaces"]


def test_a_connection() -> None:
    told = narrator(DeviceRecord(1, "Front"))
    device = DeviceRecord(1, "Front", state="connecting", interface="wlan0")
    assert tell(told, STATUS, status(device)) == ["Front (1): connecting through wlan0"]
    device = DeviceRecord(
        1,
        "Front",
        state="connected",
        interface="wlan0",
        camera_address="192.168.42.1",
        local_address="192.168.42.10",
    )
    assert tell(told, STATUS, status(device)) == ["Front (1): connected through wlan0"]
    assert tell(told, "device.updated", device_json(device)) == [
        "Front (1): camera at 192.168.42.1, own address 192.168.42.10"
    ]
    assert tell(told, "device.signal", {"id": 1, "signal_strength": 45}) == ["Front (1): signal 45 %"]


def test_a_failure() -> None:
    told = narrator(DeviceRecord(1, "Front"))
    device = DeviceRecord(1, "Front", error_code="address-failed", error_message="no IP address")
    assert tell(told, STATUS, status(device, connection_status="failed")) == [
        "Front (1): failed: no IP address (address-failed)"
    ]
    assert tell(told, STATUS, status(device)) == ["Front (1): disconnected"]


def test_an_old_error_is_not_told_again() -> None:
    told = narrator(DeviceRecord(1, "Front"))
    device = DeviceRecord(
        1, "Front", state="connecting", interface="wlan0", error_code="address-failed", error_message="old"
    )
    assert tell(told, STATUS, status(device)) == ["Front (1): connecting through wlan0"]


def test_an_interruption() -> None:
    told = narrator(DeviceRecord(1, "Front", state="connected", interface="wlan0"))
    device = DeviceRecord(
        1, "Front", state="connecting", interface="wlan0", error_code="connection-lost", error_message="gone"
    )
    assert tell(told, STATUS, status(device)) == [
        "Front (1): connecting through wlan0 again: gone (connection-lost)"
    ]


def test_a_camera_that_falls_silent_and_answers_again() -> None:
    device = DeviceRecord(1, "Front", state="connected", reachable=True)
    told = narrator(device)
    silent = device_json(replace(device, reachable=False))
    assert tell(told, "device.updated", silent) == ["Front (1): is associated, but does not answer"]
    assert tell(told, "device.updated", device_json(device)) == ["Front (1): answers again"]
    gone = device_json(replace(device, state="disconnected", reachable=False))
    assert tell(told, "device.updated", gone) == []


def test_devices_come_change_and_go() -> None:
    told = narrator()
    assert tell(told, "device.created", device_json(DeviceRecord(3, "A", ssid=b"net"))) == [
        "A (3): registered, disconnected"
    ]
    assert tell(told, "device.updated", device_json(DeviceRecord(3, "B", ssid=b"net2"))) == [
        'A (3): is called "B" now',
        'A (3): its network is "net2" now',
    ]
    assert tell(told, "device.updated", device_json(DeviceRecord(3, "B", ssid=b"net2"))) == []
    assert tell(told, "device.removed", {"id": 3}) == ["B (3): removed"]
    assert tell(told, "device.removed", {"id": 3}) == ["device 3: removed"]


def test_interfaces_come_change_and_go() -> None:
    told = narrator(DeviceRecord(1, "Front"))
    plugged = interface_json(InterfaceRecord("wlan1"))
    assert tell(told, "interface.added", plugged) == ["wlan1: plugged in, available"]
    assert tell(told, "interface.updated", plugged | {"driver": "other"}) == []
    assert tell(told, "interface.updated", plugged | {"state": "in-use", "device_id": 1}) == [
        "wlan1: in-use: Front (1)"
    ]
    assert tell(told, "interface.updated", plugged | {"state": "unavailable", "reason": "excluded"}) == [
        "wlan1: unavailable: excluded"
    ]
    assert tell(told, "interface.removed", {"name": "wlan1"}) == ["wlan1: unplugged"]


def test_the_service() -> None:
    ready = {"backend": "simulated", "backend_state": "ready", "backend_reason": ""}
    assert tell(narrator(), "service.updated", ready) == ["wifimgrd: backend simulated ready"]
    gone = {"backend": "", "backend_state": "unavailable", "backend_reason": "wifimgrd is not running"}
    assert tell(narrator(), "service.updated", gone) == [
        "wifimgrd: backend unavailable: wifimgrd is not running"
    ]


def test_unknown_messages_are_passed_over() -> None:
    assert tell(narrator(), "weather.updated", {}) == []
