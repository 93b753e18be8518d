"""`wifimgrctl takes`: which recordings belong together, who was missing, and how far the clocks differ."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Set

from wifimgrd.cli._screen import Screen
from wifimgrd.cli._table import Cell, Column, Row
from wifimgrd.cli._text import Style
from wifimgrd.cli._times import local_time
from wifimgrd.client.hub import HubClient
from wifimgrd.client.json_records import history_json, take_json
from wifimgrd.client.takes_csv import takes_csv
from wifimgrd.domain.camera import StopReason
from wifimgrd.domain.camera_state import elapsed, recording_now
from wifimgrd.domain.history import DEFAULT_LIMIT, LARGEST_LIMIT
from wifimgrd.domain.records import HistoryRecord, TakeRecord
from wifimgrd.domain.sentences import is_end_seen

_HEADS = (
    Column("TAKE"),
    Column("CAMERA", least=12),
    Column("RECORDED"),
    Column("CLOCK", rank=1, is_optional=True, goes_below=True),
    Column("BATTERY", rank=3, is_optional=True),
    Column("FILES", rank=2, is_optional=True, goes_below=True),
    Column("REASON", rank=4, is_optional=True, goes_below=True),
)


async def takes(hub: HubClient, arguments: argparse.Namespace, screen: Screen) -> bool:
    """Show the takes: the latest ones, or all since a time."""
    found = await _takes(hub, arguments.since)
    if arguments.csv:
        screen.out.write(takes_csv(found))
        return True
    if not found and not screen.json:
        screen.hint("No takes yet.")
        return True
    now_us = time.time_ns() // 1000
    running = recording_now(hub.devices.values())
    lines = screen.table(_HEADS, [row for take in reversed(found) for row in _rows(take, now_us, running)])
    screen.show(list(map(take_json, found)), lines)
    return True


async def _takes(hub: HubClient, since_us: int | None) -> list[TakeRecord]:
    """The newest first. They are read in parts by id: times come twice where the hub's clock was set back."""
    if since_us is None:
        return await hub.takes(limit=DEFAULT_LIMIT)
    found: list[TakeRecord] = []
    before = None
    while page := await hub.takes(since_us, limit=LARGEST_LIMIT, before=before):
        found += page
        before = min(row.id for row in page[-1].recordings)
    return found


def _rows(take: TakeRecord, now_us: int, running: Set[int]) -> Iterator[Row]:
    """A row for each recording, and for each missing camera."""
    begun = local_time(take.time)
    for row in take.recordings:
        lasted = elapsed((row.ended or now_us) - row.time) + ("" if row.ended else " so far")
        if row.ended and not is_end_seen(row.message or ""):
            lasted = f"at most {lasted}"
        if not row.ended and row.device_id not in running:
            lasted = "not known"  # such as of one whose link was lost: it may record on
        files = ", ".join(one.name for one in row.files or ()) or ("not known" if row.ended else None)
        is_bad = row.code not in (None, StopReason.STOPPED)
        reason = Cell(f"{row.message} ({row.code})", Style.BAD) if is_bad else None
        yield begun, row.device_name, lasted, _clock(row), _battery(row), files, reason
    for one in take.missing:
        yield (
            begun,
            one.device_name,
            Cell("missing", Style.BAD),
            None,
            None,
            None,
            Cell(one.code or "not told to record", Style.BAD),
        )


def _clock(row: HistoryRecord) -> str | None:
    """By how much the camera's clock is ahead of the hub's, and how well that is known."""
    of_json = history_json(row)
    offset, bound = of_json["clock_offset_ms"], of_json["clock_bound_ms"]
    if offset is None:
        return None
    return f"{offset:+} ms" if bound is None else f"{offset:+} ms \u00b1{bound}"


def _battery(row: HistoryRecord) -> str | None:
    before, after = row.battery_level, row.battery_level_after
    if before is None or after is None or before == after:
        level = after if before is None else before
        return None if level is None else f"{level} %"
    return f"{before} to {after} %"
