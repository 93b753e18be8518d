"""A disk that takes nothing more under the running daemon: what is there goes on, what is new is refused."""

from __future__ import annotations

import asyncio
import resource
import signal
import sqlite3

import pytest

from tests.commands import connect, disconnect
from tests.faults.conftest import Onlooker
from tests.processes import Hub
from wifimgrd.domain.errors import InternalError

_NOTHING = (0, resource.RLIM_INFINITY)
_EVERYTHING = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)


def room(hub: Hub, limit: tuple[int, int]) -> None:
    """How large the files of the daemon may become, its log's among them; writing beyond fails."""
    assert hub.process is not None
    resource.prlimit(hub.process.pid, resource.RLIMIT_FSIZE, limit)


async def test_a_full_disk_costs_no_link_and_is_said_to_who_wants_more(hub: Hub) -> None:
    first = await hub.create(1)
    await hub.until(first, "connected")
    room(hub, _NOTHING)
    with pytest.raises(InternalError, match="the disk that holds the state"):
        await hub.create(2)
    with pytest.raises(InternalError):
        await hub.client.update_device(first, {"name": "other"})
    assert set(hub.client.devices) == {first}
    assert hub.client.devices[first].name == "SIM-CAM-1"
    await disconnect(hub.client, first)
    await connect(hub.client, first, wait=True)
    with pytest.raises(InternalError):
        await hub.client.remove_device(first)
    assert set(hub.client.devices) == {first}
    room(hub, _EVERYTHING)
    second = await hub.create(2)
    await hub.until(second, "connected")
    # What a link taught goes to disk some seconds later, and before what is acknowledged next.
    await hub.client.update_device(second, {"name": "other"})
    await hub.end(signal.SIGKILL)
    await hub.start()
    assert set(hub.client.devices) == {first, second}
    await hub.until(second, "connected")


async def test_a_disk_that_takes_its_time_has_only_those_wait_who_need_it(
    hub: Hub, onlooker: Onlooker
) -> None:
    """The state's file is held by somebody else meanwhile, which is as slow as a disk can be."""
    first = await hub.create(1)
    await hub.until(first, "connected")
    file = hub.state / "wifimgrd.db"
    holder = sqlite3.connect(file, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    creating = asyncio.create_task(hub.create(2))
    async with onlooker.asking():
        await hub.client.simulate("PowerOffCamera", "ayb", b"SIM-CAM-1", True)
        await hub.until(first, "connecting")
        await hub.client.simulate("PowerOnCamera", "ay", b"SIM-CAM-1")
        await hub.until(first, "connected")
    assert not creating.done()
    holder.close()
    await hub.until(await creating, "connected")
