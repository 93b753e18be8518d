"""What a take comes to, by its recordings: who is missing and why, gaps, spread, sizes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final

import pytest

from tests.browser.takes import Json, Takes, files, missing
from tests.programs import node
from wifimgrd.domain.camera import EndSeen, StopReason
from wifimgrd.domain.sentences import recording_ended

READ: Final = """
import { readFileSync } from "node:fs";
import { build } from "esbuild";
Object.defineProperty(globalThis, "navigator", { value: { languages: ["en"] } });
const built = await build({ entryPoints: ["src/takes.ts"], bundle: true, format: "esm", write: false });
const made = await import("data:text/javascript," + encodeURIComponent(built.outputFiles[0].text));
const { call, given } = JSON.parse(readFileSync(0, "utf8"));
const at = (time) => time.slice(11, 19);
const calls = {
  accounts: ({ takes, seen }) => takes.map((take) => {
    const account = made.accountOf(take, (id) => seen.includes(id));
    const { there, total, spread, isIncomplete, lanes } = account;
    const sentences = made.sentencesOf(account, at);
    return { there, total, spread, isIncomplete, sentences, states: lanes.map((one) => one.state) };
  }),
  offsets: (rows) => rows.map(made.offsetWords),
  sizes: (cases) => cases.map(({ rows, free, running }) => {
    const size = made.sizeOfAll(rows, free);
    return size && made.sizeWords(size, running);
  }),
  ticks: (spans) => spans.map(({ from, to, zone }) => made.ticksOf(from, to, zone).map((one) => one.time)),
  names: (paths) => paths.map(made.baseOf),
};
console.log(JSON.stringify(calls[call](given)));
"""
BEGIN: Final = datetime(2026, 11, 30, 9, 12, 40, tzinfo=UTC)


def read(call: str, given: Any) -> Any:
    """What the page's code says of values."""
    return json.loads(node(READ, given=json.dumps({"call": call, "given": given})))


@pytest.fixture
def makes() -> Takes:
    return Takes(BEGIN)


def account(take: Json, seen: Sequence[int] = ()) -> Json:
    """What one take comes to; of the cameras `seen` it is known that they record now."""
    (found,) = read("accounts", {"takes": [take], "seen": list(seen)})
    return dict(found)


def test_nobody_is_missing(makes: Takes) -> None:
    take = makes.take([makes.recording(1, "Tail", 0.029, 739), makes.recording(2, "Front", 0, 741)])
    assert account(take) == {
        "there": 2,
        "total": 2,
        "spread": 29,
        "isIncomplete": False,
        "sentences": "Begun within 29 ms of each other, nobody missing.",
        "states": ["whole", "whole"],
    }


def test_one_camera_has_no_spread(makes: Takes) -> None:
    found = account(makes.take([makes.recording(1, "Tail", 0, 9)]))
    assert (found["spread"], found["sentences"]) == (None, "Nobody missing.")


@pytest.mark.parametrize(
    ("code", "why"),
    [
        (None, ""),
        ("not-connected", ": not connected"),
        ("camera-refused", ": it refused"),
        ("internal", ": internal error in the hub"),
        ("of-a-later-version", ""),
        ("constructor", ""),
    ],
)
def test_who_did_not_record_is_named_with_the_reason(makes: Takes, code: str | None, why: str) -> None:
    recordings = [makes.recording(1, "Tail", 0, 9), makes.recording(2, "Front", 0.041, 9)]
    found = account(makes.take(recordings, [missing(3, "Mast", code)]))
    assert (found["there"], found["total"], found["isIncomplete"]) == (2, 3, True)
    assert found["sentences"] == f"Begun within 41 ms of each other. Mast did not record{why}."


def test_those_with_one_reason_share_a_sentence(makes: Takes) -> None:
    gone = [missing(3, "Mast", "not-connected"), missing(4, "Nose"), missing(5, "Chin", "not-connected")]
    running = makes.take([makes.recording(1, "Tail", 0, None)], gone)
    assert (
        account(running, [1])["sentences"]
        == "Mast and Chin do not record: not connected. Nose does not record."
    )


def test_of_many_the_first_are_named(makes: Takes) -> None:
    gone = [missing(number, f"C{number}", "not-connected") for number in range(2, 14)]
    told = account(makes.take([makes.recording(1, "Tail", 0, 5)], gone))["sentences"]
    assert told == "C2, C3, C4, C5, C6, C7, C8, C9 and 4 more did not record: not connected."


