"""The JSON objects of the records in `wifimgrd.domain.records`.

Their members are derived from the fields, with the few that replace one, or are computed from one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from operator import attrgetter
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Final, Self, TypedDict, get_args, get_origin

from wifimgrd.client.json_types import FAILED, Id, InterfaceName, Keywords, SettingsJson
from wifimgrd.domain.adapter import Band
from wifimgrd.domain.device import DeviceState
from wifimgrd.domain.fields import BoundField, Kind, Record, fields_of
from wifimgrd.domain.records import (
    AbsentRecord,
    BluetoothRecord,
    CameraRecord,
    DeviceRecord,
    FileRecord,
    FindingRecord,
    HistoryRecord,
    InterfaceRecord,
    MissingRecord,
    NetworkRecord,
    OutcomeRecord,
    ResultRecord,
    ServiceRecord,
    TakeRecord,
)
from wifimgrd.wire.kinds import FORMS, settings_json, unchanged

_PANORAMA_ICON: Final = "/icons/panorama-camera.svg"
"""The icon in the catalog of models with a camera for all directions."""


Reader = Callable[[Any], object]
"""Reads the value of a member from a record."""


@dataclass(frozen=True, slots=True)
class Member:
    """A member of a JSON object that is made of a record."""

    name: str
    type: object
    """Its type for the descriptions: plain, Annotated or a JsonObject."""
    read: Reader
    """Its value in a record's object."""
    in_status: bool = False


class JsonObject(dict[str, Any]):
    """A JSON object whose members are derived from a record's fields."""

    members: ClassVar[Mapping[str, object]] = MappingProxyType({})
    """Name -> type, as in a TypedDict."""
    _readers: ClassVar[tuple[tuple[str, Reader], ...]] = ()

    def __init_subclass__(cls, *, of: Iterable[Member] | None = None) -> None:
        if of is None:
            return  # it declares its members itself
        of = tuple(of)
        cls.members = MappingProxyType({one.name: one.type for one in of})
        cls._readers = tuple((one.name, one.read) for one in of)

    @classmethod
    def of(cls, record: Record) -> Self:
        """The object of a record."""
        return cls((name, read(record)) for name, read in cls._readers)


def reachability(device: DeviceRecord) -> str:
    """Whether a device answers, in the values of the platform's frontend."""
    if not device.is_connected:
        return "unknown"
    return "healthy" if device.reachable else "unavailable"


def type_icon(icon: str | None) -> str:
    """The name of the platform's own icon that is closest to that of the catalog."""
    return "icons.device.camera-360" if icon == _PANORAMA_ICON else "icons.device.video-camera"


_REPLACED: Final[Mapping[tuple[type[Record], str], tuple[Member, ...]]] = MappingProxyType(
    {
        (CameraRecord, "clock_offset"): (
            Member(
                "clock_offset_ms",
                Annotated[int, "The camera's clock minus this host's.", Keywords(description="Milliseconds.")]
                | None,
                lambda camera: (
                    None if camera.clock_read_at is None else FORMS[Kind.OFFSET].to_json(camera.clock_offset)
                ),
            ),
        ),
        (DeviceRecord, "ssid"): (
            Member("connection_settings", SettingsJson, lambda device: settings_json(device.ssid)),
        ),
        (NetworkRecord, "ssid"): (
            Member(
                "ssid",
                Annotated[str, "Its name; bytes that are not UTF-8 are replaced."],
                lambda network: network.ssid.decode("utf-8", "replace"),
            ),
            Member(
                "ssid_hex",
                Annotated[str, Keywords(pattern="^[0-9a-f]+$")],
                lambda network: network.ssid.hex(),
            ),
        ),
    }
)
"""Members in place of that of a record's field."""
_COMPUTED: Final[Mapping[tuple[type[Record], str], Member]] = MappingProxyType(
    {
        (DeviceRecord, "state"): Member(
            "connected", bool, lambda device: device.is_connected, in_status=True
        ),
        (DeviceRecord, "reachable"): Member(
            "device_reachability",
            Annotated[
                str,
                "Whether it answers, as the platform's frontend names it: `unknown` while not connected.",
                Keywords(enum=["unknown", "healthy", "unavailable"]),
            ],
            reachability,
            in_status=True,
        ),
        (DeviceRecord, "icon"): Member(
            "device_type_icon",
            Annotated[
                str,
                "The name of an icon of the platform's frontend.",
                Keywords(enum=["icons.device.camera-360", "icons.device.video-camera"]),
            ],
            lambda device: type_icon(device.icon),
        ),
        (NetworkRecord, "security"): Member(
            "band",
            Annotated[str, Keywords(enum=[one.value for one in Band]), "Of the strongest access point."],
            lambda network: network.bands[0],
        ),
    }
)
"""Members that are computed, behind that of a record's field."""


