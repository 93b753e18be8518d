"""The records that clients see: devices, interfaces, networks, rows of the history, and the service.

Each field is declared here and nowhere else.

These classes are the source of the records' form on D-Bus and its introspection XML, of the JSON of HTTP, of
the channel and of `wifimgrctl --json`, of OpenAPI, AsyncAPI and the page's types. A field has one name:
`waiting_since` here and in JSON is the property `WaitingSince` on D-Bus, unless its Field gives another one.
An entry of a row, which is a dictionary in the reply of a method, is named as here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Annotated, Final

from wifimgrd.domain._findings import ORDER
from wifimgrd.domain.adapter import Band
from wifimgrd.domain.camera import (
    BatteryState,
    CameraStatus,
    CommandResult,
    Problem,
    StorageState,
    TemperatureState,
)
from wifimgrd.domain.commands import BLUETOOTH, CAMERA, POWER
from wifimgrd.domain.device import CONNECTION_TYPE, ConnectionPhase, DeviceState, DeviceStatus, PowerState
from wifimgrd.domain.device_values import MAC_PATTERN, USB_PORT_PATTERN
from wifimgrd.domain.errors import ErrorCode, WifimgrdError
from wifimgrd.domain.events import BackendState
from wifimgrd.domain.fields import Field, Kind, Record
from wifimgrd.domain.history import HistoryKind, HistoryRow
from wifimgrd.domain.interface import InterfaceState, InterfaceStatus
from wifimgrd.domain.link_steps import LinkStep
from wifimgrd.domain.network import Network, Security
from wifimgrd.domain.power import Advertiser, BluetoothState
from wifimgrd.domain.recordings import Recording
from wifimgrd.domain.recovery import Health
from wifimgrd.domain.reservation import AbsentAdapter
from wifimgrd.domain.sentences import SHARES_RADIO
from wifimgrd.domain.takes import Take

INTERFACE_NAME: Final = "The kernel's name of the interface, e.g. `wlan0`."

PIN_SCHEMA: Final[Mapping[str, object]] = MappingProxyType(
    {
        "properties": {
            "mac": {"type": "string", "pattern": f"^{MAC_PATTERN}$"},
            "usb_port": {"type": "string", "pattern": f"^{USB_PORT_PATTERN}$"},
        },
        "minProperties": 1,
        "maxProperties": 1,
        "additionalProperties": False,
    }
)
"""The keywords of the JSON Schema of a device's pin."""


def _one_of(values: type[StrEnum]) -> Mapping[str, object]:
    return {"enum": [one.value for one in values]}


@dataclass(frozen=True, slots=True)
class CameraRecord(Record):
    """The state that a camera reports, as clients see it."""

    battery_level: Annotated[int | None, Field(Kind.LEVEL, "How full the battery is.")] = None
    battery_state: Annotated[
        str | None, Field(Kind.TEXT, "`charging` or `discharging`.", _one_of(BatteryState))
    ] = None
    recording_state: Annotated[
        str | None,
        Field(Kind.RECORDING, "Whether it records, if that is known.", json="recording"),
    ] = None
    recording_since: Annotated[int | None, Field(Kind.TIME, "Since when it records.")] = None
    recording_requested: Annotated[
        bool, Field(Kind.FLAG, "Whether the last command to it was to record.")
    ] = False
    storage_state: Annotated[
        str | None,
        Field(
            Kind.TEXT,
            "The state of its card: `ok`, `full`, `missing`, `error` or `slow`.",
            _one_of(StorageState),
        ),
    ] = None
    storage_free: Annotated[int | None, Field(Kind.BYTES, "What is free on its card.")] = None
    storage_total: Annotated[int | None, Field(Kind.BYTES, "The size of its card.")] = None
    recording_time_left: Annotated[
        int | None, Field(Kind.DURATION, "How long it can record.", json="recording_time_left_s")
    ] = None
    temperature_state: Annotated[
        str | None,
        Field(Kind.TEXT, "`too-cold`, `normal`, `warning` or `too-hot`.", _one_of(TemperatureState)),
    ] = None
    clock_offset: Annotated[
        int, Field(Kind.OFFSET, "The camera's clock minus this host's.", json="clock_offset_ms")
    ] = 0
    clock_bound: Annotated[
        int | None,
        Field(Kind.BOUND, "The true offset is within that of `clock_offset`.", json="clock_bound_ms"),
    ] = None
    clock_read_at: Annotated[
        int | None, Field(Kind.TIME, "When the clock was read; without it the offset is not known.")
    ] = None
    model: Annotated[str | None, Field(Kind.TEXT, "The model that it says it is.")] = None
    serial_number: Annotated[str | None, Field(Kind.TEXT, "Its serial number.")] = None
    firmware_version: Annotated[str | None, Field(Kind.TEXT, "The version of its firmware.")] = None
    problems: Annotated[
        tuple[str, ...],
        Field(
            Kind.TEXTS,
            "What is wrong with it, the most urgent first, as codes: docs/camera-control.md has them. Later"
            " versions may have others.",
            _one_of(Problem),
        ),
    ] = ()
    read_at: Annotated[
        int | None,
        Field(Kind.TIME, "When it was read last; published with another change, or after 10 s."),
    ] = None


