"""systemd's root object, for units: which run, the start of networkd, and a restart."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from wifimgrd.dbus.connection import BusConnection
from wifimgrd.dbus.proxy import Proxy
from wifimgrd.networkd import definitions

_VERSION: Final = re.compile(r"v?(\d+)", re.ASCII)
"""As `252.39-1~deb12u2`, `v257.9`."""


class ServiceManager(Proxy):
    """The root object."""

    SERVICE = definitions.SYSTEMD1
    INTERFACE = definitions.SYSTEMD1_MANAGER

    def __init__(self, connection: BusConnection) -> None:
        super().__init__(connection, definitions.SYSTEMD1_PATH)

    async def version(self) -> int:
        """The version of systemd, e.g. 252; 0 where it cannot be told."""
        found = _VERSION.match(str(await self.get("Version")))
        return int(found[1]) if found else 0

    async def start_unit(self, unit: str) -> None:
        """Queue the start of a unit, and return before it is started."""
        await self.call("StartUnit", "ss", [unit, "replace"])

    async def restart_unit(self, unit: str) -> None:
        """Queue the restart of a unit, and return before it has begun."""
        await self.call("RestartUnit", "ss", [unit, "replace"])

    async def active_units(self, units: Sequence[str]) -> list[str]:
        """Those of the units, by name, that are running or starting."""
        [listed] = await self.call("ListUnitsByNames", "as", [list(units)])
        return [unit[0] for unit in listed if unit[3] in ("active", "activating", "reloading")]

    async def unit_file_state(self, unit: str) -> str:
        """Whether a unit is enabled, e.g. `enabled`, `masked`; raises BusError without such a unit."""
        return str((await self.call("GetUnitFileState", "s", [unit]))[0])
