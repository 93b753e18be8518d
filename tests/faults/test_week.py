"""A hub that works for a week holds no more memory at its end, and spares the flash. `make soak` has a week,
and the suite an hour of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

import pytest

from tests.faults.week import DAY_S, Reading

pytestmark = pytest.mark.slow

LASTS_S: Final = int(os.environ.get("WIFIMGRD_DAYS") or "0") * DAY_S or 3600
GROWS_KB: Final = 2048
"""From the end of the first day, or of the first sixth of less, until the end. The newest recordings
and SQLite's pages are kept, and answers to clients get longer, each up to a limit."""
WRITTEN_AN_HOUR: Final = 2_000_000
"""Bytes: the goal of docs/benchmarks.md for a hub at work."""
SYNCS_AN_HOUR: Final = 120
"""Of what each costs the flash most: the whole page that it waits for."""


def test_a_week_s_memory_is_flat_and_it_spares_the_flash(capsys: pytest.CaptureFixture[str]) -> None:
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="wifimgrd-week-") as folder:  # not in memory
        state, syncs = Path(folder, "state"), Path(folder, "syncs")
        state.mkdir()
        trace = ("strace", "-f", "--seccomp-bpf", "-qq", "-e", "trace=fsync,fdatasync", "-o", str(syncs))
        week = (sys.executable, "-m", "tests.faults.week", str(LASTS_S), str(state))
        done = subprocess.run([*trace, *week], check=False, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        readings = [Reading(**json.loads(line)) for line in done.stdout.splitlines()]
        synced = len(syncs.read_text().splitlines())
    first, last = readings[0], readings[-1]
    with capsys.disabled():
        sys.stdout.writelines(f"\n{reading}" for reading in readings)
        sys.stdout.write(f"\n{synced} times the disk was waited for\n")
    assert last.seconds == LASTS_S
    assert last.rows > first.rows, "nothing has happened"
    assert last.rss_kb - first.rss_kb <= GROWS_KB
    hours = (last.seconds - first.seconds) / 3600
    assert 0 < (last.written_bytes - first.written_bytes) / hours <= WRITTEN_AN_HOUR
    assert 0 < synced / (last.seconds / 3600) <= SYNCS_AN_HOUR
