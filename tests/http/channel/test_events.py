"""What the channel says of each change."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wifimgrd.client.changes import (
    AttemptFailed,
    Change,
    DaemonVanished,
    DeviceAdded,
    DeviceChanged,
    DeviceRemoved,
    InterfaceAdded,
    InterfaceChanged,
    InterfaceRemoved,
    RecordingStopped,
    ServiceChanged,
    TakeEnded,
)
from wifimgrd.client.channel_messages import ChannelMessages, Message
from wifimgrd.client.json_records import device_json, interface_json, take_json
from wifimgrd.domain.records import (
    CameraRecord,
    DeviceRecord,
    HistoryRecord,
    InterfaceRecord,
    ServiceRecord,
    TakeRecord,
)
from wifimgrd.wire.properties import updated

UPDATE = "device.connection_status.update"
DEVICE = DeviceRecord(3, "Front", "x", ssid=b"CAM")
CONNECTING = replace(DEVICE, state="connecting", interface="wlan0", last_connection_attempt=1)
CONNECTED = replace(
    CONNECTING, state="connected", local_address="10.0.0.2", camera_address="10.0.0.1", signal_strength=70
)
STEP = frozenset({"State", "Interface"})
SIGNAL = frozenset({"SignalStrength"})


def changed(device: DeviceRecord, properties: frozenset[str]) -> DeviceChanged:
    """A signal with D-Bus properties of a device; Translator puts in what it was before."""
    return DeviceChanged(device, device, is_step="State" in properties)


class Translator(ChannelMessages):
    """Gets the record before each change, as from the live objects."""

    def __init__(self) -> None:
        super().__init__()
        self._records: dict[int, DeviceRecord] = {}

    def resynchronise(self, service: ServiceRecord, devices: Iterable[DeviceRecord]) -> list[Message]:
        self._records = {device.id: device for device in devices}
        return super().resynchronise(service, self._records.values())

    def messages(self, change: Change) -> list[Message]:
        match change:
            case DeviceAdded(device):
                self._records[device.id] = device
            case DeviceChanged(after=device):
                change = replace(change, before=self._records.get(device.id, device))
                self._records[device.id] = device
        return super().messages(change)


@pytest.fixture
def translator() -> ChannelMessages:
    """Knows DEVICE, disconnected."""
    translator = Translator()
    translator.resynchronise(ServiceRecord("1", "simulated", backend_state="ready"), [DEVICE])
    return translator


def types(messages: list[Message]) -> list[str]:
    return [message.type for message in messages]


def test_a_new_device_is_reported_as_its_record(translator: ChannelMessages) -> None:
    assert translator.messages(DeviceAdded(DEVICE)) == [Message("device.created", device_json(DEVICE))]


def test_a_removed_device_is_reported_by_its_id(translator: ChannelMessages) -> None:
    assert translator.messages(DeviceRemoved(3)) == [Message("device.removed", {"id": 3})]


def test_a_step_of_the_connection_is_reported_with_what_the_contract_names(
    translator: ChannelMessages,
) -> None:
    assert translator.messages(changed(CONNECTING, STEP)) == [
        Message(
            UPDATE,
            {
                "id": 3,
                "name": "Front",
                "connection_status": "connecting",
                "connected": False,
                "interface": "wlan0",
                "device_reachability": "unknown",
                "last_connection_attempt": "1970-01-01T00:00:00.000001Z",
                "last_successful_connection": None,
                "last_disconnection": None,
                "connection_error_code": None,
                "connection_error_message": None,
                "connection_error_at": None,
                "waiting_since": None,
                "connection_phase": None,
                "recovery_step": None,
                "power_state": None,
                "last_seen": None,
                "auto_wake": None,
                "paired": None,
                "bluetooth_address": None,
            },
        )
    ]


def test_a_failed_attempt_is_reported_with_the_state_after_it(translator: ChannelMessages) -> None:
    after = replace(
        DEVICE, connection_error_code="busy", connection_error_message="kept", last_connection_attempt=5
    )
    assert translator.messages(AttemptFailed(3, "device-not-reachable", "not there")) == []
    failed, disconnected = translator.messages(changed(after, STEP))
    assert failed.type == disconnected.type == UPDATE
    assert failed.data["connection_status"] == "failed"
    assert failed.data["connected"] is False
    assert failed.data["connection_error_code"] == "device-not-reachable"
    assert failed.data["connection_error_message"] == "not there"
    assert failed.data["last_connection_attempt"] == disconnected.data["last_connection_attempt"]
    assert disconnected.data["connection_status"] == "disconnected"
    assert disconnected.data["connection_error_code"] == "busy"


def test_a_failure_is_reported_once(translator: ChannelMessages) -> None:
    translator.messages(AttemptFailed(3, "busy", "no"))
    translator.messages(changed(DEVICE, STEP))
    assert types(translator.messages(changed(CONNECTING, STEP))) == [UPDATE]


def test_a_failure_waits_for_its_own_device(translator: ChannelMessages) -> None:
    translator.messages(AttemptFailed(3, "busy", "no"))
    other = replace(CONNECTING, id=4)
    assert [one.data["connection_status"] for one in translator.messages(changed(other, STEP))] == [
        "connecting"
    ]


def test_a_failure_does_not_outlive_its_device(translator: ChannelMessages) -> None:
    translator.messages(AttemptFailed(3, "busy", "no"))
    translator.messages(DeviceRemoved(3))
    translator.messages(DeviceAdded(DEVICE))
    assert types(translator.messages(changed(CONNECTING, STEP))) == [UPDATE]


def test_a_new_name_alone_is_an_update(translator: ChannelMessages) -> None:
    renamed = replace(DEVICE, name="Rear")
    assert translator.messages(changed(renamed, frozenset({"Name"}))) == [
        Message("device.updated", device_json(renamed))
    ]


def test_addresses_that_come_with_a_step_follow_it_as_an_update(translator: ChannelMessages) -> None:
    translator.messages(changed(CONNECTING, STEP))
    step, update = translator.messages(changed(CONNECTED, STEP | {"LocalAddress"}))
    assert step.type == UPDATE
    assert update == Message("device.updated", device_json(CONNECTED))


def test_a_step_that_moves_nothing_else_has_no_update(translator: ChannelMessages) -> None:
    carried = STEP | {"LocalAddress", "CameraAddress", "Name", "Ssid"}
    assert types(translator.messages(changed(CONNECTING, carried))) == [UPDATE]


def test_a_camera_that_falls_silent_is_a_status_and_an_update(translator: ChannelMessages) -> None:
    answering = replace(CONNECTED, reachable=True)
    translator.messages(changed(answering, STEP))
    status, update = translator.messages(changed(CONNECTED, frozenset({"Reachable"})))
    assert (status.type, status.data["device_reachability"]) == (UPDATE, "unavailable")
    assert status.data["connection_status"] == "connected"
    assert update == Message("device.updated", device_json(CONNECTED))


def test_a_recovery_step_that_begins_or_ends_is_a_status_and_an_update(translator: ChannelMessages) -> None:
    translator.messages(changed(CONNECTED, STEP))
    recovered = replace(CONNECTED, recovery_step="reboot-camera")
    for device, step in ((recovered, "reboot-camera"), (CONNECTED, None)):
        status, update = translator.messages(changed(device, frozenset({"RecoveryStep"})))
        assert (status.type, status.data["recovery_step"]) == (UPDATE, step)
        assert update == Message("device.updated", device_json(device))


def test_a_signal_moves_in_steps_and_has_no_number(translator: ChannelMessages) -> None:
    translator.messages(changed(CONNECTED, STEP))
    reported = [
        message
        for percent in (71, 74, 75, 73, 71, 70, 100)
        for message in translator.messages(changed(replace(CONNECTED, signal_strength=percent), SIGNAL))
    ]
    assert reported == [
        Message("device.signal", {"id": 3, "signal_strength": percent}, numbered=False)
        for percent in (75, 70, 100)
    ]


def test_a_signal_without_a_connection_is_not_reported(translator: ChannelMessages) -> None:
    translator.messages(changed(CONNECTING, STEP))
    assert translator.messages(changed(replace(CONNECTING, signal_strength=None), SIGNAL)) == []


@given(st.lists(st.integers(min_value=0, max_value=100)))
def test_signals_reported_are_multiples_of_the_step_and_differ(percents: list[int]) -> None:
    translator = Translator()
    translator.resynchronise(ServiceRecord(), [])
    reported = [
        message.data["signal_strength"]
        for percent in percents
        for message in translator.messages(changed(replace(CONNECTED, signal_strength=percent), SIGNAL))
    ]
    assert all(percent % 5 == 0 for percent in reported)
    assert all(one != other for one, other in pairwise(reported))


def test_interfaces_are_reported_as_objects_and_by_name(translator: ChannelMessages) -> None:
    wlan0 = InterfaceRecord("wlan0", "in-use", device_id=3)
    assert translator.messages(InterfaceAdded(wlan0)) == [Message("interface.added", interface_json(wlan0))]
    assert translator.messages(InterfaceChanged(wlan0)) == [
        Message("interface.updated", interface_json(wlan0))
    ]
    assert translator.messages(InterfaceRemoved("wlan0")) == [Message("interface.removed", {"name": "wlan0"})]


@pytest.mark.parametrize("name", ["Backend", "BackendState", "BackendReason"])
def test_a_change_of_the_backend_is_reported(translator: ChannelMessages, name: str) -> None:
    service = ServiceRecord(
        "1", "networkmanager", backend_state="unavailable", backend_reason="it is not running"
    )
    assert translator.messages(ServiceChanged(service, frozenset({name}))) == [
        Message(
            "service.updated",
            {
                "backend": "networkmanager",
                "backend_state": "unavailable",
                "backend_reason": "it is not running",
                "bluetooth_state": "absent",
                "bluetooth_reason": "",
            },
        )
    ]


def test_the_counts_of_interfaces_are_not_reported(translator: ChannelMessages) -> None:
    changed = frozenset({"TotalInterfaces", "AssignedInterfaces"})
    assert translator.messages(ServiceChanged(ServiceRecord(), changed)) == []


def test_a_daemon_that_goes_away_is_an_unavailable_service(translator: ChannelMessages) -> None:
    assert translator.messages(DaemonVanished("it was stopped")) == [
        Message(
            "service.updated",
            {
                "backend": "simulated",
                "backend_state": "unavailable",
                "backend_reason": "it was stopped",
                "bluetooth_state": "absent",
                "bluetooth_reason": "",
            },
        )
    ]


def test_a_failure_does_not_outlive_the_daemon(translator: ChannelMessages) -> None:
    translator.messages(AttemptFailed(3, "busy", "no"))
    translator.messages(DaemonVanished("gone"))
    translator.resynchronise(ServiceRecord(), [DEVICE])
    assert types(translator.messages(changed(CONNECTING, STEP))) == [UPDATE]


device_fields: dict[str, st.SearchStrategy[Any]] = {
    "Name": st.sampled_from(["Front", "Rear"]),
    "Ssid": st.sampled_from([b"CAM", b"\xff"]),
    "State": st.sampled_from(["disconnected", "connecting", "connected", "disconnecting"]),
    "Interface": st.sampled_from(["/", "/org/wifimgrd1/interfaces/wlan0"]),
    "ConnectionErrorCode": st.sampled_from(["", "busy"]),
    "ConnectionErrorMessage": st.sampled_from(["", "no"]),
    "LastConnectionAttempt": st.integers(min_value=0, max_value=9),
    "LastSuccessfulConnection": st.integers(min_value=0, max_value=9),
    "LocalAddress": st.sampled_from(["", "10.0.0.2"]),
    "CameraAddress": st.sampled_from(["", "10.0.0.1"]),
    "SignalStrength": st.integers(min_value=0, max_value=100),
    "Reachable": st.booleans(),
}


@given(st.lists(st.fixed_dictionaries({}, optional=device_fields)))
def test_snapshot_and_events_say_together_what_the_list_says(steps: list[dict[str, Any]]) -> None:
    """`State` is among what changed wherever a field of the connection's status did, as the daemon
    promises."""
    device = DEVICE
    translator = Translator()
    translator.resynchronise(ServiceRecord(), [device])
    view: dict[str, Any] = {**device_json(device)}
    for properties in steps:
        carried = properties | ({} if properties.keys() <= {"SignalStrength"} else {"State": device.state})
        device = updated(device, carried | properties)
        for message in translator.messages(changed(device, frozenset(carried | properties))):
            view |= message.data
    quiet = {"signal_strength"}
    now = device_json(device)
    assert {k: v for k, v in view.items() if k not in quiet} == {
        k: v for k, v in now.items() if k not in quiet
    }


def test_what_a_camera_says_of_itself_is_a_message_of_its_own() -> None:
    translator = Translator()
    before = replace(CONNECTED, camera=CameraRecord(battery_level=80))
    translator.resynchronise(ServiceRecord(), [before])
    after = replace(before, camera=CameraRecord(battery_level=79, recording_state="recording"))
    [message] = translator.messages(changed(after, frozenset({"BatteryLevel", "RecordingState"})))
    assert message.type == "device.camera.update"
    assert message.numbered
    assert message.data == {"id": 3, "camera": device_json(after)["camera"]}
    assert (message.data["camera"]["battery_level"], message.data["camera"]["recording"]) == (79, True)
    renamed = replace(after, name="Nose", camera=CameraRecord())
    assert [one.type for one in translator.messages(changed(renamed, frozenset({"Name"})))] == [
        "device.camera.update",
        "device.updated",
    ]


def test_the_end_of_a_recording_is_a_message() -> None:
    translator = Translator()
    translator.resynchronise(ServiceRecord(), [CONNECTED])
    [message] = translator.messages(RecordingStopped(3, "full"))
    assert (message.type, message.data) == ("device.recording.stopped", {"id": 3, "reason": "full"})


def test_the_end_of_a_take_is_a_message() -> None:
    translator = Translator()
    row = HistoryRecord(id=7, time=5, kind="recording", device_id=3, device_name="Front", ended=9)
    take = TakeRecord(time=5, ended=9, recordings=(row,), missing=())
    [message] = translator.messages(TakeEnded(take))
    assert (message.type, message.numbered) == ("take.ended", True)
    assert message.data == take_json(take)
    assert message.data["recordings"][0]["device_name"] == "Front"
