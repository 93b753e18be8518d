"""The types of the JSON values, over HTTP and on the channel. They are served, and the API's description
is made of them.

In `Annotated` a text is a description.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, NotRequired, TypedDict

from wifimgrd.domain.adapter import Band
from wifimgrd.domain.events import BackendState
from wifimgrd.domain.history import HistoryKind
from wifimgrd.domain.network import Security
from wifimgrd.domain.records import PIN_SCHEMA

FAILED: Final = "failed"
"""The type of a status update on the channel for a failed attempt; it precedes its device's state."""


class Keywords:
    """In `Annotated`: further keywords of JSON Schema."""

    def __init__(self, **keywords: Any) -> None:
        self.keywords = keywords


Id = Annotated[int, "The device's id: positive, never reused.", Keywords(minimum=1)]
Time = Annotated[str, "RFC 3339, in UTC.", Keywords(format="date-time")]
Percent = Annotated[int, Keywords(minimum=0, maximum=100)]
BandName = Annotated[str, Keywords(enum=[one.value for one in Band])]
InterfaceName = Annotated[str, "The kernel's name of the interface, e.g. `wlan0`."]


Pin = Annotated[dict[str, str], "An adapter, by its MAC address or its USB port.", Keywords(**PIN_SCHEMA)]


class SettingsJson(TypedDict):
    """How a device is connected; a password is never included."""

    ssid: Annotated[str, "The network's name; octets that are not UTF-8 are replaced."]
    ssid_hex: NotRequired[
        Annotated[str, "The octets of a name that is not UTF-8.", Keywords(pattern="^[0-9a-f]+$")]
    ]


class NetworkJson(TypedDict):
    """A network in the scan results."""

    ssid: Annotated[str, "Its name; octets that are not UTF-8 are replaced."]
    ssid_hex: Annotated[str, Keywords(pattern="^[0-9a-f]+$")]
    bssids: Annotated[list[str], "Its access points, the strongest first."]
    frequencies_mhz: Annotated[list[int], "One for each access point."]
    security: Annotated[str, Keywords(enum=[one.value for one in Security])]
    band: Annotated[BandName, "Of the strongest access point."]
    bands: list[BandName]
    signal_strength: Annotated[Percent, "Percent, of the strongest access point."]
    last_seen: Time | None
    interfaces: Annotated[list[InterfaceName], "The interfaces that received it."]
    device_id: Annotated[int, "The registered device with this SSID."] | None
    codename: Annotated[str, "The camera model that it seems to be of."] | None


class SearchJson(TypedDict):
    """The result of a scan."""

    networks: Annotated[list[NetworkJson], "The strongest first."]
    scanned_interfaces: Annotated[list[InterfaceName], "The interfaces that have scanned."]
    skipped_interfaces: Annotated[dict[str, str], "Why each of the others has not."]


class HistoryRowJson(TypedDict):
    """One entry of the history."""

    id: Annotated[int, "Larger than that of any row before.", Keywords(minimum=1)]
    time: Annotated[Time, "When it happened or began."]
    device_id: Annotated[int, "The device, which may have been removed since."] | None
    device_name: Annotated[str, "Its name at that time."] | None
    kind: Annotated[str, Keywords(enum=[one.value for one in HistoryKind])]
    interface: InterfaceName | None
    code: (
        Annotated[
            str,
            "Why a session ended, a link was interrupted or an attempt failed; what happened to an adapter or"
            " a backend.",
        ]
        | None
    )
    message: Annotated[str, "The same as a sentence for people."] | None
    ended: Annotated[Time, "When a session or an interruption ended."] | None
    signal_minimum: Annotated[Percent, "The weakest signal of a session."] | None
    signal_mean: Annotated[Percent, "The mean signal of a session."] | None


class HistoryJson(TypedDict):
    """Entries of the history."""

    history: Annotated[list[HistoryRowJson], "The newest first."]


class AbsentAdapterJson(TypedDict):
    """An adapter that is reserved for a device, and is not plugged in."""

    device_id: Id | None
    mac_address: Annotated[str, "By which it is reserved."] | None
    usb_port: Annotated[str, "By which it is reserved."] | None
    interface: Annotated[str, "Its interface when it was last plugged in."] | None
    product: str | None
    unplugged_at: (
        Annotated[Time, "When it was unplugged; null if it was not there since the daemon's start."] | None
    )


class ServiceJson(TypedDict):
    """The state of the backend, which joins networks."""

    backend: Annotated[str, "`networkmanager` or `simulated`; empty if the daemon was never available."]
    backend_state: Annotated[str, Keywords(enum=[one.value for one in BackendState])]
    backend_reason: Annotated[str, "Why it is not ready, as a sentence; empty if it is ready."]


class RemovedDeviceJson(TypedDict):
    """A device that was removed."""

    id: Id


class SignalJson(TypedDict):
    """The signal strength of a connected device, in steps of 5 %."""

    id: Id
    signal_strength: Percent


class RemovedInterfaceJson(TypedDict):
    """An adapter that was unplugged."""

    name: InterfaceName
