"""`wifimgrctl takes`: as a table that fits a terminal, as JSON and as CSV."""

from __future__ import annotations

import argparse
import csv
import io
import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import pytest

from tests.cli.running import wifimgrctl
from tests.message_bus import MessageBusDaemon
from tests.processes import Hub, running_hub
from tests.recording_cameras import SCENARIO, connected, until
from wifimgrd.cli._screen import Screen
from wifimgrd.cli._takes import takes
from wifimgrd.cli._times import local_time
from wifimgrd.client.hub import HubClient
from wifimgrd.domain.camera import EndSeen, StopReason
from wifimgrd.domain.records import (
    CameraRecord,
    DeviceRecord,
    FileRecord,
    HistoryRecord,
    MissingRecord,
    TakeRecord,
)
from wifimgrd.domain.sentences import recording_ended

S = 1_000_000
BEGAN = 1_764_000_000 * S
NOSE = HistoryRecord(
    id=1,
    time=BEGAN,
    kind="recording",
    device_id=1,
    device_name="Nose",
    code="stopped",
    message="The recording was stopped.",
    ended=BEGAN + 723 * S,
    battery_level=80,
    battery_level_after=71,
    clock_offset=-212_400,
    clock_bound=9_100,
    files=(FileRecord(name="100GOPRO/GX010123.MP4", size=5), FileRecord(name="100GOPRO/GX020123.MP4")),
)
FULL = replace(
    NOSE,
    id=2,
    device_name="Left wing, outer",
    code="full",
    message="The recording stopped: the card is full.",
    ended=BEGAN + 65 * S,
    battery_level_after=80,
    clock_offset=4_000,
    clock_bound=None,
    files=None,
)
MISSING = MissingRecord(device_id=3, device_name="Tail", code="not-connected")
TAKE = TakeRecord(time=BEGAN, ended=NOSE.ended, recordings=(NOSE, FULL), missing=(MISSING,))


@dataclass
class Takes:
    """A hub with takes."""

    found: list[TakeRecord]
    devices: Mapping[int, DeviceRecord] = field(default_factory=dict)
    asked: list[tuple[int | None, int | None]] = field(default_factory=list)
    most: int = 1000
    """In one answer."""

    async def takes(
        self, since_us: int | None = None, *, limit: int | None = None, before: int | None = None
    ) -> list[TakeRecord]:
        self.asked.append((since_us, before))
        fitting = [one for one in self.found if before is None or one.recordings[-1].id < before]
        return fitting[: min(limit or 100, self.most)]


async def shown(hub: Takes, columns: int | None = None, **options: Any) -> list[str]:
    """What is printed, the times of takes replaced by names."""
    screen = Screen(json=False, out=io.StringIO(), err=io.StringIO(), columns=columns)
    arguments = argparse.Namespace(since=None, csv=False, **options)
    assert await takes(cast("HubClient", hub), arguments, screen)
    assert isinstance(screen.out, io.StringIO)
    assert isinstance(screen.err, io.StringIO)
    return [*screen.out.getvalue().splitlines(), *screen.err.getvalue().splitlines()]


async def test_a_row_for_each_recording_and_each_missing_camera() -> None:
    begun = local_time(BEGAN)
    files = "100GOPRO/GX010123.MP4, 100GOPRO/GX020123.MP4"
    assert await shown(Takes([TAKE])) == [
        f"TAKE                 CAMERA            RECORDED  CLOCK        BATTERY     {'FILES':44}  REASON",
        f"{begun}  Nose              12:03     -212 ms ±10  80 to 71 %  {files}  -",
        f"{begun}  Left wing, outer  1:05      +4 ms        80 %        "
        f"{'not known':44}  {FULL.message} (full)",
        f"{begun}  Tail              missing   -            -           {'-':44}  not-connected",
    ]


@pytest.mark.parametrize("columns", [80, 60, 40])
async def test_it_fits_a_terminal(columns: int) -> None:
    lines = await shown(Takes([TAKE]), columns)
    assert max(map(len, lines)) <= max(columns, 60)
    assert any("GX010123.MP4" in line for line in lines)
    assert any("not-connected" in line for line in lines)


async def test_what_nobody_knows_has_no_column_and_a_recording_may_go_on() -> None:
    row = HistoryRecord(id=1, time=1, kind="recording", device_id=1, device_name="Nose")
    runs = [TakeRecord(time=1, recordings=(row,), missing=())]
    recorder = DeviceRecord(id=1, state="connected", camera=CameraRecord(recording_state="recording"))
    heads, line = await shown(Takes(runs, {1: recorder}))
    assert heads.split() == ["TAKE", "CAMERA", "RECORDED"]
    assert line.endswith(" so far")
    _, lost = await shown(Takes(runs, {1: DeviceRecord(id=1, lost_at=1)}))
    assert lost.endswith(" not known")