@dataclass(frozen=True, slots=True)
class DeviceRecord(Record):
    """A device, as clients see it."""

    id: Annotated[int, Field(Kind.ID, "The device's id: positive, never reused.", is_constant=True)]
    name: Annotated[str, Field(Kind.TEXT, "What people call it.")] = ""
    codename: Annotated[str, Field(Kind.TEXT, "The camera's model, as in the catalog.")] = ""
    connection_type: Annotated[
        str, Field(Kind.TEXT, "`wifi`, the only one.", {"const": CONNECTION_TYPE}, is_constant=True)
    ] = CONNECTION_TYPE
    state: Annotated[
        str,
        Field(
            Kind.TEXT,
            "`disconnected`, `connecting`, `connected` or `disconnecting`.",
            _one_of(DeviceState),
            json="connection_status",
            in_status=True,
        ),
    ] = DeviceState.DISCONNECTED.value
    ssid: Annotated[bytes, Field(Kind.SSID, "The network's name, as bytes.", json="connection_settings")] = (
        b""
    )
    interface: Annotated[
        str | None, Field(Kind.INTERFACE, "The interface that it is assigned.", in_status=True)
    ] = None
    expected: Annotated[
        bool,
        Field(
            Kind.FLAG,
            "Whether it is one of the rig, which commands to all cameras are for: the last of its creation, a"
            " connect, a disconnect and a sleep asked for a connection, whatever became of that.",
        ),
    ] = False
    local_address: Annotated[str | None, Field(Kind.TEXT, "This host's IPv4 address on the link.")] = None
    camera_address: Annotated[
        str | None,
        Field(Kind.TEXT, "The camera's own address on the link: the gateway, or the one of its model."),
    ] = None
    signal_strength: Annotated[
        int | None, Field(Kind.PERCENT, "The strength of the signal.", while_connected=True)
    ] = None
    frequency: Annotated[
        int | None, Field(Kind.FREQUENCY, "The frequency of the link's primary channel.")
    ] = None
    tx_bitrate: Annotated[
        int | None,
        Field(
            Kind.BIT_RATE,
            "The bit rate to the camera. It is read every 10 s; a change of less than 10 % is not published.",
        ),
    ] = None
    rx_bitrate: Annotated[
        int | None, Field(Kind.BIT_RATE, "The bit rate from the camera, read and published likewise.")
    ] = None
    address: Annotated[
        str | None,
        Field(
            Kind.TEXT,
            "The IPv4 address at which programs on this host reach the camera while it is connected. It is"
            " the device's own for life; there is none if addresses are switched off or used up"
            " (`[cameras] network`).",
        ),
    ] = None
    reachable: Annotated[
        bool,
        Field(
            Kind.FLAG,
            "Whether it is connected and answers. It is checked at intervals: true from an answer on, the one"
            " that gave this host its address included; false after three checks in a row without an answer.",
            while_connected=True,
        ),
    ] = False
    last_connection_attempt: Annotated[
        int | None, Field(Kind.TIME, "When the last attempt to connect began.", in_status=True)
    ] = None
    last_successful_connection: Annotated[
        int | None, Field(Kind.TIME, "When it was last connected.", in_status=True)
    ] = None
    last_disconnection: Annotated[
        int | None, Field(Kind.TIME, "When its last connection ended.", in_status=True)
    ] = None
    connection_error_code: Annotated[
        str | None,
        Field(
            Kind.TEXT,
            "Why the last attempt or link ended; kept until an attempt succeeds.",
            _one_of(ErrorCode),
            in_status=True,
        ),
    ] = None
    connection_error_message: Annotated[
        str | None, Field(Kind.TEXT, "The same as a sentence for people.", in_status=True)
    ] = None
    connection_error_at: Annotated[
        int | None, Field(Kind.TIME, "When that happened, if it is known.", in_status=True)
    ] = None
    waiting_since: Annotated[
        int | None,
        Field(
            Kind.TIME,
            "Since when it waits for a free adapter; set until the outcome of its attempt.",
            in_status=True,
        ),
    ] = None
    connection_phase: Annotated[
        str | None,
        Field(
            Kind.TEXT,
            "What its attempt to connect, or its wake, does now: `waking` or `joining`.",
            _one_of(ConnectionPhase),
            in_status=True,
        ),
    ] = None
    recovery_step: Annotated[
        str | None,
        Field(
            Kind.TEXT,
            "The recovery step that runs for it: it was connected, and did not answer.",
            _one_of(LinkStep),
            in_status=True,
        ),
    ] = None
    power_state: Annotated[
        str | None,
        Field(
            Kind.TEXT,
            "Whether the camera sleeps, if it was seen in the last 60 s: `asleep` (it advertises over"
            " Bluetooth, and its Wi-Fi is off) or `awake`.",
            _one_of(PowerState),
            in_status=True,
            interface=POWER,
        ),
    ] = None
    last_seen: Annotated[
        int | None,
        Field(
            Kind.TIME,
            "When it was last seen over Bluetooth; published with another change, or after 10 s.",
            in_status=True,
            interface=POWER,
        ),
    ] = None
    auto_wake: Annotated[
        bool | None,
        Field(
            Kind.FLAG,
            "Whether it may be woken without a command: for any attempt to connect, at most three times an"
            " hour.",
            in_status=True,
            interface=POWER,
        ),
    ] = None
    paired: Annotated[
        bool | None,
        Field(Kind.FLAG, "Whether it is paired with this hub.", in_status=True, interface=BLUETOOTH),
    ] = None
    bluetooth_address: Annotated[
        str | None,
        Field(
            Kind.TEXT,
            "The Bluetooth address of the camera that is paired.",
            dbus="Address",
            in_status=True,
            interface=BLUETOOTH,
        ),
    ] = None
    camera: Annotated[
        CameraRecord | None,
        Field(
            Kind.RECORD,
            "What the camera says of itself; null for models without a driver. Once the link has ended,"
            " battery and card keep their last values.",
            interface=CAMERA,
        ),
    ] = None
    icon: Annotated[
        str | None,
        Field(
            Kind.TEXT,
            "The address of an icon of its model: a path of the HTTP service, or a complete address.",
            json="device_type_icon_url",
        ),
    ] = None
    auto_reconnect: Annotated[
        bool, Field(Kind.FLAG, "Whether it is reconnected automatically after its link was lost.")
    ] = True
    priority: Annotated[
        int,
        Field(Kind.NUMBER, "If adapters are scarce, the device of higher priority is reconnected first."),
    ] = 0
    lost_at: Annotated[
        int | None,
        Field(
            Kind.TIME,
            "When its link was lost, while it is being reconnected; after a restart of the daemon, since when"
            " that is tried.",
        ),
    ] = None
    pin: Annotated[
        Mapping[str, str] | None,
        Field(
            Kind.MAPPING,
            "The adapter that is reserved for it, by its MAC address (`mac`) or its USB port (`usb_port`)."
            " Where the configuration (`[[interfaces.reserve]]`) has another rule, that one counts, and there"
            " is a warning.",
            PIN_SCHEMA,
        ),
    ] = None
    warnings: Annotated[
        tuple[str, ...],
        Field(
            Kind.TEXTS,
            "Settings that were accepted and may be mistakes, as sentences: such as a network that is"
            " registered twice, or a pin to a USB port where no adapter is.",
        ),
    ] = ()

    @property
    def is_connected(self) -> bool:
        """Whether it is connected; the fields that are `while_connected` count only then."""
        return self.state == DeviceState.CONNECTED.value


