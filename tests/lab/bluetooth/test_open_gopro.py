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
_NUMBERS = ("1001", "1002", "1003")
_LIMIT_S = 60
_BLUETOOTHCTL = """#!/usr/bin/python3
import os, pty, sys
if sys.argv[1:]:
    os.execv("/usr/bin/bluetoothctl", sys.argv)
pty.spawn("/usr/bin/bluetoothctl", lambda terminal: os.read(terminal, 1024).replace(b"]>", b"]#"))
"""
"""The software pairs by bluetoothctl, and waits for a prompt that ends with #: Debian 13 has one with >."""


def _opened(folder: Path, number: str) -> dict[str, Any] | None:
    """What the software has found; None if its opening has failed, which it tries again in vain. Until it
    is open it does not ask for one thing after the other, takes one answer for another, and commands a camera
    that boots."""
    path = os.environ["PATH"]
    if run("bluetoothctl", "--version").split()[-1] != "5.66":
        program = folder / "bluetoothctl"
        program.write_text(_BLUETOOTHCTL)
        program.chmod(0o755)
        path = f"{folder}:{path}"
    with subprocess.Popen(
        [sys.executable, "-m", "tests.lab.bluetooth.gopro_sdk", number],
        env={**os.environ, "PATH": path, "PYTHONPATH": f"{_SDK}:/src", "PYTHONDONTWRITEBYTECODE": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        stdin=subprocess.DEVNULL,
    ) as software:
        ending = Timer(_LIMIT_S, software.kill)
        ending.start()
        errors = ""
        assert software.stderr is not None
        assert software.stdout is not None
        for line in software.stderr:
            errors += line
            if "Error while opening" in line:
                software.kill()
        told = software.stdout.read()
        ending.cancel()
    if "Error while opening" in errors:
        measured(errors[errors.index("Error while opening") :].splitlines()[0])
        return None
    assert software.returncode == 0, errors
    found: dict[str, Any] = json.loads(told.splitlines()[-1])
    return found


async def test_the_makers_software_opens_the_emulated_gopro(air: Air, hub: Daemon, tmp_path: Path) -> None:
    for number in _NUMBERS:
        air.do("gopro", number=number, boot_s=1.0)
        if (found := await asyncio.to_thread(_opened, tmp_path, number)) is not None:
            break
    assert found is not None
    measured(f"open-gopro {found['version']}: opened in {found.pop('opened_s'):.1f} s")
    assert found.pop("clock").startswith("2027-01-15 08:05:")
    assert found == {
        "version": "0.22.0",
        "asked": [f"GP{number}", "dive-1234"],
        "model": "HERO12 Black",
        "serial": f"C350132450{number}",
        "ssid": f"GP{number}",
        "battery": 87,
        "access_point": True,
        "kept_awake": True,
        "records": False,
    }
    poll_until(lambda: not air.state(number)["connected"], "the software has closed it")
    state = air.state(number)
    assert (state["bonds"], state["pairing_finished"], state["access_point"]) == (1, True, True)
    assert state["keep_alives"] > 0
    shutter = [event for event in state["events"] if event.startswith("command 01")]
    assert shutter == ["command 010101", "command 010100"]
    # The bond is the host's, so that the hub wakes what the software has paired.
    air.do("doze", number)
    await hub.wake(f"D4:32:60:00:{number[:2]}:{number[2:]}")
    assert air.state(number)["access_point"]
