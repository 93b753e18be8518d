"""A hub client without a bus, for what no real daemon does on demand: replies that are late, lost
or wrong, changes in any order, thousands of them. Everything else is tested on the real daemon."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from ipaddress import IPv4Address
from types import MappingProxyType
from typing import Any

from wifimgrd.client._live_objects import ObjectCache
from wifimgrd.client.changes import (
    Change,
    DaemonAppeared,
    DaemonVanished,
    DeviceAdded,
    DeviceChanged,
    DeviceRemoved,
    InterfaceAdded,
    InterfaceChanged,
    InterfaceRemoved,
    ServiceChanged,
)
from wifimgrd.client.hub import HubClient
from wifimgrd.domain.addresses import SocketKind
from wifimgrd.domain.check import NOTHING_MORE, Wanted
from wifimgrd.domain.commands import DeviceCommand
from wifimgrd.domain.records import (
    CheckRecord,
    DeviceRecord,
    OutcomeRecord,
    ResultRecord,
    ServiceRecord,
    TakeRecord,
)
from wifimgrd.domain.rig import Everyone
from wifimgrd.kernel.sockets import open_socket


def changed(device: DeviceRecord, *properties: str) -> DeviceChanged:
    """A signal with D-Bus properties of a device; FakeHub puts in what it was before."""
    return DeviceChanged(device, device, is_step="State" in properties)


class FakeHub(HubClient):
    """A live copy that the test writes to, and commands that do what the test says."""

    def __init__(self) -> None:
        super().__init__("nowhere")
        self.asked: list[tuple[Any, ...]] = []
        self.switches: dict[str, bool | str] = {}
        """The options of the last command to a device."""
        self.answer: Exception | None = None
        """What every command raises; None = it succeeds and does nothing."""
        self.made_id = 1
        self.report = "a report"
        self.results: list[ResultRecord] = []
        self.found_takes: list[TakeRecord] = []
        self.checked = CheckRecord(True, (), ())
        self.relying = 0
        """Who has it ping the daemon now."""
        self.nobody = asyncio.Event()
        """Nobody does any more."""
        self._reason = "wifimgrd is not connected yet"

    async def start(self) -> None:
        self.appear()

    async def stop(self) -> None:
        pass

    @contextmanager
    def pinging(self) -> Iterator[None]:
        self.relying += 1
        try:
            yield
        finally:
            self.relying -= 1
            if not self.relying:
                self.nobody.set()

    def appear(self, *devices: DeviceRecord) -> None:
        self._cache = ObjectCache()
        self._cache.service = ServiceRecord("1", "simulated", backend_state="ready")
        self._cache.devices = {device.id: device for device in devices}
        self._reason = ""
        self._notify(DaemonAppeared())

    def vanish(self, reason: str = "wifimgrd is not running") -> None:
        self._cache = ObjectCache()
        self._reason = reason
        self._notify(DaemonVanished(reason))

    def happen(self, *changes: Change) -> None:
        """Apply changes to the copy and notify of them."""
        for happened in changes:
            change = happened
            match change:
                case DeviceAdded(device):
                    self._cache.devices[device.id] = device
                case DeviceChanged(after=device):
                    change = replace(change, before=self._cache.devices.get(device.id, device))
                    self._cache.devices[device.id] = device
                case DeviceRemoved(device_id):
                    self._cache.devices.pop(device_id, None)
                case InterfaceAdded(interface) | InterfaceChanged(interface):
                    self._cache.interfaces[interface.name] = interface
                case InterfaceRemoved(name):
                    self._cache.interfaces.pop(name, None)
                case ServiceChanged(service):
                    self._cache.service = service
            self._notify(change)

    async def create_device(self, properties: Mapping[str, Any]) -> int:
        await self.do("create", dict(properties))
        return self.made_id

    async def update_device(self, device_id: int, properties: Mapping[str, Any]) -> None:
        await self.do("update", device_id, dict(properties))

    async def connect_group(self, name: str, *, partial: bool = False) -> list[OutcomeRecord]:
        await self.do("connect_group", name, partial)
        return []

    async def remove_device(self, device_id: int, *, history: bool = False) -> None:
        del history
        await self.do("remove", device_id)

    async def command_device(
        self,
        command: DeviceCommand,
        device_id: int,
        switches: Mapping[str, bool | str] = MappingProxyType({}),
        *,
        wait_s: float = 0,
        until_waiting: bool = False,
    ) -> None:
        self.switches = dict(switches)
        await self.do(command.name, device_id, wait_s)

    async def record(
        self, device_ids: Iterable[int], *, on: bool, everyone: Everyone = Everyone.NOBODY
    ) -> list[ResultRecord]:
        await self.do("record", list(device_ids), on, everyone)
        return self.results

    async def takes(
        self,
        since_us: int | None = None,
        until_us: int | None = None,
        limit: int | None = None,
        before: int | None = None,
    ) -> list[TakeRecord]:
        assert before is None
        await self.do("takes", since_us, until_us, limit)
        return self.found_takes

    async def check(
        self,
        wanted: Wanted = NOTHING_MORE,
        *,
        device_ids: Iterable[int] | None = None,
        group: str | None = None,
    ) -> CheckRecord:
        await self.do("check", wanted, device_ids, group)
        return self.checked

    async def diagnose(self) -> str:
        await self.do("diagnose")
        return self.report

    async def open_connection(self, device_id: int, port: int) -> socket.socket:
        camera = self._cache.devices[device_id]
        assert camera.interface
        assert camera.camera_address
        return await open_socket(camera.interface, IPv4Address(camera.camera_address), port, SocketKind.TCP)

    async def do(self, *asked: Any) -> None:
        self.asked.append(asked)
        if self.answer is not None:
            raise self.answer
