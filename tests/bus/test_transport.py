"""Descriptors and their messages, and calls in turn."""

from __future__ import annotations

import asyncio
import os
import socket
from pathlib import Path

import pytest

from tests.bus.test_framing import message
from wifimgrd.bus._framing import CALL, ERROR, REPLY, SIGNAL, Frame, Framing
from wifimgrd.bus._transport import CALLS_WAITING, CallQueue, Reader, take_sockets


def test_senders_take_turns_and_each_keeps_its_order() -> None:
    turns = CallQueue()
    for sender, serial in [("a", 1), ("a", 2), ("a", 3), ("b", 4), ("c", 5), ("b", 6)]:
        assert turns.add(Frame(CALL, 0, serial, sender, b"x"))
    order = []
    while turns:
        order.append(turns.next().serial)
    assert order == [1, 4, 5, 2, 6, 3]


def test_a_sender_that_has_too_many_waiting_is_refused_and_others_are_not() -> None:
    turns = CallQueue()
    for serial in range(CALLS_WAITING):
        assert turns.add(Frame(CALL, 0, serial, "a", b"x"))
    assert not turns.add(Frame(CALL, 0, 0, "a", b"x"))
    assert turns.add(Frame(CALL, 0, 0, "b", b"x"))


def test_what_waits_in_all_has_a_bound() -> None:
    turns = CallQueue()
    taken = [turns.add(Frame(CALL, 0, 0, str(sender), bytes(1 << 18))) for sender in range(40)]
    assert taken == [True] * 32 + [False] * 8
    turns.next()
    assert turns.add(Frame(CALL, 0, 0, "another", bytes(1 << 18)))


class Kept:
    """A receiver that keeps what it gets."""

    def __init__(self) -> None:
        self.frames: asyncio.Queue[Frame] = asyncio.Queue()

    def is_expected(self, sender: str) -> bool:
        return bool(sender)

    def receive(self, frame: Frame) -> None:
        self.frames.put_nowait(frame)

    def refuse(self, call: Frame) -> None:
        raise AssertionError(call)

    def lost(self, reason: str) -> None:
        raise AssertionError(reason)


@pytest.mark.parametrize("cut", [1, 20, 0])
async def test_descriptors_are_given_with_the_message_that_they_came_with(cut: int) -> None:
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    kept = Kept()
    incoming = Reader(ours, kept, descriptors=True)
    plain, bearing, after = (message(serial, REPLY, ":1.1", 40) for serial in (1, 2, 3))
    cut = cut or len(bearing)
    with theirs, ours:
        theirs.send(plain)
        socket.send_fds(theirs, [bearing[:cut]], [theirs.fileno()])
        theirs.send(bearing[cut:] + after)
        async with asyncio.timeout(5):
            frames = [await kept.frames.get() for _ in range(3)]
        assert [(frame.serial, len(frame.descriptors)) for frame in frames] == [(1, 0), (2, 1), (3, 0)]
        os.close(frames[1].descriptors[0])
        incoming.close()


def test_descriptors_that_wait_have_a_bound() -> None:
    """None of these numbers is a descriptor."""
    turns = CallQueue()
    taken = [turns.add(Frame(CALL, 0, serial, str(serial), b"x", (-1,))) for serial in range(66)]
    assert taken == [True] * 64 + [False] * 2
    turns.next()
    assert turns.add(Frame(CALL, 0, 0, "another", b"x", (-1,)))
    assert not turns.add(Frame(CALL, 0, 0, "another", b"x", (-1,)))
    assert turns.add(Frame(CALL, 0, 0, "another", b"x"))


@pytest.mark.parametrize("takes_calls", [False, True])
@pytest.mark.parametrize("kind", [CALL, SIGNAL, ERROR])
async def test_descriptors_of_other_messages_are_closed(kind: int, takes_calls: bool) -> None:
    """A call has one at most."""
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    kept = Kept()
    incoming = Reader(ours, kept, descriptors=True)
    incoming.takes_calls_with_sockets = takes_calls
    end, passed = socket.socketpair()
    end.setblocking(False)
    with theirs, ours, end:
        socket.send_fds(theirs, [message(1, kind, ":1.1", 0)], [passed.fileno(), passed.fileno()])
        passed.close()
        async with asyncio.timeout(5):
            assert (await kept.frames.get()).descriptors == ()
        assert end.recv(1) == b""  # the other end is closed
        incoming.close()


async def test_sockets_of_calls_that_wait_are_closed_at_the_end() -> None:
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    incoming = Reader(ours, Kept(), descriptors=True)
    incoming.takes_calls_with_sockets = True
    end, passed = socket.socketpair()
    end.setblocking(False)
    with theirs, ours, end:
        socket.send_fds(theirs, [message(1, CALL, ":1.1", 0)], [passed.fileno()])
        passed.close()
        incoming._read()
        with pytest.raises(BlockingIOError):
            end.recv(1)
        incoming.close()
        assert end.recv(1) == b""  # the other end is closed


def test_what_is_not_a_socket_is_not_taken_for_one(tmp_path: Path) -> None:
    one, other = socket.socketpair()
    with one, other, tmp_path.joinpath("file").open("w") as file:
        descriptors = [file.fileno(), os.dup(one.fileno())]
        [taken] = take_sockets(descriptors)
        with taken:
            assert descriptors == [file.fileno()]
            assert not taken.get_inheritable()


class Clumsy:
    """A receiver that fails on some messages."""

    def __init__(self, failing: set[int]) -> None:
        self.failing = failing
        self.taken: list[int] = []
        self.took_all = asyncio.Event()

    def is_expected(self, sender: str) -> bool:
        return True

    def receive(self, frame: Frame) -> None:
        self.taken.append(frame.serial)
        if len(self.taken) == 4:
            self.took_all.set()
        if frame.serial in self.failing:
            raise ValueError("a bug")

    def refuse(self, call: Frame) -> None:
        raise AssertionError

    def lost(self, reason: str) -> None:
        raise AssertionError(reason)


@pytest.mark.parametrize("kind", [SIGNAL, CALL])
async def test_a_message_that_cannot_be_used_is_given_once_and_harms_no_other(kind: int) -> None:
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    receiver, reported = Clumsy({1, 3}), list[str]()
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: reported.append(context["message"]))
    incoming = Reader(ours, receiver, descriptors=False)
    with ours, theirs:
        theirs.send(b"".join(message(serial, kind, ":1.1", 0) for serial in (1, 2, 3)))
        theirs.send(message(4, kind, ":1.1", 0))
        async with asyncio.timeout(5):
            await receiver.took_all.wait()
        incoming.close()
    assert receiver.taken == [1, 2, 3, 4]
    assert len(reported) == 2


async def test_a_fault_in_reading_ends_the_connection_and_is_reported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Better than a connection that takes nothing any more, and nobody sees it."""
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    ended, reported = asyncio.get_running_loop().create_future(), list[str]()
    asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context["message"]))
    receiver = Kept()
    monkeypatch.setattr(receiver, "lost", ended.set_result)
    monkeypatch.setattr(Framing, "feed", lambda *_: 1 // 0)
    incoming = Reader(ours, receiver, descriptors=False)
    with ours, theirs:
        theirs.send(b"x")
        async with asyncio.timeout(5):
            assert await ended == "its messages cannot be read"
        incoming.close()
    assert len(reported) == 1
