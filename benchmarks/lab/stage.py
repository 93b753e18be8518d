"""The guest: its adapters, its scan lists, and a way to join without wifimgrd."""

from __future__ import annotations

import asyncio
import os
import pwd
import socket
import struct
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, Final

from dbus_next.signature import Variant

from tests.lab.guest import hwsim
from tests.lab.guest.access_point import Camera
from tests.lab.guest.adapters import Adapter, plug_in
from tests.lab.guest.deadline import async_poll_until
from tests.lab.guest.supplicant import Supplicant
from tests.lab.guest.system_bus import BusError, SystemBus

WPAS: Final = "fi.w1.wpa_supplicant1"
WPAS_INTERFACE: Final = f"{WPAS}.Interface"
_CHANNEL_1_MHZ: Final = 2412
_LONGEST_SCAN_S: Final = 30.0
_ADDRESS_S: Final = 30.0
_RTMGRP_IPV4_IFADDR: Final = 0x10
_NEW_ADDRESS: Final = 20
_MESSAGE: Final = struct.Struct("=IHHIIBBBBI")
"""struct nlmsghdr and struct ifaddrmsg."""
_KIND, _INDEX = 1, 9
"""The message's kind and the interface's index among its fields."""
_AT_ONCE_S: Final = 1.0
"""From the association to the address; a DHCP client repeats its first message after 2 s and more."""
_BEFORE_JOINING: Final = ("disconnected", "inactive", "interface_disabled", "scanning")
"""Of the later states wpa_supplicant leaves out those that last for less than 5 ms."""


@dataclass(frozen=True, slots=True)
class Phases:
    """What the seconds of one join were spent on."""

    until_joining: float
    """From the call until wpa_supplicant begins to join."""
    association: float
    """Authentication, association, and the handshake of the keys."""
    address: float
    """From then until the kernel tells of the address."""
    answer: float
    """From then to the end."""


@dataclass(frozen=True, slots=True)
class Join:
    """One join."""

    seconds: float
    phases: Phases

    @property
    def is_repeated(self) -> bool:
        """Whether the first DHCP message was lost: the camera lets a station in a moment after the station
        considers itself let in, and this machine has one processor for both."""
        return self.phases.address > _AT_ONCE_S


