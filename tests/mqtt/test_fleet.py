"""The copy of all hubs: records are checked, sizes are limited, a new reading leaves nothing stale."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wifimgrd.client.changes import DeviceAdded, DeviceChanged, DeviceRemoved, InterfaceAdded, ServiceChanged
from wifimgrd.client.json_members import ResultJson
from wifimgrd.client.json_records import device_json, interface_json
from wifimgrd.domain.records import (
    CameraRecord,
    DeviceRecord,
    InterfaceRecord,
    ResultRecord,
    ServiceRecord,
)
from wifimgrd.fleet.fleet import AvailabilityChanged, Fleet, FleetChange, HubAppeared, HubVanished, Limits
from wifimgrd.fleet.records import (
    CommandAnswer,
    parse_answer,
    parse_device,
    parse_hub,
    parse_interface,
)
from wifimgrd.mqtt._topics import Topics
from wifimgrd.mqtt.hub_record import encoded, hub_json
from wifimgrd.wire.kinds import RecordError

ROOT = "fleet/wifimgrd/boat"
FRONT = DeviceRecord(
    3,
    name="Vörne",
    codename="insta360-x3",
    state="connected",
    ssid=b"X3\xff",
    interface="wlan1",
    signal_strength=70,
    reachable=True,
    last_connection_attempt=1_795_000_000_000_001,
    connection_error_code="busy",
    pin={"usb_port": "1-1.4"},
    warnings=("twice",),
)
ADAPTER = InterfaceRecord(
    "wlan1", state="in-use", device_id=3, usb_vendor_id="0bda", usb_port="1-1.4", bands=("2.4GHz",)
)
SERVICE = ServiceRecord("1.0", "simulated", backend_state="ready", total_interfaces=2, assigned_interfaces=1)
PAGE = "https://192.0.2.7:8443/"
HUB = encoded(hub_json("boat", SERVICE, "0" * 16, commands=True, page=PAGE))


def device(record: DeviceRecord) -> bytes:
    return encoded(device_json(record))


def changed(record: DeviceRecord, **members: Any) -> bytes:
    """A device's record with other members."""
    return json.dumps({**device_json(record), **members}).encode()


def receive(fleet: Fleet, below: str, payload: bytes, *, retained: bool = False) -> list[FleetChange]:
    return fleet.receive(f"{ROOT}/{below}", payload, retained=retained, now_us=7)


def read_fleet(limits: Limits | None = None) -> Fleet:
    """A fleet with the hub, its device and its interface."""
    fleet = Fleet("fleet/wifimgrd", limits or Limits())
    fleet.begin_listing()
    receive(fleet, "availability", b"online", retained=True)
    fleet.begin_reading("boat")
    receive(fleet, "devices/3", device(FRONT), retained=True)
    receive(fleet, "interfaces/wlan1", encoded(interface_json(ADAPTER)), retained=True)
    receive(fleet, "hub", HUB, retained=True)
    assert fleet.complete("boat") == [FleetChange("boat", HubAppeared())]
    assert fleet.complete_listing() == []
    return fleet


def test_records_are_read_as_they_were_published() -> None:
    hub = read_fleet().hubs["boat"]
    assert (hub.online, hub.is_read) == (True, True)
    assert hub.devices == {3: FRONT}
    assert hub.interfaces == {"wlan1": ADAPTER}
    assert hub.record.service == SERVICE
    assert hub.record.commands
    assert hub.record.page == PAGE
    assert hub.last_message_us is None, "the broker does not say when it was published"


@given(st.text(max_size=40), st.binary(max_size=32), st.integers(1, 2**62), st.booleans())
def test_any_device_comes_back(text: str, ssid: bytes, number: int, flag: bool) -> None:
    record = DeviceRecord(number, text, ssid=ssid, auto_reconnect=flag, connection_error_message=text)
    assert parse_device(device(record), number) == record


@pytest.mark.parametrize("state", ["recording", "idle", None])
def test_what_a_camera_says_comes_back(state: str | None) -> None:
    camera = CameraRecord(
        battery_level=0,
        battery_state="charging",
        recording_state=state,
        recording_since=1_795_000_000_000_001,
        recording_requested=True,
        storage_state="ok",
        storage_free=0,
        storage_total=2**50,
        recording_time_left=59_000_000,
        clock_offset=-1_500_000,
        clock_read_at=1_795_000_000_000_001,
        model="X4",
        problems=("battery-low", "of a later version"),
        read_at=1_795_000_000_000_001,
    )
    for known in (camera, CameraRecord(), None):
        record = replace(FRONT, camera=known)
        assert parse_device(device(record), 3) == record