def members_of(record: type[Record]) -> tuple[Member, ...]:
    """The members of a record's JSON object, in order."""
    members: list[Member] = []
    for one in fields_of(record):
        key = record, one.name
        members += _REPLACED[key] if key in _REPLACED else (_member(one),)
        members += (_COMPUTED[key],) if key in _COMPUTED else ()
    return tuple(members)


def _member(one: BoundField) -> Member:
    if one.field.kind is Kind.RECORD and one.records is not None:
        of, inner = attrgetter(one.name), _OBJECTS[one.records]
        return Member(
            one.json_name,
            Annotated[inner, one.field.description] | None,
            lambda record: None if (found := of(record)) is None else inner.of(found),
        )
    if one.records is not None:
        return _member_of_records(one, _OBJECTS[one.records])
    declared, form = one.field, FORMS[one.field.kind]
    base, keywords = Keywords(**form.keywords), Keywords(**declared.keywords)
    of_json: Any = form.json_type
    if get_origin(of_json) is list:
        item: Any = get_args(of_json)[0]
        of_json = Annotated[list[Annotated[item, base, keywords]], declared.description]
    else:
        of_json = Annotated[of_json, base, declared.description, keywords]
    if one.is_nullable or declared.while_connected:
        of_json |= None
    return Member(one.json_name, of_json, _reader(one), declared.in_status)


def _member_of_records(one: BoundField, inner: type[JsonObject]) -> Member:
    of = attrgetter(one.name)
    kind: Any = Annotated[list[inner], one.field.description]  # type: ignore[valid-type]
    if not one.is_nullable:
        return Member(one.json_name, kind, lambda record: list(map(inner.of, of(record))))
    return Member(
        one.json_name,
        kind | None,
        lambda record: None if (found := of(record)) is None else list(map(inner.of, found)),
    )


def _reader(one: BoundField) -> Reader:
    value, to_json = attrgetter(one.name), FORMS[one.field.kind].to_json
    if one.field.while_connected:
        return lambda device: to_json(value(device)) if device.is_connected else None
    if to_json is unchanged:
        return value
    return lambda record: None if (found := value(record)) is None else to_json(found)


class CameraJson(JsonObject, of=members_of(CameraRecord)):
    """The state that a camera reports; null means that a value is not known."""


class FileJson(JsonObject, of=members_of(FileRecord)):
    """A file on a camera's card."""


class MissingJson(JsonObject, of=members_of(MissingRecord)):
    """A camera that was expected to record in a take, and did not."""


class AbsentAdapterJson(JsonObject, of=members_of(AbsentRecord)):
    """An adapter that is reserved for a device, or was there since the start, and is not plugged in."""


_OBJECTS: Final[dict[type[Record], type[JsonObject]]] = {
    CameraRecord: CameraJson,
    AbsentRecord: AbsentAdapterJson,
    FileRecord: FileJson,
    MissingRecord: MissingJson,
}
"""The objects of records that are members of others."""


class HistoryRowJson(JsonObject, of=members_of(HistoryRecord)):
    """One entry of the history."""


_OBJECTS[HistoryRecord] = HistoryRowJson


class TakeJson(JsonObject, of=members_of(TakeRecord)):
    """A take: the recordings from the begin of one while no other runs until none runs."""


DEVICE_MEMBERS: Final = members_of(DeviceRecord)
"""The members of a device's JSON object, in order."""
STATUS_MEMBERS: Final = tuple(one for one in DEVICE_MEMBERS if one.in_status)
"""Those about the state of its connection."""
_BY_NAME: Final = {one.name: one for one in DEVICE_MEMBERS}
_STEPS: Final = [*(one.value for one in DeviceState), FAILED]


class DeviceJson(JsonObject, of=DEVICE_MEMBERS):
    """A registered camera."""


class StatusUpdateJson(
    JsonObject,
    of=(
        _BY_NAME["id"],
        _BY_NAME["name"],
        replace(_BY_NAME["connection_status"], type=Annotated[str, Keywords(enum=_STEPS)]),
        *STATUS_MEMBERS[1:],
    ),
):
    """A step of a device's connection."""


