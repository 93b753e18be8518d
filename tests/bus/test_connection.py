"""What FACTS of the D-Bus library had to be mended: each mend, on a real bus."""

from __future__ import annotations

import asyncio
import socket
from collections import Counter
from collections.abc import AsyncIterator, Awaitable
from pathlib import Path
from typing import Any, cast

import pytest

from tests.descriptors import open_descriptors, settled_descriptors
from tests.faults.passing_bus import PassingBus
from tests.message_bus import MessageBusDaemon, match_rules
from wifimgrd.bus import library
from wifimgrd.bus._calls import PendingCall
from wifimgrd.bus.connection import (
    BusClosed,
    BusConnection,
    BusError,
    MethodCall,
    NameTaken,
    Signal,
    Variant,
    Watches,
)
from wifimgrd.bus.values import typed


def a_pipe(said: bytes) -> socket.socket:
    """An end of a pipe in which something waits to be read."""
    ours, theirs = socket.socketpair()
    with ours:
        ours.send(said)
    return theirs


Pair = tuple[BusConnection, BusConnection]
BUS = "org.freedesktop.DBus"


@pytest.fixture
async def pair(message_bus: MessageBusDaemon) -> AsyncIterator[Pair]:
    server = await BusConnection.open(message_bus.address)
    client = await BusConnection.open(message_bus.address)
    yield server, client
    await client.close()
    await server.close()


@pytest.mark.slow
async def test_a_burst_of_30000_signals_arrives_whole_and_in_order(pair: Pair) -> None:
    server, client = pair
    seen: list[int] = []
    done = asyncio.Event()

    def note(signal: Signal) -> None:
        seen.append(typed(int, signal.body[0]))
        if len(seen) == 30_000:
            done.set()

    await client.watch(note, interface="t.X", member="Sig")
    for number in range(30_000):
        server.emit("/x", "t.X", "Sig", "i", [number])
    async with asyncio.timeout(120):
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
    before = settled_descriptors()
    for _ in range(20):
        connection = await BusConnection.open(message_bus.address)
        await connection.close()
    assert open_descriptors() == before


async def test_a_failed_connection_leaves_no_file_descriptor(tmp_path: Path) -> None:
    before = settled_descriptors()
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
    received: asyncio.Queue[str] = asyncio.Queue()
    await first.request_name("t.name")
    await client.watch(
        lambda signal: received.put_nowait(typed(str, signal.body[0])), sender="t.name", member="Sig"
    )
    first.emit("/x", "t.X", "Sig", "s", ["first"])
    assert await received.get() == "first"
    await first.close()
    second = await BusConnection.open(message_bus.address)
    second.emit("/x", "t.X", "Sig", "s", ["not yet the owner"])
    await second.request_name("t.name")
    second.emit("/x", "t.X", "Sig", "s", ["second"])
    assert await received.get() == "second"
    await second.close()


async def test_a_dropped_watch_receives_nothing(pair: Pair) -> None:
    server, client = pair
    received: list[str] = []
    last: asyncio.Queue[str] = asyncio.Queue()
    watch = await client.watch(lambda signal: received.append(signal.member), member="Sig")
    await client.watch(lambda signal: last.put_nowait(signal.member), member="Last")
    watch.drop()
    server.emit("/x", "t.X", "Sig", "", [])
    server.emit("/x", "t.X", "Last", "", [])
    assert await last.get() == "Last"
    assert received == []


async def test_a_watch_that_is_given_up_leaves_no_match_rule(pair: Pair) -> None:
    server, client = pair
    before = await match_rules(client, server)
    given_up = asyncio.create_task(client.watch(lambda _: None, interface="t.GivenUp"))
    await asyncio.sleep(0)  # it has sent the call, and waits
    given_up.cancel()
    with pytest.raises(asyncio.CancelledError):
        await given_up
    assert await match_rules(client, server) == before


async def test_a_dropped_watch_leaves_no_match_rule(pair: Pair) -> None:
    server, client = pair
    before = await match_rules(client, server)
    watch = await client.watch(lambda _: None, interface="t.Dropped")
    assert await match_rules(client, server) == before + 1
    watch.drop()
    watch.drop()
    assert await match_rules(client, server) == before


