"""The interfaces that this daemon has registered with wpa_supplicant, and those that others have."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import structlog

from wifimgrd.api.errors import error_of_reply
from wifimgrd.backends.wpa_supplicant._other_supplicants import OtherSupplicants
from wifimgrd.bus import names
from wifimgrd.bus.connection import BusConnection, BusError
from wifimgrd.domain.errors import BackendUnavailable
from wifimgrd.ports import BackendMemory
from wifimgrd.proxies.wpa_supplicant.definitions import WPAS_INTERFACE_EXISTS
from wifimgrd.proxies.wpa_supplicant.interface import Supplicant

_log = structlog.get_logger(__name__)

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
        self._unanswered: set[str] = set()
        """Interfaces that may be registered later, since no answer has come."""

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
            return self._require_own(name, owner, path)
        self._memory.note(_key(name), owner)
        try:
            path = await self._register_interface(name)
        except TimeoutError:
            self._unanswered.add(name)
            raise
        except BusError as error:
            if error.name == names.NO_REPLY or isinstance(error_of_reply(error), BackendUnavailable):
                self._unanswered.add(name)
                raise
            if error.name != WPAS_INTERFACE_EXISTS or name not in self._unanswered:
                self._unanswered.discard(name)
                self._memory.note(_key(name), None)
                if error.name == WPAS_INTERFACE_EXISTS:
                    raise InterfaceTaken("another program has registered it with wpa_supplicant") from None
                raise
            path = await supplicant.interface(name)
        self._unanswered.discard(name)
        _log.info("interface_registered", interface=name)
        return path

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
                if name not in self._unanswered:
                    self._memory.note(_key(name), None)
                return
            self._unanswered.discard(name)
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
