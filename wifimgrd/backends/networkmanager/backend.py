"""The backend that joins networks through NetworkManager, with wpa_supplicant watched beside it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import structlog

from wifimgrd.backends.networkmanager.activation import take_down
from wifimgrd.backends.networkmanager.adoption import adopt
from wifimgrd.backends.networkmanager.attempt import Attempt
from wifimgrd.backends.networkmanager.country import Country
from wifimgrd.backends.networkmanager.devices import NmDevice
from wifimgrd.backends.networkmanager.holding import Holder
from wifimgrd.backends.networkmanager.inventory import Inventory
from wifimgrd.backends.networkmanager.keeper import Keeper
from wifimgrd.backends.networkmanager.recovering import RestartLink, recover
from wifimgrd.backends.networkmanager.scanning import heard_points, look, scan
from wifimgrd.backends.networkmanager.session import Session
from wifimgrd.dbus.bus import BusClosed, BusConnection, BusError
from wifimgrd.domain.device import HeldLink, Link, Sighting, Ssid
from wifimgrd.domain.errors import BackendUnavailable, Cancelled, ConnectionLost, WifimgrdError
from wifimgrd.domain.events import BackendState, BackendStatus
from wifimgrd.domain.interface import BackendFacts
from wifimgrd.domain.network import HeardPoint
from wifimgrd.domain.recovery import RecoveryStep
from wifimgrd.ports import BackendListener, BackendMemory, JoinRequest
from wifimgrd.runtime.tasks import Backoff, Tasks

_log = structlog.get_logger(__name__)

_BACKOFF: Final = Backoff(first_s=0.5, last_s=30.0)
_BUS_ERRORS: Final = (BusClosed, BusError, TimeoutError)
_BUS_AWAY: Final = "the message bus is away"
_READY_S: Final = 5.0
"""How long a join waits for a backend that is starting."""


class NetworkManagerBackend:
    """Implements `ports.Backend`.

    `memory` keeps what `hold` changed. `country` is the regulatory domain to set (two letters), or
    None to leave it alone. `bus` is `system` or a D-Bus address; an open `connection` to begin with
    can be handed over, and is closed by `stop`. `restart_link` takes a link down and up, which this
    process may not.
    """

    def __init__(
        self,
        memory: BackendMemory,
        tasks: Tasks,
        *,
        country: str | None = None,
        bus: str = "system",
        connection: BusConnection | None = None,
        restart_link: RestartLink | None = None,
    ) -> None:
        self._bus = bus
        self._connection = connection
        self._holder = Holder(memory)
        self._country = Country(country)
        self._restart_link = restart_link
        self._listener: BackendListener | None = None
        self._status = BackendStatus(BackendState.STARTING, "not started yet")
        self._status_changed = asyncio.Event()
        self._session: Session | None = None
        self._tasks = tasks
        self._attempts: dict[str, Attempt] = {}
        self._keepers: dict[str, Keeper] = {}
        self._locks: dict[str, asyncio.Lock] = {}

    @property
    def name(self) -> str:
        """As in `[backend] name`."""
        return "networkmanager"

    @property
    def status(self) -> BackendStatus:
        """Where the backend stands now."""
        return self._status

    async def start(self, listener: BackendListener) -> None:
        """Begin to watch; see Backend.start."""
        self._listener = listener
        self._tasks.check("message-bus", self._round_trip)
        self._tasks.keep("session", self._follow, _BACKOFF, expected=_BUS_ERRORS)

    async def stop(self) -> None:
        """Give autoconnect back and close; links stay up."""
        self._listener = None
        self._holder.drop_all()
        if self._session and self._session.inventory and self._session.connection.is_open:
            connection = self._session.connection
            for device in list(self._session.inventory.devices.values()):
                await self._holder.give_back(connection, device)
        for attempt in list(self._attempts.values()):
            attempt.abort(BackendUnavailable("wifimgrd is stopping"))
        keepers, self._keepers = list(self._keepers.values()), {}
        for keeper in keepers:
            keeper.close()
        await self._tasks.settle(_READY_S)
        await self._tasks.stop()
        if self._connection:
            await self._connection.close()

    async def hold(self, interface: str) -> None:
        """Keep autoconnect off an interface; see Backend.hold."""
        self._holder.take(interface)
        device = self._device(interface)
        if device and self._session:
            await self._holder.apply(self._session.connection, device)

    async def release(self, interface: str) -> None:
        """Give an interface's autoconnect back; see Backend.release."""
        self._holder.drop(interface)
        device = self._device(interface)
        if device and self._session:
            await self._holder.give_back(self._session.connection, device)

    async def join(self, request: JoinRequest) -> Link:
        """Bring a link up; see Backend.join for the errors."""
        deadline = asyncio.get_running_loop().time() + request.timeout_s
        task = self._tasks.start("join", self._join(request, deadline), expected=(WifimgrdError,))
        try:
            keeper = await asyncio.shield(task)
        except asyncio.CancelledError:
            await asyncio.shield(self._tasks.start("undo", self._undo(task, request.interface)))
            raise
        link = keeper.held.link
        if self._listener:
            keeper.begin(self._listener, self._forget)
        return link

    async def leave(self, interface: str) -> None:
        """Take a link down; see Backend.leave. An attempt that runs on the interface is ended, too."""
        if attempt := self._attempts.get(interface):
            attempt.abort(Cancelled("the attempt was ended"))
        if keeper := self._keepers.get(interface):
            keeper.close()
        await asyncio.shield(self._tasks.start("leave", self._leave(interface)))

    async def links(self) -> Sequence[HeldLink]:
        """The links that are up or interrupted now."""
        return [replace(keeper.held, up=keeper.is_up) for keeper in self._keepers.values()]

    async def scan(self, interface: str) -> None:
        """Search all channels on an idle interface; see Backend.scan."""
        session, _ = await self._ready(asyncio.get_running_loop().time() + _READY_S)
        await scan(session.connection, self._device(interface), interface)

    async def look(self, interface: str, ssid: Ssid, sightings: Sequence[Sighting]) -> bool:
        """Search for one network on an idle interface; see Backend.look."""
        session, _ = await self._ready(asyncio.get_running_loop().time() + _READY_S)
        return await look(session.connection, self._device(interface), interface, ssid, sightings)

    async def recover(self, interface: str, step: RecoveryStep) -> None:
        """Take a step with an idle interface that does not work; see Backend.recover."""
        session, _ = await self._ready(asyncio.get_running_loop().time() + _READY_S)
        await recover(session.connection, self._device(interface), interface, step, self._restart_link)

    async def heard(self) -> Sequence[HeardPoint]:
        """What NetworkManager knows to be in the air; see Backend.heard."""
        session, inventory = await self._ready(asyncio.get_running_loop().time() + _READY_S)
        return await heard_points(session.connection, inventory.devices.values())

    # -- joining and leaving, one at a time per interface

    async def _join(self, request: JoinRequest, deadline: float) -> Keeper:
        interface = request.interface
        async with self._lock(interface):
            await self._let_go(interface)
            session, inventory = await self._ready(deadline)
            attempt = self._attempts[interface] = Attempt(session.connection, inventory, request, deadline)
            try:
                joined = await attempt.run()
            finally:
                del self._attempts[interface]
            held = HeldLink(request.device, interface, request.ssid, joined.reading.link)
            keeper = Keeper(session.connection, held, joined, self._tasks.part(interface))
            self._keepers[interface] = keeper
            return keeper

    async def _undo(self, task: asyncio.Task[Keeper], interface: str) -> None:
        """Cancel a join, also where its link came up in the same moment."""
        task.cancel()
        await asyncio.wait([task])
        if not task.cancelled() and task.exception() is None:
            await self._leave(interface)

    async def _leave(self, interface: str) -> None:
        async with self._lock(interface):
            await self._let_go(interface)

    async def _let_go(self, interface: str) -> None:
        keeper = self._keepers.pop(interface, None)
        if keeper is None:
            return
        keeper.close()
        session = self._session
        if session and session.inventory and keeper.device.path in session.inventory.devices:
            await take_down(session.connection, keeper.device, keeper.activation)
            session.inventory.reserve(keeper.device, False)

    async def _ready(self, deadline: float) -> tuple[Session, Inventory]:
        """The session to join with; waits a little for one that is starting."""
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout_at(min(deadline, loop.time() + _READY_S)):
                while self._status.state is BackendState.STARTING:
                    self._status_changed.clear()
                    await self._status_changed.wait()
        except TimeoutError:
            pass
        session = self._session
        if self._status.state is not BackendState.READY or session is None or session.inventory is None:
            raise BackendUnavailable(self._status.reason)
        return session, session.inventory

    def _forget(self, keeper: Keeper) -> None:
        """A link ended by itself."""
        if self._keepers.get(keeper.held.interface) is keeper:
            del self._keepers[keeper.held.interface]
        if self._session and self._session.inventory:
            self._session.inventory.reserve(keeper.device, False)

    # -- what the session tells

    def status_changed(self, status: BackendStatus) -> None:
        """What can be done now."""
        if status == self._status:
            return
        self._status = status
        self._status_changed.set()
        _log.info("backend_" + status.state.value, reason=status.reason)
        if self._listener:
            self._listener.backend_changed(status)

    def device_seen(self, device: NmDevice, facts: BackendFacts | None) -> None:
        """A device appeared, or something about it changed."""
        if self._listener and facts:
            self._listener.interface_facts(device.name, facts)
        if self._session:
            self._holder.look_for_drift(device)
            self._tasks.start("hold", self._holder.apply(self._session.connection, device))
            self._tasks.start("country", self._country.apply(self._session.connection, device))

    def device_gone(self, device: NmDevice) -> None:
        """A device was removed; what stood in its way is gone with it."""
        self._holder.forget(device)
        self._country.forget(device)
        if self._listener:
            self._listener.interface_facts(device.name, None)

    async def manager_found(self, connection: BusConnection, inventory: Inventory) -> None:
        """NetworkManager is there: take up the links that it carries for us, and end those that are gone."""
        found = await adopt(connection, inventory, self._tasks)
        before, self._keepers = self._keepers, {keeper.held.interface: keeper for keeper in found}
        alive = {keeper.activation.uuid for keeper in found}
        for keeper in before.values():
            if keeper.activation.uuid in alive:
                keeper.close()
            else:
                keeper.end(
                    ConnectionLost(
                        f'the connection to "{keeper.held.ssid.printable}" was lost: '
                        "NetworkManager was restarted"
                    )
                )
        for keeper in found:
            if self._listener:
                keeper.begin(self._listener, self._forget)

    def manager_lost(self) -> None:
        """NetworkManager went away: attempts cannot go on, links may live until they drop."""
        self._country.forget_all()
        for attempt in list(self._attempts.values()):
            attempt.abort(BackendUnavailable("NetworkManager stopped"))

    def supplicant_lost(self) -> None:
        """wpa_supplicant went away; NetworkManager tells in a moment which links that ended."""
        self._country.forget_all()
        for attempt in list(self._attempts.values()):
            attempt.abort(BackendUnavailable("wpa_supplicant stopped"))

    # -- the connection to the bus

    async def _follow(self) -> None:
        """Follow NetworkManager over a connection to the bus, opened again where it was lost."""
        reason = ""
        try:
            if self._connection is None or not self._connection.is_open:
                self._connection = await BusConnection.open(self._bus)
            self._session = Session(self._connection, self, self._tasks)
            await self._session.run_until_closed()
            reason = _BUS_AWAY
        except _BUS_ERRORS:
            reason = _BUS_AWAY
            raise
        except Exception:
            reason = "an internal error: the log says which; it is tried again"
            raise
        finally:
            session, self._session = self._session, None
            if session:
                await session.close()
            if reason:
                self.manager_lost()
                self.status_changed(BackendStatus(BackendState.UNAVAILABLE, reason))

    async def _round_trip(self) -> None:
        if self._connection is not None:
            await self._connection.round_trip()

    # -- small things

    def _device(self, interface: str) -> NmDevice | None:
        inventory = self._session.inventory if self._session else None
        return inventory.by_name(interface) if inventory else None

    def _lock(self, interface: str) -> asyncio.Lock:
        return self._locks.setdefault(interface, asyncio.Lock())
