"""The page says of a row of the history what `wifimgrctl history` says: what, how long, in which order."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import pytest

from tests.cli.test_history import NOW, flapping, shown
from tests.programs import node
from wifimgrd.cli._history import Folded, _line
from wifimgrd.cli._table import Cell
from wifimgrd.cli._text import Style
from wifimgrd.client.json_records import history_json
from wifimgrd.domain import sentences
from wifimgrd.domain.camera import EndSeen, StopReason
from wifimgrd.domain.history import HistoryKind
from wifimgrd.domain.records import HistoryRecord

READ: Final = """
import { readFileSync } from "node:fs";
import { build } from "esbuild";
Object.defineProperty(globalThis, "navigator", { value: { languages: ["en"] } });
const contents = ["past_rows", "losses", "sentences"].map((one) => `export * from "./src/${one}";`).join("");
const stdin = { contents, resolveDir: ".", loader: "ts" };
const built = await build({ stdin, bundle: true, format: "esm", write: false });
const made = await import("data:text/javascript," + encodeURIComponent(built.outputFiles[0].text));
const { call, given } = JSON.parse(readFileSync(0, "utf8"));
const calls = {
  rows: ({ rows, now, isSeen }) => {
    const title = (one) => made.titleOf(one, now, isSeen, (time) => `<${time}>`);
    return made.folded(rows).map((one) => [title(one), made.isBad(one.row)]);
  },
  adapters: ({ own, all }) => made.ofItsAdapters(own, all).map((one) => one.id),
  bad: (rows) => rows.map(made.isBad),
  losses: (messages) => messages.map(made.lossOfEnd),
  clauses: (texts) => texts.map(made.asClause),
};
console.log(JSON.stringify(calls[call](given)));
"""
S: Final = 1_000_000
ROW: Final = HistoryRecord(
    id=1,
    time=NOW,
    kind="session",
    device_id=1,
    device_name="Nose",
    interface="wlan0",
    code="connection-lost",
    message="the connection was lost",
)
LASTED: Final = (0, 0.5, 1, 12.4, 59.9, 60, 119, 3_599, 3_600, 86_399, 86_400, 900_000)
ENDING: Final = ("session", "interruption", "recording", "problem", "recovery")


def read(call: str, given: Any) -> Any:
    """What the page's code makes of values."""
    return json.loads(node(READ, given=json.dumps({"call": call, "given": given})))


