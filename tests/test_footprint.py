"""What processes that always run do not load: each of these is memory that a small host has to spare."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

UNWANTED = {"ssl", "_hashlib", "email", "html", "http.client", "urllib.request", "bz2", "lzma"}
"""TLS and OpenSSL, parsers of mail and HTTP, the names of characters in HTML, compression, which the standard
library loads for little."""
OPTIONAL = {"better_exceptions", "gi", "greenlet", "rich", "socks", "twisted"}
"""What libraries load where it is installed."""
LOADED = """
import sys
from {process}.__main__ import main
sys.argv = ["{process}", "--version"]
try:
    main()
except SystemExit:
    {later}
    print(*(name for name, module in sys.modules.items() if module is not None))
"""
"""The command line is parsed, because argparse loads modules as it does so."""


def loaded_by(process: str, folder: Path | None = None, *, later: str = "pass") -> set[str]:
    """The modules in a process that has started, which finds those in a folder first, after the statement
    `later`."""
    environment = dict(os.environ) if folder is None else os.environ | {"PYTHONPATH": str(folder)}
    command = [sys.executable, "-c", LOADED.format(process=process, later=later)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return set(done.stdout.split())


@pytest.mark.parametrize(
    "process", ["wifimgrd.daemon", "wifimgrd.helper", "wifimgrd.camera", "wifimgrd.mavlink"]
)
def test_a_process_without_tcp_loads_no_parsers_of_network_protocols(process: str) -> None:
    loaded = loaded_by(process)
    assert {"asyncio", "argparse", "shutil"} <= loaded
    assert UNWANTED.isdisjoint(loaded)


def test_the_bridge_loads_no_parsers_of_other_protocols_than_its_own() -> None:
    loaded = loaded_by("wifimgrd.mqtt", later="import wifimgrd.mqtt._bridge")  # once it has a broker
    assert {"asyncio", "argparse", "paho.mqtt.client"} <= loaded
    assert (UNWANTED - {"ssl", "_hashlib", "urllib.request"}).isdisjoint(loaded)


@pytest.mark.parametrize(
    "process",
    [
        "wifimgrd.daemon",
        "wifimgrd.helper",
        "wifimgrd.camera",
        "wifimgrd.http",
        "wifimgrd.mqtt",
        "wifimgrd.mavlink",
        "wifimgrd.cli",
    ],
)
def test_what_else_the_host_has_installed_is_not_loaded(process: str, tmp_path: Path) -> None:
    for name in OPTIONAL:
        tmp_path.joinpath(f"{name}.py").write_text("")
    loaded = loaded_by(process, tmp_path)
    assert "dbus_next" in loaded
    assert OPTIONAL.isdisjoint(loaded)
