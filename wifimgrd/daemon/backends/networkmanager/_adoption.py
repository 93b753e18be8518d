"""Find the links in NetworkManager that an earlier run of the daemon started."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection
from typing import Final

import structlog

from wifimgrd.bus.connection import BusConnection, BusError
from wifimgrd.daemon.backends.networkmanager._active_connection import (
    ActiveConnection,
    Joined,
    deactivate,
    delete_profile,
)
from wifimgrd.daemon.backends.networkmanager._changes import Changes
from wifimgrd.daemon.backends.networkmanager._devices import Carried, NmDevice
from wifimgrd.daemon.backends.networkmanager._inventory import Inventory
from wifimgrd.daemon.backends.networkmanager._ip_config import LinkReading, read_link_with_retries
from wifimgrd.daemon.backends.networkmanager._link_monitor import LinkMonitor
from wifimgrd.daemon.backends.networkmanager._profile import bssid_of, ssid_of
from wifimgrd.domain.device import HeldLink, Ssid
from wifimgrd.proxies.networkmanager.objects import ProfileList, SettingsConnection, marked_device
from wifimgrd.proxies.wpa_supplicant.interface import SupplicantInterface
from wifimgrd.runtime.tasks import Tasks

_log = structlog.get_logger(__name__)

_READS: Final = 4
"""How often to read the address of a link that may have come up a moment ago."""


async def adopt(
    connection: BusConnection,
    changes: Changes,
    inventory: Inventory,
    tasks: Tasks,
    require_usable: Callable[[Ssid, LinkReading], None],
) -> list[LinkMonitor]:
    """Return a monitor for each of this daemon's links that is up; take down attempts without a caller.

    `require_usable` as for LinkMonitor: a link with an address that cannot be used ends when it is watched.
    """
    link_monitors = []
    with contextlib.ExitStack() as unless_all_are_adopted:
        for device in list(inventory.devices.values()):
            carried = device.carried
            if carried is None or not carried.ours:
                continue
            inventory.reserve(device, True)
            link_monitor = await _link_monitor_of(connection, changes, device, carried, tasks, require_usable)
            if link_monitor is None:
                _log.info("leftover_removed", interface=device.name, profile=carried.name)
                await deactivate(
                    connection, changes, device, ActiveConnection(carried.uuid, carried.profile, carried.path)
                )
                inventory.reserve(device, False)
                continue
            unless_all_are_adopted.callback(link_monitor.close)
            _log.info("link_adopted", interface=device.name, device=link_monitor.held.device_id)
            link_monitors.append(link_monitor)
        unless_all_are_adopted.pop_all()
    return link_monitors


async def delete_leftovers(connection: BusConnection, changes: Changes, used: Collection[str]) -> None:
    """Delete the hub's profiles but those that are used: that of an open network stays where its link has
    ended while no daemon was running. Before the first attempt; raises BusClosed."""
    try:
        for path in await ProfileList(connection).paths():
            with contextlib.suppress(BusError):  # it is gone, or may not be read
                if path not in used and marked_device(await SettingsConnection(connection, path).settings()):
                    await delete_profile(changes, path)
    except (BusError, TimeoutError) as error:
        _log.warning("profiles_not_listed", error=str(error) or "time-out")


async def _link_monitor_of(
    connection: BusConnection,
    changes: Changes,
    device: NmDevice,
    carried: Carried,
    tasks: Tasks,
    require_usable: Callable[[Ssid, LinkReading], None],
) -> LinkMonitor | None:
    """The monitor of a device's link; None where the link is not up."""
    if not device.has_address or carried.settings is None:
        return None
    marked = marked_device(carried.settings)
    reading = await read_link_with_retries(connection, device, _READS)
    if marked is None or reading is None:
        return None
    try:
        supplicant = await SupplicantInterface.open(connection, device.name)
    except BusError:
        return None
    with contextlib.ExitStack() as unless_adopted:
        unless_adopted.callback(supplicant.close)
        try:
            await supplicant.subscribe()
            state = await supplicant.state()
        except BusError:
            return None
        unless_adopted.pop_all()
    activation = ActiveConnection(carried.uuid, carried.profile, carried.path)
    held = HeldLink(marked, device.name, ssid_of(carried.settings), reading.link)
    joined = Joined(device, supplicant, activation, reading, bssid_of(carried.settings))
    link_monitor = LinkMonitor(connection, changes, held, joined, tasks.part(device.name), require_usable)
    link_monitor.state_changed(state)
    return link_monitor
