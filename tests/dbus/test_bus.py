"""What FACTS of the D-Bus library had to be mended: each mend, on a real bus."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.message_bus import MessageBusDaemon
from wifimgrd.dbus.bus import (
    BusClosed,
    BusConnection,
    BusError,
    MethodCall,
    NameTaken,
    Signal,
    Variant,
)


def open_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


Pair = tuple[BusConnection, BusConnection]
BUS = "org.freedesktop.DBus"


@pytest.fixture
async def pair(message_bus: MessageBusDaemon) -> AsyncIterator[Pair]:
    server = await BusConnection.open(message_bus.address)
    client = await BusConnection.open(message_bus.address)
    yield server, client
    await client.close()
    await server.close()


async def test_a_burst_of_30000_signals_arrives_whole_and_in_order(pair: Pair) -> None:
    server, client = pair
    seen: list[int] = []
    done = asyncio.Event()

    def note(signal: Signal) -> None:
        seen.append(signal.body[0])
        if len(seen) == 30_000:
            done.set()

    await client.watch(note, interface="t.X", member="Sig")
    for number in range(30_000):
        server.emit("/x", "t.X", "Sig", "i", [number])
    async with asyncio.timeout(30):
        await done.wait()
    assert seen == list(range(30_000))
    assert server.is_open


async def test_a_call_is_answered_and_variants_are_unpacked(pair: Pair) -> None:
    server, client = pair
    server.serve(
        lambda call: server.reply(
            call, "a{sv}", [{"a": Variant("ay", b"\xff"), "b": Variant("v", Variant("i", 3))}]
        )
    )
    [answer] = await client.call(server.unique_name, "/x", "t.X", "Get")
    assert answer == {"a": b"\xff", "b": 3}


async def test_the_caller_is_known(pair: Pair) -> None:
    server, client = pair
    server.serve(lambda call: server.reply(call, "s", [call.sender]))
    assert await client.call(server.unique_name, "/x", "t.X", "Who") == [client.unique_name]


async def test_an_error_reply_carries_name_sentence_and_further_arguments(pair: Pair) -> None:
    server, client = pair
    server.serve(lambda call: server.reply_error(call, "t.Error.No", "no way", "sas", [["why"]]))
    with pytest.raises(BusError) as caught:
        await client.call(server.unique_name, "/x", "t.X", "Do")
    assert (caught.value.name, caught.value.message, caught.value.body) == (
        "t.Error.No",
        "no way",
        ("no way", ["why"]),
    )


async def test_a_call_without_answer_times_out_and_leaves_nothing(pair: Pair) -> None:
    server, client = pair
    server.serve(lambda call: None)
    with pytest.raises(TimeoutError):
        await client.call(server.unique_name, "/x", "t.X", "Never", timeout_s=0.01)
    assert client._pending == {}


async def test_a_call_fails_at_once_when_the_bus_dies(message_bus: MessageBusDaemon) -> None:
    server = await BusConnection.open(message_bus.address)
    client = await BusConnection.open(message_bus.address)
    called = asyncio.Event()
    server.serve(lambda call: called.set())
    waiting = asyncio.create_task(client.call(server.unique_name, "/x", "t.X", "Never"))
    await called.wait()
    message_bus.kill()
    with pytest.raises(BusClosed):
        await waiting
    await client.wait_closed()
    await server.wait_closed()
    with pytest.raises(BusClosed):
        await client.call(BUS, "/", BUS, "GetId")
    server.emit("/x", "t.X", "Sig", "", [])


async def test_connections_leave_no_file_descriptor(message_bus: MessageBusDaemon) -> None:
    before = open_descriptors()
    for _ in range(20):
        connection = await BusConnection.open(message_bus.address)
        await connection.close()
    assert open_descriptors() == before


async def test_a_failed_connection_leaves_no_file_descriptor(tmp_path: Path) -> None:
    before = open_descriptors()
    for _ in range(5):
        with pytest.raises(BusClosed):
            await BusConnection.open(f"unix:path={tmp_path}/nothing")
    assert open_descriptors() == before


async def test_a_second_owner_of_a_name_is_refused(pair: Pair) -> None:
    server, client = pair
    await server.request_name("t.name")
    with pytest.raises(NameTaken):
        await client.request_name("t.name")


async def test_a_watch_follows_a_well_known_name_from_owner_to_owner(
    message_bus: MessageBusDaemon, pair: Pair
) -> None:
    first, client = pair
    heard: asyncio.Queue[str] = asyncio.Queue()
    await first.request_name("t.name")
    await client.watch(lambda signal: heard.put_nowait(signal.body[0]), sender="t.name", member="Sig")
    first.emit("/x", "t.X", "Sig", "s", ["first"])
    assert await heard.get() == "first"
    await first.close()
    second = await BusConnection.open(message_bus.address)
    second.emit("/x", "t.X", "Sig", "s", ["not yet the owner"])
    await second.request_name("t.name")
    second.emit("/x", "t.X", "Sig", "s", ["second"])
    assert await heard.get() == "second"
    await second.close()


async def test_a_closed_watch_hears_nothing(pair: Pair) -> None:
    server, client = pair
    heard: list[str] = []
    last: asyncio.Queue[str] = asyncio.Queue()
    watch = await client.watch(lambda signal: heard.append(signal.member), member="Sig")
    await client.watch(lambda signal: last.put_nowait(signal.member), member="Last")
    await watch.close()
    server.emit("/x", "t.X", "Sig", "", [])
    server.emit("/x", "t.X", "Last", "", [])
    assert await last.get() == "Last"
    assert heard == []


async def test_a_raising_handler_does_not_silence_the_others(pair: Pair) -> None:
    server, client = pair
    heard: asyncio.Queue[str] = asyncio.Queue()
    problems: list[str] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: problems.append(context["message"]))

    def fail(signal: Signal) -> None:
        raise ValueError(signal.member)

    await client.watch(fail, member="Sig")
    await client.watch(lambda signal: heard.put_nowait(signal.member), member="Sig")
    server.emit("/x", "t.X", "Sig", "", [])
    assert await heard.get() == "Sig"
    assert problems == ["handling the D-Bus signal Sig failed"]


async def test_namespaces_and_first_arguments_select(pair: Pair) -> None:
    server, client = pair
    heard: asyncio.Queue[str] = asyncio.Queue()
    await client.watch(lambda s: heard.put_nowait(s.path), path_namespace="/a/b", arg0="yes")
    for path in ("/a/bc", "/a/b", "/a/b/c"):
        server.emit(path, "t.X", "Sig", "s", ["no"])
        server.emit(path, "t.X", "Sig", "s", ["yes"])
    assert [await heard.get(), await heard.get()] == ["/a/b", "/a/b/c"]
    assert heard.empty()


async def test_a_call_that_wants_no_reply_gets_none(pair: Pair) -> None:
    server, client = pair
    calls: list[MethodCall] = []
    server.serve(calls.append)
    server_call = asyncio.create_task(client.call(server.unique_name, "/x", "t.X", "Never", timeout_s=5))
    while not calls:
        await client.call(BUS, "/", BUS, "GetId")
        await server.call(BUS, "/", BUS, "GetId")
    quiet = MethodCall(
        **{name: getattr(calls[0], name) for name in MethodCall.__slots__} | {"expects_reply": False}
    )
    server.reply(quiet)
    server.reply(calls[0], "s", ["answer"])
    assert await server_call == ["answer"]
