"""D-Bus clients that flood, stall, and send what nobody should: the others are served meanwhile."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path

import pytest

from tests.commands import connect, disconnect
from tests.faults.conftest import Onlooker
from tests.faults.footprint import Footprint
from tests.faults.rude_client import RudeClient
from tests.processes import Hub
from tests.soak import IS_SOAK
from wifimgrd.bus import names as bus_names
from wifimgrd.bus.connection import BusConnection, BusError, Variant
from wifimgrd.bus.values import typed
from wifimgrd.wire import names

PATIENCE_S = 10.0
"""What the shim waits for an answer before it calls the daemon away."""
GROWTH_KB = 24 * 1024
"""Of the daemon, at the worst moment: queues have bounds."""
CALLS = 100_000 if IS_SOAK else 25_000
"""All are read before what comes after them: on a busy machine a quarter is enough to wait for."""


def size(hub: Hub) -> Footprint:
    assert hub.process is not None
    return Footprint.of(hub.process.pid)


async def test_a_client_that_never_reads_holds_up_nobody(
    hub: Hub, rude: RudeClient, onlooker: Onlooker
) -> None:
    before = size(hub)
    await rude.listen_to_everything()
    async with onlooker.asking():
        asked = rude.ask(names.ROOT_PATH, bus_names.OBJECT_MANAGER, "GetManagedObjects")
        await rude.send(asked, times=2_000)
        device = await hub.create(1)
        for _ in range(20):
            await connect(hub.client, device, wait=True)
            await disconnect(hub.client, device)
    assert max(onlooker.waits_s) < PATIENCE_S
    assert size(hub).peak_kb - before.resident_kb < GROWTH_KB


async def test_a_flood_of_calls_holds_up_nobody(hub: Hub, rude: RudeClient, onlooker: Onlooker) -> None:
    before, owner = size(hub), await onlooker.owner()
    call = rude.order(names.ROOT_PATH, bus_names.PROPERTIES, "GetAll", "s", names.MANAGER)
    async with onlooker.asking():
        await rude.send(call * 100, times=CALLS // 100)
        await hub.create(1)
    assert max(onlooker.waits_s) < PATIENCE_S
    assert size(hub).peak_kb - before.resident_kb < GROWTH_KB
    assert await onlooker.owner() == owner


async def test_a_flood_of_commands_that_wait_holds_up_nobody(
    hub: Hub, rude: RudeClient, onlooker: Onlooker
) -> None:
    await hub.client.simulate("SetFault", "sa{sv}", "slow-join", {"seconds": Variant("d", 15.0)})
    device = await hub.create(1)
    before = size(hub)
    path, wait = names.device_path(device), {"wait": Variant("b", True)}
    command = rude.order(path, names.DEVICE, "Connect", "a{sv}", wait)
    async with onlooker.asking():
        await rude.send(command * 100, times=CALLS // 100)
        await disconnect(hub.client, device)
    assert max(onlooker.waits_s) < PATIENCE_S
    assert size(hub).peak_kb - before.resident_kb < GROWTH_KB


async def test_a_flood_of_signals_that_nobody_asked_for_holds_up_nobody(
    hub: Hub, rude: RudeClient, onlooker: Onlooker
) -> None:
    before, owner = size(hub), await onlooker.owner()
    assert owner is not None
    signal = rude.signal(owner, names.ROOT_PATH, bus_names.PROPERTIES, "PropertiesChanged")
    async with onlooker.asking():
        await rude.send(signal * 100, times=CALLS // 100)
        await hub.create(1)
    assert max(onlooker.waits_s) < PATIENCE_S
    assert size(hub).peak_kb - before.resident_kb < GROWTH_KB


@pytest.mark.parametrize(
    "value",
    [
        Variant("av", [Variant("y", 1)] * 500_000),
        Variant("as", [""] * 500_000),
        Variant("ay", b"\0" * 20_000_000),
    ],
    ids=["variants", "texts", "bytes"],
)
async def test_a_huge_message_is_refused_unread(hub: Hub, onlooker: Onlooker, value: object) -> None:
    before = size(hub)
    sender = await BusConnection.open(hub.address)
    try:
        async with onlooker.asking():
            with pytest.raises(BusError, match="the message is too large") as refused:
                await sender.call(
                    names.BUS_NAME, names.ROOT_PATH, names.MANAGER, "CreateDevice", "a{sv}", [{"name": value}]
                )
    finally:
        await sender.close()
    assert refused.value.name == "org.freedesktop.DBus.Error.InvalidArgs"
    assert size(hub).peak_kb - before.resident_kb < GROWTH_KB


@pytest.mark.parametrize(
    ("position", "byte"),
    [(1, 5), (1, 77), (2, 0xF8), (2, 0x80)],
    ids=["a type of the future", "a type out of nowhere", "flags of the future", "one more flag"],
)
async def test_what_d_bus_may_have_one_day_is_no_reason_to_go(
    hub: Hub, rude: RudeClient, onlooker: Onlooker, position: int, byte: int
) -> None:
    owner = await onlooker.owner()
    message = bytearray(rude.ask(names.ROOT_PATH, bus_names.PROPERTIES, "GetAll", "s", names.MANAGER))
    message[position] = byte
    await rude.send(bytes(message))
    async with onlooker.asking():
        await hub.create(1)
    assert await onlooker.owner() == owner


async def test_many_clients_that_ask_and_go_leave_nothing_behind(hub: Hub, onlooker: Onlooker) -> None:
    async def come_and_go() -> None:
        client = await RudeClient.on(hub.address)
        await client.send(client.ask(names.ROOT_PATH, names.MANAGER, "CreateDevice", "a{sv}", {}))
        client.close()

    async def many() -> None:
        for _ in range(50):
            await asyncio.gather(*(come_and_go() for _ in range(10)))
        async with asyncio.timeout(PATIENCE_S), onlooker.asking():
            while await rules(onlooker) != rules_before or size(hub).fds > fds_before:
                continue  # the copy of the state, which opens files, may be under way

    await hub.create(1, connect=False)  # a connected camera would be reached at its own time
    rules_before = await rules(onlooker)
    async with asyncio.timeout(PATIENCE_S), onlooker.asking():
        while "history.db-shm" not in open_files(hub):  # the last of three, opened for the first row
            await rules(onlooker)
    fds_before = size(hub).fds
    await many()  # as many as wait at once take memory, which is used again
    before = size(hub)
    await many()
    assert size(hub).resident_kb - before.resident_kb < 2 * 1024


def open_files(hub: Hub) -> set[str]:
    """The names of the files that the daemon has open."""
    assert hub.process is not None
    names_of: set[str] = set()
    for one in Path(f"/proc/{hub.process.pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # closed meanwhile
            names_of.add(one.readlink().name)
    return names_of


async def rules(onlooker: Onlooker) -> int:
    """Match rules that the daemon has on the bus."""
    stats = "org.freedesktop.DBus.Debug.Stats"
    [counted] = await onlooker.bus.call(
        "org.freedesktop.DBus", "/org/freedesktop/DBus", stats, "GetConnectionStats", "s", [names.BUS_NAME]
    )
    return typed(int, typed(dict[str, object], counted)["MatchRules"])
