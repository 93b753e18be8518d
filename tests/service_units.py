"""The units of the services, and what their users may do, as they are installed."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

CHECKOUT = Path(__file__).parents[1]


def unit(name: str) -> Path:
    """The unit of a service."""
    return CHECKOUT / "systemd" / f"{name}.service"


def exposure(name: str, folder: Path) -> float:
    """How exposed a service is, by systemd."""
    copy = shutil.copy(unit(name), folder)
    command = ["systemd-analyze", "security", "--offline=true", copy]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    level = re.search(r"Overall exposure level for .*: ([0-9.]+)", done.stdout)
    assert level is not None
    return float(level[1])


def rights(name: str) -> list[str]:
    """What polkit allows the user of a service, who is made with its package."""
    [user] = re.findall(r"^User=(.+)$", unit(name).read_text(), re.MULTILINE)
    assert f"\nu {user} " in unit(name).with_name(f"{user}.sysusers.conf").read_text()
    rules = (CHECKOUT / "dbus-policy" / "org.wifimgrd1.rules").read_text()
    [rule] = [one for one in rules.split("polkit.addRule") if f'"{user}"' in one]
    return re.findall(r'"(org\.[\w.-]+)"', rule)
