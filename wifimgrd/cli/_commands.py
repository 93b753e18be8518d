"""The commands of `wifimgrctl` that need the daemon; larger ones have modules of their own, see COMMANDS."""

from __future__ import annotations

import argparse
import asyncio
import shlex
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import Any, Final

from wifimgrd.cli._arguments import COMMAND_OF, DEFAULT_CODENAME, RECORD, STOP
from wifimgrd.cli._bluetooth import bluetooth, choose_camera
from wifimgrd.cli._finding import find_device
from wifimgrd.cli._groups import connect_group, groups, members
from wifimgrd.cli._history import history
from wifimgrd.cli._models import warn_of_unknown
from wifimgrd.cli._monitor import monitor
from wifimgrd.cli._outcome import TIMEOUT, outcome_text, progress, summary, timeout_s, title
from wifimgrd.cli._recording import record
from wifimgrd.cli._screen import Screen
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
from wifimgrd.domain.device import CONNECTION_TYPE
from wifimgrd.domain.errors import DeviceNotFound, ErrorCode, WifimgrdError
from wifimgrd.domain.records import DeviceRecord

CHANGEABLE: Final = ("name", "ssid", "password", "codename", "priority", "auto_reconnect", "auto_wake", "pin")
"""The settings that `set` can change: names of arguments, and of properties on D-Bus."""

Command = Callable[[HubClient, argparse.Namespace, Screen], Awaitable[bool]]
"""Carries out a command. Returns False after printing why it failed, or raises a WifimgrdError."""


async def devices(hub: HubClient, arguments: argparse.Namespace, screen: Screen) -> bool:
    """List devices."""
    del arguments
    if not hub.devices and not screen.json:
        screen.hint("No devices are registered. Register one with `wifimgrctl add --ssid SSID`.")
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
        screen.hint("No Wi-Fi interfaces found. Plug in a USB Wi-Fi adapter.")
        return True
    lines = interfaces_view(hub.interfaces.values(), hub.devices, screen, absent, current=_is_current(hub))
    screen.show(interfaces_json(hub.interfaces, hub.service), lines)
    return True


async def networks(hub: HubClient, arguments: argparse.Namespace, screen: Screen) -> bool:
    """Scan, and list the networks found."""
    found = await hub.search_networks(arguments.interface)
    if not screen.json:
        if not found.networks:
            screen.hint("No network was found.")
        if not found.scanned and (reasons := [f"{name} ({why})" for name, why in found.skipped.items()]):
            screen.hint(f"No interface is free to scan: {safe(', '.join(reasons))}")
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


async def add(hub: HubClient, arguments: argparse.Namespace, screen: Screen) -> bool:
    """Register a device; its password was read before, unless Bluetooth tells it."""
    codename = arguments.codename
    if codename is not None:
        warn_of_unknown(codename, screen)
    if arguments.bluetooth is not None:
        address = arguments.bluetooth or await choose_camera(hub, screen)
        if address is None:
            return False
        screen.hint(f"Pairing with {safe(address)}. Confirm it on the camera if it asks.")
        wanted = {"bluetooth_address": address, "connection_type": CONNECTION_TYPE}
        if codename is not None:
            wanted["codename"] = codename
    else:
        if codename is None:
            with suppress(WifimgrdError):
                codename = await hub.guess_codename(arguments.ssid)
            if codename is not None:
                screen.hint(f"Model guessed from its network: {safe(codename)}.")
        wanted = {
            "codename": codename or DEFAULT_CODENAME,
            "connection_type": CONNECTION_TYPE,
            "ssid": arguments.ssid,
            "password": arguments.password,
        }
    if arguments.name is not None:
        wanted["name"] = arguments.name
    device = _current(hub, await hub.create_device(wanted))
    screen.show(device_json(device), [f"{title(device)} is registered"])
    _show_warnings(device, screen)
    if device.state == "disconnected" and device.connection_error_code is not None:
        if not screen.json:
            screen.fail(
                device.connection_error_code,
                f"{device.name} is not connected: {device.connection_error_message}",
            )
            _show_way_out(device, device.connection_error_code, screen)
        return False
    return True


async def change(hub: HubClient, arguments: argparse.Namespace, screen: Screen) -> bool:
    """Change the settings of a device; a new password was read before."""
    device = find_device(hub.devices, arguments.device)
    given = vars(arguments)
    wanted: dict[str, Any] = {name: given[name] for name in CHANGEABLE if name in given}
    if "codename" in wanted:
        warn_of_unknown(wanted["codename"], screen)
    await hub.update_device(device.id, wanted)
    device = _current(hub, device.id)
    screen.show(device_json(device), [f"{title(device)} is changed"])
    _show_warnings(device, screen)
    return True


def _show_warnings(device: DeviceRecord, screen: Screen) -> None:
    for warning in device.warnings:
        screen.hint(safe(warning))


