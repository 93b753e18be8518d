"""The tables of layers and the contracts in `setup.cfg` refuse wrong imports, tried in a copy of the code."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

CHECKOUT: Final = Path(__file__).parents[1]
WRONG: Final = {
    "a room below imports one above": ("domain/device.py", "wifimgrd.runtime.tasks", "wifimgrd.client.hub"),
    "a process imports another": ("helper/_policy.py", "wifimgrd.camera.sessions"),
    "the manager skips its ports": ("daemon/manager/_cameras.py", "wifimgrd.daemon.camera_client.control"),
    "the manager sees the bus": ("daemon/manager/hub.py", "wifimgrd.bus.connection"),
    "the store sees the bus": ("daemon/store/_rows.py", "wifimgrd.wire.names"),
    "the daemon imports the simulator": ("daemon/_daemon.py", "wifimgrd.simulator"),
    "the simulator imports the manager": ("simulator/_world.py", "wifimgrd.daemon.manager.hub"),
    "the manager's ports import a client": ("daemon/ports.py", "wifimgrd.client.hub"),
    "the manager's ports read settings": ("daemon/ports.py", "wifimgrd.config.configuration"),
    "the objects on the bus see a backend": (
        "daemon/api/_device_object.py",
        "wifimgrd.daemon.backends.supplicant.backend",
        "wifimgrd.proxies.timedated",
        "wifimgrd.kernel.links",
    ),
    "udev has words of the bus": ("daemon/udev/_usb.py", "wifimgrd.wire.names"),
    "the bridge serves HTTP": ("mqtt/_commands.py", "aiohttp"),
    "one bridge imports the other": ("mavlink/_bridge.py", "wifimgrd.mqtt._commands"),
    "one backend imports the other": (
        "daemon/backends/networkmanager/_scan.py",
        "wifimgrd.daemon.backends.wpa_supplicant",
    ),
    "the objects on the bus import the store": ("daemon/api/hub_service.py", "wifimgrd.daemon.store"),
    "a backend reads settings": ("daemon/backends/supplicant/country.py", "wifimgrd.config.configuration"),
    "the hub is a client of itself": ("daemon/manager/history.py", "wifimgrd.client.hub"),
    "HTTP has the bus": ("http/_app.py", "wifimgrd.bus.connection"),
    "a room of HTTP imports one above": ("http/access/token.py", "wifimgrd.http.api.body_types"),
    "the domain waits": ("domain/lifecycle.py", "asyncio"),
    "a program is started with the capability": ("helper/_routing.py", "subprocess"),
    "a second module uses the MQTT library": ("mqtt/_broker.py", "paho"),
}
"""An import that must not be: the module below `wifimgrd/`, and what it imports."""


def lint(checkout: Path) -> str:
    """What the linter of imports says of a checkout that it refuses."""
    program = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run(
        [program, "--no-cache"], cwd=checkout, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 1, done.stdout + done.stderr
    return " ".join(done.stdout.split())


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A checkout with the code and its import rules."""
    ignored = shutil.ignore_patterns("__pycache__", "built")
    shutil.copytree(CHECKOUT / "wifimgrd", tmp_path / "wifimgrd", ignore=ignored)
    shutil.copy(CHECKOUT / "setup.cfg", tmp_path)
    return tmp_path


def test_wrong_imports_are_refused(copy: Path) -> None:
    for name, *modules in WRONG.values():
        assert (copy / "wifimgrd" / name).exists(), name
        with (copy / "wifimgrd" / name).open("a") as file:
            file.write("\n".join(["", *(f"import {module}" for module in modules), ""]))
    said = lint(copy)
    missing = []
    for case, (name, *modules) in WRONG.items():
        importer = "wifimgrd." + name.removesuffix(".py").replace("/", ".")
        missing += [case for module in modules if f"{importer} -> {module}" not in said]
    assert not missing


@pytest.mark.parametrize("container", ["", "daemon", "http"])
def test_a_room_in_no_layer_is_refused(copy: Path, container: str) -> None:
    room = copy / "wifimgrd" / container / "spare"
    room.mkdir()
    room.joinpath("__init__.py").write_text('"""Nothing."""\n')
    missing = ".".join(["wifimgrd", *([container] if container else []), "spare"])
    assert f"The following modules are not listed as layers: - {missing} " in lint(copy)
