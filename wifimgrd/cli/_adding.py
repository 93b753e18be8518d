"""`wifimgrctl add`: one camera, by its network, by the text of its QR code, or over Bluetooth."""

from __future__ import annotations

import argparse
import sys
from contextlib import suppress
from typing import Any, Final

from wifimgrd.cli._bluetooth import choose_camera
from wifimgrd.cli._outcome import current, show_warnings, show_way_out, summary, title
from wifimgrd.cli._password import UsageError, prompted, read_password, read_stdin
from wifimgrd.cli._registering_arguments import DEFAULT_CODENAME
from wifimgrd.cli._screen import Screen
from wifimgrd.cli._text import safe
from wifimgrd.cli._wifi_text import WifiText, wifi_text
from wifimgrd.client.hub import HubClient
from wifimgrd.client.json_records import device_json
from wifimgrd.domain.camera_state import CameraState, camera_state_of
from wifimgrd.domain.device import CONNECTION_TYPE, Ssid
from wifimgrd.domain.errors import InvalidRequest, WifimgrdError

_SETTINGS: Final = ("name", "priority", "auto_reconnect", "auto_wake", "pin")
"""Options beside network and model that are passed on as they are, by their names as arguments, which are
also those of the properties on D-Bus."""
_NOT_WITH: Final = ("password_file", "password_stdin", "open")


def read_network(arguments: argparse.Namespace) -> None:
    """Read what the command line leaves out: the text of a QR code, or the password.

    Raises UsageError, InvalidRequest.
    """
    if arguments.bluetooth is None and arguments.qr is None:
        arguments.password = read_password(arguments, Ssid(arguments.ssid).printable)
        return
    if any(getattr(arguments, name) for name in _NOT_WITH):
        what = "the camera tells its password" if arguments.qr is None else "the text has the password"
        raise UsageError(f"with {'--bluetooth' if arguments.qr is None else '--qr'} {what}")
    if arguments.qr is not None:
        network = _scanned(arguments.qr)
        arguments.ssid, arguments.password = network.ssid.encode(), network.password


def _scanned(argument: str) -> WifiText:
    """The network in the text of a QR code: that of the argument, or of stdin, or of a prompt."""
    text = argument
    if argument == "-":
        text = prompted("Text of the QR code", "") if sys.stdin.isatty() else read_stdin("the text")
    network = wifi_text(text)
    if network is None:
        raise InvalidRequest(
            "this is not the text of a Wi-Fi QR code, such as WIFI:T:WPA;S:NAME;P:PASSWORD;;"
        )
    if network.problem:
        raise InvalidRequest(network.problem)
    if argument != "-" and network.password:
        raise UsageError(
            "the text has a password, and every user of this host can read arguments: give it to"
            " --qr - on stdin"
        )
    return network


async def add(hub: HubClient, arguments: argparse.Namespace, screen: Screen) -> bool:
    """Register a device; its password was read before, unless Bluetooth tells it."""
    codename = arguments.codename
    wanted: dict[str, Any] = {"connection_type": CONNECTION_TYPE}
    if arguments.bluetooth is not None:
        address = arguments.bluetooth or await choose_camera(hub, screen)
        if address is None:
            return False
        screen.hint(f"Pairing with {safe(address)}. Confirm it on the camera if it asks.")
        wanted["bluetooth_address"] = address
    else:
        if codename is None:
            with suppress(WifimgrdError):
                codename = await hub.guess_codename(arguments.ssid)
            if codename is not None:
                screen.hint(f"Model guessed from its network: {safe(codename)}.")
        codename = codename or DEFAULT_CODENAME
        wanted |= {"ssid": arguments.ssid, "password": arguments.password}
    if codename is not None:
        wanted["codename"] = codename
    given = vars(arguments)
    wanted |= {name: given[name] for name in _SETTINGS if name in given} | first_connection(arguments)
    device = current(hub, await hub.create_device(wanted))
    screen.show(device_json(device), [f"{title(device)} is registered"])
    show_warnings(device, screen)
    if camera_state_of(device) is CameraState.WAITING:
        screen.hint(f"{summary(device)}.")
    elif device.state == "disconnected" and device.connection_error_code is not None:
        if not screen.json:
            screen.fail(
                device.connection_error_code,
                f"{device.name} is not connected: {device.connection_error_message}",
            )
            show_way_out(device, device.connection_error_code, screen)
        return False
    return True


def first_connection(arguments: argparse.Namespace) -> dict[str, object]:
    """How a new device is connected first, where the command line says it."""
    wanted: dict[str, object] = {}
    if arguments.no_connect:
        wanted["connect"] = False
    if arguments.when_free:
        wanted["when_free"] = True
    return wanted
