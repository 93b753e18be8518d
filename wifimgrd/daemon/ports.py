"""The Protocols that the manager uses: a backend, an adapter source, a store, camera sockets, an event sink.

Every listener method is called on the event loop's thread and must not block.
"""

from __future__ import annotations

import socket
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Final, Protocol

from wifimgrd.domain.adapter import Adapter
from wifimgrd.domain.addresses import SocketKind
from wifimgrd.domain.bonds import Claim, HostBonds
from wifimgrd.domain.camera import (
    CameraAnswer,
    CameraCommand,
)
from wifimgrd.domain.camera_model import KeepAlive, Probe
from wifimgrd.domain.dead_links import Asked, Counters
from wifimgrd.domain.device import Device, DeviceId, HeldLink, Link, Passphrase, Sighting, Ssid
from wifimgrd.domain.errors import InterfaceLost, WifimgrdError
from wifimgrd.domain.events import BackendStatus, Event
from wifimgrd.domain.history import HistoryFilter, HistoryRow
from wifimgrd.domain.interface import BackendFacts
from wifimgrd.domain.network import ScanResult
from wifimgrd.domain.power import Advertiser, BluetoothStatus, PairedCamera, WakeRequest
from wifimgrd.domain.recovery import BackendStep
from wifimgrd.domain.signal_history import Samples

READING_S: Final = 10.0
"""From one reading of a link's signal and bit rates to the next: the kernel reports no changes of them."""


@dataclass(frozen=True, slots=True)
class JoinRequest:
    """One attempt to join a camera's network on one interface."""

    device_id: DeviceId
    interface: str
    ssid: Ssid
    passphrase: Passphrase
    timeout_s: float
    """The attempt ends by then, with a link or with the most likely error."""
    sightings: tuple[Sighting, ...] = ()
    """Where the access point was seen before, most recent first."""
    others: Mapping[str, DeviceId] = field(default_factory=dict)
    """The BSSIDs that other devices of the same network were connected to last."""
    hidden: bool = False
    """The access point does not broadcast its SSID."""
    local_address: str = ""
    """The host's address on the link, with its prefix, where the camera has no DHCP server."""


class LinkListener(Protocol):
    """Receives the unsolicited events of links."""

    def link_interrupted(self, interface: str, error: WifimgrdError) -> None:
        """A link that was up dropped; the backend tries to restore it on the same interface."""

    def link_restored(self, interface: str, link: Link) -> None:
        """A link that was interrupted is up again."""

    def link_ended(self, interface: str, error: WifimgrdError) -> None:
        """A link that was up or interrupted has ended; nothing of it is left."""

    def link_changed(self, interface: str, link: Link) -> None:
        """The address or access point of a link that is up has changed, or its signal and bit rates were
        read, as every READING_S."""


class BackendListener(LinkListener, Protocol):
    """Receives a backend's unsolicited events."""

    def backend_changed(self, status: BackendStatus) -> None:
        """The backend became ready, is starting, or became unavailable.

        Before READY, `interface_facts` was called for every known interface; on READY, the manager reads
        `links()`.
        """

    def interface_facts(self, name: str, facts: BackendFacts | None) -> None:
        """The backend's facts of an interface are available or have changed; the call may come before
        `adapter_present`. An interface without facts is unavailable, and so is one that the backend has lost
        (None)."""