async def remove(hub: HubClient, arguments: argparse.Namespace, screen: Screen) -> bool:
    """Remove a device."""
    device = find_device(hub.devices, arguments.device)
    async with progress(lambda: hub.devices.get(device.id), screen):
        await hub.remove_device(device.id, history=arguments.history)
    screen.show({"id": device.id}, [f"{title(device)} is removed"])
    return True


async def connect(hub: HubClient, arguments: argparse.Namespace, screen: Screen) -> bool:
    """Connect a device, or all."""
    if arguments.all:
        return await _connect_all(hub, arguments, screen)
    if arguments.group is not None:
        return await connect_group(hub, arguments, screen)
    device = find_device(hub.devices, arguments.device)
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
        async with progress(lambda: hub.devices.get(device.id), screen):
            outcome = await _carry_out(hub, command, device, arguments)
    except WifimgrdError as error:
        screen.fail_with(error)
        _show_way_out(device, error.code, screen)
        return False
    device = _current(hub, device.id)
    if _is_late(outcome, arguments):
        what = f"is still {device.state}" if command.reaches is not None else f"{command.name} is not done"
        screen.fail(TIMEOUT, f"{title(device)} {what} after {timeout_s(device, arguments):g} s{goes_on}")
        return False
    screen.show(device_json(device), [outcome_text(command, device, is_done=outcome.is_done)])
    return True


def _show_way_out(device: DeviceRecord, code: str | None, screen: Screen) -> None:
    name = shlex.quote(device.name) if device.name.isprintable() else device.id
    match code:
        case ErrorCode.AUTHENTICATION_FAILED:
            screen.hint(f"Change its password: wifimgrctl set {name} --ask-password")
        case ErrorCode.NOT_PAIRED:
            screen.hint(f"Switch it to pairing mode, and pair it: wifimgrctl pair {name}")
        case ErrorCode.NOT_CONNECTED:
            screen.hint(f"Connect it first: wifimgrctl connect {name}")
        case ErrorCode.PAIRING_FAILED:
            screen.hint("Cameras in pairing mode: wifimgrctl bluetooth search")
        case ErrorCode.WAKE_FAILED | ErrorCode.BLUETOOTH_UNAVAILABLE:
            screen.hint(f"See what is missing: wifimgrctl bluetooth check {name}")


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


async def _connect_all(hub: HubClient, arguments: argparse.Namespace, screen: Screen) -> bool:
    """Connect all disconnected devices at the same time; False if one is not connected then."""

    async def one(device: DeviceRecord) -> str | None:
        try:
            outcome = await _carry_out(hub, CONNECT, device, arguments)
        except WifimgrdError as error:
            return f"{error.message} ({error.code})"
        late = f"not done after {timeout_s(device, arguments):g} s; the attempt continues"
        return late if _is_late(outcome, arguments) else None

    wanted = [device for device in hub.devices.values() if device.state != "connected"]
    wanted.sort(key=lambda device: (-device.priority, device.id))
    ends = await asyncio.gather(*map(one, wanted))
    now = [hub.devices.get(device.id, device) for device in wanted]
    lines = [
        summary(device) if why is None else f"{title(device)} is {_outcome(device)}: {why}"
        for device, why in zip(now, ends, strict=True)
    ]
    screen.show([device_json(device) for device in now], map(safe, lines))
    if not wanted:
        screen.hint("Every device is connected." if hub.devices else "No device is registered.")
    return not any(ends)


def _outcome(device: DeviceRecord) -> str:
    is_trying = camera_state_of(device) in (CameraState.CONNECTING, CameraState.WAKING)
    return "connecting" if is_trying else "not connected"


async def device_command(hub: HubClient, arguments: argparse.Namespace, screen: Screen) -> bool:
    """Carry out any other command to a device."""
    device = find_device(hub.devices, arguments.device)
    return await _command(hub, COMMAND_OF[arguments.command], device, arguments, screen)


async def completions(hub: HubClient, arguments: argparse.Namespace, screen: Screen) -> bool:
    """For shells: words and their meaning, one a line; words that would break a line are left out."""
    if arguments.what == "interfaces":
        words = {one.name: interface_label(one, hub.devices) for one in hub.interfaces.values()}
    elif arguments.what == "groups":
        words = {name: members(ids, hub.devices) for name, ids in hub.service.groups.items()}
    else:
        words = {str(one.id): one.name for one in hub.devices.values()}
        words |= {one.name: f"device {one.id}" for one in hub.devices.values()}
    for word, meaning in words.items():
        if word.isprintable():
            screen.show_one(word, f"{word}\t{safe(meaning)}")
    return True


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
        "set": change,
        "history": history,
        "remove": remove,
        "connect": connect,
        "bluetooth": bluetooth,
        "monitor": monitor,
        "completions": completions,
    }
)


def _current(hub: HubClient, device_id: int) -> DeviceRecord:
    """A device after a command on it; another client may have removed it meanwhile."""
    try:
        return hub.devices[device_id]
    except KeyError:
        raise DeviceNotFound(f"device {device_id} was removed meanwhile") from None
