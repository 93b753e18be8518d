"""Process the events of the adapter source and of the backend, and reconcile the state with both.

The pure function `reconcile` decides; this module reads the backend's links and carries the decision out.
Losses and found links are applied without an await after the read, so that no other event can intervene.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Final

import structlog

from wifimgrd.domain import reconciliation
from wifimgrd.domain.adapter import Adapter
from wifimgrd.domain.device import DeviceState, HeldLink
from wifimgrd.domain.errors import WifimgrdError
from wifimgrd.domain.events import (
    BackendChanged,
    BackendState,
    BackendStatus,
    InterfaceAdded,
    InterfaceRemoved,
)
from wifimgrd.domain.interface import BackendFacts
from wifimgrd.domain.reconciliation import DeviceView, Inventory, Phase
from wifimgrd.manager.arrivals import Arrivals
from wifimgrd.manager.connections import Connections
from wifimgrd.manager.entry import DeviceEntry
from wifimgrd.manager.links import Links
from wifimgrd.manager.reconnecting import Reconnecting
from wifimgrd.manager.recovering import Recovering
from wifimgrd.manager.state import HubState
from wifimgrd.ports import Backend
from wifimgrd.runtime.tasks import Tasks

_log = structlog.get_logger()

_BACKEND_START_S: Final = 5.0
"""How long a start waits for the backend, so that clients see adopted links in their first read."""


class BackendEvents(Links):
    """An AdapterListener and a BackendListener, whose events of links are processed by its base."""

    def __init__(
        self,
        state: HubState,
        connections: Connections,
        reconnecting: Reconnecting,
        recovering: Recovering,
        backend: Backend,
        arrivals: Arrivals,
        tasks: Tasks,
    ) -> None:
        super().__init__(state, connections, arrivals, tasks)
        self._reconnecting = reconnecting
        self._recovering = recovering
        self._backend = backend
        self._facts: dict[str, BackendFacts] = {}
        self._foreign: set[str] = set()
        """Interfaces that are present but not listed."""
        self._backend_decided = asyncio.Event()
        self._due = False
        self._backend_is_new = False
        self._reconciliation: asyncio.Task[None] | None = None

    async def settle(self) -> None:
        """Return when no task is pending."""
        await self._tasks.settle()

    async def settle_with_backend(self) -> None:
        """Wait up to `_BACKEND_START_S` for the backend's first state, then for the reconciliation."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_BACKEND_START_S):
                await self._backend_decided.wait()
        await self.settle()

    # -- reconciliation

    def reconcile_soon(self) -> None:
        """Schedule a reconciliation, one for all requests before it begins. While the backend is unavailable
        it is skipped; the backend's return schedules it again."""
        self._due = True
        if self._reconciliation is None or self._reconciliation.done():
            self._reconciliation = self._tasks.start("agree", self._reconcile())

    async def _reconcile(self) -> None:
        while self._due and self._backend.status.state is BackendState.READY:
            self._due = False
            try:
                held = await self._backend.links()
            except WifimgrdError as error:
                _log.warning("links_unknown", reason=error.message)
                return
            state = self._state
            inventory = Inventory(frozenset(state.allocator.interfaces), frozenset(self._foreign))
            views = map(self._view, state.entries.values())
            actions = reconciliation.reconcile(views, inventory, held)
            for action in actions:
                self._carry_out(action)
            for action in actions:
                if isinstance(action, reconciliation.Drop):
                    await self._drop(action.link)
            if self._backend_is_new:
                self._backend_is_new = False
                self._reconnecting.backend_ready()

    def _view(self, entry: DeviceEntry) -> DeviceView:
        return DeviceView(entry.device.id, _phase(entry), self._state.interface_of(entry), entry.removing)

    def _carry_out(self, action: reconciliation.Action) -> None:
        match action:
            case reconciliation.Lose(device):
                self.found_gone(self._state.entries[device])
            case reconciliation.Adopt(link):
                self.adopt(link)
            case reconciliation.Interrupt(link):
                self.found_interrupted(link.interface)
            case reconciliation.Restore(link):
                self.link_restored(link.interface, link.link)

    async def _drop(self, link: HeldLink) -> None:
        if self._state.holder(link.interface) is None:  # assigned while another link was taken down
            _log.warning("stray_link", device=link.device_id, interface=link.interface)
            await self._connections.leave(link.interface)

    # -- events of the adapter source (AdapterListener)

    def adapter_present(self, adapter: Adapter) -> None:
        """An adapter appeared, or the description of the adapter with that name changed."""
        state, name = self._state, adapter.name
        before = state.allocator
        facts = self._facts.get(name) or self._unknown()
        state.allocator = before.add(adapter, facts)
        interface = state.allocator.interfaces.get(name)
        if interface is None:
            self._foreign.add(name)
            return
        if name not in before.interfaces:
            self._foreign.discard(name)
            _log.info(
                "adapter_added", interface=name, mac=adapter.identity.mac, port=adapter.identity.usb_port
            )
            state.publish(InterfaceAdded(state.allocator.status(name)))
            self._recovering.present(name)
            state.interface_may_be_free.notify(name)
            if len(state.allocator.of_radio(name)) > 1:
                state.publish_interface(name)
            if not interface.exclusion:
                self._tasks.start("hold", self._backend.claim(name))
            self.reconcile_soon()
        elif interface != before.interfaces[name]:
            state.publish_interface(name)
            if adapter.rfkill and (holder := state.holder(name)) is not None:
                self.adapter_blocked(holder, name, adapter.rfkill)
        state.check_reservations()

    def adapter_gone(self, name: str) -> None:
        """An adapter was pulled out."""
        state = self._state
        self._facts.pop(name, None)
        self._foreign.discard(name)
        if name not in state.allocator.interfaces:
            return
        holder = state.holder(name)
        adapter = state.allocator.interfaces[name].adapter
        sharers = state.allocator.of_radio(name) - {name}
        state.allocator = state.allocator.remove(name)
        _log.info("adapter_removed", interface=name)
        state.publish(InterfaceRemoved(name))
        if sharers:  # an interface of the adapter was removed, and the adapter is still there
            state.publish_interface(min(sharers))
        if not state.allocator.named(adapter.identity):
            self._recovering.removed_adapter(adapter.identity)
        state.note_unplugged(adapter)
        if holder is not None:
            self.adapter_pulled(holder, name, self._backend.loss_of(name))
        state.check_reservations()

    def adapter_firmware_failed(self, name: str) -> None:
        """The driver of an adapter reported a crash of its firmware."""
        self._recovering.firmware_failed(name)

    def adapters_recounted(self) -> None:
        """Events were lost; all changes since then have been reported now."""
        self.reconcile_soon()

    # -- events of the backend (BackendListener)

    def backend_changed(self, status: BackendStatus) -> None:
        """The backend became ready, is starting, or became unavailable."""
        _log.info("backend_changed", backend=self._backend.name, state=status.state, reason=status.reason)
        self._state.publish(BackendChanged(status))
        if status.state is not BackendState.STARTING:
            self._backend_decided.set()
        if status.state is BackendState.READY:
            self._backend_is_new = True
            self.reconcile_soon()

    def interface_facts(self, name: str, facts: BackendFacts | None) -> None:
        """The backend's facts of an interface are available or have changed; None where it has lost it."""
        if facts is None:
            self._facts.pop(name, None)
        else:
            self._facts[name] = facts
        before = self._state.allocator
        self._state.allocator = before.update_facts(name, facts or self._unknown())
        if self._state.allocator is not before:
            self._state.publish_interface(name)

    def _unknown(self) -> BackendFacts:
        """The facts of an interface that the backend does not have, or no longer has."""
        return BackendFacts(obstacle=f"not known to {self._backend.name} yet", known=False)


def _phase(entry: DeviceEntry) -> Phase:
    match entry.state:
        case DeviceState.DISCONNECTED:
            return Phase.IDLE
        case DeviceState.CONNECTED:
            return Phase.UP if entry.grace is None else Phase.ENDING  # its adapter was unplugged
        case DeviceState.CONNECTING if entry.teardown is None and entry.attempt is None:
            return Phase.WAITING
        case DeviceState.CONNECTING if entry.attempt is not None:
            return Phase.JOINING
    return Phase.ENDING