class Backend(Protocol):
    """Joins networks, e.g. through NetworkManager."""

    @property
    def name(self) -> str:
        """As in `[backend] name`, e.g. `networkmanager`."""

    @property
    def status(self) -> BackendStatus:
        """The backend's current state."""

    async def start(self, listener: BackendListener) -> None:
        """Start watching. Returns at once, also where the service behind the backend is not running; the
        backend then waits for it. Never raises for that."""

    async def stop(self) -> None:
        """Restore changed settings and close. Links that are up stay up."""

    async def claim(self, interface: str) -> None:
        """The interface is the hub's: disable automatic connections of other programs on it. Kept for
        interfaces that appear later; undone by `release` and `stop`. Never raises for an interface that is
        gone."""

    async def release(self, interface: str) -> None:
        """The interface is no longer the hub's (unlisted or excluded)."""

    async def join(self, request: JoinRequest) -> Link:
        """Bring a link up. Raises one of DeviceNotReachable, AuthenticationFailed,
        AssociationRefused, AddressFailed, InterfaceLost, BackendUnavailable; then, and when
        cancelled, nothing of the attempt is left. The end of a link after this has returned is reported
        to the listener."""

    async def leave(self, interface: str) -> None:
        """Take the link down, if there is one, without notifying the listener. Never raises for
        an interface or a link that is gone."""

    async def links(self) -> Sequence[HeldLink]:
        """The links that this daemon started, in this run or an earlier one, including interrupted ones
        that the backend tries to restore. Raises BackendUnavailable; then they are read again."""

    async def scan(self, interface: str) -> None:
        """Scan all channels on an idle interface and return when that is done; a `join` during the
        scan takes precedence. Raises InterfaceLost, Busy, BackendUnavailable."""

    async def is_visible(
        self,
        interface: str,
        ssid: Ssid,
        sightings: Sequence[Sighting],
        others: Mapping[str, DeviceId],
        *,
        all_channels: bool = True,
    ) -> bool:
        """Whether a scan finds a network, hidden or not, with an access point that may be a disconnected
        device's (`sightings` and `others` as in JoinRequest): on an idle interface, on the channels of its
        sightings, or on likely ones where there are none; with `all_channels` then on all, which takes
        seconds. The caller cancels this where a `join` needs the interface. Raises InterfaceLost, Busy,
        BackendUnavailable."""

    async def recover(self, interface: str, step: BackendStep) -> None:
        """Carry out a recovery step, RESCAN or RESTART, on an idle interface that does not work, and return
        when it is done. Raises InterfaceLost, Busy, BackendUnavailable. The caller limits the time."""

    def loss_of(self, interface: str) -> InterfaceLost:
        """The error that says what happened to an adapter whose interface the kernel has removed."""

    async def recent_scan_results(self, interface: str | None = None) -> Sequence[ScanResult]:
        """The access points in the recent scan results of each interface, or of one. Raises
        BackendUnavailable."""


class BluetoothListener(Protocol):
    """Receives what is heard over Bluetooth."""

    def bluetooth_changed(self, status: BluetoothStatus) -> None:
        """Bluetooth became ready or unavailable."""

    def advertised(self, seen: Sequence[Advertiser]) -> None:
        """Cameras were heard, while a search runs."""

    def camera_unfit(self, address: str, reason: str) -> None:
        """A bonded camera is more than a camera, such as a keyboard: its bond is dangerous. What has met it
        fails with that reason, a sentence."""

    def bonding(self, address: str, adapter: str) -> None:
        """A `pair` makes a bond with a camera now, at the adapter with an address: what bond there is from
        now on is the hub's, also if the pairing's end is not known."""


class CameraBluetooth(Protocol):
    """Finds, pairs and wakes cameras over Bluetooth LE.

    Every call ends by itself, and what it has started ends with its cancellation. Each raises
    BluetoothUnavailable, and Busy if another one runs for the same camera.
    """

    @property
    def status(self) -> BluetoothStatus:
        """The present state."""

    async def start(self, listener: BluetoothListener) -> None:
        """Start to watch whether this host has Bluetooth; never raises for that."""

    async def stop(self) -> None:
        """End everything, and close."""

    async def look_again(self) -> None:
        """Find out anew whether this host has Bluetooth, such as a package that was installed since; never
        raises."""

    async def search(self, seconds: int, targets: Sequence[tuple[str, str]]) -> None:
        """Listen for so long; a target is a service's UUID and a pattern of names, one of which may be empty.
        Searches at the same time share one."""

    async def wake(self, request: WakeRequest) -> None:
        """Wake a camera: by a connection, until it says that its access point is on, and it is kept awake
        until `release`; by a beacon, until this is cancelled or its time is over. Raises NotPaired,
        WakeFailed."""

    async def release(self, key: str) -> None:
        """The camera need not be kept awake any longer."""

    async def restart_access_point(self, address: str, service: str) -> None:
        """Switch the access point of a paired camera off and on; one that was woken is kept awake as before.
        Raises NotPaired, WakeFailed, NotSupported if it is not known how, and CameraBusy for a camera that
        was not woken and records, as it says."""

    async def reboot(self, address: str, service: str) -> None:
        """Reboot a paired camera, which is on; it goes down after this has returned. Raises as
        `restart_access_point`, WakeFailed if it refuses, and CameraBusy while it records, as it says."""

    async def sleep(self, address: str, service: str) -> None:
        """Put a camera to sleep; raises NotPaired, WakeFailed (it does not answer), CameraBusy,
        NotSupported."""

    async def command(self, address: str, service: str, command: CameraCommand) -> CameraAnswer:
        """Connect to a paired camera, have it carry out a command, and disconnect; a camera that sleeps is
        woken by that. Raises NotPaired, DeviceNotReachable, NotSupported, Unconfirmed."""

    async def pair(self, address: str, service: str, own: Collection[str]) -> PairedCamera:
        """Pair a camera and read its network's name and password. Its keys at the adapters whose addresses
        are in `own` are the hub's: those that the camera has provably lost are replaced. A device that is not
        such a camera is left as it is. Raises PairingFailed."""

    async def unpair(self, address: str, adapter: str) -> None:
        """Remove the keys of a camera from the adapter with an address; there may not be any. What runs with
        the camera ends. Raises BluetoothUnavailable as `bonds`, and while the adapter is not there."""

    async def bonds(self, address: str) -> HostBonds:
        """At which adapters this host has keys of a camera, once a pairing that was cancelled has ended.
        Raises BluetoothUnavailable if that is not known, as while bluetoothd does not run."""


