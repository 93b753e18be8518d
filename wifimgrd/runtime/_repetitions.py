"""Log events whose rate a camera, a client or another program decides: of the same thing one line a minute.

The first is written at once; of what a person may do several times in a minute the first three. Those that
follow within a minute are counted, and the last one of them is written at its end, with their number
(`repeated`) and its time (`last`): so the journal also has what came last, and nobody can fill it.

The minute is that of a device, an interface or a group, and what waits is written in the order in which it
came last, before another line of the same: the last line tells how it is now. What waits is also written as
the process ends. docs/security.md has the list.
"""

from __future__ import annotations

import asyncio
import sys
import threading
import time
import traceback
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import structlog
from structlog.typing import EventDict

MINUTE_S: Final = 60.0
MOST: Final = 1024
"""Devices, and whatever else has a minute; the one whose minute began first is forgotten first."""
_EARLY: Final = 20
"""Lines that wait and are written before another one, in a minute of the same device; beyond that the other
one waits, too."""
_BY_HAND: Final = 3
"""Lines at once of what a person does, who connects, disconnects and connects again while looking at the
journal."""
_SUBJECTS: Final = ("device", "interface", "group")
"""The first of these fields that an event has is its subject."""
_EXCEPTION: Final = "exc_info"
_WAITED: Final = "has_waited"
"""A field of what passes."""

_Key = tuple[str, ...]
_Line = tuple[str, Mapping[str, Any]]
"""The method of the logger, and the event."""


class _Limit(NamedTuple):
    """Of which things an event has how many lines at once."""

    fields: tuple[str, ...]
    """The fields that make it the same thing; of an exception its type and where it was raised."""
    at_once: int = 1


_DEVICE: Final = ("device",)
_DEVICE_CODE: Final = ("device", "code")
_LINK: Final = ("device", "interface", "code")
LIMITED: Final[Mapping[str, _Limit]] = MappingProxyType(
    {
        # Reports of a camera
        "recording_started": _Limit(_DEVICE, _BY_HAND),
        "recording_stopped": _Limit(_DEVICE_CODE, _BY_HAND),
        "camera_problem": _Limit(_DEVICE_CODE),
        "camera_problem_over": _Limit(_DEVICE_CODE),
        "camera_value_held": _Limit(("device", "value")),
        "camera_value_released": _Limit(("device", "value")),
        "camera_answers": _Limit(_DEVICE),
        "camera_not_read": _Limit(_DEVICE),
        "camera_not_attached": _Limit(_DEVICE),
        "camera_process_failed": _Limit(("member", "error")),
        "clock_set": _Limit(_DEVICE, _BY_HAND),
        "clock_not_set": _Limit(_DEVICE_CODE, _BY_HAND),
        "reachable": _Limit(_DEVICE),
        "silent": _Limit(_DEVICE),
        # A link that comes and goes, or that somebody connects again and again
        "connecting": _Limit(_LINK, _BY_HAND),
        "connected": _Limit(_LINK, _BY_HAND),
        "connection_failed": _Limit(_LINK, _BY_HAND),
        "connection_refused": _Limit(_LINK, _BY_HAND),
        "connection_lost": _Limit(_LINK, _BY_HAND),
        "disconnected": _Limit(_LINK, _BY_HAND),
        "link_interrupted": _Limit(_LINK, _BY_HAND),
        "link_ended": _Limit(_LINK, _BY_HAND),
        "link_restored": _Limit(_LINK, _BY_HAND),
        "waiting_for_interface": _Limit(_DEVICE, _BY_HAND),
        "network_is_back": _Limit(_DEVICE, _BY_HAND),
        "search_failed": _Limit(_LINK, _BY_HAND),
        "join_refused": _Limit(_LINK, _BY_HAND),
        "address_late": _Limit(_DEVICE, _BY_HAND),
        "address_refused": _Limit(_LINK, _BY_HAND),
        "access_point_refused": _Limit(_LINK, _BY_HAND),
        "handshake_lost": _Limit(_LINK, _BY_HAND),
        "supplicant_verdict": _Limit(("device", "interface", "state"), _BY_HAND),
        "supplicant_unaware": _Limit(_LINK, _BY_HAND),
        "lease_not_requested": _Limit(_LINK, _BY_HAND),
        "bssid_changed": _Limit(("interface",), _BY_HAND),
        "replies_ignored": _Limit(_LINK),
        "adapter_added": _Limit(("interface",), _BY_HAND),
        "adapter_removed": _Limit(("interface",), _BY_HAND),
        # Bluetooth
        "waking": _Limit(_DEVICE, _BY_HAND),
        "woken": _Limit(_DEVICE, _BY_HAND),
        "wake_failed": _Limit(_DEVICE_CODE, _BY_HAND),
        "asleep": _Limit(_DEVICE, _BY_HAND),
        "sleep_failed": _Limit(_DEVICE_CODE, _BY_HAND),
        "pair_failed": _Limit(_DEVICE_CODE, _BY_HAND),
        "paired": _Limit(_DEVICE, _BY_HAND),
        "unpaired": _Limit(_DEVICE, _BY_HAND),
        "keys_left": _Limit(("address",)),
        "bond_kept": _Limit(("address",)),
        "camera_unfit": _Limit(("address",)),
        "bluetooth_changed": _Limit((), _BY_HAND),
        # Acts of callers
        "not_authorized": _Limit(("uid", "action")),
        "authorization_unknown": _Limit(("action",)),
        "recording_failed": _Limit(_DEVICE_CODE, _BY_HAND),
        "device_updated": _Limit(_DEVICE, _BY_HAND),
        "group_refused": _Limit(("group", "code"), _BY_HAND),
        "group_connected": _Limit(("group",), _BY_HAND),
        "freed_for_group": _Limit(("device", "group"), _BY_HAND),
        "scan_failed": _Limit(("interface",), _BY_HAND),
        "call_crashed": _Limit(("member", _EXCEPTION)),
        "internal_error": _Limit(("detail",)),
        "request_failed": _Limit((_EXCEPTION,)),
        "command_failed": _Limit(("command", _EXCEPTION)),
        # A broker
        "message_refused": _Limit(("reason",)),
        "commands_paused": _Limit(()),
        # Ground stations and autopilots
        "station_appeared": _Limit(()),
        "station_unreachable": _Limit(()),
        "frame_refused": _Limit(()),
        "armed": _Limit((), _BY_HAND),
        "disarmed": _Limit((), _BY_HAND),
    }
)
"""By the event."""


