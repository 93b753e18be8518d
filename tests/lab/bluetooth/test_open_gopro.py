"""The emulated GoPro, proven by the maker's own software."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from threading import Timer
from typing import Any

from ..guest.deadline import poll_until
from ..guest.namespace import run
from .world import Air, Daemon, measured

_SDK = "/opt/open_gopro"
_NUMBER, _ADDRESS = "1001", "D4:32:60:00:10:01"
_LIMIT_S = 60
_BLUETOOTHCTL = """#!/usr/bin/python3
import os, pty, sys
if sys.argv[1:]:
    os.execv("/usr/bin/bluetoothctl", sys.argv)
pty.spawn("/usr/bin/bluetoothctl", lambda terminal: os.read(terminal, 1024).replace(b"]>", b"]#"))
"""
"""The software pairs by bluetoothctl, and waits for a prompt that ends with #: Debian 13 has one with >."""


def _opened(folder: Path) -> dict[str, Any]:
    """What the software has found, at its first attempt of several."""
    path = os.environ["PATH"]
    if run("bluetoothctl", "--version").split()[-1] != "5.66":
        program = folder / "bluetoothctl"
        program.write_text(_BLUETOOTHCTL)
        program.chmod(0o755)
        path = f"{folder}:{path}"
    with subprocess.Popen(
        [sys.executable, "-m", "tests.lab.bluetooth.gopro_sdk", _NUMBER],
        env={**os.environ, "PATH": path, "PYTHONPATH": f"{_SDK}:/src", "PYTHONDONTWRITEBYTECODE": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        stdin=subprocess.DEVNULL,
    ) as software:
        ending = Timer(_LIMIT_S, software.kill)
        ending.start()
        told, errors = software.communicate()
        ending.cancel()
    assert software.returncode == 0, errors
    assert "Error while opening" not in errors, errors
    found: dict[str, Any] = json.loads(told.splitlines()[-1])
    return found


async def test_the_makers_software_opens_the_emulated_gopro(air: Air, hub: Daemon, tmp_path: Path) -> None:
    # It has booted before it is bonded: the software does not wait for that before it switches Wi-Fi on.
    air.do("gopro", number=_NUMBER, boot_s=0.2)
    found = await asyncio.to_thread(_opened, tmp_path)
    measured(f"open-gopro {found['version']}: opened in {found.pop('opened_s'):.1f} s")
    assert found.pop("clock").startswith("2027-01-15 08:05:")
    assert found == {
        "version": "0.22.0",
        "asked": ["GP1001", "dive-1234"],
        "model": "HERO12 Black",
        "serial": "C3501324501001",
        "ssid": "GP1001",
        "battery": 87,
        "access_point": True,
        "kept_awake": True,
        "records": False,
    }
    poll_until(lambda: not air.state(_NUMBER)["connected"], "the software has closed it")
    state = air.state(_NUMBER)
    assert (state["bonds"], state["pairing_finished"], state["access_point"]) == (1, True, True)
    assert state["keep_alives"] > 0
    shutter = [event for event in state["events"] if event.startswith("command 01")]
    assert shutter == ["command 010101", "command 010100"]
    # The bond is the host's, so that the hub wakes what the software has paired.
    air.do("doze", _NUMBER)
    await hub.wake(_ADDRESS)
    assert air.state(_NUMBER)["access_point"]
