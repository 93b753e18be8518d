"""Octets into messages, and calls in turn."""

from __future__ import annotations

import asyncio
import importlib
import os
import socket
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wifimgrd.dbus.incoming import (
    CALL,
    CALLS_WAITING,
    ERROR,
    REPLY,
    SIGNAL,
    Frame,
    Framing,
    Incoming,
    StreamBroken,
    Turns,
)
from wifimgrd.dbus.library import LIBRARY, Variant

LARGEST = 1024


_marshaller: Any = importlib.import_module(LIBRARY + "._private.marshaller")


def message(serial: int, kind: int, sender: str, size: int) -> bytes:
    """A message as the message bus passes it on, whose body has so many octets."""
    fields = [
        [1, Variant("o", "/a")],
        [2, Variant("s", "a.b")],
        [3, Variant("s", "C")],
        [4, Variant("s", "a.B")],
        [5, Variant("u", 7)],
        [7, Variant("s", sender)],
    ]
    fixed = [ord("l"), kind, 1, 1, size, serial, fields]
    head = bytes(_marshaller.Marshaller("yyyyuua(yv)", fixed).marshall())
    return head + bytes(-len(head) % 8) + bytes(size)


MESSAGES = st.lists(
    st.tuples(
        st.sampled_from([CALL, REPLY, ERROR, SIGNAL]),
        st.sampled_from([":1.1", ":1.22"]),
        st.integers(0, 2 * LARGEST),
    )
)


@given(MESSAGES, st.integers(1, 3000))
def test_each_message_comes_out_once_however_the_stream_is_cut(
    messages: list[tuple[int, str, int]], step: int
) -> None:
    sent = [message(serial, *one) for serial, one in enumerate(messages, 1)]
    stream = b"".join(sent)
    framing = Framing(LARGEST)
    frames = [
        frame for begin in range(0, len(stream), step) for frame in framing.feed(stream[begin : begin + step])
    ]
    assert [(frame.serial, frame.kind, frame.sender) for frame in frames] == [
        (serial, kind, sender) for serial, (kind, sender, _) in enumerate(messages, 1)
    ]
    for frame, octets in zip(frames, sent, strict=True):
        too_large = len(octets) > LARGEST and frame.kind in (CALL, SIGNAL)
        assert frame.octets == (b"" if too_large else octets)


@pytest.mark.parametrize("octets", [b"x" * 16, b"l\1\0\1" + b"\xff" * 12], ids=["no order", "endless"])
def test_a_stream_that_makes_no_sense_is_given_up(octets: bytes) -> None:
    with pytest.raises(StreamBroken):
        list(Framing().feed(octets))


def test_senders_take_turns_and_each_keeps_its_order() -> None:
    turns = Turns()
    for sender, serial in [("a", 1), ("a", 2), ("a", 3), ("b", 4), ("c", 5), ("b", 6)]:
        assert turns.add(Frame(CALL, 0, serial, sender, b"x"))
    order = []
    while turns:
        order.append(turns.next().serial)
    assert order == [1, 4, 5, 2, 6, 3]


def test_a_sender_that_has_too_many_waiting_is_refused_and_others_are_not() -> None:
    turns = Turns()
    for serial in range(CALLS_WAITING):
        assert turns.add(Frame(CALL, 0, serial, "a", b"x"))
    assert not turns.add(Frame(CALL, 0, 0, "a", b"x"))
    assert turns.add(Frame(CALL, 0, 0, "b", b"x"))


def test_what_waits_in_all_has_a_bound() -> None:
    turns = Turns()
    taken = [turns.add(Frame(CALL, 0, 0, str(sender), bytes(1 << 18))) for sender in range(40)]
    assert taken == [True] * 32 + [False] * 8
    turns.next()
    assert turns.add(Frame(CALL, 0, 0, "another", bytes(1 << 18)))


class Kept:
    """A receiver that keeps what it gets."""

    def __init__(self) -> None:
        self.frames: asyncio.Queue[Frame] = asyncio.Queue()

    def hears(self, sender: str) -> bool:
        return bool(sender)

    def take(self, frame: Frame) -> None:
        self.frames.put_nowait(frame)

    def turn_away(self, call: Frame) -> None:
        raise AssertionError(call)

    def lost(self, reason: str) -> None:
        raise AssertionError(reason)


@pytest.mark.parametrize("cut", [1, 20, 0])
async def test_descriptors_are_given_with_the_message_that_they_came_with(cut: int) -> None:
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    kept = Kept()
    incoming = Incoming(ours, kept, descriptors=True)
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


@pytest.mark.parametrize("kind", [CALL, SIGNAL, ERROR])
async def test_descriptors_of_other_messages_are_closed(kind: int) -> None:
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    kept = Kept()
    incoming = Incoming(ours, kept, descriptors=True)
    end, passed = socket.socketpair()
    end.setblocking(False)
    with theirs, ours, end:
        socket.send_fds(theirs, [message(1, kind, ":1.1", 0)], [passed.fileno(), passed.fileno()])
        passed.close()
        async with asyncio.timeout(5):
            assert (await kept.frames.get()).descriptors == ()
        assert end.recv(1) == b""  # nobody has the other end any more
        incoming.close()


class Clumsy:
    """A receiver that fails on some messages."""

    def __init__(self, failing: set[int]) -> None:
        self.failing = failing
        self.taken: list[int] = []
        self.took_all = asyncio.Event()

    def hears(self, sender: str) -> bool:
        return True

    def take(self, frame: Frame) -> None:
        self.taken.append(frame.serial)
        if len(self.taken) == 4:
            self.took_all.set()
        if frame.serial in self.failing:
            raise ValueError("a bug")

    def turn_away(self, call: Frame) -> None:
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
    incoming = Incoming(ours, receiver, descriptors=False)
    with ours, theirs:
        theirs.send(b"".join(message(serial, kind, ":1.1", 0) for serial in (1, 2, 3)))
        theirs.send(message(4, kind, ":1.1", 0))
        async with asyncio.timeout(5):
            await receiver.took_all.wait()
        incoming.close()
    assert receiver.taken == [1, 2, 3, 4]
    assert len(reported) == 2


def test_a_message_is_given_once_though_its_consumer_fails() -> None:
    framing = Framing()
    stream = message(1, CALL, ":1.1", 8) + message(2, CALL, ":1.1", 8)
    first = next(framing.feed(stream))  # and no more is asked for
    assert [first.serial, *(frame.serial for frame in framing.feed(b""))] == [1, 2]
