"""The part of a backend on real adapters that does not depend on who configures a link."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import replace
from ipaddress import IPv4Network
from typing import Any, Final, Generic, Protocol, TypeVar

import structlog

from wifimgrd.bus.connection import BusClosed, BusConnection, BusError
from wifimgrd.daemon.backends.supplicant.attempt import Joined, SupplicantAttempt, refused_by
from wifimgrd.daemon.backends.supplicant.bss_choice import BssChoice
from wifimgrd.daemon.backends.supplicant.bss_users import BssUsers
from wifimgrd.daemon.backends.supplicant.bssid_limit import LimitNetworks
from wifimgrd.daemon.backends.supplicant.country import Country
from wifimgrd.daemon.backends.supplicant.lease_check import LeaseCheck, LinkReading
from wifimgrd.daemon.backends.supplicant.link_monitor import SupplicantLinkMonitor
from wifimgrd.daemon.ports import BackendListener, JoinRequest
from wifimgrd.domain.device import DeviceId, HeldLink, Link, Sighting
from wifimgrd.domain.errors import BackendUnavailable, Cancelled, ConnectionLost, InterfaceLost, WifimgrdError
from wifimgrd.domain.events import BackendState, BackendStatus
from wifimgrd.domain.interface import unplugged
from wifimgrd.runtime.tasks import Backoff, Running, Tasks

_log = structlog.get_logger(__name__)

BUS_ERRORS: Final = (BusClosed, BusError, TimeoutError)
READY_S: Final = 5.0
"""How long a join waits for a backend that is starting."""
STARTING_S: Final = 15.0
"""How long a backend may be starting; after that it is unavailable, and says what is missing."""
_BACKOFF: Final = Backoff(first_s=0.5, last_s=30.0)
_BUS_AWAY: Final = "the message bus is unavailable"

RestartLink = Callable[[str], Awaitable[None]]
"""Takes an interface's link down and up; raises BusError, BusClosed, TimeoutError."""


class WatchedServices(Protocol):
    """The services that a backend needs, over one connection to the message bus."""

    @property
    def missing(self) -> str:
        """The service that the start waits for, and the remedy if that does not come, as a sentence."""

    async def watch(self) -> None:
        """Watch them until cancelled; raises BusError, BusClosed, TimeoutError."""

    async def close(self) -> None:
        """Stop watching."""


S = TypeVar("S", bound=WatchedServices)
J = TypeVar("J", bound=Joined[LinkReading])
M = TypeVar("M", bound=SupplicantLinkMonitor[Any])


