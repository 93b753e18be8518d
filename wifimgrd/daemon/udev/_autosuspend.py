"""Disable USB autosuspend of adapters in use, and restore the previous setting afterwards.

A suspended adapter misses beacons and drops links, with some drivers permanently. The previous setting is
stored under the USB port before it is changed, so that it is restored after a crash of the daemon, too.
"""

from __future__ import annotations

import asyncio
from typing import Final

import structlog

from wifimgrd.daemon.ports import BackendMemory
from wifimgrd.daemon.udev._usb import UsbDevices
from wifimgrd.domain.events import (
    DeviceStateChanged,
    Event,
    InterfaceAdded,
    InterfaceChanged,
    InterfaceRemoved,
    SignalChanged,
)
from wifimgrd.domain.interface import InterfaceState, InterfaceStatus
from wifimgrd.runtime.tasks import Backoff, Tasks

_log = structlog.get_logger()

_KEY: Final = "usb-power/"
_ON: Final = "on"
_BACKOFF: Final = Backoff(first_s=1.0, last_s=60.0)
_LATER_S: Final = 10.0
"""One check for all events in that time, and none while a client waits for a camera."""


class AutosuspendBlock:
    """An EventSink that disables USB autosuspend of adapters in use.

    Each event of an adapter in use triggers a check, some time later, whether another program has changed the
    setting.
    """

    def __init__(
        self, memory: BackendMemory, devices: UsbDevices, tasks: Tasks, later_s: float = _LATER_S
    ) -> None:
        """`later_s` is the time from an event to the check."""
        self._later_s = later_s
        self._memory = memory
        self._devices = devices
        self._ports: dict[str, str] = {}
        """The USB port of each interface; several may have one."""
        self._in_use: set[str] = set()
        self._verified: set[str] = set()
        """Interfaces in use whose setting was already checked since then."""
        self._due: dict[str, None] = {}
        self._wake = asyncio.Event()
        self._later: dict[str, asyncio.TimerHandle] = {}
        """The timers of checks that are not due yet, by the interface."""
        self._refused = ""
        self._tasks = tasks

    def start(self) -> None:
        """Process the events published so far, and those to come."""
        self._tasks.keep("work", self._work, _BACKOFF)

    async def stop(self) -> None:
        """Restore the setting of every adapter."""
        await self._tasks.stop()
        for timer in self._later.values():
            timer.cancel()
        self._in_use.clear()
        for interface in list(self._ports):
            await self._check(interface)

    def publish(self, event: Event) -> None:
        """See EventSink."""
        match event:
            case InterfaceAdded(status) | InterfaceChanged(status):
                self._note(status)
            case InterfaceRemoved(name):
                port = self._ports.pop(name, "")
                if port and port not in self._ports.values():
                    self._memory.note(_KEY + port, None)  # after replugging it has the kernel's default
                self._in_use.discard(name)
                self._verified.discard(name)
            case DeviceStateChanged(status) | SignalChanged(status) if status.interface in self._in_use:
                self._check_later(status.interface)

    def _note(self, status: InterfaceStatus) -> None:
        name, port = status.interface.name, status.interface.adapter.identity.usb_port
        if not port:
            return
        self._ports[name] = port
        if status.state is InterfaceState.IN_USE:
            self._in_use.add(name)
        else:
            self._in_use.discard(name)
        self._check_soon(name)

    def _check_soon(self, interface: str) -> None:
        self._due[interface] = None
        self._wake.set()

    def _check_later(self, interface: str) -> None:
        if interface not in self._later:
            loop = asyncio.get_running_loop()
            self._later[interface] = loop.call_later(self._later_s, self._check_now, interface)

    def _check_now(self, interface: str) -> None:
        del self._later[interface]
        if interface in self._in_use:
            self._check_soon(interface)

    async def _work(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._due:
                interface = next(iter(self._due))
                del self._due[interface]
                await self._check(interface)

    async def _check(self, interface: str) -> None:
        port = self._ports.get(interface, "")
        key = _KEY + port
        if interface in self._in_use:
            found = await asyncio.to_thread(self._devices.control, interface)
            if found not in (None, _ON):
                if interface in self._verified:
                    _log.warning(
                        "adapter_drifted", interface=interface, reason="USB autosuspend was switched on"
                    )
                self._memory.note(key, found)
                await self._set(interface, _ON)
            self._verified.add(interface)
            return
        self._verified.discard(interface)
        if any(self._ports.get(other) == port for other in self._in_use):
            return
        before = self._memory.recall(key)
        if before is not None and await self._set(interface, before):
            self._memory.note(key, None)

    async def _set(self, interface: str, control: str) -> bool:
        try:
            await asyncio.to_thread(self._devices.set_control, interface, control)
        except OSError as error:
            if (refused := error.strerror or str(error)) != self._refused:
                self._refused = refused
                _log.warning("usb_power_unchanged", interface=interface, reason=refused)
            return False
        _log.info("usb_power", interface=interface, control=control)
        return True
