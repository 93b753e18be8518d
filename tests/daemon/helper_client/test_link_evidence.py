"""What is said of a silent link by the kernel's neighbour table, in virtual time, and by counters."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from ipaddress import IPv4Address
from typing import Any

import pytest

from tests.virtual_time import VirtualTimeLoop
from wifimgrd.daemon.helper_client import link_evidence as module
from wifimgrd.daemon.helper_client.link_evidence import KernelLinkEvidence, outcome
from wifimgrd.domain.dead_links import Asked, Counters
from wifimgrd.kernel.neighbours import Neighbour, State

WITHIN_S = 60.0
Table = Callable[[float], Neighbour | None]
"""The entry by the time."""


def entry(state: State, confirmed_s: float = 500.0, changed_s: float = 0.0) -> Neighbour:
    return Neighbour(7, IPv4Address("10.5.5.9"), state, confirmed_s, changed_s)


def asked(monkeypatch: pytest.MonkeyPatch, table: Table, within_s: float = WITHIN_S) -> tuple[Asked, float]:
    """The answer, and how long it took."""

    async def at_once(function: Callable[..., Any], *arguments: object) -> Any:
        return function(*arguments)

    async def ask() -> tuple[Asked, float]:
        loop = asyncio.get_running_loop()
        evidence = KernelLinkEvidence(lambda _, __: table(loop.time()))
        return await evidence.asked("wlan7", "10.5.5.9", within_s), loop.time()

    monkeypatch.setattr(KernelLinkEvidence, "_in_thread", staticmethod(at_once))
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(ask())


@pytest.mark.parametrize("state", [State.REACHABLE, State.STALE, State.DELAY, State.PROBE])
def test_a_host_that_was_confirmed_in_that_time_has_answered(state: State) -> None:
    assert outcome(entry(state, 59.0), WITHIN_S) is Asked.ANSWERED
    assert outcome(entry(state, 61.0), WITHIN_S) is Asked.NOT_ASKED


def test_an_address_that_a_program_has_set_is_no_answer() -> None:
    assert outcome(entry(State.PERMANENT, 1.0), WITHIN_S) is Asked.NOT_ASKED


def test_an_entry_that_failed_long_ago_says_nothing() -> None:
    assert outcome(entry(State.FAILED, changed_s=59.0), WITHIN_S) is Asked.SILENT
    assert outcome(entry(State.FAILED, changed_s=61.0), WITHIN_S) is Asked.NOT_ASKED


def test_a_question_has_to_wait_for_its_answer() -> None:
    assert outcome(entry(State.INCOMPLETE, changed_s=0.2), WITHIN_S) is Asked.NOT_ASKED
    assert outcome(entry(State.INCOMPLETE, changed_s=1.5), WITHIN_S) is Asked.SILENT


def test_a_host_being_asked_for_the_first_time_is_not_confirmed_by_the_age_of_its_entry() -> None:
    """The kernel gives a new entry a confirmation of a minute ago."""
    assert outcome(entry(State.INCOMPLETE, 60.0, 1.5), 120.0) is Asked.SILENT


def test_without_an_entry_nobody_was_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    answer, took_s = asked(monkeypatch, lambda _: None)
    assert (answer, took_s < 10) == (Asked.NOT_ASKED, True)


def test_an_answer_ends_the_watching(monkeypatch: pytest.MonkeyPatch) -> None:
    def table(now_s: float) -> Neighbour:
        return entry(State.REACHABLE, now_s - 3, now_s - 3) if now_s >= 3 else entry(State.PROBE)

    assert asked(monkeypatch, table) == (Asked.ANSWERED, 3.0)


def test_a_known_host_is_silent_once_the_kernel_has_given_it_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """It was confirmed before the silence; five seconds of delay, and three questions."""

    def table(now_s: float) -> Neighbour:
        if now_s < 5:
            return entry(State.DELAY, 90 + now_s, now_s)
        if now_s < 8:
            return entry(State.PROBE, 90 + now_s, now_s - 5)
        return entry(State.FAILED, 90 + now_s, now_s - 8)

    assert asked(monkeypatch, table) == (Asked.SILENT, 8.0)


def test_a_host_that_had_failed_is_watched_until_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    answer, took_s = asked(monkeypatch, lambda now_s: entry(State.FAILED, changed_s=20 + now_s))
    assert answer is Asked.SILENT
    assert 8 <= took_s < 10

    def table(now_s: float) -> Neighbour:
        if now_s < 7:
            return entry(State.FAILED, changed_s=20 + now_s)
        return entry(State.REACHABLE, now_s - 7, now_s - 7)

    assert asked(monkeypatch, table) == (Asked.ANSWERED, 7.0)


def test_a_host_that_nothing_is_sent_to_was_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    answer, took_s = asked(monkeypatch, lambda now_s: entry(State.STALE, 90 + now_s, 60 + now_s))
    assert (answer, took_s < 10) == (Asked.NOT_ASKED, True)


async def test_a_kernel_that_does_not_answer_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_READ_S", 0.01)
    monkeypatch.setattr(module, "_COUNT_S", 0.01)
    released = threading.Event()

    def hangs(*_: object) -> None:
        released.wait(10)

    evidence = KernelLinkEvidence(hangs, hangs)
    try:
        assert await evidence.asked("wlan7", "10.5.5.9", WITHIN_S) is Asked.NOT_ASKED
        assert await evidence.counters("wlan7") is None
    finally:
        released.set()


async def test_a_kernel_that_hangs_holds_two_threads_however_often_it_is_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "_READ_S", 0.01)
    monkeypatch.setattr(module, "_COUNT_S", 0.01)
    released, hanging = threading.Event(), list[str]()

    def hangs(interface: str, _: object) -> None:
        hanging.append(interface)
        released.wait(10)

    evidence = KernelLinkEvidence(hangs, hangs)
    try:
        for number in range(8):
            assert await evidence.asked(f"wlan{number}", "10.5.5.9", WITHIN_S) is Asked.NOT_ASKED
            assert await evidence.counters(f"wlan{number}") is None
        assert len(hanging) <= 2
        assert await asyncio.wait_for(asyncio.to_thread(lambda: True), 5), "the others have theirs"
    finally:
        released.set()


async def test_counters_have_the_time_at_which_they_were_asked_for() -> None:
    evidence = KernelLinkEvidence(counters=lambda name, at_s: Counters(at_s, len(name)))
    before_s = asyncio.get_running_loop().time()
    found = await evidence.counters("wlan7")
    assert found is not None
    assert before_s <= found.at_s <= asyncio.get_running_loop().time()
    assert found.connected_s == 5