@dataclass(frozen=True, slots=True)
class InterfaceRecord(Record):
    """A Wi-Fi interface of this host, as clients see it."""

    name: Annotated[str, Field(Kind.TEXT, INTERFACE_NAME, is_constant=True)]
    state: Annotated[
        str, Field(Kind.TEXT, "`available`, `in-use` or `unavailable`.", _one_of(InterfaceState))
    ] = InterfaceState.AVAILABLE.value
    reason: Annotated[str | None, Field(Kind.TEXT, "Why it is unavailable.")] = None
    device_id: Annotated[
        int | None, Field(Kind.DEVICE, "The device that it is assigned to.", dbus="Device")
    ] = None
    reserved_device_id: Annotated[
        int | None,
        Field(
            Kind.DEVICE,
            "The device for which the configuration (`[[interfaces.reserve]]`) or its pin keeps it. No other"
            " device is assigned it, so that it is not free, though `available`, but for that device.",
            dbus="ReservedDevice",
        ),
    ] = None
    mac_address: Annotated[str | None, Field(Kind.TEXT, "The adapter's permanent MAC address.")] = None
    driver: Annotated[str | None, Field(Kind.TEXT, "The kernel's driver.")] = None
    usb_vendor_id: Annotated[
        str | None, Field(Kind.TEXT, "Four hexadecimal digits.", json="usb.vendor_id")
    ] = None
    usb_product_id: Annotated[
        str | None, Field(Kind.TEXT, "Four hexadecimal digits.", json="usb.product_id")
    ] = None
    usb_product: Annotated[
        str | None,
        Field(Kind.TEXT, "The product's name in the adapter's descriptor.", json="usb.product"),
    ] = None
    usb_port: Annotated[str | None, Field(Kind.TEXT, "The USB port, e.g. `1-1.4`.", json="usb.port")] = None
    bands: Annotated[
        tuple[str, ...],
        Field(Kind.TEXTS, "`2.4GHz`, `5GHz`, `6GHz`; empty if they are not known.", _one_of(Band)),
    ] = ()
    health: Annotated[
        str | None,
        Field(
            Kind.TEXT,
            "What is known of its radio: `suspect` (it is being checked), `recovering` (a recovery step"
            " runs), `quarantined`, `good`; unknown until it has received anything.",
            _one_of(Health),
        ),
    ] = None
    health_reason: Annotated[
        str | None, Field(Kind.TEXT, "Why its radio may not work; times are of this host's time zone.")
    ] = None

    @property
    def leads_radio(self) -> bool:
        """Whether it stands for its adapter, and is not another interface of the same radio."""
        return not (self.reason or "").startswith(SHARES_RADIO)

    @property
    def is_free(self) -> bool:
        """Whether any device may be assigned it now."""
        return self.state == InterfaceState.AVAILABLE.value and self.reserved_device_id is None

    @property
    def is_kept(self) -> bool:
        """Whether it waits for the device that it is reserved for."""
        return self.state == InterfaceState.AVAILABLE.value and self.reserved_device_id is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkRecord(Record):
    """A network in the scan results."""

    ssid: Annotated[bytes, Field(Kind.SSID, "The network's name, as bytes.")]
    bssids: Annotated[tuple[str, ...], Field(Kind.TEXTS, "Its access points, the strongest first.")]
    frequencies_mhz: Annotated[
        tuple[int, ...], Field(Kind.NUMBERS, "In MHz, one for each access point.", dbus="frequencies")
    ]
    security: Annotated[
        str,
        Field(
            Kind.TEXT,
            "`open`, `owe`, `wep`, `wpa`, `wpa2`, `wpa2-wpa3`, `wpa3` or `enterprise`.",
            _one_of(Security),
        ),
    ]
    bands: Annotated[
        tuple[str, ...],
        Field(
            Kind.TEXTS, "`2.4GHz`, `5GHz`, `6GHz`, that of the strongest access point first.", _one_of(Band)
        ),
    ]
    signal_strength: Annotated[int, Field(Kind.PERCENT, "That of the strongest access point.")]
    last_seen: Annotated[int | None, Field(Kind.TIME, "When it was last received, if that is known.")] = None
    interfaces: Annotated[
        tuple[str, ...],
        Field(Kind.TEXTS, "The interfaces that received it.", {"description": INTERFACE_NAME}),
    ]
    device_id: Annotated[
        int | None,
        Field(Kind.DEVICE, "The registered device with this SSID, the first of several.", dbus="device"),
    ] = None
    codename: Annotated[str | None, Field(Kind.TEXT, "The camera model that it seems to be of.")] = None


