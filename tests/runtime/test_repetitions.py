"""Of what is repeated few lines a minute are written, the last one with the number."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog
from structlog.typing import EventDict

import wifimgrd
from tests.virtual_time import VirtualTimeLoop
from wifimgrd.runtime._journal import record_of
from wifimgrd.runtime._repetitions import LIMITED, MOST, Repetitions
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


def test_the_things_that_are_remembered_are_bounded() -> None:
    repetitions = Repetitions(lambda: 0.0)
    for device in range(2 * MOST):
        repetitions(None, "info", {"event": "silent", "device": device})
    assert len(repetitions._things) == MOST


def test_without_an_event_loop_the_next_one_has_the_number() -> None:
    times = iter([0.0, 1.0, 2.0, 60.0])
    repetitions, event = Repetitions(lambda: next(times)), {"event": "silent", "device": 1}
    repetitions(None, "info", dict(event))
    for _ in range(2):
        with pytest.raises(structlog.DropEvent):
            repetitions(None, "info", dict(event))
    assert repetitions(None, "info", dict(event))["repeated"] == 2


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
