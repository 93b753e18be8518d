"""What a connect costs in counts, which do not depend on the machine: round trips, messages on the bus,
netlink datagrams, system calls."""

from __future__ import annotations

import signal
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.lab.time_line import KERNEL, SHORT_LIVED, Event, Kind

OURS: Final = ("wifimgrd", "wifimgrd-net", "wifimgrd-http", "wifimgrd-camera")
"""Our processes that may run in the lab, by the names that the kernel has of them."""
CLIENT: Final = "client"
_BEGIN: Final = ("SelectNetwork", "AddAndActivateConnection2")
"""The calls with which wpa_supplicant or NetworkManager begins to join."""
_CLOCK: Final = "clock_gettime"
"""Only under User-Mode Linux it is a system call."""
_ATTACHED_S: Final = 20.0


@dataclass(frozen=True, slots=True)
class Counts:
    """Those of one connect, from the client's call to the reply."""

    round_trips: int
    """Calls that were answered before the join began, each sent after the reply to the one before. Where two
    run at the same time, only one counts; where it cannot be told whether a call has waited for a reply, it
    counts as if it had."""
    messages: Counter[tuple[str, str]]
    """Messages on the bus that one of our processes has sent, or was sent, by the two ends in the order of
    the alphabet; without those of the client."""
    datagrams: Counter[tuple[str, str]]
    """Netlink datagrams to the kernel or from it, by our process and by what was asked; without what the
    kernel tells all who listen."""


def counted(events: Sequence[Event], began_s: float, ended_s: float) -> Counts:
    """Count what was sent during a connect."""
    within = [one for one in events if began_s <= one.time_s <= ended_s]
    replies = [one for one in within if one.kind is Kind.REPLY]
    begin = next((one for one in within if one.kind is Kind.CALL and one.what in _BEGIN), None)
    return Counts(
        0 if begin is None else _chain(replies, begin.sender, began_s, begin.time_s),
        Counter(_ends(one) for one in within if one.kind is not Kind.DATAGRAM and _is_ours(one)),
        Counter(_asked(within)),
    )


def _chain(replies: Sequence[Event], caller: str, began_s: float, ended_s: float) -> int:
    """The length of the longest way from reply to call that ends with this process at this time, with the
    calls that each of them waits for in turn."""
    own = [
        one for one in replies if one.receiver == caller and began_s <= one.since_s and one.time_s <= ended_s
    ]
    if not own:
        return 0
    last = max(own, key=lambda one: one.time_s)
    inner = _chain(replies, last.sender, last.since_s, last.time_s)
    return 1 + inner + _chain(replies, caller, began_s, last.since_s)


def _is_ours(event: Event) -> bool:
    ends = {event.sender, event.receiver}
    return not ends.isdisjoint(OURS) and CLIENT not in ends


def _ends(event: Event) -> tuple[str, str]:
    first, second = sorted((event.sender, event.receiver or "all"))
    return first, second


def _asked(events: Sequence[Event]) -> Iterator[tuple[str, str]]:
    """The datagrams of our sockets. Here, nobody else opens sockets for one request, or changes nftables."""
    for one in events:
        if one.kind is not Kind.DATAGRAM or KERNEL not in (one.sender, one.receiver):
            continue
        process = one.sender if one.receiver == KERNEL else one.receiver
        if process in OURS or process == SHORT_LIVED or (not process and one.what.startswith("nft")):
            yield process or OURS[1], one.what if one.receiver == KERNEL else "answers"


