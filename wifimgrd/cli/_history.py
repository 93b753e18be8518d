"""`wifimgrctl history`: the history, or the signal and the battery of a device, as a table."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable, Iterator, Mapping, Set
from itertools import groupby
from typing import Final

from wifimgrd.cli._finding import find_device
from wifimgrd.cli._password import UsageError
from wifimgrd.cli._screen import Screen
from wifimgrd.cli._table import Cell, Column, Row
from wifimgrd.cli._text import Style
from wifimgrd.cli._times import local_time, span
from wifimgrd.client.hub import HubClient
from wifimgrd.client.json_records import history_json, signal_history_json
from wifimgrd.domain.camera import StopReason
from wifimgrd.domain.camera_state import recording_now
from wifimgrd.domain.errors import DeviceNotFound
from wifimgrd.domain.history import DEFAULT_LIMIT, LARGEST_LIMIT, HistoryKind
from wifimgrd.domain.records import HistoryRecord
from wifimgrd.domain.sentences import is_end_seen

_HEADS = (
    Column("TIME"),
    Column("CAMERA", least=12),
    Column("ADAPTER", rank=3),
    Column("WHAT"),
    Column("LASTED", rank=1, is_optional=True),
    Column("SIGNAL", rank=4, is_optional=True),
    Column("REASON", rank=2, is_optional=True, goes_below=True),
)

_SIGNAL_COLUMNS = (
    Column("TIME"),
    Column("SIGNAL"),
    Column("LOWEST"),
    Column("BATTERY", rank=1, is_optional=True),
)

_WHAT: Final[Mapping[str, str]] = {
    HistoryKind.SESSION: "connected",
    HistoryKind.INTERRUPTION: "interrupted",
    HistoryKind.RECORDING: "recorded",
    HistoryKind.REFUSAL: "refused",
}
_LASTING: Final = frozenset(
    {HistoryKind.SESSION, HistoryKind.RECORDING, HistoryKind.PROBLEM, HistoryKind.RECOVERY}
)
"""The kinds of rows that have no end as long as they last."""
_BAD: Final = frozenset(
    {HistoryKind.INTERRUPTION, HistoryKind.FAILURE, HistoryKind.REFUSAL, HistoryKind.PROBLEM}
)
_BAD_BY_CODE: Final = frozenset({HistoryKind.SESSION, HistoryKind.WAKE})
"""The kinds that are bad where they have a code."""


async def history(hub: HubClient, arguments: argparse.Namespace, screen: Screen) -> bool:
    """Show the history: the latest rows, or all since a time; or the signal and the battery of a
    device."""
    if arguments.signal:
        return await _show_signal(hub, arguments, screen)
    device_id = None if arguments.device is None else _device_id(hub, arguments.device)
    rows = await _rows(hub, device_id, arguments.since)
    if not rows and not screen.json:
        screen.hint("No history yet.")
        return True
    now_us = time.time_ns() // 1000
    running = recording_now(hub.devices.values())
    shown = [_line(row, times, now_us, running) for row, times in _folded(sorted(rows, key=_order))]
    screen.show([history_json(row) for row in rows], screen.table(_HEADS, shown))
    return True


async def _show_signal(hub: HubClient, arguments: argparse.Namespace, screen: Screen) -> bool:
    if arguments.device is None:
        raise UsageError("history: --signal needs a DEVICE")
    device = find_device(hub.devices, arguments.device)
    found = await hub.signal_history(device.id, arguments.since or 0)
    if not found.samples and not screen.json:
        screen.hint("No signal yet.")
        return True
    both = zip(found.samples, found.battery, strict=True)
    rows: list[Row] = [
        (local_time(at), f"{mean} %", f"{lowest} %", None if battery is None else f"{battery} %")
        for (at, mean, lowest), battery in both
    ]
    screen.show(signal_history_json(found), screen.table(_SIGNAL_COLUMNS, rows))
    return True


def _device_id(hub: HubClient, wanted: str) -> int:
    """A device that is registered, or the id of one that was removed."""
    try:
        return find_device(hub.devices, wanted).id
    except DeviceNotFound:
        if wanted.isascii() and wanted.isdecimal() and 0 < int(wanted) < 2**63:
            return int(wanted)
        raise


async def _rows(hub: HubClient, device_id: int | None, since_us: int | None) -> list[HistoryRecord]:
    """The newest first."""
    if since_us is None:
        return await hub.history(device_id, limit=DEFAULT_LIMIT)
    rows: list[HistoryRecord] = []
    before = None
    while page := await hub.history(device_id, before, LARGEST_LIMIT):
        rows += [row for row in page if max(row.time, row.ended or row.time) >= since_us]
        before = page[-1].id
        if page[-1].time < since_us:
            break
    return rows


def _order(row: HistoryRecord) -> tuple[int, int]:
    """The order of the times that are shown, which are those of the begin."""
    return row.time, row.id


def _folded(rows: Iterable[HistoryRecord]) -> Iterator[tuple[HistoryRecord, int]]:
    """Failures that follow each other and differ only in the time become the first of them, with their
    number."""
    for _, equal in groupby(rows, _appearance):
        first, *others = equal
        yield first, 1 + len(others)


def _appearance(row: HistoryRecord) -> object:
    """Equal for failures that look alike; any other row is unlike each other."""
    if row.kind in _LASTING or row.ended or row.kind not in _BAD:
        return row.id
    return row.kind, row.device_id, row.device_name, row.interface, row.code, row.message


def _line(row: HistoryRecord, times: int, now_us: int, running: Set[int]) -> Row:
    is_session, is_recording = row.kind == HistoryKind.SESSION, row.kind == HistoryKind.RECORDING
    lasted = None
    if row.kind in _LASTING or row.ended:
        lasted = span((row.ended or now_us) - row.time) + ("" if row.ended else " so far")
    what = _WHAT.get(row.kind, row.kind)
    if is_recording and row.ended and lasted and not is_end_seen(row.message or ""):
        lasted = f"at most {lasted}"
    if is_recording and not row.ended:
        what = "records"
        if row.device_id not in running:  # such as one whose link was lost
            what, lasted = "recording", "not known"
    if row.kind == HistoryKind.WAKE:
        what = "wake failed" if row.code else "woken"
    if times > 1:
        what += f" ({times} times)"
    signal = None if row.signal_mean is None else f"{row.signal_mean} %"
    if signal and row.signal_minimum != row.signal_mean:
        signal += f" (lowest {row.signal_minimum} %)"
    is_bad = row.kind in _BAD or (row.kind in _BAD_BY_CODE and row.code)
    if is_recording:
        is_bad = row.code not in (None, StopReason.STOPPED)
    reason = row.message if is_session or not row.code else f"{row.message} ({row.code})"
    return (
        local_time(row.time),
        row.device_name if row.device_id else None,
        row.interface,
        what,
        lasted,
        signal,
        Cell(reason, Style.BAD if is_bad else Style.PLAIN),
    )
