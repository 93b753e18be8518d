"""Log events whose rate a camera, a client or another program decides: of the same thing one line a minute.

The first is written at once; of what a person may do several times in a minute the first three. Those that
follow within a minute are counted, and the last one of them is written at its end, with their number
(`repeated`) and its time (`last`): so the journal also has what came last, and nobody can fill it.
docs/security.md has the list.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import structlog
from structlog.typing import EventDict

MINUTE_S: Final = 60.0
MOST: Final = 1024
"""Things that are remembered; the one whose minute began first is forgotten first."""
_BY_HAND: Final = 3
"""Lines at once of what a person does, who connects, disconnects and connects again while looking at the
journal."""


class _Limit(NamedTuple):
    """Of which things an event has how many lines at once."""

    fields: tuple[str, ...]
    """What makes it the same thing."""
    at_once: int = 1


_DEVICE: Final = ("device",)
_DEVICE_CODE: Final = ("device", "code")
_LINK: Final = ("device", "interface", "code")
LIMITED: Final[Mapping[str, _Limit]] = MappingProxyType(
    {
        # What a camera says of itself
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
        "bssid_changed": _Limit(("now",)),
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
        "bluetooth_changed": _Limit(("state", "reason"), _BY_HAND),
        # What callers do
        "not_authorized": _Limit(("uid", "action")),
        "authorization_unknown": _Limit(("action",)),
        "recording_failed": _Limit(_DEVICE_CODE, _BY_HAND),
        "device_updated": _Limit(_DEVICE, _BY_HAND),
        "group_refused": _Limit(("group", "code"), _BY_HAND),
        "group_connected": _Limit(("group",), _BY_HAND),
        "freed_for_group": _Limit(("device", "group"), _BY_HAND),
        "scan_failed": _Limit(("interface",), _BY_HAND),
        "call_crashed": _Limit(("member",)),
        "internal_error": _Limit(()),
        "request_failed": _Limit(()),
        "command_failed": _Limit(("command",)),
        # A broker
        "message_refused": _Limit(("reason",)),
        "commands_paused": _Limit(()),
    }
)
"""By the event."""


@dataclass(slots=True)
class _Thing:
    """What was written, and what has followed since."""

    until_s: float
    """Until when it is not written more often."""
    method: str
    written: int = 1
    repeated: int = 0
    event: dict[str, Any] = field(default_factory=dict)
    """The last one that was not written."""
    last: str = ""
    """When that was."""

    @property
    def count(self) -> dict[str, Any]:
        """What the next line says of those that were not written."""
        return {"repeated": self.repeated, "last": self.last} if self.repeated else {}


class Repetitions:
    """A processor of structlog: drops what is repeated, and writes it later."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._things: OrderedDict[tuple[str, ...], _Thing] = OrderedDict()
        self._lock = threading.Lock()  # the store's threads log, too

    def __call__(self, logger: object, method: str, event: EventDict) -> EventDict:
        """Pass an event on, or raise DropEvent."""
        del logger
        name = str(event.get("event", ""))
        limit = LIMITED.get(name)
        if limit is None:
            return event
        key, now_s = (name, *(str(event.get(one)) for one in limit.fields)), self._clock()
        with self._lock:
            thing = self._things.get(key)
            if thing is None or now_s >= thing.until_s:
                self._things[key] = _Thing(now_s + MINUTE_S, method)
                self._things.move_to_end(key)
                if len(self._things) > MOST:
                    self._things.popitem(last=False)
                return event if thing is None else {**event, **thing.count}
            if thing.written < limit.at_once:
                thing.written += 1
                return event
            thing.repeated, thing.method = thing.repeated + 1, method
            thing.event = {one: value for one, value in event.items() if one not in ("event", "exc_info")}
            thing.last = datetime.now(UTC).isoformat(timespec="seconds")
            is_first, wait_s = thing.repeated == 1, thing.until_s - now_s
        if is_first:
            self._tell_later(key, wait_s)
        raise structlog.DropEvent

    def _tell_later(self, key: tuple[str, ...], wait_s: float) -> None:
        """Write at the end of the minute what has followed; without an event loop the next one says it."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return
        loop.call_later(wait_s, self._tell, key)

    def _tell(self, key: tuple[str, ...]) -> None:
        with self._lock:
            thing = self._things.get(key)
            if thing is None or not thing.repeated:
                return
            thing.until_s = self._clock()
        getattr(structlog.get_logger(), thing.method)(key[0], **thing.event)