async def test_the_same_subscription_twice_is_one_match_rule_until_both_are_dropped(pair: Pair) -> None:
    server, client = pair
    before = await match_rules(client, server)
    received: asyncio.Queue[str] = asyncio.Queue()
    first = await client.watch(lambda _: None, interface="t.X", member="Sig")
    second = await client.watch(
        lambda signal: received.put_nowait(signal.member), interface="t.X", member="Sig"
    )
    assert await match_rules(client, server) == before + 1
    first.drop()
    assert await match_rules(client, server) == before + 1
    server.emit("/x", "t.X", "Sig", "", [])
    assert await received.get() == "Sig"
    second.drop()
    assert await match_rules(client, server) == before


async def test_the_same_subscription_at_once_leaves_no_match_rule(pair: Pair) -> None:
    server, client = pair
    before = await match_rules(client, server)
    watches = await asyncio.gather(*(client.watch(lambda _: None, interface="t.X") for _ in range(3)))
    for watch in watches:
        watch.drop()
    assert await match_rules(client, server) == before


class SlowBus:
    """A message bus that replies when a test wants it; it counts match rules."""

    def __init__(self) -> None:
        self.rules: Counter[object] = Counter()
        self._asked: list[tuple[object, asyncio.Future[None]]] = []

    async def call_bus(self, _member: str, _signature: str, body: list[object]) -> None:
        asked = asyncio.get_running_loop().create_future()
        self._asked.append((body[0], asked))
        await asked

    def reply(self) -> None:
        rule, asked = self._asked.pop(0)
        self.rules[rule] += 1
        asked.set_result(None)

    def send_to_bus(self, _member: str, _signature: str, body: list[object]) -> None:
        self.rules[body[0]] -= 1


async def test_a_match_rule_that_is_inherited_while_it_is_added_is_left_once() -> None:
    bus = SlowBus()
    watches = Watches(cast("BusConnection", bus))
    first, second = (asyncio.create_task(watches.add(lambda _: None, {"interface": "t.X"})) for _ in range(2))
    await asyncio.sleep(0)  # both have asked
    bus.reply()
    (await first).drop()
    bus.reply()
    (await second).drop()
    assert bus.rules.total() == 0


async def test_a_raising_handler_does_not_silence_the_others(pair: Pair) -> None:
    server, client = pair
    received: asyncio.Queue[str] = asyncio.Queue()
    problems: list[str] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: problems.append(context["message"]))

    def fail(signal: Signal) -> None:
        raise ValueError(signal.member)

    await client.watch(fail, member="Sig")
    await client.watch(lambda signal: received.put_nowait(signal.member), member="Sig")
    server.emit("/x", "t.X", "Sig", "", [])
    assert await received.get() == "Sig"
    assert problems == ["handling the D-Bus signal Sig failed"]


async def test_namespaces_and_first_arguments_select(pair: Pair) -> None:
    server, client = pair
    received: asyncio.Queue[str] = asyncio.Queue()
    await client.watch(lambda s: received.put_nowait(s.path), path_namespace="/a/b", arg0="yes")
    for path in ("/a/bc", "/a/b", "/a/b/c"):
        server.emit(path, "t.X", "Sig", "s", ["no"])
        server.emit(path, "t.X", "Sig", "s", ["yes"])
    assert [await received.get(), await received.get()] == ["/a/b", "/a/b/c"]
    assert received.empty()


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


@pytest.fixture
async def passing_pair(message_bus: MessageBusDaemon) -> AsyncIterator[Pair]:
    """Two connections that can pass sockets."""
    server = await BusConnection.open(message_bus.address, sockets=True)
    client = await BusConnection.open(message_bus.address, sockets=True)
    yield server, client
    await client.close()
    await server.close()


async def test_sockets_are_passed_to_who_asked_and_kept_by_nobody_else(passing_pair: Pair) -> None:
    server, client = passing_pair
    before = settled_descriptors()

    def answer(call: MethodCall) -> None:
        server.emit("/x", "t.X", "Before", "s", ["x" * 5000])
        server.reply(call, "h", [a_pipe(str(call.body[0]).encode())])
        server.emit("/x", "t.X", "After", "", [])

    server.serve(answer)
    passed = await asyncio.gather(
        *(client.call_for_socket(server.unique_name, "/x", "t.X", "Open", "u", [n]) for n in range(16))
    )
    assert [one.recv(10) for one in passed] == [str(n).encode() for n in range(16)]
    assert not any(one.get_inheritable() for one in passed)
    for one in passed:
        one.close()
    assert open_descriptors() == before