def test_a_change_is_reported_with_its_hub() -> None:
    fleet = read_fleet()
    after = replace(FRONT, state="disconnected", interface=None, signal_strength=None, reachable=False)
    assert receive(fleet, "devices/3", device(after)) == [
        FleetChange("boat", DeviceChanged(FRONT, after, is_step=True))
    ]
    assert receive(fleet, "devices/3", device(after)) == []
    [change] = receive(fleet, "devices/3", device(replace(after, priority=2)))
    assert change.change == DeviceChanged(after, replace(after, priority=2), is_step=False)
    assert fleet.hubs["boat"].last_message_us == 7
    assert receive(fleet, "devices/3", b"") == [FleetChange("boat", DeviceRemoved(3))]
    assert receive(fleet, "availability", b"offline") == [FleetChange("boat", AvailabilityChanged(False))]
    gone = encoded(hub_json("boat", replace(SERVICE, backend_reason="gone"), "1", commands=True))
    [change] = receive(fleet, "hub", gone)
    assert isinstance(change.change, ServiceChanged)
    assert "BackendReason" in change.change.changed
    assert receive(fleet, "availability", b"") == [FleetChange("boat", HubVanished())]
    assert not fleet.hubs


def test_nothing_is_reported_of_a_hub_that_is_not_read() -> None:
    fleet = Fleet("fleet/wifimgrd")
    assert receive(fleet, "availability", b"online") == []
    assert receive(fleet, "devices/3", device(FRONT)) == []
    assert fleet.complete("boat") == [FleetChange("boat", HubAppeared())]


def test_what_is_not_there_any_more_is_removed_by_the_next_reading() -> None:
    fleet = read_fleet()
    fleet.begin_listing()
    receive(fleet, "availability", b"offline", retained=True)
    fleet.begin_reading("boat")
    receive(fleet, "devices/4", device(replace(FRONT, id=4)), retained=True)
    receive(fleet, "interfaces/wlan1", encoded(interface_json(ADAPTER)), retained=True)
    changes = fleet.complete("boat") + fleet.complete_listing()
    assert FleetChange("boat", DeviceRemoved(3)) in changes
    hub = fleet.hubs["boat"]
    assert (list(hub.devices), list(hub.interfaces), hub.online) == ([4], ["wlan1"], False)
    assert not hub.record.commands
    fleet.begin_listing()
    assert fleet.complete_listing() == [FleetChange("boat", HubVanished())]


HOSTILE = [
    b"{",
    b"[]",
    b"null",
    b"\xff",
    b"[" * 60_000,
    b"{}",
    b'{"id":3,"id":3}',
    b'{"id":3,"name":"' + b"x" * 70_000 + b'"}',
    changed(FRONT, id=4),
    changed(FRONT, id="3"),
    changed(FRONT, id=True),
    changed(FRONT, name=3),
    changed(FRONT, name=None),
    changed(FRONT, name="x" * 3000),
    changed(FRONT, name="\ud800"),
    changed(FRONT, connection_status="exploded"),
    changed(FRONT, signal_strength=101),
    changed(FRONT, priority=2**70),
    changed(FRONT, auto_reconnect="yes"),
    changed(FRONT, connection_settings={"ssid": "x" * 33}),
    changed(FRONT, connection_settings={"ssid": "x", "ssid_hex": "xyz"}),
    changed(FRONT, connection_settings="x"),
    changed(FRONT, connection_error_at="yesterday"),
    changed(FRONT, connection_error_at="2026-11-20T17:00:00"),
    changed(FRONT, pin={"mac": 5}),
    changed(FRONT, warnings=["x"] * 100),
    changed(FRONT, warnings=[5]),
]


@pytest.mark.parametrize("payload", HOSTILE, ids=lambda payload: payload[:40])
def test_what_is_no_record_is_not_shown(payload: bytes) -> None:
    fleet = read_fleet()
    assert receive(fleet, "devices/3", payload) == [FleetChange("boat", DeviceRemoved(3))]
    assert list(fleet.unreadable) == [f"{ROOT}/devices/3"]
    assert receive(fleet, "devices/3", device(FRONT)) == [FleetChange("boat", DeviceAdded(FRONT))]
    assert not fleet.unreadable


@given(
    st.binary(max_size=200)
    | st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from([*device_json(FRONT), "usb", "ok", "code"]), inner, max_size=5)
        ),
        max_leaves=10,
    ).map(lambda value: json.dumps(value).encode())
)
def test_no_payload_raises_anything_else(payload: bytes) -> None:
    for parse in (
        partial(parse_device, device_id=3),
        partial(parse_hub, hub_id="boat"),
        parse_interface,
        parse_answer,
    ):
        with suppress(RecordError):
            parse(payload)


