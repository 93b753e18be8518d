"""The wpa_supplicants of other programs that run apart from the one on the bus, each for an interface."""

from __future__ import annotations

import asyncio
import os
import select
from collections.abc import Callable
from pathlib import Path
from typing import Final

from wifimgrd.bus.connection import BusConnection, Signal, Watch
from wifimgrd.proxies.networkd.units import ListedUnit, ServiceManager, Unit

_UNITS: Final = (
    "wpa_supplicant@{}.service",
    "wpa_supplicant-nl80211@{}.service",
    "netplan-wpa-{}.service",
    "ifup@{}.service",
)
"""Units that run one. `ifup@` stays active when `ifdown` has ended what it started."""
_RUN: Final = Path("/run")
_IFUPDOWN: Final = "wpa_supplicant.{}.pid"
"""The pid file of the one that ifupdown runs for an interface with `wpa-ssid` or `wpa-conf`
(`/etc/wpa_supplicant/functions.sh`), which is in the unit of whatever has called `ifup`."""


class OtherSupplicants:
    """Finds them, and calls `on_change` when one that was found has changed or ended."""

    def __init__(self, connection: BusConnection, on_change: Callable[[], None]) -> None:
        self._systemd = ServiceManager(connection)
        self._on_change = on_change
        self._units: dict[str, Watch] = {}
        """By the unit's name."""
        self._processes: dict[int, int] = {}
        """Descriptors of processes (pidfd_open(2)), by process id."""
        self._lock = asyncio.Lock()

    async def used_by(self, interface: str) -> str:
        """Which unit runs one for an interface, or that ifupdown does, as a sentence; empty where none does.

        Raises BusError, BusClosed, TimeoutError.
        """
        async with self._lock:
            running = await self._running_units(interface)
            if any(unit.name not in self._units for unit in running):
                for unit in running:
                    await self._watch_unit(unit)
                running = await self._running_units(interface)  # one may have ended before it was watched
            names = [unit.name for unit in running]
            for unit_name in _units_of(interface):
                if unit_name in self._units and unit_name not in names:
                    self._units.pop(unit_name).drop()
        if names:
            return f"{names[0]} uses it"
        return "ifupdown runs a wpa_supplicant for it" if self._is_ifupdowns(interface) else ""

    def close(self) -> None:
        """Stop watching all of them."""
        for watch in self._units.values():
            watch.drop()
        self._units.clear()
        for process in [*self._processes]:
            self._forget_process(process)

    async def _running_units(self, interface: str) -> list[ListedUnit]:
        listed = await self._systemd.list_units(_units_of(interface))
        return [unit for unit in listed if unit.may_have_processes]

    async def _watch_unit(self, unit: ListedUnit) -> None:
        if unit.name in self._units:
            return
        if not self._units:
            await self._systemd.subscribe()
        watched = Unit(self._systemd.connection, unit.path)
        self._units[unit.name] = await watched.watch_properties(self._unit_changed)

    def _unit_changed(self, _: Signal) -> None:
        self._on_change()

    def _is_ifupdowns(self, interface: str) -> bool:
        """Whether the process of its pid file is there; the file of one that was killed stays."""
        try:
            process = int((_RUN / _IFUPDOWN.format(interface)).read_text())
            if process in self._processes:
                return True
            descriptor = os.pidfd_open(process)
        except (OSError, ValueError):
            return False
        if select.select([descriptor], [], [], 0)[0]:  # it has ended, and its parent has not read its status
            os.close(descriptor)
            return False
        self._processes[process] = descriptor
        asyncio.get_running_loop().add_reader(descriptor, self._process_ended, process)
        return True

    def _process_ended(self, process: int) -> None:
        self._forget_process(process)
        self._on_change()

    def _forget_process(self, process: int) -> None:
        descriptor = self._processes.pop(process)
        asyncio.get_running_loop().remove_reader(descriptor)
        os.close(descriptor)


def _units_of(interface: str) -> list[str]:
    return [unit.format(interface) for unit in _UNITS]
