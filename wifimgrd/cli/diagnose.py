"""`wifimgrctl diagnose`: what a report of a fault needs, fit to be shown to strangers."""

from __future__ import annotations

import argparse
import asyncio
import json
import platform
import socket
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from wifimgrd import __version__
from wifimgrd.cli.aliases import Aliases
from wifimgrd.cli.screen import Screen
from wifimgrd.dbus.client.hub import HubClient
from wifimgrd.dbus.client.json_records import device_json, interfaces_json, service_json
from wifimgrd.domain.device import Ssid

_COMMAND_S: Final = 20.0
_UNITS: Final = ("wifimgrd", "wifimgrd-http")
_OTHERS: Final = ("NetworkManager", "wpa_supplicant")
_JOURNAL: Final = ("journalctl", "--no-pager", "--output=short-iso", "--no-hostname")
_COMMANDS: Final[Mapping[str, Sequence[str]]] = {
    "Versions of others": (
        "dpkg-query",
        "-W",
        "network-manager",
        "wpasupplicant",
        "systemd",
        "python3*-next",
    ),
    "Units": ("systemctl", "--no-pager", "--lines=0", "status", *_UNITS, *_OTHERS),
    "USB devices": ("lsusb",),
    "NetworkManager's devices": ("nmcli", "--fields", "DEVICE,TYPE,STATE,REASON", "device"),
    "Regulatory domain": ("iw", "reg", "get"),
    "Journal of wifimgrd": (*_JOURNAL, "--lines=400", *(f"--unit={unit}" for unit in _UNITS)),
    "Journal of NetworkManager and wpa_supplicant": (
        *_JOURNAL,
        "--lines=300",
        *(f"--unit={unit}" for unit in _OTHERS),
    ),
}


async def diagnose(arguments: argparse.Namespace, screen: Screen) -> bool:
    """Gather everything, also what is left where the daemon is away."""
    aliases = Aliases(_machine_key())
    aliases.hide("HOST", [socket.gethostname()])
    hub = HubClient(arguments.bus)
    await hub.start()
    try:
        sections = {"Versions": _versions(), "Hub": await _hub(hub, aliases)}
    finally:
        await hub.stop()
    outputs = await asyncio.gather(*map(_output, _COMMANDS.values()))
    sections |= dict(zip(_COMMANDS, outputs, strict=True))
    told = {title: aliases.applied(text).rstrip() for title, text in sections.items()}
    screen.show(told, [f"== {title} ==\n{text}\n" for title, text in told.items()])
    screen.hint(
        "Names of networks, devices and this host and MAC addresses are replaced by aliases; "
        "please read it before you send it."
    )
    return True


async def _hub(hub: HubClient, aliases: Aliases) -> str:
    """What the daemon says: adapters, and why each is taken, free or unavailable."""
    if not hub.available:
        return hub.reason
    for device in hub.devices.values():
        aliases.hide("SSID", [Ssid(device.ssid).printable, device.ssid.decode("utf-8", "replace")])
    for device in hub.devices.values():
        aliases.hide("NAME", [device.name])
    told = {
        "service": service_json(hub.service),
        "interfaces": interfaces_json(hub.interfaces)["interfaces"],
        "devices": [
            {key: value for key, value in device_json(device).items() if key != "device_type_icon_url"}
            for device in hub.devices.values()
        ],
    }
    return json.dumps(told, indent=1, ensure_ascii=False)


def _versions() -> str:
    system = platform.freedesktop_os_release().get("PRETTY_NAME", "unknown")
    return (
        f"wifimgrd {__version__}\nPython {platform.python_version()}\n"
        f"{system}\nLinux {platform.release()} {platform.machine()}"
    )


async def _output(command: Sequence[str]) -> str:
    """What a program says, or why it says nothing."""
    try:
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
    except OSError as error:
        return f"{command[0]}: {error.strerror}"
    try:
        async with asyncio.timeout(_COMMAND_S):
            told, _ = await process.communicate()
    except TimeoutError:
        process.kill()
        await process.wait()
        return f"{command[0]}: no answer within {_COMMAND_S:g} s"
    return told.decode("utf-8", "replace")


def _machine_key() -> bytes:
    """See machine-id(5)."""
    try:
        return Path("/etc/machine-id").read_bytes().strip()
    except OSError as error:
        sys.stderr.write(
            f"wifimgrctl: no machine id ({error.strerror}): aliases hold for this report alone\n"
        )
        return socket.gethostname().encode()
