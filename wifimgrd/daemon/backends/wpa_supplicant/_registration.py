"""The interfaces that this daemon has registered with wpa_supplicant, and those that others have."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final

import structlog

from wifimgrd.bus import names
from wifimgrd.bus.connection import BusConnection, BusError
from wifimgrd.daemon.backends.wpa_supplicant._other_supplicants import OtherSupplicants
from wifimgrd.daemon.ports import BackendMemory
from wifimgrd.domain.errors import ErrorCode
from wifimgrd.proxies.wpa_supplicant.definitions import WPAS_INTERFACE_EXISTS
from wifimgrd.proxies.wpa_supplicant.interface import Supplicant
from wifimgrd.wire.errors import NAME_OF

_log = structlog.get_logger(__name__)

_NO_ANSWER: Final = (names.NO_REPLY, NAME_OF[ErrorCode.BACKEND_UNAVAILABLE])
"""The helper has gone with the call, or wpa_supplicant does not answer it."""
_LATE_S: Final = 40.0
"""How long a call may be carried out that got no answer: the message bus keeps it for the 25 s of a start of
the helper, which has 10 s for it."""

RegisterInterface = Callable[[str], Awaitable[str]]
"""Register an interface, and return its object path; raises BusError, BusClosed, TimeoutError."""


class InterfaceTaken(Exception):
    """Another program uses the interface; the text says which."""


class Registrations:
    """Registers interfaces and unregisters them. Which ones are this daemon's is noted with the running
    wpa_supplicant, so that a later run of the daemon finds them again.

    `owner` is one run of wpa_supplicant: the id of the bus, and the unique name on it, which the bus assigns
    to no other connection.
    """

    def __init__(self, memory: BackendMemory, register_interface: RegisterInterface) -> None:
        self._memory = memory
        self._register_interface = register_interface
        self._calls: dict[str, asyncio.Task[str]] = {}
        """Registrations that are not answered yet; their callers may have stopped waiting."""
        self._late_until: dict[str, float] = {}
        """Until when interfaces may be registered whose call has ended without an answer, in loop time."""

    async def register(
        self, connection: BusConnection, owner: str, name: str, others: OtherSupplicants
    ) -> str:
        """Register an interface, where this daemon has not done so before; returns its object path. Raises
        InterfaceTaken, BusError, BusClosed, TimeoutError."""
        supplicant = Supplicant(connection)
        try:
            path = await supplicant.interface(name)
        except BusError:
            if taken := await others.used_by(name):
                raise InterfaceTaken(taken) from None
        else:
            self._late_until.pop(name, None)
            return self._require_own(name, owner, path)
        self._memory.note(_key(name), owner)
        if (task := self._calls.get(name)) is None:
            task = self._calls[name] = asyncio.create_task(self._create(supplicant, name))
            task.add_done_callback(partial(self._answered, name))
        return await asyncio.shield(task)

    async def _create(self, supplicant: Supplicant, name: str) -> str:
        """Register an interface to the end, even if nobody waits any longer: a helper that is being started
        does so whenever it comes to it. Raises as `register`."""
        try:
            path = await self._register_interface(name)
        except TimeoutError:
            self._comes_late(name)
            raise
        except BusError as error:
            if error.name in _NO_ANSWER:
                self._comes_late(name)
                raise
            if error.name != WPAS_INTERFACE_EXISTS or not self._is_late(name):
                self._memory.note(_key(name), None)
                if error.name == WPAS_INTERFACE_EXISTS:
                    raise InterfaceTaken("another program has registered it with wpa_supplicant") from None
                raise
            path = await supplicant.interface(name)
        self._late_until.pop(name, None)
        _log.info("interface_registered", interface=name)
        return path

    def _answered(self, name: str, task: asyncio.Task[str]) -> None:
        del self._calls[name]
        if not task.cancelled():
            task.exception()  # nobody may have waited for it

    def _comes_late(self, name: str) -> None:
        self._late_until[name] = asyncio.get_running_loop().time() + _LATE_S

    def _is_late(self, name: str) -> bool:
        """Whether the interface may be registered for a call that ended without an answer."""
        return asyncio.get_running_loop().time() < self._late_until.get(name, 0.0)

    def is_own(self, name: str, owner: str) -> bool:
        """Whether this daemon has registered the interface with this wpa_supplicant."""
        return bool(owner) and self._memory.recall(_key(name)) == owner

    async def unregister(self, connection: BusConnection, owner: str, name: str) -> None:
        """Give an interface back that this daemon has registered; never raises."""
        if self.is_own(name, owner):
            supplicant = Supplicant(connection)
            try:
                path = await supplicant.interface(name)
            except BusError:  # it went with its adapter, or is still to come
                if name not in self._calls and not self._is_late(name):
                    self._memory.note(_key(name), None)
                return
            self._late_until.pop(name, None)
            self._memory.note(_key(name), None)
            try:
                await supplicant.remove_interface(path)
            except BusError:
                return  # it went with its adapter
            _log.info("interface_unregistered", interface=name)

    def _require_own(self, name: str, owner: str, path: str) -> str:
        if not self.is_own(name, owner):
            raise InterfaceTaken("another program has registered it with wpa_supplicant")
        return path


def _key(name: str) -> str:
    return f"wpa-supplicant-interface:{name}"
