"""Messages of the channel in words, one sentence for each thing that is new."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from wifimgrd.cli._event_text import EventText
from wifimgrd.cli._text import Style
from wifimgrd.client.channel_messages import Message
from wifimgrd.client.json_members import CameraUpdateJson
from wifimgrd.client.json_records import connection_status_json, device_json, interface_json, service_json
from wifimgrd.domain.records import CameraRecord, DeviceRecord, InterfaceRecord, ServiceRecord

STATUS = "device.connection_status.update"


def event_text(*devices: DeviceRecord) -> EventText:
    shown = EventText()
    snapshot: dict[str, Any] = {
        "devices": [device_json(device) for device in devices],
        "interfaces": [interface_json(InterfaceRecord("wlan0"))],
        "service": {},
    }
    shown.text(Message("snapshot", snapshot))
    return shown


def sentences(shown: EventText, kind: str, data: Mapping[str, Any]) -> list[str]:
    return [f"{sentence.subject}: {sentence.what}" for sentence in shown.text(Message(kind, data))]


def status(device: DeviceRecord, **changes: Any) -> dict[str, Any]:
    return connection_status_json(device) | changes


def test_a_snapshot_is_counted() -> None:
    data: dict[str, Any] = {"devices": [device_json(DeviceRecord(1, "A"))], "interfaces": [], "service": {}}
    assert sentences(EventText(), "snapshot", data) == ["wifimgrd: watching 1 camera, 0 adapters"]


def test_a_connection() -> None:
    shown = event_text(DeviceRecord(1, "Front"))
    device = DeviceRecord(1, "Front", state="connecting", interface="wlan0")
    assert sentences(shown, STATUS, status(device)) == ["Front (1): connecting through wlan0"]
    device = DeviceRecord(
        1,
        "Front",
        state="connected",
        interface="wlan0",
        reachable=True,
        camera_address="192.168.42.1",
        local_address="192.168.42.10",
    )
    assert sentences(shown, STATUS, status(device)) == ["Front (1): connected through wlan0"]
    assert sentences(shown, "device.updated", device_json(device)) == [
        "Front (1): camera at 192.168.42.1, this host at 192.168.42.10"
    ]
    assert sentences(shown, "device.signal", {"id": 1, "signal_strength": 45}) == ["Front (1): signal 45 %"]


def test_a_failure() -> None:
    shown = event_text(DeviceRecord(1, "Front"))
    device = DeviceRecord(
        1, "Front", connection_error_code="address-failed", connection_error_message="no IP address"
    )
    assert sentences(shown, STATUS, status(device, connection_status="failed")) == [
        "Front (1): no address: no IP address (address-failed)"
    ]
    assert sentences(shown, STATUS, status(device)) == []
    assert sentences(shown, STATUS, status(device, connection_status="failed")) != [], "another one"


def test_an_attempt_that_got_no_adapter() -> None:
    shown = event_text(DeviceRecord(1, "Front"))
    device = DeviceRecord(
        1,
        "Front",
        connection_error_code="no-interface-available",
        connection_error_message='no Wi-Fi interface is available: wlan0 (in use by "Tail")',
    )
    assert sentences(shown, STATUS, status(device, connection_status="failed")) == [
        'Front (1): no adapter: no Wi-Fi interface is available: wlan0 (in use by "Tail")'
        " (no-interface-available)"
    ]
    assert sentences(shown, STATUS, status(device)) == []
    assert sentences(shown, STATUS, status(replace(device, connection_phase="waking"))) == [
        "Front (1): waking up"
    ]


def test_a_lost_camera_is_searched_for() -> None:
    lost = DeviceRecord(
        1, "Front", connection_error_code="connection-lost", connection_error_message="gone", lost_at=1
    )
    shown = event_text(DeviceRecord(1, "Front", state="connecting", interface="wlan0"))
    failed = status(lost, connection_status="failed")
    assert sentences(shown, STATUS, failed) == ["Front (1): lost: gone (connection-lost)"]
    assert sentences(shown, STATUS, status(lost)) == []
    assert sentences(shown, "device.updated", device_json(lost)) == ["Front (1): searching for its network"]
    again = DeviceRecord(1, "Front", state="connecting", interface="wlan1", lost_at=1)
    assert sentences(shown, STATUS, status(again)) == ["Front (1): connecting through wlan1"]
    assert sentences(shown, STATUS, status(lost)) == ["Front (1): searching for its network"]


def test_a_device_that_waits() -> None:
    shown = event_text(DeviceRecord(1, "Front"))
    waiting = DeviceRecord(1, "Front", waiting_since=1)
    assert sentences(shown, STATUS, status(waiting)) == ["Front (1): waiting for a free adapter"]
    assert sentences(shown, STATUS, status(DeviceRecord(1, "Front"))) == ["Front (1): off"]


def test_a_disconnection_is_shown_once_it_is_done() -> None:
    connected = DeviceRecord(1, "Front", state="connected", interface="wlan0", reachable=True)
    shown = event_text(connected)
    assert sentences(shown, STATUS, status(replace(connected, state="disconnecting"))) == []
    assert sentences(shown, STATUS, status(DeviceRecord(1, "Front"))) == ["Front (1): off"]


def test_an_old_error_is_not_reported_again() -> None:
    shown = event_text(DeviceRecord(1, "Front"))
    device = DeviceRecord(
        1,
        "Front",
        state="connecting",
        interface="wlan0",
        connection_error_code="address-failed",
        connection_error_message="old",
    )
    assert sentences(shown, STATUS, status(device)) == ["Front (1): connecting through wlan0"]


def test_an_interruption() -> None:
    shown = event_text(DeviceRecord(1, "Front", state="connected", interface="wlan0"))
    device = DeviceRecord(
        1,
        "Front",
        state="connecting",
        interface="wlan0",
        connection_error_code="connection-lost",
        connection_error_message="gone",
    )
    assert sentences(shown, STATUS, status(device)) == [
        "Front (1): connecting through wlan0 again: gone (connection-lost)"
    ]


def test_a_camera_that_falls_silent_and_answers_again() -> None:
    device = DeviceRecord(1, "Front", state="connected", reachable=True, interface="wlan0")
    shown = event_text(device)
    silent = replace(device, reachable=False)
    assert sentences(shown, STATUS, status(silent)) == ["Front (1): not answering"]
    assert sentences(shown, "device.updated", device_json(silent)) == []
    assert sentences(shown, STATUS, status(device)) == ["Front (1): connected through wlan0, answering again"]
    assert sentences(shown, "device.updated", device_json(device)) == []


def test_a_recovery_step_that_helps() -> None:
    silent = DeviceRecord(1, "Front", state="connected", reachable=False, interface="wlan0")
    shown = event_text(silent)
    away = replace(silent, state="connecting", recovery_step="rejoin")
    joined = replace(silent, reachable=True, recovery_step="rejoin")
    assert sentences(shown, STATUS, status(away)) == [
        "Front (1): recovering: joining the camera's network again"
    ]
    assert sentences(shown, STATUS, status(joined)) == [], "it has not answered yet"
    answering = status(replace(joined, recovery_step=None))
    assert sentences(shown, STATUS, answering) == ["Front (1): connected through wlan0, answering"]


def test_a_recovery_step_that_does_not_help() -> None:
    silent = DeviceRecord(1, "Front", state="connected", reachable=False, interface="wlan0")
    shown = event_text(silent)
    later = status(replace(silent, recovery_step="a-later-one"))
    assert sentences(shown, STATUS, later) == ["Front (1): recovering: a-later-one"]
    assert sentences(shown, STATUS, status(silent)) == ["Front (1): not answering"]


def test_a_silent_camera_that_is_disconnected() -> None:
    device = DeviceRecord(1, "Front", state="connected", reachable=False)
    shown = event_text(device)
    gone = device_json(replace(device, state="disconnected", reachable=False))
    assert sentences(shown, "device.updated", gone) == ["Front (1): off"]


def test_devices_come_change_and_go() -> None:
    shown = event_text()
    assert sentences(shown, "device.created", device_json(DeviceRecord(3, "A", ssid=b"net"))) == [
        "A (3): registered, off"
    ]
    assert sentences(shown, "device.updated", device_json(DeviceRecord(3, "B", ssid=b"net2"))) == [
        'A (3): renamed to "B"',
        'A (3): network changed to "net2"',
    ]
    assert sentences(shown, "device.updated", device_json(DeviceRecord(3, "B", ssid=b"net2"))) == []
    assert sentences(shown, "device.removed", {"id": 3}) == ["B (3): removed"]
    assert sentences(shown, "device.removed", {"id": 3}) == ["camera 3: removed"]


def test_interfaces_come_change_and_go() -> None:
    shown = event_text(DeviceRecord(1, "Front"))
    plugged = interface_json(InterfaceRecord("wlan1"))
    assert sentences(shown, "interface.added", plugged) == ["wlan1: plugged in, available"]
    assert sentences(shown, "interface.updated", plugged | {"driver": "other"}) == []
    assert sentences(shown, "interface.updated", plugged | {"state": "in-use", "device_id": 1}) == [
        "wlan1: in-use: Front (1)"
    ]
    assert sentences(
        shown, "interface.updated", plugged | {"state": "unavailable", "reason": "excluded"}
    ) == ["wlan1: unavailable: excluded"]
    sentences(shown, "device.created", device_json(DeviceRecord(1, "Nose")))
    kept = plugged | {"reserved_device_id": 1}
    assert sentences(shown, "interface.updated", kept) == ["wlan1: reserved for Nose (1)"]
    held = kept | {"state": "in-use", "device_id": 1}
    assert sentences(shown, "interface.updated", held) == ["wlan1: in-use: Nose (1)"]
    for keeper, change in ((None, "no longer reserved"), (1, "reserved for Nose (1)")):
        changed = held | {"reserved_device_id": keeper}
        assert sentences(shown, "interface.updated", changed) == [f"wlan1: in-use: Nose (1), {change}"]
    assert sentences(shown, "interface.removed", {"name": "wlan1"}) == ["wlan1: unplugged"]


def test_an_adapter_under_suspicion() -> None:
    shown = event_text()
    wlan1 = interface_json(InterfaceRecord("wlan1"))
    sentences(shown, "interface.added", wlan1)
    assert sentences(shown, "interface.updated", wlan1 | {"health": "good"}) == []
    suspect = wlan1 | {"health": "suspect", "health_reason": "joins fail since 16:36"}
    assert sentences(shown, "interface.updated", suspect) == [
        "wlan1: available. Being checked: joins fail since 16:36"
    ]
    tried = suspect | {
        "health": "recovering",
        "health_reason": "joins fail since 16:36; rescan runs",
        "state": "unavailable",
        "reason": "being recovered (rescan)",
    }
    assert sentences(shown, "interface.updated", tried) == ["wlan1: unavailable: being recovered (rescan)"]
    assert sentences(shown, "interface.updated", suspect) == [
        "wlan1: available. Being checked: joins fail since 16:36"
    ]
    assert sentences(shown, "interface.updated", wlan1 | {"health": "good"}) == ["wlan1: works"]
    sentences(shown, "interface.updated", suspect)
    assert sentences(shown, "interface.updated", wlan1) == ["wlan1: no longer being checked"]


def test_the_service() -> None:
    ready = service_json(ServiceRecord(backend="simulated", backend_state="ready"))
    assert sentences(event_text(), "service.updated", ready) == ["wifimgrd: backend simulated ready"]
    gone = service_json(ServiceRecord(backend_reason="wifimgrd is not running"))
    assert sentences(event_text(), "service.updated", gone) == [
        "wifimgrd: backend unavailable: wifimgrd is not running"
    ]


def test_bluetooth() -> None:
    shown = event_text()
    ready = ServiceRecord(backend="simulated", backend_state="ready", bluetooth_state="ready")
    assert sentences(shown, "service.updated", service_json(ready)) == ["wifimgrd: backend simulated ready"]
    off = replace(ready, bluetooth_state="off", bluetooth_reason="blocked by rfkill")
    assert sentences(shown, "service.updated", service_json(off)) == [
        "wifimgrd: Bluetooth off: blocked by rfkill"
    ]
    gone = replace(off, backend_state="unavailable", backend_reason="away")
    assert sentences(shown, "service.updated", service_json(gone)) == [
        "wifimgrd: backend simulated unavailable: away"
    ]
    assert sentences(shown, "service.updated", service_json(ServiceRecord(backend_reason="not there"))) == [
        "wifimgrd: backend unavailable: not there"
    ]
    assert sentences(event_text(), "service.updated", service_json(off)) == [
        "wifimgrd: backend simulated ready",
        "wifimgrd: Bluetooth off: blocked by rfkill",
    ]


def test_a_camera_that_sleeps_and_wakes() -> None:
    device = DeviceRecord(1, "Nose", auto_wake=False, paired=False)
    shown = event_text(device)

    def power(state: str | None, seen: int) -> list[str]:
        data = {"id": 1, "power_state": state, "last_seen": str(seen)}
        return sentences(shown, "device.power_state.update", data)

    assert power("asleep", 1) == ["Nose (1): asleep"]
    assert power("asleep", 2) == []
    waking = replace(device, power_state="asleep", connection_phase="waking")
    assert sentences(shown, STATUS, status(waking)) == ["Nose (1): waking up"]
    assert power("awake", 3) == ["Nose (1): awake"]
    assert power(None, 3) == []
    joining = replace(waking, power_state="awake", state="connecting", interface="wlan0")
    assert sentences(shown, STATUS, status(joining)) == [
        "Nose (1): connecting through wlan0, waking the camera"
    ]
    joining = replace(joining, connection_phase="joining")
    assert sentences(shown, STATUS, status(joining)) == ["Nose (1): connecting through wlan0"]
    paired = replace(joining, paired=True)
    assert sentences(shown, "device.updated", device_json(paired)) == ["Nose (1): paired"]
    assert sentences(shown, "device.updated", device_json(joining)) == ["Nose (1): no longer paired"]
    without = replace(joining, paired=None, auto_wake=None)
    assert sentences(shown, "device.updated", device_json(without)) == []


def test_an_operation_that_failed() -> None:
    data = {"id": 1, "operation": "wake", "code": "wake-failed", "message": "no answer"}
    assert sentences(event_text(DeviceRecord(1, "Nose")), "device.operation.failed", data) == [
        "Nose (1): wake failed: no answer (wake-failed)"
    ]


def test_unknown_messages_are_passed_over() -> None:
    assert sentences(event_text(), "weather.updated", {}) == []


def recorder(device_id: int = 1, **said: Any) -> DeviceRecord:
    return DeviceRecord(device_id, "Front", state="connected", reachable=True, camera=CameraRecord(**said))


def told(shown: EventText, **said: Any) -> list[str]:
    return sentences(shown, "device.camera.update", CameraUpdateJson.of(recorder(**said)))


def test_a_recording_and_its_end_with_the_reason() -> None:
    shown = event_text(recorder(recording_state="idle"))
    assert told(shown, recording_state="recording") == ["Front (1): recording"]
    assert told(shown, recording_state="recording", battery_level=5) == [], "nothing new for a person"
    assert told(shown, recording_state="idle") == [], "the reason comes in a message of its own"
    for reason, words in (
        ("stopped", "the recording was stopped"),
        ("full", "the recording stopped: the card is full"),
        ("unknown", "the recording stopped; why is not known"),
        ("later", "the recording stopped: later"),
    ):
        ended = {"id": 1, "reason": reason}
        assert sentences(shown, "device.recording.stopped", ended) == [f"Front (1): {words}"]
    [normal] = shown.text(Message("device.recording.stopped", {"id": 1, "reason": "stopped"}))
    [bad] = shown.text(Message("device.recording.stopped", {"id": 1, "reason": "battery"}))
    assert (normal.style, bad.style) == (Style.PLAIN, Style.BAD)


def test_the_end_of_a_take_names_who_recorded_and_who_was_missing() -> None:
    shown = event_text(recorder())
    rows = [{"device_id": 1, "device_name": name} for name in ("Front", "Left", "Front", None)]
    data = {"recordings": rows, "missing": []}
    assert sentences(shown, "take.ended", data) == ["wifimgrd: a take is over: Front, Left, camera 1"]
    [bad] = shown.text(Message("take.ended", data | {"missing": [{"device_name": "Tail"}]}))
    assert (bad.what, bad.style) == ("a take is over: Front, Left, camera 1; missing: Tail", Style.BAD)


def test_problems_come_and_go() -> None:
    shown = event_text(recorder(problems=("battery-low",)))
    assert told(shown, problems=("not-recording", "battery-low")) == ["Front (1): problem: not recording"]
    assert told(shown, problems=("later",)) == [
        "Front (1): problem: later",
        "Front (1): problem over: not recording",
        "Front (1): problem over: battery low",
    ]


def test_a_camera_that_has_no_driver_any_more_says_nothing() -> None:
    shown = event_text(recorder(recording_state="recording"))
    without = CameraUpdateJson.of(DeviceRecord(1, "Front"))
    assert sentences(shown, "device.camera.update", without) == []
    assert told(shown, recording_state="recording") == ["Front (1): recording"]
