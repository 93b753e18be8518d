"""When the lease of a link is requested."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from tests.virtual_time import VirtualTimeLoop
from wifimgrd.backends.wpa_supplicant._lease_request import LeaseRequest


@pytest.mark.parametrize(
    ("received", "requests"),
    [([7, 7], [0.0, 1.5]), ([None, None], [0.0, 1.5]), ([7, 8], [0.0])],
    ids=["silence", "unknown", "frames"],
)
def test_it_is_requested_at_once_and_once_more_after_silence(
    received: list[int | None], requests: list[float]
) -> None:
    """Then the client keeps its transaction: a server may take the rest of the attempt."""

    async def test() -> list[float]:
        loop = asyncio.get_running_loop()
        begin, requested = loop.time(), list[float]()
        interface: Any = SimpleNamespace(frames_received=received[0])
        request = LeaseRequest(interface, lambda: requested.append(loop.time() - begin))
        request.start()
        request.start()  # another event of the same association
        interface.frames_received = received[1]
        await asyncio.sleep(100)
        request.start()
        await asyncio.sleep(100)
        return requested

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        assert runner.run(test()) == requests


def test_an_association_that_is_lost_and_is_back_begins_no_other_request() -> None:
    """networkd has begun by itself."""

    async def test() -> int:
        requested = list[None]()
        interface: Any = SimpleNamespace(frames_received=0)
        request = LeaseRequest(interface, lambda: requested.append(None))
        request.start()
        request.stop()
        await asyncio.sleep(10)
        request.start()
        await asyncio.sleep(1)
        request.stop()
        request.stop()
        await asyncio.sleep(10)
        return len(requested)

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        assert runner.run(test()) == 1
