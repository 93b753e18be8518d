"""Measures in the lab's guest, and writes the rows to FILE.

`python3 -m benchmarks.lab.guest FILE PART`, where PART is all, backends, connects or wakes; or trace, which
writes time lines as text beside FILE.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from benchmarks import progress
from benchmarks.lab import addresses, backends, joins, losses, pushes, rest, trace, wakes
from benchmarks.lab.hub import Hub, running_hub
from benchmarks.lab.networkmanager_stage import NetworkManagerStage
from benchmarks.lab.stage import Stage, helpers_user
from benchmarks.lab.supplicant_stage import SupplicantStage
from benchmarks.table import Row
from tests.lab.guest.namespace import run
from tests.lab.guest.services import without_networkmanager
from tests.lab.guest.system_bus import SystemBus


async def measure(part: str) -> list[Row]:
    """All rows of the lab, or only those of a part."""
    run("systemctl", "start", "NetworkManager.service")
    match part:
        case "wakes":
            return await _wakes()
        case "connects":
            return await _connects()
    everything = part == "all"
    rows, with_networkmanager = await _with_networkmanager(everything=everything)
    async with _supplicant_stage() as (stage, bus), running_hub(bus) as hub:
        without = await _backend(stage, hub)
    return rows + backends.rows(without, with_networkmanager)


@asynccontextmanager
async def _networkmanager_stage() -> AsyncIterator[tuple[NetworkManagerStage, SystemBus]]:
    async with SystemBus() as bus, AsyncExitStack() as held:
        with helpers_user():
            bus_as_helper = await held.enter_async_context(SystemBus())
        stage = NetworkManagerStage(bus, bus_as_helper)
        await stage.open()
        yield stage, bus


@asynccontextmanager
async def _supplicant_stage() -> AsyncIterator[tuple[SupplicantStage, SystemBus]]:
    with without_networkmanager():
        async with SystemBus() as bus:
            stage = SupplicantStage(bus)
            await stage.open()
            yield stage, bus


async def _connects() -> list[Row]:
    async with _networkmanager_stage() as (stage, bus), running_hub(bus) as hub:
        its_listed, its_known = await _connects_of(stage, hub)
    async with _supplicant_stage() as (without, bus), running_hub(bus) as hub:
        listed, known = await _connects_of(without, hub)
    rows = joins.listed_rows(its_listed) + joins.known_rows(its_known)
    return rows + backends.connect_rows(listed, known, its_listed, its_known)


async def _connects_of(stage: Stage, hub: Hub) -> tuple[joins.Joins, joins.Joins]:
    progress.say(f"backend {await hub.backend()}: connects")
    return await joins.listed(stage, hub, nmcli=False), await joins.known(stage, hub)


async def write_traces(folder: Path) -> None:
    """Write the time line of a connect by each backend into a folder."""
    run("systemctl", "start", "NetworkManager.service")
    async with _networkmanager_stage() as (stage, bus), running_hub(bus) as hub:
        (folder / trace.file_of("networkmanager")).write_text(await trace.trace(stage, hub, bus))
    async with _supplicant_stage() as (without, bus), running_hub(bus) as hub:
        (folder / trace.file_of("wpa_supplicant")).write_text(await trace.trace(without, hub, bus))


async def _wakes() -> list[Row]:
    async with _networkmanager_stage() as (stage, bus), running_hub(bus) as hub:
        return await wakes.wakes(stage, hub)


async def _with_networkmanager(*, everything: bool) -> tuple[list[Row], backends.Figures]:
    rows: list[Row] = []
    async with _networkmanager_stage() as (stage, bus):
        if everything:
            progress.say("NetworkManager alone: cameras that go, a wrong password, an absent camera")
            alone = await losses.networkmanager_alone(stage)
        async with running_hub(bus) as hub:
            at_rest = rest.memory(hub, "after start")
            figures = await _backend(stage, hub, nmcli=everything)
            if everything:
                progress.say("connect, first contact")
                new = await joins.first_contact(stage, hub)
                rows += joins.listed_rows(figures.listed)
                rows += joins.known_rows(figures.known) + joins.first_contact_rows(figures.known, new)
                rows += losses.losses_rows(figures.losses, alone)
                rows += losses.failures_rows(figures.failures, alone)
                progress.say("addresses")
                rows += await addresses.addresses(stage, hub)
                progress.say("cameras that sleep")
                rows += await wakes.wakes(stage, hub)
                progress.say("pushes")
                rows += await pushes.pushes(stage, hub)
                rows += at_rest + rest.memory(hub, "after all of that")
                rows += rest.idle_rows(joins.PART, figures.wake_ups)
    return rows, figures


async def _backend(stage: Stage, hub: Hub, *, nmcli: bool = False) -> backends.Figures:
    """What is measured of each backend, in the same order."""
    progress.say(f"backend {await hub.backend()}: connect, network in the scan list")
    at_start = hub.daemon.memory()
    listed = await joins.listed(stage, hub, nmcli=nmcli)
    progress.say("connect, just switched on")
    known = await joins.known(stage, hub)
    progress.say("losses")
    lost = await losses.losses(stage, hub)
    progress.say("failures")
    failed = await losses.failures(stage, hub)
    after = hub.daemon.memory()
    progress.say("a minute of rest")
    counted = await rest.wake_ups_at_rest(stage, hub)
    return backends.Figures(listed, known, lost, failed, at_start, after, counted)


if __name__ == "__main__":
    os.environ.setdefault("LANG", "C.UTF-8")
    file, part = sys.argv[1:]
    if part == "trace":
        asyncio.run(write_traces(Path(file).parent))
        measured = []
    else:
        measured = asyncio.run(measure(part))
    Path(file).write_text(json.dumps([row.as_json() for row in measured]))
