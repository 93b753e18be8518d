"""The example of a new camera driver in CONTRIBUTING.md: applied to a copy of the checkout, it records."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.docs.checkout_copy import apply, contents, copied, example_patch, run
from tests.message_bus import MessageBusDaemon
from tests.processes import running_hub

pytestmark = pytest.mark.slow

MOST_FILES: Final = 4
"""And a document."""
FROM_THERE: Final = (sys.executable, "-P", "-m")
SCENARIO: Final = """
adapter_count = 1
[[camera]]
ssid = "PILOT-0001"
driver = "pilot"
"""


async def test_a_camera_of_the_example_of_a_new_driver_records(
    tmp_path: Path, message_bus: MessageBusDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = copied(tmp_path / "checkout")
    before = contents(copy)
    apply(example_patch("domain/camera.py"), copy)
    after = contents(copy)
    assert len([file for file in after if after[file] != before.get(file)]) == MOST_FILES

    monkeypatch.setenv("PYTHONPATH", str(copy))
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    scenario, state = tmp_path / "scenario.toml", tmp_path / "state"
    scenario.write_text(SCENARIO)
    state.mkdir()

    def wifimgrctl(*arguments: str) -> str:
        return run(copy, *FROM_THERE, "wifimgrd.cli", "--bus", message_bus.address, *arguments)

    program = (*FROM_THERE, "wifimgrd.daemon")
    async with running_hub(message_bus.address, state, f"--simulate={scenario}", program=program):
        wifimgrctl("add", "--ssid", "PILOT-0001", "--codename", "pilot-one", "--open")
        wifimgrctl("connect", "PILOT-0001")  # waits for the attempt that the command above has begun
        wifimgrctl("record", "PILOT-0001")
        [device] = json.loads(wifimgrctl("devices", "--json"))
    assert (device["codename"], device["camera"]["model"]) == ("pilot-one", "Pilot One")
    assert device["camera"]["recording"] is True
