"""The one table of fields: what is derived from it is current, complete, and loses nothing on the way."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools import generate_records
from wifimgrd.bus import library
from wifimgrd.bus.values import typed
from wifimgrd.client.json_records import device_json
from wifimgrd.domain.adapter import AdapterPin
from wifimgrd.domain.camera import RecordingState
from wifimgrd.domain.commands import BLUETOOTH, CAMERA, POWER
from wifimgrd.domain.device import DeviceId, DeviceState, Sighting, Ssid
from wifimgrd.domain.fields import BoundField, Field, Kind, Record, fields_of
from wifimgrd.domain.history import HistoryKind, HistoryRow
from wifimgrd.domain.network import Network, ScanResult, Security
from wifimgrd.domain.records import (
    AbsentRecord,
    BluetoothRecord,
    CameraRecord,
    DeviceRecord,
    FileRecord,
    HistoryRecord,
    InterfaceRecord,
    MissingRecord,
    NetworkRecord,
    OutcomeRecord,
    ResultRecord,
    ServiceRecord,
    TakeRecord,
    absent_record,
    history_record,
    network_record,
)
from wifimgrd.domain.reservation import AbsentAdapter
from wifimgrd.wire import names
from wifimgrd.wire import properties as on_dbus
from wifimgrd.wire.definitions import definition
from wifimgrd.wire.kinds import FORMS
from wifimgrd.wire.properties import (
    has_interface,
    properties_of,
    record_of,
    row_of,
    updated,
    variants_of,
    without_interface,
)

DEVICE = {
    "Id": "t",
    "Name": "s",
    "Codename": "s",
    "ConnectionType": "s",
    "Ssid": "ay",
    "State": "s",
    "Interface": "o",
    "ConnectionErrorCode": "s",
    "ConnectionErrorMessage": "s",
    "ConnectionErrorAt": "t",
    "LastConnectionAttempt": "t",
    "LastSuccessfulConnection": "t",
    "LastDisconnection": "t",
    "LocalAddress": "s",
    "CameraAddress": "s",
    "SignalStrength": "y",
    "AutoReconnect": "b",
    "Priority": "i",
    "Address": "s",
    "LostAt": "t",
    "WaitingSince": "t",
    "Pin": "a{ss}",
    "Warnings": "as",
    "Reachable": "b",
    "Icon": "s",
}
INTERFACE = {
    "Name": "s",
    "State": "s",
    "Reason": "s",
    "Device": "o",
    "MacAddress": "s",
    "Driver": "s",
    "UsbVendorId": "s",
    "UsbProductId": "s",
    "UsbProduct": "s",
    "UsbPort": "s",
    "Bands": "as",
}
"""The properties of released versions: each stays, with its type."""


NETWORK = {
    "ssid": ("ay", b"Kamera"),
    "bssids": ("as", ["02:00:00:00:00:01"]),
    "frequencies": ("au", [2412]),
    "security": ("s", "wpa2"),
    "bands": ("as", ["2.4GHz"]),
    "signal_strength": ("y", 70),
    "last_seen": ("t", 0),
    "interfaces": ("as", ["wlan0"]),
    "device": ("o", "/"),
    "codename": ("s", ""),
}
ADAPTER = {
    "device": ("o", "/org/wifimgrd1/devices/3"),
    "mac": ("s", ""),
    "usb_port": ("s", "1-1.3"),
    "interface": ("s", ""),
    "product": ("s", ""),
    "unplugged": ("t", 0),
    "last_device": ("o", "/"),
}
FAILURE = {
    "id": ("t", 7),
    "time": ("t", 5),
    "device_id": ("t", 3),
    "device_name": ("s", "Front"),
    "kind": ("s", "failure"),
    "code": ("s", "busy"),
    "message": ("s", "why"),
}
SESSION = {"id": ("t", 8), "time": ("t", 5), "kind": ("s", "session"), "ended": ("t", 6)} | {
    "signal_minimum": ("y", 0),
    "signal_mean": ("y", 1),
}


@pytest.mark.parametrize(("name", "properties"), [(names.DEVICE, DEVICE), (names.INTERFACE, INTERFACE)])
def test_no_property_of_a_released_version_is_gone_or_changed(name: str, properties: dict[str, str]) -> None:
    assert properties.items() <= dict(definition(name).properties).items()


def test_rows_have_the_entries_of_released_versions() -> None:
    """What is unknown is empty in a network, and left out of the history."""
    point = ScanResult("wlan0", Ssid(b"Kamera"), Sighting("02:00:00:00:00:01", 2412), Security.WPA2, 70, 0)
    network = Network(point.ssid, point.security, (point,), ("wlan0",))
    assert row_of(network_record(network)) == NETWORK
    absent = AbsentAdapter(DeviceId(3), AdapterPin(usb_port="1-1.3"))
    assert row_of(absent_record(absent)) == ADAPTER
    failure = HistoryRow(7, 5, HistoryKind.FAILURE, DeviceId(3), "Front", code="busy", message="why")
    assert row_of(history_record(failure)) == FAILURE
    session = HistoryRow(8, 5, HistoryKind.SESSION, ended_us=6, signal_minimum=0, signal_mean=1)
    assert row_of(history_record(session)) == SESSION


def test_a_bound_holds_for_the_offset_that_is_rounded_to_milliseconds() -> None:
    offset, bound = FORMS[Kind.OFFSET].to_json, FORMS[Kind.BOUND].to_json
    for true_us in range(-3000, 3000, 7):
        for read_us, bound_us in ((true_us + 1499, 1499), (true_us - 2000, 2000), (true_us, 0)):
            assert abs(offset(read_us) * 1000 - true_us) <= bound(bound_us) * 1000  # type: ignore[operator]


@pytest.mark.parametrize("name", list(generate_records.RECORDS))
def test_the_introspection_xml_has_the_fields_of_its_record(name: str) -> None:
    """Otherwise run tools/generate_records.py."""
    file = generate_records.INTROSPECTION / f"org.wifimgrd1.{name}.xml"
    assert file.read_text() == generate_records.introspection(name)


def test_the_properties_that_never_change_say_so() -> None:
    changes = "org.freedesktop.DBus.Property.EmitsChangedSignal"
    constant = definition(names.MANAGER).element.findall(
        f"property/annotation[@name='{changes}'][@value='const']/.."
    )
    assert [one.get("name") for one in constant] == ["Version", "Backend", "BackendChoice"]


def test_the_pages_types_have_the_fields_of_the_records() -> None:
    """Otherwise run tools/generate_records.py."""
    assert generate_records.TYPES.read_text() == generate_records.typescript()


ROWS = [
    NetworkRecord,
    HistoryRecord,
    FileRecord,
    TakeRecord,
    MissingRecord,
    AbsentRecord,
    BluetoothRecord,
    OutcomeRecord,
    ResultRecord,
]


@pytest.mark.parametrize("record", [DeviceRecord, CameraRecord, InterfaceRecord, ServiceRecord, *ROWS])
def test_each_attribute_of_a_record_is_declared_as_a_field(record: type[Record]) -> None:
    assert [one.name for one in fields_of(record)] == list(inspect.signature(record).parameters)


VALUES = {
    Kind.ID: st.integers(1, 2**63 - 1),
    Kind.TEXT: st.text(st.characters(exclude_characters="\0", codec="utf-8"), min_size=1),
    Kind.SSID: st.binary(max_size=32),
    Kind.TIME: st.integers(1, 2**52),
    Kind.PERCENT: st.integers(0, 100),
    Kind.DBM: st.integers(-(2**15), -2),
    Kind.NUMBER: st.integers(-(2**31), 2**31 - 1),
    Kind.COUNT: st.integers(0, 2**32 - 1),
    Kind.FREQUENCY: st.integers(1, 2**32 - 1),
    Kind.BIT_RATE: st.integers(1, 2**32 - 1),
    Kind.NUMBERS: st.lists(st.integers(0, 2**32 - 1), max_size=2).map(tuple),
    Kind.FLAG: st.booleans(),
    Kind.TEXTS: st.lists(st.text("ab"), max_size=2).map(tuple),
    Kind.MAPPING: st.dictionaries(st.text("ab"), st.text("ab"), min_size=1, max_size=2),
    Kind.COUNTS: st.dictionaries(st.text("ab"), st.integers(0, 9), max_size=2),
    Kind.TEXTS_OF: st.dictionaries(
        st.text("ab", min_size=1), st.lists(st.text("ab"), max_size=2).map(tuple), max_size=2
    ),
    Kind.GROUPS: st.dictionaries(
        st.text("ab", min_size=1), st.lists(st.integers(1, 2**60), max_size=2).map(tuple), max_size=2
    ),
    Kind.LEVEL: st.integers(0, 100),
    Kind.BYTES: st.integers(0, 2**53 - 1),
    Kind.DURATION: st.integers(0, 2**53 - 1),
    Kind.ELAPSED: st.integers(1, 2**40),
    Kind.OFFSET: st.integers(-(2**53), 2**53),
    Kind.BOUND: st.integers(0, 2**53),
    Kind.RECORDING: st.sampled_from(RecordingState).map(str),
    Kind.INTERFACE: st.text("wlan0123456789.-_", min_size=1),
    Kind.DEVICE: st.integers(1, 2**60),
}


def value_of(field: BoundField) -> st.SearchStrategy[Any]:
    """Values of a field that are not None."""
    if field.field.kind is Kind.RECORD:
        assert field.records is not None
        return st.builds(field.records, **{one.name: value_of_any(one) for one in fields_of(field.records)})
    if field.records is not None:
        return st.lists(values_of(field.records), max_size=2).map(
            lambda rows: tuple(field.records(**one) for one in rows)  # type: ignore[misc]
        )
    return VALUES[field.field.kind]


def value_of_any(field: BoundField) -> st.SearchStrategy[Any]:
    """Values of a field, None included if it may be."""
    value = value_of(field)
    return st.none() | value if field.is_nullable and not field.field.while_connected else value


def values_of(record: type[Record]) -> st.SearchStrategy[dict[str, Any]]:
    """Values of all fields of a record that is connected, if it is a device's."""
    return st.fixed_dictionaries({one.name: value_of_any(one) for one in fields_of(record)})


