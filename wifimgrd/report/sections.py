"""The sections of a report that the command line and the daemon share."""

from __future__ import annotations

import json
import platform
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Final

from wifimgrd import __version__
from wifimgrd.client.json_records import device_json, interface_json, service_json
from wifimgrd.domain.records import DeviceRecord, InterfaceRecord, ServiceRecord
from wifimgrd.report.anonymize import Anonymizer
from wifimgrd.report.settings import hide_logged

_DISKS: Final = ("0bda:1a2b", "0e8d:2870", "148f:2578", "148f:2878")
"""The ids of Wi-Fi adapters that show the disk with their Windows driver: those of Realtek, MediaTek and
Ralink in the rules of usb-modeswitch-data."""


def report(
    aliases: Anonymizer,
    devices: Collection[DeviceRecord],
    state: Mapping[str, object] | None,
    texts: Mapping[str, str],
) -> dict[str, str]:
    """The sections of the report, with aliases: the hub's state, and other texts. `devices` are all whose
    names may be in them."""
    for device in devices:
        aliases.hide("SSID", [device.ssid])
    for device in devices:
        aliases.hide("NAME", [device.name])
    for device in devices:
        if device.camera is not None and device.camera.serial_number:
            aliases.hide("SERIAL", [device.camera.serial_number])
    hide_logged(aliases, texts.values())
    sections = {title: aliases.applied(text).rstrip() for title, text in texts.items()}
    if state is not None:
        # Before it is JSON: an escaped name is another text.
        sections["Hub"] = json.dumps(aliases.applied_to_value(state), indent=1, ensure_ascii=False)
    return sections


def state_of(
    service: ServiceRecord, interfaces: Mapping[str, InterfaceRecord], devices: Collection[DeviceRecord]
) -> Mapping[str, object]:
    """The daemon's state: adapters, and why each is taken, free or unavailable."""
    return {
        "service": service_json(service),
        "interfaces": [interface_json(one) for one in interfaces.values()],
        "devices": [
            {key: value for key, value in device_json(device).items() if key != "device_type_icon_url"}
            for device in devices
        ],
    }


def with_disks(devices: str) -> str:
    """The USB devices, as lsusb(8) has them, and a sentence for each adapter that shows itself as a disk."""
    listed = {line.partition(" ID ")[2].partition(" ")[0] for line in devices.splitlines()}
    sentences = (
        f"{one} is a Wi-Fi adapter that shows the disk with its Windows driver: apt install usb-modeswitch"
        for one in _DISKS
        if one in listed
    )
    return "\n".join([devices, *sentences])


def system() -> str:
    """The name of the system, os-release(5), such as "Debian GNU/Linux 12 (bookworm)"."""
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME", "unknown")
    except OSError:
        return "unknown"


def versions() -> str:
    """The versions of wifimgrd and of what it runs on."""
    return (
        f"wifimgrd {__version__}\nPython {platform.python_version()}\n"
        f"{system()}\nLinux {platform.release()} {platform.machine()}"
    )


def machine_key() -> bytes:
    """The key of this computer's aliases, see machine-id(5); raises OSError."""
    return Path("/etc/machine-id").read_bytes().strip()


def as_text(sections: Mapping[str, str]) -> list[str]:
    """Sections under their titles."""
    return [f"== {title} ==\n{text}\n" for title, text in sections.items()]
