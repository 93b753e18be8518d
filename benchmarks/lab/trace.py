"""Trace connects across all processes of the guest: their D-Bus messages and netlink datagrams, and costs."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

from benchmarks.accounting import Account
from benchmarks.lab.counts import (
    CLIENT,
    OURS,
    Calls,
    calls_drawn,
    counted,
    counting,
    counts_drawn,
    services,
)
from benchmarks.lab.hub import Hub
from benchmarks.lab.stage import Stage
from benchmarks.lab.subject import Subject, connected_once
from benchmarks.lab.time_line import Cost, Event, Names, costs_drawn, drawn, of_bus, of_netlink, packets
from tests.lab.guest.namespace import run
from tests.lab.guest.system_bus import BusError, SystemBus

_COSTED: Final = 20
"""Connects whose processor time is counted, in the kernel's ticks: so many that a tick no longer matters."""
_TRACED: Final = 9
_COUNTED: Final = 5
"""Connects whose system calls are counted, which takes seconds each."""
_REST_S: Final = 1.2
"""After a disconnect: what the services do later is counted, too."""
_LONGEST_RESTS: Final = 20
_BUS: Final = "org.freedesktop.DBus"
_MONITOR: Final = "nlmon0"
_FAMILY: Final = re.compile(r"ID: (0x[0-9a-f]+)")
_OURS: Final = os.getpid()


def file_of(backend: str) -> str:
    """The name of the file with a backend's time line."""
    return f"trace-{backend}.txt"


