"""The example of a new property in CONTRIBUTING.md, applied to a copy of the checkout."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, Final

import pytest

from tests.docs.checkout_copy import apply, contents, copied, example_patch, run
from tests.docs.code_blocks import CHECKOUT
from tools.generate_descriptions import DESCRIPTIONS
from tools.generate_records import TYPES

pytestmark = pytest.mark.slow

MOST_FILES: Final = 3
SHOW: Final = """
import json, sys
from wifimgrd.client.json_records import device_json
from wifimgrd.wire.definitions import definition
from wifimgrd.wire.properties import properties_of, updated
from wifimgrd.domain.device import Device, DeviceId, DeviceState, DeviceStatus, Link, Sighting, Ssid
from wifimgrd.domain.records import DeviceRecord, device_record

import wifimgrd
link = Link("192.168.42.2", "192.168.42.1", 70, Sighting("02:00:00:00:00:01", 2412))
device = Device(DeviceId(1), "Front", "x", Ssid(b"net"))
properties = properties_of(device_record(DeviceStatus(device, DeviceState.CONNECTED, "wlan0", link)))
json.dump({
    "code": wifimgrd.__file__,
    "property": properties.get("Bssid"),
    "introspection": definition("org.wifimgrd1.Device").properties.get("Bssid"),
    "json": device_json(updated(DeviceRecord(1), properties)).get("bssid"),
}, sys.stdout)
"""


def shown(copy: Path) -> dict[str, Any]:
    values: dict[str, Any] = json.loads(run(copy, sys.executable, "-c", SHOW))
    assert Path(values.pop("code")).is_relative_to(copy)
    return values


def test_the_example_of_a_new_property_reaches_every_client(tmp_path: Path) -> None:
    copy = copied(tmp_path)
    patch = example_patch("domain/records.py")
    before = contents(copy)
    assert set(shown(copy).values()) == {None}

    apply(patch, copy)
    run(copy, sys.executable, "tools/generate_records.py")
    run(copy, sys.executable, "tools/generate_descriptions.py")

    after = contents(copy)
    types = after.pop(str(TYPES.relative_to(CHECKOUT))).decode()
    for file in DESCRIPTIONS:
        device = json.loads(after.pop(str(file.relative_to(CHECKOUT))))["components"]["schemas"]["Device"]
        assert device["properties"]["bssid"]["type"] == ["string", "null"]
    touched = [file for file in after if after[file] != before.get(file)]
    assert 1 < len(touched) < MOST_FILES, "leaves room for an attribute in wifimgrd/domain/device.py"
    assert shown(copy) == {"property": "02:00:00:00:00:01", "introspection": "s", "json": "02:00:00:00:00:01"}
    assert "  bssid: string | null;\n" in types
