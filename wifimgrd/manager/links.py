"""Links that drop, come back, end, or were there before us."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import structlog

from wifimgrd.domain.device import DeviceState, Failure, HeldLink, Link
from wifimgrd.domain.errors import ConnectionLost, InterfaceLost, WifimgrdError
from wifimgrd.domain.events import DeviceStateChanged, DeviceUpdated, SignalChanged
from wifimgrd.domain.lifecycle import Step, can_follow
from wifimgrd.manager.connections import Connections
from wifimgrd.manager.entry import DeviceEntry
from wifimgrd.manager.state import PULL_S, HubState, remembered

_log = structlog.get_logger()


class Links:
    """Keeps the state of devices in step with the links under them."""

    def __init__(self, state: HubState, connections: Connections) -> None:
        self._state = state
        self._connections = connections

    def adapter_pulled(self, entry: DeviceEntry, interface: str) -> None:
        """The adapter of a device is gone; the interface is not listed any more."""
        if can_follow(entry.state, Step.LOSE):
            self._state.lose(entry, InterfaceLost(f"the adapter {interface} was pulled out"), interface)

    def link_interrupted(self, interface: str, error: WifimgrdError) -> None:
        """See BackendListener."""
        entry = self._state.holder(interface)
        if entry is None or entry.state is not DeviceState.CONNECTED:
            return
        loop, grace_s = asyncio.get_running_loop(), self._state.settings.grace_s
        self._state.step(entry, Step.INTERRUPT)
        self._state.note_loss(entry)
        _log.warning("link_interrupted", device=entry.device.id, interface=interface, reason=error.message)
        self._state.amend(entry, replace(entry.device, failure=Failure(error.code, error.message)))
        entry.outcome = loop.create_future()
        entry.grace = loop.call_later(grace_s, self._grace_over, entry, error)
        self._state.publish(DeviceStateChanged(self._state.status(entry)))

    def _grace_over(self, entry: DeviceEntry, error: WifimgrdError) -> None:
        entry.grace = None
        self._connections.take_down(entry, ConnectionLost(error.message))

    def link_restored(self, interface: str, link: Link) -> None:
        """See BackendListener."""
        entry = self._state.holder(interface)
        if entry is not None and self._is_waiting(entry):
            self._state.establish(entry, link)

    def link_ended(self, interface: str, error: WifimgrdError) -> None:
        """See BackendListener."""
        entry = self._state.holder(interface)
        if entry is None or not (entry.state is DeviceState.CONNECTED or self._is_waiting(entry)):
            return
        if isinstance(error, InterfaceLost) and self._state.is_usable(interface):
            # The adapter source is about to say so, too, and then the interface goes first.
            if entry.grace is not None:
                entry.grace.cancel()
            entry.grace = asyncio.get_running_loop().call_later(PULL_S, self._lose_after_all, entry, error)
        else:
            self._state.lose(entry, error)

    def _lose_after_all(self, entry: DeviceEntry, error: WifimgrdError) -> None:
        entry.grace = None
        self._state.lose(entry, error)

    def link_changed(self, interface: str, link: Link) -> None:
        """See BackendListener."""
        state, entry = self._state, self._state.holder(interface)
        if entry is None or entry.link is None:
            return
        before, entry.link = entry.link, state.completed(link, entry.device)
        seen = remembered(link.sighting, entry.device.sightings)
        state.amend(entry, replace(entry.device, sightings=seen))
        if replace(entry.link, signal_percent=0, sighting=None) != replace(
            before, signal_percent=0, sighting=None
        ):
            state.publish(DeviceUpdated(state.status(entry)))
        elif entry.link.signal_percent != before.signal_percent:
            state.publish(SignalChanged(state.status(entry)))

    # -- what a look at everything has shown (wifimgrd.domain.reconciliation)

    def adopt(self, held: HeldLink) -> None:
        """A link of a device at rest was found, on an interface that nobody has."""
        state, entry = self._state, self._state.entries[held.device]
        state.allocator = state.allocator.adopt(held.device, held.interface)
        state.publish_interface(held.interface)
        state.establish(entry, held.link, Step.ADOPT)

    def found_interrupted(self, interface: str) -> None:
        """A link that was taken to be up is not, and may come back."""
        self.link_interrupted(interface, ConnectionLost("the link was interrupted meanwhile"))

    def found_gone(self, entry: DeviceEntry) -> None:
        """A link that was taken to be there is not."""
        self._state.lose(entry, ConnectionLost("the link was gone when the backend was asked for it"))

    @staticmethod
    def _is_waiting(entry: DeviceEntry) -> bool:
        """Whether an interrupted link may still come back."""
        return entry.state is DeviceState.CONNECTING and entry.attempt is None and entry.grace is not None
