"""Have systemd-networkd take the addresses of links: the files, its start, and what it is to read again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from ipaddress import IPv4Interface
from typing import Final

import structlog

from wifimgrd.bus.connection import BusClosed, BusConnection, BusError, OwnerChange
from wifimgrd.domain.errors import AddressFailed, BackendUnavailable
from wifimgrd.helper._link_files import LinkConfiguration, LinkFiles
from wifimgrd.helper._wireless import delete_addresses, touch_addresses
from wifimgrd.kernel.addresses import first_address
from wifimgrd.proxies.networkd.addresses import AddressState, addresses_in
from wifimgrd.proxies.networkd.definitions import NETWORK1, NETWORKD_UNIT, LinkDescription
from wifimgrd.proxies.networkd.link_file import other_configuration
from wifimgrd.proxies.networkd.manager import Networkd
from wifimgrd.proxies.networkd.units import ListedUnit, ServiceManager

_log = structlog.get_logger()

_NAME_S: Final = 1.0
"""How long networkd may be active without its bus name; mostly it is tenths of a second."""
_SERIALIZES: Final = 257
"""From this version of systemd on, a networkd that is restarted keeps the addresses of leases. Older ones
delete them and request them again: with an interface's last address the kernel deletes all routes through it,
also those of other programs."""
START_S: Final = 10.0
"""How long networkd may take from its start to its bus name, and from there to a link."""
RELOADED_S: Final = 2.0
"""How long after the reply to a reload networkd may still apply another file to a link."""
_READS, _PAUSE_S = 20, 0.02
"""How often, and after which pauses, networkd's description is read again after a reload."""


