"""However many cameras are lost, each is searched for again and again."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush
from random import Random

import pytest

from wifimgrd.domain.device import DeviceId
from wifimgrd.domain.errors import ErrorCode
from wifimgrd.domain.reconnect_policy import ReconnectPolicy

SEARCH_S = (8.0, 11.0)
AT_LEAST_EVERY_S = 600.0
DAY_S = 86_400.0


def longest_gaps(
    lost_at: Sequence[tuple[float, int]], adapters: int, *, heard: Sequence[int] = (), until_s: float
) -> dict[int, float]:
    """The longest time in which each device was not searched for, by its number: devices that are lost at a
    time and have a priority; those of `heard` are received by every search, and each attempt fails."""
    random, policy = Random(1), ReconnectPolicy()
    losses = sorted((at_s, number, priority) for number, (at_s, priority) in enumerate(lost_at))
    searched = {number: at_s for number, (at_s, _) in enumerate(lost_at)}
    gaps = dict.fromkeys(searched, 0.0)
    running: list[tuple[float, int]] = []
    now_s = 0.0
    while now_s < until_s:
        while losses and losses[0][0] <= now_s:
            _, number, priority = losses.pop(0)
            policy = policy.lost(DeviceId(number), priority, now_s)
        while running and running[0][0] <= now_s:
            _, number = heappop(running)
            code = ErrorCode.ASSOCIATION_REFUSED if number in heard else None
            policy = policy.failed(DeviceId(number), now_s, random.random(), code)
            for one in heard:
                policy = policy.heard(DeviceId(one), now_s)
        for device in policy.due(now_s)[: adapters - len(running)]:
            policy = policy.started(device)
            gaps[device] = max(gaps[device], now_s - searched[device])
            searched[device] = now_s
            heappush(running, (now_s + random.uniform(*SEARCH_S), device))
        next_s = policy.next_s(now_s)
        now_s = min(
            [at_s for at_s, *_ in losses[:1]]
            + [at_s for at_s, _ in running[:1]]
            + [next_s if next_s is not None else until_s]
        )
    return {number: max(gap, until_s - searched[number]) for number, gap in gaps.items()}


@pytest.mark.parametrize("adapters", [1, 2])
@pytest.mark.parametrize("priorities", [[0] * 8, [0, 1, 2, 3, 4, 5, 6, 7], [1] * 7 + [0]])
@pytest.mark.parametrize("heard", [(), (0, 1)])
def test_each_lost_camera_is_searched_for_every_ten_minutes(
    adapters: int, priorities: list[int], heard: tuple[int, ...]
) -> None:
    """The first one was lost a day before the others."""
    lost_at = [(number and DAY_S + 20.0 * number, priority) for number, priority in enumerate(priorities)]
    gaps = longest_gaps(lost_at, adapters, heard=heard, until_s=DAY_S + 4 * 3600)
    assert max(gaps.values()) <= AT_LEAST_EVERY_S, gaps


def test_a_camera_that_was_heard_is_searched_for_before_the_others() -> None:
    policy = ReconnectPolicy()
    for number in range(8):
        policy = policy.lost(DeviceId(number), 0, 0.0)
        policy = policy.failed(DeviceId(number), 10.0 + number, 0.5)
    policy = policy.heard(DeviceId(5), 11.0)
    assert policy.due(11.0) == [DeviceId(5)]
    assert policy.due(100.0) == [5, 0, 1, 2, 3, 4, 6, 7]


def test_a_camera_whose_attempt_failed_is_not_tried_at_once_because_it_is_heard_again() -> None:
    policy = ReconnectPolicy().lost(DeviceId(1), 0, 0.0)
    policy = policy.failed(DeviceId(1), 10.0, 0.5, ErrorCode.ADDRESS_FAILED)
    assert policy.heard(DeviceId(1), 10.5).due(10.5) == []
    assert policy.sign_of_life(10.5, DeviceId(1)).due(10.5) == [1]
