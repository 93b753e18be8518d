"""When an attempt has its address, by the events of wpa_supplicant and the kernel."""

from __future__ import annotations

import asyncio
from ipaddress import IPv4Interface
from types import SimpleNamespace
from typing import Any, cast

import pytest
import structlog

from wifimgrd.daemon.backends.supplicant.association import AssociationMonitor, SupplicantChange
from wifimgrd.daemon.backends.supplicant.bssid_limit import BssidLimit
from wifimgrd.daemon.backends.wpa_supplicant import _attempt as module
from wifimgrd.daemon.backends.wpa_supplicant._attempt import AddedNetwork, AddressChanged, Attempt, LeaseDue
from wifimgrd.daemon.backends.wpa_supplicant._inventory import WifiInterface
from wifimgrd.daemon.backends.wpa_supplicant._lease_request import LeaseRequest
from wifimgrd.daemon.backends.wpa_supplicant._link_address import LinkAddress, LinkReading, Withdrawn
from wifimgrd.daemon.ports import JoinRequest
from wifimgrd.domain.device import DeviceId, Passphrase, Ssid
from wifimgrd.domain.errors import BackendUnavailable, WifimgrdError
from wifimgrd.proxies.wpa_supplicant.definitions import SupplicantState
from wifimgrd.proxies.wpa_supplicant.interface import SupplicantInterface

ADDRESS = LinkAddress(IPv4Interface("192.168.42.36/24"), "192.168.42.1")
COMPLETED = SupplicantChange({"State": SupplicantState.COMPLETED.value})
"""A change of wpa_supplicant's properties."""


class OpenAttempt(Attempt):
    """Its steps, one by one."""

    def begin(self, interface: WifiInterface, monitor: AssociationMonitor | None = None) -> None:
        """It is at this interface, and has chosen an access point where there is a monitor."""
        self._interface, self._monitor = interface, monitor

    async def wait_for_address(self, interface: WifiInterface, monitor: AssociationMonitor) -> LinkAddress:
        """Wait for the address of the interface."""
        self._lease = LeaseRequest(interface, self._lease_due)
        return await self._wait_for_address(interface, monitor)

    async def read(self, supplicant: SupplicantInterface, network: AddedNetwork) -> LinkReading:
        """Read the link that has come up."""
        return await self._reading(supplicant, ADDRESS, network)

    def verdict(self) -> WifimgrdError:
        """Why it has failed at its deadline."""
        return self._verdict_at_deadline()

    async def clean_up(self, supplicant: SupplicantInterface) -> None:
        """Undo what it has begun with this object of wpa_supplicant's."""
        self._supplicant = supplicant
        await self._clean_up()


