"""The JSON objects of a device and of an interface.

Their members are derived from the fields of `wifimgrd.domain.records`, with the few beside them that are
computed from a field.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from operator import attrgetter
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Final, TypedDict

from wifimgrd.client.json_types import FAILED, AbsentAdapterJson, Id, InterfaceName, Keywords, SettingsJson
from wifimgrd.domain.device import DeviceState
from wifimgrd.domain.records import BoundField, DeviceRecord, InterfaceRecord, Kind, fields_of

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_PANORAMA_ICON: Final = "/icons/panorama-camera.svg"
"""The icon in the catalog of models with a camera for all directions."""


@dataclass(frozen=True, slots=True)
class Member:
    """A member of a JSON object that is made of a record."""

    name: str
    type: Any
    """Its type for `wifimgrd.http.description`: plain, Annotated or a RecordJson."""
    read: Callable[[Any], Any]
    """Its value in a record's object."""
    in_status: bool = False


class RecordJson(dict[str, Any]):
    """A JSON object whose members are derived from a record's fields."""

    members: ClassVar[Mapping[str, Any]] = MappingProxyType({})
    """Name -> type, as in a TypedDict."""


def time_text(microseconds: int | None) -> str | None:
    """Microseconds since the epoch as RFC 3339 in UTC; None stays None."""
    if microseconds is None:
        return None
    moment = _EPOCH + timedelta(microseconds=microseconds)
    return moment.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def settings_json(ssid: bytes) -> SettingsJson:
    """The SSID as text, and also in hexadecimal if it is not UTF-8."""
    try:
        return {"ssid": ssid.decode()}
    except UnicodeDecodeError:
        return {"ssid": ssid.decode("utf-8", "replace"), "ssid_hex": ssid.hex()}


def reachability(device: DeviceRecord) -> str:
    """Whether a device answers, in the values of the platform's frontend."""
    if not device.is_connected:
        return "unknown"
    return "healthy" if device.reachable else "unavailable"


def type_icon(icon: str | None) -> str:
    """The name of the platform's own icon that is closest to that of the catalog."""
    return "icons.device.camera-360" if icon == _PANORAMA_ICON else "icons.device.video-camera"


_PLAIN: Final[Mapping[Kind, Any]] = MappingProxyType(
    {
        Kind.ID: Annotated[int, Keywords(minimum=1)],
        Kind.TEXT: str,
        Kind.TIME: Annotated[str, "RFC 3339, in UTC.", Keywords(format="date-time")],
        Kind.PERCENT: Annotated[int, "Percent.", Keywords(minimum=0, maximum=100)],
        Kind.NUMBER: int,
        Kind.FLAG: bool,
        Kind.MAPPING: dict[str, str],
        Kind.INTERFACE: InterfaceName,
        Kind.DEVICE: int,
    }
)
"""The type of each kind in JSON, but for OCTETS, which have members of their own, and TEXTS."""
_INSTEAD: Final[Mapping[str, Member]] = MappingProxyType(
    {"ssid": Member("connection_settings", SettingsJson, lambda device: settings_json(device.ssid))}
)
"""Members in place of that of a device's field."""
_BESIDE: Final[Mapping[str, Member]] = MappingProxyType(
    {
        "state": Member("connected", bool, lambda device: device.is_connected, in_status=True),
        "reachable": Member(
            "device_reachability",
            Annotated[
                str,
                "Whether it answers, as the platform's frontend names it: `unknown` while not connected.",
                Keywords(enum=["unknown", "healthy", "unavailable"]),
            ],
            reachability,
            in_status=True,
        ),
        "icon": Member(
            "device_type_icon",
            Annotated[
                str,
                "The name of an icon of the platform's frontend.",
                Keywords(enum=["icons.device.camera-360", "icons.device.video-camera"]),
            ],
            lambda device: type_icon(device.icon),
        ),
    }
)
"""Members that are computed, behind that of the device's field which they are computed from."""


