"""What the JSON values are made of, over HTTP and on the channel: the types that are served, and that
the API's description is made of.

In `Annotated` a text is a description.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, NotRequired, TypedDict

from wifimgrd.domain.adapter import Band
from wifimgrd.domain.device import DeviceState
from wifimgrd.domain.errors import ErrorCode
from wifimgrd.domain.events import BackendState
from wifimgrd.domain.interface import InterfaceState
from wifimgrd.domain.network import Security

FAILED: Final = "failed"
"""What a status update on the channel says of an attempt that failed, before its device's state."""


class Keywords:
    """In `Annotated`: further keywords of JSON Schema."""

    def __init__(self, **keywords: Any) -> None:
        self.keywords = keywords


Id = Annotated[int, "The device's id: positive, never reused.", Keywords(minimum=1)]
Time = Annotated[str, "RFC 3339, in UTC.", Keywords(format="date-time")]
Percent = Annotated[int, Keywords(minimum=0, maximum=100)]
State = Annotated[str, Keywords(enum=[one.value for one in DeviceState])]
Code = Annotated[str, "Why the last attempt or link ended; kept until an attempt succeeds.",
                 Keywords(enum=[one.value for one in ErrorCode])]  # fmt: skip
BandName = Annotated[str, Keywords(enum=[one.value for one in Band])]
Message = Annotated[str, "The same as a sentence for people."]
InterfaceName = Annotated[str, "The kernel's name of the interface, e.g. `wlan0`."]


class SettingsJson(TypedDict):
    """How a device is connected; a password is never told."""

    ssid: Annotated[str, "The network's name; what is not UTF-8 in it is replaced."]
    ssid_hex: NotRequired[
        Annotated[str, "The octets of a name that is not UTF-8.", Keywords(pattern="^[0-9a-f]+$")]
    ]


class DeviceJson(TypedDict):
    """A registered camera."""

    id: Id
    name: str
    codename: Annotated[str, "The camera's model, as in the catalog."]
    connection_type: Annotated[str, Keywords(const="wifi")]
    connection_status: State
    connected: bool
    connection_settings: SettingsJson
    interface: InterfaceName | None
    local_address: Annotated[str, "This host's address on the link."] | None
    camera_address: Annotated[str, "The camera's own address on the link."] | None
    signal_strength: Percent | None
    address: Annotated[str, "The address of this host's own that leads to the camera."] | None
    reachable: Annotated[bool, "Whether it answers; null while not connected."] | None
    last_connection_attempt: Time | None
    last_successful_connection: Time | None
    connection_error_code: Code | None
    connection_error_message: Message | None
    device_type_icon_url: Annotated[str, "The address of a picture of its model."] | None
    auto_reconnect: Annotated[bool, "Whether it is brought back after its link was lost."]
    priority: Annotated[int, "Who is brought back first where adapters are scarce: the higher."]
    lost_at: Annotated[Time, "When its link was lost, while it is being brought back."] | None


class StatusUpdateJson(TypedDict):
    """A step of a device's connection."""

    id: Id
    name: str
    connection_status: Annotated[str, Keywords(enum=[*(one.value for one in DeviceState), FAILED])]
    connected: bool
    interface: InterfaceName | None
    last_connection_attempt: Time | None
    last_successful_connection: Time | None
    connection_error_code: Code | None
    connection_error_message: Message | None


class StatusJson(TypedDict):
    """Where a device's connection stands."""

    device_connection_id: Id
    device_name: str
    connection_type: Annotated[str, Keywords(const="wifi")]
    connection_status: State
    connected: bool
    interface: InterfaceName | None
    last_connection_attempt: Time | None
    last_successful_connection: Time | None
    connection_error_code: Code | None
    connection_error_message: Message | None
    is_wifi_connection: Annotated[bool, Keywords(const=True)]


class UsbJson(TypedDict):
    """The USB device behind an interface."""

    vendor_id: str | None
    product_id: str | None
    product: str | None
    port: Annotated[str, "E.g. `1-1.4`."] | None


class InterfaceJson(TypedDict):
    """A Wi-Fi interface of this host."""

    name: InterfaceName
    state: Annotated[str, Keywords(enum=[one.value for one in InterfaceState])]
    reason: Annotated[str, "Why it is unavailable."] | None
    device_id: Annotated[int, "The device that has it."] | None
    mac_address: str | None
    driver: str | None
    usb: UsbJson
    bands: list[BandName]


class InterfacesJson(TypedDict):
    """Every interface, and who has which."""

    interfaces: list[InterfaceJson]
    available_interfaces: list[InterfaceName]
    interface_assignments: Annotated[dict[str, str], "Device id -> interface."]
    total_interfaces: Annotated[int, Keywords(minimum=0)]
    assigned_interfaces: Annotated[int, Keywords(minimum=0)]


class NetworkJson(TypedDict):
    """A network in the air."""

    ssid: Annotated[str, "Its name; what is not UTF-8 in it is replaced."]
    ssid_hex: Annotated[str, Keywords(pattern="^[0-9a-f]+$")]
    bssids: Annotated[list[str], "Its access points, the strongest first."]
    frequencies_mhz: Annotated[list[int], "One for each access point."]
    security: Annotated[str, Keywords(enum=[one.value for one in Security])]
    band: Annotated[BandName, "Of the strongest access point."]
    bands: list[BandName]
    signal_strength: Annotated[Percent, "Percent, of the strongest access point."]
    last_seen: Time | None
    interfaces: Annotated[list[InterfaceName], "Who heard it."]
    device_id: Annotated[int, "The registered device with this SSID."] | None


class AirJson(TypedDict):
    """What a search of the air brought."""

    networks: Annotated[list[NetworkJson], "The strongest first."]
    scanned_interfaces: Annotated[list[InterfaceName], "Who has searched."]
    skipped_interfaces: Annotated[dict[str, str], "Why each of the others has not."]


class ServiceJson(TypedDict):
    """How what joins networks is."""

    backend: Annotated[str, "`networkmanager` or `simulated`; empty where the daemon was never seen."]
    backend_state: Annotated[str, Keywords(enum=[one.value for one in BackendState])]
    backend_reason: Annotated[str, "Why it is not ready, as a sentence; empty where it is."]


class RemovedDeviceJson(TypedDict):
    """A device that was forgotten."""

    id: Id


class SignalJson(TypedDict):
    """How strong a connected device's signal is now, in steps of 5 %."""

    id: Id
    signal_strength: Percent


class RemovedInterfaceJson(TypedDict):
    """An adapter that was pulled out."""

    name: InterfaceName
