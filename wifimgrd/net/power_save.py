"""Wi-Fi power save stays off while a camera is connected: the daemon's side.

The backend switches it off as it makes a link. Nobody tells where a program switches it on again, so whatever
is told of a link is an occasion to look.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

import structlog

from wifimgrd.dbus.bus import BusClosed, BusError
from wifimgrd.domain.device import DeviceId, DeviceState, DeviceStatus
from wifimgrd.domain.events import (
    DeviceRemoved,
    DeviceStateChanged,
    DeviceUpdated,
    Event,
    SignalChanged,
)
from wifimgrd.ports import EventSink
from wifimgrd.runtime.tasks import Tasks

_log = structlog.get_logger()

LATER_S: Final = 10.0
"""From an occasion to the look, which costs a process: one for all occasions meanwhile, and none in the way
of those who wait for a camera."""

EndPowerSave = Callable[[str], Awaitable[bool]]
"""Switches it off on an interface, and says whether it was on; raises BusError, BusClosed, TimeoutError."""


class PowerSaveWatch:
    """An EventSink that passes every event on, and has the adapters of connected cameras looked at."""

    def __init__(self, sink: EventSink, end_power_save: EndPowerSave, tasks: Tasks) -> None:
        self._sink = sink
        self._end_power_save = end_power_save
        self._used: dict[DeviceId, str] = {}
        """The interface of each connected device."""
        self._timers: dict[str, asyncio.TimerHandle] = {}
        """Looks that are to come."""
        self._tasks = tasks
        self._told: set[str] = set()
        """Interfaces on which it was on at the last look."""

    async def stop(self) -> None:
        """Look no more; what is off stays off."""
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        self._used.clear()
        await self._tasks.stop()

    def publish(self, event: Event) -> None:
        """Pass one event on."""
        self._sink.publish(event)
        match event:
            case DeviceStateChanged(status) | DeviceUpdated(status) | SignalChanged(status):
                self._note(status)
            case DeviceRemoved(device):
                self._used.pop(device, None)

    def _note(self, status: DeviceStatus) -> None:
        interface = status.interface
        if status.state is not DeviceState.CONNECTED or interface is None:
            self._used.pop(status.device.id, None)
            return
        self._used[status.device.id] = interface
        if interface not in self._timers:
            loop = asyncio.get_running_loop()
            self._timers[interface] = loop.call_later(LATER_S, self._begin, interface)

    def _begin(self, interface: str) -> None:
        del self._timers[interface]
        if interface in self._used.values():
            self._tasks.start("look", self._look(interface))

    async def _look(self, interface: str) -> None:
        try:
            was_on = await self._end_power_save(interface)
        except (BusError, BusClosed, TimeoutError) as error:
            # Mostly a driver that has no power save, or a host without `iw`: nothing to be told.
            _log.debug("power_save_unknown", interface=interface, reason=str(error))
            return
        if not was_on:
            self._told.discard(interface)
        elif interface not in self._told:
            self._told.add(interface)
            _log.warning("adapter_drifted", interface=interface, reason="Wi-Fi power save was switched on")
