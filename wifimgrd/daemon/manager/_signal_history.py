"""The signal of each device, and its battery, over the last days: a sample a minute, collected in memory and
written seldom."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable
from typing import Final

from wifimgrd.daemon.manager._state import Clock
from wifimgrd.daemon.ports import HistoryStore
from wifimgrd.domain.device import DeviceId
from wifimgrd.domain.signal_history import (
    MINUTE_US,
    RunningMinute,
    SignalReading,
    SignalSample,
    minutes_between,
)

WRITE_S: Final = 600.0
"""The least time between writes, and the time until a sample is on disk."""


class SignalHistory:
    """Made of readings; a minute without one has no sample, whatever the host's clock does."""

    def __init__(self, store: HistoryStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._running: dict[DeviceId, RunningMinute] = {}
        self._pending: dict[DeviceId, dict[int, SignalSample]] = defaultdict(dict)
        """Samples of minutes that are over and not on disk."""
        self._timer: asyncio.TimerHandle | None = None
        self._stopped = False

    def keep_in(self, store: HistoryStore) -> None:
        """Write what is not on disk yet to another store."""
        self._store = store

    def read(self, reading: SignalReading) -> None:
        """Take a reading."""
        if self._stopped:
            return
        device_id, now_us = reading.device_id, self._clock()
        running = self._running.get(device_id)
        if running is None:
            self._running[device_id] = RunningMinute.first(reading, now_us)
        else:
            now = running.read(reading, now_us)
            if now.minute != running.minute:
                self._finish([device_id])
            self._running[device_id] = now
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(WRITE_S, self._write)

    async def samples(
        self, device_id: DeviceId, since_us: int = 0, until_us: int = 0
    ) -> list[tuple[int, SignalSample]]:
        """The samples of the minutes that begin from `since_us` on and before `until_us`, with these times,
        microseconds since the epoch, the earlier ones first; 0 = all that are kept, until now. Includes those
        that are not on disk yet, and that of the running minute so far. Raises InternalError."""
        minutes = minutes_between(since_us, until_us, self._clock())
        fresh = self._fresh(device_id)
        found = {**await self._store.read_signal(device_id, minutes), **fresh}
        return [(minute * MINUTE_US, found[minute]) for minute in sorted(found) if minute in minutes]

    def forget(self, device_id: DeviceId) -> None:
        """Drop what is not on disk yet of a device."""
        self._running.pop(device_id, None)
        self._pending.pop(device_id, None)

    def stop(self) -> None:
        """Write everything, that of the running minutes, too."""
        self._stopped = True
        self._finish(list(self._running))
        self._write()

    def _fresh(self, device_id: DeviceId) -> dict[int, SignalSample]:
        """The samples of a device that are not on disk."""
        fresh, running = dict(self._pending.get(device_id, {})), self._running.get(device_id)
        if running is not None:
            fresh[running.minute] = running.sample
        return fresh

    def _finish(self, devices: Iterable[DeviceId]) -> None:
        """No further reading is expected in the running minutes of some devices."""
        for device_id in devices:
            running = self._running.pop(device_id)
            self._pending[device_id][running.minute] = running.sample

    def _write(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        now_us = self._clock()
        self._finish([one for one, last in self._running.items() if last.minute != now_us // MINUTE_US])
        if self._pending:
            self._store.put_signals(self._pending)
            self._pending = defaultdict(dict)
