"""Listeners that record their events, and wait for them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from wifimgrd.domain.adapter import Adapter
from wifimgrd.domain.device import Link
from wifimgrd.domain.errors import WifimgrdError
from wifimgrd.domain.events import BackendState, BackendStatus
from wifimgrd.domain.interface import BackendFacts


@dataclass
class Reported:
    """One event of a listener; `what` is the name of the method."""

    what: str
    interface: str = ""
    error: WifimgrdError | None = None
    link: Link | None = None
    facts: BackendFacts | None = None
    status: BackendStatus | None = None
    adapter: Adapter | None = None


@dataclass
class Recorder:
    """A BackendListener and AdapterListener in one."""

    patience_s: float = 10
    reported: list[Reported] = field(default_factory=list)
    _news: asyncio.Event = field(default_factory=asyncio.Event)
    _read: int = 0

    def backend_changed(self, status: BackendStatus) -> None:
        self._note(Reported("backend_changed", status=status))

    def interface_facts(self, name: str, facts: BackendFacts | None) -> None:
        self._note(Reported("interface_facts", name, facts=facts))

    def link_interrupted(self, interface: str, error: WifimgrdError) -> None:
        self._note(Reported("link_interrupted", interface, error=error))

    def link_restored(self, interface: str, link: Link) -> None:
        self._note(Reported("link_restored", interface, link=link))

    def link_ended(self, interface: str, error: WifimgrdError) -> None:
        self._note(Reported("link_ended", interface, error=error))

    def link_changed(self, interface: str, link: Link) -> None:
        self._note(Reported("link_changed", interface, link=link))

    def adapter_present(self, adapter: Adapter) -> None:
        self._note(Reported("adapter_present", adapter.name, adapter=adapter))

    def adapter_gone(self, name: str) -> None:
        self._note(Reported("adapter_gone", name))

    def adapter_firmware_failed(self, name: str) -> None:
        self._note(Reported("adapter_firmware_failed", name))

    def adapters_recounted(self) -> None:
        self._note(Reported("adapters_recounted"))

    def about_links(self) -> list[str]:
        """The names of the recorded events of links, but for readings, which come at any time."""
        names = [reported.what for reported in self.reported if reported.what.startswith("link_")]
        return [name for name in names if name != "link_changed"]

    def forget(self) -> None:
        """Begin anew."""
        self.reported.clear()
        self._read = 0

    def rewind(self) -> None:
        """Have each recorded event waited for once more, from the first one."""
        self._read = 0

    async def next(self, what: str, fits: Callable[[Reported], bool] = lambda _: True) -> Reported:
        """The next thing of that name that was not waited for before; skips what comes before it."""
        async with asyncio.timeout(self.patience_s):
            while True:
                while self._read < len(self.reported):
                    reported = self.reported[self._read]
                    self._read += 1
                    if reported.what == what and fits(reported):
                        return reported
                self._news.clear()
                await self._news.wait()

    async def backend_is(self, state: BackendState) -> BackendStatus:
        """Wait until the backend has reported `state`."""
        reported = await self.next(
            "backend_changed", lambda reported: reported.status is not None and reported.status.state is state
        )
        assert reported.status is not None
        return reported.status

    def _note(self, reported: Reported) -> None:
        self.reported.append(reported)
        self._news.set()