class HostClock(Protocol):
    """Says whether this host's clock is right."""

    async def is_synchronised(self) -> bool:
        """Whether it is kept right by another one; False if that is not known. Never raises, ends within
        seconds."""


class AdapterListener(Protocol):
    """Receives an adapter source's events."""

    def adapter_present(self, adapter: Adapter) -> None:
        """An adapter appeared, or the description of the adapter with that name changed."""

    def adapter_gone(self, name: str) -> None:
        """An adapter was pulled out."""

    def adapter_firmware_failed(self, name: str) -> None:
        """The driver of an adapter that is present reported a crash of its firmware."""

    def adapters_recounted(self) -> None:
        """Events were lost; all changes since then have been reported now."""


class AdapterSource(Protocol):
    """Watches the host's Wi-Fi adapters."""

    async def start(self, listener: AdapterListener) -> None:
        """Subscribe, then report every adapter that is present before returning."""

    async def reset_port(self, name: str) -> None:
        """Reset the USB port of an adapter, which most drivers take as a new adapter: the listener is told
        that it is gone, then that it is present. Returns once it is present again, or was not gone. Raises
        OSError where that is not allowed or not possible. Until then the port may be changed, however long
        that takes: the caller limits the time for which it waits, and cancels this only to stop."""

    async def power_port(self, name: str) -> None:
        """Switch the power of an adapter's USB port, which the configuration names, off and on; as
        `reset_port` otherwise. A port that was left without power is switched on, also at the next start."""

    async def stop(self) -> None:
        """Stop watching."""


class BackendMemory(Protocol):
    """A few short values that a backend keeps across restarts, e.g. settings to restore."""

    def recall(self, key: str) -> str | None:
        """The value that is stored under `key`, or None."""

    def note(self, key: str, value: str | None) -> None:
        """Store `value` under `key`; None deletes it. Written in the background, in order."""


class DeviceStore(Protocol):
    """Devices and secrets on disk."""

    async def load(self) -> Mapping[DeviceId, Device]:
        """Every device that was ever acknowledged and not removed."""

    async def add(
        self, draft: Device, passphrase: Passphrase, key: str | None = None, request: bytes = b""
    ) -> Device:
        """Write a new device (its `id` is ignored) and return it with its new id, after it
        is safe on disk. `key` is the idempotency key of the request, `request` what it asked for."""

    async def last_address(self) -> str:
        """The address of a device that was written last, also if the device was removed since; empty if none
        was."""

    async def bonds(self) -> Mapping[str, Claim]:
        """Which bonds are the hub's, by the address of the camera."""

    async def keep_bonds(self, address: str, claim: Claim) -> None:
        """Write which bonds with a camera are the hub's, safe on disk on return."""

    async def request_of(self, key: str) -> bytes:
        """The request that had an idempotency key; empty if it is not known, as once the passphrase in it was
        changed."""

    async def find_key(self, key: str) -> DeviceId | None:
        """The device that was created under an idempotency key, also where it was removed since."""

    async def passphrase(self, device_id: DeviceId) -> Passphrase:
        """A device's secret; raises DeviceNotFound."""

    async def update(
        self,
        before: Device,
        after: Device,
        passphrase: Passphrase | None = None,
        key: str | None = None,
        request: bytes = b"",
    ) -> None:
        """Write what differs between two values of a device, and nothing else of it, safe on disk on return;
        None leaves the secret as it is. `key` is the idempotency key of a request, without a passphrase, that
        was answered with this device."""

    def record(self, before: Device, after: Device, *, at_once: bool = False) -> None:
        """Write what differs between two values of a device, and nothing else of it, in the background and in
        order: what was learned from an attempt or a link. `at_once` skips the delay, for changes whose
        success was already reported to a client."""

    async def flush(self) -> None:
        """Return once everything that was recorded is safe on disk."""

    async def remove(self, device_id: DeviceId) -> None:
        """Delete a device and its secret, safe on disk on return. Its id is not assigned again."""

    async def close(self) -> None:
        """Write pending changes and close."""


