"""Every well-known name of the D-Bus API, in one place."""

from __future__ import annotations

import re
import string
from typing import Final

from wifimgrd.domain import commands
from wifimgrd.domain.commands import Right

BUS_NAME: Final = "org.wifimgrd1"
ROOT_PATH: Final = "/org/wifimgrd1"
DEVICES_PATH: Final = ROOT_PATH + "/devices"
INTERFACES_PATH: Final = ROOT_PATH + "/interfaces"
SIMULATOR_PATH: Final = ROOT_PATH + "/simulator"

MANAGER: Final = "org.wifimgrd1.Manager"
DEVICE: Final = "org.wifimgrd1.Device"
INTERFACE: Final = "org.wifimgrd1.Interface"
POWER: Final = f"{BUS_NAME}.{commands.POWER}"
BLUETOOTH: Final = f"{BUS_NAME}.{commands.BLUETOOTH}"
CAMERA: Final = f"{BUS_NAME}.{commands.CAMERA}"
"""Interfaces that the object of a device may lack."""
SIMULATOR: Final = "org.wifimgrd1.Simulator"

ERROR_PREFIX: Final = "org.wifimgrd1.Error."

MANAGE_DEVICES: Final = f"{BUS_NAME}.{Right.MANAGE_DEVICES}"
"""The polkit action to register, change and remove devices."""
CONNECT: Final = f"{BUS_NAME}.{Right.CONNECT}"
"""The polkit action to connect and disconnect them."""
CONTROL_CAMERAS: Final = f"{BUS_NAME}.{Right.CONTROL_CAMERAS}"
"""The polkit action to start and stop recording, and to set clocks."""
DIAGNOSE: Final = "org.wifimgrd1.diagnose"
"""The polkit action to get a report of a fault."""

NO_OBJECT: Final = "/"
"""The object path that stands for no object."""

CONTAINERS: Final = frozenset({DEVICES_PATH, INTERFACES_PATH})
"""Paths that can be introspected even while they have no children."""

_ID: Final = re.compile(r"[1-9][0-9]{0,18}", re.ASCII)
_PLAIN: Final = frozenset(string.ascii_letters + string.digits)


def device_path(device_id: int) -> str:
    """The object path of a device."""
    return f"{DEVICES_PATH}/{device_id}"


def device_id_of(path: str) -> int | None:
    """The id in a device's object path, or None where the path is not one."""
    prefix, _, last = path.rpartition("/")
    return int(last) if prefix == DEVICES_PATH and _ID.fullmatch(last) else None


def interface_path(name: str) -> str:
    """The object path of an interface, its name escaped as sd_bus_path_encode(3) does."""
    return f"{INTERFACES_PATH}/{escape(name)}"


def interface_name_of(path: str) -> str | None:
    """The interface name in an object path, or None where the path is not one."""
    prefix, _, last = path.rpartition("/")
    return unescape(last) if prefix == INTERFACES_PATH and last else None


def escape(label: str) -> str:
    """Make one element of an object path of any text.

    Bytes other than ASCII letters and digits, and a leading digit, become `_` and two hex
    digits; the empty text becomes `_` (sd_bus_path_encode(3)).
    """
    if not label:
        return "_"
    data = label.encode()
    return "".join(
        chr(byte) if chr(byte) in _PLAIN and not (index == 0 and chr(byte).isdigit()) else f"_{byte:02x}"
        for index, byte in enumerate(data)
    )


def unescape(element: str) -> str | None:
    """The text that was escaped; None where `element` is not the escape of any."""
    if element == "_":
        return ""
    data = bytearray()
    rest = element
    while rest:
        if rest[0] == "_":
            try:
                data.append(int(rest[1:3], 16))
            except ValueError:
                return None
            rest = rest[3:]
        else:
            data.append(ord(rest[0]))
            rest = rest[1:]
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    return text if escape(text) == element else None
