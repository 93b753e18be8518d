"""The part of the measurements that needs nothing but this host."""

from __future__ import annotations

import os

from benchmarks import progress
from benchmarks.host.apply import apply_cost
from benchmarks.host.channel_clients import channel_clients
from benchmarks.host.footprint import footprint
from benchmarks.host.reads import long_list, reads
from benchmarks.host.registrations import REGISTERED, registrations
from benchmarks.host.scale import BIG, SMALL, connect_cost
from benchmarks.host.signal_history import signal_history
from benchmarks.host.start import start_cost
from benchmarks.host.stations import stations
from benchmarks.host.toggles import toggles
from benchmarks.host.world import running_world
from benchmarks.table import Row


async def measure() -> list[Row]:
    """All rows of the simulated world."""
    progress.say("host: connects and disconnects in a big and a small world, in turns")
    async with running_world(*BIG) as big, running_world(*SMALL) as small:
        rows = await connect_cost(big, small)
        progress.say("host: reads")
        rows += await reads(big, BIG[1])
    progress.say("host: memory, and a minute of rest")
    async with running_world(*SMALL) as small:
        rows += await footprint(small)
    progress.say("host: a week of signal")
    rows += await signal_history()
    progress.say("host: three minutes of six cameras as MAVLink cameras")
    rows += await stations()
    progress.say("host: starts")
    rows += await start_cost()
    if os.geteuid() == 0:  # who alone can have network namespaces
        progress.say("host: calls of the helper beside other cameras, in turns")
        rows += await apply_cost()
    progress.say("host: toggles")
    async with running_world(*SMALL) as small:
        [device_id, *_] = await small.register(1)
        rows += await toggles(small, device_id)
        progress.say("host: clients of the channel")
        rows += await channel_clients(small, device_id)
    progress.say("host: thousands of registrations")
    async with running_world(*SMALL) as small:
        rows += await registrations(small)
        rows += await long_list(small, REGISTERED)
    return rows