@dataclass(slots=True)
class _Thing:
    """The lines of one thing in the minute of its subject: those that were written, and those that wait."""

    at_once: int
    written: int = 0
    repeated: int = 0
    """How many were not written, and wait."""
    number: int = 0
    """Of the last one of them, in the order of all."""
    method: str = ""
    event: dict[str, Any] = field(default_factory=dict)
    """That one, with its time."""

    def count(self, number: int, method: str, event: EventDict) -> None:
        """One more waits. Its traceback is written down: it goes with the exception."""
        told = structlog.processors.format_exc_info(None, method, dict(event))
        last = datetime.now(UTC).isoformat(timespec="seconds")
        self.repeated, self.number, self.method = self.repeated + 1, number, method
        self.event = {**told, "repeated": self.repeated, "last": last}


def _number_of(thing: _Thing) -> int:
    return thing.number


@dataclass(slots=True)
class _Subject:
    """The minute of a device, an interface, a group, or of a thing that has none of them."""

    until_s: float
    things: dict[_Key, _Thing] = field(default_factory=dict)
    early: int = 0
    """Lines that were written before the end of the minute, since another one followed."""
    is_timed: bool = False

    @property
    def waiting(self) -> list[_Thing]:
        """In the order of what came last."""
        return sorted((one for one in self.things.values() if one.repeated), key=_number_of)

    def take(self) -> list[_Line]:
        """The lines that wait are written."""
        lines: list[_Line] = [(one.method, one.event) for one in self.waiting]
        for one in self.things.values():
            one.written, one.repeated, one.event = one.written + (one.repeated > 0), 0, {}
        return lines

    def take_early(self) -> list[_Line] | None:
        """The same, since another line follows; None if there were too many: it waits, too."""
        self.early += len(self.waiting)
        return self.take() if self.early <= _EARLY else None


