"""The manager's state in memory: the allocator's value and an entry for each device.

It is a cache of the data on disk and of the backend. Each change is published
here, in the order that clients are promised: the interface first, then the device.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

import structlog

from wifimgrd.daemon.manager._entry import DeviceEntry
from wifimgrd.daemon.manager._notices import Notice
from wifimgrd.daemon.manager._registry import Registry
from wifimgrd.daemon.manager.settings import HubSettings
from wifimgrd.daemon.ports import DeviceStore, EventSink
from wifimgrd.domain import sentences
from wifimgrd.domain.adapter import AdapterIdentity
from wifimgrd.domain.allocator import Allocator
from wifimgrd.domain.camera_model import GENERIC, CameraModel, closest_codename
from wifimgrd.domain.clocks import Clocks
from wifimgrd.domain.device import (
    ConnectionPhase,
    Device,
    DeviceId,
    DeviceState,
    DeviceStatus,
    Failure,
    Link,
    PowerStatus,
    Sighting,
    Ssid,
)
from wifimgrd.domain.errors import AdapterTaken, Busy, DeviceNotFound, InterfaceLost, WifimgrdError
from wifimgrd.domain.events import (
    ConnectionFailed,
    DeviceStateChanged,
    DeviceUpdated,
    Event,
    InterfaceChanged,
    SignalChanged,
)
from wifimgrd.domain.interface import InterfaceStatus
from wifimgrd.domain.lifecycle import Phase, Step, follow
from wifimgrd.domain.signal_history import SignalReading

_log = structlog.get_logger()

PULL_S: Final = 2.0
"""The time by which the backend may report an unplugged adapter before the adapter source does; udev took
up to 0.5 s on a busy host."""
_SIGHTINGS_KEPT: Final = 4
_SIGNAL_STEP: Final = 5
"""Percent: a smaller change of signal is not published."""

Clock = Callable[[], int]
"""Microseconds since the epoch."""
Steady = Callable[[], float]
"""Seconds by a clock that is never set."""


def loop_s() -> float:
    """The time of the loop, which stands while the host sleeps: for worlds in which it never does."""
    return asyncio.get_running_loop().time()


class LinkEnd(NamedTuple):
    """A device is no longer connected."""

    entry: DeviceEntry
    error: WifimgrdError | None
    """Why, unless a command or the hub itself has ended the link."""


class HubState:
    """Devices and interfaces of the hub; all their changes are published here."""

    def __init__(
        self,
        settings: HubSettings,
        store: DeviceStore,
        sinks: Sequence[EventSink],
        clock: Clock,
        steady_s: Steady = loop_s,
    ) -> None:
        self._steady_s = steady_s
        self.settings = settings
        self.store = store
        self.clock = clock
        self.allocator = Allocator(settings.rules)
        self.registry = Registry()
        self.connected_count = 0
        """The number of CONNECTED devices."""
        self.waiting_over = Notice[DeviceEntry]()
        """A device no longer waits for an interface."""
        self.link_up = Notice[DeviceEntry]()
        """The link of a device is up, and that is not published yet."""
        self.device_connected = Notice[DeviceEntry]()
        """A device is connected, and that was published."""
        self.link_ended = Notice[LinkEnd]()
        """A device is no longer connected, and that is not published yet."""
        self.device_lost = Notice[DeviceEntry]()
        """A device is disconnected without a command."""
        self.signal_read = Notice[SignalReading]()
        """The signal of a connected device was read; with its battery, as far as that is known then."""
        self.interface_may_be_free = Notice[str]()
        """An interface was listed or has changed, and may be available now."""
        self.unmet: Mapping[DeviceId, tuple[str, ...]] = {}
        """The warnings of devices about reservations that keep no adapter for them, as published last."""
        self.unlisted: set[str] = set()
        """Interfaces that are present but not listed."""
        self._sinks = tuple(sinks)

    def clocks(self) -> Clocks:
        """The present time, by the host's clock and by one that is never set."""
        return Clocks(self.clock(), self._steady_s())

    @property
    def entries(self) -> Mapping[DeviceId, DeviceEntry]:
        """Every device's entry, by id."""
        return self.registry.entries

    def entry(self, device_id: DeviceId) -> DeviceEntry:
        """The entry of a device; raises DeviceNotFound."""
        try:
            return self.entries[device_id]
        except KeyError:
            raise DeviceNotFound.of(device_id) from None

    def entry_to_change(self, device_id: DeviceId) -> DeviceEntry:
        """The entry of a device that is not being removed; raises DeviceNotFound, Busy."""
        entry = self.entry(device_id)
        if entry.removing:
            raise Busy("the camera is being removed")
        return entry

    def device_name(self, device_id: DeviceId) -> str:
        """The name of a device; empty if it is not registered."""
        entry = self.entries.get(device_id)
        return "" if entry is None else entry.device.name

    def model(self, device: Device) -> CameraModel:
        """The model of a camera with the device's codename."""
        models = self.settings.models
        return models.get(device.codename) or models.get(GENERIC.codename, GENERIC)

    def _unknown_model(self, device: Device) -> tuple[str, ...]:
        """A warning where the catalog does not have a device's model."""
        models = self.settings.models
        if not models or device.codename in models:
            return ()
        return (sentences.unknown_model(device.codename, closest_codename(device.codename, models)),)

    def holder(self, interface: str) -> DeviceEntry | None:
        """The entry of the device that has an interface, or None."""
        device = self.allocator.holders.get(interface)
        return None if device is None else self.entries.get(device)

    def interface_of(self, entry: DeviceEntry) -> str | None:
        """The interface that a device has, or None."""
        return self.allocator.assignments.get(entry.device.id)

    def adapter_of(self, entry: DeviceEntry) -> AdapterIdentity | None:
        """The adapter of the interface that a device has, or None."""
        name = self.interface_of(entry)
        return None if name is None else self.allocator.interfaces[name].adapter.identity

    def may_be_pulled(self, interface: str, error: WifimgrdError) -> bool:
        """Whether the adapter of a lost interface may have been unplugged, and the adapter source has not
        reported that yet: the interface is listed, and nothing else explains the loss."""
        if not isinstance(error, InterfaceLost) or isinstance(error, AdapterTaken):
            return False
        listed = self.allocator.interfaces.get(interface)
        return listed is not None and (not listed.obstacle or not listed.facts.known)

    def status(self, entry: DeviceEntry) -> DeviceStatus:
        """A device's status for clients."""
        link = entry.link if entry.state is DeviceState.CONNECTED else None
        lost_us = entry.lost_us if self.is_brought_back(entry.device) else 0
        return DeviceStatus(
            entry.device,
            entry.state,
            self.interface_of(entry),
            link,
            self.address(entry),
            lost_us,
            reachable=link is not None and entry.reachability.reachable,
            icon=self.model(entry.device).icon,
            phase=entry.activity,
            power=self._power(entry),
            camera=None if self.model(entry.device).control is None else entry.camera,
            recovery_step=None if entry.phase in (Phase.IDLE, Phase.LEAVING) else entry.recovery_step,
            warnings=(
                *self._unknown_model(entry.device),
                *self.registry.same_network(entry.device),
                *self.unmet.get(entry.device.id, ()),
            ),
        )

    def _power(self, entry: DeviceEntry) -> PowerStatus | None:
        """Whether a camera sleeps, as far as that is known; None if it cannot be woken."""
        bluetooth = self.model(entry.device).bluetooth
        if bluetooth is None:
            return None
        is_paired = bool(entry.device.bluetooth_address) and entry.sleep.wakes.is_bonded
        return PowerStatus(
            entry.sleep.sight.state, entry.sleep.sight.seen_us, is_paired if bluetooth.pairing else None
        )

    def address(self, entry: DeviceEntry) -> str:
        """The device's address on this host; empty where it has none in the present network."""
        given = entry.device.address
        return given if self.settings.addresses.contains(given) else ""

    def is_brought_back(self, device: Device) -> bool:
        """Whether it is reconnected automatically when its link is lost."""
        return device.wanted and device.auto_reconnect and self.settings.auto_reconnect

    def show_activity(self, entry: DeviceEntry, activity: ConnectionPhase | None) -> None:
        """Publish what a wake or an attempt does now."""
        if entry.activity is not activity:
            entry.activity = activity
            self.publish(DeviceUpdated(self.status(entry)))

    def forget_loss(self, entry: DeviceEntry) -> None:
        """The device is not to be reconnected; the caller publishes that."""
        entry.lost_us = 0

    def record_loss(self, entry: DeviceEntry) -> bool:
        """Store the time at which the link was lost; returns whether it was not stored before."""
        is_first = not entry.lost_us
        if is_first:
            entry.lost_us = self.clock()
        return is_first

    def record_unseen_disconnection(self, entry: DeviceEntry) -> None:
        """Record the present time as the end of a link that ended while the hub was not running."""
        device = entry.device
        if device.wanted and device.last_success_us > device.last_disconnection_us:
            self.record(entry, replace(device, last_disconnection_us=self.clock()))
            self.publish(DeviceUpdated(self.status(entry)))

    def device_statuses(self) -> Iterator[DeviceStatus]:
        """Every device, in order of id."""
        return (self.status(self.entries[device]) for device in sorted(self.entries))

    def assigned_statuses(self) -> Iterator[DeviceStatus]:
        """Every device that has an interface, in order of id: all that are not DISCONNECTED, but for those
        whose interface a recovery step has taken."""
        return (self.status(self.entries[device]) for device in sorted(self.allocator.assignments))

    def interface_statuses(self) -> Iterator[InterfaceStatus]:
        """Every listed interface, in natural order of names."""
        return iter(self.allocator.statuses())

    def publish(self, event: Event) -> None:
        """Publish an event."""
        for sink in self._sinks:
            sink.publish(event)

    def publish_interface(self, name: str) -> None:
        """Publish the change of an interface, if it is still listed, and of those that share its radio."""
        if name in self.allocator.interfaces:
            for one in (name, *sorted(self.allocator.of_radio(name) - {name})):
                self.publish(InterfaceChanged(self.allocator.status(one)))
                self.interface_may_be_free.notify(one)

    def step(self, entry: DeviceEntry, step: Step, error: WifimgrdError | None = None) -> None:
        """Apply a step of the life cycle; it is published after the whole change. `error`: why a link ended
        that nobody has ended."""
        before, entry.phase = entry.state, follow(entry.phase, step)
        entry.stop_timer()
        if entry.phase is not Phase.ARRIVING:
            entry.activity = ConnectionPhase.JOINING if step is Step.BEGIN else None
        self.connected_count += (entry.state is DeviceState.CONNECTED) - (before is DeviceState.CONNECTED)
        if entry.state is not DeviceState.CONNECTED:
            if before is DeviceState.CONNECTED:
                self.record(entry, replace(entry.device, last_disconnection_us=self.clock()))
                self.link_ended.notify(LinkEnd(entry, error))
            entry.link = None

    def free(self, entry: DeviceEntry) -> None:
        """Free a device's interface and publish that."""
        name = self.interface_of(entry)
        if name is not None:
            self.allocator = self.allocator.release(entry.device.id)
            self.publish_interface(name)

    def record(self, entry: DeviceEntry, device: Device, *, at_once: bool = False) -> None:
        """Store the changed data of a device, in memory now and on disk soon."""
        before = entry.device
        if device != before:
            self.registry.replace(entry, device)
            if not entry.removing:
                self.store.record(before, device, at_once=at_once)

    def expect(self, entry: DeviceEntry, *, connected: bool, state_follows: bool = False) -> None:
        """A command has asked for a connection of a device, or for none, whatever becomes of it. It is
        published, unless the next event of the device's state follows at once."""
        if entry.device.expected is not connected:
            self.record(entry, replace(entry.device, expected=connected), at_once=True)
            if not state_follows:
                self.publish(DeviceUpdated(self.status(entry)))

    def address_devices(self) -> list[DeviceEntry]:
        """Assign an address to each device that should have one and has none of the present network;
        returns the changed devices."""
        plan = self.settings.addresses
        addresses = plan.assign_all(
            {device: entry.device.address for device, entry in sorted(self.entries.items())},
            self.registry.last_address,
        )
        changed = [
            self.entries[device]
            for device in addresses
            if addresses[device] != self.entries[device].device.address
        ]
        for entry in changed:
            self.record(entry, replace(entry.device, address=addresses[entry.device.id]), at_once=True)
        if unserved := [device for device, address in addresses.items() if plan.network and not address]:
            _log.warning(
                "addresses_exhausted",
                reason=f"all addresses of {plan.network} are assigned",
                devices=unserved,
            )
        return changed

    def publish_sharing(self, ssid: Ssid, but: DeviceId) -> None:
        """The warnings of the devices of a network may have changed; that of `but` was published already."""
        for entry in self.registry.sharing(ssid):
            if entry.device.id != but:
                self.publish(DeviceUpdated(self.status(entry)))

    def end_waiting(self, entry: DeviceEntry) -> None:
        """End a device's wait for an interface, if it waits; the caller publishes that."""
        if entry.device.waiting_since_us:
            self.record(entry, replace(entry.device, waiting_since_us=0), at_once=True)
            self.waiting_over.notify(entry)

    def fail(self, entry: DeviceEntry, error: WifimgrdError) -> None:
        """Store a failure, publish it, then the state, and resolve the attempt's outcome.

        After an automatic attempt the error that ended the link is kept.
        """
        if entry.work.over():
            self.publish(DeviceStateChanged(self.status(entry)))
            entry.work.resolve(error)
            return
        failure = Failure(error.code, error.message, self.clock())
        self.record(entry, replace(entry.device, failure=failure))
        self.publish(ConnectionFailed(entry.device.id, failure))
        self.publish(DeviceStateChanged(self.status(entry)))
        entry.work.resolve(error)

    def read_signal(self, entry: DeviceEntry, percent: int) -> None:
        """The signal of a link was read."""
        battery = entry.camera.reading.battery_at(self.clock())
        self.signal_read.notify(SignalReading(entry.device.id, percent, battery))

    def establish(self, entry: DeviceEntry, link: Link, step: Step = Step.SUCCEED) -> None:
        """A link is up: for the first time, again, or found at the start (Step.ADOPT)."""
        self.step(entry, step)
        entry.lost_us = 0
        device = entry.device
        self.read_signal(entry, link.signal_percent)
        entry.link = link = self.completed(link, device)
        self.link_up.notify(entry)
        _log.info(
            "connected",
            device=device.id,
            device_name=device.name,
            interface=self.interface_of(entry),
            local_address=link.local_address,
            camera_address=link.camera_address,
        )
        # An adopted link whose success was not on disk before a crash counts as a success of now.
        is_on_disk = step is Step.ADOPT and device.last_success_us >= device.last_attempt_us > 0
        success_us = device.last_success_us if is_on_disk else self.clock()
        seen = _with_sighting(link.sighting, device.sightings)
        self.record(
            entry,
            replace(device, last_success_us=success_us, failure=None, sightings=seen, wanted=True),
            at_once=not device.wanted,  # who was told of the link has it again after a power cut
        )
        entry.work.over()
        self.end_waiting(entry)
        self.publish(DeviceStateChanged(self.status(entry)))
        entry.work.resolve()
        self.device_connected.notify(entry)

    def interrupt(self, entry: DeviceEntry, error: WifimgrdError) -> None:
        """A link that was up dropped; the device keeps its interface, and is connecting until the link is up
        again or is ended."""
        self.step(entry, Step.INTERRUPT, error)
        self.record_loss(entry)
        failure = Failure(error.code, error.message, self.clock())
        self.record(entry, replace(entry.device, failure=failure))
        entry.work.open_outcome()
        self.publish(DeviceStateChanged(self.status(entry)))

    def change_link(self, entry: DeviceEntry, link: Link) -> None:
        """A link that is up has changed: another access point, signal or bit rate."""
        before = entry.link
        if before is None:
            return
        self.read_signal(entry, link.signal_percent)
        entry.link = now = self.completed(link, entry.device, before)
        if now.sighting != before.sighting:
            seen = _with_sighting(now.sighting, entry.device.sightings)
            self.record(entry, replace(entry.device, sightings=seen))
        if replace(now, signal_percent=before.signal_percent, rates=before.rates) != before:
            self.publish(DeviceUpdated(self.status(entry)))
        elif now != before:
            self.publish(SignalChanged(self.status(entry)))

    def completed(self, link: Link, device: Device, before: Link | None = None) -> Link:
        """A link with signal and bit rates in the published steps, after those of `before`, and with the
        camera's address from its model if the link has none."""
        signal_percent = _SIGNAL_STEP * round(link.signal_percent / _SIGNAL_STEP)
        known = link.camera_address or self.model(device).camera_address
        rates = link.rates if before is None else link.rates.stepped(before.rates)
        return replace(link, signal_percent=signal_percent, camera_address=known, rates=rates)

    def lose(self, entry: DeviceEntry, error: WifimgrdError, pulled: str | None = None) -> None:
        """A link, or an attempt at one, has ended for good: free the interface, or the one that
        was `pulled` and is no longer listed, and store the reason.

        While the device is disconnecting that is not a failure but the result of the command.
        """
        is_commanded = entry.phase is Phase.LEAVING
        entry.work.cancel_join()
        entry.work.left()
        interface = pulled or self.interface_of(entry)
        self.step(entry, Step.LOSE, None if is_commanded else error)
        self.free(entry)
        if is_commanded:
            entry.work.over()
            self.publish(DeviceStateChanged(self.status(entry)))
            return
        _log.warning(
            "connection_lost",
            device=entry.device.id,
            device_name=entry.device.name,
            interface=interface,
            code=error.code,
            reason=error.message,
        )
        self.record_loss(entry)
        self.end_waiting(entry)
        self.fail(entry, error)
        self.device_lost.notify(entry)


def _with_sighting(seen: Sighting | None, before: tuple[Sighting, ...]) -> tuple[Sighting, ...]:
    """The latest sightings of an access point, the newest first."""
    if seen is None:
        return before
    return (seen, *(known for known in before if known != seen))[:_SIGHTINGS_KEPT]
