"""Reconcile the state with the adapters and with the links of the backend.

The pure function `reconcile` decides; this module reads the backend's links and carries the decision out.
Losses and found links are applied without an await after the read, so that no other event can intervene.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Final

import structlog

from wifimgrd.daemon.manager._connections import Connections
from wifimgrd.daemon.manager._entry import DeviceEntry
from wifimgrd.daemon.manager._reconnecting import Reconnecting
from wifimgrd.daemon.manager._state import HubState
from wifimgrd.daemon.ports import Backend, LinkListener
from wifimgrd.domain import reconciliation
from wifimgrd.domain.device import HeldLink
from wifimgrd.domain.errors import ConnectionLost, WifimgrdError
from wifimgrd.domain.events import BackendState, BackendStatus
from wifimgrd.domain.lifecycle import Step
from wifimgrd.domain.reconciliation import DeviceView, Inventory
from wifimgrd.runtime.tasks import Tasks

_log = structlog.get_logger()

_BACKEND_START_S: Final = 5.0
"""How long a start waits for the backend, so that clients see adopted links in their first read."""
_LINKS_S: Final = 10.0
_AGAIN_S: Final = 2.0
"""After this time the links are read again, if they could not be read."""


class Reconciling:
    """Adopts, ends and takes down links where the state and the backend differ."""

    def __init__(
        self,
        state: HubState,
        connections: Connections,
        reconnecting: Reconnecting,
        links: LinkListener,
        backend: Backend,
        tasks: Tasks,
    ) -> None:
        """`links` gets what was missed: links that were interrupted or restored meanwhile."""
        self._state = state
        self._connections = connections
        self._reconnecting = reconnecting
        self._links = links
        self._backend = backend
        self._tasks = tasks
        self._backend_decided = asyncio.Event()
        self._due = False
        self._backend_is_new = False
        self._reconciliation: asyncio.Task[None] | None = None
        self._again: asyncio.TimerHandle | None = None

    async def wait_for_backend(self) -> None:
        """Wait up to `_BACKEND_START_S` for the backend's first state, then for the reconciliation."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_BACKEND_START_S):
                await self._backend_decided.wait()
        await self._tasks.settle()

    def backend_changed(self, status: BackendStatus) -> None:
        """The backend became ready, is starting, or became unavailable."""
        if status.state is not BackendState.STARTING:
            self._backend_decided.set()
        if status.state is BackendState.READY:
            self._backend_is_new = True
            self.reconcile_soon()

    def reconcile_soon(self) -> None:
        """Schedule a reconciliation, one for all requests before it begins. While the backend is unavailable
        it is skipped; the backend's return schedules it again."""
        self._due = True
        if self._reconciliation is None or self._reconciliation.done():
            self._reconciliation = self._tasks.start("reconcile", self._reconcile())

    def stop(self) -> None:
        """No longer read again the links that could not be read."""
        if self._again is not None:
            self._again.cancel()

    async def _reconcile(self) -> None:
        while self._due and self._backend.status.state is BackendState.READY:
            self._due = False
            try:
                async with asyncio.timeout(_LINKS_S):
                    held = await self._backend.links()
            except (WifimgrdError, TimeoutError) as error:
                _log.warning("links_unknown", reason=str(error) or "they were not read in time")
                self.stop()
                self._again = asyncio.get_running_loop().call_later(_AGAIN_S, self.reconcile_soon)
                return
            state = self._state
            inventory = Inventory(frozenset(state.allocator.interfaces), frozenset(state.unlisted))
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
        return DeviceView(entry.device.id, entry.phase, self._state.interface_of(entry), entry.removing)

    def _carry_out(self, action: reconciliation.Action) -> None:
        match action:
            case reconciliation.Lose(device):
                error = ConnectionLost("the backend no longer has the link")
                self._state.lose(self._state.entries[device], error)
            case reconciliation.Adopt(link):
                self._adopt(link)
            case reconciliation.Interrupt(link):
                error = ConnectionLost("the link was interrupted meanwhile")
                self._links.link_interrupted(link.interface, error)
            case reconciliation.Restore(link):
                self._links.link_restored(link.interface, link.link)

    def _adopt(self, held: HeldLink) -> None:
        """A link of an idle device was found, on an interface without an assignment."""
        state, entry = self._state, self._state.entries[held.device_id]
        state.allocator = state.allocator.adopt(held.device_id, held.interface)
        state.publish_interface(held.interface)
        state.establish(entry, held.link, Step.ADOPT)

    async def _drop(self, link: HeldLink) -> None:
        if self._state.holder(link.interface) is None:  # assigned while another link was taken down
            _log.warning("stray_link", device=link.device_id, interface=link.interface)
            await self._connections.leave(link.interface)
