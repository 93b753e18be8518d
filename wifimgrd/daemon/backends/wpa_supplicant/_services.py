"""wpa_supplicant and networkd as this backend needs them, over one connection to the message bus."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final, Protocol

import structlog

from wifimgrd.bus.connection import BusClosed, BusConnection, BusError, OwnerChange, Signal, Watch
from wifimgrd.bus.values import typed
from wifimgrd.daemon.backends.supplicant.country import Country
from wifimgrd.daemon.backends.wpa_supplicant._inventory import WifiInterface
from wifimgrd.daemon.backends.wpa_supplicant._open_interfaces import OpenInterfaces
from wifimgrd.daemon.backends.wpa_supplicant._other_supplicants import OtherSupplicants
from wifimgrd.daemon.backends.wpa_supplicant._registration import InterfaceTaken, Registrations
from wifimgrd.daemon.ports import JoinRequest
from wifimgrd.domain.errors import AddressFailed, BackendUnavailable, InterfaceLost
from wifimgrd.domain.interface import taken, unplugged
from wifimgrd.kernel.addresses import first_address
from wifimgrd.proxies.networkd.definitions import NETWORK1
from wifimgrd.proxies.networkd.link_file import other_configuration
from wifimgrd.proxies.networkd.manager import Networkd
from wifimgrd.proxies.networkmanager.definitions import NM
from wifimgrd.proxies.wpa_supplicant.bss import KeyManagement
from wifimgrd.proxies.wpa_supplicant.definitions import IWD, WPAS
from wifimgrd.proxies.wpa_supplicant.interface import Supplicant, SupplicantInterface
from wifimgrd.wire.errors import error_of_reply

_log = structlog.get_logger(__name__)

_IWD_MANAGES: Final = "iwd manages the Wi-Fi adapters; `systemctl disable --now iwd`, and plug them in again"
_FIRST_RETRY_S: Final = 0.5
_LAST_RETRY_S: Final = 8.0
"""The longest pause between two requests to start wpa_supplicant."""

_NETWORKD_SETTLES_S: Final = 1.0
"""After a restart networkd gives an address back within 0.35 s, as measured with systemd 252."""

AddNetwork = Callable[[JoinRequest, KeyManagement, str], Awaitable[str]]
"""Configures wpa_supplicant for the network of an attempt, only at one BSSID, and returns the network's
object path; raises BusError, BusClosed, TimeoutError."""
ConfigureLink = Callable[[str, str], Awaitable[None]]
"""Makes networkd take an address on an interface, the given one or by DHCP (empty text)."""
RequestLease = Callable[[str], Awaitable[None]]
"""Makes networkd request the lease of an interface, which is associated, from the beginning."""
ReleaseLink = Callable[[str], Awaitable[None]]
"""Ends that."""


class ServicesListener(Protocol):
    """Notified of the services."""

    async def supplicant_found(self) -> None:
        """wpa_supplicant is running, with no interfaces or with those of an earlier run of the daemon."""

    def supplicant_lost(self) -> None:
        """wpa_supplicant went away, and all associations with it."""

    def networkd_lost(self) -> None:
        """Networkd went away: links stay associated; their addresses are deleted, or not renewed."""

    def networkd_changed(self, index: int) -> None:
        """Networkd describes the link with this index in another way."""

    def owners_changed(self) -> None:
        """Which interfaces other programs use may have changed."""


class Services:
    """Watches wpa_supplicant by NameOwnerChanged, and starts it where it does not run."""

    def __init__(
        self,
        connection: BusConnection,
        listener: ServicesListener,
        registrations: Registrations,
        add_network: AddNetwork,
        configure_link: ConfigureLink,
        request_lease: RequestLease,
        release_link: ReleaseLink,
        country: Country,
    ) -> None:
        self.connection = connection
        self._listener = listener
        self._registrations = registrations
        self.add_network = add_network
        self._configure_link = configure_link
        self._request_lease = request_lease
        self._release_link = release_link
        self._country = country
        self._bus_id = ""
        self._owner = ""
        self._refusal = ""
        """Why wpa_supplicant could not be started."""
        self._networkd_since: float | None = None
        """The loop time at which networkd was first seen; None while it does not run."""
        self._host_files: dict[str, str] = {}
        """The interfaces that could not be used since networkd configures them by a file of the host's, with
        that as a sentence."""
        self._others: set[str] = set()
        """NetworkManager and iwd, where they run."""
        self._other_supplicants = OtherSupplicants(connection, listener.owners_changed)
        self._open = OpenInterfaces(connection)
        self._watches: list[Watch] = []
        self._changed = asyncio.Event()
        self._locks: dict[str, asyncio.Lock] = {}

    @property
    def owner(self) -> str:
        """The run of wpa_supplicant, as Registrations has it; empty while it does not run."""
        return f"{self._bus_id} {self._owner}" if self._owner else ""

    @property
    def missing(self) -> str:
        """The reason why the start waits; see WatchedServices.missing."""
        if self._owner:
            return "wpa_supplicant does not answer; `systemctl restart wpa_supplicant` may help"
        reason = f": {self._refusal}" if self._refusal else ""
        return (
            f"wpa_supplicant does not start{reason}; it needs the package wpasupplicant, and "
            "`systemctl status wpa_supplicant` says more"
        )

    async def watch(self) -> None:
        """Watch them until cancelled; raises BusError, BusClosed, TimeoutError."""
        self._bus_id = await self.connection.bus_id()
        for name in (WPAS, NETWORK1, NM, IWD):
            self._watches.append(await self.connection.watch_owner(self._owner_changed, name))
        self._watches.append(await Networkd(self.connection).watch_links(self._link_changed))
        if await self.connection.name_owner(NETWORK1):
            self._networkd_since = asyncio.get_running_loop().time()
        for name in (NM, IWD):
            if await self.connection.name_owner(name):
                self._others.add(name)
        supplicant = Supplicant(self.connection)
        self._watches.append(await supplicant.watch_registered(self._registration_changed))
        self._watches.append(await supplicant.watch_unregistered(self._unregistered))
        self._owner = await self.connection.name_owner(WPAS) or ""
        while True:
            if not self._owner:
                await self._start_supplicant()
            owner = self._owner
            try:
                await self._listener.supplicant_found()
            except (BackendUnavailable, BusError):
                if self._owner == owner:
                    raise
                continue  # it has gone meanwhile
            while self._owner == owner:
                await self._next_change()

    async def close(self) -> None:
        """Stop watching."""
        self._other_supplicants.close()
        self._open.close()
        watches, self._watches = self._watches, []
        for watch in watches:
            watch.drop()

    async def _start_supplicant(self) -> None:
        """Have the bus start wpa_supplicant, until it runs."""
        pause_s = _FIRST_RETRY_S
        while not self._owner:
            try:
                await self.connection.call_bus("StartServiceByName", "su", [WPAS, 0])
                self._owner = await self.connection.name_owner(WPAS) or ""
            except (BusError, TimeoutError) as error:
                self._refusal = error.message if isinstance(error, BusError) else "there is no answer"
                _log.debug("supplicant_not_started", error=str(error))
            if not self._owner:
                await self._next_change(pause_s)
                pause_s = min(_LAST_RETRY_S, 2 * pause_s)

    def _owner_changed(self, change: OwnerChange) -> None:
        name, _, after = change
        if name == WPAS:
            had, self._owner = self._owner, after
            if had and had != after:
                self._open.close()
                self._country.forget_all()
                self._listener.supplicant_lost()
            self._changed.set()
            return
        if name == NETWORK1:
            self._networkd_since = asyncio.get_running_loop().time() if after else None
            self._host_files_changed()
            if not after:
                self._listener.networkd_lost()
            return
        (self._others.add if after else self._others.discard)(name)
        self._listener.owners_changed()

    def _registration_changed(self, _: Signal) -> None:
        self._listener.owners_changed()

    def _unregistered(self, signal: Signal) -> None:
        self._open.drop_path(*typed(tuple[str], signal.body))
        self._listener.owners_changed()

    async def _next_change(self, timeout_s: float | None = None) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await self._changed.wait()
        self._changed.clear()

    # -- interfaces

    async def obstacle(self, name: str) -> str:
        """Which other program uses an interface, as a sentence for `unavailable`; empty where none does.

        Raises BusError, BusClosed, TimeoutError.
        """
        if IWD in self._others:
            return _IWD_MANAGES
        if reason := await self._host_file(name):
            return reason
        if self._registrations.is_own(name, self.owner):
            return ""
        try:
            await Supplicant(self.connection).interface(name)
        except BusError:
            taken = await self._other_supplicants.used_by(name)
        else:
            taken = self._taken_by()
        return taken or _address_obstacle(name)

    def loss_of(self, name: str) -> InterfaceLost:
        """The error for an interface that the kernel removed; iwd, once it runs, removes all others'
        interfaces."""
        return taken(name, _IWD_MANAGES) if IWD in self._others else unplugged(name)

    def _taken_by(self) -> str:
        who = "NetworkManager" if NM in self._others else "another program"
        return f"{who} has registered it with wpa_supplicant"

    async def open_interface(self, interface: WifiInterface) -> SupplicantInterface:
        """wpa_supplicant's object of an interface, registered where it was not yet.

        Raises InterfaceLost, BackendUnavailable, BusError, BusClosed, TimeoutError.
        """
        if not self.owner:
            raise BackendUnavailable("wpa_supplicant is not running")
        async with self._lock(interface.name):
            if interface.is_down:
                # rfkill set it down, and wpa_supplicant sets it up only when it is registered.
                await self._unregister(interface.name)
            path = self._open.path(interface.name, self.owner) or await self._register(interface.name)
            await self._country.apply(interface.name, path)
        return SupplicantInterface(self.connection, path, interface.names)

    async def _register(self, name: str) -> str:
        owner = self.owner
        try:
            path = await self._registrations.register(self.connection, owner, name, self._other_supplicants)
        except InterfaceTaken as refusal:
            self._listener.owners_changed()  # which no event has reported
            raise taken(name, str(refusal)) from None
        await self._open.add(name, owner, path)
        return path

    async def _unregister(self, name: str) -> None:
        self._open.drop(name)
        await self._registrations.unregister(self.connection, self.owner, name)

    def doubt(self, name: str) -> None:
        """An interface was refused: ask wpa_supplicant for it before the next attempt."""
        self._open.drop(name)

    async def close_interface(self, name: str) -> None:
        """Give an interface back; never raises for one that is gone. Raises BusClosed, TimeoutError."""
        async with self._lock(name):
            await self._unregister(name)

    async def give_back(self, name: str) -> None:
        """Give an interface back, and end networkd's part in it, before another one of its name is opened;
        raises as `close_interface`."""
        async with self._lock(name):
            await self._unregister(name)
            await self.release_address(name)

    def has_registered(self, name: str) -> bool:
        """Whether this daemon has registered the interface, in this run or an earlier one."""
        return self._registrations.is_own(name, self.owner)

    async def disconnect(self, supplicant: SupplicantInterface) -> None:
        """Remove the networks of an interface, also where it or wpa_supplicant is gone."""
        try:
            await supplicant.remove_all_networks()
        except (BusError, BusClosed, TimeoutError) as error:
            _log.debug("networks_not_removed", path=supplicant.path, error=str(error))

    async def configure_address(self, name: str, local_address: str) -> None:
        """Have networkd take an address on an interface, by DHCP if that is empty; raises AddressFailed where
        it takes it by a file of the host's, BackendUnavailable, BusClosed, TimeoutError."""
        try:
            await self._configure_link(name, local_address)
        except BusError as error:
            if isinstance(failure := error_of_reply(error), AddressFailed):
                self._note_host_file(name, failure.message)
                raise failure from None
            raise BackendUnavailable(f"systemd-networkd cannot be used: {error.message}") from None

    async def release_address(self, name: str) -> None:
        """Have networkd no longer take an address on an interface, which loses the one that it has."""
        try:
            await self._release_link(name)
        except (BusError, BusClosed, TimeoutError) as error:
            _log.warning("address_not_released", interface=name, error=str(error))

    async def refuse_address(self, name: str, reason: str) -> None:
        """Have networkd drop the address of an interface, which cannot be used for this reason."""
        await self.release_address(name)
        self._note_host_file(name, reason)

    def _note_host_file(self, name: str, reason: str) -> None:
        """An interface could not be used for this reason, which may be a file of the host's for networkd."""
        self._host_files[name] = reason
        self._listener.owners_changed()

    async def _host_file(self, name: str) -> str:
        """The host's file by which networkd configures an interface, as a sentence; empty if networkd no
        longer does, or if that cannot be told without a file of the helper's."""
        if not (reason := self._host_files.get(name, "")):
            return ""
        with suppress(OSError, BusError):
            description = await Networkd(self.connection).describe(socket.if_nametoindex(name))
            if other_configuration(name, description) == reason:
                return reason
        self._host_files.pop(name, None)
        return ""

    def _link_changed(self, index: int) -> None:
        self._listener.networkd_changed(index)
        self._host_files_changed()

    def _host_files_changed(self) -> None:
        if self._host_files:
            self._listener.owners_changed()

    async def request_lease(self, name: str) -> None:
        """Have networkd request the lease of an interface from the beginning; raises BackendUnavailable,
        BusClosed."""
        try:
            await self._request_lease(name)
        except BusError as error:
            raise BackendUnavailable(f"systemd-networkd cannot be used: {error.message}") from None
        except TimeoutError:
            raise BackendUnavailable("systemd-networkd cannot be used: no answer in time") from None
        _log.debug("lease_requested", interface=name)

    @property
    def has_networkd(self) -> bool:
        """Whether networkd runs."""
        return self._networkd_since is not None

    def networkd_settles_s(self) -> float:
        """After how many seconds a missing address is not one that networkd is about to give back."""
        if self._networkd_since is None:
            return _NETWORKD_SETTLES_S
        return self._networkd_since + _NETWORKD_SETTLES_S - asyncio.get_running_loop().time()

    def _lock(self, name: str) -> asyncio.Lock:
        return self._locks.setdefault(name, asyncio.Lock())


def _address_obstacle(name: str) -> str:
    """That an interface which this daemon does not use has an address, so that another program does."""
    try:
        address = first_address(socket.if_nametoindex(name))
    except OSError:
        return ""
    return "" if address is None else f"another program has given it the address {address}"
