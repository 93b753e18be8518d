"""Watch a link until it ends: loss, restoration, changes of the address and of the access point."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from wifimgrd.daemon.backends.supplicant import diagnosis
from wifimgrd.daemon.backends.supplicant.link_monitor import SupplicantLinkMonitor
from wifimgrd.daemon.backends.wpa_supplicant._attempt import Joined
from wifimgrd.daemon.backends.wpa_supplicant._lease_request import LeaseRequest
from wifimgrd.daemon.backends.wpa_supplicant._link_address import (
    LinkAddress,
    LinkReading,
    NextRead,
    NotOurs,
    read_address,
)
from wifimgrd.daemon.backends.wpa_supplicant._services import Services
from wifimgrd.domain.device import HeldLink, Ssid
from wifimgrd.domain.errors import WifimgrdError
from wifimgrd.proxies.wpa_supplicant.definitions import SupplicantState
from wifimgrd.runtime.tasks import Tasks

_NOTICE_S: Final = 0.3
"""How long after the kernel the supplicant may report the same loss; mostly it reports it first."""
_WITHOUT_NETWORKD_S: Final = 5.0
"""How long an associated link may be without an address while networkd does not run. It takes addresses away
when it is stopped or restarted, and gives them back when it runs again."""


class LinkMonitor(SupplicantLinkMonitor[LinkReading]):
    """Watches one link through wpa_supplicant (the association) and the kernel and networkd (the address)."""

    def __init__(
        self,
        services: Services,
        held: HeldLink,
        joined: Joined,
        tasks: Tasks,
        require_usable: Callable[[Ssid, LinkReading], None],
    ) -> None:
        super().__init__(held, joined, tasks, require_usable)
        self.interface = joined.interface
        self._services = services
        self._notice: asyncio.TimerHandle | None = None
        self._reader: asyncio.Task[None] | None = None
        self._read_due = False
        self._next_read = NextRead(self.interface, self._read_soon, self._address_withheld)
        self._lease: LeaseRequest | None = None
        """Of the next association; None while the link is up."""
        self.interface.on_gone.append(self._gone)
        self.interface.on_address.append(self._read_soon)

    @property
    def identity(self) -> str:
        """The interface's object in wpa_supplicant, which has one network."""
        return self.supplicant.path

    @property
    def local_address(self) -> str:
        """The address that networkd is configured to take, with its prefix; empty for DHCP."""
        return "" if self._reading.is_leased else str(self._reading.lease)

    def close(self) -> None:
        """Stop watching, without notifying the listener."""
        super().close()
        if self._gone in self.interface.on_gone:
            self.interface.on_gone.remove(self._gone)
        if self._read_soon in self.interface.on_address:
            self.interface.on_address.remove(self._read_soon)
        if self._notice:
            self._notice.cancel()
        self._next_read.stop()
        self._end_lease_request()

    def _watch(self) -> None:
        asyncio.get_running_loop().call_soon(self._read_soon)  # it may have changed since it was read

    def _associated(self) -> None:
        self._read_soon()
        if self._lease:
            self._lease.start()

    def _dissociated(self) -> None:
        """The next association needs a lease of its own. networkd begins with a request for the last address,
        to which a camera that was off does not reply."""
        self._end_lease_request()
        self._next_read.stop()
        if self._reading.is_leased:
            self._lease = LeaseRequest(self.interface, self._lease_due)

    async def _disconnect(self) -> None:
        await self._services.disconnect(self.supplicant)
        reason = self._refusal.message if self._refusal else ""
        await self._services.refuse_address(self.held.interface, reason)

    def _gone(self) -> None:
        self.end(self._services.loss_of(self.held.interface))

    # -- the address

    def _read_soon(self) -> None:
        """Read the address, and once more where it changes during the read."""
        self._read_due = True
        if self._listener is not None and (self._reader is None or self._reader.done()):
            self._reader = self._start_task(self._read)

    async def _read(self) -> None:
        while self._read_due:
            self._read_due = False
            try:
                address = await read_address(self._services.connection, self.interface)
            except NotOurs as error:
                await self._refuse(error)
                return
            if self._read_due:
                continue
            if not isinstance(address, LinkAddress):
                if self._state == SupplicantState.COMPLETED:
                    self._next_read.start(address)
                self._without_address()
                continue
            self._next_read.stop()
            if self._notice:
                self._notice.cancel()
                self._notice = None
            if self._state == SupplicantState.COMPLETED:
                reading = self._reading.at(address)
                if self._interrupted and (point := await self._search.access_point()):
                    reading = reading.seen(point.sighting, point.link_percent)
                self._end_lease_request()
                if not await self._refuse_unusable(reading):
                    self._apply(reading)

    def _end_lease_request(self) -> None:
        if self._lease:
            self._lease.stop()
            self._lease = None

    def _lease_due(self) -> None:
        self._start_task(self._request_lease)

    def _address_withheld(self) -> None:
        """The address does not come by itself; a networkd that was restarted gives it back."""
        if self._services.networkd_settles_s() <= 0:
            self._lease_due()

    async def _request_lease(self) -> None:
        try:
            await self._services.request_lease(self.held.interface)
        except WifimgrdError as error:  # the attempt that follows will say so
            self._log.warning("lease_not_requested", reason=error.message)

    def _without_address(self) -> None:
        """The kernel has no address: the association is lost, or the lease has expired."""
        if self._interrupted or self._notice is not None:
            return
        self._notice = asyncio.get_running_loop().call_later(_NOTICE_S, self._check_carrier)

    def _check_carrier(self) -> None:
        self._notice = None
        if self._interrupted or self._state != SupplicantState.COMPLETED:
            return
        if self.interface.has_carrier:
            self._wait_for_networkd(asyncio.get_running_loop().time() + _WITHOUT_NETWORKD_S)
        else:  # wpa_supplicant 2.10 can take the end of an association for that of an earlier one
            self._reassociate()

    def _wait_for_networkd(self, until: float) -> None:
        """The lease has expired, unless networkd has just been restarted, or is away until that loop time."""
        self._notice = None
        if self._interrupted or self._state != SupplicantState.COMPLETED:
            return
        loop = asyncio.get_running_loop()
        if (pause_s := self._services.networkd_settles_s()) > 0 and loop.time() < until:
            self._notice = loop.call_later(pause_s, self._wait_for_networkd, until)
        else:
            self._interrupt(diagnosis.not_renewed(self.held.ssid))
