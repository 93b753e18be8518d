"""What the manager holds in memory: the allocator's value and an entry for each device.

It is a cache of what is on disk and in the backend. Whatever changes it publishes the change
here, in the order that clients are promised: the interface first, then the device.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

import structlog

from wifimgrd.domain.allocator import Allocator
from wifimgrd.domain.camera_model import GENERIC, Addressing, CameraModel
from wifimgrd.domain.device import (
    Device,
    DeviceId,
    DeviceState,
    DeviceStatus,
    Failure,
    Link,
    Sighting,
)
from wifimgrd.domain.errors import DeviceNotFound, WifimgrdError
from wifimgrd.domain.events import (
    ConnectionFailed,
    DeviceStateChanged,
    Event,
    InterfaceChanged,
)
from wifimgrd.domain.interface import InterfaceStatus
from wifimgrd.domain.lifecycle import Step, follow
from wifimgrd.domain.reachability import Reachability
from wifimgrd.manager.entry import DeviceEntry
from wifimgrd.manager.settings import HubSettings
from wifimgrd.ports import DeviceStore, EventSink

_log = structlog.get_logger()

PULL_S: Final = 2.0
"""By how much the backend may be ahead of the adapter source in noticing a pulled adapter; udev took
up to 0.5 s on a busy host."""
_SIGHTINGS_KEPT: Final = 4
_SIGNAL_STEP: Final = 5
"""Percent: a smaller change of signal is not worth telling."""

Clock = Callable[[], int]
"""Microseconds since the epoch."""


class HubState:
    """Devices and interfaces of the hub, and the one way to tell of them."""

    def __init__(self, settings: HubSettings, store: DeviceStore, sink: EventSink, clock: Clock) -> None:
        self.settings = settings
        self.store = store
        self.clock = clock
        self.allocator = Allocator(settings.rules)
        self.entries: dict[DeviceId, DeviceEntry] = {}
        self.on_lost: Callable[[DeviceEntry], None] = nobody_minds
        """A device that was connected is disconnected, and nobody asked for that."""
        self.on_established: list[Callable[[DeviceEntry], None]] = []
        """A device is connected, and that has been told."""
        self.on_interface: list[Callable[[str], None]] = []
        """An interface may be available now."""
        self._sink = sink

    def entry(self, device: DeviceId) -> DeviceEntry:
        """The entry of a device; raises DeviceNotFound."""
        try:
            return self.entries[device]
        except KeyError:
            raise DeviceNotFound(f"there is no device {device}") from None

    def model(self, device: Device) -> CameraModel:
        """What is known of cameras such as this one."""
        models = self.settings.models
        return models.get(device.codename) or models.get(GENERIC.codename, GENERIC)

    def holder(self, interface: str) -> DeviceEntry | None:
        """The entry of the device that has an interface, or None."""
        device = self.allocator.holders.get(interface)
        return None if device is None else self.entries.get(device)

    def interface_of(self, entry: DeviceEntry) -> str | None:
        """The interface that a device has, or None."""
        return self.allocator.assignments.get(entry.device.id)

    def is_usable(self, interface: str) -> bool:
        """Whether an interface is listed and nothing but its holder stands in the way."""
        known = self.allocator.interfaces.get(interface)
        return known is not None and not known.obstacle

    def status(self, entry: DeviceEntry) -> DeviceStatus:
        """A device as clients see it now."""
        link = entry.link if entry.state is DeviceState.CONNECTED else None
        given = entry.device.address
        address = given if self.settings.addresses.holds(given) else ""
        lost_us = entry.lost_us if self.is_brought_back(entry.device) else 0
        return DeviceStatus(
            entry.device,
            entry.state,
            self.interface_of(entry),
            link,
            address,
            lost_us,
            reachable=link is not None and entry.reachability.reachable,
            icon=self.model(entry.device).icon,
        )

    def is_brought_back(self, device: Device) -> bool:
        """Whether it is connected again by itself when its link is lost."""
        return device.wanted and device.auto_reconnect and self.settings.auto_reconnect

    def note_loss(self, entry: DeviceEntry) -> bool:
        """Remember when the link was lost; says whether that is news."""
        is_news = not entry.lost_us
        if is_news:
            entry.lost_us = self.clock()
        return is_news

    def device_statuses(self) -> Iterator[DeviceStatus]:
        """Every device, in order of id."""
        return (self.status(self.entries[device]) for device in sorted(self.entries))

    def interface_statuses(self) -> Iterator[InterfaceStatus]:
        """Every listed interface, in natural order of names."""
        return iter(self.allocator.statuses())

    def publish(self, event: Event) -> None:
        """Pass an event on to the clients."""
        self._sink.publish(event)

    def publish_interface(self, name: str) -> None:
        """Tell that an interface changed, if it is still listed."""
        if name in self.allocator.interfaces:
            self.publish(InterfaceChanged(self.allocator.status(name)))
            self.tell_of_interface(name)

    def tell_of_interface(self, name: str) -> None:
        """Tell the other parts that an interface may be available now."""
        for tell in self.on_interface:
            tell(name)

    def step(self, entry: DeviceEntry, step: Step) -> None:
        """Take a step of the life cycle; telling of it comes when all of the change is made."""
        entry.state = follow(entry.state, step)
        if entry.state is not DeviceState.CONNECTED:
            entry.link = None
            entry.reachability = Reachability()
            if entry.watch is not None:
                entry.watch.cancel()
                entry.watch = None

    def free(self, entry: DeviceEntry) -> None:
        """Take a device's interface away from it and tell of the interface."""
        name = self.interface_of(entry)
        if name is not None:
            self.allocator = self.allocator.release(entry.device.id)
            self.publish_interface(name)

    def amend(self, entry: DeviceEntry, device: Device, *, at_once: bool = False) -> None:
        """Remember what an attempt or a link taught of a device, in memory now and on disk soon."""
        if device != entry.device:
            entry.device = device
            if not entry.removing:
                self.store.record(device, at_once=at_once)

    def address_devices(self) -> list[DeviceEntry]:
        """Give an address to each device that should have one and has none of the network in use;
        says which are changed."""
        plan = self.settings.addresses
        settled = plan.settle(
            {device: entry.device.address for device, entry in sorted(self.entries.items())}
        )
        changed = [
            self.entries[device]
            for device in settled
            if settled[device] != self.entries[device].device.address
        ]
        for entry in changed:
            self.amend(entry, replace(entry.device, address=settled[entry.device.id]), at_once=True)
        if unserved := [device for device, address in settled.items() if plan.network and not address]:
            _log.warning("addresses_exhausted", reason=f"all of {plan.network} are given", devices=unserved)
        return changed

    def fail(self, entry: DeviceEntry, error: WifimgrdError) -> None:
        """Record a failure, tell of it, then of the state, and release who waited for better.

        An automatic attempt leaves the error that ended the link as it stands.
        """
        if entry.automatic:
            entry.automatic = False
            self.publish(DeviceStateChanged(self.status(entry)))
            entry.settle(error)
            return
        failure = Failure(error.code, error.message)
        self.amend(entry, replace(entry.device, failure=failure))
        self.publish(ConnectionFailed(entry.device.id, failure))
        self.publish(DeviceStateChanged(self.status(entry)))
        entry.settle(error)

    def establish(self, entry: DeviceEntry, link: Link, step: Step = Step.SUCCEED) -> None:
        """A link is up: for the first time, again, or found up at start (Step.ADOPT)."""
        self.step(entry, step)
        entry.lost_us = 0
        device = entry.device
        entry.link = link = self.completed(link, device)
        if self.model(device).addressing is Addressing.DHCP:
            entry.reachability = Reachability.addressed()
        _log.info(
            "connected",
            device=device.id,
            interface=self.interface_of(entry),
            local_address=link.local_address,
            camera_address=link.camera_address,
        )
        # An adopted link whose success did not reach the disk before a crash is a success of now.
        noted = step is Step.ADOPT and device.last_success_us >= device.last_attempt_us > 0
        success_us = device.last_success_us if noted else self.clock()
        seen = remembered(link.sighting, device.sightings)
        self.amend(
            entry,
            replace(device, last_success_us=success_us, failure=None, sightings=seen, wanted=True),
        )
        entry.automatic = False
        self.publish(DeviceStateChanged(self.status(entry)))
        entry.settle()
        for told in self.on_established:
            told(entry)

    def completed(self, link: Link, device: Device) -> Link:
        """A link with the signal in the steps in which it is told, and the camera's address from its
        model where the link does not tell."""
        signal_percent = _SIGNAL_STEP * round(link.signal_percent / _SIGNAL_STEP)
        known = link.camera_address or self.model(device).camera_address
        return replace(link, signal_percent=signal_percent, camera_address=known)

    def lose(self, entry: DeviceEntry, error: WifimgrdError, pulled: str | None = None) -> None:
        """A link, or what was to become one, is gone for good: free the interface, or the one that
        was `pulled` and is not listed any more, and say why.

        While the device is disconnecting that is no failure but what was asked for.
        """
        asked_for = entry.state is DeviceState.DISCONNECTING
        attempt, entry.attempt, entry.teardown = entry.attempt, None, None
        if attempt is not None:
            attempt.cancel()
        interface = pulled or self.interface_of(entry)
        self.step(entry, Step.LOSE)
        self.free(entry)
        if asked_for:
            entry.automatic = False
            self.publish(DeviceStateChanged(self.status(entry)))
            return
        _log.warning(
            "connection_lost",
            device=entry.device.id,
            interface=interface,
            code=error.code,
            reason=error.message,
        )
        self.note_loss(entry)
        self.fail(entry, error)
        self.on_lost(entry)


def nobody_minds(*_: object) -> None:
    """What is called where nobody has asked to be told."""


def remembered(seen: Sighting | None, before: tuple[Sighting, ...]) -> tuple[Sighting, ...]:
    """Where an access point was met, the newest first."""
    if seen is None:
        return before
    return (seen, *(known for known in before if known != seen))[:_SIGHTINGS_KEPT]