class NetworkdLinks:
    """Keeps networkd up to date with the files. Calls for several links can overlap: the files are written at
    once, and what networkd has to read again it reads for all of them."""

    def __init__(
        self,
        connection: BusConnection,
        files: LinkFiles,
        delete_addresses: Callable[[str], None] = delete_addresses,
        touch_addresses: Callable[[int, Iterable[IPv4Interface]], None] = touch_addresses,
    ) -> None:
        self._delete_addresses = delete_addresses
        self._touch_addresses = touch_addresses
        self._connection = connection
        self._networkd = Networkd(connection)
        self._systemd = ServiceManager(connection)
        self._files = files
        self._lock = asyncio.Lock()
        """Held by the one call that starts, restarts or reloads networkd."""
        self._running = asyncio.Event()
        """networkd has its bus name."""
        self._waiting: set[asyncio.Event] = set()
        """One for each call that waits for a change of a link."""
        self._turns: dict[str, object] = {}
        """The last call to configure each interface that was not given back since."""
        self._is_watched = False
        self._is_outdated = True
        """The files may have changed since networkd has read them, as those of an earlier run that was killed
        before it reloaded networkd."""
        self._bus_id = ""
        self._run = ""
        """The run of networkd: the id of the bus, and its unique name there; empty while it does not run."""
        self._has_lost_bus = False
        """networkd was running without its bus name, and was waited for."""

    async def configure(self, configuration: LinkConfiguration) -> None:
        """Have networkd take an address on an interface that is not associated, once it has a carrier; start
        it if it does not run. Raises InvalidRequest, InternalError, BackendUnavailable, and AddressFailed
        where another file of the host is in force for the interface.
        """
        turn = self._turns[configuration.interface] = object()
        if not self._is_watched:
            async with self._lock:
                await self._watch()
        self._files.write_settings(self._run)
        can_restart = self._has_settings or await self._keeps_leases()
        if configuration.interface not in self._turns:
            raise BackendUnavailable(f"{configuration.interface} was given back meanwhile")
        self._is_outdated |= self._files.write(replace(configuration, keeps_foreign=not can_restart))
        async with self._lock:
            if not self._running.is_set():
                await self._start()
            elif can_restart and not self._has_settings:
                await self._restart()
            elif self._is_outdated:
                await self._reload()
        description = await self._require_own_file(configuration, turn)
        self._touch_stranded(configuration.index, addresses_in(description))
        if _is_addressed(configuration.index):
            # Mostly the address of the link before is just being deleted. But where networkd could not set
            # all of a lease, such as one that no host can have, it leaves what it has set, and does nothing
            # more for the interface.
            await self._reconfigure(configuration.index)

    async def _require_own_file(self, configuration: LinkConfiguration, turn: object) -> LinkDescription:
        """Return networkd's description of the link once networkd applies only the helper's file; otherwise
        remove the file, unless it is a later call's, and raise."""
        interface = configuration.interface
        changed = asyncio.Event()
        self._waiting.add(changed)
        begin = asyncio.get_running_loop().time()
        try:
            while True:
                description = await self._describe(configuration.index)
                other = other_configuration(interface, description, self._files.file(interface))
                if other == "":
                    return description
                async with asyncio.timeout_at(begin + (START_S if other is None else RELOADED_S)):
                    await changed.wait()
                changed.clear()
        except TimeoutError:
            if self._turns.get(interface) is turn:
                await self._remove(interface)  # the next call has networkd read all files again
            if other is None:
                raise BackendUnavailable(f"systemd-networkd does not configure {interface}") from None
            _log.warning("link_file_not_applied", interface=interface, reason=other)
            raise AddressFailed(other) from None
        finally:
            self._waiting.discard(changed)

    def _link_changed(self, _: int) -> None:
        for changed in self._waiting:
            changed.set()

    async def _describe(self, index: int) -> LinkDescription:
        """As `Networkd.describe`; raises BackendUnavailable."""
        try:
            return await self._networkd.describe(index)
        except (BusError, BusClosed, TimeoutError) as error:
            raise BackendUnavailable(f"systemd-networkd does not describe a link: {_reason(error)}") from None

    @property
    def _has_settings(self) -> bool:
        """Whether networkd was started after its settings were written, or does not run."""
        return not self._run or self._files.has_read_settings(self._run)

    async def _keeps_leases(self) -> bool:
        """Whether a restart of networkd leaves the addresses of all links as they are."""
        try:
            return await self._systemd.version() >= _SERIALIZES
        except (BusError, BusClosed, TimeoutError) as error:
            _log.warning("systemd_version_unknown", error=str(error))
            return False

    async def release(self, interface: str) -> None:
        """Have networkd no longer configure an interface; raises as `configure`."""
        self._turns.pop(interface, None)
        if not self._files.has(interface):
            return
        # networkd does that, too, where it runs, but with another file in force some seconds after the loss
        # of the carrier. The routes go with the addresses.
        self._delete_addresses(interface)
        await self._remove(interface)

    async def _remove(self, interface: str) -> None:
        if self._files.remove(interface):
            await self._reread()

    async def request_lease(self, interface: str, index: int) -> None:
        """Have networkd request the lease of an interface that is configured from the beginning, and forget
        an address that it would never set again; start it if it does not run. Raises as `configure`.

        It does not begin again once it has a lease, which it would drop: on a busy host the daemon may not
        have noticed it yet.
        """
        if not self._files.has(interface):
            return
        async with self._lock:
            await self._watch()
            if not self._running.is_set():
                await self._start()
                return
            if self._is_outdated:
                await self._reload()
            addresses = addresses_in(await self._describe(index))
            if any(one.is_own and not one.is_withdrawn for one in addresses):
                return
            if any(one.is_withdrawn for one in addresses):
                await self._begin_again(interface, index)
            else:
                await self._reconfigure(index)

    async def _begin_again(self, interface: str, index: int) -> None:
        """Have networkd forget an address that it has withdrawn, and request the lease. Until then it
        requests none: a lease that came meanwhile would be confused with the one before."""
        try:
            with self._files.without_address(interface):
                await self._reload()
                await self._end_withdrawn(index)
        finally:
            await self._reload()

    async def _end_withdrawn(self, index: int) -> None:
        """Have networkd forget what it has withdrawn; the kernel must not report it before networkd has
        forgotten its lease."""
        for _ in range(_READS):  # networkd signals no change to this state
            await asyncio.sleep(_PAUSE_S)
            withdrawn = [one for one in addresses_in(await self._describe(index)) if one.is_withdrawn]
            if all(one.is_stranded for one in withdrawn):
                self._touch_stranded(index, withdrawn)
                return
        _log.warning("addresses_not_forgotten", index=index)

    def _touch_stranded(self, index: int, addresses: list[AddressState]) -> None:
        """Have the kernel report the end of the addresses for which networkd waits."""
        stranded = [one.lease for one in addresses if one.is_stranded]
        if stranded:
            _log.warning("addresses_stranded", index=index, addresses=[str(one) for one in stranded])
            self._touch_addresses(index, stranded)

    async def _reconfigure(self, index: int) -> None:
        """Have networkd begin with an interface anew: it deletes what it has set there."""
        try:
            await self._networkd.reconfigure(index)
        except (BusError, BusClosed, TimeoutError) as error:
            raise BackendUnavailable(
                f"systemd-networkd does not configure an interface again: {_reason(error)}"
            ) from None

    async def clear(self) -> None:
        """Remove all files, and have networkd no longer configure any link; raises as `configure`."""
        self._turns.clear()
        if self._files.remove_all():
            await self._reread()

    async def _reread(self) -> None:
        """Have networkd read that files are gone, if it runs."""
        self._is_outdated = True
        async with self._lock:
            await self._watch()
            if self._running.is_set() and self._is_outdated:
                await self._reload()

    async def _watch(self) -> None:
        """Follow whether networkd runs, from the first call on: a host with NetworkManager has none."""
        if not self._is_watched:
            await self._connection.watch_owner(self._came_or_went, NETWORK1)
            await self._networkd.watch_links(self._link_changed)
            self._bus_id = await self._connection.bus_id()
            self._set_owner(await self._networkd.owner())
            if not self._run and await self._is_running():
                # As at boot: it may have read its settings already.
                self._has_lost_bus = not await self._is_coming()
            self._is_outdated |= self._files.remove_absent()
            self._is_watched = True

    async def _is_running(self) -> bool:
        """Whether networkd's unit is active; not where systemd does not answer, as its start will report
        that."""
        try:
            unit = await self._unit()
        except (BusError, BusClosed, TimeoutError):
            return False
        return unit.is_active and not unit.is_starting

    async def _unit(self) -> ListedUnit:
        [unit] = await self._systemd.list_units([NETWORKD_UNIT])
        return unit

    def _came_or_went(self, change: OwnerChange) -> None:
        self._set_owner(change.after)

    def _set_owner(self, owner: str) -> None:
        if owner:
            self._run = f"{self._bus_id} {owner}"
            self._has_lost_bus = False
            self._running.set()
        else:
            self._run = ""
            self._running.clear()

    async def _reload(self) -> None:
        self._is_outdated = False
        try:
            await self._networkd.reload()
        except (BusError, BusClosed, TimeoutError) as error:
            self._is_outdated = True
            raise BackendUnavailable(f"systemd-networkd cannot be reloaded: {_reason(error)}") from None

    async def _start(self) -> None:
        """Start networkd; restart it where it runs and has lost the message bus, which it does not connect to
        again."""
        self._is_outdated = False
        try:
            unit = await self._unit()
            if not unit.is_active:
                await self._systemd.start_unit(NETWORKD_UNIT)
            elif unit.is_starting:  # a restart would begin anew what is waited for
                await self._wait()
                await self._reload()  # it may have read the files before the last one was written
                return
            elif not self._has_lost_bus and await self._is_coming():
                await self._reload()
                return
            else:
                await self._systemd.restart_unit(NETWORKD_UNIT)
        except (BusError, BusClosed, TimeoutError) as error:
            raise BackendUnavailable(f"systemd-networkd cannot be started: {_reason(error)}") from None
        await self._wait()
        _log.info("networkd_started")

    async def _restart(self) -> None:
        self._running.clear()
        self._is_outdated = False
        try:
            await self._systemd.restart_unit(NETWORKD_UNIT)
        except (BusError, BusClosed, TimeoutError) as error:
            self._running.set()
            self._is_outdated = True
            raise BackendUnavailable(f"systemd-networkd cannot be restarted: {_reason(error)}") from None
        await self._wait()
        _log.info("networkd_restarted", reason="its settings have changed")

    async def _is_coming(self) -> bool:
        """Whether networkd is just starting, by whether it gets its bus name."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_NAME_S):
                await self._running.wait()
        return self._running.is_set()

    async def _wait(self) -> None:
        try:
            async with asyncio.timeout(START_S):
                await self._running.wait()
        except TimeoutError:
            raise BackendUnavailable(
                f"systemd-networkd was started, but is not on the message bus after {START_S:g} s: "
                "`systemctl status systemd-networkd` says more"
            ) from None


def _reason(error: BusError | BusClosed | TimeoutError) -> str:
    return (error.message if isinstance(error, BusError) else str(error)) or "there is no answer"


def _is_addressed(index: int) -> bool:
    try:
        return first_address(index) is not None
    except OSError:
        return False