def test_a_recording_that_ended_by_itself_is_missing_from_then_on(makes: Takes) -> None:
    cut = makes.recording(1, "Tail", 0, 550, code="full")
    running = makes.take([cut, makes.recording(2, "Front", 0.038, None)])
    found = account(running, [2])
    assert (found["there"], found["total"], found["states"]) == (1, 2, ["cut", "recording"])
    told = "Begun within 38 ms of each other. Tail is missing since 09:21:50: its card is full."
    assert found["sentences"] == told
    over = makes.take([cut, makes.recording(2, "Front", 0.038, 724)])
    assert account(over)["sentences"] == told.replace("is missing since", "ended at")
    assert account(over)["there"] == 1


def test_one_that_was_not_seen_to_end_is_missing_from_then_on_or_earlier(makes: Takes) -> None:
    told = recording_ended(StopReason.UNKNOWN, EndSeen.LATER, "the connection was lost: it is out of range")
    cut = makes.recording(1, "Tail", 0, 550, code="unknown", message=told)
    running = makes.take([cut, makes.recording(2, "Front", 0.038, None)])
    assert "Tail is missing since 09:21:50 or earlier: " in str(account(running, [2])["sentences"])


def test_the_last_to_end_is_not_missing_but_its_end_is_told(makes: Takes) -> None:
    found = account(makes.take([makes.recording(1, "Tail", 0, 550, code="battery")]))
    assert (found["there"], found["states"]) == (1, ["whole"])
    assert found["sentences"] == "Tail ended at 09:21:50: its battery is empty. Nobody missing."


def test_one_that_was_stopped_is_told_only_while_others_record(makes: Takes) -> None:
    stopped = makes.recording(1, "Tail", 0, 60)
    running = account(makes.take([stopped, makes.recording(2, "Front", 0, None)]), [2])
    assert (running["there"], running["total"], running["isIncomplete"]) == (1, 2, False)
    assert running["sentences"].endswith("Tail was stopped at 09:13:40.")
    over = account(makes.take([stopped, makes.recording(2, "Front", 0, 90)]))
    assert (over["there"], over["sentences"]) == (2, "Begun within 1 ms of each other, nobody missing.")


def test_a_camera_that_is_not_seen_to_record_may_have_stopped(makes: Takes) -> None:
    running = makes.take([makes.recording(1, "Tail", 0, None), makes.recording(2, "Front", 0, None)])
    found = account(running, [2])
    assert (found["there"], found["states"], found["isIncomplete"]) == (1, ["unknown", "recording"], True)
    assert "Not known whether it records: Tail." in found["sentences"]


@pytest.mark.parametrize(
    ("message", "why"),
    [
        ("The recording stopped: the camera was switched off.", ": it was switched off"),
        ("The recording stopped while the camera was not connected: out of range.", ": its link was lost"),
        ("The recording stopped; why is not known.", ": it does not say why"),
    ],
)
def test_a_gap_says_how_long_and_why(makes: Takes, message: str, why: str) -> None:
    broken = makes.recording(1, "Left wing", 0, 470, code="unknown", message=message)
    again = makes.recording(1, "Left wing", 476, 1105)
    found = account(makes.take([again, broken, makes.recording(2, "Tail", 0.041, 1105)]))
    assert found["states"] == ["whole", "whole"]
    assert (found["there"], found["isIncomplete"]) == (2, True)
    told = f"Begun within 41 ms of each other. Left wing has a gap of 6 s{why}."
    assert found["sentences"] == told


def test_several_gaps_are_added_up(makes: Takes) -> None:
    parts = [makes.recording(1, "Tail", begin, begin + 10) for begin in (0, 14, 30)]
    assert account(makes.take(parts))["sentences"] == "Tail has 2 gaps, 10 s in all."


def test_who_begins_later_has_no_part_in_the_spread(makes: Takes) -> None:
    rows = [
        makes.recording(number, name, begin, 900)
        for number, name, begin in ((1, "A", 0), (2, "B", 0.5), (3, "C", 130))
    ]
    found = account(makes.take(rows))
    assert found["spread"] == 500
    assert found["sentences"] == "Begun within 500 ms of each other. C began 2 min later. Nobody missing."


def test_two_cameras_of_one_name_are_two(makes: Takes) -> None:
    found = account(makes.take([makes.recording(1, "Tail", 0, 9), makes.recording(2, "Tail", 2.4, 9)]))
    assert (found["total"], found["sentences"]) == (2, "Begun within 2.4 s of each other, nobody missing.")


