"""Searching the air for its own sake, and what is known to be in it.

wpa_supplicant is asked, not NetworkManager: that one takes over what a scan found some time after
it said that the scan is over, and cannot tell whose scan ended.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Sequence
from typing import Final

from wifimgrd.backends.networkmanager import defs, diagnosis
from wifimgrd.backends.networkmanager.air import Bss, frequencies_to_try, security_of
from wifimgrd.backends.networkmanager.defs import DeviceState
from wifimgrd.backends.networkmanager.devices import Gone, NmDevice, StateChange
from wifimgrd.backends.networkmanager.scans import ScanRefused, SweepEnd
from wifimgrd.backends.networkmanager.supplicant import Station
from wifimgrd.dbus.bus import BusClosed, BusConnection, BusError
from wifimgrd.domain.device import Sighting, Ssid
from wifimgrd.domain.errors import BackendUnavailable, Busy, InterfaceLost, WifimgrdError
from wifimgrd.domain.network import HeardPoint

_TRIES: Final = 3


async def scan(connection: BusConnection, device: NmDevice | None, interface: str) -> None:
    """Search all channels on an idle device, once the scan that runs there is over.

    Raises InterfaceLost; Busy where the device has, or gets, something else to do;
    BackendUnavailable. The caller limits the time.
    """
    if device is None:
        raise InterfaceLost(f"NetworkManager does not know the adapter {interface}")
    lost: asyncio.Future[WifimgrdError] = asyncio.get_running_loop().create_future()

    def hear(event: StateChange | Gone) -> None:
        if isinstance(event, Gone) and not lost.done():
            lost.set_result(diagnosis.device_gone(interface, event.pulled_out))

    device.ears.append(hear)
    searching = asyncio.create_task(_search(connection, device, interface))
    try:
        await asyncio.wait((searching, lost), return_when=asyncio.FIRST_COMPLETED)
        if lost.done():
            raise lost.result()
        await searching
    except BusError as error:
        raise BackendUnavailable(f"wpa_supplicant refused: {error.message}") from None
    except BusClosed:
        raise BackendUnavailable("the connection to the message bus was lost") from None
    finally:
        device.ears.remove(hear)
        searching.cancel()
        await asyncio.wait((searching,))


async def _search(connection: BusConnection, device: NmDevice, interface: str) -> None:
    station = await Station.open(connection, interface)
    try:
        await station.listen()
        for _ in range(_TRIES):
            if device.reserved or device.state != DeviceState.DISCONNECTED:
                raise Busy("it has something else to do")
            # One that was ended early made room for a join, which the next turn sees, or for another search.
            if await station.scans.sweep() is SweepEnd.COMPLETE:
                return
        raise Busy("something else went before its scan")
    finally:
        station.close()


async def look(
    connection: BusConnection, device: NmDevice | None, interface: str, ssid: Ssid, met: Sequence[Sighting]
) -> bool:
    """Have the supplicant search for one network on an idle device, first where it was met before.

    Raises InterfaceLost; Busy where the device has something else to do; BackendUnavailable.
    """
    if device is None:
        raise InterfaceLost(f"NetworkManager does not know the adapter {interface}")
    if device.state != DeviceState.DISCONNECTED:
        raise Busy("it has something else to do")
    station: Station | None = None
    try:
        station = await Station.open(connection, interface)
        await station.listen()
        return bool(await station.search(ssid, frequencies_to_try(met, (), device.bands)))
    except (BusError, ScanRefused) as error:
        raise Busy(f"wpa_supplicant does not scan: {error}") from None
    except BusClosed:
        raise BackendUnavailable("the connection to the message bus was lost") from None
    finally:
        if station is not None:
            station.close()


async def heard_points(connection: BusConnection, devices: Iterable[NmDevice]) -> list[HeardPoint]:
    """The access points that wpa_supplicant lists for each device; raises BackendUnavailable."""
    now_us = time.time_ns() // 1000
    found: list[HeardPoint] = []
    try:
        for device in devices:
            try:
                listed = await (await Station.open(connection, device.name)).everything()
            except BusError as error:
                if error.name == defs.ACCESS_DENIED:
                    raise BackendUnavailable("the message bus keeps wifimgrd from wpa_supplicant") from None
                continue  # the supplicant does not have it
            found += (_point(device.name, bss, now_us) for bss in listed)
    except (BusClosed, TimeoutError):
        raise BackendUnavailable("wpa_supplicant does not answer") from None
    return found


def _point(interface: str, bss: Bss, now_us: int) -> HeardPoint:
    return HeardPoint(
        interface,
        Ssid(bss.ssid),
        bss.sighting,
        security_of(bss),
        bss.signal_percent,
        now_us - bss.age_s * 1_000_000,
    )
