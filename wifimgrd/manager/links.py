"""Links that change, are interrupted, restored, ended, or adopted, in the backend or in a reconciliation.

An event of a link that is not published yet is processed after that (`arrivals.py`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import structlog

from wifimgrd.domain.device import DeviceState, Failure, HeldLink, Link
from wifimgrd.domain.errors import ConnectionLost, InterfaceLost, WifimgrdError
from wifimgrd.domain.events import DeviceStateChanged, DeviceUpdated, SignalChanged
from wifimgrd.domain.interface import blocked
from wifimgrd.domain.lifecycle import Step, can_follow
from wifimgrd.manager.arrivals import Arrivals
from wifimgrd.manager.connections import Connections
from wifimgrd.manager.entry import DeviceEntry
from wifimgrd.manager.state import PULL_S, HubState, with_sighting
from wifimgrd.runtime.tasks import Tasks

_log = structlog.get_logger()


class Links:
    """Updates the state of devices when their links change. A LinkListener."""

    def __init__(self, state: HubState, connections: Connections, arrivals: Arrivals, tasks: Tasks) -> None:
        self._state = state
        self._connections = connections
        self._arrivals = arrivals
        self._tasks = tasks

    # -- events of the backend (LinkListener)

    def link_interrupted(self, interface: str, error: WifimgrdError) -> None:
        """A link that was up dropped and may come back."""
        self._process(interface, partial(self._interrupt, interface, error), is_end=True)

    def link_restored(self, interface: str, link: Link) -> None:
        """A link that was interrupted is up again."""
        self._process(interface, partial(self._restore, interface, link))

    def link_ended(self, interface: str, error: WifimgrdError) -> None:
        """A link has ended."""
        self._process(interface, partial(self._end, interface, error), is_end=True)

    def link_changed(self, interface: str, link: Link) -> None:
        """The signal, address or access point of a link that is up has changed."""
        self._process(interface, partial(self._change, interface, link))

    def _process(self, interface: str, event: Callable[[], None], *, is_end: bool = False) -> None:
        """Process an event of a link now, or as soon as the link is published."""
        if not self._arrivals.hold(interface, event, is_end=is_end):
            event()

    # -- what they change

    def adapter_pulled(self, entry: DeviceEntry, interface: str, error: InterfaceLost) -> None:
        """The adapter of a device is gone; the interface is no longer listed."""
        if can_follow(entry.state, Step.LOSE):
            self._state.lose(entry, error, interface)

    def adapter_blocked(self, entry: DeviceEntry, interface: str, rfkill: str) -> None:
        """The radio of a device's adapter was switched off, and with it the attempt or link: backends see
        that as the loss of the camera, or of its network."""
        if entry.state is DeviceState.DISCONNECTED or entry.teardown is not None:
            return
        error = blocked(interface, rfkill)
        if entry.grace is not None:
            entry.grace.cancel()
            entry.grace = None
        if entry.state is DeviceState.CONNECTED:
            self._take_down(entry, error)
        self._connections.start_leaving(entry, error)

    def _interrupt(self, interface: str, error: WifimgrdError) -> None:
        entry = self._state.holder(interface)
        if entry is None or entry.state is not DeviceState.CONNECTED:
            return
        _log.warning(
            "link_interrupted",
            device=entry.device.id,
            device_name=entry.device.name,
            interface=interface,
            reason=error.message,
        )
        self._take_down(entry, error)
        loop, grace_s = asyncio.get_running_loop(), self._state.settings.grace_s
        entry.grace = loop.call_later(grace_s, self._grace_over, entry, error)

    def _take_down(self, entry: DeviceEntry, error: WifimgrdError) -> None:
        """A link that was up is not, and the interface is kept."""
        self._state.step(entry, Step.INTERRUPT)
        self._state.record_loss(entry)
        failure = Failure(error.code, error.message, self._state.clock())
        self._state.amend(entry, replace(entry.device, failure=failure))
        entry.outcome = asyncio.get_running_loop().create_future()
        self._state.publish(DeviceStateChanged(self._state.status(entry)))

    def _grace_over(self, entry: DeviceEntry, error: WifimgrdError) -> None:
        entry.grace = None
        self._connections.start_leaving(entry, ConnectionLost(error.message))

    def _restore(self, interface: str, link: Link) -> None:
        entry = self._state.holder(interface)
        if entry is None or entry.grace is None or not self._is_waiting(entry):
            return
        if not self._arrivals.is_needed(entry, link):
            self._state.establish(entry, link)
            return
        entry.grace.cancel()  # the cancelled timer stays: the link still counts as interrupted
        self._tasks.start("arrive", self._arrive(entry, interface, link))

    async def _arrive(self, entry: DeviceEntry, interface: str, link: Link) -> None:
        grace = entry.grace
        await self._arrivals.wait(entry, interface, link)
        if self._state.holder(interface) is entry and entry.grace is grace and self._is_waiting(entry):
            self._state.establish(entry, link)
        self._arrivals.replay(entry, interface)

    def _end(self, interface: str, error: WifimgrdError) -> None:
        entry = self._state.holder(interface)
        if entry is None or not (entry.state is DeviceState.CONNECTED or self._is_waiting(entry)):
            return
        if self._state.may_be_pulled(interface, error):
            # The adapter source is about to report it too; the interface is removed before the link ends.
            if entry.grace is not None:
                entry.grace.cancel()
            entry.grace = asyncio.get_running_loop().call_later(PULL_S, self._lose_after_all, entry, error)
        else:
            self._state.lose(entry, error)

    def _lose_after_all(self, entry: DeviceEntry, error: WifimgrdError) -> None:
        entry.grace = None
        self._state.lose(entry, error)

    def _change(self, interface: str, link: Link) -> None:
        state, entry = self._state, self._state.holder(interface)
        if entry is None or entry.link is None:
            return
        before, entry.link = entry.link, state.completed(link, entry.device)
        seen = with_sighting(link.sighting, entry.device.sightings)
        state.amend(entry, replace(entry.device, sightings=seen))
        if replace(entry.link, signal_percent=0, sighting=None) != replace(
            before, signal_percent=0, sighting=None
        ):
            state.publish(DeviceUpdated(state.status(entry)))
        elif entry.link.signal_percent != before.signal_percent:
            state.publish(SignalChanged(state.status(entry)))

    # -- results of a reconciliation (wifimgrd.domain.reconciliation)

    def adopt(self, held: HeldLink) -> None:
        """A link of an idle device was found, on an interface without an assignment."""
        state, entry = self._state, self._state.entries[held.device_id]
        state.allocator = state.allocator.adopt(held.device_id, held.interface)
        state.publish_interface(held.interface)
        state.establish(entry, held.link, Step.ADOPT)

    def found_interrupted(self, interface: str) -> None:
        """A link that is up in the state is interrupted in the backend."""
        self.link_interrupted(interface, ConnectionLost("the link was interrupted meanwhile"))

    def found_gone(self, entry: DeviceEntry) -> None:
        """A link of the state does not exist in the backend."""
        self._state.lose(entry, ConnectionLost("the backend no longer has the link"))

    @staticmethod
    def _is_waiting(entry: DeviceEntry) -> bool:
        """Whether an interrupted link may still come back."""
        return entry.state is DeviceState.CONNECTING and entry.attempt is None and entry.grace is not None