class Join:
    """An attempt that waits for its address; what networkd answers, and what was requested of it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *answers: LinkAddress | Withdrawn | None) -> None:
        self.answers = list(answers)
        self.meanwhile: list[object] = []
        """Events that arrive while networkd is asked."""
        self.reads = 0
        """How often networkd was asked."""
        self.was_read = asyncio.Event()
        self.requested: list[str] = []
        self.brings_address = True
        """Whether the address of the interface changes by a request."""
        self.has_kernel_address = False
        """Whether it has one before networkd describes one."""
        self.is_stale = False
        """networkd describes an address that the kernel has no longer, once."""
        self._interface = SimpleNamespace(name="wlan0", index=3, frames_received=0)
        self.refusal: BackendUnavailable | None = None
        request = JoinRequest(DeviceId(1), "wlan0", Ssid(b"CAM"), Passphrase("12345678"), 30.0)
        services: Any = SimpleNamespace(connection=None, request_lease=self._request_lease)
        anything: Any = SimpleNamespace()
        self._attempt = OpenAttempt(services, anything, request, 0.0, anything, anything)
        limit = BssidLimit("wlan0", "")
        self.monitor = AssociationMonitor(anything, request, [], limit, structlog.get_logger())
        monkeypatch.setattr(module, "read_address", self._read_address)

    async def address(self, *events: object) -> LinkAddress:
        """The address, with these events."""
        for event in events:
            self.monitor.post(event)
        self._interface.has_address = self.has_kernel_address
        interface: Any = self._interface
        self._attempt.begin(interface, self.monitor)
        async with asyncio.timeout(5):
            return await self._attempt.wait_for_address(interface, self.monitor)

    async def asked_for_access_point(self) -> list[str]:
        """What the supplicant is asked for the access point of a link."""
        asked: list[str] = []

        async def current_bss() -> str:
            asked.append("CurrentBSS")
            return "/BSSs/7"

        async def read_bss(path: str) -> None:
            asked.append(path)

        supplicant: Any = SimpleNamespace(current_bss=current_bss, read_bss=read_bss)
        await self._attempt.read(supplicant, AddedNetwork("", [], self.monitor))
        return asked

    async def _read_address(self, *_: object) -> LinkAddress | Withdrawn | None:
        while self.meanwhile:
            self.monitor.post(self.meanwhile.pop())
        self.reads += 1
        answer = self.answers.pop(0)
        self._interface.has_address |= isinstance(answer, LinkAddress) and not self.is_stale
        self.is_stale = False
        self.was_read.set()
        return answer

    async def _request_lease(self, interface: str) -> None:
        if self.brings_address:
            self.kernel_has_address()
        if self.refusal:
            raise self.refusal
        self.requested.append(interface)

    def kernel_has_address(self) -> None:
        """The kernel tells of a new address."""
        self._interface.has_address = True
        self.monitor.post(AddressChanged())

    def verdict(self) -> WifimgrdError:
        """Why the attempt fails at its deadline."""
        return self._attempt.verdict()


async def test_an_address_that_was_read_while_an_event_came_is_read_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    join = Join(monkeypatch, None, ADDRESS)
    join.meanwhile = [SupplicantChange({"Scanning": False}), AddressChanged()]
    assert await join.address(COMPLETED) == ADDRESS


@pytest.mark.parametrize(
    "after", [[], [SupplicantChange({"Scanning": False})], [COMPLETED, AddressChanged()]]
)
async def test_a_lease_is_requested_once_the_association_is_complete(
    monkeypatch: pytest.MonkeyPatch, after: list[object]
) -> None:
    join = Join(monkeypatch, None, ADDRESS)
    assert (
        await join.address(SupplicantChange({"State": SupplicantState.FOUR_WAY.value}), COMPLETED, *after)
        == ADDRESS
    )
    assert (join.reads, join.requested) == (2, ["wlan0"])


async def test_an_early_lease_is_not_requested(monkeypatch: pytest.MonkeyPatch) -> None:
    join = Join(monkeypatch, ADDRESS)
    assert await join.address(COMPLETED, AddressChanged()) == ADDRESS
    assert join.requested == []


async def test_an_address_that_arrives_just_before_its_request_is_read_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The helper ignores the request then, and there is no other event."""
    join = Join(monkeypatch, ADDRESS, ADDRESS)
    join.meanwhile, join.brings_address = [LeaseDue()], False
    assert await join.address(COMPLETED, AddressChanged()) == ADDRESS
    assert (join.reads, join.requested) == (2, ["wlan0"])


