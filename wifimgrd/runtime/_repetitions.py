"""Log events whose rate a camera, a client or another program decides: of the same thing one line a minute.

The first is written at once. Those that follow within a minute are counted, and the last one of them is
written at its end, with their number (`repeated`) and its time (`last`): so the journal also has what came
last, and nobody can fill it. docs/security.md has the list.
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
from typing import Any, Final

import structlog
from structlog.typing import EventDict

MINUTE_S: Final = 60.0
MOST: Final = 1024
"""Things that are remembered; the one whose minute began first is forgotten first."""

_DEVICE: Final = ("device",)
_DEVICE_CODE: Final = ("device", "code")
_LINK: Final = ("device", "interface", "code")
LIMITED: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        # What a camera says of itself
        "recording_started": _DEVICE,
        "recording_stopped": _DEVICE_CODE,
        "camera_problem": _DEVICE_CODE,
        "camera_problem_over": _DEVICE_CODE,
        "camera_value_held": ("device", "value"),
        "camera_value_released": ("device", "value"),
        "camera_answers": _DEVICE,
        "camera_not_read": _DEVICE,
        "camera_not_attached": _DEVICE,
        "camera_process_failed": ("member", "error"),
        "clock_set": _DEVICE,
        "clock_not_set": _DEVICE_CODE,
        "reachable": _DEVICE,
        "silent": _DEVICE,
        # A link that comes and goes, or that somebody connects again and again
        "connecting": _LINK,
        "connected": _LINK,
        "connection_failed": _LINK,
        "connection_refused": _LINK,
        "connection_lost": _LINK,
        "disconnected": _LINK,
        "link_interrupted": _LINK,
        "link_ended": _LINK,
        "link_restored": _LINK,
        "waiting_for_interface": _DEVICE,
        "network_is_back": _DEVICE,
        "search_failed": _LINK,
        "join_refused": _LINK,
        "address_late": _DEVICE,
        "address_refused": _LINK,
        "access_point_refused": _LINK,
        "handshake_lost": _LINK,
        "supplicant_verdict": ("device", "interface", "state"),
        "supplicant_unaware": _LINK,
        "lease_not_requested": _LINK,
        "bssid_changed": ("now",),
        "replies_ignored": _LINK,
        "adapter_added": ("interface",),
        "adapter_removed": ("interface",),
        # Bluetooth
        "waking": _DEVICE,
        "woken": _DEVICE,
        "wake_failed": _DEVICE_CODE,
        "asleep": _DEVICE,
        "sleep_failed": _DEVICE_CODE,
        "pair_failed": _DEVICE_CODE,
        "paired": _DEVICE,
        "unpaired": _DEVICE,
        "keys_left": ("address",),
        "bluetooth_changed": ("state", "reason"),
        # What callers do
        "not_authorized": ("uid", "action"),
        "authorization_unknown": ("action",),
        "recording_failed": _DEVICE_CODE,
        "device_updated": _DEVICE,
        "group_refused": ("group", "code"),
        "group_connected": ("group",),
        "freed_for_group": ("device", "group"),
        "scan_failed": ("interface",),
        "call_crashed": ("member",),
        "internal_error": (),
        "request_failed": (),
        "command_failed": ("command",),
        # A broker
        "message_refused": ("reason",),
        "commands_paused": (),
    }
)
"""By the event, the fields that make it the same thing."""


@dataclass(slots=True)
class _Thing:
    """What was written, and what has followed since."""

    until_s: float
    """Until when it is not written again."""
    method: str
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
        fields = LIMITED.get(name)
        if fields is None:
            return event
        key, now_s = (name, *(str(event.get(one)) for one in fields)), self._clock()
        with self._lock:
            thing = self._things.get(key)
            if thing is None or now_s >= thing.until_s:
                self._things[key] = _Thing(now_s + MINUTE_S, method)
                self._things.move_to_end(key)
                if len(self._things) > MOST:
                    self._things.popitem(last=False)
                return event if thing is None else {**event, **thing.count}
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
