"""`wifimgrctl diagnose`: the data for a report of a fault, without data that strangers must not see."""

from __future__ import annotations

import argparse
import asyncio
import os
import socket
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Final

from wifimgrd.cli._screen import Screen
from wifimgrd.client.hub import HubClient
from wifimgrd.config import configuration as config
from wifimgrd.report.anonymize import Anonymizer
from wifimgrd.report.sections import as_text, machine_key, report, state_of, versions, with_disks
from wifimgrd.report.settings import hide_settings

_COMMAND_S: Final = 20.0
_UNITS: Final = ("wifimgrd", "wifimgrd-http", "wifimgrd-mqtt", "wifimgrd-mavlink", "wifimgrd-camera")
_OTHERS: Final = ("NetworkManager", "wpa_supplicant")
_JOURNAL: Final = ("journalctl", "--no-pager", "--output=short-iso", "--no-hostname")
_USB: Final = "USB devices"
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
    _USB: ("lsusb",),
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
    """Collect all data, or what can be collected while the daemon is away."""
    hub = HubClient(arguments.bus, interactive=True)
    await hub.start()
    try:
        devices, reason = tuple(hub.devices.values()), hub.reason
        state = state_of(hub.service, hub.interfaces, devices) if hub.available else None
    finally:
        await hub.stop()
    outputs = await asyncio.gather(*map(output, _COMMANDS.values()))
    texts = {"Versions": versions(), "Hub": reason, **dict(zip(_COMMANDS, outputs, strict=True))}
    texts[_USB] = with_disks(texts[_USB])
    aliases = Anonymizer(_machine_key())
    aliases.hide("HOST", [socket.gethostname()])
    with suppress(config.ConfigError, OSError):  # what was logged of it is hidden all the same
        hide_settings(aliases, config.load(), config.Config())
    sections = report(aliases, devices, state, texts)
    screen.show(sections, as_text(sections), as_is=True)
    screen.hint(
        "Names of networks, cameras and this host, MAC addresses, serial numbers and settings are replaced by"
        " aliases; please read it before you send it."
    )
    return True


async def output(command: Sequence[str]) -> str:
    """The output of a program, or why there is none."""
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
            output, _ = await process.communicate()
    except TimeoutError:
        process.kill()
        await process.wait()
        return f"{command[0]}: no answer within {_COMMAND_S:g} s"
    return output.decode("utf-8", "replace")


def _machine_key() -> bytes:
    try:
        return machine_key()
    except OSError as error:
        sys.stderr.write(f"wifimgrctl: no machine id ({error.strerror}): aliases hold only for this report\n")
        return os.urandom(16)
