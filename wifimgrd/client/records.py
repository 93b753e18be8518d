"""What the daemon's methods return, and its manager object, as typed values; for devices and interfaces see
`wifimgrd.domain.records`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from wifimgrd.api import names
from wifimgrd.api.properties import Properties


@dataclass(frozen=True, slots=True)
class NetworkRecord:
    """One of the networks that `GetNetworks` returns."""

    ssid: bytes
    bssids: tuple[str, ...]
    frequencies_mhz: tuple[int, ...]
    """One entry for each BSSID."""
    security: str
    bands: tuple[str, ...]
    signal_strength: int
    """Percent, of the strongest access point."""
    last_seen_us: int | None
    """Microseconds since the epoch."""
    interfaces: tuple[str, ...]
    device_id: int | None
    codename: str | None = None
    """The camera model that it probably is of."""

    @classmethod
    def of(cls, properties: Properties) -> NetworkRecord:
        """Read one dictionary of the reply."""
        return cls(
            ssid=bytes(properties["ssid"]),
            bssids=tuple(properties["bssids"]),
            frequencies_mhz=tuple(properties["frequencies"]),
            security=properties["security"],
            bands=tuple(properties["bands"]),
            signal_strength=properties["signal_strength"],
            last_seen_us=properties["last_seen"] or None,
            interfaces=tuple(properties["interfaces"]),
            device_id=names.device_id_of(properties["device"]),
            codename=properties.get("codename") or None,
        )


@dataclass(frozen=True, slots=True)
class HistoryRecord:
    """One of the rows that `GetHistory` returns; absent values are None."""

    id: int
    time_us: int
    kind: str
    """`session`, `interruption`, `failure`, `adapter`, `backend`, or what a later version has."""
    device_id: int | None
    device_name: str | None
    interface: str | None
    code: str | None
    message: str | None
    ended_us: int | None
    signal_minimum: int | None
    signal_mean: int | None

    @classmethod
    def of(cls, properties: Properties) -> HistoryRecord:
        """Read one dictionary of the reply."""
        return cls(
            id=properties["id"],
            time_us=properties["time"],
            kind=properties["kind"],
            device_id=properties.get("device_id"),
            device_name=properties.get("device_name"),
            interface=properties.get("interface"),
            code=properties.get("code"),
            message=properties.get("message"),
            ended_us=properties.get("ended"),
            signal_minimum=properties.get("signal_minimum"),
            signal_mean=properties.get("signal_mean"),
        )


@dataclass(frozen=True, slots=True)
class SearchRecord:
    """The result of a scan."""

    networks: tuple[NetworkRecord, ...]
    scanned: tuple[str, ...]
    """The interfaces that have scanned."""
    skipped: Mapping[str, str]
    """Why each of the other interfaces has not scanned."""


@dataclass(frozen=True, slots=True)
class AbsentRecord:
    """An adapter that is kept for a device and not plugged in; what is not known is None."""

    device_id: int | None
    mac_address: str | None = None
    usb_port: str | None = None
    interface: str | None = None
    product: str | None = None
    unplugged_us: int | None = None

    @classmethod
    def of(cls, properties: Properties) -> AbsentRecord:
        """Read one row of the property."""
        return cls(
            device_id=names.device_id_of(properties["device"]),
            mac_address=properties.get("mac") or None,
            usb_port=properties.get("usb_port") or None,
            interface=properties.get("interface") or None,
            product=properties.get("product") or None,
            unplugged_us=properties.get("unplugged") or None,
        )


@dataclass(frozen=True, slots=True)
class ServiceRecord:
    """`org.wifimgrd1.Manager` at one moment."""

    version: str = ""
    backend: str = ""
    backend_state: str = "unavailable"
    """`ready`, `starting` or `unavailable`."""
    backend_reason: str = ""
    backend_choice: str = ""
    """Why it is this backend; empty where the configuration names it."""
    total_interfaces: int = 0
    assigned_interfaces: int = 0
    absent_adapters: tuple[AbsentRecord, ...] = ()
    recoveries: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    """How often each recovery step was taken."""

    def updated(self, properties: Properties) -> ServiceRecord:
        """This record with changed properties; unknown ones are ignored."""
        known = {
            "Version": "version",
            "Backend": "backend",
            "BackendState": "backend_state",
            "BackendReason": "backend_reason",
            "BackendChoice": "backend_choice",
            "TotalInterfaces": "total_interfaces",
            "AssignedInterfaces": "assigned_interfaces",
            "Recoveries": "recoveries",
        }
        values = {known[name]: value for name, value in properties.items() if name in known}
        if (rows := properties.get("AbsentAdapters")) is not None:
            values["absent_adapters"] = tuple(map(AbsentRecord.of, rows))
        return replace(self, **values)
