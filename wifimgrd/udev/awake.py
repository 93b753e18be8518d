"""Adapters in use stay awake: USB autosuspend off while a device has them, as it was afterwards.

A suspended adapter sleeps through beacons and drops links, with some drivers for good. What was found is
noted under the USB port before it is changed, so that it comes back after a crash of the daemon, too.
"""

from __future__ import annotations

import asyncio
from typing import Final

import structlog

from wifimgrd.domain.events import (
    DeviceStateChanged,
    Event,
    InterfaceAdded,
    InterfaceChanged,
    InterfaceRemoved,
    SignalChanged,
)
from wifimgrd.domain.interface import InterfaceState, InterfaceStatus
from wifimgrd.ports import BackendMemory, EventSink
from wifimgrd.runtime.tasks import Backoff, Tasks
from wifimgrd.udev.usb import UsbDevices

_log = structlog.get_logger()

_KEY: Final = "usb-power/"
_AWAKE: Final = "on"
_BACKOFF: Final = Backoff(first_s=1.0, last_s=60.0)


class AwakeAdapters:
    """An EventSink that passes every event on, and sees to the adapters that it tells of.

    Whatever is told of an adapter in use is an occasion to look whether somebody else has changed it.
    """

    def __init__(self, sink: EventSink, memory: BackendMemory, devices: UsbDevices, tasks: Tasks) -> None:
        self._sink = sink
        self._memory = memory
        self._devices = devices
        self._ports: dict[str, str] = {}
        """The USB port of each interface."""
        self._in_use: set[str] = set()
        self._kept: set[str] = set()
        """Those that were seen to be awake since they are in use."""
        self._due: dict[str, None] = {}
        self._wake = asyncio.Event()
        self._refused = ""
        self._tasks = tasks

    def start(self) -> None:
        """See to what was told so far, and from here on."""
        self._tasks.keep("work", self._work, _BACKOFF)

    async def stop(self) -> None:
        """Leave every adapter as it was found."""
        await self._tasks.stop()
        self._in_use.clear()
        for interface in list(self._ports):
            await self._see_to(interface)

    def publish(self, event: Event) -> None:
        """Pass one event on."""
        self._sink.publish(event)
        match event:
            case InterfaceAdded(status) | InterfaceChanged(status):
                self._note(status)
            case InterfaceRemoved(name):
                if port := self._ports.pop(name, ""):
                    self._memory.note(_KEY + port, None)  # it comes back as the kernel has it
                self._in_use.discard(name)
                self._kept.discard(name)
            case DeviceStateChanged(status) | SignalChanged(status) if status.interface in self._in_use:
                self._look_at(status.interface)

    def _note(self, status: InterfaceStatus) -> None:
        name, port = status.interface.name, status.interface.adapter.identity.usb_port
        if not port:
            return
        self._ports[name] = port
        if status.state is InterfaceState.IN_USE:
            self._in_use.add(name)
        else:
            self._in_use.discard(name)
        self._look_at(name)

    def _look_at(self, interface: str) -> None:
        self._due[interface] = None
        self._wake.set()

    async def _work(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._due:
                interface = next(iter(self._due))
                del self._due[interface]
                await self._see_to(interface)

    async def _see_to(self, interface: str) -> None:
        key = _KEY + self._ports.get(interface, "")
        if interface in self._in_use:
            found = await asyncio.to_thread(self._devices.control, interface)
            if found not in (None, _AWAKE):
                if interface in self._kept:
                    _log.warning(
                        "adapter_drifted", interface=interface, reason="USB autosuspend was switched on"
                    )
                self._memory.note(key, found)
                await self._set(interface, _AWAKE)
            self._kept.add(interface)
            return
        self._kept.discard(interface)
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
