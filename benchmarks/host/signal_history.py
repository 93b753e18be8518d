"""What the signal of many cameras, with their batteries, costs: on disk, in writes, in memory."""

from __future__ import annotations

import asyncio
import json
import re
import sys
import tempfile
from asyncio.subprocess import PIPE
from pathlib import Path
from typing import Final

from benchmarks.host.footprint import PART
from benchmarks.table import Row, Target
from wifimgrd.daemon.store._history import FILE_NAME, SqliteHistory
from wifimgrd.domain.device import DeviceId
from wifimgrd.domain.signal_history import KEPT_DAYS, SignalSample

_CAMERAS: Final = 64
_MINUTES: Final = 10
"""From one write to the next."""
_BEGIN: Final = 29_400_000
"""A minute since the epoch."""


async def signal_history() -> list[Row]:
    """A week of samples, written as the hub does, but without a pause, in a process of its own: this one
    has memory that it could use again."""
    process = await asyncio.create_subprocess_exec(sys.executable, "-m", __name__, stdout=PIPE)
    output, _ = await process.communicate()
    size, written, held = json.loads(output)
    what = f"signal and battery of {_CAMERAS} cameras over {KEPT_DAYS} days"
    return [
        Row(PART, f"{what}, on disk", "MB", [size / 1e6], target=Target("ours", 2.5)),
        Row(PART, f"{what}, written a day", "MB", [written / KEPT_DAYS / 1e6], target=Target("ours", 5)),
        Row(PART, f"{what}, memory", "MB", [held / 1e3], target=Target("ours", 2)),
    ]


async def _costs() -> tuple[int, int, int]:
    """Bytes on disk, bytes written, and kB of memory."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as directory:
        store = await SqliteHistory.open(Path(directory), 10_000, 90)
        written, held = _own("io", "wchar"), _own("status", "VmRSS")
        end = _BEGIN + KEPT_DAYS * 24 * 60
        for begin in range(_BEGIN, end, _MINUTES):
            minutes = range(begin, begin + _MINUTES)
            samples = {
                DeviceId(device): {at: _sample(device, at) for at in minutes}
                for device in range(1, _CAMERAS + 1)
            }
            store.put_signals(samples)
            await store.read_signal(DeviceId(1), range(0))  # until it is written
        await store.read_signal(DeviceId(1), range(_BEGIN, end))
        written, held = _own("io", "wchar") - written, _own("status", "VmRSS") - held
        await store.close()
        return (Path(directory) / FILE_NAME).stat().st_size, written, held


def _sample(device: int, at: int) -> SignalSample:
    """Of a camera whose battery is known; it lasts 100 minutes."""
    return SignalSample(50 + (at + device) % 50, 40 + at % 10, 100 - (at + device) % 101)


def _own(file: str, name: str) -> int:
    """A number of this process, in bytes or kB."""
    found = re.search(rf"^{name}:\s*([0-9]+)", Path(f"/proc/self/{file}").read_text(), re.MULTILINE)
    return int(found[1]) if found else 0


if __name__ == "__main__":
    print(json.dumps(asyncio.run(_costs())))
