"""The host's Bluetooth adapters, as the kernel reports them.

https://docs.kernel.org/admin-guide/abi-stable.html#rfkill - in sysfs.
"""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Final

_ADAPTERS: Final = Path("/sys/class/bluetooth")
_SWITCHES: Final = Path("/sys/class/rfkill")
_MACHINE_ID: Final = Path("/etc/machine-id")
_NAMESPACE: Final = uuid.UUID("8f3d6a34-5f6e-4bd4-9e3c-7a2f5b1f9c55")


def has_adapter() -> bool:
    """Whether the host has a Bluetooth adapter; connections have entries there, too, with a colon."""
    try:
        return any(":" not in entry.name for entry in _ADAPTERS.iterdir())
    except OSError:
        return False


def is_blocked() -> bool:
    """Whether rfkill has switched every Bluetooth adapter off, by software or by a switch of the machine."""
    switches = [_blocks(entry) for entry in _entries(_SWITCHES) if _read(entry / "type") == "bluetooth"]
    return bool(switches) and all(switches)


def host_uuid() -> str:
    """The UUID by which cameras know this host; it does not reveal the id of the installation,
    machine-id(5), from which it is made."""
    return str(uuid.uuid5(_NAMESPACE, _read(_MACHINE_ID)))


def _blocks(switch: Path) -> bool:
    return "1" in (_read(switch / "soft"), _read(switch / "hard"))


def _entries(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return ""
