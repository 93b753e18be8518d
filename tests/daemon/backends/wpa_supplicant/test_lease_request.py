"""When networkd is to request the lease of a link from the beginning."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

import pytest

from tests.virtual_time import VirtualTimeLoop
from wifimgrd.daemon.backends.wpa_supplicant._inventory import WifiInterface
from wifimgrd.daemon.backends.wpa_supplicant._lease_request import LeaseRequest

KEY_S: Final = 0.012
OFFER_S: Final = 0.15
SILENCE_S: Final = 1.5
SLOW_SERVER_S: Final = 100.0


class Interface(WifiInterface):
    """An interface that is just associated; which frames arrive, and when networkd was to begin anew."""

    def __init__(self) -> None:
        super().__init__(3, "wlan0")
        self.received: int | None = 7
        self.due: list[float] = []
        self.request = LeaseRequest(self, lambda: self.due.append(self._since_association()))
        self._begin = 0.0

    @property
    def frames_received(self) -> int | None:
        return self.received

    def associated(self) -> None:
        self._begin = asyncio.get_running_loop().time()
        self.request.start()

    async def receive_at(self, *times_s: float) -> None:
        """A frame arrives at each of these times since the association."""
        for time_s in times_s:
            await asyncio.sleep(time_s - self._since_association())
            assert self.received is not None
            self.received += 1

    def _since_association(self) -> float:
        return round(asyncio.get_running_loop().time() - self._begin, 6)


def due(scenario: Callable[[Interface], Awaitable[None]]) -> list[float]:
    """How long after an association networkd was to begin anew; a server may take the rest of the attempt."""

    async def run() -> list[float]:
        interface = Interface()
        await scenario(interface)
        await asyncio.sleep(SLOW_SERVER_S)
        return interface.due

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(run())


@pytest.mark.parametrize("received", [7, None], ids=["none", "unknown"])
def test_without_any_frame_it_is_due_early_and_twice_more(received: int | None) -> None:
    async def silence(interface: Interface) -> None:
        interface.received = received
        interface.associated()

    assert due(silence) == [KEY_S, OFFER_S, OFFER_S + SILENCE_S]


def test_a_frame_after_that_leaves_it_to_networkd() -> None:
    async def slow_server(interface: Interface) -> None:
        interface.associated()
        await interface.receive_at(1.0)

    assert due(slow_server) == [KEY_S, OFFER_S]


def test_frames_that_bring_no_lease_make_it_due_a_little_later() -> None:
    async def chatter(interface: Interface) -> None:
        interface.associated()
        await interface.receive_at(0.003, 0.1, 0.2)

    assert due(chatter) == [OFFER_S]


def test_silence_after_a_first_frame_makes_it_due_once_more() -> None:
    async def one_frame(interface: Interface) -> None:
        interface.associated()
        await interface.receive_at(0.003)

    assert due(one_frame) == [OFFER_S, OFFER_S + SILENCE_S]


def test_a_lease_after_the_first_request_ends_it() -> None:
    async def lease(interface: Interface) -> None:
        interface.associated()
        await interface.receive_at(0.05)
        interface.request.stop()

    assert due(lease) == [KEY_S]


@pytest.mark.parametrize("lease_s", [0.01, 0.1])
def test_with_an_early_lease_it_is_never_due(lease_s: float) -> None:
    async def lease(interface: Interface) -> None:
        interface.associated()
        await interface.receive_at(0.003, lease_s)
        interface.request.stop()
        interface.request.stop()

    assert due(lease) == []


def test_after_the_lease_it_is_not_due_again() -> None:
    async def lease(interface: Interface) -> None:
        interface.associated()
        await asyncio.sleep(1)
        interface.request.stop()

    assert due(lease) == [KEY_S, OFFER_S]


def test_another_event_of_the_same_association_begins_nothing() -> None:
    async def again(interface: Interface) -> None:
        interface.associated()
        await asyncio.sleep(0.01)
        interface.request.start()
        await asyncio.sleep(SLOW_SERVER_S)
        interface.request.start()

    assert due(again) == [KEY_S, OFFER_S, OFFER_S + SILENCE_S]


def test_the_next_association_is_as_the_first() -> None:
    async def lost_and_back(interface: Interface) -> None:
        interface.associated()
        await asyncio.sleep(1)
        interface.request.stop()
        await asyncio.sleep(10)
        interface.associated()

    assert due(lost_and_back) == [KEY_S, OFFER_S, KEY_S, OFFER_S, OFFER_S + SILENCE_S]
