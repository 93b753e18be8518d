"""The commands of `wifimgrctl` that need the daemon; larger ones have modules of their own, see COMMANDS."""

from __future__ import annotations

import argparse
import asyncio
import os
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from wifimgrd.bus.connection import Variant
from wifimgrd.cli._adding import add
from wifimgrd.cli._arguments import CHECK, COMMAND_OF, RECORD, STOP
from wifimgrd.cli._bluetooth import bluetooth
from wifimgrd.cli._check import check
from wifimgrd.cli._finding import find_device
from wifimgrd.cli._groups import connect_group, groups, members
from wifimgrd.cli._history import history
from wifimgrd.cli._hub_arguments import FAULT_OPTIONS
from wifimgrd.cli._monitor import monitor
from wifimgrd.cli._outcome import (
    TIMEOUT,
    current,
    outcome_text,
    progress,
    show_warnings,
    show_way_out,
    summary,
    timeout_s,
    title,
)
from wifimgrd.cli._parser import Words
from wifimgrd.cli._recording import named, record
from wifimgrd.cli._screen import Screen
from wifimgrd.cli._takes import takes
from wifimgrd.cli._text import safe
from wifimgrd.cli._views import (
    device_view,
    devices_view,
    hub_view,
    interface_label,
    interfaces_view,
    networks_view,
)
from wifimgrd.client.commands import Outcome, carry_out
from wifimgrd.client.hub import HubClient
from wifimgrd.client.json_records import device_json, interfaces_json, search_json, service_json
from wifimgrd.domain.camera_state import CameraState, camera_state_of, is_current, is_recording
from wifimgrd.domain.commands import CONNECT, DeviceCommand
from wifimgrd.domain.errors import DeviceNotFound, InvalidRequest, NotSupported, WifimgrdError
from wifimgrd.domain.records import DeviceRecord

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


CHANGEABLE: Final = ("name", "ssid", "password", "codename", "priority", "auto_reconnect", "auto_wake", "pin")
"""The settings that `set` can change: names of arguments, and of properties on D-Bus."""

Command = Callable[[HubClient, argparse.Namespace, Screen], Awaitable[bool]]
"""Carries out a command. Returns False after printing why it failed, or raises a WifimgrdError."""


async def devices(hub: HubClient, arguments: argparse.Namespace, screen: Screen) -> bool:
    """List devices."""
    del arguments
    if not hub.devices and not screen.json:
        screen.hint("No cameras are registered. Register one with `wifimgrctl add --ssid SSID`.")
        return True
    everyone = hub.devices.values()
    screen.show(
        [device_json(one) for one in everyone], devices_view(everyone, screen, current=_is_current(hub))
    )
    return True


def _is_current(hub: HubClient) -> bool:
    return is_current(hub.service.backend_state)


async def interfaces(hub: HubClient, arguments: argparse.Namespace, screen: Screen) -> bool:
    """List interfaces."""
    del arguments
    absent = hub.service.absent_adapters
    if not hub.interfaces and not absent and not screen.json:
        screen.hint("No Wi-Fi adapters found. Plug in a USB Wi-Fi adapter.")
        return True
    lines = interfaces_view(hub.interfaces.values(), hub.devices, screen, absent, current=_is_current(hub))
    screen.show(interfaces_json(hub.interfaces, hub.service), lines)
    if not screen.json:
        for reason in hub.service.unmatched_reservations:
            screen.hint(safe(reason))
    return True


async def networks(hub: HubClient, arguments: argparse.Namespace, screen: Screen) -> bool:
    """Scan, and list the networks found."""
    found = await hub.search_networks(arguments.interface)
    if not screen.json:
        if not found.networks:
            screen.hint("No network was found.")
        if not found.scanned and (reasons := [f"{name} ({why})" for name, why in found.skipped.items()]):
            screen.hint(f"No adapter is free to scan: {safe(', '.join(reasons))}")
        if not found.networks:
            return True
    screen.show(search_json(found), networks_view(found.networks, hub.devices, screen))
    return True


async def status(hub: HubClient, arguments: argparse.Namespace, screen: Screen) -> bool:
    """Show the hub, or one device."""
    if arguments.device is not None:
        device = find_device(hub.devices, arguments.device)
        screen.show(device_json(device), device_view(device, screen, current=_is_current(hub)))
        return True
    service = hub.service
    value = {
        "version": service.version,
        **service_json(service),
        "total_devices": len(hub.devices),
        "connected_devices": sum(device.state == "connected" for device in hub.devices.values()),
        "recording_devices": sum(map(is_recording, hub.devices.values())),
        "total_interfaces": service.total_interfaces,
        "assigned_interfaces": service.assigned_interfaces,
    }
    screen.show(value, hub_view(service, hub.devices.values(), hub.interfaces.values(), screen))
    return True


