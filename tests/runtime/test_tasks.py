"""Tasks that are kept running, that end a process, and that the watchdog checks."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
from structlog.testing import capture_logs

from tests.virtual_time import VirtualTimeLoop
from wifimgrd.runtime.tasks import Backoff, Tasks

BACKOFF = Backoff(first_s=1.0, last_s=8.0, reset_s=60.0)


class Away(Exception):
    """An error that is expected."""


@pytest.fixture
def hours() -> Iterator[asyncio.Runner]:
    """An event loop in which waiting takes no time."""
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        yield runner


def now() -> float:
    return asyncio.get_running_loop().time()


def test_pauses_double_to_a_limit_and_stay_there() -> None:
    assert [BACKOFF.pause_s(failures) for failures in (1, 2, 3, 4, 5, 5000)] == [1, 2, 4, 8, 8, 8]


@pytest.mark.parametrize("ending", ["raises", "returns", "is cancelled from below"])
def test_what_is_kept_is_started_again_with_growing_pauses(hours: asyncio.Runner, ending: str) -> None:
    async def story() -> list[float]:
        tasks, begun = Tasks("test"), []

        async def work() -> None:
            begun.append(now())
            if ending == "raises":
                raise Away
            if ending == "is cancelled from below":
                nobodys = asyncio.get_running_loop().create_future()
                nobodys.cancel()
                await nobodys

        tasks.keep("work", work, BACKOFF, expected=(Away,))
        await asyncio.sleep(40)
        await tasks.stop()
        return begun

    begun = hours.run(story())
    assert [later - earlier for earlier, later in pairwise(begun)] == [1, 2, 4, 8, 8, 8, 8]


def test_the_pauses_begin_anew_once_it_has_held_for_a_while_and_not_before(hours: asyncio.Runner) -> None:
    async def story() -> list[float]:
        tasks, begun = Tasks("test"), []

        async def work() -> None:
            begun.append(now())
            await asyncio.sleep({4: 59.0, 6: 60.0}.get(len(begun), 0.0))
            raise Away

        tasks.keep("work", work, BACKOFF, expected=(Away,))
        await asyncio.sleep(160)
        await tasks.stop()
        return begun

    begun = hours.run(story())
    assert [later - earlier for earlier, later in pairwise(begun)][:8] == [1, 2, 4, 59 + 8, 8, 60 + 1, 2, 4]


def test_the_first_failure_is_reported_and_its_repetition_is_not(hours: asyncio.Runner) -> None:
    async def story() -> list[Any]:
        tasks = Tasks("test")

        async def fails() -> None:
            raise Away("it is not there")

        async def crashes() -> None:
            raise ValueError("a bug")

        with capture_logs() as entries:
            tasks.keep("link", fails, BACKOFF, expected=(Away,))
            tasks.keep("bug", crashes, BACKOFF)
            tasks.keep("quiet", fails, BACKOFF, expected=(Away,), quiet=True)
            await asyncio.sleep(30)
        await tasks.stop()
        return [entry for entry in entries if entry["log_level"] != "debug"]

    ended, failed = hours.run(story())
    assert ended == {
        "event": "task_ended", "log_level": "warning", "task": "test/link", "reason": "it is not there",
        "retry_s": 1.0,
    }  # fmt: skip
    assert (failed["event"], failed["task"], str(failed["exc_info"])) == ("task_failed", "test/bug", "a bug")


def test_a_pause_can_be_cut_short(hours: asyncio.Runner) -> None:
    async def story() -> list[float]:
        tasks, begun = Tasks("test"), []

        async def work() -> None:
            begun.append(now())
            raise Away

        kept = tasks.keep("work", work, Backoff(10, 10), expected=(Away,))
        await asyncio.sleep(3)
        kept.retry_now()
        await asyncio.sleep(12)
        await tasks.stop()
        return begun

    assert hours.run(story()) == [0, 3, 13]


def test_work_that_is_to_be_done_once_is_tried_until_it_is(hours: asyncio.Runner) -> None:
    async def story() -> tuple[int, list[str]]:
        tasks, tries = Tasks("test"), 0

        async def work() -> None:
            nonlocal tries
            tries += 1
            if tries < 3:
                raise Away

        tasks.keep("work", work, BACKOFF, expected=(Away,), until_done=True)
        await asyncio.sleep(100)
        return tries, await tasks.find_dead(1)

    assert hours.run(story()) == (3, [])


async def test_the_end_of_what_is_required_ends_the_process_and_is_reported() -> None:
    tasks = Tasks("test")

    async def fails() -> None:
        raise Away("the bus is gone")

    with capture_logs() as entries:
        tasks.part("bus").require("connection", fails())
        async with asyncio.timeout(5):
            await tasks.until_required_ends(asyncio.Event())
    assert [(entry["event"], entry["task"]) for entry in entries] == [("task_failed", "test/bus/connection")]
    await tasks.stop()


async def test_what_is_required_is_waited_for_until_something_else_is_to_end_it() -> None:
    tasks, stopping = Tasks("test"), asyncio.Event()
    tasks.require("connection", asyncio.sleep(100))
    waiting = asyncio.create_task(tasks.until_required_ends(stopping))
    async with asyncio.timeout(5):
        await tasks.settle()  # it is none of those that end by themselves
    assert not waiting.done()
    stopping.set()
    async with asyncio.timeout(5):
        await waiting
    await tasks.stop()


async def test_a_bug_in_what_runs_once_is_reported_and_what_is_expected_is_not() -> None:
    async def fails() -> None:
        raise Away

    with capture_logs() as entries:
        tasks = Tasks("test")
        tasks.start("one", fails())
        tasks.start("two", fails(), expected=(Away,))
        await tasks.settle()
    assert [(entry["event"], entry["task"]) for entry in entries] == [("task_failed", "test/one")]


async def test_nothing_is_left_after_the_stop_of_a_tree() -> None:
    tasks = Tasks("test")
    part = tasks.part("part")
    tasks.start("one", asyncio.sleep(100))
    part.keep("two", lambda: asyncio.sleep(100), BACKOFF)
    smaller = part.part("smaller")
    smaller.start("three", asyncio.sleep(100))
    await asyncio.sleep(0)
    smaller.cancel()  # at once, not awaited
    await tasks.stop()
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_a_kept_task_that_something_else_ended_is_found_dead() -> None:
    tasks = Tasks("test")
    kept = tasks.part("part").keep("work", lambda: asyncio.sleep(100), BACKOFF)
    stopped = tasks.keep("stopped", lambda: asyncio.sleep(100), BACKOFF)
    await asyncio.sleep(0)
    stopped.cancel()
    assert await tasks.find_dead(1) == []
    kept.task.cancel()
    await asyncio.wait([kept.task])
    assert await tasks.find_dead(1) == ["test/part/work"]
    await tasks.stop()


async def test_a_check_that_does_not_return_is_found_dead_and_one_that_raises_is_not() -> None:
    tasks = Tasks("test")

    async def fails() -> None:
        raise Away

    async def hangs() -> None:
        await asyncio.Event().wait()

    part = tasks.part("part")
    part.check("answers", lambda: asyncio.sleep(0))
    part.check("fails", fails)
    part.check("hangs", hangs)
    assert await tasks.find_dead(0.01) == ["test/part/hangs"]
    part.cancel()
    assert await tasks.find_dead(0.01) == []