@dataclass(frozen=True, slots=True)
class SearchRecord:
    """The result of a scan: the replies of two methods."""

    networks: tuple[NetworkRecord, ...]
    scanned: tuple[str, ...]
    """The interfaces that have scanned."""
    skipped: Mapping[str, str]
    """Why each of the other interfaces has not scanned."""


@dataclass(frozen=True, slots=True)
class SignalHistoryRecord:
    """The signal and the battery of a device over time."""

    step_us: int
    """From one sample to the next, microseconds."""
    samples: Sequence[tuple[int, int, int]]
    """When each begins, microseconds since the epoch, the mean and the minimum, percent; the earlier ones
    first."""
    battery: Sequence[int | None]
    """In the same order: how full the battery was, percent; None = not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRecord(Record):
    """A file on a camera's card."""

    name: Annotated[str, Field(Kind.TEXT, "Its path on the camera. Cameras name files alike.")]
    size: Annotated[int | None, Field(Kind.BYTES, "Its size.")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryRecord(Record):
    """A row of the history."""

    id: Annotated[int, Field(Kind.ID, "Larger than that of any row before.")]
    time: Annotated[int, Field(Kind.TIME, "When it happened or began.")]
    device_id: Annotated[int | None, Field(Kind.ID, "The device, which may have been removed since.")] = None
    device_name: Annotated[str | None, Field(Kind.TEXT, "Its name at that time.")] = None
    kind: Annotated[
        str,
        Field(
            Kind.TEXT,
            "`session`, `interruption` (a link that dropped and came back in time, while its session goes"
            " on), `failure`, `wake`, `recording`, `problem`, `refusal` (a connected camera did not record or"
            " stop as it was told), `adapter`, `recovery` (a step for a camera that was connected and did not"
            " answer) or `backend`. Later versions may have others.",
            _one_of(HistoryKind),
        ),
    ]
    interface: Annotated[str | None, Field(Kind.TEXT, INTERFACE_NAME)] = None
    code: Annotated[
        str | None,
        Field(
            Kind.TEXT,
            "Why a session or a recording ended, a link was interrupted, an attempt or a wake failed or a"
            " camera did not obey; which problem it was; what happened to an adapter or a backend; which"
            " recovery step was taken.",
        ),
    ] = None
    message: Annotated[
        str | None,
        Field(
            Kind.TEXT,
            "The same as a sentence for people; of a recovery step why it was taken, and its result.",
        ),
    ] = None
    ended: Annotated[
        int | None,
        Field(
            Kind.TIME,
            "When a session, an interruption, a recording, a problem or a recovery step ended; of one that"
            " lasts there is none.",
        ),
    ] = None
    signal_minimum: Annotated[int | None, Field(Kind.PERCENT, "The weakest signal of a session.")] = None
    signal_mean: Annotated[int | None, Field(Kind.PERCENT, "The mean signal of a session.")] = None
    serial_number: Annotated[
        str | None, Field(Kind.TEXT, "The serial number of the camera of a recording.")
    ] = None
    battery_level: Annotated[
        int | None, Field(Kind.LEVEL, "How full its battery was at the begin of the recording.")
    ] = None
    battery_level_after: Annotated[
        int | None, Field(Kind.LEVEL, "How full its battery was at the end of the recording.")
    ] = None
    storage_free: Annotated[
        int | None, Field(Kind.BYTES, "What was free on its card at the begin of the recording.")
    ] = None
    storage_free_after: Annotated[
        int | None, Field(Kind.BYTES, "What was free on its card at the end of the recording.")
    ] = None
    clock_offset: Annotated[
        int | None,
        Field(
            Kind.OFFSET,
            "Its clock minus this host's, as last read before the begin of the recording.",
            json="clock_offset_ms",
        ),
    ] = None
    clock_bound: Annotated[
        int | None,
        Field(Kind.BOUND, "The true offset is within that of `clock_offset`.", json="clock_bound_ms"),
    ] = None
    files: Annotated[
        tuple[FileRecord, ...] | None,
        Field(Kind.RECORDS, "The files of the recording, in the order in which they were written."),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingRecord(Record):
    """A camera that was expected to record in a take, and did not."""

    device_id: Annotated[int, Field(Kind.ID, "The device, which may have been removed since.")]
    device_name: Annotated[str, Field(Kind.TEXT, "Its name at that time.")]
    code: Annotated[
        str | None,
        Field(Kind.TEXT, "Why the command to record failed, if it was told to.", _one_of(ErrorCode)),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TakeRecord(Record):
    """A take: the recordings from the begin of one while no other runs until none runs."""

    time: Annotated[int, Field(Kind.TIME, "When its first recording began.")]
    ended: Annotated[int | None, Field(Kind.TIME, "When its last recording ended; without it, one runs.")] = (
        None
    )
    recordings: Annotated[
        tuple[HistoryRecord, ...],
        Field(Kind.RECORDS, "Its recordings, as rows of the history, the first one first."),
    ]
    missing: Annotated[
        tuple[MissingRecord, ...],
        Field(
            Kind.RECORDS,
            "The devices with a driver that were expected when it began, and have no recording in it.",
        ),
    ]


@dataclass(frozen=True, slots=True)
class AbsentRecord(Record):
    """An adapter that is reserved, or was plugged in since the daemon's start, and is not now."""

    device_id: Annotated[
        int | None,
        Field(Kind.DEVICE, "The device that it is reserved for.", {"minimum": 1}, dbus="device"),
    ] = None
    mac_address: Annotated[
        str | None,
        Field(Kind.TEXT, "By which it is reserved; of one that is not, its MAC address.", dbus="mac"),
    ] = None
    usb_port: Annotated[
        str | None, Field(Kind.TEXT, "By which it is reserved; of one that is not, where it was.")
    ] = None
    interface: Annotated[str | None, Field(Kind.TEXT, "Its interface when it was last plugged in.")] = None
    product: Annotated[str | None, Field(Kind.TEXT, "The product's name in its descriptor.")] = None
    unplugged_at: Annotated[
        int | None,
        Field(
            Kind.TIME,
            "When it was unplugged, if it was there since the daemon's start.",
            dbus="unplugged",
        ),
    ] = None
    last_device_id: Annotated[
        int | None,
        Field(
            Kind.DEVICE,
            "The device that used it last, if it was there since the daemon's start.",
            {"minimum": 1},
            dbus="last_device",
        ),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BluetoothRecord(Record):
    """A camera that was heard over Bluetooth."""

    address: Annotated[str, Field(Kind.TEXT, "Its Bluetooth address.")]
    name: Annotated[str | None, Field(Kind.TEXT, "The name that it advertises.")] = None
    codename: Annotated[
        str | None, Field(Kind.TEXT, "The camera model that it is of, if only one is possible.")
    ] = None
    power_state: Annotated[
        str | None, Field(Kind.TEXT, "`asleep` or `awake`, if it says that.", _one_of(PowerState))
    ] = None
    pairing_mode: Annotated[bool, Field(Kind.FLAG, "Whether it can be paired now.")] = False
    rssi: Annotated[int | None, Field(Kind.DBM, "How strongly it was received.")] = None
    device_id: Annotated[
        int | None, Field(Kind.DEVICE, "The registered device that it is.", dbus="device")
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeRecord(Record):
    """The outcome of a command to several devices at one of them."""

    device_id: Annotated[int, Field(Kind.DEVICE, "The device.", {"minimum": 1}, dbus="device")]
    done: Annotated[bool, Field(Kind.FLAG, "Whether it does what was wanted.")]
    code: Annotated[str | None, Field(Kind.TEXT, "Why it does not.", _one_of(ErrorCode))] = None
    message: Annotated[str | None, Field(Kind.TEXT, "The same as a sentence for people.")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultRecord(OutcomeRecord):
    """The result of a command to several cameras at one of them."""

    after: Annotated[
        int | None,
        Field(
            Kind.ELAPSED,
            "The time from the sending of the request to the camera's answer, if there was one.",
            json="after_ms",
        ),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingRecord(Record):
    """Something that stands in the way of a camera that is to be ready."""

    device_id: Annotated[int, Field(Kind.DEVICE, "The device.", {"minimum": 1}, dbus="device")]
    code: Annotated[
        str,
        Field(
            Kind.TEXT,
            "What it is: `not-connected` (nothing else is told of such a device), `not-answering` (also while"
            " a recovery step runs for it), a problem of the camera; `recording-unknown`, `battery-unknown`,"
            " `storage-unknown` or `clock-unknown` if the value was asked for and is not known, or not read"
            " in this connection; the first one also of a camera that was told to record.",
            {"enum": [str(one) for one in ORDER]},
        ),
    ]
    message: Annotated[str, Field(Kind.TEXT, "The same as a sentence for people.")]


@dataclass(frozen=True, slots=True)
class CheckRecord:
    """The result of a check whether cameras are ready."""

    ok: bool
    """Some were checked, and nothing was found."""
    checked: tuple[int, ...]
    """The devices, by id."""
    findings: tuple[FindingRecord, ...]
    """The most urgent first."""


@dataclass(frozen=True, slots=True)
class ServiceRecord(Record):
    """The daemon and its backend, which joins networks."""

    version: Annotated[
        str, Field(Kind.TEXT, "The version of wifimgrd; empty if it was never available.", is_constant=True)
    ] = ""
    backend: Annotated[
        str,
        Field(
            Kind.TEXT,
            "What joins networks: `networkmanager`, `wpa_supplicant` or `simulated`; empty if the daemon was"
            " never available.",
            in_status=True,
            is_constant=True,
        ),
    ] = ""
    backend_choice: Annotated[
        str,
        Field(
            Kind.TEXT,
            "Why it is this backend, as a sentence; empty if the configuration names it.",
            is_constant=True,
        ),
    ] = ""
    backend_state: Annotated[
        str,
        Field(Kind.TEXT, "`ready`, `starting` or `unavailable`.", _one_of(BackendState), in_status=True),
    ] = BackendState.UNAVAILABLE.value
    backend_reason: Annotated[
        str,
        Field(Kind.TEXT, "Why it is not ready, as a sentence; empty if it is ready.", in_status=True),
    ] = ""
    bluetooth_state: Annotated[
        str,
        Field(
            Kind.TEXT,
            "Whether cameras can be found and woken over Bluetooth: `ready`, `off` or `absent`.",
            _one_of(BluetoothState),
            in_status=True,
        ),
    ] = BluetoothState.ABSENT.value
    bluetooth_reason: Annotated[
        str, Field(Kind.TEXT, "Why they cannot, as a sentence; empty if they can.", in_status=True)
    ] = ""
    total_interfaces: Annotated[
        int, Field(Kind.COUNT, "How many interfaces are listed; of several of one radio, one counts.")
    ] = 0
    assigned_interfaces: Annotated[int, Field(Kind.COUNT, "How many interfaces are in use by a device.")] = 0
    absent_adapters: Annotated[
        tuple[AbsentRecord, ...],
        Field(
            Kind.RECORDS,
            "The adapters that are not plugged in, one row for each: those that are reserved for a device, by"
            " the configuration or its pin, and the last 32 that were there since the daemon's start.",
        ),
    ] = ()
    groups: Annotated[
        Mapping[str, tuple[int, ...]],
        Field(Kind.GROUPS, "The groups of the configuration, and the registered devices in each."),
    ] = field(default_factory=lambda: MappingProxyType({}))
    missing_members: Annotated[
        Mapping[str, tuple[str, ...]],
        Field(
            Kind.TEXTS_OF,
            "What groups of the configuration name that is not a registered device, as it is written there:"
            " names, and ids in digits. Without the groups that lack nothing.",
        ),
    ] = field(default_factory=lambda: MappingProxyType({}))
    unmatched_reservations: Annotated[
        tuple[str, ...],
        Field(
            Kind.TEXTS,
            "The reservations of the configuration that name no registered device, each as a sentence.",
        ),
    ] = ()
    recoveries: Annotated[
        Mapping[str, int],
        Field(
            Kind.COUNTS,
            "How often each recovery step was taken since the daemon's start: `rescan`, `restart`, `replug`"
            " and `quarantine` with adapters that do not work; `rejoin`, `other-adapter`, `reset-port`,"
            " `power-port`, `camera-access-point` and `reboot-camera` for cameras that were connected and did"
            " not answer.",
        ),
    ] = field(default_factory=lambda: MappingProxyType({}))


def device_record(status: DeviceStatus) -> DeviceRecord:
    """A device for clients."""
    device, link, failure, pin = status.device, status.link, status.device.failure, status.device.pin
    power = status.power
    is_pairable = power is not None and power.is_paired is not None
    pinned = {name: text for name, text in (("mac", pin.mac), ("usb_port", pin.usb_port)) if text}
    return DeviceRecord(
        id=device.id,
        name=device.name,
        codename=device.codename,
        state=status.state.value,
        ssid=device.ssid.data,
        expected=device.expected,
        interface=status.interface,
        local_address=link.local_address if link else None,
        camera_address=link.camera_address if link else None,
        signal_strength=link.signal_percent if link else None,
        frequency=link.sighting.frequency_mhz if link and link.sighting else None,
        tx_bitrate=(link.rates.tx_kbps or None) if link else None,
        rx_bitrate=(link.rates.rx_kbps or None) if link else None,
        address=status.address or None,
        reachable=status.reachable,
        last_connection_attempt=device.last_attempt_us or None,
        last_successful_connection=device.last_success_us or None,
        last_disconnection=device.last_disconnection_us or None,
        connection_error_code=failure.code.value if failure else None,
        connection_error_message=failure.message if failure else None,
        connection_error_at=failure.at_us if failure else None,
        waiting_since=device.waiting_since_us or None,
        connection_phase=status.phase.value if status.phase else None,
        recovery_step=status.recovery_step.value if status.recovery_step else None,
        power_state=power.state.value if power is not None and power.state else None,
        last_seen=(power.seen_us or None) if power is not None else None,
        auto_wake=device.auto_wake if power is not None else None,
        paired=power.is_paired if power is not None else None,
        bluetooth_address=(device.bluetooth_address or None) if is_pairable else None,
        camera=camera_record(status.camera) if status.camera is not None else None,
        icon=status.icon or None,
        auto_reconnect=device.auto_reconnect,
        priority=device.priority,
        lost_at=status.lost_us or None,
        pin=pinned or None,
        warnings=status.warnings,
    )


def camera_record(status: CameraStatus) -> CameraRecord:
    """The state that a camera reports, for clients."""
    reading = status.reading
    return CameraRecord(
        battery_level=reading.battery_level,
        battery_state=_text(reading.battery_state),
        recording_state=_text(reading.recording),
        recording_since=reading.recording_since_us,
        recording_requested=status.requested,
        storage_state=_text(reading.storage_state),
        storage_free=reading.storage_free,
        storage_total=reading.storage_total,
        recording_time_left=None if reading.time_left_s is None else reading.time_left_s * 1_000_000,
        temperature_state=_text(reading.temperature),
        clock_offset=reading.clock_offset_us or 0,
        clock_bound=reading.clock_bound_us,
        clock_read_at=reading.clock_read_us or None,
        model=reading.model or None,
        serial_number=reading.serial_number or None,
        firmware_version=reading.firmware_version or None,
        problems=tuple(one.value for one in status.problems),
        read_at=reading.read_us or None,
    )


def _text(value: StrEnum | None) -> str | None:
    return None if value is None else value.value


def outcome_record(device_id: int, error: WifimgrdError | None) -> OutcomeRecord:
    """The outcome of a command at one device, for clients."""
    code, message = (None, None) if error is None else (error.code.value, error.message)
    return OutcomeRecord(device_id=device_id, done=error is None, code=code, message=message)


def result_record(device_id: int, result: CommandResult) -> ResultRecord:
    """The result of a command at one camera, for clients."""
    error = result.error
    return ResultRecord(
        device_id=device_id,
        done=error is None,
        after=result.after_us or None,
        code=None if error is None else error.code.value,
        message=None if error is None else error.message,
    )


def interface_record(status: InterfaceStatus) -> InterfaceRecord:
    """An interface for clients."""
    adapter = status.interface.adapter
    return InterfaceRecord(
        name=adapter.name,
        state=status.state.value,
        reason=status.reason or None,
        device_id=status.device_id,
        reserved_device_id=status.interface.reserved_for,
        mac_address=adapter.identity.mac,
        driver=adapter.driver,
        usb_vendor_id=adapter.usb_vendor_id,
        usb_product_id=adapter.usb_product_id,
        usb_product=adapter.usb_product,
        usb_port=adapter.identity.usb_port,
        bands=tuple(sorted(band.value for band in status.interface.facts.bands)),
        health=status.interface.health,
        health_reason=status.interface.health_reason or None,
    )


def network_record(network: Network) -> NetworkRecord:
    """A network for clients."""
    sightings = [point.sighting for point in network.points]
    return NetworkRecord(
        ssid=network.ssid.data,
        bssids=tuple(sighting.bssid for sighting in sightings),
        frequencies_mhz=tuple(sighting.frequency_mhz for sighting in sightings),
        security=network.security.value,
        bands=tuple(band.value for band in network.bands),
        signal_strength=network.signal_percent,
        last_seen=network.last_seen_us or None,
        interfaces=network.interfaces,
        device_id=network.device_id,
        codename=network.codename or None,
    )


def history_record(row: HistoryRow) -> HistoryRecord:
    """A row of the history for clients."""
    has_signal = row.signal_minimum is not None and row.signal_mean is not None
    known = row.recording or Recording()
    files = known.files
    return HistoryRecord(
        id=row.id,
        time=max(0, row.time_us),
        device_id=row.device_id or None,
        device_name=row.device_name or None,
        kind=row.kind.value,
        interface=row.interface or None,
        code=row.code or None,
        message=row.message or None,
        ended=row.ended_us or None,
        signal_minimum=row.signal_minimum if has_signal else None,
        signal_mean=row.signal_mean if has_signal else None,
        serial_number=known.serial_number or None,
        battery_level=known.battery_level,
        battery_level_after=known.battery_level_after,
        storage_free=known.storage_free,
        storage_free_after=known.storage_free_after,
        clock_offset=known.clock_offset_us,
        clock_bound=known.clock_bound_us,
        files=None if files is None else tuple(FileRecord(name=one.name, size=one.size) for one in files),
    )


def take_record(take: Take) -> TakeRecord:
    """A take for clients."""
    return TakeRecord(
        time=max(0, take.time_us),
        ended=take.ended_us or None,
        recordings=tuple(map(history_record, take.recordings)),
        missing=tuple(
            MissingRecord(device_id=one.device_id, device_name=one.device_name, code=one.code or None)
            for one in take.missing
        ),
    )


def absent_record(adapter: AbsentAdapter) -> AbsentRecord:
    """An adapter that is not plugged in, for clients."""
    return AbsentRecord(
        device_id=adapter.device,
        mac_address=adapter.pin.mac or None,
        usb_port=adapter.pin.usb_port or None,
        interface=adapter.interface or None,
        product=adapter.product or None,
        unplugged_at=adapter.unplugged_us or None,
        last_device_id=adapter.last_device,
    )


def bluetooth_record(seen: Advertiser, codename: str, device_id: int | None) -> BluetoothRecord:
    """A camera that was heard over Bluetooth, for clients."""
    return BluetoothRecord(
        address=seen.address,
        name=seen.name or None,
        codename=codename or None,
        power_state=seen.power_state.value if seen.power_state else None,
        pairing_mode=seen.pairing_mode,
        rssi=seen.rssi,
        device_id=device_id,
    )