def as_signalled(record: Record, interface: str = "") -> dict[str, Any]:
    """The properties after the D-Bus library checked their types."""
    if interface == CAMERA:
        assert isinstance(record, DeviceRecord)
        assert record.camera is not None
        return as_signalled(record.camera)
    signatures = {
        one.dbus_name: FORMS[one.field.kind].signature
        for one in fields_of(type(record))
        if one.field.interface == interface
    }
    properties = properties_of(record, interface)
    assert properties.keys() == signatures.keys()
    return {name: received(signatures[name], value) for name, value in properties.items()}


def received(signature: str, value: object) -> Any:
    """A value after the D-Bus library checked its type, its variants unpacked."""
    checked = library.Variant(signature, value).value
    if signature == "aa{sv}":
        rows = typed(list[dict[str, library.Variant]], checked)
        return [
            {name: received(variant.signature, variant.value) for name, variant in row.items()}
            for row in rows
        ]
    return checked


OPTIONAL = {
    POWER: ("power_state", "last_seen", "auto_wake"),
    BLUETOOTH: ("paired", "bluetooth_address"),
    CAMERA: ("camera",),
}
"""The fields of the interfaces that the object of a device may lack; flags say whether it has them."""
FLAGS = {POWER: "auto_wake", BLUETOOTH: "paired", CAMERA: "camera"}


