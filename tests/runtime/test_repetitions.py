"""Of what is repeated few lines a minute are written, the last one with the number."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog
from structlog.typing import EventDict

import wifimgrd
from tests.virtual_time import VirtualTimeLoop
from wifimgrd.runtime._journal import record_of
from wifimgrd.runtime._repetitions import _EARLY, LIMITED, MOST, Repetitions
from wifimgrd.runtime.logging import line_of

_log = structlog.get_logger()

Run = Callable[[Callable[[], Coroutine[Any, Any, None]]], list[tuple[float, EventDict]]]


@pytest.fixture
def run() -> Iterator[Run]:
    """Run a coroutine function, and return what was written and when."""
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        loop, written = runner.get_loop(), list[tuple[float, EventDict]]()

        def write(_: object, method: str, event: EventDict) -> EventDict:
            written.append((loop.time(), {**event, "level": method}))
            raise structlog.DropEvent

        def run(work: Callable[[], Coroutine[Any, Any, None]]) -> list[tuple[float, EventDict]]:
            structlog.configure(processors=[Repetitions(loop.time), write], cache_logger_on_first_use=False)
            runner.run(work())
            return written

        yield run
    structlog.reset_defaults()


def test_a_flood_is_a_line_a_minute_and_its_end_is_told(run: Run) -> None:
    async def work() -> None:
        for number in range(1201):
            _log.warning("not_authorized", uid=7, action="connect", member=f"M{number}")
            await asyncio.sleep(0.1)
        await asyncio.sleep(300)

    written = run(work)
    assert [round(at) for at, _ in written] == [0, 60, 120, 180]
    assert [event.get("repeated", 0) for _, event in written] == pytest.approx([0, 600, 599, 1], abs=1)
    assert sum(event.get("repeated", 0) for _, event in written) == 1200
    assert written[-1][1]["member"] == "M1200"
    assert written[-1][1]["level"] == "warning"


def test_other_things_and_other_events_are_written_at_once(run: Run) -> None:
    async def work() -> None:
        for device in (1, 2):
            for code in ("full", "stopped"):
                _log.info("recording_stopped", device=device, code=code)
        for _ in range(3):
            _log.info("started")

    assert len(run(work)) == 7


def test_what_is_not_repeated_within_a_minute_has_no_number(run: Run) -> None:
    async def work() -> None:
        for _ in range(3):
            _log.info("silent", device=1)
            await asyncio.sleep(60)

    assert [event for _, event in run(work)] == [
        {"event": "silent", "device": 1, "level": "info"} for _ in range(3)
    ]


def test_what_a_person_does_three_times_in_a_minute_is_written_at_once(run: Run) -> None:
    async def work() -> None:
        for number in range(5):
            _log.info("connecting", device=1, interface="wlan0", attempt=number)
            await asyncio.sleep(1)
        await asyncio.sleep(300)

    written = run(work)
    assert [round(at) for at, _ in written] == [0, 1, 2, 60]
    assert (written[-1][1]["attempt"], written[-1][1]["repeated"]) == (4, 2)


def test_the_last_line_of_a_device_is_what_came_last(run: Run) -> None:
    async def work() -> None:
        for event in ("camera_not_read", "camera_answers", "camera_not_read", "camera_answers"):
            _log.info(event, device=1)
            await asyncio.sleep(0.1)
        await asyncio.sleep(30)
        _log.info("camera_not_read", device=1, is_last=True)
        await asyncio.sleep(300)

    told = [(round(at), event["event"], event.get("repeated", 0)) for at, event in run(work)]
    assert told == [
        (0, "camera_not_read", 0),
        (0, "camera_answers", 0),
        (60, "camera_answers", 1),
        (60, "camera_not_read", 2),
    ]


@pytest.mark.parametrize("later", ["silent", "device_removed"])
def test_what_waits_is_written_before_another_line_of_the_device(run: Run, later: str) -> None:
    async def work() -> None:
        for _ in range(3):
            _log.info("reachable", device=1)
        _log.info("reachable", device=2)
        _log.info(later, device=1)
        await asyncio.sleep(300)

    told = [(event["event"], event["device"], event.get("repeated", 0)) for _, event in run(work)]
    assert told == [("reachable", 1, 0), ("reachable", 2, 0), ("reachable", 1, 2), (later, 1, 0)]


def test_what_is_written_in_order_is_bounded_too(run: Run) -> None:
    """A device of which many things happen by turns."""

    async def work() -> None:
        for number in range(1000):
            _log.info("silent", device=1)
            _log.info("camera_problem", device=1, code=number // 2)
        await asyncio.sleep(59)
        _log.info("reachable", device=1)
        await asyncio.sleep(59)

    written = [(round(at), event) for at, event in run(work)]
    at_once = [event for at, event in written if at == 0]
    assert [event["event"] for event in at_once].count("silent") <= 1 + _EARLY
    assert [event["event"] for _, event in written][-2:] == ["camera_problem", "reachable"]
    assert sum(event.get("repeated", 1) for _, event in written) == 2001


def test_what_waits_is_written_as_the_process_ends(run: Run) -> None:
    async def work() -> None:
        for number in range(5):
            for device in (1, 2):
                _log.info("silent", device=device, number=number)
        repetitions = structlog.get_config()["processors"][0]
        repetitions.flush()

    told = [(event["device"], event["number"]) for _, event in run(work)]
    assert told == [(1, 0), (2, 0), (1, 4), (2, 4)]


def test_each_place_of_a_bug_is_written_with_its_traceback(run: Run) -> None:
    def crash(number: int) -> None:
        if number % 2:
            raise ValueError(f"odd {number}")
        raise ValueError(f"even {number}")

    async def work() -> None:
        for number in range(4):
            try:
                crash(number)
            except ValueError as error:
                _log.error("request_failed", exc_info=error)
                _log.exception("call_crashed", member="Connect")
            _log.error("internal_error", detail=f"{number % 2}")
        await asyncio.sleep(60)

    written = [event for _, event in run(work)]
    assert [event.get("repeated", 0) for event in written] == 6 * [0] + 6 * [1]
    late = [str(event["exception"]) for event in written[6:] if "exception" in event]
    assert all(one.startswith("Traceback") for one in late)
    assert sorted(one.rpartition("ValueError: ")[2] for one in late) == ["even 2", "even 2", "odd 3", "odd 3"]


def test_the_things_that_are_remembered_are_bounded_and_none_is_lost(run: Run) -> None:
    async def work() -> None:
        _log.info("silent", device=0)
        for device in range(2 * MOST):
            _log.info("silent", device=device)
        assert len(structlog.get_config()["processors"][0]._subjects) == MOST

    written = [event["device"] for _, event in run(work)]
    assert sorted(written) == sorted([0, *range(2 * MOST)])


def test_without_an_event_loop_the_next_event_has_written_what_waits(run: Run) -> None:
    now_s, written = 0.0, list[EventDict]()

    def write(_: object, method: str, event: EventDict) -> EventDict:
        written.append(event)
        raise structlog.DropEvent

    structlog.configure(processors=[Repetitions(lambda: now_s), write], cache_logger_on_first_use=False)
    for at_s in (0.0, 1.0, 2.0, 60.0):
        now_s = at_s
        _log.info("silent", device=1)
    assert [event.get("repeated") for event in written] == [None, 2]


def test_at_the_end_of_a_process_the_journal_gets_what_waits() -> None:
    program = (
        "import asyncio, structlog; from wifimgrd.runtime.logging import configure; configure()\n"
        "async def work():\n"
        " for number in range(3): structlog.get_logger().info('silent', device=1, number=number)\n"
        "asyncio.run(work())"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert [line.partition(" last=")[0] for line in ended.stderr.splitlines()] == [
        "info: silent device=1 number=0",
        "info: silent device=1 number=2 repeated=2",
    ]


def test_the_journal_has_the_number_in_sentences_too() -> None:
    event = {
        "event": "recording_failed",
        "device": 1,
        "device_name": "Front",
        "reason": "no",
        "code": "busy",
        "repeated": 3,
        "last": "2026-01-01T00:00:00+00:00",
    }
    assert b"(repeated=3 last=2026-01-01T00:00:00+00:00)" in record_of(event, line_of(event))


def test_each_event_that_is_limited_is_written_somewhere() -> None:
    """Under this name, or as that of an operation: `f"{name}_failed"`."""
    package = Path(wifimgrd.__file__).parent
    files = [file for file in package.rglob("*.py") if file.name != "_repetitions.py"]
    written = {"sleep_failed", "pair_failed"}.union(
        *(re.findall(r'"([a-z_]+)"', file.read_text()) for file in files)
    )
    assert LIMITED.keys() <= written


def test_the_documentation_lists_what_is_limited_and_nothing_else() -> None:
    text = Path(wifimgrd.__file__).parents[1].joinpath("docs", "security.md").read_text()
    table = text.partition("| the same thing is | entries at once | events |")[2].partition("\n\n")[0]
    rows = re.findall(r"^\| [^|]* \| (\d) \| (.*) \|$", table, re.MULTILINE)
    listed = {event: int(lines) for lines, events in rows for event in re.findall(r"`([a-z_]+)`", events)}
    assert listed == {event: limit.at_once for event, limit in LIMITED.items()}
