"""The kernel's messages about links: which of them have an adapter read again."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any, cast

import pytest

from wifimgrd.daemon.udev._source import UdevAdapterSource, _Present
from wifimgrd.kernel.events import Event
from wifimgrd.kernel.links import Link
from wifimgrd.kernel.subscription import Subscription

DOWN, UP, JOINED = b"down", b"up", b"joined"


@dataclass(frozen=True)
class Present:
    """An interface, with what it may share."""

    parts: tuple[str, ...]


@pytest.fixture
def reads() -> list[list[str]]:
    return []


@pytest.fixture
def source(reads: list[list[str]], monkeypatch: pytest.MonkeyPatch) -> UdevAdapterSource:
    """With two interfaces of one radio, and another one."""
    source = UdevAdapterSource()
    radios = {"wlan0": "phy/0", "wlan1": "phy/0", "wlan2": "phy/2"}
    source._known = {name: cast("_Present", Present((radio,))) for name, radio in radios.items()}
    source._modes = cast("Subscription", object())
    monkeypatch.setattr(source, "_describe", lambda touched: reads.append(list(touched)))
    return source


def told(source: Any, name: str, use: bytes, index: int = 7, *, identity: bytes = b"") -> None:
    source._link_changed(Event(Link(name, index, identity=identity, use=use)))


async def test_messages_that_come_together_cost_one_read(
    source: UdevAdapterSource, reads: list[list[str]]
) -> None:
    told(source, "wlan0", DOWN)
    told(source, "wlan0", UP)
    told(source, "wlan1", UP)
    told(source, "eth0", UP)
    assert reads == []
    await asyncio.sleep(0)
    assert reads == [["wlan0", "wlan1"]]


async def test_a_message_that_says_nothing_new_costs_none(
    source: UdevAdapterSource, reads: list[list[str]]
) -> None:
    for use in (UP, UP, JOINED, JOINED, JOINED, UP):
        told(source, "wlan0", use)
        await asyncio.sleep(0)
    assert reads == [["wlan0"]] * 3
    told(source, "wlan0", UP, index=8)  # another adapter
    await asyncio.sleep(0)
    assert len(reads) == 4


async def test_after_lost_messages_each_interface_is_read_again(
    source: UdevAdapterSource, reads: list[list[str]]
) -> None:
    told(source, "wlan0", UP)
    await asyncio.sleep(0)
    source._read_known()  # it has joined meanwhile
    told(source, "wlan0", UP)
    await asyncio.sleep(0)
    assert reads == [["wlan0"], ["wlan0", "wlan1", "wlan2"], ["wlan0"]]


async def test_without_messages_about_modes_each_message_counts(
    source: UdevAdapterSource, reads: list[list[str]]
) -> None:
    source._modes = None
    for _ in range(2):
        told(source, "wlan0", UP)
        await asyncio.sleep(0)
    assert reads == [["wlan0"]] * 2


async def test_an_interface_that_is_gone_by_then_is_not_read(
    source: UdevAdapterSource, reads: list[list[str]]
) -> None:
    told(source, "wlan0", UP)
    del source._known["wlan0"]
    await asyncio.sleep(0)
    assert reads == [[]]


async def test_whether_an_interface_is_in_use_matters_only_where_it_shares_its_radio(
    source: UdevAdapterSource, reads: list[list[str]]
) -> None:
    for use in (DOWN, UP, JOINED):
        told(source, "wlan2", use)
        await asyncio.sleep(0)
    assert reads == [["wlan2"]]
    told(source, "wlan2", JOINED, identity=b"a monitor")
    await asyncio.sleep(0)
    assert reads == [["wlan2"]] * 2
    source._known["wlan3"] = source._known["wlan2"]  # another interface of its radio
    told(source, "wlan2", JOINED, identity=b"a monitor")
    await asyncio.sleep(0)
    assert reads == [["wlan2"]] * 3
