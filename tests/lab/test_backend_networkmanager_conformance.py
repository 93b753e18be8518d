"""The NetworkManager backend keeps every backend's promises, on real 802.11."""

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest

from tests.backends.conformance import BackendConformance, Stage, request
from tests.backends.recording import Recorder
from wifimgrd.backends.networkmanager import NetworkManagerBackend
from wifimgrd.domain.device import Passphrase, Ssid
from wifimgrd.domain.errors import BackendUnavailable, ConnectionLost
from wifimgrd.domain.events import BackendState, BackendStatus
from wifimgrd.runtime.tasks import Tasks

from .guest.access_point import Camera
from .guest.adapters import Adapter
from .guest.namespace import run
from .guest.network_manager import DeviceState, NetworkManager
from .networkmanager_listener import Memory, profiles

_NM = "NetworkManager.service"


class QuietRecorder(Recorder):
    """Notes neither how the signal moves nor that a start is under way."""

    def backend_changed(self, status: BackendStatus) -> None:
        if status.state is not BackendState.STARTING:
            super().backend_changed(status)

    def link_changed(self, interface: str, link: object) -> None:
        pass


class LabStage:
    """Two adapters and a camera, between whom the air is real."""

    def __init__(self, camera: Camera, adapters: dict[str, Adapter], plug: Callable[[str], Adapter]) -> None:
        self.adapters = tuple(adapters)
        self.ssid = Ssid(camera.ssid)
        self.passphrase = Passphrase(camera.password)
        self._camera = camera
        self._adapters = adapters
        self._plug = plug
        self._memory = Memory()
        self._new_life()

    def _new_life(self) -> None:
        self.listener = QuietRecorder(patience_s=30)
        self.backend = NetworkManagerBackend(self._memory, Tasks("test"))

    async def power_on(self) -> None:
        self._camera.on()

    async def power_off(self) -> None:
        self._camera.stop()

    async def power_cut(self) -> None:
        self._camera.kill()

    async def refuse(self) -> None:
        self._camera.refuse()

    async def kill_dhcp(self) -> None:
        self._camera.dhcp_off()

    async def stall(self) -> None:
        self._camera.dhcp_off()

    async def pull(self, interface: str) -> None:
        self._adapters[interface].unplug()

    async def plug(self, interface: str) -> None:
        self._adapters[interface] = self._plug(self._adapters[interface].port)

    async def stop_other_side(self) -> None:
        await _systemctl("stop", _NM)

    async def start_other_side(self) -> None:
        await _systemctl("start", _NM)

    async def restart(self) -> None:
        await self.backend.stop()
        self._new_life()
        await self.backend.start(self.listener)


async def _systemctl(*words: str) -> None:
    await asyncio.to_thread(run, "systemctl", *words)


class TestNetworkManagerBackend(BackendConformance):
    @pytest.fixture
    async def stage(
        self, cameras: Callable[..., Camera], adapters: Callable[..., Adapter], nm: NetworkManager
    ) -> AsyncIterator[LabStage]:
        plugged = {adapter.interface: adapter for adapter in (adapters(), adapters())}
        stage = LabStage(cameras("A"), plugged, adapters)
        for interface in plugged:
            await nm.wait_for_state(interface, DeviceState.DISCONNECTED)
        await stage.backend.start(stage.listener)
        await stage.listener.backend_is(BackendState.READY)
        stage.listener._read = 0
        yield stage
        for link in await stage.backend.links():
            await stage.backend.leave(link.interface)
        await stage.backend.stop()
        await _systemctl("start", _NM)
        assert profiles() == [], "profiles left after the test"

    async def test_the_other_side_goes_away(self, stage: Stage) -> None:
        """NetworkManager ends its links in order, and is gone then."""
        await stage.backend.join(request(stage))
        await stage.stop_other_side()
        told = await stage.listener.next("link_ended")
        assert isinstance(told.error, ConnectionLost)
        status = await stage.listener.backend_is(BackendState.UNAVAILABLE)
        assert "NetworkManager" in status.reason
        with pytest.raises(BackendUnavailable):
            await stage.backend.join(request(stage))
        await stage.backend.leave(stage.adapters[0])
        assert await stage.backend.links() == []
        await stage.start_other_side()
        await stage.listener.backend_is(BackendState.READY)
        await stage.backend.join(request(stage))
