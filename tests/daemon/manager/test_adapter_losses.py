"""Why an adapter is lost: it was unplugged (test_overlaps.py), blocked, or taken by another program."""

from __future__ import annotations

import asyncio

import pytest

from tests.daemon.manager.conftest import Bench, RunOnBench
from wifimgrd.domain.interface import taken


@pytest.mark.parametrize("phase", ["connecting", "connected", "interrupted"])
def test_an_adapter_that_rfkill_blocks_ends_the_attempt_or_link_and_was_not_unplugged(
    on_bench: RunOnBench, phase: str
) -> None:
    """The backend sees but a loss of the camera; the adapter source alone knows better."""

    async def test(bench: Bench) -> None:
        device = await (bench.create() if phase == "connecting" else bench.connected())
        if phase == "connecting":
            await bench.hub.connections.connect(device, wait=False)
        if phase == "interrupted":
            bench.world.power_off_camera(b"SIM-CAM-1", orderly=True)
        bench.story.forget()
        bench.world.adapters.block("wlan0", "hard-blocked")
        await asyncio.sleep(0.5)
        steps = ["wlan0 in-use", *["1 connecting"] * (phase == "connected"), "wlan0 unavailable"]
        assert bench.story.reported == [*steps, "1 failed interface-lost", "1 disconnected"]
        failure = bench.story.devices[device].device.failure
        assert failure is not None
        assert failure.message == (
            "the adapter wlan0 was blocked by rfkill (hard-blocked);"
            " its switch, or the computer's, unblocks it"
        )
        assert await bench.world.backend.links() == []

    on_bench(test)


def test_an_adapter_blocked_while_disconnecting_is_no_failure(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await bench.connected()
        leaving = asyncio.create_task(bench.hub.connections.disconnect(device))
        await asyncio.sleep(0)
        bench.world.adapters.block("wlan0", "soft-blocked")
        await leaving
        assert bench.story.reported[-1] == "1 disconnected"
        assert bench.code(device) is None

    on_bench(test)


def test_an_adapter_that_another_program_took_is_lost_at_once(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await bench.connected()
        bench.backend_events.link_ended("wlan0", taken("wlan0", "it carries another connection"))
        assert bench.story.reported == ["wlan0 available", "1 failed interface-lost", "1 disconnected"]
        assert "taken by another program" in str(bench.story.devices[device].device.failure)
        bench.world.backend.joined.drop("wlan0")

    on_bench(test)
