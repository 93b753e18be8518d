"""The hubs of the benchmark are bridges on a daemon that is a table: it has what a bridge uses."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Final

CLOSED_PORT: Final = "1"
"""No broker is needed: what a hub would publish is reckoned all the same."""


def test_its_hubs_change() -> None:
    command = (sys.executable, "-m", "benchmarks.fleet.hubs", CLOSED_PORT, "1")
    asked = "change 1\nremove\nstate\n"
    ran = subprocess.run(command, input=asked, stdout=subprocess.PIPE, text=True, check=True)
    [cameras] = json.loads(ran.stdout).values()
    assert len(cameras) == 4