async def test_one_that_was_not_seen_to_end_lasted_so_long_at_most() -> None:
    seen_later = recording_ended(StopReason.UNKNOWN, EndSeen.LATER, "the connection was lost")
    row = replace(NOSE, code="unknown", message=seen_later)
    [_, line] = await shown(Takes([TakeRecord(time=BEGAN, recordings=(row,), missing=())]))
    assert " at most 12:03 " in line


async def test_the_newest_take_is_last() -> None:
    older = replace(TAKE, time=BEGAN - 3600 * S, recordings=(NOSE,), missing=())
    lines = await shown(Takes([replace(TAKE, recordings=(NOSE,), missing=()), older]))
    assert [line[:19] for line in lines[1:]] == [local_time(BEGAN - 3600 * S), local_time(BEGAN)]


async def test_a_name_cannot_move_the_cursor() -> None:
    row = replace(NOSE, device_name="\x1b[2J", files=(FileRecord(name="\x1b[3J"),))
    lines = await shown(Takes([TakeRecord(time=1, recordings=(row,), missing=())]))
    assert "\x1b" not in "".join(lines)


async def test_all_takes_since_a_time_are_read_in_parts() -> None:
    """The hub's clock was set back, and its answers are shorter than they might be."""
    times = [BEGAN - number * S if number < 700 else BEGAN + 5000 * S - number * S for number in range(1500)]
    many = [
        TakeRecord(
            time=time,
            recordings=tuple(replace(NOSE, id=3000 - 2 * number + of_take) for of_take in (1, 0)),
            missing=(),
        )
        for number, time in enumerate(times)
    ]
    hub = Takes(many, most=800)
    screen = Screen(json=False, out=io.StringIO(), err=io.StringIO())
    arguments = argparse.Namespace(since=5, csv=False)
    assert await takes(cast("HubClient", hub), arguments, screen)
    assert isinstance(screen.out, io.StringIO)
    assert len(screen.out.getvalue().splitlines()) == 3001
    assert hub.asked == [(5, None), (5, 3000 - 2 * 799), (5, 2)]


async def test_without_takes_it_says_so() -> None:
    assert await shown(Takes([])) == ["No takes yet."]


@pytest.fixture
async def hub(message_bus: MessageBusDaemon, tmp_path: Path) -> AsyncIterator[Hub]:
    async with running_hub(message_bus.address, tmp_path / "state", f"--simulate={SCENARIO}") as hub:
        yield hub


async def test_takes_of_the_hub_in_each_form(hub: Hub) -> None:
    assert (await wifimgrctl(hub.address, "takes")).err == "No takes yet.\n"
    await connected(hub, "insta360-x4", "Left")
    device = await connected(hub, "gopro-hero12", "Nose")
    await hub.client.record([device], on=True)
    await until(hub, device, lambda camera: camera.recording_since is not None)
    assert " so far" in (await wifimgrctl(hub.address, "takes")).out
    assert re.search(r"Nose +- +records +.* so far", (await wifimgrctl(hub.address, "history")).out)
    await hub.client.record([device], on=False)
    await until(hub, device, lambda camera: camera.recording_state == "idle")
    ran = await wifimgrctl(hub.address, "takes", "--since", "1h")
    heads, recorded, missing = ran.out.splitlines()
    assert heads.startswith("TAKE ")
    assert recorded.split()[2] == "Nose"
    assert missing.split()[2:4] == ["Left", "missing"]
    [take] = (await wifimgrctl(hub.address, "takes", "--json")).value
    assert [row["device_name"] for row in take["recordings"]] == ["Nose"]
    assert [one["device_name"] for one in take["missing"]] == ["Left"]
    ran = await wifimgrctl(hub.address, "takes", "--csv")
    assert [row["device_name"] for row in csv.DictReader(io.StringIO(ran.out))] == ["Nose", "Left"]
    assert (await wifimgrctl(hub.address, "takes", "--since", "2999-01-01", "--json")).value == []
    assert (await wifimgrctl(hub.address, "takes", "--since", "soon")).status == 2
    ran = await wifimgrctl(hub.address, "takes", "--csv", "--json")
    assert (ran.status, "two forms" in ran.err) == (2, True)
