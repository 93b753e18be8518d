"""Follow a join of wpa_supplicant to an association or an error, from its events and its scans."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from structlog.typing import FilteringBoundLogger

from wifimgrd.bus.connection import BusClosed, BusError
from wifimgrd.daemon.backends.supplicant import diagnosis
from wifimgrd.daemon.backends.supplicant.bssid_limit import BssidLimit
from wifimgrd.daemon.ports import JoinRequest
from wifimgrd.kernel.nl80211 import HandshakeReply, watch_handshake
from wifimgrd.kernel.subscription import Subscription
from wifimgrd.proxies.wpa_supplicant.bss import Bss
from wifimgrd.proxies.wpa_supplicant.definitions import NO_OBJECT, InterfaceProperties, SupplicantState
from wifimgrd.proxies.wpa_supplicant.interface import SupplicantInterface
from wifimgrd.proxies.wpa_supplicant.scan_queue import ScanRefused

_QUIET_S: Final = 0.5
"""After this long without an association and without an event of the supplicant, the next scan starts."""
_HANDSHAKE_S: Final = 3.0
"""How long a handshake that is repeated may take without an event. hostapd sends its first message four
times, one a second. It begins anew where it has received the request to associate twice, and then ignores a
station that continues with the keys of before."""
_BSS_LOOKUPS: Final = 4
"""After this many scans, the supplicant is left to its own scans until the deadline."""


@dataclass(frozen=True, slots=True)
class SupplicantChange:
    """Properties of the supplicant's interface changed."""

    properties: InterfaceProperties


@dataclass(frozen=True, slots=True)
class ReplySent:
    """The supplicant has sent message 2 of the handshake."""

    reply: HandshakeReply
    at_s: float
    """Of the event loop's clock."""


@dataclass(frozen=True, slots=True)
class ScanEnd:
    """A scan of the supplicant ended."""

    complete: bool


@dataclass(frozen=True, slots=True)
class BssLookup:
    """The results of a scan were searched for the network."""

    visible: bool


