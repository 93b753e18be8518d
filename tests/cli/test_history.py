"""`wifimgrctl history`: in which order, and which entries are one."""

from __future__ import annotations

import argparse
import io
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, cast

import pytest

from wifimgrd.cli._history import history
from wifimgrd.cli._screen import Screen
from wifimgrd.client.hub import HubClient
from wifimgrd.domain.records import CameraRecord, DeviceRecord, HistoryRecord

S = 1_000_000
NOW = 1_764_000_000 * S
FAILURE = HistoryRecord(
    id=1,
    time=NOW,
    kind="failure",
    device_id=1,
    device_name="Tail",
    interface="wlan0",
    code="device-not-reachable",
    message="the network was not seen",
)
RECORDING = replace(FAILURE, id=2, kind="recording", device_id=2, device_name="Nose", time=NOW - 60 * S)


@dataclass
class Remembering:
    """A hub with a history."""

    rows: list[HistoryRecord]
    devices: Mapping[int, DeviceRecord] = field(default_factory=dict)
    reads: int = 0

    async def history(
        self, device_id: int | None = None, before: int | None = None, limit: int | None = None
    ) -> list[HistoryRecord]:
        self.reads += 1
        newest = sorted(self.rows, key=lambda row: -row.id)
        return [row for row in newest if before is None or row.id < before][: limit or 100]


async def shown(
    *rows: HistoryRecord,
    as_json: bool = False,
    running: Iterable[DeviceRecord] = (),
    since: int | None = None,
) -> list[str]:
    """What is printed, without the heads; `running`: the cameras that are known to record now."""
    screen = Screen(json=as_json, out=io.StringIO(), err=io.StringIO())
    arguments = argparse.Namespace(signal=False, device=None, since=since)
    assert await history(
        cast("HubClient", Remembering(list(rows), {one.id: one for one in running})), arguments, screen
    )
    lines = cast("io.StringIO", screen.out).getvalue().splitlines()
    return lines if as_json else lines[1:]


async def test_rows_are_in_the_order_of_the_times_that_are_shown() -> None:
    recorded = replace(RECORDING, code="stopped", message="The recording was stopped.", ended=NOW + 60 * S)
    first, second = await shown(FAILURE, recorded)
    assert " recorded " in first
    assert " failure " in second
    assert first[:19] < second[:19]


async def test_as_json_they_are_as_the_hub_gives_them() -> None:
    rows = json.loads("\n".join(await shown(FAILURE, RECORDING, as_json=True)))
    assert [row["id"] for row in rows] == [2, 1]


async def test_equal_failures_are_one() -> None:
    again = [replace(FAILURE, id=number, time=NOW + number * S) for number in range(2, 4)]
    [line] = await shown(FAILURE, *again)
    assert " failure (3 times) " in line


async def test_what_lies_between_or_differs_keeps_failures_apart() -> None:
    other = replace(FAILURE, id=2, time=NOW + S, device_id=2, device_name="Nose")
    assert len(await shown(FAILURE, other, replace(FAILURE, id=3, time=NOW + 2 * S))) == 3
    assert len(await shown(FAILURE, replace(FAILURE, id=2, code="cancelled"))) == 2


async def test_what_succeeded_is_told_each_time() -> None:
    wake = replace(FAILURE, kind="wake", code=None, message="The camera was woken.")
    assert len(await shown(wake, replace(wake, id=2))) == 2


async def test_a_problem_has_its_length_and_one_that_lasts_says_so() -> None:
    problem = replace(FAILURE, kind="problem", code="storage-full", message="Its card is full.")
    over, lasts = await shown(replace(problem, ended=NOW + 120 * S), replace(problem, id=2, time=NOW + S))
    assert " problem  2 min " in over
    assert " so far " in lasts
    assert over.endswith("Its card is full. (storage-full)")


async def test_a_recording_of_which_nobody_knows_whether_it_runs_says_so() -> None:
    runs = replace(RECORDING, code=None, message="", ended=None)
    reading = CameraRecord(recording_state="recording")
    [seen] = await shown(runs, running=[DeviceRecord(id=2, state="connected", camera=reading)])
    [unseen] = await shown(runs, running=[DeviceRecord(id=2, lost_at=NOW)])
    assert " records " in seen
    assert " so far" in seen
    assert " recording  not known" in unseen


MANY: Final = [replace(FAILURE, id=number, time=NOW - 60 * S, ended=None) for number in range(2, 2_500)]
"""Rows that are between what began long ago and now."""


@pytest.mark.parametrize(
    ("kind", "device"),
    [
        ("session", DeviceRecord(id=1, state="connected", last_successful_connection=NOW - 9_000 * S)),
        ("recording", DeviceRecord(id=1, camera=CameraRecord(recording_state="recording"))),
        ("recording", DeviceRecord(id=1, camera=CameraRecord(recording_requested=True))),
        ("problem", DeviceRecord(id=1, camera=CameraRecord(problems=("storage-full",)))),
    ],
)
async def test_since_a_time_are_those_too_that_began_before_and_last(kind: str, device: DeviceRecord) -> None:
    code = "storage-full" if kind == "problem" else None
    lasting = replace(FAILURE, id=1, kind=kind, code=code, message="", time=NOW - 9_000 * S)
    rows = [lasting, *MANY, replace(RECORDING, id=3_000, ended=NOW, time=NOW)]
    text = "\n".join(await shown(*rows, as_json=True, running=[device], since=NOW - 30 * S))
    ids = [row["id"] for row in json.loads(text)]
    assert ids == [3_000, 1]


async def test_since_a_time_no_more_is_read_where_nothing_else_lasts() -> None:
    hub = Remembering([*MANY, replace(RECORDING, id=3_000, ended=NOW, time=NOW)])
    screen = Screen(json=False, out=io.StringIO(), err=io.StringIO())
    arguments = argparse.Namespace(signal=False, device=None, since=NOW - 30 * S)
    await history(cast("HubClient", hub), arguments, screen)
    assert hub.reads == 1


def flapping(count: int) -> list[HistoryRecord]:
    """An adapter comes and goes."""
    plugged = replace(FAILURE, kind="adapter", device_id=None, device_name=None, interface="wlan9")
    words = {"plugged-in": "was plugged in", "unplugged": "was unplugged"}
    codes = [*words] * count
    return [
        replace(
            plugged,
            id=number,
            time=NOW + number * S,
            code=code,
            message=f"The adapter wlan9 {words[code]}.",
        )
        for number, code in enumerate(codes[:count], 1)
    ]


async def test_an_adapter_that_comes_and_goes_is_one_row() -> None:
    [line] = await shown(*flapping(520)[:100])
    assert "  wlan9  " in line
    assert "  came and went 50 times  1 min  " in line
    assert line.endswith("The adapter wlan9 was unplugged. (unplugged)")
    assert len(await shown(*flapping(3))) == 3
    other = replace(flapping(1)[0], interface="wlan8")
    assert len(await shown(*flapping(4), replace(other, id=5, time=NOW + 5 * S))) == 2


async def test_a_refusal_says_why() -> None:
    refusal = replace(FAILURE, kind="refusal", message="It did not start recording: the card is full.")
    [line] = await shown(refusal)
    assert " refused " in line
    assert line.endswith("It did not start recording: the card is full. (device-not-reachable)")
