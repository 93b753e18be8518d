"""Links that a recovery step takes down and brings up again: meanwhile the device is connecting."""

from __future__ import annotations

import asyncio

from wifimgrd.daemon.manager._connections import Connections
from wifimgrd.daemon.manager._entry import DeviceEntry
from wifimgrd.daemon.manager._state import HubState
from wifimgrd.daemon.ports import Backend
from wifimgrd.domain.errors import BackendUnavailable, Cancelled, InternalError, NoInterfaceAvailable
from wifimgrd.domain.events import DeviceStateChanged, DeviceUpdated
from wifimgrd.domain.lifecycle import Phase, Step
from wifimgrd.runtime.tasks import Tasks


class Rejoining:
    """Takes links down for recovery steps, and has their devices join again."""

    def __init__(self, state: HubState, connections: Connections, backend: Backend, tasks: Tasks) -> None:
        self._state = state
        self._connections = connections
        self._backend = backend
        self._tasks = tasks

    def take_down(self, entry: DeviceEntry, *, commanded: bool) -> None:
        """Begin to take down the link of a device, which keeps its interface; `commanded`: a client has asked
        for the step."""
        state, name = self._state, self._state.interface_of(entry)
        state.step(entry, Step.RECOVER)
        state.record_loss(entry)
        entry.work.ask_again(commanded=commanded)
        entry.work.open_outcome()
        if name is not None:
            entry.work.leave(self._tasks.start("leave", self._connections.leave(name)))
        state.publish(DeviceStateChanged(state.status(entry)))

    async def until_down(self, entry: DeviceEntry) -> None:
        """Return when the link is down; raises Cancelled if a step can no longer bring it back."""
        leaving = entry.work.leaving
        if leaving is not None:
            await asyncio.wait((leaving,))
        self._require_recovering(entry)
        entry.work.left()

    def give_back(self, entry: DeviceEntry) -> None:
        """Free the interface of a device whose link is down, since its USB port is reset: it may be gone
        meanwhile."""
        self._state.free(entry)
        self._state.publish(DeviceUpdated(self._state.status(entry)))

    def join(self, entry: DeviceEntry, *, elsewhere: bool) -> None:
        """Begin to join again: through the interface that a device has, through another one (`elsewhere`), if
        there is one, or through any. If that is refused, the link is lost. Raises Cancelled if it was lost
        meanwhile, and the refusal."""
        self._require_recovering(entry)
        state, claim = self._state, self._connections.claim(entry.device)
        before, other = state.interface_of(entry), state.allocator.elsewhere(claim) if elsewhere else None
        try:
            self._backend.status.require_ready(self._backend.name)
            if before is not None and other is not None:
                state.allocator, name = state.allocator.move(claim.device_id, other), other
                state.publish_interface(before)
            else:
                state.allocator, name = state.allocator.assign(claim, state.device_name)
        except (NoInterfaceAvailable, BackendUnavailable) as refusal:
            state.lose(entry, refusal)
            raise
        self._connections.begin(entry, name)

    async def until_joined(self, entry: DeviceEntry) -> None:
        """Return when the link is up again; raises why it is not."""
        if entry.work.outcome is not None:
            await asyncio.shield(entry.work.outcome)

    def abandon(self, entry: DeviceEntry) -> None:
        """A step has ended before the device began to join again: its link is lost."""
        if entry.phase is not Phase.RECOVERING:
            return
        error = InternalError("the recovery step ended early")
        if self._state.interface_of(entry) is None:
            self._state.lose(entry, error)
        else:
            self._connections.give_up(entry, error)

    @staticmethod
    def _require_recovering(entry: DeviceEntry) -> None:
        if entry.phase is not Phase.RECOVERING:
            raise Cancelled("the link was lost during the recovery step")
