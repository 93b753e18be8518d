"""Scans, through the hub."""

from __future__ import annotations

import asyncio

import pytest

from tests.daemon.manager.conftest import Bench, RunOnBench
from wifimgrd.domain.errors import BackendUnavailable, InterfaceNotFound


def test_every_idle_interface_searches(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        report = await bench.hub.scan()
        assert (list(report.scanned), dict(report.skipped)) == (["wlan0", "wlan1", "wlan2"], {})
        names = {network.ssid.text for network in await bench.hub.networks()}
        assert names == {"SIM-CAM-1", "SIM-CAM-2", "SIM-CAM-3", "SIM-CAM-4"}

    on_bench(test)


def test_an_interface_that_a_device_uses_is_left_alone(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await bench.connected(1)
        report = await bench.hub.scan()
        assert list(report.scanned) == ["wlan1", "wlan2"]
        assert report.skipped == {"wlan0": 'in use by "SIM-CAM-1"'}
        assert bench.story.reported == []
        by_name = {network.ssid.text: network.device_id for network in await bench.hub.networks()}
        assert by_name["SIM-CAM-1"] == device
        assert by_name["SIM-CAM-2"] is None

    on_bench(test)


def test_an_interface_that_is_not_ours_is_left_alone(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        bench.world.set_fault("rfkill", {"interface": "wlan1"})
        report = await bench.hub.scan()
        assert list(report.scanned) == ["wlan0", "wlan2"]
        assert report.skipped == {"wlan1": "blocked by rfkill (soft-blocked)"}

    on_bench(test)


def test_one_interface_alone_can_be_asked(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        assert list((await bench.hub.scan("wlan1")).scanned) == ["wlan1"]
        assert await bench.hub.networks("wlan0") == []
        assert {network.interfaces for network in await bench.hub.networks("wlan1")} == {("wlan1",)}
        with pytest.raises(InterfaceNotFound):
            await bench.hub.scan("wlan9")
        with pytest.raises(InterfaceNotFound):
            await bench.hub.networks("wlan9")

    on_bench(test)


def test_who_asks_at_the_same_time_shares_one_scan(
    on_bench: RunOnBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def test(bench: Bench) -> None:
        scans = []
        scan = bench.world.backend.scan

        async def counted(interface: str) -> None:
            scans.append(interface)
            await scan(interface)

        monkeypatch.setattr(bench.world.backend, "scan", counted)
        first = asyncio.create_task(bench.hub.scan())
        await asyncio.sleep(0.1)
        others = [asyncio.create_task(bench.hub.scan()) for _ in range(20)]
        await asyncio.sleep(0.1)
        first.cancel()
        for report in await asyncio.gather(*others):
            assert list(report.scanned) == ["wlan0", "wlan1", "wlan2"]
        assert sorted(scans) == ["wlan0", "wlan1", "wlan2"]
        await bench.hub.scan("wlan0")
        assert len(scans) == 4

    on_bench(test)


def test_a_scan_that_fails_is_said_and_the_others_count(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        bench.world.set_fault("scan-fails", {"interface": "wlan0"})
        asking = asyncio.create_task(bench.hub.scan())
        await asyncio.sleep(0.1)
        bench.world.unplug_adapter("wlan1")
        report = await asking
        assert list(report.scanned) == ["wlan2"]
        assert report.skipped == {"wlan0": "its scans fail", "wlan1": "there is no adapter wlan1"}

    on_bench(test)


def test_a_scan_that_never_ends_is_not_waited_for(
    on_bench: RunOnBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def test(bench: Bench) -> None:
        async def never(_: str) -> None:
            await asyncio.Event().wait()

        monkeypatch.setattr(bench.world.backend, "scan", never)
        report = await bench.hub.scan("wlan0")
        assert report.skipped == {"wlan0": "its scan took too long"}

    on_bench(test)


def test_a_hub_that_stops_ends_its_scans(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        asking = asyncio.create_task(bench.hub.scan())
        await asyncio.sleep(0.1)
        await bench.hub.stop_work()
        assert set((await asking).skipped.values()) == {"its scan was aborted"}

    on_bench(test)


def test_nobody_searches_while_the_backend_is_away(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        bench.world.set_fault("backend-gone", {})
        with pytest.raises(BackendUnavailable):
            await bench.hub.scan()
        with pytest.raises(BackendUnavailable):
            await bench.hub.networks()

    on_bench(test)
