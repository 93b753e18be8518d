"""What the adapters and the backend tell, and how memory is made to agree with both.

The decision is the pure `reconcile`; this module asks the backend for its links, and does what was
decided. Losses, and links found, are taken in without a pause after that question, so that nothing can
come between.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Final

import structlog

from wifimgrd.domain import reconciliation
from wifimgrd.domain.adapter import Adapter
from wifimgrd.domain.device import DeviceState, HeldLink, Link
from wifimgrd.domain.errors import WifimgrdError
from wifimgrd.domain.events import (
    BackendChanged,
    BackendState,
    BackendStatus,
    InterfaceAdded,
    InterfaceRemoved,
)
from wifimgrd.domain.interface import BackendFacts
from wifimgrd.domain.reconciliation import Inventory, Phase, Standing
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
"""How long a start waits for the backend, so that clients see adopted links from the first look."""


class Reconciling:
    """An AdapterListener and a BackendListener."""

    def __init__(
        self,
        state: HubState,
        connections: Connections,
        reconnecting: Reconnecting,
        recovering: Recovering,
        backend: Backend,
        tasks: Tasks,
    ) -> None:
        self._state = state
        self._connections = connections
        self._reconnecting = reconnecting
        self._recovering = recovering
        self._backend = backend
        self._links = Links(state, connections)
        self._facts: dict[str, BackendFacts] = {}
        self._foreign: set[str] = set()
        """Interfaces that are there and not listed."""
        self._backend_decided = asyncio.Event()
        self._due = False
        self._backend_is_new = False
        self._agreement: asyncio.Task[None] | None = None
        self._tasks = tasks

    async def settle(self) -> None:
        """Return when nothing is left to be done."""
        await self._tasks.settle()

    async def settle_with_backend(self) -> None:
        """Wait a moment for the backend's first word, then for agreement with it."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_BACKEND_START_S):
                await self._backend_decided.wait()
        await self.settle()

    # -- agreeing

    def agree_soon(self) -> None:
        """Reconcile, once for all who ask before it begins; nothing while the backend is away, whose
        return asks again."""
        self._due = True
        if self._agreement is None or self._agreement.done():
            self._agreement = self._tasks.start("agree", self._agree())

    async def _agree(self) -> None:
        while self._due and self._backend.status.state is BackendState.READY:
            self._due = False
            try:
                held = await self._backend.links()
            except WifimgrdError as error:
                _log.warning("links_unknown", reason=error.message)
                return
            state = self._state
            inventory = Inventory(frozenset(state.allocator.interfaces), frozenset(self._foreign))
            standings = map(self._standing, state.entries.values())
            actions = reconciliation.reconcile(standings, inventory, held)
            for action in actions:
                self._take_in(action)
            for action in actions:
                if isinstance(action, reconciliation.Drop):
                    await self._drop(action.link)
            if self._backend_is_new:
                self._backend_is_new = False
                self._reconnecting.backend_ready()

    def _standing(self, entry: DeviceEntry) -> Standing:
        return Standing(entry.device.id, _phase(entry), self._state.interface_of(entry), entry.removing)

    def _take_in(self, action: reconciliation.Action) -> None:
        match action:
            case reconciliation.Lose(device):
                self._links.found_gone(self._state.entries[device])
            case reconciliation.Adopt(link):
                self._links.adopt(link)
            case reconciliation.Interrupt(link):
                self._links.found_interrupted(link.interface)
            case reconciliation.Restore(link):
                self._links.link_restored(link.interface, link.link)

    async def _drop(self, link: HeldLink) -> None:
        if self._state.holder(link.interface) is None:  # taken while another was dropped
            _log.warning("stray_link", device=link.device, interface=link.interface)
            await self._connections.leave(link.interface)

    # -- what the adapters tell (AdapterListener)

    def adapter_present(self, adapter: Adapter) -> None:
        """An adapter appeared, or is described anew under the same name."""
        state, name = self._state, adapter.name
        before = state.allocator
        facts = self._facts.get(name) or self._unknown()
        state.allocator = before.plug(adapter, facts)
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
            state.tell_of_interface(name)
            if not interface.exclusion:
                self._tasks.start("hold", self._backend.hold(name))
            self.agree_soon()
        elif interface != before.interfaces[name]:
            state.publish_interface(name)

    def adapter_gone(self, name: str) -> None:
        """An adapter was pulled out."""
        state = self._state
        self._facts.pop(name, None)
        self._foreign.discard(name)
        if name not in state.allocator.interfaces:
            return
        holder = state.holder(name)
        identity = state.allocator.interfaces[name].adapter.identity
        state.allocator = state.allocator.unplug(name)
        _log.info("adapter_removed", interface=name)
        state.publish(InterfaceRemoved(name))
        self._recovering.gone(identity)
        if holder is not None:
            self._links.adapter_pulled(holder, name)

    def adapter_firmware_failed(self, name: str) -> None:
        """The driver of an adapter tells that its firmware crashed."""
        self._recovering.firmware_failed(name)

    def adapters_recounted(self) -> None:
        """Events were lost; all that has changed meanwhile has been told now."""
        self.agree_soon()

    # -- what the backend tells (BackendListener)

    def backend_changed(self, status: BackendStatus) -> None:
        """The backend came, went or is on its way."""
        _log.info("backend_changed", backend=self._backend.name, state=status.state, reason=status.reason)
        self._state.publish(BackendChanged(status))
        if status.state is not BackendState.STARTING:
            self._backend_decided.set()
        if status.state is BackendState.READY:
            self._backend_is_new = True
            self.agree_soon()

    def interface_facts(self, name: str, facts: BackendFacts | None) -> None:
        """What the backend knows of an interface changed, or is known now; None where it has lost it."""
        if facts is None:
            self._facts.pop(name, None)
        else:
            self._facts[name] = facts
        before = self._state.allocator
        self._state.allocator = before.learn(name, facts or self._unknown())
        if self._state.allocator is not before:
            self._state.publish_interface(name)

    def _unknown(self) -> BackendFacts:
        """Of an interface that the backend does not know, or knows no more."""
        return BackendFacts(obstacle=f"not known to {self._backend.name} yet")

    def link_interrupted(self, interface: str, error: WifimgrdError) -> None:
        """A link that was up dropped and may come back."""
        self._links.link_interrupted(interface, error)

    def link_restored(self, interface: str, link: Link) -> None:
        """A link that was interrupted is up again."""
        self._links.link_restored(interface, link)

    def link_ended(self, interface: str, error: WifimgrdError) -> None:
        """A link is gone for good."""
        self._links.link_ended(interface, error)

    def link_changed(self, interface: str, link: Link) -> None:
        """A link that is up has another signal, address or access point."""
        self._links.link_changed(interface, link)


def _phase(entry: DeviceEntry) -> Phase:
    match entry.state:
        case DeviceState.DISCONNECTED:
            return Phase.AT_REST
        case DeviceState.CONNECTED:
            return Phase.UP if entry.grace is None else Phase.ENDING  # its adapter was pulled
        case DeviceState.CONNECTING if entry.teardown is None and entry.attempt is None:
            return Phase.WAITING
        case DeviceState.CONNECTING if entry.attempt is not None:
            return Phase.JOINING
    return Phase.ENDING
