"""What the manager needs of the world, as Protocols: a backend, adapters, a store, a sink.

Every listener method is called on the event loop's thread and returns at once.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Protocol

from wifimgrd.domain.adapter import Adapter
from wifimgrd.domain.camera_model import KeepAlive, Probe
from wifimgrd.domain.device import Device, DeviceId, HeldLink, Link, Passphrase, Sighting, Ssid
from wifimgrd.domain.errors import WifimgrdError
from wifimgrd.domain.events import BackendStatus, Event
from wifimgrd.domain.interface import BackendFacts
from wifimgrd.domain.network import HeardPoint
from wifimgrd.domain.recovery import RecoveryStep
from wifimgrd.domain.socket_kind import SocketKind


@dataclass(frozen=True, slots=True)
class JoinRequest:
    """One attempt to join a camera's network on one interface."""

    device: DeviceId
    interface: str
    ssid: Ssid
    passphrase: Passphrase
    timeout_s: float
    """The attempt ends by then, as a link or with the best diagnosis so far."""
    sightings: tuple[Sighting, ...] = ()
    """Where the access point was met before, most recent first."""
    hidden: bool = False
    """The access point is known not to tell its name."""
    local_address: str = ""
    """The host's address on the link, with its prefix, where the camera hands out none."""


class BackendListener(Protocol):
    """Told by a backend what happens without being asked for."""

    def backend_changed(self, status: BackendStatus) -> None:
        """The backend came, went or is on its way.

        On READY, `interface_facts` of every known interface came before, and the manager
        reads `links()`.
        """

    def interface_facts(self, name: str, facts: BackendFacts | None) -> None:
        """What the backend knows of an interface changed, or is known now; it may come before the
        adapter is told of. Until then the interface counts as unavailable, and so it does where the
        backend has lost it (None)."""

    def link_interrupted(self, interface: str, error: WifimgrdError) -> None:
        """A link that was up dropped; the backend tries to restore it on the same interface."""

    def link_restored(self, interface: str, link: Link) -> None:
        """A link that was interrupted is up again."""

    def link_ended(self, interface: str, error: WifimgrdError) -> None:
        """A link that was up or interrupted is gone for good; nothing of it is left."""

    def link_changed(self, interface: str, link: Link) -> None:
        """A link that is up has another signal, address or access point."""


class Backend(Protocol):
    """What really joins networks."""

    @property
    def name(self) -> str:
        """As in `[backend] name`, e.g. `networkmanager`."""

    @property
    def status(self) -> BackendStatus:
        """Where the backend stands now."""

    async def start(self, listener: BackendListener) -> None:
        """Begin to watch. Returns at once also where the other side is away, and then
        goes on waiting for it; never raises for that."""

    async def stop(self) -> None:
        """Give back what was changed and close. Links that are up stay up."""

    async def hold(self, interface: str) -> None:
        """The interface is the hub's: keep everybody's autoconnect off it. Remembered, and
        undone by `release` and `stop`. Never raises for an interface that is gone."""

    async def release(self, interface: str) -> None:
        """The interface is not the hub's any more (unlisted or excluded)."""

    async def join(self, request: JoinRequest) -> Link:
        """Bring a link up. Raises one of DeviceNotReachable, AuthenticationFailed,
        AssociationRefused, AddressFailed, InterfaceLost, BackendUnavailable; then, and when
        cancelled, nothing of the attempt is left. A link that ends after this returned is told
        to the listener."""

    async def leave(self, interface: str) -> None:
        """Take the link down, if there is one, without telling the listener. Never raises for
        an interface or a link that is gone."""

    async def links(self) -> Sequence[HeldLink]:
        """The links that this daemon started, in this life or an earlier one, the interrupted ones
        that it tries to restore among them."""

    async def scan(self, interface: str) -> None:
        """Search all channels on an idle interface and return when that is done; a `join` that
        comes meanwhile goes first. Raises InterfaceLost, Busy, BackendUnavailable."""

    async def look(self, interface: str, ssid: Ssid, sightings: Sequence[Sighting]) -> bool:
        """Whether a network, hidden or not, is in the air: searched for on an idle interface where
        it was met before, then on all channels. Cancelled where a `join` needs the interface.
        Raises InterfaceLost, Busy, BackendUnavailable."""

    async def recover(self, interface: str, step: RecoveryStep) -> None:
        """Take a step, RESCAN or RESTART, with an idle interface that does not work, and return when it
        is over. Raises InterfaceLost, Busy, BackendUnavailable. The caller limits the time."""

    async def heard(self) -> Sequence[HeardPoint]:
        """The access points that each interface heard of late."""