class AssociationMonitor:
    """Processes the supplicant's events from the moment that it is to join a network."""

    def __init__(
        self,
        supplicant: SupplicantInterface,
        request: JoinRequest,
        points: Sequence[Bss],
        limit: BssidLimit,
        log: FilteringBoundLogger,
    ) -> None:
        """`points` are the access points that were found; `limit` has the only one that the supplicant is
        configured to join."""
        sae = [point for point in points if point.bssid == limit.bssid and point.offers_sae]
        self.diagnosis = diagnosis.SupplicantDiagnosis(
            request.ssid,
            sae=bool(sae),
            sae_only=any(not point.offers_psk for point in sae),
            protected=not request.passphrase.is_open,
            joined_before=bool(request.sightings),
        )
        self.current_bss = ""
        """The object path of the BSS that the supplicant is associated with, where it was reported."""
        self.visible = False
        """The network was in the last scan results."""
        self._supplicant = supplicant
        self._interface = request.interface
        self._ssid = request.ssid
        self._points = points
        self._limit = limit
        self._events: asyncio.Queue[object] = asyncio.Queue()
        self._bss_lookup: asyncio.Task[None] | None = None
        self._repeated_searches = 0
        self._handshake_watch: Subscription | None = None
        self._log = log

    def subscribe(self) -> None:
        """Receive the supplicant's events from now on; others come through `post`."""
        self._supplicant.on_change = lambda changed: self.post(SupplicantChange(changed))
        self._supplicant.on_scan_done = lambda complete: self.post(ScanEnd(complete))
        if self.diagnosis.protected:
            now_s = asyncio.get_running_loop().time
            self._handshake_watch = watch_handshake(
                self._interface, lambda reply: self.post(ReplySent(reply, now_s()))
            )

    def post(self, event: object) -> None:
        """Queue an event."""
        self._events.put_nowait(event)

    def close(self) -> None:
        """Stop lookups, and following the handshake."""
        if self._bss_lookup:
            self._bss_lookup.cancel()
        if self._handshake_watch:
            self._handshake_watch.close()

    @property
    def is_associated(self) -> bool:
        """Whether the handshake is over, as far as the events were processed."""
        return not diagnosis.is_down(self.diagnosis.state)

    @property
    def has_events(self) -> bool:
        """Whether events are queued."""
        return not self._events.empty()

    def queued(self) -> object:
        """The next event, where there is one."""
        return self._events.get_nowait()

    async def next_event(self) -> object:
        """The next event; where there was none for a while and the network is not joined, it is searched
        for. Raises HandshakeLost where a repeated handshake does not end."""
        while True:
            idle = not self.is_associated and not self._bss_lookup and self._repeated_searches < _BSS_LOOKUPS
            waits_s = _HANDSHAKE_S if self.diagnosis.handshake_repeated else _QUIET_S if idle else None
            try:
                async with asyncio.timeout(waits_s):
                    return await self._events.get()
            except TimeoutError:
                if self.diagnosis.handshake_repeated:
                    raise self.diagnosis.handshake_failed() from None
                self._bss_lookup = asyncio.get_running_loop().create_task(self._look_up_bss())

    async def process(self, event: object) -> None:
        """Process an event that is the supplicant's; raises the cause where it ends the attempt."""
        if isinstance(event, SupplicantChange):
            self.properties_changed(event.properties)
        elif isinstance(event, ReplySent):
            self._on_reply(event)
        elif isinstance(event, ScanEnd):
            await self._on_scan_end(event)
        elif isinstance(event, BssLookup):
            self._on_bss_lookup(event)

    def properties_changed(self, changed: InterfaceProperties) -> None:
        """Process properties of the supplicant; raises the cause where they end the attempt."""
        if "State" in changed:
            self._log.debug("supplicant_state", state=changed["State"])
        if "CurrentBSS" in changed:
            path = changed["CurrentBSS"]
            self.current_bss = "" if path == NO_OBJECT else path
        if verdict := self.diagnosis.properties_changed(changed):
            codes = {key: value for key, value in changed.items() if key.endswith(("Code", "Reason"))}
            self._log.info("supplicant_verdict", state=self.diagnosis.furthest, **codes)
            raise verdict

    def _on_reply(self, sent: ReplySent) -> None:
        if verdict := self.diagnosis.reply_sent(sent.reply, sent.at_s):
            self._log.info("replies_ignored", counter=sent.reply.counter)
            raise verdict

    async def _on_scan_end(self, scan: ScanEnd) -> None:
        """Check whether the network is in the results of a scan that the supplicant ran to join it.

        In a scan that was started before the join, the supplicant's state is not "scanning". An example is
        NetworkManager's own scan, which is aborted when NetworkManager sets the adapter's MAC address.
        """
        if scan.complete and self.diagnosis.state == SupplicantState.SCANNING and not self._bss_lookup:
            found = await self._supplicant.seen_in_scan(self._ssid)
            seen = bool(found)
            with suppress(BusError):  # the supplicant's network was replaced meanwhile
                seen = await self._limit.follow(found)
            self._log.debug("supplicant_scanned", found=seen)
            self.post(BssLookup(seen or await self._has_begun()))

    def _on_bss_lookup(self, lookup: BssLookup) -> None:
        """Raise where the network is missing from the results, and the supplicant is not joining it: it is
        not there."""
        self.visible = lookup.visible
        if not lookup.visible and not self.is_associated:
            raise diagnosis.not_seen(self._ssid)

    async def _look_up_bss(self) -> None:
        """Search for a network that was found but not joined: on its channels, then on all.

        The supplicant would do the same, but after a pause that grows to 10 s with each failure,
        and on all channels. It joins what a scan finds, so this also starts its next attempt.
        """
        self._repeated_searches += 1
        seen = True  # unless a scan shows the opposite
        try:
            for channels in (tuple({point.frequency_mhz for point in self._points}), ()):
                found = await self._supplicant.find_bss(self._ssid, channels)
                seen = await self._limit.follow(found)
                self._log.debug("network_searched_again", channels=channels or "all", found=seen)
                if seen:
                    break
        except (ScanRefused, BusError, BusClosed, TimeoutError) as error:
            self._log.debug("search_not_repeated", error=str(error))
        seen = seen or await self._has_begun()
        self._bss_lookup = None
        self.post(BssLookup(seen))

    async def _has_begun(self) -> bool:
        """Whether the supplicant has meanwhile begun to join the network from an older scan result: a single
        scan can miss an access point. It collects changes before it emits them, so it is asked."""
        with suppress(BusError, BusClosed, TimeoutError):
            return not diagnosis.is_down(await self._supplicant.state())
        return False