@pytest.mark.parametrize(
    "topic",
    [
        "fleet/wifimgrd",
        "fleet/wifimgrd/boat",
        "fleet/wifimgrd/b\x1boat/availability",
        "fleet/wifimgrd//availability",
        f"fleet/wifimgrd/{'x' * 65}/availability",
        "other/boat/availability",
        f"{ROOT}/devices/0",
        f"{ROOT}/devices/3/command",
        f"{ROOT}/devices/{9**30}",
        f"{ROOT}/interfaces/",
        f"{ROOT}/interfaces/a/b",
        f"{ROOT}/interfaces/{'x' * 2000}",
        f"{ROOT}/claim",
        f"{ROOT}/events",
    ],
)
def test_other_topics_are_ignored(topic: str) -> None:
    fleet = read_fleet()
    assert fleet.receive(topic, device(FRONT), retained=False, now_us=7) == []
    assert list(fleet.hubs) == ["boat"]
    assert list(fleet.hubs["boat"].devices) == [3]


def test_a_record_of_another_hub_is_none() -> None:
    fleet = read_fleet()
    receive(fleet, "hub", encoded(hub_json("pier", SERVICE, "0" * 16, commands=True)))
    assert not fleet.hubs["boat"].record.commands
    assert "another hub" in fleet.unreadable[f"{ROOT}/hub"]


def test_an_interface_is_at_its_own_topic() -> None:
    fleet = read_fleet()
    odd = InterfaceRecord("wl/+ä")
    topic = Topics("fleet/wifimgrd", "boat").interface(odd.name)
    payload = encoded(interface_json(odd))
    assert fleet.receive(topic, payload, retained=False, now_us=7) == [
        FleetChange("boat", InterfaceAdded(odd))
    ]
    assert receive(fleet, "interfaces/wlan7", payload) == []
    assert "wlan7" not in fleet.hubs["boat"].interfaces


@pytest.mark.parametrize("limits", [Limits(records=4), Limits(octets=5000)])
def test_more_records_than_the_limit_are_left_out(limits: Limits) -> None:
    fleet = read_fleet(limits)
    for number in range(10, 30):
        receive(fleet, f"devices/{number}", device(replace(FRONT, id=number)))
    held = fleet.hubs["boat"].octets
    assert len(held) <= limits.records
    assert sum(held.values()) <= limits.octets
    assert fleet.left_out == 20 - (len(held) - 3)
    receive(fleet, "devices/3", b"")
    assert receive(fleet, "devices/9", device(replace(FRONT, id=9)))


def test_more_hubs_than_the_limit_are_left_out() -> None:
    fleet = read_fleet(Limits(hubs=2))
    for name in ("a", "b", "c"):
        fleet.receive(f"fleet/wifimgrd/{name}/availability", b"online", retained=True, now_us=7)
    assert sorted(fleet.hubs) == ["a", "boat"]
    assert fleet.left_out == 2


def test_an_availability_that_is_neither_is_offline() -> None:
    fleet = read_fleet()
    assert receive(fleet, "availability", b"\x1b[2J") == [FleetChange("boat", AvailabilityChanged(False))]
    assert fleet.unreadable


def test_a_record_of_another_version_is_read() -> None:
    old = {"id": 3, "name": "Front", "colour": {"deep": [1, 2]}}
    assert parse_device(json.dumps(old).encode(), 3) == DeviceRecord(3, name="Front")


@pytest.mark.parametrize(
    "time", ["0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59", "1969-12-31T23:59:59Z"]
)
def test_a_time_that_cannot_be_shown_is_none(time: str) -> None:
    record = {"id": 3, "name": "Front", "lost_at": time}
    with pytest.raises(RecordError, match="time"):
        parse_device(json.dumps(record).encode(), 3)


def test_answers() -> None:
    done = {"command": "connect", "device_id": 3, "ok": True, "code": None, "message": "connected"}
    assert parse_answer(json.dumps(done).encode()) == CommandAnswer("connect", 3, None, "connected")
    failed = done | {"ok": False, "code": "no-interface-available"}
    assert parse_answer(json.dumps(failed).encode()).code == "no-interface-available"
    done_by = ResultRecord(device_id=3, done=True, after=132_000)
    failed_by = ResultRecord(device_id=4, done=False, code="not-connected", message="it is off")
    both = done | {"results": [ResultJson.of(one) for one in (done_by, failed_by)]}
    assert parse_answer(json.dumps(both).encode()).results == (done_by, failed_by)
    wrong_results: list[object] = [{}, [1], [{}], [{"device_id": 0, "done": True}]]
    for results in (*wrong_results, [{"device_id": 3, "done": 1}]):
        with pytest.raises(RecordError):
            parse_answer(json.dumps(done | {"results": results}).encode())
    hostile = failed | {"code": "\x1b[2J"}
    for wrong in ({}, hostile, done | {"code": "busy"}, done | {"message": 3}, done | {"device_id": "3"}):
        with pytest.raises(RecordError):
            parse_answer(json.dumps(wrong).encode())