async def many(hub: HubClient, arguments: argparse.Namespace, screen: Screen) -> bool:
    """Register the cameras of files, or write all to one."""
    from wifimgrd.cli._import import export_cameras, import_cameras  # noqa: PLC0415 - it takes time

    return await (import_cameras if arguments.command == "import" else export_cameras)(hub, arguments, screen)


async def watched(hub: HubClient, arguments: argparse.Namespace, screen: Screen) -> bool:
    """Show the cameras on one screen."""
    from wifimgrd.cli._watch import watch  # noqa: PLC0415 - it takes time

    return await watch(hub, arguments, screen)


async def change(hub: HubClient, arguments: argparse.Namespace, screen: Screen) -> bool:
    """Change the settings of a device; a new password was read before."""
    device = find_device(hub.devices, arguments.device)
    given = vars(arguments)
    wanted: dict[str, Any] = {name: given[name] for name in CHANGEABLE if name in given}
    await hub.update_device(device.id, wanted)
    device = current(hub, device.id)
    screen.show(device_json(device), [f"{title(device)} was changed"])
    show_warnings(device, screen)
    return True


async def remove(hub: HubClient, arguments: argparse.Namespace, screen: Screen) -> bool:
    """Remove a device; somebody at a terminal is asked first. False if that is not wanted."""
    device = find_device(hub.devices, arguments.device)
    if screen.can_ask and not arguments.yes and not await _is_confirmed(device, arguments, screen):
        screen.hint(f"{title(device)} stays registered.")
        return False
    async with progress(lambda: hub.devices.get(device.id), screen):
        await hub.remove_device(device.id, history=arguments.history)
    screen.show({"id": device.id}, [f"{title(device)} was removed"])
    return True


async def _is_confirmed(device: DeviceRecord, arguments: argparse.Namespace, screen: Screen) -> bool:
    """Whether whoever is at the terminal wants a device to be removed."""
    history = "its password and its history" if arguments.history else "its password"
    also = (
        f"This disconnects it and deletes {history}." if device.is_connected else f"This deletes {history}."
    )
    answer = await screen.ask(f"Remove {title(device)}? {also} [y/N]")
    return answer.casefold() in ("y", "yes")


async def connect(hub: HubClient, arguments: argparse.Namespace, screen: Screen) -> bool:
    """Connect a device, several, or a group."""
    if arguments.group is not None:
        return await connect_group(hub, arguments, screen)
    if arguments.all or len(arguments.devices) > 1:
        return await _connect_several(hub, arguments, screen)
    device = find_device(hub.devices, arguments.devices[0])
    return await _command(hub, CONNECT, device, arguments, screen, "; the attempt continues")


async def _command(
    hub: HubClient,
    command: DeviceCommand,
    device: DeviceRecord,
    arguments: argparse.Namespace,
    screen: Screen,
    goes_on: str = "",
) -> bool:
    """Carry out a command to a device, and show what has come of it."""
    try:
        async with progress(lambda: hub.devices.get(device.id), screen, command):
            outcome = await _carry_out(hub, command, device, arguments)
    except WifimgrdError as error:
        screen.fail_with(error)
        show_way_out(device, error.code, screen)
        return False
    device = current(hub, device.id)
    if _is_late(outcome, arguments):
        what = f"is still {device.state}" if command.reaches is not None else f"{command.name} is not done"
        screen.fail(TIMEOUT, f"{title(device)} {what} after {timeout_s(device, arguments):g} s{goes_on}")
        return False
    screen.show(device_json(device), [outcome_text(command, device, is_done=outcome.is_done)])
    return True


async def _carry_out(
    hub: HubClient, command: DeviceCommand, device: DeviceRecord, arguments: argparse.Namespace
) -> Outcome:
    given = vars(arguments)
    switches: dict[str, bool | str] = {name: True for name in command.options if given.get(name)}
    switches |= {name: given[name] for name in command.texts if name in given}
    wait_s = 0 if given.get("no_wait") else timeout_s(device, arguments)
    return await carry_out(hub, command, device.id, switches, wait_s=wait_s, until_waiting=True)


