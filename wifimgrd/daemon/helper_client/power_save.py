"""Keep Wi-Fi power save off while a camera is connected, through the helper.

The backend switches it off when it activates a link. There is no notification when a program switches it on
again, so each event of a link triggers a check.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

import structlog

from wifimgrd.bus.connection import BusClosed, BusError
from wifimgrd.domain.device import DeviceId, DeviceState, DeviceStatus
from wifimgrd.domain.events import DeviceRemoved, DeviceStateChanged, DeviceUpdated, Event, SignalChanged
from wifimgrd.runtime.tasks import Tasks

_log = structlog.get_logger()

LATER_S: Final = 10.0
"""From an event to the check: one check for all events in that time, and none while a
client waits for a camera."""

EndPowerSave = Callable[[str], Awaitable[bool]]
"""Switches it off on an interface, returns whether it was on; raises BusError, BusClosed, TimeoutError."""


class PowerSaveMonitor:
    """An EventSink that checks the adapters of connected cameras."""

    def __init__(self, end_power_save: EndPowerSave, tasks: Tasks) -> None:
        self._end_power_save = end_power_save
        self._used: dict[DeviceId, str] = {}
        """The interface of each connected device."""
        self._timers: dict[str, asyncio.TimerHandle] = {}
        """The timers of pending checks."""
        self._tasks = tasks
        self._reported: set[str] = set()
        """Interfaces on which it was on at the last check."""

    async def stop(self) -> None:
        """Stop checking; power save stays as it is."""
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        self._used.clear()
        await self._tasks.stop()

    def publish(self, event: Event) -> None:
        """See EventSink."""
        match event:
            case DeviceStateChanged(status) | DeviceUpdated(status) | SignalChanged(status):
                self._update(status)
            case DeviceRemoved(device):
                self._used.pop(device, None)

    def _update(self, status: DeviceStatus) -> None:
        interface = status.interface
        if status.state is not DeviceState.CONNECTED or interface is None:
            self._used.pop(status.device.id, None)
            return
        self._used[status.device.id] = interface
        if interface not in self._timers:
            loop = asyncio.get_running_loop()
            self._timers[interface] = loop.call_later(LATER_S, self._start_check, interface)

    def _start_check(self, interface: str) -> None:
        del self._timers[interface]
        if interface in self._used.values():
            self._tasks.start("check", self._check(interface))

    async def _check(self, interface: str) -> None:
        try:
            was_on = await self._end_power_save(interface)
        except (BusError, BusClosed, TimeoutError) as error:
            # Mostly a driver that has no power save: nothing to report.
            _log.debug("power_save_unknown", interface=interface, reason=str(error))
            return
        if not was_on:
            self._reported.discard(interface)
        elif interface not in self._reported:
            self._reported.add(interface)
            _log.warning("adapter_drifted", interface=interface, reason="Wi-Fi power save was switched on")
