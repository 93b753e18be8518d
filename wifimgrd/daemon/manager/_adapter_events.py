"""The adapter source's events: adapters that appear, change, are pulled out, or whose firmware failed."""

from __future__ import annotations

import structlog

from wifimgrd.daemon.manager._backend_events import BackendEvents
from wifimgrd.daemon.manager._connections import Connections
from wifimgrd.daemon.manager._entry import DeviceEntry
from wifimgrd.daemon.manager._reconciling import Reconciling
from wifimgrd.daemon.manager._recovering import Recovering
from wifimgrd.daemon.manager._reservations import Reservations
from wifimgrd.daemon.manager._state import HubState
from wifimgrd.daemon.ports import AdapterListener, Backend
from wifimgrd.domain.adapter import Adapter
from wifimgrd.domain.device import DeviceState
from wifimgrd.domain.events import InterfaceAdded, InterfaceRemoved
from wifimgrd.domain.interface import blocked
from wifimgrd.domain.lifecycle import Phase, Step, can_follow
from wifimgrd.runtime.tasks import Tasks

_log = structlog.get_logger()


class AdapterEvents(AdapterListener):
    """Lists the interfaces of the adapters, and ends what ran on an adapter that is gone or switched off."""

    def __init__(
        self,
        state: HubState,
        reservations: Reservations,
        connections: Connections,
        backend_events: BackendEvents,
        reconciling: Reconciling,
        recovering: Recovering,
        backend: Backend,
        tasks: Tasks,
    ) -> None:
        self._state = state
        self._reservations = reservations
        self._connections = connections
        self._backend_events = backend_events
        self._reconciling = reconciling
        self._recovering = recovering
        self._backend = backend
        self._tasks = tasks

    def adapter_present(self, adapter: Adapter) -> None:
        """See AdapterListener."""
        state, name = self._state, adapter.name
        before = state.allocator
        state.allocator = before.add(adapter, self._backend_events.facts(name))
        interface = state.allocator.interfaces.get(name)
        if interface is None:
            state.unlisted.add(name)
            return
        if name not in before.interfaces:
            state.unlisted.discard(name)
            _log.info(
                "adapter_added", interface=name, mac=adapter.identity.mac, port=adapter.identity.usb_port
            )
            self._reservations.gone.plugged_in(adapter)
            state.publish(InterfaceAdded(state.allocator.status(name)))
            self._recovering.present(name)
            state.interface_may_be_free.notify(name)
            if len(state.allocator.of_radio(name)) > 1:
                state.publish_interface(name)
            if not interface.exclusion:
                self._tasks.start("claim", self._backend.claim(name))
            self._reconciling.reconcile_soon()
        elif interface != before.interfaces[name]:
            state.publish_interface(name)
            if adapter.rfkill and (holder := state.holder(name)) is not None:
                self._switched_off(holder, name, adapter.rfkill)
        self._reservations.check()

    def adapter_gone(self, name: str) -> None:
        """See AdapterListener."""
        state = self._state
        self._backend_events.forget_facts(name)
        state.unlisted.discard(name)
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
        if not sharers:
            self._reservations.unplugged(adapter)
        if holder is not None and can_follow(holder.phase, Step.LOSE):
            state.lose(holder, self._backend.loss_of(name), name)
        self._reservations.check()

    def adapter_firmware_failed(self, name: str) -> None:
        """See AdapterListener."""
        self._recovering.firmware_failed(name)

    def adapters_recounted(self) -> None:
        """See AdapterListener."""
        self._reconciling.reconcile_soon()

    def _switched_off(self, entry: DeviceEntry, interface: str, rfkill: str) -> None:
        """The radio of a device's adapter was switched off, and with it the attempt or link: backends see
        that as the loss of the camera, or of its network."""
        if entry.phase is Phase.IDLE or entry.phase.is_ending:
            return
        error = blocked(interface, rfkill)
        if entry.state is DeviceState.CONNECTED:
            self._state.interrupt(entry, error)
        self._connections.give_up(entry, error)