class Repetitions:
    """A processor of structlog: drops what is repeated, and writes it later."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._subjects: OrderedDict[_Key, _Subject] = OrderedDict()
        """The one whose minute began first is the first."""
        self._number = 0
        self._lock = threading.Lock()  # the store's threads log, too

    def __call__(self, logger: object, method: str, event: EventDict) -> EventDict:
        """Pass an event on, or raise DropEvent."""
        del logger
        if event.pop(_WAITED, False):
            return event
        with self._lock:
            lines, is_written = self._take(method, event)
        _write(lines)
        if is_written:
            return event
        raise structlog.DropEvent

    def flush(self) -> None:
        """Write all that waits: the process ends."""
        with self._lock:
            waiting = [one for subject in self._subjects.values() for one in subject.waiting]
            lines = [(one.method, one.event) for one in sorted(waiting, key=_number_of)]
            self._subjects.clear()
        _write(lines)

    def _take(self, method: str, event: EventDict) -> tuple[list[_Line], bool]:
        """The lines that are due before an event, and whether it is written itself."""
        key, at_once = _thing_of(event)
        about = _subject_of(event) or key
        subject, lines = self._subjects.get(about), list[_Line]()
        if not at_once:
            return [] if subject is None else subject.take(), True
        now_s = self._clock()
        if subject is None or now_s >= subject.until_s:
            subject, lines = self._begin(about, now_s)
        thing = subject.things.setdefault(key, _Thing(at_once))
        if thing.written < at_once and (early := subject.take_early()) is not None:
            thing.written += 1
            return [*lines, *early], True
        self._number += 1
        thing.count(self._number, method, event)
        self._tell_later(about, subject, subject.until_s - now_s)
        return lines, False

    def _begin(self, about: _Key, now_s: float) -> tuple[_Subject, list[_Line]]:
        """Another minute of a subject, and what is to be written now. What waited is the first in it."""
        before = self._subjects.pop(about, None)
        lines, subject = list[_Line](), _Subject(now_s + MINUTE_S)
        if before is not None:
            subject.things = {
                key: _Thing(one.at_once, 1) for key, one in before.things.items() if one.repeated
            }
            lines = before.take()
        self._subjects[about] = subject
        if len(self._subjects) > MOST:
            _, forgotten = self._subjects.popitem(last=False)
            lines = [*forgotten.take(), *lines]
        return subject, lines

    def _tell_later(self, about: _Key, subject: _Subject, wait_s: float) -> None:
        """Write at the end of the minute what waits; without an event loop the next event has it written."""
        if subject.is_timed:
            return
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return
        subject.is_timed = True
        loop.call_later(wait_s, self._tell, about, subject)

    def _tell(self, about: _Key, subject: _Subject) -> None:
        with self._lock:
            if self._subjects.get(about) is not subject or not subject.waiting:
                return
            _, lines = self._begin(about, self._clock())
        _write(lines)


def _write(lines: Iterable[_Line]) -> None:
    for method, event in lines:
        getattr(structlog.get_logger(), method)(**event, **{_WAITED: True})


def _thing_of(event: EventDict) -> tuple[_Key, int]:
    """The thing that an event is about, and how many of its lines are written at once; 0 = each."""
    name = str(event.get("event", ""))
    limit = LIMITED.get(name)
    if limit is None:
        return (name,), 0
    return (name, *(_value(event, one) for one in limit.fields)), limit.at_once


def _value(event: EventDict, name: str) -> str:
    return _place(event.get(name)) if name == _EXCEPTION else str(event.get(name))


def _subject_of(event: EventDict) -> _Key | None:
    """The device, interface or group of an event, whose lines are written in order."""
    return next(((name, str(event[name])) for name in _SUBJECTS if event.get(name) is not None), None)


def _place(info: object) -> str:
    """The type of an exception, and the line that has raised it."""
    error = info if isinstance(info, BaseException) else sys.exc_info()[1]
    if error is None:
        return ""
    *_, last = [None, *traceback.walk_tb(error.__traceback__)]
    return type(error).__qualname__ + (f" {last[0].f_code.co_filename}:{last[1]}" if last else "")