class PowerStateJson(JsonObject, of=(_BY_NAME["id"], _BY_NAME["power_state"], _BY_NAME["last_seen"])):
    """Whether a camera sleeps."""


class CameraUpdateJson(JsonObject, of=(_BY_NAME["id"], _BY_NAME["camera"])):
    """The state that a camera reports has changed."""


class StatusJson(
    JsonObject,
    of=(
        Member("device_connection_id", Id, attrgetter("id")),
        Member("device_name", str, attrgetter("name")),
        _BY_NAME["connection_type"],
        *STATUS_MEMBERS,
        Member("is_wifi_connection", Annotated[bool, Keywords(const=True)], lambda _: True),
    ),
):
    """The state of a device's connection."""


_USB: Final = "usb."
_INTERFACE: Final = members_of(InterfaceRecord)


class UsbJson(
    JsonObject,
    of=[replace(one, name=one.name.removeprefix(_USB)) for one in _INTERFACE if one.name.startswith(_USB)],
):
    """The USB device behind an interface."""


def _interface_members() -> tuple[Member, ...]:
    usb = Member("usb", UsbJson, UsbJson.of)
    named = {(usb.name if one.name.startswith(_USB) else one.name): one for one in _INTERFACE}
    return tuple(usb if name == usb.name else one for name, one in named.items())


class ResultJson(JsonObject, of=members_of(ResultRecord)):
    """The result of a command to several cameras at one of them."""


class OutcomeJson(JsonObject, of=members_of(OutcomeRecord)):
    """The outcome of a command to a group at one of its devices."""


class OutcomesJson(TypedDict):
    """The outcomes of a command to a group."""

    results: Annotated[list[OutcomeJson], "One for each device of the group."]


class GroupJson(TypedDict):
    """A group of the configuration."""

    name: str
    device_ids: Annotated[list[Id], "Its registered devices."]
    missing: Annotated[list[str], "What it names that is not a registered device: names, and ids in digits."]


class GroupsJson(TypedDict):
    """The groups of the configuration."""

    groups: list[GroupJson]


class ResultsJson(TypedDict):
    """The results of a command to several cameras."""

    results: Annotated[list[ResultJson], "One for each camera."]


class BluetoothDeviceJson(JsonObject, of=members_of(BluetoothRecord)):
    """A camera that was heard over Bluetooth."""


class BluetoothDevicesJson(TypedDict):
    """The cameras that were heard over Bluetooth lately."""

    bluetooth_devices: Annotated[list[BluetoothDeviceJson], "The strongest first."]


class InterfaceJson(JsonObject, of=_interface_members()):
    """A Wi-Fi interface of this host."""


class InterfacesJson(TypedDict):
    """Every interface, and which device has which."""

    interfaces: list[InterfaceJson]
    available_interfaces: list[InterfaceName]
    interface_assignments: Annotated[dict[str, str], "Device id -> interface."]
    total_interfaces: Annotated[int, Keywords(minimum=0)]
    assigned_interfaces: Annotated[int, Keywords(minimum=0)]
    absent_adapters: Annotated[
        list[AbsentAdapterJson], "Reserved, or there since the start, and not plugged in: no interfaces."
    ]
    unmatched_reservations: Annotated[
        list[str], "Reservations of the configuration that name no registered device, each as a sentence."
    ]


class NetworkJson(JsonObject, of=members_of(NetworkRecord)):
    """A network in the scan results."""


class SearchJson(TypedDict):
    """The result of a scan."""

    networks: Annotated[list[NetworkJson], "The strongest first."]
    scanned_interfaces: Annotated[list[InterfaceName], "The interfaces that have scanned."]
    skipped_interfaces: Annotated[dict[str, str], "Why each of the others has not."]


class HistoryJson(TypedDict):
    """Entries of the history."""

    history: Annotated[list[HistoryRowJson], "The newest first."]


class TakesJson(TypedDict):
    """Takes."""

    takes: Annotated[list[TakeJson], "The newest first."]


class FindingJson(JsonObject, of=members_of(FindingRecord)):
    """Something that stands in the way of a camera that is to be ready."""


class CheckJson(TypedDict):
    """Whether cameras are ready."""

    ok: Annotated[bool, "Some were checked, and nothing was found."]
    checked: Annotated[list[Id], "The devices that were checked."]
    findings: Annotated[list[FindingJson], "What stands in the way, the most urgent first."]


class ServiceJson(JsonObject, of=[one for one in members_of(ServiceRecord) if one.in_status]):
    """The state of the backend, which joins networks."""
