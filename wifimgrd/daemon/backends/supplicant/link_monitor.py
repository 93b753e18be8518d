"""The part of watching a link that does not depend on who configures its address."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from ipaddress import IPv4Interface
from typing import Generic, Self, TypeVar

import structlog

from wifimgrd.bus.connection import BusClosed, BusError, Signal
from wifimgrd.daemon.backends.supplicant import diagnosis
from wifimgrd.daemon.backends.supplicant.attempt import Joined
from wifimgrd.daemon.backends.supplicant.bss_choice import BssChoice
from wifimgrd.daemon.backends.supplicant.bssid_limit import BssidLimit, LimitNetworks
from wifimgrd.daemon.backends.supplicant.lease_check import LinkReading
from wifimgrd.daemon.backends.supplicant.network_search import LinkSearch
from wifimgrd.daemon.ports import READING_S, LinkListener
from wifimgrd.domain.device import BitRates, HeldLink, Link, Sighting, Ssid
from wifimgrd.domain.errors import AddressFailed, WifimgrdError
from wifimgrd.kernel import nl80211
from wifimgrd.proxies.wpa_supplicant.bss import link_percent
from wifimgrd.proxies.wpa_supplicant.definitions import ReasonCode, SupplicantState
from wifimgrd.proxies.wpa_supplicant.interface import SupplicantInterface
from wifimgrd.runtime.tasks import Tasks, Work

_log = structlog.get_logger(__name__)

R = TypeVar("R", bound=LinkReading)


class SupplicantLinkMonitor(ABC, Generic[R]):
    """Watches one link through wpa_supplicant (the association); a subclass watches its address.

    The listener is notified from `start` until the link has ended or `close`.
    """

    def __init__(
        self, held: HeldLink, joined: Joined[R], tasks: Tasks, require_usable: Callable[[Ssid, R], None]
    ) -> None:
        """`require_usable` raises AddressFailed where the address of the link cannot be used."""
        self.held = held
        self.supplicant = joined.supplicant
        self._reading = joined.reading
        self._require_usable = require_usable
        self._checked: IPv4Interface | None = None
        """The address that was last found usable."""
        self._refusal: WifimgrdError | None = None
        """Why the link is being taken down by this monitor."""
        self._listener: LinkListener | None = None
        self._on_end: Callable[[], None] | None = None
        self._association: nl80211.Association | None = None
        """As it was read last; None until the first reading of a link that is up."""
        self._end_cause: WifimgrdError | None = None
        """Why the link has ended; None while it has not."""
        # It was COMPLETED when the address was read; what has come since, nobody has seen yet.
        self._state: str = joined.supplicant.last_state or SupplicantState.COMPLETED
        self._reason = 0
        """The last DisconnectReason of the supplicant; it arrives before the state."""
        self._interrupted = False
        self._closed = False
        self._tasks = tasks
        self._search = LinkSearch(joined.supplicant, held.ssid, BssidLimit(held.interface, joined.bssid))
        self._search.state_changed(self._state)
        self._search_task: asyncio.Task[None] | None = None
        self._log = _log.bind(device=held.device_id, interface=held.interface)
        self.supplicant.watch_changes(self._changed)
        self.supplicant.on_scan_done = None

    def address_is_usable(self) -> None:
        """Note that the address of the link was just found usable, so that only another one is checked."""
        self._checked = self._reading.lease

    @property
    def is_up(self) -> bool:
        """False while the link is interrupted."""
        return not self._interrupted

    @property
    def bssid(self) -> str:
        """The access point that the link is to, also while it is interrupted; empty where it is not known."""
        sighting = self._reading.link.sighting
        return self._search.limit.bssid or (sighting.bssid if sighting else "")

    @property
    @abstractmethod
    def identity(self) -> str:
        """Which link it is: of two monitors with the same one, both watch the same link."""

    def start(
        self,
        listener: LinkListener,
        on_end: Callable[[Self], None],
        choice: Callable[[], BssChoice] = BssChoice,
        limit_networks: LimitNetworks | None = None,
    ) -> None:
        """Notify this listener from now on, and of what has happened since the link came up.

        `on_end` is called when the link has ended, before the listener is notified. If the link has ended
        already, both are called in the next iteration of the event loop, when the listener has the link.
        Nothing is started if `close` was called meanwhile. `choice` is what is known of the network's access
        points at the time that it is called; `limit_networks` changes the one that is joined.
        """
        if self._closed and self._end_cause is None:
            return
        self._listener, self._on_end = listener, lambda: on_end(self)
        self._search.limit.choice, self._search.limit.limit_networks = choice, limit_networks
        if self._end_cause is None:
            self._end_cause = self._end_before_start()
        loop = asyncio.get_running_loop()
        if self._end_cause is not None:
            loop.call_soon(self.end, self._end_cause)
            return
        self._watch()
        self._start_task(self._follow_association)
        loop.call_soon(self._drop_where_down)  # the caller has not received the link yet

    def close(self) -> None:
        """Stop watching, without notifying the listener."""
        self._closed = True
        self._listener = None
        self._tasks.cancel()
        self.supplicant.close()

    def end(self, error: WifimgrdError) -> None:
        """The link has ended: stop watching and notify the listener."""
        listener, on_end = self._listener, self._on_end
        self._end_cause = error
        self.close()
        if on_end:
            on_end()
            self._log.info("link_ended", code=error.code.value)
        if listener:
            listener.link_ended(self.held.interface, error)

    # -- what a subclass adds

    @abstractmethod
    def _watch(self) -> None:
        """Start to watch the address."""

    @abstractmethod
    def _associated(self) -> None:
        """The supplicant has associated."""

    def _dissociated(self) -> None:
        """The supplicant is not associated, and may have been so before."""

    @abstractmethod
    async def _disconnect(self) -> None:
        """Take the link down."""

    def _end_before_start(self) -> WifimgrdError | None:
        """Why the link has ended before `start`, where no event has shown it."""
        return None

    # -- the association

    def _changed(self, signal: Signal) -> None:
        changed = SupplicantInterface.changes(signal.body)
        self._reason = changed.get("DisconnectReason", self._reason)
        state = changed.get("State")
        if state is None:
            return
        self._state = state
        self._search.state_changed(state)
        self._drop_where_down()
        if state == SupplicantState.COMPLETED:
            self._associated()

    def _drop_where_down(self) -> None:
        """Report the loss of the association, and search for the network."""
        if not diagnosis.is_down(self._state) or self._listener is None:
            return
        self._dissociated()
        if self._search_task is not None:
            return
        reason, self._reason = self._reason, 0
        self._interrupt(diagnosis.interrupted(self.held.ssid, reason), reason=reason)
        self._search_task = self._start_task(self._search_network)

    async def _search_network(self) -> None:
        await self._search.run(self._reading.link.sighting)

    def _reassociate(self) -> None:
        """Make the supplicant reassociate: the kernel ended the association without its notice."""
        self._log.warning("supplicant_unaware", effect="it is made to reassociate")
        self._interrupt(diagnosis.interrupted(self.held.ssid, -ReasonCode.INACTIVITY))
        self._start_task(self.supplicant.start_over)

    def _interrupt(self, cause: WifimgrdError, **facts: object) -> None:
        if self._interrupted or self._listener is None:
            return
        self._interrupted = True
        self._association = None
        self._log.debug("association_lost", **facts)
        self._listener.link_interrupted(self.held.interface, cause)

    async def _follow_association(self) -> None:
        """Read the signal strength, the bit rates and the frequency of the link from time to time."""
        while True:
            await asyncio.sleep(READING_S)
            # In a thread, because a driver may wait for its firmware.
            found = await asyncio.to_thread(nl80211.association_of, self.held.interface)
            if found is not None and self.is_up:
                self._association = found
                self._apply(self._reading, is_read=True)

    # -- the link as a whole

    def _apply(self, reading: R, *, is_read: bool = False) -> None:
        """Report the link as restored, as changed or, `is_read`, as read again; the association and the
        address are there."""
        reading = reading.with_link(_associated(reading.link, self._association))
        before, self._reading = self._reading, reading
        self.held = HeldLink(self.held.device_id, self.held.interface, self.held.ssid, reading.link)
        if self._listener is None:
            return
        if self._interrupted:
            self._interrupted = False
            if self._search_task:
                self._search_task.cancel()
                self._search_task = None
            self._log.info("link_restored")
            self._listener.link_restored(self.held.interface, reading.link)
        elif is_read or reading.link != before.link:
            self._listener.link_changed(self.held.interface, reading.link)

    async def _refuse_unusable(self, reading: R) -> bool:
        """End the link if its address is new and cannot be used; returns whether it is."""
        if reading.lease == self._checked:
            return False
        try:
            self._require_usable(self.held.ssid, reading)
        except AddressFailed as error:
            await self._refuse(error)
            return True
        self._checked = reading.lease
        return False

    async def _refuse(self, error: AddressFailed) -> None:
        """Take the link down and end it, because of its address."""
        self._log.warning("address_refused", reason=error.message)
        self._refusal = error
        try:
            await self._disconnect()
        finally:
            if not self._closed:
                self.end(error)

    # -- tasks

    def _start_task(self, work: Work) -> asyncio.Task[None]:
        return self._tasks.start(work.__name__, self._guarded(work))

    async def _guarded(self, work: Work) -> None:
        try:
            await work()
        except (BusError, BusClosed, TimeoutError) as error:
            self._log.debug("link_unreadable", error=str(error))


def _associated(link: Link, read: nl80211.Association | None) -> Link:
    """A link with what was read of its association, unless that was with another access point."""
    at = link.sighting
    if read is None or (at is not None and at.bssid != read.bssid):
        return link
    frequency_mhz = read.frequency_mhz or (at.frequency_mhz if at else 0)
    return replace(
        link,
        signal_percent=link.signal_percent if read.signal_dbm is None else link_percent(read.signal_dbm),
        sighting=Sighting(read.bssid, frequency_mhz) if frequency_mhz else at,
        rates=BitRates(read.tx_kbps, read.rx_kbps),
    )
