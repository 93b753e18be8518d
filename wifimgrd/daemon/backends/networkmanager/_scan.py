"""Scans that are not part of a join, and the scan results.

They use wpa_supplicant, not NetworkManager: NetworkManager updates its list some time after it has
reported the end of a scan, and its signals do not identify which scan ended.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable

from wifimgrd.bus import names
from wifimgrd.bus.connection import BusClosed, BusConnection, BusError
from wifimgrd.daemon.backends.networkmanager import _failure_reasons as failure_reasons
from wifimgrd.daemon.backends.networkmanager._devices import DeviceGone, NmDevice, StateChange
from wifimgrd.daemon.backends.networkmanager._failure_reasons import no_device
from wifimgrd.daemon.backends.supplicant.bss_choice import BssChoice
from wifimgrd.daemon.backends.supplicant.network_search import frequencies_to_try, scan_for
from wifimgrd.domain.device import Ssid
from wifimgrd.domain.errors import BackendUnavailable, Busy, WifimgrdError
from wifimgrd.domain.network import ScanResult
from wifimgrd.proxies.networkmanager.definitions import DeviceState
from wifimgrd.proxies.wpa_supplicant.bss import scan_result
from wifimgrd.proxies.wpa_supplicant.interface import SupplicantInterface
from wifimgrd.proxies.wpa_supplicant.scan_queue import ScanRefused


async def scan(connection: BusConnection, device: NmDevice | None, interface: str) -> None:
    """Scan all channels on an idle device, after the scan that is running there.

    Raises InterfaceLost; Busy where the device is in use or becomes so; BackendUnavailable. The caller
    limits the time.
    """
    if device is None:
        raise no_device(interface)
    lost: asyncio.Future[WifimgrdError] = asyncio.get_running_loop().create_future()

    def on_event(event: StateChange | DeviceGone) -> None:
        if isinstance(event, DeviceGone) and not lost.done():
            lost.set_result(failure_reasons.device_gone(interface, is_unplugged=event.unplugged))

    device.listeners.append(on_event)
    scanning = asyncio.create_task(_scan_all_channels(connection, device, interface))
    try:
        await asyncio.wait((scanning, lost), return_when=asyncio.FIRST_COMPLETED)
        if lost.done():
            raise lost.result()
        await scanning
    except ScanRefused as error:
        raise Busy(f"wpa_supplicant does not scan: {error}") from None
    except BusError as error:
        raise BackendUnavailable(f"wpa_supplicant refused: {error.message}") from None
    except BusClosed:
        raise BackendUnavailable("the connection to the message bus was lost") from None
    finally:
        device.listeners.remove(on_event)
        scanning.cancel()
        await asyncio.wait((scanning,))


async def _scan_all_channels(connection: BusConnection, device: NmDevice, interface: str) -> None:
    supplicant = await SupplicantInterface.open(connection, interface)
    try:
        await supplicant.subscribe()
        await supplicant.scans.scan_all_channels(lambda: _require_idle(device))
    finally:
        supplicant.close()


def _require_idle(device: NmDevice) -> None:
    if device.reserved or device.state != DeviceState.DISCONNECTED:
        raise Busy("it is busy")


async def is_visible(
    connection: BusConnection,
    device: NmDevice | None,
    interface: str,
    ssid: Ssid,
    choice: Callable[[], BssChoice],
    *,
    all_channels: bool,
) -> bool:
    """Scan for one network on an idle device, as Backend.is_visible does; returns whether it has a candidate.
    Raises InterfaceLost; Busy where the device is in use; BackendUnavailable.
    """
    if device is None:
        raise no_device(interface)
    if device.state != DeviceState.DISCONNECTED:
        raise Busy("it is busy")
    supplicant: SupplicantInterface | None = None
    try:
        supplicant = await SupplicantInterface.open(connection, interface)
        await supplicant.subscribe()
        frequencies = frequencies_to_try(choice().sightings, (), device.bands)
        found = await scan_for(supplicant, ssid, choice, frequencies, all_channels=all_channels)
        return bool(choice().candidates(found))
    except (BusError, ScanRefused) as error:
        raise Busy(f"wpa_supplicant does not scan: {error}") from None
    except BusClosed:
        raise BackendUnavailable("the connection to the message bus was lost") from None
    finally:
        if supplicant is not None:
            supplicant.close()


async def scan_results(connection: BusConnection, devices: Iterable[NmDevice]) -> list[ScanResult]:
    """The access points that wpa_supplicant lists for each device; raises BackendUnavailable."""
    now_us = time.time_ns() // 1000
    found: list[ScanResult] = []
    try:
        for device in devices:
            try:
                listed = await (await SupplicantInterface.open(connection, device.name)).all_bss()
            except BusError as error:
                if error.name == names.ACCESS_DENIED:
                    raise BackendUnavailable(
                        "the message bus denies wifimgrd access to wpa_supplicant"
                    ) from None
                continue  # the supplicant has no such interface
            found += (scan_result(device.name, bss, now_us) for bss in listed)
    except (BusClosed, TimeoutError):
        raise BackendUnavailable("wpa_supplicant does not answer") from None
    return found
