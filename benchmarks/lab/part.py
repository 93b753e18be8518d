"""The part of the measurements that runs in the lab's guest, seen from the host."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Literal

from benchmarks import progress
from benchmarks.table import Row

_CHECKOUT: Final = Path(__file__).resolve().parents[2]
_LAB: Final = _CHECKOUT / "tests" / "lab"
_ENGINE: Final = os.environ.get("LAB_ENGINE", "uml")
_BOOT_S: Final = {"uml": 60, "tcg": 240}
_MEASURE_S: Final = 1500
TRACES: Final = _CHECKOUT / "benchmarks"
_LOST: Final = (124, 125)
"""boot.sh: out of time, the guest died."""


class LabFailedError(Exception):
    """The guest did not measure to the end."""


def measure(part: Literal["all", "backends", "connects", "wakes"]) -> list[Row]:
    """All rows of the lab, or only those of a part."""
    with _measured(part) as out:
        return [Row.of_json(row) for row in json.loads((out / "rows.json").read_text())]


def trace() -> list[str]:
    """The time lines of a connect by each backend; kept in files beside this part's folder, too."""
    with _measured("trace") as out:
        texts = {file.name: file.read_text() for file in sorted(out.glob("trace-*.txt"))}
    for name, text in texts.items():
        (TRACES / name).write_text(text)
    return list(texts.values())


@contextmanager
def _measured(part: str) -> Iterator[Path]:
    """Have a guest measure, and give the folder with what it has written; boots once more where the guest was
    lost before it began."""
    progress.say("lab: build what is missing")
    subprocess.run((_LAB / "build.sh", _ENGINE), check=True, stdout=sys.stderr)
    with tempfile.TemporaryDirectory(prefix="wifimgrd-bench-") as folder:
        out = Path(folder)
        for _ in range(2):
            status = _boot(out, part)
            if status not in _LOST or (out / "measuring").exists():
                break
        if status != 0:
            kept = Path(tempfile.mkdtemp(prefix="wifimgrd-bench-failed-"))
            for name in ("console", "journal", "log"):
                if (out / name).exists():
                    (kept / name).write_bytes((out / name).read_bytes())
            raise LabFailedError(f"the guest ended with status {status}; what it said is in {kept}")
        yield out


def _boot(out: Path, part: str) -> int:
    progress.say("lab: boot a guest")
    command = [str(_LAB / "boot.sh"), "-e", _ENGINE, "-o", str(out), "-s", str(_CHECKOUT)]
    command += [
        "-b",
        str(_BOOT_S[_ENGINE]),
        "-t",
        str(_MEASURE_S),
        "--",
        "benchmarks/lab/run_in_guest.sh",
        part,
    ]
    return subprocess.run(command, check=False, stdout=sys.stderr).returncode
