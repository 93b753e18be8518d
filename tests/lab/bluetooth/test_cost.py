"""What Bluetooth costs a running download, and what it costs while nobody uses it."""

import asyncio
import re
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from wifimgrd.domain.power import SEARCH_S

from ..guest.access_point import Camera
from ..guest.adapters import Adapter
from ..guest.deadline import poll_until
from ..guest.namespace import run
from ..guest.network_manager import DeviceState, NetworkManager
from ..guest.services import drop_in
from ..guest.traffic import Download
from .world import BLUETOOTHD, PROCESS, Air, Daemon, measured

ADDRESS = "D4:32:60:00:10:01"
NEIGHBOURS = 4
UNITS = (PROCESS, BLUETOOTHD, "dbus.service")
ROUNDS, ROUND_S = 3, SEARCH_S
AT_MOST = 0.02
LOADED = 2
"""Beside other work, a guest is charged for more than it uses: up to so many times as much."""
SETTLED_S, IDLE_S = 1.0, 10.0


def cpu_s() -> float:
    """The processor time, in seconds, of those who search; bluetoothd and the bus also work for others."""
    used = (run("systemctl", "show", "--value", "-p", "CPUUsageNSec", unit) for unit in UNITS)
    return sum(map(int, used)) / 1e9


async def measure(interface: str, address: str, hub: Daemon | None, number: int) -> tuple[float, float]:
    """The round trips to a camera in ms, their median, and the processor time of a second; beside a search or
    without."""
    pinging = asyncio.to_thread(run, "ping", "-n", "-I", interface, "-i", "0.05", "-w", str(ROUND_S), address)
    began_cpu_s, began_s = cpu_s(), time.monotonic()
    if hub is None:
        answers = await pinging
    else:
        search = hub.call("Search", "sua(ss)", f"search-{number}", ROUND_S, [["fea6", ""]])
        answers, _ = await asyncio.gather(pinging, search)
    used = (cpu_s() - began_cpu_s) / (time.monotonic() - began_s)
    return statistics.median(map(float, re.findall(r"time=([0-9.]+)", answers))), used


async def test_a_search_costs_a_download_next_to_nothing(
    air: Air,
    hub: Daemon,
    nm: NetworkManager,
    cameras: Callable[..., Camera],
    adapters: Callable[..., Adapter],
) -> None:
    """The emulated radios share no air, so that this is the host's part: what the processes of a search use.
    The round trips also wait for the emulated radio, which is busier while the adapter listens."""
    adapter, camera = adapters(), cameras("A")
    await nm.wait_for_state(adapter.interface, DeviceState.DISCONNECTED)
    await nm.connect(adapter.interface, camera)
    for number in range(NEIGHBOURS):
        air.do("gopro", number=f"30{number:02}")
    await hub.call("Search", "sua(ss)", "search", 1, [["fea6", ""]])
    with Download(adapter.interface) as download:
        sides = [
            [await measure(adapter.interface, camera.address, one, number) for one in (None, hub)]
            for number in range(ROUNDS)
        ]
        download.expect_whole()
    (alone_ms, alone), (beside_ms, beside) = (
        [statistics.median(one[side][value] for one in sides) for value in (0, 1)] for side in (0, 1)
    )
    measured(
        f"a search among {NEIGHBOURS} cameras: {beside - alone:.2%} of a processor; a round trip beside a"
        f" download {beside_ms:.2f} ms, without a search {alone_ms:.2f} ms"
    )
    assert beside - alone < AT_MOST * LOADED


@pytest.fixture
def unwatched() -> Iterator[None]:
    """The process without its watchdog, whose wake-ups are none of its own."""
    with drop_in(PROCESS, "WatchdogSec=0"):
        yield


async def test_without_an_operation_nothing_wakes_up_and_nobody_listens(
    unwatched: None, air: Air, hub: Daemon
) -> None:
    air.do("gopro", number="1001")
    await hub.pair(ADDRESS)
    await hub.call("Release", "s", ADDRESS)
    await hub.call("Search", "sua(ss)", "search", 1, [["fea6", ""]])
    poll_until(lambda: not air.state("1001")["connected"], "it is released")
    await asyncio.sleep(SETTLED_S)
    pid = run("systemctl", "show", "--value", "-p", "MainPID", PROCESS).strip()
    before, began_s = wake_ups(pid), time.monotonic()
    listened = False
    while time.monotonic() - began_s < IDLE_S:
        listened = listened or air.do("adapter")["listens"]
        await asyncio.sleep(0.25)
    assert wake_ups(pid) == before
    assert not listened


def wake_ups(pid: str) -> int:
    """How often a process has gone to sleep."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(re.findall(r"^voluntary_ctxt_switches:\s+(\d+)", status, re.MULTILINE)[0])
