"""The daemon as its clients see it: a live copy of its objects, and its commands."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from wifimgrd.dbus.client.changes import Change
from wifimgrd.dbus.client.records import DeviceRecord, InterfaceRecord, ServiceRecord

Listener = Callable[[Change], None]


class HubClient:
    """A live copy of the daemon's objects, kept by GetManagedObjects and signals.

    While the daemon is away `available` is False, the copy is empty and every command raises
    BackendUnavailable. When it is back the copy is read anew and DaemonAppeared is told.
    Commands raise the errors of `wifimgrd.domain.errors`.
    """

    def __init__(self, bus: str = "system") -> None:
        """`bus` is `system`, `session` or a D-Bus address."""
        raise NotImplementedError

    async def start(self) -> None:
        """Connect and read the objects where the daemon is there; returns also where it, or the
        bus, is not, and goes on waiting for it."""

    async def stop(self) -> None:
        """Close the connection."""

    @property
    def available(self) -> bool:
        """Whether the copy is complete and current."""

    @property
    def reason(self) -> str:
        """Why it is not available, as a sentence; empty where it is."""

    @property
    def service(self) -> ServiceRecord:
        """The manager object."""

    @property
    def devices(self) -> Mapping[int, DeviceRecord]:
        """Every device, in order of id."""

    @property
    def interfaces(self) -> Mapping[str, InterfaceRecord]:
        """Every interface, in natural order of names."""

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call `listener` with each change, in order; returns what ends that."""

    async def wait_until(self, holds: Callable[[HubClient], bool], timeout_s: float) -> None:
        """Wait until `holds` is true of this client, checked at each change; raises TimeoutError."""

    async def create_device(self, properties: Mapping[str, Any]) -> int:
        """Register a device and return its id.

        Keys: `codename`, `connection_type`, `ssid` (str or bytes), `password`, `name` (optional),
        `idempotency_key` (optional). Values are plain Python values; also ill-typed ones are passed
        on, so that the daemon says what is wrong. Raises InvalidRequest with `fields` keyed by those
        names.
        """

    async def update_device(self, device_id: int, properties: Mapping[str, Any]) -> None:
        """Change `name`, `ssid` and `password`, each optional."""

    async def remove_device(self, device_id: int) -> None:
        """Disconnect and forget a device; returns when all of it has happened."""

    async def connect_device(self, device_id: int, *, wait: bool = False, timeout_s: float = 25) -> None:
        """Connect; with `wait`, until the attempt has ended, as success or as the error that says
        why. Raises TimeoutError when no answer came in time; the attempt goes on."""

    async def disconnect_device(self, device_id: int, *, timeout_s: float = 25) -> None:
        """Disconnect, and wait until that is done; raises TimeoutError, the rest goes on."""