def device_of(values: dict[str, Any], state: DeviceState) -> DeviceRecord:
    """A device that has each of the optional interfaces or lacks it."""
    for interface, fields in OPTIONAL.items():
        if values[FLAGS[interface]] is None:
            values = values | dict.fromkeys(fields)
    return DeviceRecord(**values | {"state": state.value})


def over_the_bus(device: DeviceRecord) -> DeviceRecord:
    """A device as a client has it."""
    received = updated(DeviceRecord(device.id), as_signalled(device))
    for interface in OPTIONAL:
        if has_interface(device, interface):
            received = updated(received, as_signalled(device, interface), interface)
    return received


@given(values_of(DeviceRecord))
def test_a_device_is_the_same_on_the_other_side_of_the_bus(values: dict[str, Any]) -> None:
    device = device_of(values, DeviceState.CONNECTED)
    assert over_the_bus(device) == device


@given(values_of(DeviceRecord), st.sampled_from(sorted(OPTIONAL)))
def test_a_device_that_loses_an_interface_has_none_of_its_values(
    values: dict[str, Any], interface: str
) -> None:
    device = without_interface(device_of(values, DeviceState.CONNECTED), interface)
    assert not has_interface(device, interface)
    assert over_the_bus(device) == device


@given(values_of(InterfaceRecord))
def test_an_interface_is_the_same_on_the_other_side_of_the_bus(values: dict[str, Any]) -> None:
    interface = InterfaceRecord(**values)
    assert updated(InterfaceRecord(interface.name), as_signalled(interface)) == interface


@given(values_of(ServiceRecord))
def test_the_service_is_the_same_on_the_other_side_of_the_bus(values: dict[str, Any]) -> None:
    service = ServiceRecord(**values)
    assert updated(ServiceRecord(), as_signalled(service)) == service


@pytest.mark.parametrize("kind", ROWS)
@given(data=st.data())
def test_a_row_is_the_same_on_the_other_side_of_the_bus(kind: type[Record], data: st.DataObject) -> None:
    record = kind(**data.draw(values_of(kind)))
    row = {name: received(one.signature, one.value) for name, one in variants_of(record).items()}
    assert record_of(kind, row | {"unknown": 1}) == record


@given(values_of(DeviceRecord), st.sampled_from(DeviceState))
def test_what_counts_while_connected_alone_is_null_in_other_states(
    values: dict[str, Any], state: DeviceState
) -> None:
    device = device_of(values, state)
    of_json = device_json(over_the_bus(device))
    signal, reachable = of_json["signal_strength"], of_json["reachable"]
    if state is DeviceState.CONNECTED:
        assert (signal, reachable) == (device.signal_strength, device.reachable)
    else:
        assert (signal, reachable) == (None, None)


@pytest.mark.parametrize("kind", [kind for kind, form in FORMS.items() if form.empty is not None])
def test_a_field_of_a_kind_with_an_empty_value_may_be_none(kind: Kind) -> None:
    one = BoundField("name", Field(kind, "A description."), is_nullable=True)
    entry = on_dbus._entry(one, leaves_out=False)
    assert entry.decode(library.Variant(entry.signature, entry.encode(None)).value) is None


def test_a_property_that_is_not_known_is_ignored() -> None:
    assert updated(DeviceRecord(1, "A"), {"Unknown": 3}) == DeviceRecord(1, "A")
