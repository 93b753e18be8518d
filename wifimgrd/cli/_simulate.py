"""`wifimgrctl simulate`: what happens to the cameras and adapters of the simulated world."""

from __future__ import annotations

import argparse
import os
from typing import Final

from wifimgrd.bus.connection import Variant
from wifimgrd.cli._finding import find_device
from wifimgrd.cli._hub_arguments import FAULT_OPTIONS
from wifimgrd.cli._screen import Screen
from wifimgrd.client.hub import HubClient
from wifimgrd.domain.errors import DeviceNotFound, InvalidRequest, NotSupported

_SIMULATED: Final = "simulated"
_SIGNATURES: Final = {bool: "b", int: "x", float: "d", str: "s", bytes: "ay"}


async def simulate(hub: HubClient, arguments: argparse.Namespace, screen: Screen) -> bool:
    """Change the simulated world. Nothing is printed, since what follows is an event like any other.

    Raises NotSupported if this hub has real adapters, InvalidRequest for what is not in the world.
    """
    if hub.service.backend != _SIMULATED:
        raise NotSupported(
            f"this hub has real adapters (backend {hub.service.backend or 'unknown'}); simulate needs a"
            " simulated world: make run BACKEND=simulated, or wifimgrd --simulate"
        )
    match arguments.action:
        case "power-on":
            await hub.simulate("PowerOnCamera", "ay", _network(hub, arguments.camera))
        case "power-off":
            await hub.simulate("PowerOffCamera", "ayb", _network(hub, arguments.camera), not arguments.cut)
        case "sleep":
            await hub.simulate("SleepCamera", "ay", _network(hub, arguments.camera))
        case "plug":
            await hub.simulate("PlugAdapter", "s", arguments.adapter)
        case "unplug":
            await hub.simulate("UnplugAdapter", "s", arguments.adapter)
        case "fault":
            await hub.simulate("SetFault", "sa{sv}", arguments.kind, _options(hub, arguments))
    screen.show({"action": arguments.action}, [])
    return True


def _options(hub: HubClient, arguments: argparse.Namespace) -> dict[str, Variant]:
    """The options of a fault that were given."""
    given = vars(arguments)
    values: dict[str, bool | float | str | bytes] = {
        name: given[name] for name in FAULT_OPTIONS if name in given
    }
    if "camera" in given:
        values["ssid"] = _network(hub, given["camera"])
    return {name: Variant(_SIGNATURES[type(value)], value) for name, value in values.items()}


def _network(hub: HubClient, camera: str) -> bytes:
    """The network of a camera: that of the device with this name or id, or else the one with this name.
    Raises InvalidRequest if several devices have the name."""
    try:
        return find_device(hub.devices, camera).ssid
    except DeviceNotFound:
        pass
    network = os.fsencode(camera)
    if not 0 < len(network) <= 32:
        raise InvalidRequest(f"an SSID has 1 to 32 bytes, this one {len(network)}")
    return network