async def test_an_address_that_the_kernel_has_is_read_until_networkd_describes_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A lease that is requested anew when it has just come is lost and acquired again, without a signal."""
    join = Join(monkeypatch, None, None, ADDRESS)
    join.has_kernel_address, join.brings_address = True, False
    assert await join.address(COMPLETED, AddressChanged()) == ADDRESS
    assert join.reads == 3


@pytest.mark.parametrize("seen", [None, Withdrawn()])
async def test_an_address_that_does_not_come_by_itself_is_requested_anew(
    monkeypatch: pytest.MonkeyPatch, seen: Withdrawn | None
) -> None:
    """The kernel has one that networkd does not know, or networkd does not set that of its lease."""
    monkeypatch.setattr(LeaseRequest, "start", lambda _: None)
    join = Join(monkeypatch, *[seen] * 4, ADDRESS)
    join.has_kernel_address = seen is None
    assert await join.address(COMPLETED, AddressChanged()) == ADDRESS
    assert (join.reads, join.requested) == (5, ["wlan0"])


async def test_an_address_that_the_kernel_no_longer_has_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """networkd describes that of the link before for a moment."""
    monkeypatch.setattr(LeaseRequest, "start", lambda _: None)
    before = LinkAddress(IPv4Interface("192.168.42.7/24"), "192.168.42.1")
    join = Join(monkeypatch, before, ADDRESS)
    join.is_stale = True
    waiting = asyncio.create_task(join.address(COMPLETED, AddressChanged()))
    async with asyncio.timeout(5):
        await join.was_read.wait()
    join.monitor.post(AddressChanged())
    assert await waiting == ADDRESS


async def test_networkd_is_asked_once_while_the_kernel_has_no_address(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(LeaseRequest, "start", lambda _: None)
    join = Join(monkeypatch, None, ADDRESS)
    waiting = asyncio.create_task(join.address(COMPLETED))
    async with asyncio.timeout(5):
        await join.was_read.wait()
    join.monitor.post(AddressChanged())
    for _ in range(9):  # the attempt has long taken it
        await asyncio.sleep(0)
    assert (join.reads, waiting.done()) == (1, False)
    join.kernel_has_address()
    assert (await waiting, join.reads) == (ADDRESS, 2)


async def test_what_networkd_withdraws_after_a_request_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The lease came just before the request, and the kernel never had its address."""
    monkeypatch.setattr(LeaseRequest, "start", lambda _: None)
    join = Join(monkeypatch, None, Withdrawn(), ADDRESS)
    join.brings_address = False
    waiting = asyncio.create_task(join.address(COMPLETED))
    async with asyncio.timeout(5):
        await join.was_read.wait()
    join.monitor.post(LeaseDue())
    join.monitor.post(AddressChanged())
    assert await waiting == ADDRESS
    assert join.requested == ["wlan0"]


async def test_an_association_that_is_lost_ends_its_request(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next one has its own."""
    join = Join(monkeypatch, None, ADDRESS)
    lost = SupplicantChange({"State": SupplicantState.DISCONNECTED.value})
    assert await join.address(COMPLETED, lost, COMPLETED, AddressChanged()) == ADDRESS
    assert join.requested == ["wlan0"]


async def test_a_lease_that_could_not_be_requested_again_may_come(monkeypatch: pytest.MonkeyPatch) -> None:
    """The message that networkd has sent by itself was not lost, and its server is slow."""
    join = Join(monkeypatch, None, ADDRESS)
    join.refusal, join.brings_address = BackendUnavailable("it does not answer"), True
    assert await join.address(COMPLETED) == ADDRESS
    assert join.requested == []


async def test_why_networkd_cannot_request_it_is_told_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    join = Join(monkeypatch, None)
    join.refusal, join.brings_address = BackendUnavailable("it is masked"), False
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.1):
            await join.address(COMPLETED)
    assert join.verdict() is join.refusal


@pytest.mark.parametrize(
    ("reported", "asked"),
    [(["/", "/BSSs/7"], ["/BSSs/7"]), ([], ["CurrentBSS", "/BSSs/7"]), (["/"], ["CurrentBSS", "/BSSs/7"])],
)
async def test_the_supplicant_is_asked_for_its_access_point_where_it_did_not_report_it(
    monkeypatch: pytest.MonkeyPatch, reported: list[str], asked: list[str]
) -> None:
    join = Join(monkeypatch, ADDRESS)
    await join.address(*(SupplicantChange({"CurrentBSS": path}) for path in reported), COMPLETED)
    assert await join.asked_for_access_point() == asked


async def test_a_clean_up_that_is_cancelled_leaves_no_subscription() -> None:
    disconnecting, closed = asyncio.Event(), asyncio.Event()

    async def disconnect(_: object) -> None:
        disconnecting.set()
        await asyncio.Event().wait()

    anything: Any = SimpleNamespace(disconnect=disconnect)
    request = JoinRequest(DeviceId(1), "wlan0", Ssid(b"CAM"), Passphrase("12345678"), 30.0)
    attempt = OpenAttempt(anything, anything, request, 0.0, anything, anything)
    interface = WifiInterface(3, "wlan0", reserved=True)
    attempt.begin(interface)
    supplicant = cast("SupplicantInterface", SimpleNamespace(close=closed.set))
    cleaning = asyncio.create_task(attempt.clean_up(supplicant))
    async with asyncio.timeout(5):
        await disconnecting.wait()
    cleaning.cancel()
    await asyncio.wait([cleaning])
    assert closed.is_set()
    assert not interface.reserved
