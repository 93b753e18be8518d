"""`make bench`: measure, print one table, keep it as JSON.

BENCH=host (simulated world), cameras (emulated ones), clocks (theirs), day (a hub at work), page (in a
browser), tiles (against nginx), fleet (many hubs at one broker), lab (real 802.11 in a guest), backends,
connects or wakes (only a part of that: the comparison of the backends, of that only connects, or cameras that
sleep) or all (default). Each part imports what it needs, so that it runs without what only the others need.
BENCH=trace measures nothing: it draws the time line of a connect by each backend, and keeps it in
benchmarks/trace-*.txt.
The exit status is 1 where a target was missed, and 2 where a part could not be measured: what the others have
measured is printed and kept all the same.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Final

from benchmarks import interpreter, progress
from benchmarks.table import Row, rendered

_PARTS: Final = {
    "host": "benchmarks.host.part",
    "cameras": "benchmarks.cameras.part",
    "clocks": "benchmarks.clocks",
    "day": "benchmarks.day",
    "page": "benchmarks.page.part",
    "tiles": "benchmarks.tiles.part",
    "fleet": "benchmarks.fleet.part",
}
_IN_THE_LAB: Final = ("lab", "backends", "connects", "wakes")
_LAB: Final = "benchmarks.lab.part"
RESULTS: Final = Path(__file__).parent / "results.json"


def main() -> int:
    """Run the parts that were asked for."""
    wanted = os.environ.get("BENCH") or "all"
    known = (*_PARTS, *_IN_THE_LAB, "trace", "all")
    if wanted not in known:
        sys.stderr.write(f"bench: BENCH is {', '.join(known[:-1])} or {known[-1]}, not {wanted}\n")
        return 2
    before = interpreter.described()
    if wanted == "trace":
        print("\n\n".join([before, *import_module(_LAB).trace()]))
        return 0
    started = time.monotonic()
    rows: list[Row] = []
    failed: list[str] = []
    for part, measure in _measures(wanted):
        try:
            rows += measure()
        except Exception:  # noqa: BLE001 - what the other parts have measured is kept
            traceback.print_exc()
            failed.append(part)
    progress.say(f"measured in {time.monotonic() - started:.0f} s")
    ran_on = [f"at the start: {before}", f"at the end: {interpreter.described()}"]
    ran_on += [f"not measured: {part}" for part in failed]
    print("\n".join([*ran_on, "", rendered(rows)]))
    results = {"ran_on": ran_on, "rows": [row.as_json() for row in rows]}
    RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    if failed:
        return 2
    return 1 if any(row.verdict == "MISSED" for row in rows) else 0


def _measures(wanted: str) -> Iterator[tuple[str, Callable[[], list[Row]]]]:
    """The parts that were asked for, and what measures each."""
    for part, module in _PARTS.items():
        if wanted in (part, "all"):
            yield part, partial(_measured, module)
    if wanted in (*_IN_THE_LAB, "all"):
        yield "lab", lambda: import_module(_LAB).measure("all" if wanted == "lab" else wanted)


def _measured(module: str) -> list[Row]:
    measured = import_module(module).measure()
    rows: list[Row] = asyncio.run(measured) if inspect.iscoroutine(measured) else measured
    return rows


if __name__ == "__main__":
    sys.exit(main())
