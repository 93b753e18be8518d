"""Which scan a ScanDone signal of wpa_supplicant belongs to."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from wifimgrd.bus.connection import BusError
from wifimgrd.domain.device import Ssid
from wifimgrd.domain.errors import Busy
from wifimgrd.proxies.wpa_supplicant import definitions as defs
from wifimgrd.proxies.wpa_supplicant.scan_queue import ScanQueue, ScanRefused

OURS = Ssid(b"CAM")


class BusyRadio:
    """A supplicant that gets a scan request just as another scan ends, or while it runs."""

    def __init__(self, refusals: int = 0) -> None:
        self.scans = ScanQueue(self.call)
        self.asked = asyncio.Event()
        self.aborted = 0
        self._refusals = refusals

    async def call(
        self,
        member: str,
        signature: str = "",
        body: Sequence[Any] = (),
        on_reply: Callable[[list[Any]], None] | None = None,
    ) -> None:
        if member == "AbortScan":
            self.aborted += 1
            self.scans.ended(complete=False)
            return
        assert member == "Scan"
        if self._refusals:
            self._refusals -= 1
            self.asked.set()
            raise BusError(defs.WPAS_SCAN_ERROR, "Scan request rejected")
        self.scans.ended(complete=True)
        assert on_reply is not None
        on_reply([])
        self.asked.set()


async def test_the_end_of_the_scan_before_is_not_the_end_of_a_scan() -> None:
    radio = BusyRadio()
    running = asyncio.create_task(radio.scans.run(OURS, ()))
    await radio.asked.wait()
    await asyncio.sleep(0)
    assert not running.done()
    radio.scans.ended(complete=True)
    assert await running <= asyncio.get_running_loop().time()


def idle() -> None:
    """Nothing else wants the interface."""


async def test_the_end_of_the_scan_before_is_not_the_end_of_a_sweep() -> None:
    radio = BusyRadio()
    sweeping = asyncio.create_task(radio.scans.scan_all_channels(idle))
    await radio.asked.wait()
    await asyncio.sleep(0)
    assert not sweeping.done()
    radio.scans.ended(complete=True)
    await sweeping


async def test_a_sweep_waits_for_each_scan_of_another_client_however_many_there_are() -> None:
    radio = BusyRadio(refusals=9)
    sweeping = asyncio.create_task(radio.scans.scan_all_channels(idle))
    for _ in range(9):
        await radio.asked.wait()
        radio.asked.clear()
        await asyncio.sleep(0)
        assert not sweeping.done()
        radio.scans.ended(complete=True)
    await radio.asked.wait()
    radio.scans.ended(complete=True)
    await sweeping
    assert radio.aborted == 0


async def test_a_sweep_whose_scans_are_aborted_is_given_up() -> None:
    radio = BusyRadio()
    sweeping = asyncio.create_task(radio.scans.scan_all_channels(idle))
    for _ in range(3):
        await radio.asked.wait()
        radio.asked.clear()
        radio.scans.ended(complete=False)
    with pytest.raises(ScanRefused, match="aborted"):
        await sweeping


async def test_a_sweep_ends_once_something_else_wants_the_interface() -> None:
    radio = BusyRadio(refusals=1)
    wanted = iter((False, True))

    def require_idle() -> None:
        if next(wanted):
            raise Busy("it is busy")

    sweeping = asyncio.create_task(radio.scans.scan_all_channels(require_idle))
    await radio.asked.wait()
    radio.scans.ended(complete=True)
    with pytest.raises(Busy):
        await sweeping


async def test_a_scan_for_a_network_ends_the_one_that_runs() -> None:
    radio = BusyRadio(refusals=1)
    running = asyncio.create_task(radio.scans.run(OURS, (2412,)))
    await radio.asked.wait()
    radio.asked.clear()
    await radio.asked.wait()
    radio.scans.ended(complete=True)
    await running
    assert radio.aborted == 1


async def test_an_adapter_that_refuses_every_scan_is_reported_as_such() -> None:
    with pytest.raises(ScanRefused):
        await BusyRadio(refusals=100).scans.run(OURS, ())
