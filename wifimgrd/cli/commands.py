"""What each command does, monitor aside."""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from types import MappingProxyType
from typing import Final

from wifimgrd.cli.finding import find_device
from wifimgrd.cli.monitor import monitor
from wifimgrd.cli.screen import Screen
from wifimgrd.cli.text import safe
from wifimgrd.cli.views import device_view, devices_view, hub_view, interfaces_view, networks_view
from wifimgrd.dbus.client.hub import HubClient
from wifimgrd.dbus.client.json_records import air_json, device_json, interfaces_json, service_json
from wifimgrd.dbus.client.records import DeviceRecord
from wifimgrd.domain.errors import DeviceNotFound

_TICK_S: Final = 0.2
_TIMEOUT: Final = "timeout"
"""Code of a wait that ran out; the daemon has none, since nothing has failed."""

Command = Callable[[HubClient, argparse.Namespace, Screen], Awaitable[bool]]
"""Does what is asked; False where it said why not, else raises a WifimgrdError."""


async def devices(hub: HubClient, arguments: argparse.Namespace, screen: Screen) -> bool:
    """List devices."""
    del arguments
    if not hub.devices and not screen.json:
        screen.hint("No device is registered; `wifimgrctl add --ssid SSID` registers one.")
        return True
    everyone = hub.devices.values()
    screen.show([device_json(one) for one in everyone], devices_view(everyone, screen))
    return True


async def interfaces(hub: HubClient, arguments: argparse.Namespace, screen: Screen) -> bool:
    """List interfaces."""
    del arguments
    if not hub.interfaces and not screen.json:
        screen.hint("There is no Wi-Fi interface; plug a USB Wi-Fi adapter in.")
        return True
    lines = interfaces_view(hub.interfaces.values(), hub.devices, screen)
    screen.show(interfaces_json(hub.interfaces), lines)
    return True


async def networks(hub: HubClient, arguments: argparse.Namespace, screen: Screen) -> bool:
    """Search the air and list what is there."""
    air = await hub.search_air(arguments.interface)
    if not screen.json:
        if not air.networks:
            screen.hint("No network was heard.")
        if not air.scanned and (reasons := [f"{name} ({why})" for name, why in air.skipped.items()]):
            screen.hint(f"No interface is free to search: {safe(', '.join(reasons))}")
        if not air.networks:
            return True
    screen.show(air_json(air), networks_view(air.networks, hub.devices, screen))
    return True


async def status(hub: HubClient, arguments: argparse.Namespace, screen: Screen) -> bool:
    """Show the hub, or one device."""
    if arguments.device is not None:
        device = find_device(hub.devices, arguments.device)
        screen.show(device_json(device), device_view(device, screen))
        return True
    service = hub.service
    value = {
        "version": service.version,
        **service_json(service),
        "total_devices": len(hub.devices),
        "connected_devices": sum(device.state == "connected" for device in hub.devices.values()),
        "total_interfaces": service.total_interfaces,
        "assigned_interfaces": service.assigned_interfaces,
    }
    screen.show(value, hub_view(service, hub.devices.values(), hub.interfaces.values(), screen))
    return True


async def add(hub: HubClient, arguments: argparse.Namespace, screen: Screen) -> bool:
    """Register a device; its password was read before."""
    wanted = {
        "codename": arguments.codename,
        "connection_type": "wifi",
        "ssid": arguments.ssid,
        "password": arguments.password,
    }
    if arguments.name is not None:
        wanted["name"] = arguments.name
    device = _current(hub, await hub.create_device(wanted))
    screen.show(device_json(device), [f"{_title(device)} is registered"])
    return True


async def remove(hub: HubClient, arguments: argparse.Namespace, screen: Screen) -> bool:
    """Forget a device."""
    device = find_device(hub.devices, arguments.device)
    async with _progress(hub, device.id, screen):
        await hub.remove_device(device.id)
    screen.show({"id": device.id}, [f"{_title(device)} is removed"])
    return True


async def connect(hub: HubClient, arguments: argparse.Namespace, screen: Screen) -> bool:
    """Connect a device."""
    device = find_device(hub.devices, arguments.device)
    wait = not arguments.no_wait
    try:
        async with _progress(hub, device.id, screen):
            await hub.connect_device(device.id, wait=wait, timeout_s=arguments.timeout)
    except TimeoutError:
        device = _current(hub, device.id)
        what = f"{_title(device)} is still {device.state} after {arguments.timeout:g} s; the attempt goes on"
        screen.fail(_TIMEOUT, what)
        return False
    device = _current(hub, device.id)
    screen.show(device_json(device), [_standing(device)])
    return True


async def disconnect(hub: HubClient, arguments: argparse.Namespace, screen: Screen) -> bool:
    """Disconnect a device."""
    device = find_device(hub.devices, arguments.device)
    try:
        async with _progress(hub, device.id, screen):
            await hub.disconnect_device(device.id, timeout_s=arguments.timeout)
    except TimeoutError:
        device = _current(hub, device.id)
        screen.fail(_TIMEOUT, f"{_title(device)} is still {device.state} after {arguments.timeout:g} s")
        return False
    device = _current(hub, device.id)
    screen.show(device_json(device), [_standing(device)])
    return True


async def completions(hub: HubClient, arguments: argparse.Namespace, screen: Screen) -> bool:
    """For shells: what can be typed and what it means, one a line; what would break a line is left out."""
    if arguments.what == "interfaces":
        words = {one.name: one.state for one in hub.interfaces.values()}
    else:
        words = {str(one.id): one.name for one in hub.devices.values()}
        words |= {one.name: f"device {one.id}" for one in hub.devices.values()}
    for word, meaning in words.items():
        if word.isprintable():
            screen.show_one(word, f"{word}\t{safe(meaning)}")
    return True


COMMANDS: Final[Mapping[str, Command]] = MappingProxyType(
    {
        "devices": devices,
        "interfaces": interfaces,
        "networks": networks,
        "status": status,
        "add": add,
        "remove": remove,
        "connect": connect,
        "disconnect": disconnect,
        "monitor": monitor,
        "completions": completions,
    }
)


def _current(hub: HubClient, device_id: int) -> DeviceRecord:
    """A device after a command on it; somebody else may have removed it meanwhile."""
    try:
        return hub.devices[device_id]
    except KeyError:
        raise DeviceNotFound(f"device {device_id} was removed meanwhile") from None


def _title(device: DeviceRecord) -> str:
    return f"{safe(device.name)} (device {device.id})"


def _standing(device: DeviceRecord) -> str:
    """Where a device stands, as a sentence."""
    told = f"{_title(device)} is {device.state}"
    if device.interface is not None:
        told += f" through {safe(device.interface)}"
    if device.camera_address is not None:
        told += f", camera at {safe(device.camera_address)}"
    return told


@asynccontextmanager
async def _progress(hub: HubClient, device_id: int, screen: Screen) -> AsyncIterator[None]:
    """Show a device's state and the time that passes, where a person is watching."""
    if not screen.lively:
        yield
        return
    started = time.monotonic()

    async def keep_telling() -> None:
        while True:
            device = hub.devices.get(device_id)
            if device is not None:
                screen.progress(f"{_standing(device)} ... {time.monotonic() - started:.0f} s")
            await asyncio.sleep(_TICK_S)

    telling = asyncio.create_task(keep_telling())
    try:
        yield
    finally:
        telling.cancel()
        screen.progress("")