class AdapterListener(Protocol):
    """Told by an adapter source what was plugged in and pulled out."""

    def adapter_present(self, adapter: Adapter) -> None:
        """An adapter appeared, or is described anew under the same name."""

    def adapter_gone(self, name: str) -> None:
        """An adapter was pulled out."""

    def adapter_firmware_failed(self, name: str) -> None:
        """The driver of an adapter that is present tells that its firmware crashed."""

    def adapters_recounted(self) -> None:
        """Events were lost; all that has changed meanwhile has been told now."""


class AdapterSource(Protocol):
    """Watches the host's Wi-Fi adapters."""

    async def start(self, listener: AdapterListener) -> None:
        """Subscribe, then tell of every adapter that is there before returning."""

    async def replug(self, name: str) -> None:
        """Take an adapter off its bus and give it back; the listener is told that it is gone, then that
        it is present. Raises OSError where that is not allowed or not possible."""

    async def stop(self) -> None:
        """Stop watching."""


class BackendMemory(Protocol):
    """A few words that a backend keeps across restarts, e.g. settings to give back."""

    def recall(self, key: str) -> str | None:
        """What was noted under `key`, or None."""

    def note(self, key: str, value: str | None) -> None:
        """Keep `value` under `key`; None forgets it. Written soon, in order."""


class DeviceStore(Protocol):
    """Devices and secrets on disk."""

    async def load(self) -> Mapping[DeviceId, Device]:
        """Every device that was ever acknowledged and not removed."""

    async def add(self, draft: Device, passphrase: Passphrase, key: str | None = None) -> Device:
        """Write a new device (its `id` is ignored) and return it with the id it got, after it
        is safe on disk. `key` is the idempotency key under which it was asked for."""

    async def find_key(self, key: str) -> DeviceId | None:
        """The device that was created under an idempotency key, also where it is gone since."""

    async def passphrase(self, device: DeviceId) -> Passphrase:
        """A device's secret; raises DeviceNotFound."""

    async def update(self, device: Device, passphrase: Passphrase | None = None) -> None:
        """Write a changed device, safe on disk on return; None leaves the secret as it is."""

    def record(self, device: Device, *, at_once: bool = False) -> None:
        """Write what an attempt or a link taught, soon and in order; never awaited. `at_once` is for
        what a client was told is done."""

    async def remove(self, device: DeviceId) -> None:
        """Forget a device and its secret, safe on disk on return. Its id is not given again."""

    async def close(self) -> None:
        """Write what is still due and close."""


class CameraSockets(Protocol):
    """Reaches cameras: each through its own interface, so that their addresses may be the same."""

    async def open(self, interface: str, address: str, port: int, kind: SocketKind) -> socket.socket:
        """A socket connected to a camera, not blocking; the caller closes it.

        Returns or raises within 10 s. Raises ServiceRefused, DeviceNotReachable (no answer), InterfaceLost,
        BackendUnavailable.
        """


class Answer(Enum):
    """What came of asking a camera."""

    ANSWERED = auto()
    SILENT = auto()
    UNKNOWN = auto()
    """It could not be asked."""


class CameraContact(Protocol):
    """Talks to a connected camera through its interface."""

    async def probe(self, interface: str, address: str, probe: Probe) -> Answer:
        """Ask the camera at `address` for a sign of life. Ends within seconds and never raises."""

    async def keep_alive(self, interface: str, address: str, keep_alive: KeepAlive) -> None:
        """Tell the camera to stay awake. Ends within seconds and never raises."""


class EventSink(Protocol):
    """Takes the hub's events, in order."""

    def publish(self, event: Event) -> None:
        """Pass one event on; never raises, never waits."""
