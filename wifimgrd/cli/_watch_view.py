"""The screen of `wifimgrctl watch`, line by line. Pure: no clock, no I/O."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from wifimgrd.cli._camera_views import battery, card, device_state, problems
from wifimgrd.cli._event_text import Sentence
from wifimgrd.cli._table import Column, Row, table
from wifimgrd.cli._text import STYLE_OF_STATE, Style, safe, shortened, styled, width, wrapped
from wifimgrd.domain.camera_state import is_current, is_recording
from wifimgrd.domain.records import DeviceRecord, ServiceRecord

_HEADS: Final = (
    Column("NAME"),
    Column("STATE"),
    Column("SIGNAL", rank=2),
    Column("BATTERY", rank=3, is_optional=True),
    Column("CARD", rank=4, is_optional=True),
    Column("ADAPTER", rank=5),
    Column("ADDRESS", rank=6, is_optional=True),
    Column("PROBLEMS", rank=1, is_optional=True),
)
_KEYS: Final = (
    "q quit",
    "c connect",
    "d disconnect",
    "r record, stop",
    "R, S: all",
    "w wake",
    "f when free",
)
"""The most important ones first; all of them fit 80 columns."""
_BETWEEN_KEYS: Final = "  "
_MARK: Final = "> "
_LEAST_NAME: Final = 16
_NARROWEST: Final = 24
_LOWEST: Final = 6
"""In a terminal with fewer columns or lines there is nothing to see."""
_MOST_EVENTS: Final = 8
"""So many lines of events are kept where there are more devices than lines."""


@dataclass(frozen=True, slots=True)
class Watched:
    """The contents of the screen."""

    devices: Sequence[DeviceRecord]
    service: ServiceRecord
    away: str = ""
    """Why the daemon does not answer; the devices are then the last known ones."""
    events: Sequence[tuple[int, Sentence]] = ()
    """The newest last, each with its time."""
    selected: int | None = None
    """The id of the device that keys command."""
    said: str = ""
    """The outcome of the last command."""
    said_style: Style = Style.PLAIN


@dataclass(frozen=True, slots=True)
class Frame:
    """The lines, at most as many as the terminal has, each at most as wide; and which one is selected."""

    lines: Sequence[str]
    selected: int | None


def frame(watched: Watched, rows: int, columns: int, now_us: int) -> Frame:
    """The screen of a terminal of that size; styles are SGR."""
    if columns < _NARROWEST or rows < _LOWEST:
        return Frame([shortened("too small", columns), *[""] * (rows - 1)], None)
    room = columns - 1
    said = wrapped(safe(watched.said), room)[:2] if watched.said else []
    bottom = [*(styled(line, watched.said_style, colour=True) for line in said), _keys(room)]
    between = max(0, rows - 2 - len(bottom))
    heads, *listed = _devices(watched, room, now_us)
    for_events = min(len(watched.events), max(_MOST_EVENTS, between - len(listed) - 3), max(0, between - 4))
    for_devices = max(0, between - 1 - (for_events + 2 if for_events else 0))
    first, chosen = _window([one.id for one in watched.devices], watched.selected, for_devices)
    lines = [_title(watched, room), "", heads, *listed[first : first + for_devices]]
    if len(listed) > for_devices and len(lines) > 3:
        last = min(len(listed), first + for_devices)
        range_shown = shortened(f"{first + 1} to {last} of {len(listed)}", room)
        lines[1] = styled(range_shown, Style.FAINT, colour=True)
    selected = None if chosen is None else 3 + chosen - first
    if for_events:
        lines += ["", styled("EVENTS", Style.STRONG, colour=True)]
        lines += [_event(*one, room) for one in list(watched.events)[-for_events:]]
    lines = lines[: max(0, rows - len(bottom))]
    lines += [""] * (rows - len(bottom) - len(lines)) + bottom
    return Frame(lines[-rows:], selected if selected is not None and selected < rows - len(bottom) else None)


def _title(watched: Watched, room: int) -> str:
    devices, service = watched.devices, watched.service
    connected, recording = sum(one.is_connected for one in devices), sum(map(is_recording, devices))
    counts = f"{connected} of {len(devices)} connected" + (f", {recording} recording" if recording else "")
    state = f"{service.backend} {service.backend_state}"
    style = STYLE_OF_STATE.get(service.backend_state, Style.BAD)
    if watched.away:
        state, style = watched.away, Style.BAD
    parts = [("wifimgrd", Style.STRONG), (counts, Style.PLAIN), (state, style)]
    line, taken = "", 0
    for text, style in parts:
        fitted = shortened(safe(text), max(1, room - taken))
        line += styled(fitted, style, colour=True) + "  "
        taken += width(fitted) + 2
        if taken >= room:
            break
    return line.rstrip()


def _devices(watched: Watched, room: int, now_us: int) -> list[str]:
    """The heads, and a line for each device."""
    current = not watched.away and is_current(watched.service.backend_state)
    longest = max(_LEAST_NAME, room // 3)
    rows: list[Row] = [
        (
            shortened(safe(one.name), longest),
            device_state(one, now_us, current=current),
            None if one.signal_strength is None or not current else f"{one.signal_strength} %",
            one.camera and battery(one.camera),
            one.camera and card(one.camera),
            one.interface if current else None,
            one.address,
            one.camera and problems(one.camera),
        )
        for one in watched.devices
    ]
    lines = table(_HEADS, rows, columns=max(room - len(_MARK), 1), colour=True)
    if len(lines) != len(rows) + 1:  # so narrow that even these have several lines
        lines = [shortened(f"{safe(one.name)} {one.state}", room - len(_MARK)) for one in watched.devices]
        lines.insert(0, "")
    marks = ["  ", *(_MARK if one.id == watched.selected else "  " for one in watched.devices)]
    if not watched.devices and watched.away:
        return [shortened(f"  The cameras are not known yet: {safe(watched.away)}.", room)]
    if not watched.devices:
        return ["  No cameras are registered. Register one with `wifimgrctl add --ssid SSID`."[:room]]
    return [mark + line for mark, line in zip(marks, lines, strict=True)]


def _window(ids: Sequence[int], selected: int | None, size: int) -> tuple[int, int | None]:
    """The first device that is shown, and the position of the selected one, which is among them."""
    if selected not in ids or size <= 0:
        return 0, None
    at = ids.index(selected)
    first = max(0, min(at - size // 2, len(ids) - size))
    return first, at


def _event(time_us: int, sentence: Sentence, room: int) -> str:
    clock = datetime.fromtimestamp(time_us / 1e6).astimezone().strftime("%H:%M:%S")
    subject = f"{clock}  {safe(sentence.subject)}: "
    if width(subject) >= room:
        return shortened(subject, room)
    return subject + styled(
        shortened(safe(sentence.what), room - width(subject)), sentence.style, colour=True
    )


def _keys(room: int) -> str:
    line = ""
    for key in _KEYS:
        longer = line + _BETWEEN_KEYS + key if line else key
        if width(longer) > room:
            break
        line = longer
    return styled(line, Style.FAINT, colour=True)
