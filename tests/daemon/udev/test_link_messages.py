"""The kernel's messages about links: which of them have an adapter read again."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

import pytest

from tests.daemon.udev.usb_host import usb_ports
from wifimgrd.daemon.udev import UsbDevices
from wifimgrd.daemon.udev._source import UdevAdapterSource, _Present
from wifimgrd.kernel.events import Event
from wifimgrd.kernel.links import Link
from wifimgrd.kernel.subscription import Subscription

DOWN, UP, JOINED = b"down", b"up", b"joined"


@dataclass(frozen=True)
class Present:
    """An interface, with what it may share."""

    parts: tuple[str, ...]


class Source(UdevAdapterSource):
    """One that notes what it would read, and that the kernel tells what a test says."""

    def __init__(self) -> None:
        super().__init__(usb_ports(UsbDevices()))
        self.reads: list[list[str]] = []
        self._modes = cast("Subscription", object())

    def _describe(self, touched: Mapping[str, int | None]) -> None:
        self.reads.append(list(touched))

    def plug(self, name: str, radio: str) -> None:
        self._known[name] = cast("_Present", Present((radio,)))

    def unplug(self, name: str) -> None:
        del self._known[name]

    def told(self, name: str, use: bytes, index: int = 7, *, identity: bytes = b"") -> None:
        """The kernel says something of a link."""
        self._link_changed(Event(Link(name, index, identity=identity, use=use)))

    def messages_lost(self) -> None:
        self._read_known()

    def no_word_of_modes(self) -> None:
        """As where the kernel cannot be asked for messages about modes."""
        self._modes = None


@pytest.fixture
def source() -> Source:
    """With two interfaces of one radio, and another one."""
    source = Source()
    for name, radio in (("wlan0", "phy/0"), ("wlan1", "phy/0"), ("wlan2", "phy/2")):
        source.plug(name, radio)
    return source


async def test_messages_that_come_together_cost_one_read(source: Source) -> None:
    source.told("wlan0", DOWN)
    source.told("wlan0", UP)
    source.told("wlan1", UP)
    source.told("eth0", UP)
    assert source.reads == []
    await asyncio.sleep(0)
    assert source.reads == [["wlan0", "wlan1"]]


async def test_a_message_that_says_nothing_new_costs_none(source: Source) -> None:
    for use in (UP, UP, JOINED, JOINED, JOINED, UP):
        source.told("wlan0", use)
        await asyncio.sleep(0)
    assert source.reads == [["wlan0"]] * 3
    source.told("wlan0", UP, index=8)  # another adapter
    await asyncio.sleep(0)
    assert len(source.reads) == 4


async def test_after_lost_messages_each_interface_is_read_again(source: Source) -> None:
    source.told("wlan0", UP)
    await asyncio.sleep(0)
    source.messages_lost()  # it has joined meanwhile
    source.told("wlan0", UP)
    await asyncio.sleep(0)
    assert source.reads == [["wlan0"], ["wlan0", "wlan1", "wlan2"], ["wlan0"]]


async def test_without_messages_about_modes_each_message_counts(source: Source) -> None:
    source.no_word_of_modes()
    for _ in range(2):
        source.told("wlan0", UP)
        await asyncio.sleep(0)
    assert source.reads == [["wlan0"]] * 2


async def test_an_interface_that_is_gone_by_then_is_not_read(source: Source) -> None:
    source.told("wlan0", UP)
    source.unplug("wlan0")
    await asyncio.sleep(0)
    assert source.reads == [[]]


async def test_whether_an_interface_is_in_use_matters_only_where_it_shares_its_radio(source: Source) -> None:
    for use in (DOWN, UP, JOINED):
        source.told("wlan2", use)
        await asyncio.sleep(0)
    assert source.reads == [["wlan2"]]
    source.told("wlan2", JOINED, identity=b"a monitor")
    await asyncio.sleep(0)
    assert source.reads == [["wlan2"]] * 2
    source.plug("wlan3", "phy/2")  # another interface of its radio
    source.told("wlan2", JOINED, identity=b"a monitor")
    await asyncio.sleep(0)
    assert source.reads == [["wlan2"]] * 3
