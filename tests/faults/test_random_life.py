"""A random life breaks no invariant, loses nothing and lets nothing grow; `make soak` has a long one."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.faults.footprint import Process, growth, reported
from tests.faults.random_life import Life, chance_of, duration_s, seed
from tests.faults.shim import running_shim
from tests.faults.simulated_world import NETWORKS, SimulatedWorld
from tests.http.served import Served
from tests.processes import Hub
from wifimgrd.bus.connection import BusConnection

DURATION_S: Final = duration_s("25s")
SEED: Final = seed()
CHAPTER_S: Final = 5.0
WARM_UP: Final = 0.2
"""Of the duration; after that nothing may grow."""
CROWD: Final = 4


@pytest.mark.slow
async def test_a_random_life_breaks_nothing_and_leaves_nothing_behind(
    hub: Hub, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert hub.process is not None
    log = tmp_path / "shim.log"
    async with running_shim(hub.address, log) as shim, Served.at(shim.url) as http:
        world = SimulatedWorld(hub.client, chance_of(SEED, CROWD))
        life = Life(hub.client, http, SEED, NETWORKS, world, CROWD)
        processes = [
            Process("daemon", hub.process.pid, hub.log.read_text),
            Process("shim", shim.pid, log.read_text),
        ]
        await hub.client.wait_until(lambda client: client.available, 10)
        bus = await BusConnection.open(hub.address)
        following = asyncio.create_task(life.follower.follow())
        measured: list[dict[str, int]] = []
        chapters = max(2, round(DURATION_S / CHAPTER_S))
        for chapter in range(chapters):
            waits_s = await life.live(CHAPTER_S)
            await world.mend()
            await life.check()
            assert not following.done(), following.exception()
            if chapter in (int(chapters * WARM_UP), chapters - 1):
                measured.append({})
                for process in processes:
                    measured[-1] |= await process.sizes(bus)
                with capsys.disabled():
                    sys.stdout.write(f"\nseed {SEED}, {chapter + 1} of {chapters} chapters: {measured[-1]}\n")
                    sys.stdout.writelines(reported(waits_s))
        assert "camera-pass" not in said(tmp_path, processes), "a password was shown"
        following.cancel()
        await bus.close()
    assert growth(*measured) == []


def said(logs: Path, processes: list[Process]) -> str:
    """Every log, and what everybody sees of a process."""
    files = [*logs.glob("*.log"), *(Path(f"/proc/{process.pid}/cmdline") for process in processes)]
    return "".join(file.read_text() for file in files)
