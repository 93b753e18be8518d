"""The example of a new property in CONTRIBUTING.md, applied to a copy of the checkout."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest

from tests.docs.code_blocks import CHECKOUT, code_blocks
from tools.generate_records import TYPES

MOST_FILES: Final = 3
COPIED: Final = ("wifimgrd", "tools", "frontend/src")
SHOW: Final = """
import json, sys
from wifimgrd.dbus.client.json_records import device_json
from wifimgrd.dbus.definitions import definition
from wifimgrd.dbus.properties import properties_of, updated
from wifimgrd.domain.device import Device, DeviceId, DeviceState, DeviceStatus, Link, Sighting, Ssid
from wifimgrd.domain.records import DeviceRecord, device_record
from wifimgrd.http.description.asyncapi import asyncapi

import wifimgrd
link = Link("192.168.42.2", "192.168.42.1", 70, Sighting("02:00:00:00:00:01", 2412))
device = Device(DeviceId(1), "Front", "x", Ssid(b"net"))
properties = properties_of(device_record(DeviceStatus(device, DeviceState.CONNECTED, "wlan0", link)))
json.dump({
    "code": wifimgrd.__file__,
    "property": properties.get("Bssid"),
    "introspection": definition("org.wifimgrd1.Device").properties.get("Bssid"),
    "json": device_json(updated(DeviceRecord(1), properties)).get("bssid"),
    "schema": asyncapi()["components"]["schemas"]["Device"]["properties"].get("bssid"),
}, sys.stdout)
"""


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    for folder in COPIED:
        ignored = shutil.ignore_patterns("__pycache__", "built", TYPES.name)
        shutil.copytree(CHECKOUT / folder, tmp_path / folder, ignore=ignored)
    return tmp_path


def run(copy: Path, *command: str, given: str = "") -> str:
    environment = os.environ | {"PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        command, cwd=copy, env=environment, input=given, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def contents(root: Path) -> dict[str, bytes]:
    files = (file for folder in COPIED for file in (root / folder).rglob("*") if file.is_file())
    return {str(file.relative_to(root)): file.read_bytes() for file in files}


def shown(copy: Path) -> dict[str, Any]:
    values: dict[str, Any] = json.loads(run(copy, sys.executable, "-c", SHOW))
    assert Path(values.pop("code")).is_relative_to(copy)
    return values


def test_the_example_of_a_new_property_reaches_every_client(copy: Path) -> None:
    [patch] = [one.text for one in code_blocks("CONTRIBUTING.md") if one.language == "diff"]
    before = contents(copy)
    assert set(shown(copy).values()) == {None}

    run(copy, "git", "apply", "-", given=patch)
    run(copy, sys.executable, "tools/generate_records.py")

    after = contents(copy)
    types = after.pop(str(TYPES.relative_to(CHECKOUT))).decode()
    touched = [file for file in after if after[file] != before.get(file)]
    assert 1 < len(touched) < MOST_FILES, "leaves room for an attribute in wifimgrd/domain/device.py"
    values = shown(copy)
    assert values.pop("schema")["type"] == ["string", "null"]
    assert values == {"property": "02:00:00:00:00:01", "introspection": "s", "json": "02:00:00:00:00:01"}
    assert "  bssid: string | null;\n" in types
