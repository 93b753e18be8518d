"""systemd's objects: units that run, their changes, the start of networkd, and a restart."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from wifimgrd.bus.connection import BusConnection, BusError
from wifimgrd.bus.proxy import Proxy
from wifimgrd.proxies.networkd import definitions

_VERSION: Final = re.compile(r"v?(\d+)", re.ASCII)
"""As `252.39-1~deb12u2`, `v257.9`."""


class _Listed(NamedTuple):
    """A unit in the reply of ListUnitsByNames."""

    name: str
    description: str
    load_state: str
    active_state: str
    sub_state: str
    followed: str
    path: str
    job: int
    job_type: str
    job_path: str


@dataclass(frozen=True, slots=True)
class ListedUnit:
    """A unit in systemd's list."""

    name: str
    active_state: str
    sub_state: str
    path: str
    """Of its object."""

    @property
    def is_active(self) -> bool:
        """Whether it is active or starting."""
        return self.active_state in ("active", "activating", "reloading")

    @property
    def is_starting(self) -> bool:
        """Whether its start has not ended."""
        return self.active_state == "activating"

    @property
    def may_have_processes(self) -> bool:
        """Whether it is starting, active or stopping; one that has ended, and stays active
        (RemainAfterExit=), has no processes."""
        return self.active_state not in ("inactive", "failed") and self.sub_state != "exited"


class ServiceManager(Proxy):
    """The root object."""

    SERVICE = definitions.SYSTEMD1
    INTERFACE = definitions.SYSTEMD1_MANAGER

    def __init__(self, connection: BusConnection) -> None:
        super().__init__(connection, definitions.SYSTEMD1_PATH)

    async def version(self) -> int:
        """The version of systemd, e.g. 252; 0 where it cannot be told."""
        found = _VERSION.match(await self.get("Version", str))
        return int(found[1]) if found else 0

    async def start_unit(self, unit: str) -> None:
        """Queue the start of a unit, and return before it is started."""
        await self.call("StartUnit", "ss", [unit, "replace"])

    async def restart_unit(self, unit: str) -> None:
        """Queue the restart of a unit, and return before it has begun."""
        await self.call("RestartUnit", "ss", [unit, "replace"])

    async def subscribe(self) -> None:
        """Have systemd send signals to this connection, which it does not do by itself."""
        try:
            await self.call("Subscribe")
        except BusError as error:
            if error.name != definitions.ALREADY_SUBSCRIBED:
                raise

    async def list_units(self, names: Sequence[str]) -> list[ListedUnit]:
        """Units by name, also those that are not loaded or do not exist."""
        listed = await self.ask(list[_Listed], "ListUnitsByNames", "as", [list(names)])
        return [ListedUnit(one.name, one.active_state, one.sub_state, one.path) for one in listed]

    async def unit_file_state(self, unit: str) -> str:
        """Whether a unit is enabled, e.g. `enabled`, `masked`; raises BusError without such a unit."""
        return await self.ask(str, "GetUnitFileState", "s", [unit])


class Unit(Proxy):
    """A unit, by its object path."""

    SERVICE = definitions.SYSTEMD1
    INTERFACE = definitions.SYSTEMD1_UNIT
