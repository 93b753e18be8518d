"""`wifimgrctl history`: in which order, and which entries are one."""

from __future__ import annotations

import argparse
import io
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import cast

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

    async def history(
        self, device_id: int | None = None, before: int | None = None, limit: int | None = None
    ) -> list[HistoryRecord]:
        return sorted(self.rows, key=lambda row: -row.id)


async def shown(
    *rows: HistoryRecord, as_json: bool = False, running: Iterable[DeviceRecord] = ()
) -> list[str]:
    """What is printed, without the heads; `running`: the cameras that are known to record now."""
    screen = Screen(json=as_json, out=io.StringIO(), err=io.StringIO())
    arguments = argparse.Namespace(signal=False, device=None, since=None)
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


async def test_a_refusal_says_why() -> None:
    refusal = replace(FAILURE, kind="refusal", message="It did not start recording: the card is full.")
    [line] = await shown(refusal)
    assert " refused " in line
    assert line.endswith("It did not start recording: the card is full. (device-not-reachable)")