def test_a_hostile_name_cannot_turn_a_sentence(makes: Takes) -> None:
    told = account(
        makes.take([makes.recording(1, "A", 0, 9)], [missing(2, "\u202egnorw"), missing(3, "\u05de\u05e6")])
    )
    assert told["sentences"] == "\\u202egnorw and \u2068\u05de\u05e6\u2069 did not record."


def test_an_offset_has_its_bound(makes: Takes) -> None:
    cases = {
        (50, 40): "+0.05 s \u00b1 0.04",
        (-30, 60): "\u22120.03 s \u00b1 0.06",
        (2, 40): "+0.00 s \u00b1 0.05",  # what was rounded off is within it, too
        (-2, 40): "+0.00 s \u00b1 0.05",
        (-1200, 50): "\u22121.20 s \u00b1 0.05",
        (-7, 41): "\u22120.01 s \u00b1 0.05",
        (12, 3): "+0.012 s \u00b1 0.003",
        (-75_000, 1_000): "\u221275.0 s \u00b1 1.0",
        (400, None): "+0.4 s, bound not known",
        (None, None): "not known",
    }
    rows = [
        makes.recording(1, "A", 0, 1, clock_offset_ms=offset, clock_bound_ms=bound) for offset, bound in cases
    ]
    assert dict(zip(cases, read("offsets", rows), strict=True)) == cases


def test_a_size_is_that_of_the_files_or_else_of_what_was_free(makes: Takes) -> None:
    free = {"storage_free": 60_000_000_000, "storage_free_after": 49_800_000_000}
    first = makes.recording(1, "A", 0, 1, files=files(4_000_000_000, 3_800_000_000))
    without = makes.recording(1, "A", 2, 3, **free)
    unsized = makes.recording(1, "A", 2, 3, files=files(1_000, None), **free)
    runs = makes.recording(1, "A", 4, None, storage_free=60_000_000_000)
    small = makes.recording(1, "A", 4, 5, files=files(740_400_000))
    tiny = makes.recording(1, "A", 4, 5, files=files(1))
    deleted = makes.recording(1, "A", 4, 5, storage_free=1, storage_free_after=2)
    cases: list[tuple[list[Json], int | None, bool, str | None]] = [
        ([first], None, False, "7.8 GB"),
        ([without], None, False, "about 10.2 GB"),
        ([unsized], None, False, "about 10.2 GB"),
        ([first, without], None, False, "about 18.0 GB"),
        ([runs], 58_000_000_000, True, "2.0 GB so far"),
        ([runs], None, True, None),
        ([first, makes.recording(1, "A", 9, 9)], None, False, None),
        ([small], None, False, "740 MB"),
        ([tiny], None, False, "1 kB"),
        ([deleted], None, False, None),
    ]
    given = [{"rows": rows, "free": now, "running": running} for rows, now, running, _ in cases]
    assert read("sizes", given) == [words for *_, words in cases]


def test_ticks_are_round_times_on_the_wall() -> None:
    hour = 3_600_000
    begin = int(BEGIN.timestamp() * 1_000)
    spans = [
        {"from": begin, "to": begin + 1_105_000, "zone": 0},
        {"from": begin, "to": begin + 40 * hour, "zone": 5 * hour + hour // 2},
        {"from": begin, "to": begin, "zone": 0},
        {"from": begin, "to": begin + 30 * 24 * hour, "zone": 0},
    ]
    minutes, hours, none, days = read("ticks", spans)
    assert [(one - begin) / 1_000 for one in minutes] == [140, 440, 740, 1_040][: len(minutes)]
    assert all((one + spans[1]["zone"]) % (12 * hour) == 0 for one in hours)
    assert len(hours) > 1
    assert len(none) <= 1
    assert 2 <= len(days) <= 5


def test_a_file_has_its_own_name() -> None:
    assert read("names", ["100GOPRO/GX010233.MP4", "R0010077.MP4", "odd/"]) == [
        "GX010233.MP4",
        "R0010077.MP4",
        "odd/",
    ]


def test_a_clock_that_was_set_meanwhile_is_said_and_its_times_are_not_compared(makes: Takes) -> None:
    """A row's times are by the clock of its begin, those of the take by that of the first."""
    rows = [makes.recording(1, "Tail", 0, 90), makes.recording(2, "Front", 86_400, 86_480)]
    take = makes.take([*rows, makes.recording(1, "Tail", 86_440, 86_490)]) | {"ended": makes.at(100)}
    found = account(take)
    assert (found["spread"], found["isIncomplete"]) == (None, False)
    told = "Nobody missing. The hub's clock was set meanwhile: the times of its cameras cannot be compared."
    assert found["sentences"] == told
