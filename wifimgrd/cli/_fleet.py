"""The commands of `wifimgrctl --broker`: all hubs at one MQTT broker. Needs paho-mqtt, and no daemon."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, Final

from wifimgrd.cli._arguments import COMMAND_OF, DEFAULT_PREFIX, RECORD, STOP
from wifimgrd.cli._finding import find_device, meant
from wifimgrd.cli._fleet_monitor import monitor
from wifimgrd.cli._fleet_recording import record_at_broker
from wifimgrd.cli._fleet_views import devices_of, fleet_devices_view, hubs_view
from wifimgrd.cli._outcome import TIMEOUT, is_effect_shown, outcome_text, progress, timeout_s, title
from wifimgrd.cli._password import UsageError, read_broker_password
from wifimgrd.cli._screen import Screen
from wifimgrd.cli._text import safe
from wifimgrd.client.commands import DONE, STARTED
from wifimgrd.client.json_records import device_json
from wifimgrd.domain.camera_state import CameraState, camera_state_of
from wifimgrd.domain.commands import WAIT, WHEN_FREE, WITH_WAKE, DeviceCommand
from wifimgrd.domain.errors import DeviceNotFound
from wifimgrd.domain.records import DeviceRecord
from wifimgrd.fleet.client import FleetClient, connected
from wifimgrd.fleet.fleet import FleetHub
from wifimgrd.fleet.records import CommandAnswer
from wifimgrd.mqtt.access import Access, Tls
from wifimgrd.mqtt.connection import BrokerError, any_of
from wifimgrd.mqtt.hub_record import hub_json
from wifimgrd.wire.kinds import time_text

_UNAVAILABLE: Final = "broker-unavailable"
_NO_HUB: Final = "No hub publishes to this broker under this prefix, or this user may not read its topics."
_ANSWER_S: Final = 10.0
"""How long the answer to a command may take that waits for nothing."""
_UNDER_WAY: Final = frozenset({"connecting", "disconnecting", STARTED})
"""What a hub answers to a command that has not ended within its own limit, of two minutes."""
_RECORD_S: Final = 2.0
"""How long after the answer the record that shows it may arrive."""


async def at_broker(access: Access, arguments: argparse.Namespace, screen: Screen) -> bool:
    """Carry out a command; False after printing why it failed. Raises UsageError, WifimgrdError."""
    try:
        return await _carried_out(access, arguments, screen)
    except BrokerError as error:
        screen.fail(_UNAVAILABLE, str(error))
        return False


async def _carried_out(access: Access, arguments: argparse.Namespace, screen: Screen) -> bool:
    prefix = getattr(arguments, "prefix", DEFAULT_PREFIX)
    match arguments.command:
        case "monitor":
            return await monitor(FleetClient(access, prefix), screen)
        case name if name in (RECORD, STOP):
            return await record_at_broker(access, prefix, arguments, screen)
        case name if name in COMMAND_OF:
            return await _command(access, prefix, arguments, screen)
    async with connected(access, prefix) as client:
        (_hubs if arguments.command == "hubs" else _devices)(client, screen)
        _warn(client, screen)
    return True


def broker_access(arguments: argparse.Namespace) -> Access:
    """How to connect, with the password, which is read now. Raises UsageError, and InvalidRequest for a
    password file that cannot be used."""
    given = vars(arguments)
    broker = arguments.broker
    user, password_file = given.get("user", ""), given.get("broker_password_file")
    ca_file, certificate, key = (given.get(name) for name in ("ca_file", "certificate", "key"))
    if (certificate is None) != (key is None):
        raise UsageError("--certificate and --key belong together")
    if password_file is not None and not user:
        raise UsageError("--password-file: say whose password it is, by --user")
    if not broker.tls:
        if ca_file is not None or certificate is not None:
            raise UsageError("mqtt:// does not use TLS, but TLS files are given; use mqtts://")
        if not broker.is_loopback and not given.get("insecure_plaintext"):
            raise UsageError("mqtt:// to another host needs --insecure-plaintext; use mqtts://")
    password = read_broker_password(password_file, user, str(broker)) if user else None
    return Access(broker, user, password, Tls(ca_file, certificate, key) if broker.tls else None)


def _hubs(client: FleetClient, screen: Screen) -> None:
    hubs = _sorted(client)
    if not hubs and not screen.json:
        screen.hint(_NO_HUB)
        return
    screen.show([_hub_json(hub) for hub in hubs], hubs_view(hubs, screen))


def _hub_json(hub: FleetHub) -> dict[str, Any]:
    record, devices = hub.record, hub.devices.values()
    return {
        **hub_json(
            hub.id,
            record.service,
            record.epoch,
            commands=record.commands,
            devices=devices,
            page=record.page,
        ),
        "online": hub.online,
        "last_message": None if hub.last_message_us is None else time_text(hub.last_message_us),
        "total_devices": len(devices),
        "connected_devices": sum(device.is_connected for device in devices),
    }


def _devices(client: FleetClient, screen: Screen) -> None:
    hubs = _sorted(client)
    if not any(hub.devices for hub in hubs) and not screen.json:
        screen.hint("No devices are registered on the hubs of this broker." if hubs else _NO_HUB)
        return
    values = [_device_json(hub, device) for hub in hubs for device in devices_of(hub)]
    screen.show(values, fleet_devices_view(hubs, screen))


def _device_json(hub: FleetHub, device: DeviceRecord) -> dict[str, Any]:
    return {"hub": hub.id, "hub_online": hub.online, **device_json(device)}


def _sorted(client: FleetClient) -> list[FleetHub]:
    return sorted(client.fleet.hubs.values(), key=lambda hub: hub.id)


def _warn(client: FleetClient, screen: Screen) -> None:
    """Print what is not shown."""
    fleet = client.fleet
    if fleet.unreadable:
        topic, reason = next(iter(fleet.unreadable.items()))
        screen.hint(
            safe(f"{len(fleet.unreadable)} messages are not valid records, such as {topic}: {reason}")
        )
    if fleet.left_out:
        screen.hint(f"{fleet.left_out} messages are left out because there are too many")
    if client.refused:
        screen.hint(f"This user may not read the records of {len(client.refused)} hubs.")


# -- commands to a device


async def _command(access: Access, prefix: str, arguments: argparse.Namespace, screen: Screen) -> bool:
    """Carry out a command to HUB/DEVICE."""
    if getattr(arguments, "all", False):
        raise UsageError("--all is not possible with --broker")
    several: list[str] = getattr(arguments, "devices", [])
    if len(several) > 1:
        raise UsageError("with --broker it takes one device")
    hub_id, slash, wanted = (several[0] if several else arguments.device).partition("/")
    if not slash or not hub_id or not wanted:
        raise UsageError("with --broker a device is named HUB/DEVICE")
    async with connected(access, prefix, only=hub_id) as client:
        hub = client.fleet.hubs.get(hub_id)
        if hub is None:
            hint = meant(hub_id, client.fleet.hubs)
            screen.fail("hub-not-found", f'there is no hub "{hub_id}" at this broker{hint}')
            return False
        if not hub.online:
            screen.fail("hub-offline", f"{hub_id} is offline and cannot receive commands")
            return False
        device = find_device(hub.devices, wanted, f" at {hub_id}")
        return await _carry_out(client, hub, device.id, arguments, screen)


async def _carry_out(
    client: FleetClient, hub: FleetHub, device_id: int, arguments: argparse.Namespace, screen: Screen
) -> bool:
    """Send the command, and print what came of it."""

    def device() -> DeviceRecord | None:
        return hub.devices.get(device_id)

    def is_waiting() -> bool:
        return (found := device()) is not None and camera_state_of(found) is CameraState.WAITING

    command, given = COMMAND_OF[arguments.command], vars(arguments)
    options: dict[str, bool | str] = {name: given[name] for name in command.texts if name in given}
    waits = not given.get("no_wait", False)
    if WAIT in command.options:
        options[WAIT] = waits
    if given.get(WITH_WAKE):
        options[WITH_WAKE] = True
    if getattr(arguments, WHEN_FREE, False):
        # A hub answers when the attempt has ended. A device that waits already does not change when it does.
        waits = waits and not is_waiting()
        options |= {WHEN_FREE: True, WAIT: waits}
    until_waiting = waits and bool(options.get(WHEN_FREE))
    limit_s = timeout_s(hub.devices[device_id], arguments) if waits else _ANSWER_S
    sent = client.command(hub.id, device_id, command, options, timeout_s=limit_s)
    try:
        async with progress(device, screen):
            otherwise = client.until(lambda: not hub.online or (until_waiting and is_waiting()))
            answer = await _first(sent, otherwise)
            if answer is not None and answer.code is None:
                await _until_shown(client, device, command, answer.message)
    except TimeoutError:
        answer = None
    if answer is not None and answer.code is not None:
        screen.fail(answer.code, answer.message)
        return False
    now = device()
    if now is None:
        raise DeviceNotFound(f"device {device_id} was removed meanwhile")
    if answer is None and not hub.online:
        screen.fail("hub-offline", f"{hub.id} went offline, and has not answered")
        return False
    is_done = (
        until_waiting and is_waiting() if answer is None else not (waits and answer.message in _UNDER_WAY)
    )
    if not is_done:
        what = f"is still {now.state}" if command.reaches is not None else f"{command.name} is not done"
        screen.fail(TIMEOUT, f"{hub.id}/{title(now)} {what} after {limit_s:g} s")
        return False
    is_started = answer is not None and answer.message == STARTED
    screen.show(_device_json(hub, now), [f"{hub.id}/{outcome_text(command, now, is_done=not is_started)}"])
    return True


async def _first(
    sent: Coroutine[Any, Any, CommandAnswer], otherwise: Coroutine[Any, Any, None]
) -> CommandAnswer | None:
    """The answer to a command, or None once something else has happened."""
    tasks = [asyncio.create_task(sent), asyncio.create_task(otherwise)]
    try:
        await any_of(*tasks)
        return tasks[0].result() if tasks[0].done() else None
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _until_shown(
    client: FleetClient, device: Callable[[], DeviceRecord | None], command: DeviceCommand, state: str
) -> None:
    """Wait until the record of a device shows what its hub has answered before: a state, or `done`."""

    def is_shown() -> bool:
        found = device()
        if found is None or state == STARTED:
            return True
        if state == DONE:
            return is_effect_shown(command, found)
        return state in (found.state, camera_state_of(found))

    with suppress(TimeoutError):
        async with asyncio.timeout(_RECORD_S):
            await client.until(is_shown)