def of_page(rows: Sequence[HistoryRecord], now: int = NOW, *, is_seen: bool = True) -> list[tuple[str, bool]]:
    """The titles of rows, the newest first, and whether each is bad news; `is_seen`: whether their cameras
    are known to record now."""
    given = {"rows": [history_json(row) for row in rows], "now": now // 1000, "isSeen": is_seen}
    found = read("rows", given)
    return [(title, bad) for title, bad in found]


@pytest.mark.parametrize("kind", HistoryKind)
@pytest.mark.parametrize("code", ["connection-lost", None])
async def test_each_kind_has_the_same_words(kind: HistoryKind, code: str | None) -> None:
    row = replace(ROW, kind=kind.value, code=code, ended=NOW + 7 * S if kind.value in ENDING else None)
    [line] = await shown(row)
    [(title, _)] = of_page([row])
    what = title.partition(" from ")[0].partition(" at ")[0]
    assert f"  {what.lower()}  " in f"{line}  "
    assert what[:1].isupper()


@pytest.mark.parametrize("lasted", LASTED)
async def test_how_long_it_lasted_is_said_alike_to_the_second(lasted: float) -> None:
    row = replace(ROW, ended=NOW + int(lasted * S))
    [line] = await shown(row)
    [(title, _)] = of_page([row])
    assert f"  {title.rpartition(', ')[2]}  " in line


def test_what_lasts_says_since_when_and_how_long_so_far() -> None:
    kinds = ("session", "recording", "problem", "recovery")
    rows = [replace(ROW, id=number, kind=kind) for number, kind in enumerate(kinds, 1)]
    titles = [title for title, _ in of_page(rows, NOW + 90 * S)][::-1]
    begin = str(history_json(ROW)["time"])
    words = ("Connected", "Records", "Problem", "Recovery")
    assert titles == [f"{word} since <{begin}>, 1 min so far" for word in words]


@pytest.mark.parametrize(("seen", "is_seen"), [(EndSeen.LATER, False), (EndSeen.SWITCHED_OFF, True)])
async def test_one_that_was_not_seen_to_end_lasted_so_long_at_most(seen: EndSeen, is_seen: bool) -> None:
    for message in ("the connection was lost", ""):
        told = sentences.recording_ended(StopReason.UNKNOWN, seen, message)
        row = replace(ROW, kind="recording", code="unknown", message=told, ended=NOW + 480 * S)
        [line] = await shown(row)
        [(title, _)] = of_page([row])
        assert (" recorded  at most 8 min " in line, title.endswith(" or earlier, at most 8 min")) == (
            not is_seen,
            not is_seen,
        )
        assert sentences.is_end_seen(told) is is_seen


async def test_of_a_recording_both_say_that_nobody_knows_whether_it_runs() -> None:
    row = replace(ROW, kind="recording", code=None)
    [line] = await shown(row)
    [(title, _)] = of_page([row], is_seen=False)
    begin = str(history_json(ROW)["time"])
    assert title == f"Recording since <{begin}>, not known whether it still does"
    assert " recording  not known" in line


async def test_the_order_is_that_of_the_begins_and_equal_failures_are_one() -> None:
    failure = replace(ROW, kind="failure")
    rows = [
        replace(ROW, id=9, ended=NOW + 60 * S, time=NOW - 60 * S),  # known last, and began first
        *(replace(failure, id=2 + number, time=NOW + number * S) for number in range(3)),
        replace(failure, id=6, time=NOW + 9 * S, code="cancelled"),
    ]
    titles = [title for title, _ in of_page(rows)]
    assert [one.partition(" <")[0] for one in titles] == [
        "Failure at",
        "Failure (3 times) from",
        "Connected from",
    ]
    lines = await shown(*rows)
    assert [" failure (3 times) " in one for one in lines] == [False, True, False]


async def test_an_adapter_that_comes_and_goes_is_one_row_in_both() -> None:
    rows = flapping(100)
    [line] = await shown(*rows)
    [(title, _)] = of_page(rows)
    begin, end = (history_json(one)["time"] for one in (rows[0], rows[-1]))
    assert title == f"Came and went 50 times from <{begin}> to <{end}>"
    assert "  came and went 50 times  " in line
    assert len(of_page(flapping(3))) == len(await shown(*flapping(3))) == 3


def test_what_is_bad_news_is_what_the_command_line_shows_so() -> None:
    rows = [
        replace(ROW, id=number, time=NOW - number, kind=kind.value, code=code, ended=ended)
        for number, (kind, code, ended) in enumerate(
            (kind, code, ended)
            for kind in HistoryKind
            for code in (None, "connection-lost", "stopped")
            for ended in (None, NOW + S)
        )
    ]
    reasons = [_line(Folded(row, row, 1), NOW, set())[-1] for row in rows]
    ours = [isinstance(one, Cell) and one.style is Style.BAD for one in reasons]
    assert read("bad", [history_json(row) for row in rows]) == ours


def test_how_a_link_was_lost_while_it_recorded_is_known_by_the_sentence() -> None:
    def said(seen: EndSeen, error: str = "") -> str:
        return sentences.recording_ended(StopReason.UNKNOWN, seen, error)

    expected = {
        said(EndSeen.SWITCHED_OFF): "off",
        said(EndSeen.LATER, "the connection was lost: the camera SIM-CAM-1 was switched off"): "off",
        said(EndSeen.LATER, "the connection was lost: the camera is out of range"): "link",
        said(EndSeen.LATER): None,
        said(EndSeen.DIRECTLY): None,
        said(EndSeen.NEVER): None,
        sentences.recording_ended(StopReason.FULL): None,
    }
    assert dict(zip(expected, read("losses", list(expected)), strict=True)) == expected


def test_the_adapters_of_a_camera_are_those_it_used_then() -> None:
    session = replace(ROW, ended=NOW + 600 * S)
    gone = replace(ROW, id=2, kind="adapter", device_id=None, device_name=None, code="unplugged")
    all_rows = [
        replace(gone, id=2, time=NOW + 601 * S),
        replace(gone, id=3, time=NOW + 601 * S, interface="wlan1"),
        replace(gone, id=4, time=NOW + 9_000 * S),
        replace(gone, id=5, time=NOW - 9_000 * S),
        replace(gone, id=6, kind="backend", time=NOW + 601 * S),
    ]
    given = {"own": [history_json(session)], "all": [history_json(row) for row in all_rows]}
    assert read("adapters", given) == [2]


def test_a_name_in_a_clause_stays_as_it_is() -> None:
    texts = ["The card is full.", "NetworkManager stopped", "It stopped.", "A b", "wlan0 is away."]
    assert read("clauses", texts) == [
        "the card is full",
        "NetworkManager stopped",
        "it stopped",
        "a b",
        "wlan0 is away",
    ]