async def trace(stage: Stage, hub: Hub, bus: SystemBus) -> str:
    """Trace connects of the running backend; returns the time line of the median one, what all processes cost
    per connect without the trace, and what a connect costs in counts."""
    async with connected_once(stage, hub) as subject:
        await _connects(stage, hub, subject, 2)
        costs: dict[int, _Spent] = {}
        untraced = await _connects(stage, hub, subject, _COSTED, costs)
        traced, events = await traced_connects(stage, hub, bus, subject, _TRACED)
        ours, bare = await system_calls(stage, hub, subject, _COUNTED)
    shown = sorted(traced, key=_duration)[len(traced) // 2]
    began, ended = shown
    return "\n".join(
        [
            f"{await hub.backend()}: a connect takes {median(map(_duration, untraced)) * 1e3:.0f} ms, traced "
            f"{_duration(shown) * 1e3:.0f} ms; ms from the call, ms from the line before",
            "",
            drawn(events, began, ended),
            "",
            f"per connect, without the trace, of {_COSTED}:",
            costs_drawn(one.cost(_COSTED) for one in costs.values()),
            "",
            f"the medians of {_TRACED}:",
            counts_drawn([counted(events, *one) for one in traced]),
            "",
            f"the median of {_COUNTED}:",
            calls_drawn(ours, bare),
            "",
        ]
    )


async def traced_connects(
    stage: Stage, hub: Hub, bus: SystemBus, subject: Subject, rounds: int
) -> tuple[list[tuple[float, float]], list[Event]]:
    """Connect and disconnect so often; returns when each connect began and ended, by the clock, and what was
    sent meanwhile."""
    with tempfile.TemporaryDirectory() as folder, _captured(Path(folder)) as captured:
        connects = await _connects(stage, hub, subject, rounds)
        names = await _names(bus)
        await _until_read(captured)
        events = of_bus(packets(captured.bus.read_bytes()), names)
        events += of_netlink(packets(captured.netlink.read_bytes()), names)
    return connects, events


async def system_calls(
    stage: Stage, hub: Hub, subject: Subject, rounds: int
) -> tuple[list[Calls], list[Calls]]:
    """Count the system calls of all services, by us and by the bare side, in turns."""
    ours, bare = [], []
    async with stage.bare(subject.adapter, "1.9") as beside:
        await hub.until_unavailable(beside, ours=subject.adapter)
        for _ in range(rounds):
            await hub.free(subject.adapter.interface)
            await stage.bring_into_scan_list(subject.adapter, subject.camera)
            with counting(services()) as found:
                await hub.connected(subject.device)
                await hub.disconnect(subject.device)
                await asyncio.sleep(_REST_S)
            ours.append(Calls(found))
            async with hub.asleep():
                await stage.bring_into_scan_list(beside, subject.camera)
                others = {pid: name for pid, name in services().items() if name not in OURS}
                with counting(others) as found:
                    await stage.join_bare(beside, subject.camera)
                    await asyncio.sleep(_REST_S)
            bare.append(Calls(found))
    return ours, bare


def _duration(connect: tuple[float, float]) -> float:
    return connect[1] - connect[0]


@dataclass(slots=True)
class _Spent:
    """What a process has spent on connects so far."""

    process: str
    cpu_s: float = 0.0
    wake_ups: int = 0

    def cost(self, connects: int) -> Cost:
        return Cost(self.process, self.cpu_s / connects, self.wake_ups / connects)


async def _connects(
    stage: Stage, hub: Hub, subject: Subject, rounds: int, costs: dict[int, _Spent] | None = None
) -> list[tuple[float, float]]:
    found = []
    for _ in range(rounds):
        await hub.free(subject.adapter.interface)
        await stage.bring_into_scan_list(subject.adapter, subject.camera)
        before = _accounts() if costs is not None else {}
        began = time.time()
        await hub.connected(subject.device)
        found.append((began, time.time()))
        for pid, spent in (_accounts() if costs is not None else {}).items():
            assert costs is not None
            if pid in before:
                sum_ = costs.setdefault(pid, _Spent(spent.process))
                sum_.cpu_s += spent.cpu_s - before[pid].cpu_s
                sum_.wake_ups += spent.wake_ups - before[pid].wake_ups
        await hub.disconnect(subject.device)
    return found


def _accounts() -> dict[int, _Spent]:
    accounts = {}
    for pid in (one for one in _pids() if one != _OURS):
        with suppress(OSError):  # it has ended
            one = Account(pid)
            accounts[pid] = _Spent(_process(pid), one.cpu_s(), one.sleeps())
    return accounts


# -- capture


@dataclass(frozen=True, slots=True)
class _Captured:
    """Where the captures are."""

    bus: Path
    netlink: Path


@contextmanager
def _captured(folder: Path) -> Iterator[_Captured]:
    """Capture all messages of the system bus and all netlink datagrams meanwhile.

    The bus has no times of its own: whoever reads it is to run as soon as there is something to read.
    """
    files = _Captured(folder / "bus", folder / "netlink")
    run("modprobe", "nlmon")
    run("ip", "link", "add", _MONITOR, "type", "nlmon")
    run("ip", "link", "set", _MONITOR, "up")
    readers = []
    try:
        with files.bus.open("wb") as to:
            readers.append(
                subprocess.Popen(("chrt", "--fifo", "1", "busctl", "--system", "capture"), stdout=to)
            )
        command = ("tcpdump", "-i", _MONITOR, "-w", str(files.netlink), "-U", "-s", "0", "-B", "4096")
        readers.append(subprocess.Popen((*command, "-Z", "root"), stderr=subprocess.DEVNULL))
        _wait_until_written(files)
        yield files
    finally:
        for reader in readers:
            reader.send_signal(signal.SIGINT)
            reader.wait()
        run("ip", "link", "delete", _MONITOR)


async def _until_read(files: _Captured) -> None:
    """Wait until both captures have read what there was: they run beside what is measured."""
    before = None
    for _ in range(_LONGEST_RESTS):
        if before == (sizes := [file.stat().st_size for file in (files.bus, files.netlink)]):
            return
        before = sizes
        await asyncio.sleep(_REST_S)
    raise RuntimeError("the message bus or the kernel's network state does not come to rest")


def _wait_until_written(files: _Captured) -> None:
    """Wait until both captures run."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        run("ip", "link", "show", _MONITOR)
        run("busctl", "--system", "status", _BUS)
        if all(file.exists() and file.stat().st_size for file in (files.bus, files.netlink)):
            return
        time.sleep(0.1)
    raise RuntimeError("nothing is captured")


# -- who is who


async def _names(bus: SystemBus) -> Names:
    [names] = await bus.call(_BUS, "/org/freedesktop/DBus", _BUS, "ListNames")
    of_bus = {_BUS: "dbus"}
    for name in names:
        with suppress(BusError):
            [pid] = await bus.call(
                _BUS, "/org/freedesktop/DBus", _BUS, "GetConnectionUnixProcessID", "s", name
            )
            of_bus[name] = _process(pid)
    found = _FAMILY.search(run("genl", "-d", "ctrl", "get", "name", "nl80211"))
    return Names(of_bus, _ports(), int(found[1], 16) if found else 0)


def _ports() -> dict[int, str]:
    """The processes by the netlink ports of their sockets."""
    inodes: dict[str, list[int]] = defaultdict(list)
    for line in Path("/proc/net/netlink").read_text().splitlines()[1:]:
        fields = line.split()
        inodes[fields[9]].append(int(fields[2]))
    ports = {pid: _process(pid) for pid in _pids()}
    for pid in _pids():
        with suppress(OSError):
            for descriptor in Path(f"/proc/{pid}/fd").iterdir():
                with suppress(OSError):
                    socket = re.fullmatch(r"socket:\[(\d+)\]", str(descriptor.readlink()))
                    for port in inodes.get(socket[1], ()) if socket else ():
                        ports[port] = _process(pid)
    return {port: name for port, name in ports.items() if port}


def _process(pid: int) -> str:
    if pid == _OURS:
        return CLIENT
    with suppress(OSError):
        return Path(f"/proc/{pid}/comm").read_text().strip()
    return f"process {pid}"


def _pids() -> list[int]:
    return [int(one.name) for one in Path("/proc").iterdir() if one.name.isdigit()]
