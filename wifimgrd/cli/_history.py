"""`wifimgrctl history`: the history, or the signal and the battery of a device, as a table."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
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
from wifimgrd.domain.camera_state import is_recording, recording_now
from wifimgrd.domain.errors import DeviceNotFound
from wifimgrd.domain.history import DEFAULT_LIMIT, LARGEST_LIMIT, HistoryKind
from wifimgrd.domain.records import DeviceRecord, HistoryRecord
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
_FURTHER_PAGES: Final = 10
"""So many are read for what began before the time that is asked for, and lasts."""
_CAME_OR_WENT: Final = frozenset({"plugged-in", "unplugged"})
_FLAPS: Final = 4
"""So many rows in a row of an adapter that came and went are one."""


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
    shown = [_line(one, now_us, running) for one in folded(sorted(rows, key=_order))]
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
    """The newest first; of a time those that began, ended or lasted since."""
    if since_us is None:
        return await hub.history(device_id, limit=DEFAULT_LIMIT)
    rows: list[HistoryRecord] = []
    before, further = None, 0
    wanted = _that_last(one for one in hub.devices.values() if device_id in (None, one.id))
    while page := await hub.history(device_id, before, LARGEST_LIMIT):
        rows += [row for row in page if _lasts(row) or max(row.time, row.ended or row.time) >= since_us]
        wanted -= {_subject(row) for row in page if _lasts(row)}
        before = page[-1].id
        if page[-1].time < since_us:
            further += 1
            if not wanted or further > _FURTHER_PAGES:
                break
    return rows


_Subject = tuple[int | None, str, str]


def _lasts(row: HistoryRecord) -> bool:
    return row.kind in _LASTING and not row.ended


def _subject(row: HistoryRecord) -> _Subject:
    return row.device_id, row.kind, (row.code or "") if row.kind == HistoryKind.PROBLEM else ""


def _that_last(devices: Iterable[DeviceRecord]) -> set[_Subject]:
    """The rows that have no end by the state of the cameras, however long ago they began."""
    found = set[_Subject]()
    for device in devices:
        camera = device.camera
        is_up = (device.last_successful_connection or 0) > (device.last_disconnection or 0)
        may_record = camera is not None and (
            camera.recording_requested if camera.recording_state is None else is_recording(device)
        )
        kinds = {
            HistoryKind.SESSION: is_up,
            HistoryKind.RECOVERY: device.recovery_step is not None,
            HistoryKind.RECORDING: may_record,
        }
        found |= {(device.id, kind.value, "") for kind, lasts in kinds.items() if lasts}
        problems = () if camera is None else camera.problems
        found |= {(device.id, HistoryKind.PROBLEM.value, problem) for problem in problems}
    return found


def _order(row: HistoryRecord) -> tuple[int, int]:
    """The order of the times that are shown, which are those of the begin."""
    return row.time, row.id


@dataclass(frozen=True, slots=True)
class Folded:
    """Rows that are shown as one."""

    first: HistoryRecord
    last: HistoryRecord
    times: int

    @property
    def is_flapping(self) -> bool:
        """It is an adapter that came and went."""
        return self.times > 1 and self.first.kind == HistoryKind.ADAPTER


def folded(rows: Iterable[HistoryRecord]) -> Iterator[Folded]:
    """Failures that follow each other and differ only in the time are one, with their number, and so is an
    adapter that comes and goes."""
    for _, group in groupby(rows, _appearance):
        equal = tuple(group)
        first, last, times = equal[0], equal[-1], len(equal)
        if first.kind != HistoryKind.ADAPTER:
            yield Folded(first, last, times)
        elif times >= _FLAPS:
            yield Folded(first, last, times // 2)
        else:
            yield from (Folded(one, one, 1) for one in equal)


def _appearance(row: HistoryRecord) -> object:
    """Equal for rows that may be one; any other row is unlike each other."""
    if row.kind == HistoryKind.ADAPTER and row.code in _CAME_OR_WENT:
        return row.kind, row.interface
    if row.kind in _LASTING or row.ended or row.kind not in _BAD:
        return row.id
    return row.kind, row.device_id, row.device_name, row.interface, row.code, row.message


def _line(one: Folded, now_us: int, running: Set[int]) -> Row:
    row, times = one.first, one.times
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
    message, code = row.message, row.code
    if one.is_flapping:
        what, lasted = f"came and went {times} times", span(one.last.time - row.time)
        message, code = one.last.message, one.last.code
    elif times > 1:
        what += f" ({times} times)"
    signal = None if row.signal_mean is None else f"{row.signal_mean} %"
    if signal and row.signal_minimum != row.signal_mean:
        signal += f" (lowest {row.signal_minimum} %)"
    is_bad = row.kind in _BAD or (row.kind in _BAD_BY_CODE and row.code)
    if is_recording:
        is_bad = row.code not in (None, StopReason.STOPPED)
    reason = message if is_session or not code else f"{message} ({code})"
    return (
        local_time(row.time),
        row.device_name if row.device_id else None,
        row.interface,
        what,
        lasted,
        signal,
        Cell(reason, Style.BAD if is_bad else Style.PLAIN),
    )
