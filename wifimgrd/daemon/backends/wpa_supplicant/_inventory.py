"""A live list of the kernel's Wi-Fi interfaces."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from ipaddress import IPv4Address
from pathlib import Path
from typing import Final, Protocol

from wifimgrd.domain.adapter import Band
from wifimgrd.kernel.addresses import Address, list_addresses
from wifimgrd.kernel.events import Event, NetworkEvents, Topic
from wifimgrd.kernel.links import Link
from wifimgrd.kernel.nl80211 import bands_of

_INTERFACES: Final = Path("/sys/class/net")
_IFF_UP: Final = 1
"""https://man7.org/linux/man-pages/man7/netdevice.7.html"""


@dataclass(slots=True)
class WifiInterface:
    """A Wi-Fi interface of this host."""

    index: int
    """The kernel's index, which is never assigned to another interface."""
    name: str
    bands: frozenset[Band] = frozenset()
    reserved: bool = False
    """An attempt or a link of this daemon's uses it."""
    addresses: set[tuple[IPv4Address, int]] | None = field(default_factory=set)
    """Its IPv4 addresses with their prefix lengths, by the kernel's messages; None where they could not be
    listed."""
    names: dict[str, bytes] = field(default_factory=dict)
    """SSIDs by the object paths of its BSSs, from earlier reads."""
    on_gone: list[Callable[[], None]] = field(default_factory=list)
    on_address: list[Callable[[], None]] = field(default_factory=list)
    """Called when an address of it was added, changed or deleted, by the kernel and by networkd: that of
    systemd 257 describes a new one only once it has heard of it from the kernel itself."""

    @property
    def has_carrier(self) -> bool:
        """Whether it is associated, according to the kernel."""
        return self._read("carrier") == 1

    @property
    def frames_received(self) -> int | None:
        """How many frames of data it has received; None where it is gone."""
        return self._read("statistics/rx_packets")

    @property
    def has_address(self) -> bool:
        """Whether it has an IPv4 address, according to the kernel; True where it does not say."""
        return self.addresses is None or bool(self.addresses)

    def _read(self, attribute: str) -> int | None:
        try:
            return int((_INTERFACES / self.name / attribute).read_text())
        except OSError:  # it is down, or gone
            return None

    @property
    def is_down(self) -> bool:
        """Whether it was set down, as rfkill does it; False where it is gone."""
        try:
            return not int((_INTERFACES / self.name / "flags").read_text(), 16) & _IFF_UP
        except OSError:
            return False


class InventoryListener(Protocol):
    """Receives changes of the interfaces."""

    def interface_seen(self, interface: WifiInterface) -> None:
        """An interface appeared, or one that is not reserved has other addresses."""

    def interface_gone(self, interface: WifiInterface) -> None:
        """An interface was removed or renamed."""


class Inventory:
    """Watches the interfaces by the kernel's messages; nothing is polled."""

    def __init__(self, listener: InventoryListener) -> None:
        self.interfaces: dict[int, WifiInterface] = {}
        """By index."""
        self._listener = listener
        self._events = NetworkEvents(Topic.LINKS | Topic.ADDRESSES, self._received, self._read_all)
        self._appeared = asyncio.Event()

    def start(self) -> None:
        """Subscribe, then read every interface; raises OSError."""
        self._events.open()
        self._read_all()

    def stop(self) -> None:
        """Stop watching."""
        self._events.close()

    def by_name(self, name: str) -> WifiInterface | None:
        """The interface of that name, if the kernel has it."""
        return next((one for one in self.interfaces.values() if one.name == name), None)

    async def wait_for(self, name: str, timeout_s: float) -> WifiInterface | None:
        """The interface of that name as soon as the kernel has it; None after `timeout_s` seconds."""
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                while self.by_name(name) is None:
                    self._appeared.clear()
                    await self._appeared.wait()
        return self.by_name(name)

    def _read_all(self) -> None:
        present = dict(socket.if_nameindex())
        for index in [*self.interfaces]:
            if index not in present:
                self._link_changed(index, "")
        for index, name in present.items():
            self._link_changed(index, name)
            if interface := self.interfaces.get(index):
                interface.addresses = _addresses_of(index)
                self._address_seen(index)

    def _received(self, event: Event) -> None:
        match event.entry:
            case Link(name, index):
                self._link_changed(index, "" if event.is_gone else name)
            case Address(index) as address if interface := self.interfaces.get(index):
                _note(interface, address, is_gone=event.is_gone)
                self._address_seen(index)

    def _link_changed(self, index: int, name: str) -> None:
        known = self.interfaces.get(index)
        if known is not None and known.name == name:
            return
        if known is not None:
            del self.interfaces[index]
            for gone in list(known.on_gone):
                gone()
            self._listener.interface_gone(known)
        if name and (_INTERFACES / name / "phy80211").exists():
            seen = WifiInterface(index, name, bands_of(index), addresses=_addresses_of(index))
            self.interfaces[index] = seen
            self._appeared.set()
            self._listener.interface_seen(seen)

    def address_changed(self, index: int) -> None:
        """The address of an interface is to be read again, where somebody waits for it."""
        if interface := self.interfaces.get(index):
            for changed in list(interface.on_address):
                changed()

    def _address_seen(self, index: int) -> None:
        self.address_changed(index)
        interface = self.interfaces.get(index)
        if interface is not None and not interface.reserved:
            self._listener.interface_seen(interface)


def _addresses_of(index: int) -> set[tuple[IPv4Address, int]] | None:
    """Read after the subscription to their changes; None where the kernel does not say."""
    try:
        return {(one.address, one.prefix) for one in list_addresses(index)}
    except OSError:
        return None


def _note(interface: WifiInterface, address: Address, *, is_gone: bool) -> None:
    if interface.addresses is None:
        interface.addresses = _addresses_of(interface.index)
    elif is_gone:
        interface.addresses.discard((address.address, address.prefix))
    else:
        interface.addresses.add((address.address, address.prefix))