class Stage(ABC):
    """Adapters, cameras, and the programs below a backend, which are what it is measured against.

    The backends differ in how an adapter gets ready and in who joins a network where wifimgrd does not.
    """

    bare_is: str
    """Who joins in `join_bare`."""
    bare_scan_is: str
    """Who does in `scan_and_join_bare`."""

    def __init__(self, bus: SystemBus) -> None:
        self.bus = bus
        self.supplicant = Supplicant(bus)
        self._addressed: list[tuple[int, float]] = []
        """The index of each interface that was given an IPv4 address, and when."""
        self._new_address = asyncio.Event()

    async def open(self) -> None:
        """Watch wpa_supplicant, and the kernel's addresses, from now on."""
        await self.supplicant.watch()
        kernel = socket.socket(
            socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_NONBLOCK, socket.NETLINK_ROUTE
        )
        kernel.bind((0, _RTMGRP_IPV4_IFADDR))
        asyncio.get_running_loop().add_reader(kernel, self._address_changed, kernel)

    def _address_changed(self, kernel: socket.socket) -> None:
        message = _MESSAGE.unpack_from(kernel.recv(1 << 16))
        if message[_KIND] == _NEW_ADDRESS:
            self._addressed.append((message[_INDEX], time.monotonic()))
            self._new_address.set()

    async def addressed(self, adapter: Adapter, since_s: float) -> float:
        """When the kernel told of an address of an adapter, the first time since then."""
        index = socket.if_nametoindex(adapter.interface)
        async with asyncio.timeout(_ADDRESS_S):
            while True:
                for whose, when in self._addressed:
                    if whose == index and when >= since_s:
                        return when
                self._new_address.clear()
                await self._new_address.wait()

    async def join(self, adapter: Adapter, began: float, seconds: float) -> Join:
        """A join on an adapter that has just ended."""
        path = await self.supplicant.interface(adapter.interface)
        states = [
            one
            for one in self.supplicant.changes
            if (one.path, one.name) == (path, "State") and began <= one.time_s
        ]
        joining = next(one.time_s for one in states if one.value not in _BEFORE_JOINING)
        addressed = await self.addressed(adapter, began)
        # wpa_supplicant collects changes for some milliseconds, so that the address can be there first.
        associated = min(addressed, next(one.time_s for one in states if one.value == "completed"))
        phases = Phases(
            joining - began, associated - joining, addressed - associated, began + seconds - addressed
        )
        return Join(seconds, phases)

    async def plugged(self, port: str, channels: hwsim.Channels) -> Adapter:
        """Plug an adapter in, ready."""
        adapter = plug_in(port, channels)
        await self.at_disposal(adapter)
        return adapter

    @abstractmethod
    async def at_disposal(self, adapter: Adapter) -> None:
        """Wait until the adapter is neither in use nor about to be."""

    @abstractmethod
    def bare(self, ours: Adapter, port: str) -> AbstractAsyncContextManager[Adapter]:
        """The adapter for the bare side: ours, where that can have both; else another one, in this port."""

    @abstractmethod
    async def join_bare(self, adapter: Adapter, camera: Camera) -> Join:
        """Join without wifimgrd, and disconnect again."""

    @abstractmethod
    async def scan_and_join_bare(self, adapter: Adapter, camera: Camera) -> Join:
        """The same for a network that is not in the scan list."""

    # -- scan lists

    async def rest(self, adapter: Adapter) -> None:
        """Wait until the adapter does nothing; a scan that was not requested here is cut short."""
        await self.at_disposal(adapter)
        path = await self.supplicant.interface(adapter.interface)

        async def still() -> bool:
            if await self._scanning(path):
                await self._call(path, "AbortScan")
                return False
            return True

        await async_poll_until(still, f"{adapter.interface} at rest", _LONGEST_SCAN_S)

    async def bring_into_scan_list(self, adapter: Adapter, camera: Camera) -> None:
        """Scan until a camera is in the scan list, with a recent result."""
        await self.rest(adapter)
        path = await self.supplicant.interface(adapter.interface)

        async def scanned() -> bool:
            return await self._call(path, "Scan", "a{sv}", scan_for(camera))

        await async_poll_until(scanned, f"a scan of {adapter.interface}", 10)

        async def listed() -> bool:
            return camera.ssid in await self._names(adapter) and not await self._scanning(path)

        await async_poll_until(listed, f"{camera.name} in the scan list", 10)

    async def forget(self, adapter: Adapter) -> None:
        """Empty the scan lists."""
        await self.rest(adapter)
        path = await self.supplicant.interface(adapter.interface)

        async def empty() -> bool:
            await self._call(path, "FlushBSS", "u", 0)
            return not await self._names(adapter)

        await async_poll_until(empty, f"{adapter.interface} without scan results", 10)

    async def _names(self, adapter: Adapter) -> list[bytes]:
        """The SSIDs in the list that is the last to be brought up to date; here wpa_supplicant's."""
        path = await self.supplicant.interface(adapter.interface)
        points = await self.bus.read(WPAS, path, WPAS_INTERFACE, "BSSs")
        return [bytes(await self.bus.read(WPAS, one, f"{WPAS}.BSS", "SSID")) for one in points]

    async def _scanning(self, path: str) -> bool:
        return bool(await self.bus.read(WPAS, path, WPAS_INTERFACE, "Scanning"))

    async def _call(self, path: str, member: str, signature: str = "", *body: Any) -> bool:
        try:
            await self.bus.call(WPAS, path, WPAS_INTERFACE, member, signature, *body)
        except BusError:
            return False
        return True

    async def scans(self, adapter: Adapter, since_s: float) -> list[tuple[float, float]]:
        """Beginning and end of each scan of an adapter that began since then."""
        path = await self.supplicant.interface(adapter.interface)
        found: list[tuple[float, float]] = []
        began: float | None = None
        for change in self.supplicant.changes:
            if change.path != path or change.name != "Scanning" or change.time_s < since_s:
                continue
            if change.value:
                began = change.time_s if began is None else began
            elif began is not None:
                found.append((began, change.time_s))
                began = None
        return found


@contextmanager
def helpers_user() -> Iterator[None]:
    """What is opened meanwhile is opened by the user as whom wifimgrd-net runs."""
    uid = pwd.getpwnam("wifimgrd-net").pw_uid
    os.setresuid(uid, uid, 0)
    try:
        yield
    finally:
        os.setresuid(0, 0, 0)


@contextmanager
def switched_on(*cameras: Camera) -> Iterator[None]:
    """Cameras in the world, switched on, and gone after."""
    for camera in cameras:
        camera.start()
    try:
        yield
    finally:
        for camera in cameras:
            camera.down()


def scan_for(camera: Camera) -> dict[str, Variant]:
    """wpa_supplicant's scan for one camera, on its channel alone."""
    frequency = _CHANNEL_1_MHZ + 5 * (camera.network.channel - 1)
    return {
        "Type": Variant("s", "active"),
        "SSIDs": Variant("aay", [camera.ssid]),
        "Channels": Variant("a(uu)", [[frequency, 20]]),
    }
