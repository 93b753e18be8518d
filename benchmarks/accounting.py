"""What a process costs, as the kernel accounts for it under /proc."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_TICK_S: Final = 1 / os.sysconf("SC_CLK_TCK")
_KIB: Final = 1024


@dataclass(frozen=True, slots=True)
class Memory:
    """Memory in MB (10^6 bytes): all that is mapped in, and its fair share of what others map, too."""

    rss_mb: float
    pss_mb: float


@dataclass(frozen=True, slots=True)
class Account:
    """One process."""

    pid: int

    @property
    def _folder(self) -> Path:
        return Path("/proc", str(self.pid))

    def cpu_s(self) -> float:
        """CPU seconds of all its threads: to the nanosecond where the kernel has them, else in ticks."""
        try:
            texts = [(task / "schedstat").read_text() for task in (self._folder / "task").iterdir()]
            if any(not text.startswith("0 ") for text in texts):
                return sum(int(text.split()[0]) for text in texts) / 1e9
        except OSError:
            pass
        # After the command's name, which may hold anything, utime and stime are the 12th and 13th field.
        fields = (self._folder / "stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) * _TICK_S

    def memory(self) -> Memory:
        """What it holds now."""
        rss = _count("VmRSS", (self._folder / "status").read_text())
        try:
            pss = _count("Pss", (self._folder / "smaps_rollup").read_text())
        except OSError:
            pss = 0
        return Memory(rss * _KIB / 1e6, pss * _KIB / 1e6)

    def written_mb(self) -> float:
        """What it has sent towards a disk until now, in MB (10^6 bytes)."""
        return _count("write_bytes", (self._folder / "io").read_text()) / 1e6

    def sleeps(self) -> int:
        """How often its threads have gone to sleep: as often they were woken up."""
        statuses = [(task / "status").read_text() for task in (self._folder / "task").iterdir()]
        return sum(_count("voluntary_ctxt_switches", status) for status in statuses)


def _count(name: str, text: str) -> int:
    found = re.search(rf"^{name}:\s+(\d+)", text, re.MULTILINE)
    if found is None:
        raise LookupError(f"the kernel has no value of {name}")
    return int(found[1])
