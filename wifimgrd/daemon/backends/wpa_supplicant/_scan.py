"""Scans that are not part of a join, and the scan results."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from wifimgrd.bus.connection import BusClosed, BusError
from wifimgrd.daemon.backends.supplicant.bss_choice import BssChoice
from wifimgrd.daemon.backends.supplicant.network_search import frequencies_to_try, scan_for
from wifimgrd.daemon.backends.wpa_supplicant._inventory import Inventory, WifiInterface
from wifimgrd.daemon.backends.wpa_supplicant._services import Services
from wifimgrd.domain.device import Ssid
from wifimgrd.domain.errors import BackendUnavailable, Busy
from wifimgrd.domain.interface import absent, unplugged
from wifimgrd.domain.network import ScanResult
from wifimgrd.proxies.wpa_supplicant.bss import scan_result
from wifimgrd.proxies.wpa_supplicant.interface import SupplicantInterface
from wifimgrd.proxies.wpa_supplicant.scan_queue import ScanRefused


@asynccontextmanager
async def idle_interface(
    services: Services, inventory: Inventory, name: str
) -> AsyncIterator[tuple[WifiInterface, SupplicantInterface]]:
    """An interface that nothing uses, opened.

    Raises InterfaceLost, also where it goes meanwhile; Busy; BackendUnavailable. The caller limits the time.
    """
    interface = inventory.by_name(name)
    if interface is None:
        raise absent(name)
    if interface.reserved:
        raise Busy("it is busy")
    task = asyncio.current_task()
    gone = False

    def on_gone() -> None:
        nonlocal gone
        gone = True
        if task:
            task.cancel()

    interface.on_gone.append(on_gone)
    supplicant: SupplicantInterface | None = None
    try:
        supplicant = await services.open_interface(interface)
        yield interface, supplicant
    except asyncio.CancelledError:
        if gone and task and task.uncancel() == 0:
            raise unplugged(name) from None
        raise
    except ScanRefused as error:
        raise Busy(f"wpa_supplicant does not scan: {error}") from None
    except BusError as error:
        services.doubt(name)
        raise BackendUnavailable(f"wpa_supplicant refused: {error.message}") from None
    except BusClosed:
        raise BackendUnavailable("the connection to the message bus was lost") from None
    finally:
        if on_gone in interface.on_gone:
            interface.on_gone.remove(on_gone)
        if supplicant is not None:
            supplicant.close()


async def scan(services: Services, inventory: Inventory, name: str) -> None:
    """Scan all channels on an idle interface; raises the errors of `idle_interface`."""
    async with idle_interface(services, inventory, name) as (interface, supplicant):
        await supplicant.subscribe()
        await supplicant.scans.scan_all_channels(lambda: _require_free(interface))


def _require_free(interface: WifiInterface) -> None:
    if interface.reserved:
        raise Busy("another operation took precedence over its scan")


async def is_visible(
    services: Services,
    inventory: Inventory,
    name: str,
    ssid: Ssid,
    choice: Callable[[], BssChoice],
    *,
    all_channels: bool,
) -> bool:
    """Scan for one network on an idle interface, as Backend.is_visible does; returns whether it has a
    candidate. Raises the errors of `idle_interface`."""
    async with idle_interface(services, inventory, name) as (interface, supplicant):
        await supplicant.subscribe()
        frequencies = frequencies_to_try(choice().sightings, (), interface.bands)
        found = await scan_for(supplicant, ssid, choice, frequencies, all_channels=all_channels)
        return bool(choice().candidates(found))


async def scan_results(services: Services, inventory: Inventory, name: str | None = None) -> list[ScanResult]:
    """The access points that wpa_supplicant lists for this daemon's interfaces, or for one; raises
    BackendUnavailable."""
    now_us = time.time_ns() // 1000
    found: list[ScanResult] = []
    try:
        for interface in list(inventory.interfaces.values()):
            if name in (None, interface.name) and services.has_registered(interface.name):
                supplicant = await services.open_interface(interface)
                found += (scan_result(interface.name, bss, now_us) for bss in await supplicant.all_bss())
    except (BusError, BusClosed, TimeoutError):
        services.doubt(interface.name)
        raise BackendUnavailable("wpa_supplicant does not answer") from None
    return found
