"""How much a process holds, as the kernel counts it, the message bus, and it itself."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import quantiles
from typing import Final, Self

from tests.lab.guest.deadline import async_poll_until
from wifimgrd.bus.connection import BusConnection, BusError
from wifimgrd.bus.values import typed

_BUS: Final = ("org.freedesktop.DBus", "/org/freedesktop/DBus")
ALLOWED: Final[Mapping[str, int]] = {"kB": 4 * 1024, "fds": 8, "tasks": 4}
"""To grow: the events that are kept for replay, and the connections of clients, which come and go."""


@dataclass(frozen=True, slots=True)
class Footprint:
    """What proc(5) says of a process."""

    resident_kb: int
    peak_kb: int
    """Of the resident memory, since its start."""
    fds: int

    @classmethod
    def of(cls, pid: int) -> Self:
        """The process as it is now."""
        status = Path(f"/proc/{pid}/status").read_text()
        return cls(
            _kilobytes(status, "VmRSS"),
            _kilobytes(status, "VmHWM"),
            len(list(Path(f"/proc/{pid}/fd").iterdir())),
        )


@dataclass(frozen=True, slots=True)
class Process:
    """One of ours that runs."""

    name: str
    pid: int
    log: Callable[[], str]
    """What it has said so far."""

    async def sizes(self, bus: BusConnection) -> dict[str, int]:
        """All that it holds, under names of its own."""
        kernel = Footprint.of(self.pid)
        counted = {
            "kB": kernel.resident_kb,
            "fds": kernel.fds,
            "tasks": await self._tasks(),
            "match rules": len(await self.match_rules(bus)),
        }
        return {f"{self.name} {what}": count for what, count in counted.items()}

    async def _tasks(self) -> int:
        """It reports them on SIGUSR1 (wifimgrd.runtime.task_dump)."""
        before = len(self._reported_tasks())

        async def reported() -> list[str]:
            return self._reported_tasks()[before:]

        os.kill(self.pid, signal.SIGUSR1)
        return int((await async_poll_until(reported, f"{self.name} reporting its tasks"))[-1])

    def _reported_tasks(self) -> list[str]:
        return re.findall(r"\btasks count=(\d+)", self.log())

    async def match_rules(self, bus: BusConnection) -> list[str]:
        """Of all its connections to the message bus."""
        [rules] = await bus.call(*_BUS, f"{_BUS[0]}.Debug.Stats", "GetAllMatchRules")
        found: list[str] = []
        for name, asked_for in typed(dict[str, list[str]], rules).items():
            with suppress(BusError):  # a client that has left meanwhile
                [pid] = await bus.call(*_BUS, _BUS[0], "GetConnectionUnixProcessID", "s", [name])
                found += asked_for if pid == self.pid else ()
        return sorted(found)


def growth(first: Mapping[str, int], last: Mapping[str, int]) -> list[str]:
    """What has grown more than it may, in words."""
    return [
        f"{what} grew from {was} to {last[what]}"
        for what, was in first.items()
        if last[what] - was > ALLOWED.get(what.split()[-1], 0)
    ]


def reported(waits_s: Mapping[str, list[float]]) -> Iterator[str]:
    """How long each kind of command took, a line each."""
    for kind, waits in sorted(waits_s.items()):
        cuts = quantiles([*waits, waits[-1]], n=100)
        milliseconds = ", ".join(f"p{cut} {cuts[cut - 1] * 1000:.1f} ms" for cut in (50, 95, 99))
        yield f"  {kind:<13} {len(waits):5} calls, {milliseconds}\n"


def _kilobytes(status: str, name: str) -> int:
    found = re.search(rf"^{name}:\s+(\d+) kB$", status, re.MULTILINE)
    assert found is not None
    return int(found[1])
