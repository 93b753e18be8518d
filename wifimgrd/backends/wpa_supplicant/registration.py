"""The interfaces that this daemon has registered with wpa_supplicant, and those that others have."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

import structlog

from wifimgrd.dbus.connection import BusConnection, BusError
from wifimgrd.networkd.units import ServiceManager
from wifimgrd.ports import BackendMemory
from wifimgrd.wpa_supplicant.definitions import WPAS_INTERFACE_EXISTS
from wifimgrd.wpa_supplicant.interface import Supplicant

_log = structlog.get_logger(__name__)

RegisterInterface = Callable[[str], Awaitable[str]]
"""Register an interface, and return its object path; raises BusError, BusClosed, TimeoutError."""

_UNITS: Final = (
    "wpa_supplicant@{}.service",
    "wpa_supplicant-nl80211@{}.service",
    "netplan-wpa-{}.service",
    "ifup@{}.service",
)
"""Units that run a wpa_supplicant of their own, apart from the one on the bus, for an interface."""
_RUN: Final = Path("/run")
_IFUPDOWN: Final = "wpa_supplicant.{}.pid"
"""The pid file of the wpa_supplicant that ifupdown runs for an interface with `wpa-ssid` or `wpa-conf`
(`/etc/wpa_supplicant/functions.sh`), which is in the unit of whatever has called `ifup`."""


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

    async def register(self, connection: BusConnection, owner: str, name: str) -> str:
        """Register an interface, where this daemon has not done so before; returns its object path. Raises
        InterfaceTaken, BusError, BusClosed, TimeoutError."""
        supplicant = Supplicant(connection)
        try:
            path = await supplicant.interface(name)
        except BusError:
            if taken := await self.owner_on_the_host(connection, name):
                raise InterfaceTaken(taken) from None
        else:
            return self._require_own(name, owner, path)
        self._memory.note(_key(name), owner)
        try:
            path = await self._register_interface(name)
        except BusError as error:
            self._memory.note(_key(name), None)
            if error.name == WPAS_INTERFACE_EXISTS:
                raise InterfaceTaken("another program has registered it with wpa_supplicant") from None
            raise
        _log.info("interface_registered", interface=name)
        return path

    def is_own(self, name: str, owner: str) -> bool:
        """Whether this daemon has registered the interface with this wpa_supplicant."""
        return bool(owner) and self._memory.recall(_key(name)) == owner

    async def unregister(self, connection: BusConnection, owner: str, name: str) -> None:
        """Give an interface back that this daemon has registered; never raises."""
        if self.is_own(name, owner):
            self._memory.note(_key(name), None)
            supplicant = Supplicant(connection)
            try:
                await supplicant.remove_interface(await supplicant.interface(name))
            except BusError:
                return  # it went with its adapter
            _log.info("interface_unregistered", interface=name)

    async def owner_on_the_host(self, connection: BusConnection, name: str) -> str:
        """Which unit uses an interface, or that ifupdown does, as a sentence; empty where none does."""
        units = [unit.format(name) for unit in _UNITS]
        active = await ServiceManager(connection).active_units(units)
        if active:
            return f"{active[0]} uses it"
        return "ifupdown runs a wpa_supplicant for it" if _is_running(_RUN / _IFUPDOWN.format(name)) else ""

    def _require_own(self, name: str, owner: str, path: str) -> str:
        if not self.is_own(name, owner):
            raise InterfaceTaken("another program has registered it with wpa_supplicant")
        return path


def _is_running(pid_file: Path) -> bool:
    """Whether the process of a pid file is there; the file of one that was killed stays."""
    try:
        os.kill(int(pid_file.read_text()), 0)
    except PermissionError:  # of another user
        return True
    except (OSError, ValueError):
        return False
    return True


def _key(name: str) -> str:
    return f"wpa-supplicant-interface:{name}"