class SupplicantBackend(ABC, Generic[S, J, M]):
    """Joins, and has the links, the state of the backend and its connection to the message bus."""

    def __init__(
        self,
        tasks: Tasks,
        *,
        bus: str,
        connection: BusConnection | None = None,
        cameras: IPv4Network | None,
        country: Country,
        limit_networks: LimitNetworks | None,
    ) -> None:
        """`bus` is `system` or a D-Bus address; an open `connection` to begin with can be passed, and is
        closed by `stop`. `cameras` is the network of the cameras' addresses on this host. `limit_networks`
        changes the access point that a link is limited to; without it none is changed."""
        self._country = country
        self._limit_networks = limit_networks
        self._bus = bus
        self._connection = connection
        self._tasks = tasks
        self._services: S | None = None
        self._listener: BackendListener | None = None
        self._status = BackendStatus(BackendState.STARTING, "not started yet")
        self._status_changed = asyncio.Event()
        self._start_limit: asyncio.TimerHandle | None = None
        """Set from the beginning of a start to its end, also when its time is over."""
        self._is_overdue = False
        self._attempts: dict[str, SupplicantAttempt[J]] = {}
        self._link_monitors: dict[str, M] = {}
        self._users = BssUsers(
            lambda: [(monitor.bssid, monitor.held.device_id) for monitor in self._link_monitors.values()],
            lambda: [(attempt.bssid, attempt.device_id) for attempt in self._attempts.values()],
        )
        self._locks: dict[str, asyncio.Lock] = {}
        self._check = LeaseCheck(
            self._reserved, cameras, lambda: [monitor.held for monitor in self._link_monitors.values()]
        )

    @property
    def status(self) -> BackendStatus:
        """The backend's current state."""
        return self._status

    async def start(self, listener: BackendListener) -> None:
        """Start watching; see Backend.start."""
        self._listener = listener
        self._limit_start()
        self._tasks.check("message-bus", self._round_trip)
        self._tasks.keep(
            "services", self._watch_services, _BACKOFF, expected=(BackendUnavailable, *BUS_ERRORS)
        )

    async def join(self, request: JoinRequest) -> Link:
        """Bring a link up; see Backend.join for the errors."""
        deadline = asyncio.get_running_loop().time() + request.timeout_s
        task = self._tasks.start("join", self._join(request, deadline), expected=(WifimgrdError,))
        try:
            monitor = await asyncio.shield(task)
        except asyncio.CancelledError:
            await asyncio.shield(self._tasks.start("undo", self._undo(task, request.interface)))
            raise
        link: Link = monitor.held.link
        if self._listener:
            self._start(monitor, self._listener, request.others)
        return link

    async def leave(self, interface: str) -> None:
        """Take a link down; see Backend.leave. An attempt that runs on the interface is ended, too."""
        if attempt := self._attempts.get(interface):
            attempt.abort(Cancelled("the attempt was ended"))
        if monitor := self._link_monitors.get(interface):
            monitor.close()
        await asyncio.shield(self._tasks.start("leave", self._leave(interface)))

    async def links(self) -> Sequence[HeldLink]:
        """The links that are up or interrupted now."""
        return [replace(monitor.held, up=monitor.is_up) for monitor in self._link_monitors.values()]

    def loss_of(self, interface: str) -> InterfaceLost:
        """See Backend.loss_of."""
        return unplugged(interface)

    def status_changed(self, status: BackendStatus) -> None:
        """Apply and pass on the backend's new state; after `STARTING_S` of a start that is UNAVAILABLE."""
        if status.state is BackendState.STARTING:
            self._limit_start()
            if self._is_overdue:
                status = self._overdue_status
        else:
            self._end_start()
        if status == self._status:
            return
        self._status = status
        self._status_changed.set()
        _log.info("backend_" + status.state.value, reason=status.reason)
        if self._listener:
            self._listener.backend_changed(status)

    # -- the limit of a start

    @property
    def _overdue_status(self) -> BackendStatus:
        missing = self._services.missing if self._services else "the message bus does not answer"
        return BackendStatus(BackendState.UNAVAILABLE, missing)

    def _limit_start(self) -> None:
        if self._start_limit is None:
            self._start_limit = asyncio.get_running_loop().call_later(STARTING_S, self._start_overdue)

    def _start_overdue(self) -> None:
        self._is_overdue = True
        self.status_changed(BackendStatus(BackendState.STARTING, self._status.reason))

    def _end_start(self) -> None:
        if self._start_limit is not None:
            self._start_limit.cancel()
        self._start_limit, self._is_overdue = None, False

    # -- what a subclass adds

    @abstractmethod
    def _services_on(self, connection: BusConnection) -> S:
        """The services, not watched yet."""

    @abstractmethod
    def _attempt(self, services: S, request: JoinRequest, deadline: float) -> SupplicantAttempt[J]:
        """An attempt to join; raises BackendUnavailable."""

    @abstractmethod
    def _monitor(self, services: S, held: HeldLink, joined: J, tasks: Tasks) -> M:
        """The monitor of a link that has come up."""

    @abstractmethod
    async def _disconnect(self, monitor: M) -> None:
        """Take a link down, and release its interface."""

    @abstractmethod
    def _release_interface(self, monitor: M) -> None:
        """Release the interface of a link that has ended."""

    def _freed(self, interface: str) -> None:
        """A link or an attempt on an interface has ended, or ends now."""

    @abstractmethod
    def _reserved(self) -> Collection[str]:
        """The interfaces that attempts and links use."""

    @abstractmethod
    def _services_lost(self) -> None:
        """The services are no longer watched, so that they may be restarted unnoticed."""

    # -- joining and leaving, one at a time per interface

    async def _join(self, request: JoinRequest, deadline: float) -> M:
        interface = request.interface
        async with self._lock(interface):
            await self._take_down(interface)
            services = await self._ready(deadline)
            attempt = self._attempts[interface] = self._attempt(services, request, deadline)
            attempt.limit_networks = self._limit_networks
            try:
                joined = await attempt.run()
            except BaseException:
                self._freed(interface)
                raise
            finally:
                del self._attempts[interface]
                self._users.leave()  # for a link, too: this task goes on before those that wait
            held = HeldLink(request.device_id, interface, request.ssid, joined.reading.link)
            monitor = self._monitor(services, held, joined, self._tasks.part(interface))
            monitor.address_is_usable()  # the attempt has checked it
            self._link_monitors[interface] = monitor
            return monitor

    async def _undo(self, task: asyncio.Task[M], interface: str) -> None:
        """Cancel a join, also where its link came up in the same moment."""
        task.cancel()
        await asyncio.wait([task])
        if not task.cancelled() and task.exception() is None:
            await self._leave(interface)

    async def _leave(self, interface: str) -> None:
        async with self._lock(interface):
            await self._take_down(interface)

    async def _take_down(self, interface: str) -> None:
        if monitor := self._link_monitors.pop(interface, None):
            monitor.close()
            await self._disconnect(monitor)
            self._freed(interface)

    async def _ready(self, deadline: float | None = None) -> S:
        """The services; waits up to `READY_S` while they start. Raises BackendUnavailable."""
        limit = asyncio.get_running_loop().time() + READY_S
        try:
            async with asyncio.timeout_at(limit if deadline is None else min(deadline, limit)):
                while self._status.state is BackendState.STARTING:
                    self._status_changed.clear()
                    await self._status_changed.wait()
        except TimeoutError:
            pass
        if self._status.state is not BackendState.READY or self._services is None:
            raise BackendUnavailable(self._status.reason)
        return self._services

    def _start(self, monitor: M, listener: BackendListener, others: Mapping[str, DeviceId]) -> None:
        """Start watching a link; `others` as in JoinRequest."""

        def choice() -> BssChoice:
            own = monitor.held.link.sighting or (Sighting(monitor.bssid, 0) if monitor.bssid else None)
            return self._choice((own,) if own else (), others, monitor.held.device_id)

        monitor.start(listener, self._forget, choice, self._limit_networks)

    def _choice(
        self, sightings: Sequence[Sighting], others: Mapping[str, DeviceId], device_id: DeviceId | None = None
    ) -> BssChoice:
        """The known facts about the access points of a device's network; `device_id` is None for a device
        that has neither link nor attempt."""
        links, attempts = self._users.links(device_id), self._users.attempts(device_id)
        return BssChoice(sightings, others, links, attempted=attempts)

    def _forget(self, monitor: M) -> None:
        """Remove the monitor of a link that has ended."""
        if self._link_monitors.get(monitor.held.interface) is monitor:
            del self._link_monitors[monitor.held.interface]
        self._release_interface(monitor)
        self._freed(monitor.held.interface)

    def _watch_adopted(self, found: Sequence[M], cause: str) -> None:
        """Watch the links that were found; of the earlier ones, the others have ended for this cause."""
        earlier, self._link_monitors = (
            self._link_monitors,
            {monitor.held.interface: monitor for monitor in found},
        )
        adopted = {monitor.identity for monitor in found}
        for monitor in earlier.values():
            if monitor.identity in adopted:
                monitor.close()
            else:
                ssid = monitor.held.ssid.printable
                monitor.end(ConnectionLost(f'the connection to "{ssid}" was lost: {cause}'))
        if self._listener:
            for monitor in found:
                self._start(monitor, self._listener, {})

    def _abort_attempts(self, reason: str) -> None:
        for attempt in list(self._attempts.values()):
            attempt.abort(BackendUnavailable(reason))

    def _lock(self, interface: str) -> asyncio.Lock:
        return self._locks.setdefault(interface, asyncio.Lock())

    # -- the end

    async def _end_work(self) -> None:
        """Abort the attempts, stop watching the links, and wait until that is done."""
        self._abort_attempts("wifimgrd is stopping")
        link_monitors, self._link_monitors = self._link_monitors, {}
        for monitor in link_monitors.values():
            monitor.close()
        await self._tasks.settle(READY_S)

    async def _close(self) -> None:
        self._end_start()
        await self._tasks.stop()
        if self._connection:
            await self._connection.close()

    # -- the connection to the bus

    async def _watch_services(self) -> None:
        """Watch the services over a connection to the bus, reopened where it was lost."""
        reason = ""
        try:
            if self._connection is None or not self._connection.is_open:
                self._connection = await BusConnection.open(self._bus)
            self._services = self._services_on(self._connection)
            await _until_closed(self._connection, self._services.watch())
            reason = _BUS_AWAY
        except (BackendUnavailable, *BUS_ERRORS) as error:
            reason = self._why_unwatched(error)
            raise
        except Exception:
            reason = "internal error (see the log); retrying"
            raise
        finally:
            services, self._services = self._services, None
            if services:
                await services.close()
            if reason:
                self._services_lost()
                self._abort_attempts(reason)
                self.status_changed(BackendStatus(BackendState.UNAVAILABLE, reason))

    def _why_unwatched(self, error: Exception) -> str:
        if isinstance(error, BackendUnavailable):
            return error.message
        if self._connection is None or not self._connection.is_open:
            return _BUS_AWAY
        if isinstance(error, BusError):
            return f"{refused_by(error)} refused: {error.message}"
        return "a service on the message bus does not answer"

    async def _round_trip(self) -> None:
        if self._connection is not None:
            await self._connection.round_trip()


async def _until_closed(connection: BusConnection, work: Running[None]) -> None:
    """Run something until the connection is closed; raises its error where it fails before."""
    working = asyncio.create_task(work)
    closing = asyncio.create_task(connection.wait_closed())
    try:
        await asyncio.wait([working, closing], return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (working, closing):
            task.cancel()
        await asyncio.wait([working, closing])
    if not working.cancelled() and (error := working.exception()):
        raise error
