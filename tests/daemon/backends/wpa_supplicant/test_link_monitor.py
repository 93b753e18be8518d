"""The lease of a link over the end and the return of its association; what is read of a link that is up."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from ipaddress import IPv4Interface
from types import SimpleNamespace
from typing import Any

import pytest

from tests.virtual_time import VirtualTimeLoop
from wifimgrd.bus.connection import Signal
from wifimgrd.daemon.backends.supplicant import link_monitor as shared
from wifimgrd.daemon.backends.supplicant.network_search import LinkSearch
from wifimgrd.daemon.backends.wpa_supplicant import _link_monitor as module
from wifimgrd.daemon.backends.wpa_supplicant._lease_request import LeaseRequest
from wifimgrd.daemon.backends.wpa_supplicant._link_address import LinkAddress, LinkReading, Withdrawn
from wifimgrd.daemon.backends.wpa_supplicant._link_monitor import LinkMonitor
from wifimgrd.domain import device as domain
from wifimgrd.domain.device import BitRates, DeviceId, HeldLink, Sighting, Ssid
from wifimgrd.domain.errors import BackendUnavailable
from wifimgrd.kernel import nl80211
from wifimgrd.kernel.nl80211 import Association
from wifimgrd.proxies.wpa_supplicant.definitions import SupplicantState
from wifimgrd.runtime.tasks import Tasks

LEASE = LinkAddress(IPv4Interface("192.168.42.36/24"), "192.168.42.1")
FIXED = LinkAddress(IPv4Interface("192.168.54.2/24"))


class Link:
    """A link that is up; what networkd was told, and the address that it has."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, address: LinkAddress, last_state: str = "") -> None:
        """`last_state` is what wpa_supplicant has signalled before the link is watched."""
        self.address: LinkAddress | Withdrawn | None = address
        self.calls: asyncio.Queue[str] = asyncio.Queue()
        self.refusal: BackendUnavailable | None = None
        self.read = asyncio.Event()
        self.interrupted, self.restored = asyncio.Event(), asyncio.Event()
        self.changed: asyncio.Queue[domain.Link] = asyncio.Queue()
        self._handlers: list[Callable[[Signal], None]] = []
        """Of wpa_supplicant's changes."""
        monkeypatch.setattr(module, "read_address", self._read_address)
        monkeypatch.setattr(LinkSearch, "access_point", self._no_point)
        ssid, reading = Ssid(b"CAM"), LinkReading.of(address, None, 80)
        nothing: Any = lambda *_: None  # noqa: E731
        supplicant: Any = SimpleNamespace(
            path="/1",
            watch_changes=self._handlers.append,
            find_bss=self._find_nothing,
            close=nothing,
            on_scan_done=None,
            last_state=last_state,
        )
        interface: Any = SimpleNamespace(
            index=3, name="wlan0", on_gone=[], on_address=[], frames_received=0, has_carrier=True
        )
        interface.has_address = False
        self.interface = interface
        services: Any = SimpleNamespace(
            connection=None,
            request_lease=self._request,
            networkd_settles_s=lambda: 0.0,
        )
        listener: Any = SimpleNamespace(
            link_interrupted=lambda *_: self.interrupted.set(),
            link_changed=lambda _, link: self.changed.put_nowait(link),
            link_restored=lambda *_: self.restored.set(),
        )
        joined: Any = SimpleNamespace(interface=interface, supplicant=supplicant, reading=reading, bssid="")
        self.tasks = Tasks("test")
        held = HeldLink(DeviceId(1), "wlan0", ssid, reading.link)
        self.monitor = LinkMonitor(services, held, joined, self.tasks, nothing)
        self.monitor.start(listener, nothing)

    def state(self, state: SupplicantState) -> None:
        for changed in self._handlers:
            changed(Signal("", "", "", "", ["", {"State": state.value}, []]))

    def addressed(self, address: LinkAddress | Withdrawn | None) -> None:
        self.address = address
        for changed in list(self.interface.on_address):
            changed()

    async def call(self) -> str:
        return await asyncio.wait_for(self.calls.get(), 5)

    async def _read_address(self, *_: object) -> LinkAddress | Withdrawn | None:
        self.read.set()
        return self.address

    async def _request(self, name: str) -> None:
        self.calls.put_nowait(name)
        if self.refusal:
            raise self.refusal

    async def _find_nothing(self, *_: object) -> list[Any]:
        return []

    async def _no_point(self) -> None:
        return None


