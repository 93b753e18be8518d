"""Scans and searches share the adapters: one at a time on each, and each camera has its turn."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from itertools import pairwise
from typing import Any

import pytest

from tests.daemon.manager.conftest import Bench, RunOnBench
from wifimgrd.daemon.manager._reconnecting import Reconnecting
from wifimgrd.domain.device import DeviceId, DeviceState, Ssid

FULL_SCAN_S = 8.0
"""A search of all channels on a real adapter takes 8 to 11 s."""
EIGHT = range(1, 9)


class Ears:
    """What the adapters search for, and when; scans are as slow as real ones."""

    def __init__(self, bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
        self.searches: list[tuple[float, bytes]] = []
        self.changed = asyncio.Event()
        self.busy: set[str] = set()
        self.collisions: list[str] = []
        backend = bench.world.backend
        is_visible, scan = backend.is_visible, backend.scan

        async def search(interface: str, ssid: Ssid, *rest: Any, **options: Any) -> bool:
            self.searches.append((asyncio.get_running_loop().time(), ssid.data))
            found: bool = await self._alone(interface, lambda: is_visible(interface, ssid, *rest, **options))
            return found

        async def scan_all(interface: str) -> None:
            await self._alone(interface, lambda: scan(interface))

        monkeypatch.setattr(backend, "is_visible", search)
        monkeypatch.setattr(backend, "scan", scan_all)

    async def _alone(self, interface: str, work: Callable[[], Awaitable[Any]]) -> Any:
        if interface in self.busy:
            self.collisions.append(interface)
        self.busy.add(interface)
        self.changed.set()
        try:
            await asyncio.sleep(FULL_SCAN_S)
            return await work()
        finally:
            self.busy.discard(interface)
            self.changed.set()

    async def until(self, condition: Callable[[], bool]) -> None:
        while not condition():
            self.changed.clear()
            await self.changed.wait()


async def lost(bench: Bench, number: int) -> DeviceId:
    """A camera that was used, and then switched off at its own button."""
    device = await bench.create(number)
    await bench.hub.connections.connect(device, wait=True)
    bench.world.power_off_camera(b"SIM-CAM-%d" % number, orderly=True)
    await asyncio.sleep(12)
    assert bench.state(device) is DeviceState.DISCONNECTED
    return device


def leave(bench: Bench, *adapters: str) -> None:
    """Unplug the other adapters."""
    for name in {"wlan0", "wlan1", "wlan2"} - set(adapters):
        bench.world.unplug_adapter(name)


@pytest.mark.parametrize("adapters", [("wlan0",), ("wlan0", "wlan1")])
def test_each_of_the_cameras_that_share_an_adapter_is_searched_for(
    on_bench: RunOnBench, monkeypatch: pytest.MonkeyPatch, adapters: tuple[str, ...]
) -> None:
    async def test(bench: Bench) -> None:
        ears = Ears(bench, monkeypatch)
        leave(bench, *adapters)
        for number in range(5, 9):
            bench.world.add_camera(b"SIM-CAM-%d" % number, f"camera-pass-{number}", {})
        devices = [await lost(bench, number) for number in EIGHT]
        await asyncio.sleep(600)
        began_s = asyncio.get_running_loop().time()
        ears.searches.clear()
        await asyncio.sleep(3600)
        for number in EIGHT:
            times = [at_s for at_s, data in ears.searches if data == b"SIM-CAM-%d" % number]
            ends = [began_s, *times, began_s + 3600]
            assert max(after - before for before, after in pairwise(ends)) < 600
        bench.world.power_on_camera(b"SIM-CAM-8")
        await asyncio.sleep(600)
        assert bench.state(devices[7]) is DeviceState.CONNECTED

    on_bench(test)


def test_what_the_search_for_another_camera_hears_is_a_sign_of_life(
    on_bench: RunOnBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def test(bench: Bench) -> None:
        ears = Ears(bench, monkeypatch)

        def jitter() -> float:
            """The waits of the first camera are shorter."""
            return 0.99 if ears.searches[-1][1] == b"SIM-CAM-2" else 0.0

        monkeypatch.setattr(bench.chance, "random", jitter)
        leave(bench, "wlan0")
        for number in (1, 2):
            await lost(bench, number)
        await asyncio.sleep(600)
        await ears.until(lambda: not ears.busy and ears.searches[-1][1] == b"SIM-CAM-2")
        bench.world.power_on_camera(b"SIM-CAM-2")
        ears.searches.clear()
        await asyncio.sleep(60)
        (first_s, first), (second_s, second) = ears.searches[:2]
        assert (first, second) == (b"SIM-CAM-1", b"SIM-CAM-2")
        assert second_s == pytest.approx(first_s + FULL_SCAN_S, abs=2.5)

    on_bench(test)


def test_a_requested_scan_and_a_search_do_not_share_an_adapter(
    on_bench: RunOnBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def test(bench: Bench) -> None:
        leave(bench, "wlan0")
        await lost(bench, 1)
        ears = Ears(bench, monkeypatch)
        await ears.until(lambda: bool(ears.busy))
        report = await bench.hub.scan()
        assert list(report.scanned) == ["wlan0"]
        await asyncio.sleep(120)
        assert ears.collisions == []
        assert len(ears.searches) > 2  # the search that gave way is repeated

    on_bench(test)


def test_a_search_for_evidence_has_its_adapter_to_itself(
    on_bench: RunOnBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def test(bench: Bench) -> None:
        leave(bench, "wlan0", "wlan1")
        await lost(bench, 1)
        refused = await bench.create(2)
        bench.world.power_off_camera(b"SIM-CAM-2", orderly=True)
        ears = Ears(bench, monkeypatch)
        for _ in range(20):  # each attempt fails, and the other adapter is asked
            with pytest.raises(Exception, match="not"):
                await bench.hub.connections.connect(refused, wait=True)
            scanning = asyncio.create_task(bench.hub.scan())
            await asyncio.sleep(5)
            await scanning
        assert ears.collisions == []

    on_bench(test)


def test_a_client_that_scans_again_and_again_does_not_keep_a_camera_from_being_searched_for(
    on_bench: RunOnBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def test(bench: Bench) -> None:
        leave(bench, "wlan0")
        device = await lost(bench, 1)
        ears = Ears(bench, monkeypatch)
        bench.world.power_on_camera(b"SIM-CAM-1")
        monkeypatch.setattr(Reconnecting, "seen", lambda *_: None)
        for _ in range(60):
            await bench.hub.scan()
            await asyncio.sleep(FULL_SCAN_S / 2)
        assert ears.collisions == []
        assert bench.state(device) is DeviceState.CONNECTED

    on_bench(test)


def test_a_scan_does_not_use_the_adapter_on_which_the_search_it_waited_for_has_found_the_camera(
    on_bench: RunOnBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def test(bench: Bench) -> None:
        leave(bench, "wlan0")
        await lost(bench, 1)
        ears = Ears(bench, monkeypatch)
        await ears.until(lambda: bool(ears.busy))
        await bench.hub.scan()
        ears.searches.clear()
        await ears.until(lambda: bool(ears.searches))
        bench.world.power_on_camera(b"SIM-CAM-1")
        report = await bench.hub.scan()
        assert report.scanned == []
        assert "wlan0" in report.skipped
        assert list(report.failed) == []

    on_bench(test)
