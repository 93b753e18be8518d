"""Simulated scans, and their results for each adapter."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Final

from wifimgrd.domain import network
from wifimgrd.domain.adapter import Band
from wifimgrd.domain.device import Ssid
from wifimgrd.domain.errors import BackendUnavailable
from wifimgrd.domain.interface import absent
from wifimgrd.domain.network import ScanResult
from wifimgrd.simulator._adapters import SimulatedAdapters
from wifimgrd.simulator._camera import Camera
from wifimgrd.simulator._faults import Faults
from wifimgrd.simulator._scenario import AdapterPlan, CameraPlan, Security, Times

_SECURITY: Final = {
    Security.WPA2: network.Security.WPA2,
    Security.SAE: network.Security.WPA3,
    Security.OPEN: network.Security.OPEN,
}


class ScanSimulation:
    """The results of each adapter's last scan; those of an unplugged adapter are left out."""

    def __init__(
        self, adapters: SimulatedAdapters, cameras: Mapping[bytes, Camera], faults: Faults, times: Times
    ) -> None:
        self._adapters = adapters
        self._cameras = cameras
        self._faults = faults
        self._times = times
        self._results: dict[str, list[ScanResult]] = {}

    async def scan(self, name: str) -> None:
        """Scan all channels; raises InterfaceLost, and BackendUnavailable where scans fail."""
        adapter = await self._searched(name)
        self._results[name] = self._heard(adapter, name)

    async def scan_for(self, name: str, ssid: Ssid) -> bool:
        """Scan for one network, hidden or not; raises as `scan` does."""
        adapter = await self._searched(name)
        camera = self._cameras.get(ssid.data)
        self._results[name] = self._heard(adapter, name, ssid)
        if camera is None or self._faults.is_deaf(name):
            return False
        return camera.powered and is_in_reach(adapter, camera.plan)

    def _heard(self, adapter: AdapterPlan, name: str, called: Ssid | None = None) -> list[ScanResult]:
        """The cameras that an adapter receives; a hidden one only if it is called by its SSID."""
        now_us = time.time_ns() // 1000
        return [
            _result(name, camera, now_us)
            for camera in self._cameras.values()
            if not self._faults.is_deaf(name)
            and camera.powered
            and is_in_reach(adapter, camera.plan)
            and (not camera.plan.hidden or camera.plan.ssid == called)
        ]

    async def _searched(self, name: str) -> AdapterPlan:
        await asyncio.sleep(self._times.scan_s if self._adapters.get(name) is not None else 0)
        adapter = self._adapters.get(name)
        if adapter is None:
            raise absent(name)
        if self._faults.scan_fails.get(name):
            raise BackendUnavailable("its scans fail")
        return adapter

    def results(self, name: str | None = None) -> list[ScanResult]:
        """The results of all adapters that are plugged in, or of one of them."""
        names = [one for one in self._adapters.plugged if name in (None, one)]
        return [point for one in names for point in self._results.get(one, ())]


def is_in_reach(adapter: AdapterPlan, camera: CameraPlan) -> bool:
    """Whether an adapter supports a camera's band."""
    bands = adapter.facts.bands
    return not bands or Band.of_frequency(camera.frequency_mhz) in bands


def _result(name: str, camera: Camera, now_us: int) -> ScanResult:
    plan = camera.plan
    return ScanResult(name, plan.ssid, plan.sighting, _SECURITY[plan.security], camera.signal_percent, now_us)
