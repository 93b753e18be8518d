"""The one table of fields: what is derived from it is current, complete, and loses nothing on the way."""

from __future__ import annotations

import inspect
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools import generate_records
from wifimgrd.api import names
from wifimgrd.api import properties as on_dbus
from wifimgrd.api.definitions import definition
from wifimgrd.api.properties import SIGNATURES, properties_of, updated
from wifimgrd.bus import library
from wifimgrd.client.json_records import device_json
from wifimgrd.domain.device import DeviceState
from wifimgrd.domain.records import BoundField, DeviceRecord, Field, InterfaceRecord, Kind, fields_of

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


@pytest.mark.parametrize(("name", "properties"), [(names.DEVICE, DEVICE), (names.INTERFACE, INTERFACE)])
def test_no_property_of_a_released_version_is_gone_or_changed(name: str, properties: dict[str, str]) -> None:
    assert properties.items() <= dict(definition(name).properties).items()


@pytest.mark.parametrize("name", list(generate_records.RECORDS))
def test_the_introspection_xml_has_the_fields_of_its_record(name: str) -> None:
    """Otherwise run tools/generate_records.py."""
    file = generate_records.INTROSPECTION / f"org.wifimgrd1.{name}.xml"
    assert file.read_text() == generate_records.introspection(name)


def test_the_pages_types_have_the_fields_of_the_records() -> None:
    """Otherwise run tools/generate_records.py."""
    assert generate_records.TYPES.read_text() == generate_records.typescript()


@pytest.mark.parametrize("record", [DeviceRecord, InterfaceRecord])
def test_each_attribute_of_a_record_is_declared_as_a_field(record: type) -> None:
    assert [one.name for one in fields_of(record)] == list(inspect.signature(record).parameters)


VALUES = {
    Kind.ID: st.integers(1, 2**63 - 1),
    Kind.TEXT: st.text(st.characters(exclude_characters="\0", codec="utf-8"), min_size=1),
    Kind.OCTETS: st.binary(max_size=32),
    Kind.TIME: st.integers(1, 2**52),
    Kind.PERCENT: st.integers(0, 100),
    Kind.NUMBER: st.integers(-(2**31), 2**31 - 1),
    Kind.FLAG: st.booleans(),
    Kind.TEXTS: st.lists(st.text("ab"), max_size=2).map(tuple),
    Kind.MAPPING: st.dictionaries(st.text("ab"), st.text("ab"), min_size=1, max_size=2),
    Kind.INTERFACE: st.text("wlan0123456789.-_", min_size=1),
    Kind.DEVICE: st.integers(1, 2**60),
}


def values_of(record: type) -> st.SearchStrategy[dict[str, Any]]:
    """Values of all fields of a record that is connected, if it is a device's."""
    return st.fixed_dictionaries(
        {
            one.name: VALUES[one.field.kind]
            if not one.is_nullable or one.field.while_connected
            else st.none() | VALUES[one.field.kind]
            for one in fields_of(record)
        }
    )


def as_signalled(record: DeviceRecord | InterfaceRecord) -> dict[str, Any]:
    """The properties after the D-Bus library checked their types."""
    signatures = {one.dbus_name: SIGNATURES[one.field.kind] for one in fields_of(type(record))}
    properties = properties_of(record)
    assert properties.keys() == signatures.keys()
    return {name: library.Variant(signatures[name], value).value for name, value in properties.items()}


@given(values_of(DeviceRecord))
def test_a_device_is_the_same_on_the_other_side_of_the_bus(values: dict[str, Any]) -> None:
    device = DeviceRecord(**values | {"state": DeviceState.CONNECTED.value})
    assert updated(DeviceRecord(device.id), as_signalled(device)) == device


@given(values_of(InterfaceRecord))
def test_an_interface_is_the_same_on_the_other_side_of_the_bus(values: dict[str, Any]) -> None:
    interface = InterfaceRecord(**values)
    assert updated(InterfaceRecord(interface.name), as_signalled(interface)) == interface


@given(values_of(DeviceRecord), st.sampled_from(DeviceState))
def test_what_counts_while_connected_alone_is_null_in_other_states(
    values: dict[str, Any], state: DeviceState
) -> None:
    device = DeviceRecord(**values | {"state": state.value})
    of_json = device_json(updated(DeviceRecord(device.id), as_signalled(device)))
    signal, reachable = of_json["signal_strength"], of_json["reachable"]
    if state is DeviceState.CONNECTED:
        assert (signal, reachable) == (device.signal_strength, device.reachable)
    else:
        assert (signal, reachable) == (None, None)


@pytest.mark.parametrize(
    "kind", [one for one in Kind if one not in (Kind.ID, Kind.OCTETS, Kind.FLAG, Kind.TEXTS)]
)
def test_a_field_of_each_other_kind_may_be_none(kind: Kind) -> None:
    one = BoundField("name", Field(kind, "A description."), is_nullable=True)
    on_the_bus = on_dbus._encoder(one)(SimpleNamespace(name=None))
    assert on_dbus._decoder(one)(library.Variant(SIGNATURES[kind], on_the_bus).value) is None


def test_a_property_that_is_not_known_is_ignored() -> None:
    assert updated(DeviceRecord(1, "A"), {"Unknown": 3}) == DeviceRecord(1, "A")
