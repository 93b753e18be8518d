"""The simulated backend meets the requirements of every backend."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.daemon.backends.conformance import BackendConformance
from tests.daemon.backends.recording import Recorder
from wifimgrd.domain.device import Passphrase, Ssid
from wifimgrd.simulator import SimulatedWorld, parse_scenario
from wifimgrd.simulator._world import BriefMemory

SCENARIO = parse_scenario("""
adapter_count = 2
camera_count = 1
[times]
join_s = 0.002
scan_s = 0.003
dhcp_s = 0.003
leave_s = 0.001
silence_s = 0.005
reading_s = 0.02
""")


class SimulatedStage:
    ssid = Ssid(b"SIM-CAM-1")
    passphrase = Passphrase("camera-pass-1")
    adapters = ("wlan0", "wlan1")

    def __init__(self) -> None:
        self.memory = BriefMemory()
        self._set_up()

    def _set_up(self) -> None:
        self.listener = Recorder()
        self.world = SimulatedWorld(SCENARIO, self.memory)
        self.backend = self.world.backend

    async def power_on(self) -> None:
        self.world.power_on_camera(self.ssid.data)

    async def power_off(self) -> None:
        self.world.power_off_camera(self.ssid.data, orderly=True)

    async def power_cut(self) -> None:
        self.world.power_off_camera(self.ssid.data, orderly=False)

    async def refuse(self) -> None:
        self.world.set_fault("refuse-association", {})

    async def kill_dhcp(self) -> None:
        self.world.set_fault("dhcp-dead", {})

    async def stall(self) -> None:
        self.world.set_fault("slow-join", {"seconds": 3600})

    async def pull(self, interface: str) -> None:
        self.world.unplug_adapter(interface)

    async def plug(self, interface: str) -> None:
        self.world.plug_adapter(interface)

    async def stop_other_side(self) -> None:
        self.world.set_fault("backend-gone", {})

    async def start_other_side(self) -> None:
        self.world.set_fault("backend-gone", {"off": True})

    async def restart(self) -> None:
        await self.backend.stop()
        self._set_up()
        await self.backend.start(self.listener)


class TestSimulatedBackend(BackendConformance):
    @pytest.fixture
    async def stage(self) -> AsyncIterator[SimulatedStage]:
        stage = SimulatedStage()
        await stage.backend.start(stage.listener)
        yield stage
        await stage.backend.stop()