def _member(one: BoundField) -> Member:
    declared = one.field
    keywords = Keywords(**declared.keywords)
    if declared.kind is Kind.TEXTS:
        of_json: Any = Annotated[list[Annotated[str, keywords]], declared.description]
    else:
        of_json = Annotated[_PLAIN[declared.kind], declared.description, keywords]
    if one.is_nullable or declared.while_connected:
        of_json |= None
    return Member(one.json_name, of_json, _reader(one), declared.in_status)


def _reader(one: BoundField) -> Callable[[Any], Any]:
    name = one.name
    if one.field.while_connected:
        return lambda device: getattr(device, name) if device.is_connected else None
    value = attrgetter(name)
    match one.field.kind:
        case Kind.TIME:
            return lambda record: time_text(value(record))
        case Kind.TEXTS:
            return lambda record: list(value(record))
        case Kind.MAPPING:
            return lambda record: None if value(record) is None else dict(value(record))
    return value


def _device_members() -> tuple[Member, ...]:
    members = []
    for one in fields_of(DeviceRecord):
        members.append(_INSTEAD.get(one.name) or _member(one))
        if one.name in _BESIDE:
            members.append(_BESIDE[one.name])
    return tuple(members)


DEVICE_MEMBERS: Final = _device_members()
"""The members of a device's JSON object, in order."""
STATUS_MEMBERS: Final = tuple(one for one in DEVICE_MEMBERS if one.in_status)
"""Those about the state of its connection."""


class DeviceJson(RecordJson):
    """A registered camera."""

    members = MappingProxyType({one.name: one.type for one in DEVICE_MEMBERS})


class StatusUpdateJson(RecordJson):
    """A step of a device's connection."""

    members = MappingProxyType(
        {"id": DeviceJson.members["id"], "name": DeviceJson.members["name"]}
        | {one.name: one.type for one in STATUS_MEMBERS}
        | {"connection_status": Annotated[str, Keywords(enum=[*(one.value for one in DeviceState), FAILED])]}
    )


class StatusJson(RecordJson):
    """The state of a device's connection."""

    members = MappingProxyType(
        {
            "device_connection_id": Id,
            "device_name": str,
            "connection_type": DeviceJson.members["connection_type"],
        }
        | {one.name: one.type for one in STATUS_MEMBERS}
        | {"is_wifi_connection": Annotated[bool, Keywords(const=True)]}
    )


_USB: Final = "usb."
_INTERFACE: Final = tuple(map(_member, fields_of(InterfaceRecord)))
USB_MEMBERS: Final = tuple(
    Member(one.name.removeprefix(_USB), one.type, one.read) for one in _INTERFACE if one.name.startswith(_USB)
)
"""The members of the USB device's JSON object."""


class UsbJson(RecordJson):
    """The USB device behind an interface."""

    members = MappingProxyType({one.name: one.type for one in USB_MEMBERS})


def _interface_members() -> tuple[Member, ...]:
    usb = Member("usb", UsbJson, lambda record: UsbJson((one.name, one.read(record)) for one in USB_MEMBERS))
    named = {(usb.name if one.name.startswith(_USB) else one.name): one for one in _INTERFACE}
    return tuple(usb if name == usb.name else one for name, one in named.items())


INTERFACE_MEMBERS: Final = _interface_members()
"""The members of an interface's JSON object, in order."""


class InterfaceJson(RecordJson):
    """A Wi-Fi interface of this host."""

    members = MappingProxyType({one.name: one.type for one in INTERFACE_MEMBERS})


class InterfacesJson(TypedDict):
    """Every interface, and which device has which."""

    interfaces: list[InterfaceJson]
    available_interfaces: list[InterfaceName]
    interface_assignments: Annotated[dict[str, str], "Device id -> interface."]
    total_interfaces: Annotated[int, Keywords(minimum=0)]
    assigned_interfaces: Annotated[int, Keywords(minimum=0)]
    absent_adapters: Annotated[list[AbsentAdapterJson], "Reserved, and not plugged in: no interfaces."]
