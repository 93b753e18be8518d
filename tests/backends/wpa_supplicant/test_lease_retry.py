"""When a lease that does not come is requested again."""

from __future__ import annotations

import asyncio

import pytest

from tests.virtual_time import VirtualTimeLoop
from wifimgrd.backends.wpa_supplicant.lease_retry import LeaseRetry


def test_the_pauses_grow_until_it_is_there() -> None:
    async def test() -> list[float]:
        loop = asyncio.get_running_loop()
        begin, requests = loop.time(), list[float]()
        retry = LeaseRetry(lambda: requests.append(loop.time() - begin))
        retry.start()
        await asyncio.sleep(4)
        retry.start()  # another event of the same association
        await asyncio.sleep(4)
        retry.stop()
        await asyncio.sleep(100)
        retry.start()
        await asyncio.sleep(1)
        retry.stop()
        retry.stop()
        return requests

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        assert runner.run(test()) == pytest.approx(
            [0.015, 0.265, 0.765, 1.765, 3.765, 7.765, 108.015, 108.265, 108.765]
        )
