"""What a connect costs in counts, which do not depend on the machine (`make bench BENCH=trace`)."""

import pytest

from benchmarks.lab.counts import counted
from benchmarks.lab.hub import running_hub
from benchmarks.lab.subject import connected_once
from benchmarks.lab.supplicant_stage import SupplicantStage
from benchmarks.lab.trace import system_calls, traced_connects
from tests.lab.guest.system_bus import SystemBus

_CONNECTS = 5
"""The least of them counts: whether the first DHCP message is lost, and when other processes run, differs."""
_SYSTEM_CALLS = 4

ROUND_TRIPS = 4
"""One after another, before wpa_supplicant begins to join."""
MESSAGES = 35
"""On the bus, of our processes."""
DATAGRAMS = 64
"""Of netlink, of our processes; 26 of them are how libnftables reads the tables before a transaction."""
TIMES_BARE = 1.5
"""System calls of all services, against a bare script on wpa_supplicant and networkd. It is 1.24 to 1.38 on a
quiet machine; beside other work, threads of the daemon wait for each other more often. It was 1.7."""


@pytest.mark.without_networkmanager
async def test_a_connect_takes_few_messages_and_system_calls() -> None:
    async with SystemBus() as bus:
        stage = SupplicantStage(bus)
        await stage.open()
        async with running_hub(bus) as hub, connected_once(stage, hub) as subject:
            connects, events = await traced_connects(stage, hub, bus, subject, _CONNECTS)
            ours, bare = await system_calls(stage, hub, subject, _SYSTEM_CALLS)
    counts = [counted(events, *one) for one in connects]
    assert 0 < min(one.round_trips for one in counts) <= ROUND_TRIPS
    assert 0 < min(one.messages.total() for one in counts) <= MESSAGES
    assert 0 < min(one.datagrams.total() for one in counts) <= DATAGRAMS
    assert 0 < min(one.total() for one in ours) <= TIMES_BARE * min(one.total() for one in bare)