def counts_drawn(counts: Sequence[Counts]) -> str:
    """The medians of several connects as text, each with the connect that has it."""
    round_trips = sorted(one.round_trips for one in counts)
    lines = [f"round trips one after another, before the join begins: {round_trips[len(counts) // 2]}"]
    for what, counters in (
        ("messages on the bus", [one.messages for one in counts]),
        ("netlink datagrams", [one.datagrams for one in counts]),
    ):
        counter = sorted(counters, key=lambda one: one.total())[len(counts) // 2]
        lines.append(f"{what}, ours: {counter.total()}")
        lines += [f"  {number:4}  {', '.join(of)}" for of, number in counter.most_common()]
    return "\n".join(lines)


# -- system calls


@dataclass(frozen=True, slots=True)
class Calls:
    """The system calls of one connect and disconnect, with the second of rest after them, by process."""

    by_process: Mapping[str, Counter[str]]

    def total(self, processes: Collection[str] = ()) -> int:
        """All but the reading of clocks, of these processes or of all."""
        chosen = processes or self.by_process
        return sum(
            counter.total() - counter[_CLOCK] for name, counter in self.by_process.items() if name in chosen
        )


@contextmanager
def counting(processes: Mapping[int, str]) -> Iterator[dict[str, Counter[str]]]:
    """Count the system calls of processes, by their names, with strace(1); they are there at the end."""
    found: dict[str, Counter[str]] = {}
    with tempfile.TemporaryDirectory() as folder:
        tracers = {
            pid: subprocess.Popen(("strace", "-f", "-c", "-qq", "-o", f"{folder}/{pid}", "-p", str(pid)))
            for pid in processes
        }
        try:
            _wait_until_traced(processes)
            yield found
        finally:
            for tracer in tracers.values():
                tracer.send_signal(signal.SIGINT)
            for tracer in tracers.values():
                tracer.wait()
        for pid, name in processes.items():
            with suppress(OSError):  # it has ended before it was traced
                found.setdefault(name, Counter()).update(calls_in(Path(folder, str(pid)).read_text()))


def calls_in(table: str) -> Counter[str]:
    """The calls in a table of strace's."""
    rows = [line.split() for line in table.splitlines()]
    return Counter(
        {row[-1]: int(row[3]) for row in rows if len(row) > 4 and row[3].isdigit() and row[-1] != "total"}
    )


def _wait_until_traced(processes: Mapping[int, str]) -> None:
    deadline = time.monotonic() + _ATTACHED_S
    waiting = set(processes)
    while waiting:
        waiting = {pid for pid in waiting if _tracer(pid) == 0}
        if waiting and time.monotonic() > deadline:
            raise RuntimeError(f"strace does not follow {', '.join(processes[pid] for pid in waiting)}")
        time.sleep(0.01)


def _tracer(pid: int) -> int:
    """The process that traces another one; -1 where that has ended."""
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("TracerPid:"):
                return int(line.split()[1])
    return -1


def services() -> dict[int, str]:
    """The processes of the host's services, with their names; without those that run this one."""
    own = Path("/proc/self/cgroup").read_text()
    found = {}
    for folder in Path("/proc").iterdir():
        with suppress(OSError):
            group = (folder / "cgroup").read_text() if folder.name.isdigit() else ""
            if group.strip().endswith(".service") and group != own:
                found[int(folder.name)] = (folder / "comm").read_text().strip()
    return found


def calls_drawn(ours: Sequence[Calls], bare: Sequence[Calls]) -> str:
    """The median connects of both sides as text, with the processes that made the calls."""
    one, other = _median(ours), _median(bare)
    lines = [
        f"system calls without {_CLOCK}, connect and disconnect: {one.total()}, by the bare script "
        f"{other.total()}, {one.total() / other.total():.2f}x"
    ]
    for name in sorted({*one.by_process, *other.by_process}, key=lambda name: -one.total((name,))):
        if one.total((name,)) or other.total((name,)):
            most = one.by_process.get(name, Counter[str]()).most_common(9)
            calls = ", ".join(f"{call} {number}" for call, number in most if call != _CLOCK)
            lines.append(f"  {one.total((name,)):5} {other.total((name,)):5}  {name:16} {calls}")
    return "\n".join(lines)


def _median(calls: Sequence[Calls]) -> Calls:
    return sorted(calls, key=lambda one: one.total())[len(calls) // 2]
