"""The backend's events: its state, its facts of interfaces, and links that change, drop, come back or end.

An event of a link that is not published yet is processed after that (`_arrivals.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import structlog

from wifimgrd.daemon.manager._arrivals import Arrivals
from wifimgrd.daemon.manager._connections import Connections
from wifimgrd.daemon.manager._notices import Notice
from wifimgrd.daemon.manager._state import PULL_S, HubState
from wifimgrd.daemon.ports import Backend, BackendListener
from wifimgrd.domain.device import Link
from wifimgrd.domain.errors import ConnectionLost, WifimgrdError
from wifimgrd.domain.events import BackendChanged, BackendStatus
from wifimgrd.domain.interface import BackendFacts
from wifimgrd.domain.lifecycle import Phase, Step
from wifimgrd.runtime.tasks import Tasks

_log = structlog.get_logger()


class BackendEvents(BackendListener):
    """Updates the state of interfaces and devices."""

    def __init__(
        self, state: HubState, connections: Connections, arrivals: Arrivals, backend: Backend, tasks: Tasks
    ) -> None:
        self._state = state
        self._connections = connections
        self._arrivals = arrivals
        self._backend = backend
        self._tasks = tasks
        self._facts: dict[str, BackendFacts] = {}
        """Of interfaces, listed or not."""
        self.status_changed = Notice[BackendStatus]()
        """The state of the backend has changed, and that was published."""

    # -- the backend and its interfaces

    def backend_changed(self, status: BackendStatus) -> None:
        """See BackendListener."""
        _log.info("backend_changed", backend=self._backend.name, state=status.state, reason=status.reason)
        self._state.publish(BackendChanged(status))
        self.status_changed.notify(status)

    def interface_facts(self, name: str, facts: BackendFacts | None) -> None:
        """See BackendListener."""
        if facts is None:
            self.forget_facts(name)
        else:
            self._facts[name] = facts
        before = self._state.allocator
        self._state.allocator = before.update_facts(name, self.facts(name))
        if self._state.allocator is not before:
            self._state.publish_interface(name)

    def facts(self, name: str) -> BackendFacts:
        """The facts of an interface, also of one that the backend does not have, or no longer has."""
        unknown = BackendFacts(obstacle=f"not known to {self._backend.name} yet", known=False)
        return self._facts.get(name, unknown)

    def forget_facts(self, name: str) -> None:
        """An interface is gone."""
        self._facts.pop(name, None)

    # -- links

    def link_interrupted(self, interface: str, error: WifimgrdError) -> None:
        """See LinkListener."""
        self._process(interface, partial(self._interrupt, interface, error), is_end=True)

    def link_restored(self, interface: str, link: Link) -> None:
        """See LinkListener."""
        self._process(interface, partial(self._restore, interface, link))

    def link_ended(self, interface: str, error: WifimgrdError) -> None:
        """See LinkListener."""
        self._process(interface, partial(self._end, interface, error), is_end=True)

    def link_changed(self, interface: str, link: Link) -> None:
        """See LinkListener."""
        self._process(interface, partial(self._change, interface, link))

    def _process(self, interface: str, event: Callable[[], None], *, is_end: bool = False) -> None:
        """Process an event of a link now, or as soon as the link is published."""
        if not self._arrivals.hold(interface, event, is_end=is_end):
            event()

    def _interrupt(self, interface: str, error: WifimgrdError) -> None:
        entry = self._state.holder(interface)
        if entry is None or entry.phase is not Phase.UP:
            return
        _log.warning(
            "link_interrupted",
            device=entry.device.id,
            device_name=entry.device.name,
            interface=interface,
            reason=error.message,
        )
        self._state.interrupt(entry, error)
        lost = ConnectionLost(error.message)
        entry.end_after(self._state.settings.grace_s, partial(self._connections.give_up, entry, lost))

    def _restore(self, interface: str, link: Link) -> None:
        entry = self._state.holder(interface)
        if entry is None or entry.phase is not Phase.INTERRUPTED:
            return
        if (arrival := self._arrivals.begin(entry, interface, link)) is None:
            self._state.establish(entry, link)
        else:
            self._connections.start_arrival(arrival, link)

    def _end(self, interface: str, error: WifimgrdError) -> None:
        entry = self._state.holder(interface)
        if entry is None or entry.phase not in (Phase.UP, Phase.INTERRUPTED, Phase.PULLED):
            return
        if not self._state.may_be_pulled(interface, error):
            self._state.lose(entry, error)
            return
        # The adapter source is about to report it too; the interface is removed before the link ends.
        if entry.phase is Phase.UP:
            self._state.step(entry, Step.PULL)
        entry.end_after(PULL_S, partial(self._state.lose, entry, error))

    def _change(self, interface: str, link: Link) -> None:
        entry = self._state.holder(interface)
        if entry is not None:
            self._state.change_link(entry, link)
