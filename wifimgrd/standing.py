"""How things stand, in one line that a person reads in `systemctl status`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from wifimgrd.domain.device import DeviceState
from wifimgrd.domain.events import BackendState, Event, SignalChanged
from wifimgrd.domain.interface import InterfaceState
from wifimgrd.manager.hub import Hub
from wifimgrd.ports import EventSink


def standing(hub: Hub) -> str:
    """E.g. "3 devices, 2 connected, 1 of 3 interfaces free", and what is wrong with the backend."""
    devices = [status.state for status in hub.device_statuses()]
    interfaces = [status.state for status in hub.interface_statuses()]
    line = (
        f"{_counted(len(devices), 'device')}, {devices.count(DeviceState.CONNECTED)} connected, "
        f"{interfaces.count(InterfaceState.AVAILABLE)} of {_counted(len(interfaces), 'interface')} free"
    )
    backend = hub.backend_status
    if backend.state is not BackendState.READY:
        line += f"; {hub.backend_name} is {backend.state.value}"
        line += f": {backend.reason}" if backend.reason else ""
    return line


_LATER_S: Final = 0.25
"""Whoever asked for the change hears of it first: telling wakes up the service manager."""


class StandingTeller:
    """An EventSink that passes every event on, and tells how things stand after those that count.

    Nothing is told before `start`. Events that come together are told of once, a moment later.
    """

    def __init__(self, sink: EventSink, tell: Callable[[str], None]) -> None:
        self._sink = sink
        self._tell = tell
        self._hub: Hub | None = None
        self._told = ""
        self._due: asyncio.TimerHandle | None = None

    def start(self, hub: Hub) -> None:
        """Tell for the first time, and from here on."""
        self._hub = hub
        self._tell_change()

    def stop(self) -> None:
        """Tell nothing more."""
        self._hub = None

    def publish(self, event: Event) -> None:
        """Pass one event on."""
        self._sink.publish(event)
        if self._hub is not None and self._due is None and not isinstance(event, SignalChanged):
            self._due = asyncio.get_running_loop().call_later(_LATER_S, self._tell_change)

    def _tell_change(self) -> None:
        self._due = None
        if self._hub is None:
            return
        line = standing(self._hub)
        if line != self._told:
            self._told = line
            self._tell(line)


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