async def test_a_socket_that_is_not_wanted_is_closed(passing_pair: Pair) -> None:
    server, client = passing_pair
    before = settled_descriptors()
    server.serve(lambda call: server.reply(call, "h", [a_pipe(b"x")]))
    await client.call(server.unique_name, "/x", "t.X", "Open")
    with pytest.raises(TimeoutError):
        await client.call_for_socket(server.unique_name, "/x", "t.X", "Open", timeout_s=0)
    await client.call(server.unique_name, "/x", "t.X", "Open")  # the late one has come by now
    assert open_descriptors() == before
    server.serve(lambda call: server.reply(call, "s", ["no socket"]))
    with pytest.raises(BusError):
        await client.call_for_socket(server.unique_name, "/x", "t.X", "Open")


async def test_a_socket_that_comes_when_nobody_waits_any_more_is_closed(passing_pair: Pair) -> None:
    server, client = passing_pair
    before = settled_descriptors()
    server.serve(lambda call: server.reply(call, "h", [a_pipe(b"x")]))
    pending = PendingCall(asyncio.get_running_loop().create_future(), wants_socket=True)
    pending.answer.add_done_callback(lambda _: asking.cancel())
    message = library.method_call(server.unique_name, "/x", "t.X", "Open", "", [])
    asking = asyncio.create_task(client._answer_to(message, pending, 5))
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert open_descriptors() == before


async def test_descriptors_that_nobody_asked_for_are_closed(passing_pair: Pair) -> None:
    server, client = passing_pair
    before = settled_descriptors()
    server.serve(lambda call: server.reply(call, "s", [call.signature]))
    for signature, sent in (("h", [0]), ("a{sv}", [{"x": Variant("h", 0)}])):
        pipe = a_pipe(b"x")
        message = library.method_call(server.unique_name, "/x", "t.X", "Take", signature, sent)
        cast("Any", message).unix_fds = [pipe.fileno()]
        client._send(message, [pipe])
    for _ in range(2):
        await client.call_bus("GetId", "", [])
    assert await client.call(server.unique_name, "/x", "t.X", "Last") == [""]
    assert open_descriptors() == before


async def give(client: BusConnection, server: BusConnection, said: bytes) -> list[object]:
    return await client.call(server.unique_name, "/x", "t.X", "Give", "sh", ["first", a_pipe(said)])


async def test_a_socket_comes_with_a_call_to_who_serves_such_calls(passing_pair: Pair) -> None:
    server, client = passing_pair
    before = settled_descriptors()

    def answer(call: MethodCall) -> None:
        assert call.body == ["first", 0]
        [passed] = call.passed
        assert not passed.get_inheritable()
        server.reply(call, "ay", [passed.recv(10)])
        call.close_passed()
        assert not call.passed

    server.serve(answer, sockets=True)
    for numbers in (range(50), range(50, 100)):  # no more than 64 sockets wait on a busy machine
        answers = await asyncio.gather(*(give(client, server, str(number).encode()) for number in numbers))
        assert answers == [[str(number).encode()] for number in numbers]
    assert open_descriptors() == before


async def test_a_socket_with_a_call_that_nobody_serves_is_closed(passing_pair: Pair) -> None:
    server, client = passing_pair
    before = settled_descriptors()
    passed: list[int] = []

    def answer(call: MethodCall) -> None:
        passed.append(len(call.passed))
        server.reply(call)

    server.serve(answer)
    await give(client, server, b"x")
    assert passed == [0]
    assert open_descriptors() == before


async def test_a_socket_with_a_call_that_fails_is_closed(passing_pair: Pair) -> None:
    server, client = passing_pair
    before, problems = settled_descriptors(), list[object]()
    asyncio.get_running_loop().set_exception_handler(lambda _, context: problems.append(context))

    def fail(call: MethodCall) -> None:
        server.reply(call)
        raise ValueError(call.member)

    server.serve(fail, sockets=True)
    await give(client, server, b"x")
    assert len(problems) == 1
    assert open_descriptors() == before