async def test_a_loss_between_the_join_and_the_first_look_at_the_link_is_reported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The address says nothing: it is a fixed one."""
    link = Link(monkeypatch, FIXED, SupplicantState.DISCONNECTED)
    await asyncio.wait_for(link.interrupted.wait(), 5)
    link.state(SupplicantState.COMPLETED)
    await asyncio.wait_for(link.restored.wait(), 5)
    link.monitor.close()
    await link.tasks.stop()


async def test_each_association_without_an_early_lease_has_a_request(monkeypatch: pytest.MonkeyPatch) -> None:
    """networkd has begun by itself, with a message that may be lost."""
    link = Link(monkeypatch, LEASE)
    for _ in range(2):
        link.address = None
        link.state(SupplicantState.DISCONNECTED)
        link.state(SupplicantState.SCANNING)
        link.state(SupplicantState.COMPLETED)
        assert await link.call() == "wlan0"
        link.restored.clear()
        link.addressed(LEASE)
        await asyncio.wait_for(link.restored.wait(), 5)
    assert link.calls.empty()
    link.monitor.close()
    await link.tasks.stop()


async def test_an_address_that_networkd_describes_without_a_signal_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The lease was lost and acquired again at once; the kernel has the address."""
    link = Link(monkeypatch, LEASE)
    link.state(SupplicantState.DISCONNECTED)
    link.state(SupplicantState.COMPLETED)
    link.interface.has_address = True
    link.read.clear()
    link.addressed(None)
    await asyncio.wait_for(link.read.wait(), 5)
    link.address = LEASE
    await asyncio.wait_for(link.restored.wait(), 5)
    link.monitor.close()
    await link.tasks.stop()


async def test_the_lease_of_an_address_that_networkd_has_withdrawn_is_requested_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(LeaseRequest, "start", lambda _: None)
    link = Link(monkeypatch, LEASE)
    link.state(SupplicantState.DISCONNECTED)
    link.state(SupplicantState.COMPLETED)
    link.addressed(Withdrawn())
    assert await link.call() == "wlan0"
    link.address = LEASE
    await asyncio.wait_for(link.restored.wait(), 5)
    link.monitor.close()
    await link.tasks.stop()


def test_an_early_lease_needs_no_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared, "READING_S", 100)  # it takes a thread, which knows no virtual time

    async def test() -> None:
        link = Link(monkeypatch, LEASE)
        link.state(SupplicantState.DISCONNECTED)
        link.state(SupplicantState.COMPLETED)
        await asyncio.wait_for(link.restored.wait(), 5)
        await asyncio.sleep(10)
        assert link.calls.empty()
        link.monitor.close()
        await link.tasks.stop()

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        runner.run(test())


def test_a_request_that_fails_is_made_once_more(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test() -> None:
        link = Link(monkeypatch, LEASE)
        link.address, link.refusal = None, BackendUnavailable("systemd-networkd does not answer")
        link.state(SupplicantState.DISCONNECTED)
        link.state(SupplicantState.COMPLETED)
        assert [await link.call(), await link.call()] == ["wlan0", "wlan0"]
        link.monitor.close()
        await link.tasks.stop()

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        runner.run(test())


def test_a_fixed_address_needs_no_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared, "READING_S", 100)  # it takes a thread, which knows no virtual time

    async def test() -> None:
        link = Link(monkeypatch, FIXED)
        link.address = None
        link.state(SupplicantState.DISCONNECTED)
        link.state(SupplicantState.COMPLETED)
        await asyncio.sleep(10)
        assert link.calls.empty()
        link.addressed(FIXED)
        await asyncio.wait_for(link.restored.wait(), 5)
        link.monitor.close()
        await link.tasks.stop()

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        runner.run(test())


async def test_the_association_is_read_while_the_link_is_up(monkeypatch: pytest.MonkeyPatch) -> None:
    known = Association("02:00:00:00:00:aa", 5180, -50, 866_700, 780_000)
    told: list[Association | None] = [known]
    monkeypatch.setattr(shared, "READING_S", 0.001)
    monkeypatch.setattr(nl80211, "association_of", lambda name: told[0] if name == "wlan0" else None)
    link = Link(monkeypatch, LEASE)

    async def read() -> domain.Link:
        return await asyncio.wait_for(link.changed.get(), 5)

    first = await read()
    assert (first.signal_percent, first.rates) == (70, BitRates(866_700, 780_000))
    assert first.sighting == Sighting("02:00:00:00:00:aa", 5180)
    assert await read() == first, "each reading is reported"
    told[0] = replace(known, frequency_mhz=0, signal_dbm=None, tx_kbps=0)
    while (changed := await read()) == first:
        pass
    assert changed == replace(first, rates=BitRates(0, 780_000)), "what is not known now was read before"
    told[0] = None
    link.state(SupplicantState.DISCONNECTED)
    link.state(SupplicantState.COMPLETED)
    await asyncio.wait_for(link.restored.wait(), 5)
    assert link.monitor.held.link.rates == BitRates()
    link.monitor.close()
    await link.tasks.stop()


async def test_the_association_with_another_access_point_is_not_that_of_the_link(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    known = Association("02:00:00:00:00:aa", 2412, -50, 866_700, 780_000)
    other = Association("02:00:00:00:00:bb", 5180, -80, 6_500, 6_500)
    present, read = [known], list[Association]()

    def association_of(_: str) -> Association:
        read.append(present[0])
        return read[-1]

    monkeypatch.setattr(shared, "READING_S", 0.001)
    monkeypatch.setattr(nl80211, "association_of", association_of)
    link = Link(monkeypatch, LEASE)
    first = await asyncio.wait_for(link.changed.get(), 5)
    present[0] = other
    while read.count(other) < 2:  # the first of them was reported by then
        assert await asyncio.wait_for(link.changed.get(), 5) == first
    while not link.changed.empty():
        assert link.changed.get_nowait() == first
    link.monitor.close()
    await link.tasks.stop()
