"""The unit and the rules of `wifimgrd-mavlink`, as they are installed."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

CHECKOUT = Path(__file__).parents[2]
UNIT = CHECKOUT / "systemd" / "wifimgrd-mavlink.service"
EXPOSURE = 1.5


def test_the_sandbox_is_as_tight_as_promised(tmp_path: Path) -> None:
    copy = shutil.copy(UNIT, tmp_path)
    command = ["systemd-analyze", "security", "--offline=true", copy]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    level = re.search(r"Overall exposure level for .*: ([0-9.]+)", done.stdout)
    assert level is not None
    assert float(level[1]) <= EXPOSURE


def test_its_user_is_made_and_may_control_cameras_and_nothing_else() -> None:
    [user] = re.findall(r"^User=(.+)$", UNIT.read_text(), re.MULTILINE)
    assert f"\nu {user} " in UNIT.with_name(f"{user}.sysusers.conf").read_text()
    rules = (CHECKOUT / "dbus-policy" / "org.wifimgrd1.rules").read_text()
    [rule] = [one for one in rules.split("polkit.addRule") if f'"{user}"' in one]
    assert re.findall(r'"(org\.[\w.-]+)"', rule) == ["org.wifimgrd1.control-cameras"]