async def test_a_socket_that_cannot_be_given_is_closed(message_bus: MessageBusDaemon) -> None:
    before = settled_descriptors()
    server = await BusConnection.open(message_bus.address)  # which cannot receive one
    client = await BusConnection.open(message_bus.address, sockets=True)
    server.serve(server.reply)
    with pytest.raises(BusError):
        await give(client, server, b"x")
    await server.close()
    with pytest.raises(BusError):
        await give(client, server, b"x")
    with pytest.raises(Exception, match="must be between"):  # of the library
        await client.call(client.unique_name, "/x", "t.X", "Give", "uh", [-1, a_pipe(b"x")])
    await client.close()
    with pytest.raises(BusClosed):
        await give(client, server, b"x")
    assert open_descriptors() == before


async def test_sockets_that_could_not_be_sent_are_closed(message_bus: MessageBusDaemon) -> None:
    before = settled_descriptors()
    server = await BusConnection.open(message_bus.address, sockets=True)
    client = await BusConnection.open(message_bus.address, sockets=True)
    calls: list[MethodCall] = []
    server.serve(calls.append)
    asking = asyncio.create_task(client.call_for_socket(server.unique_name, "/x", "t.X", "Open"))
    while not calls:
        await client.call_bus("GetId", "", [])
    server.reply(calls[0], "h", [a_pipe(b"x")])
    server._finish(BusClosed("gone"))
    server.reply(calls[0], "h", [a_pipe(b"x")])
    await client.close()
    with pytest.raises(BusClosed):
        await asking
    assert open_descriptors() == before


NAME = "org.example.Followed"


async def received_once(server: BusConnection, watching: Awaitable[object], signals: list[Signal]) -> None:
    await watching
    server.emit("/a", "a.b", "Happened", "", [])
    async with asyncio.timeout(5):
        while not signals:
            await server.round_trip()
    assert len(signals) == 1


async def test_a_first_watch_on_a_name_that_is_given_up_leaves_the_later_ones_receiving(pair: Pair) -> None:
    server, client = pair
    await server.request_name(NAME)
    for turns in range(5):  # of the loop: given up at each of its steps
        first = asyncio.create_task(client.watch(lambda _: None, sender=NAME))
        for _ in range(turns):
            await asyncio.sleep(0)
        first.cancel()
        await asyncio.wait([first])
    signals: list[Signal] = []
    await received_once(server, client.watch(signals.append, sender=NAME), signals)


async def test_a_second_watch_on_a_name_returns_once_its_owner_is_known(pair: Pair) -> None:
    server, client = pair
    await server.request_name(NAME)
    first = asyncio.create_task(client.watch(lambda _: None, sender=NAME))
    await asyncio.sleep(0)
    signals: list[Signal] = []
    await received_once(server, client.watch(signals.append, sender=NAME), signals)
    await first


async def test_a_first_watch_that_is_given_up_does_not_end_a_second_one_that_waits(pair: Pair) -> None:
    server, client = pair
    await server.request_name(NAME)
    signals: list[Signal] = []
    first = asyncio.create_task(client.watch(lambda _: None, sender=NAME))
    second = asyncio.create_task(client.watch(signals.append, sender=NAME))
    await asyncio.sleep(0)
    first.cancel()
    await received_once(server, second, signals)


async def test_a_watch_that_the_bus_refused_can_be_asked_for_again(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, client = pair
    await server.request_name(NAME)

    async def refuses(name: str) -> str:
        raise BusError("a.b.Refused", name)

    with monkeypatch.context() as patch:
        patch.setattr(client, "name_owner", refuses)
        with pytest.raises(BusError):
            await client.watch(lambda _: None, sender=NAME)
    signals: list[Signal] = []
    await received_once(server, client.watch(signals.append, sender=NAME), signals)


async def test_a_subscription_under_way_fails_when_the_bus_dies(
    message_bus: MessageBusDaemon, tmp_path: Path
) -> None:
    async with PassingBus(tmp_path, message_bus.address).running() as bus:
        connection = await BusConnection.open(bus.address)
        watching = asyncio.create_task(connection.watch(lambda _: None, member="NameOwnerChanged"))
        await asyncio.sleep(0)  # it has begun
        bus.drop_clients()
        with pytest.raises(BusClosed):
            await watching
        await connection.close()
