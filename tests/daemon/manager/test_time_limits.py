"""The daemon keeps to the time limits by which its clients wait for it, also on a backend that hangs."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable

import pytest

from tests.daemon.manager.conftest import Bench, RunOnBench
from wifimgrd.config import catalog
from wifimgrd.daemon.manager.settings import HubSettings
from wifimgrd.daemon.ports import JoinRequest
from wifimgrd.domain.device import DeviceState, Link
from wifimgrd.domain.group import Group
from wifimgrd.domain.time_limits import ANSWER_S, CONNECT_S, RELEASE_S, REMOVE_S

ACTIVATION_S = 12.0
"""So long an attempt takes to end: the reply to what it has begun is waited for."""


def hang(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on attempts end late, and no link is ever down."""

    async def join(_: JoinRequest) -> Link:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(ACTIVATION_S)
        raise AssertionError

    async def leave(_: str) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(bench.world.backend, "join", join)
    monkeypatch.setattr(bench.world.backend, "leave", leave)


async def seconds_of(command: Awaitable[None]) -> float:
    loop = asyncio.get_running_loop()
    began_s = loop.time()
    await command
    return loop.time() - began_s


def test_connect_takes_no_longer_than_the_end_of_an_automatic_attempt(
    on_bench: RunOnBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def test(bench: Bench) -> None:
        lost = await bench.connected(1)
        for adapter in ("wlan0", "wlan1", "wlan2"):
            bench.world.unplug_adapter(adapter)
        other = await bench.create(2)
        hang(bench, monkeypatch)
        bench.world.plug_adapter("wlan0")
        await asyncio.sleep(5)
        assert bench.state(lost) is DeviceState.CONNECTING
        taken_s = await seconds_of(bench.hub.connections.connect(other, wait=False))
        assert taken_s == pytest.approx(RELEASE_S, abs=0.1)
        assert bench.state(other) is DeviceState.CONNECTING
        assert RELEASE_S <= CONNECT_S - ANSWER_S

    on_bench(test)


def test_connect_of_a_member_waits_no_longer_than_its_turn_and_that(
    on_bench: RunOnBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def test(bench: Bench) -> None:
        for number in (1, 2, 3):
            await bench.connected(number)
        member = await bench.create(4)
        await bench.hub.reconfigure(HubSettings(models=catalog.load(), groups=(Group("all", (member,)),)))
        hang(bench, monkeypatch)
        group = asyncio.create_task(bench.hub.groups.connect("all"))
        await asyncio.sleep(1)
        taken_s = await seconds_of(bench.hub.connections.connect(member, wait=False))
        assert 1 < taken_s <= RELEASE_S + RELEASE_S <= CONNECT_S - ANSWER_S
        group.cancel()

    on_bench(test)


def test_removal_takes_no_longer_than_the_end_of_an_attempt(
    on_bench: RunOnBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def test(bench: Bench) -> None:
        hang(bench, monkeypatch)
        device = await bench.create(1)
        await asyncio.sleep(1)
        taken_s = await seconds_of(bench.hub.remove(device))
        assert taken_s == pytest.approx(RELEASE_S, abs=0.1)
        assert RELEASE_S <= REMOVE_S - ANSWER_S

    on_bench(test)