class HistoryStore(Protocol):
    """Rows of the history on disk; nobody waits for a write."""

    @property
    def next_id(self) -> int:
        """The id of a row that is larger than any before."""

    @property
    def unended(self) -> Sequence[HistoryRow]:
        """The sessions, the problems and the recovery steps that had not ended when the hub last stopped, the
        older ones first."""

    @property
    def last_recordings(self) -> Sequence[HistoryRow]:
        """The last recording of each device when the hub last stopped, each that had not ended, and the first
        one of their takes, the older ones first."""

    def put(self, rows: Sequence[HistoryRow]) -> None:
        """Write rows that are new, or new values of rows; in order, and all of them or none."""

    async def read(self, wanted: HistoryFilter) -> Sequence[HistoryRow]:
        """The newest rows that were put and fit, the newest first; raises InternalError."""

    def put_signals(self, samples: Mapping[DeviceId, Samples]) -> None:
        """Write samples of devices' signals and batteries, in place of those of the same minutes; in order,
        and all of them or none."""

    async def read_signal(self, device_id: DeviceId, minutes: range) -> Samples:
        """The samples that were put of a device's signal and battery, in some minutes; raises
        InternalError."""

    def forget(self, device_id: DeviceId) -> None:
        """Delete the rows and samples of a device, and that others' recordings expected it, in the order of
        writes. The next row of a take has what its oldest one said of all of it."""

    async def close(self) -> None:
        """Write what is still due and close."""


class CameraSockets(Protocol):
    """Opens sockets to cameras, each through its own interface, so that cameras may have equal addresses."""

    async def open(
        self, device_id: DeviceId, interface: str, address: str, port: int, kind: SocketKind
    ) -> socket.socket:
        """A socket connected to a camera, not blocking; the caller closes it.

        Returns or raises within 10 s. Raises ServiceRefused, DeviceNotReachable (no answer), InterfaceLost,
        BackendUnavailable.
        """


class AddressRoutes(Protocol):
    """Makes the addresses of cameras on this host lead to them."""

    async def lead(self, address: str, interface: str, camera_address: str) -> bool:
        """Make `address` lead to the camera at `camera_address` behind an interface, whose link is up and not
        published yet. True once it does; False where that is known to be impossible now. The caller limits
        the time, and publishes the link before it awaits anything else: only for a published link the
        address leads to the camera for longer than this call."""


class Answer(Enum):
    """The result of a probe."""

    ANSWERED = auto()
    SILENT = auto()
    UNKNOWN = auto()
    """The probe could not be sent."""


class CameraContact(Protocol):
    """Sends probes and keep-alive messages to a connected camera through its interface."""

    async def probe(self, device_id: DeviceId, interface: str, address: str, probe: Probe) -> Answer:
        """Check whether the camera at `address` answers. Ends within seconds and never raises."""

    async def keep_alive(
        self, device_id: DeviceId, interface: str, address: str, keep_alive: KeepAlive
    ) -> None:
        """Send the message that keeps the camera from sleeping. Ends within seconds and never raises."""

    async def wake_on_lan(self, device_id: DeviceId, interface: str, address: str, mac: str) -> None:
        """Send a magic packet to a camera that may sleep behind its access point `mac`. Ends within seconds
        and never raises."""


class LinkEvidence(Protocol):
    """Observes a link that is up, without touching it."""

    async def counters(self, interface: str) -> Counters | None:
        """The counters of the association of an adapter, by its driver; None if it has none, or they cannot
        be read now. Ends within 10 s and never raises."""

    async def asked(self, interface: str, address: str, within_s: float) -> Asked:
        """Whether the camera at `address` has answered ARP in the last `within_s` seconds, or does now.
        NOT_ASKED where that cannot be found out. Ends within 10 s and never raises."""


class EventSink(Protocol):
    """Receives the hub's events, in order."""

    def publish(self, event: Event) -> None:
        """Process one event; never raises, never blocks."""
