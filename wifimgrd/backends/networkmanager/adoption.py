"""Finding the links of an earlier life of the daemon in NetworkManager."""

from __future__ import annotations

from typing import Final

import structlog

from wifimgrd.backends.networkmanager.activation import Activation, Joined, take_down
from wifimgrd.backends.networkmanager.devices import Carried, NmDevice
from wifimgrd.backends.networkmanager.inventory import Inventory
from wifimgrd.backends.networkmanager.keeper import Keeper
from wifimgrd.backends.networkmanager.profile import marked_device, ssid_of
from wifimgrd.backends.networkmanager.reading import look_for_link
from wifimgrd.backends.networkmanager.supplicant import Station
from wifimgrd.dbus.bus import BusConnection, BusError
from wifimgrd.domain.device import HeldLink
from wifimgrd.runtime.tasks import Tasks

_log = structlog.get_logger(__name__)

_LOOKS: Final = 4
"""For the address of a link that may have come up a moment ago."""


async def adopt(connection: BusConnection, inventory: Inventory, tasks: Tasks) -> list[Keeper]:
    """A keeper for each link of ours that is up. Attempts that nobody waits for any more are taken down."""
    keepers = []
    for device in list(inventory.devices.values()):
        carried = device.carried
        if carried is None or not carried.ours:
            continue
        inventory.reserve(device, True)
        keeper = await _keeper_of(connection, device, carried, tasks)
        if keeper is None:
            _log.info("leftover_removed", interface=device.name, profile=carried.name)
            await take_down(connection, device, Activation(carried.uuid, carried.profile, carried.path))
            inventory.reserve(device, False)
            continue
        _log.info("link_adopted", interface=device.name, device=keeper.held.device)
        keepers.append(keeper)
    return keepers


async def _keeper_of(
    connection: BusConnection, device: NmDevice, carried: Carried, tasks: Tasks
) -> Keeper | None:
    """The keeper of a link that is up; None where there is none."""
    if not device.has_address or carried.settings is None:
        return None
    marked = marked_device(carried.settings)
    reading = await look_for_link(connection, device, _LOOKS)
    if marked is None or reading is None:
        return None
    try:
        station = await Station.open(connection, device.name)
    except BusError:
        return None
    try:
        await station.listen()
        state = await station.state()
    except BusError:
        station.close()
        return None
    activation = Activation(carried.uuid, carried.profile, carried.path)
    held = HeldLink(marked, device.name, ssid_of(carried.settings), reading.link)
    keeper = Keeper(connection, held, Joined(device, station, activation, reading), tasks.part(device.name))
    keeper.note_state(state)
    return keeper
