"""`make bench`: measure, print one table, keep it as JSON.

BENCH=host (simulated world), cameras (emulated ones), day (a hub at work), page (in a browser), tiles
(against nginx), fleet (many hubs at one broker), lab (real 802.11 in a guest), backends, connects or wakes
(only a part of that: the comparison of the backends, of that only connects, or cameras that sleep) or all
(default).
BENCH=trace measures nothing: it draws the time line of a connect by each backend, and keeps it in
benchmarks/trace-*.txt.
The exit status is 1 where a target was missed.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from pathlib import Path
from typing import Final

from benchmarks import progress
from benchmarks.cameras.part import measure as measure_cameras
from benchmarks.day import measure as measure_day
from benchmarks.fleet.part import measure as measure_fleet
from benchmarks.host.part import measure as measure_host
from benchmarks.lab.part import measure as measure_lab
from benchmarks.lab.part import trace
from benchmarks.page.part import measure as measure_page
from benchmarks.table import Row, rendered
from benchmarks.tiles.part import measure as measure_tiles

_PARTS: Final = (
    "host",
    "cameras",
    "day",
    "page",
    "tiles",
    "fleet",
    "lab",
    "backends",
    "connects",
    "wakes",
    "trace",
    "all",
)
RESULTS: Final = Path(__file__).parent / "results.json"


def main() -> int:
    """Run the parts that were asked for."""
    wanted = os.environ.get("BENCH") or "all"
    if wanted not in _PARTS:
        sys.stderr.write(f"bench: BENCH is {', '.join(_PARTS[:-1])} or {_PARTS[-1]}, not {wanted}\n")
        return 2
    if wanted == "trace":
        print("\n\n".join(trace()))
        return 0
    started = time.monotonic()
    rows: list[Row] = []
    if wanted in ("host", "all"):
        rows += asyncio.run(measure_host())
    if wanted in ("cameras", "all"):
        rows += asyncio.run(measure_cameras())
    if wanted in ("day", "all"):
        rows += asyncio.run(measure_day())
    if wanted in ("page", "all"):
        rows += asyncio.run(measure_page())
    if wanted in ("tiles", "all"):
        rows += measure_tiles()
    if wanted in ("fleet", "all"):
        rows += asyncio.run(measure_fleet())
    match wanted:
        case "backends" | "connects" | "wakes":
            rows += measure_lab(wanted)
        case "lab" | "all":
            rows += measure_lab("all")
    progress.say(f"measured in {time.monotonic() - started:.0f} s")
    print(rendered(rows))
    RESULTS.write_text(json.dumps([row.as_json() for row in rows], indent=1) + "\n")
    return 1 if any(row.verdict == "MISSED" for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
