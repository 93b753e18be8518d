"""The one value of `LinkRecovery`, with its clock and its timer: of the parts that change it, and read it."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from wifimgrd.daemon.manager._notices import Notice
from wifimgrd.domain.adapter import AdapterIdentity
from wifimgrd.domain.link_recovery import LinkRecovery
from wifimgrd.domain.link_steps import LinkRules


class LinkRecords:
    """The silences, steps and accusations of now."""

    def __init__(self, rules: LinkRules) -> None:
        self.value = LinkRecovery(rules)
        self._timer: asyncio.TimerHandle | None = None
        self._is_stopped = False
        self.adapters_changed = Notice[frozenset[AdapterIdentity]]()
        """There is something else than before on record of these adapters, or no longer anything."""
        self.expired = Notice[None]()
        """A step has taken too long, or a record no longer matters."""
        self.port_expired = Notice[AdapterIdentity]()
        """The step of the port of an adapter has taken too long, which is over now for the records."""

    def set(self, value: LinkRecovery) -> None:
        """Replace the value."""
        before, self.value = self.value.adapters, value
        if value.adapters is not before:
            names = before.keys() | value.adapters.keys()
            changed = frozenset(one for one in names if before.get(one) != value.adapters.get(one))
            if changed:
                self.adapters_changed.notify(changed)
        self._arm()

    def reconfigure(self, rules: LinkRules) -> None:
        """Replace the rules; a running step is completed."""
        self.set(replace(self.value, rules=rules))

    def stop(self) -> None:
        """No longer look at the time."""
        self._is_stopped = True
        self._arm()

    @staticmethod
    def now() -> float:
        """Seconds by a clock that only goes forward."""
        return asyncio.get_running_loop().time()

    def _arm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        next_s = None if self._is_stopped else self.value.next_s()
        if next_s is not None:
            self._timer = asyncio.get_running_loop().call_at(max(next_s, self.now()), self._expire)

    def _expire(self) -> None:
        before = self.value.adapters
        self.set(self.value.expired(self.now()))
        for adapter, record in before.items():
            now = self.value.adapters.get(adapter)
            if record.running is not None and (now is None or now.running is None):
                self.port_expired.notify(adapter)
        self.expired.notify(None)