def _is_late(outcome: Outcome, arguments: argparse.Namespace) -> bool:
    """Whether it was waited for, and goes on."""
    return not (outcome.is_done or outcome.is_waiting or getattr(arguments, "no_wait", False))


async def _connect_several(hub: HubClient, arguments: argparse.Namespace, screen: Screen) -> bool:
    """Connect devices at the same time, or all that are disconnected; False if one is not connected then."""

    async def one(device: DeviceRecord) -> str | None:
        try:
            outcome = await _carry_out(hub, CONNECT, device, arguments)
        except WifimgrdError as error:
            return f"{error.message} ({error.code})"
        late = f"not done after {timeout_s(device, arguments):g} s; the attempt continues"
        return late if _is_late(outcome, arguments) else None

    wanted = [device for device in hub.devices.values() if device.state != "connected"]
    left_out = [safe(device.name) for device in hub.devices.values() if device.is_connected]
    if not arguments.all:
        left_out = []
        wanted = [hub.devices[one] for one in named(hub.devices, arguments.devices)]
    wanted.sort(key=lambda device: (-device.priority, device.id))
    ends = await asyncio.gather(*map(one, wanted))
    now = [hub.devices.get(device.id, device) for device in wanted]
    lines = [summary(device) for device, why in zip(now, ends, strict=True) if why is None]
    failed: dict[str, list[DeviceRecord]] = {}
    for device, why in zip(now, ends, strict=True):
        if why is not None:
            failed.setdefault(f"{_outcome(device)}: {why}", []).append(device)
    lines += [_shared_outcome(outcome, some) for outcome, some in failed.items()]
    screen.show([device_json(device) for device in now], map(safe, lines))
    if not wanted:
        screen.hint("Every camera is connected." if hub.devices else "No camera is registered.")
    elif left_out:
        screen.hint(f"Connected before: {', '.join(left_out)}.")
    return not any(ends)


def _shared_outcome(outcome: str, devices: Sequence[DeviceRecord]) -> str:
    """The outcome of one device or of several, said once."""
    names = ", ".join(map(title, devices))
    return f"{names} is {outcome}" if len(devices) == 1 else f"{len(devices)} cameras are {outcome}: {names}"


def _outcome(device: DeviceRecord) -> str:
    is_trying = camera_state_of(device) in (
        CameraState.CONNECTING,
        CameraState.RECOVERING,
        CameraState.WAKING,
    )
    return "connecting" if is_trying else "not connected"


async def device_command(hub: HubClient, arguments: argparse.Namespace, screen: Screen) -> bool:
    """Carry out any other command to a device."""
    device = find_device(hub.devices, arguments.device)
    return await _command(hub, COMMAND_OF[arguments.command], device, arguments, screen)


async def completions(hub: HubClient, arguments: argparse.Namespace, screen: Screen) -> bool:
    """For shells: words and their meaning, one a line; words that would break a line are left out."""
    if arguments.what == Words.INTERFACES:
        words = {one.name: interface_label(one, hub.devices) for one in hub.interfaces.values()}
    elif arguments.what == Words.GROUPS:
        words = {name: members(ids, hub.devices) for name, ids in hub.service.groups.items()}
    else:
        words = _words_of(hub.devices.values())
    for word, meaning in words.items():
        if word.isprintable():
            screen.show_one(word, f"{word}\t{safe(meaning)}")
    return True


def _words_of(devices: Iterable[DeviceRecord]) -> dict[str, str]:
    """The names of devices, and the ids of those that no name of one line distinguishes."""
    devices = list(devices)
    counts = Counter(one.name for one in devices)
    return {
        one.name if counts[one.name] == 1 and one.name.isprintable() else str(one.id): (
            f"camera {one.id}" if counts[one.name] == 1 and one.name.isprintable() else one.name
        )
        for one in devices
    }


COMMANDS: Final[Mapping[str, Command]] = MappingProxyType(
    {
        **dict.fromkeys(COMMAND_OF, device_command),
        RECORD: record,
        STOP: record,
        "devices": devices,
        "interfaces": interfaces,
        "groups": groups,
        "networks": networks,
        "status": status,
        "add": add,
        "import": many,
        "export": many,
        "set": change,
        "history": history,
        "takes": takes,
        CHECK: check,
        "remove": remove,
        "connect": connect,
        "bluetooth": bluetooth,
        "monitor": monitor,
        "simulate": simulate,
        "watch": watched,
        "completions": completions,
    }
)
