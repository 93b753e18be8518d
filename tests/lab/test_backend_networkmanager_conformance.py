"""The NetworkManager backend keeps every backend's promises, on real 802.11."""

from collections.abc import AsyncIterator, Callable

import pytest

from tests.daemon.backends.conformance import BackendConformance, Stage, request
from wifimgrd.daemon.backends.networkmanager import NetworkManagerBackend
from wifimgrd.domain.errors import BackendUnavailable, ConnectionLost
from wifimgrd.domain.events import BackendState
from wifimgrd.runtime.tasks import Tasks

from .backend_stage import LabStage, systemctl
from .guest.access_point import Camera
from .guest.adapters import Adapter
from .guest.network_manager import DeviceState, NetworkManager
from .networkmanager_changes import Changes
from .networkmanager_listener import Memory, profiles
from .supplicant_changes import limit_networks

_NM = "NetworkManager.service"


class NetworkManagerStage(LabStage):
    """The lab, with NetworkManager as the other side."""

    async def stop_other_side(self) -> None:
        await systemctl("stop", _NM)

    async def start_other_side(self) -> None:
        await systemctl("start", _NM)


class TestNetworkManagerBackend(BackendConformance):
    @pytest.fixture
    async def stage(
        self, cameras: Callable[..., Camera], adapters: Callable[..., Adapter], nm: NetworkManager
    ) -> AsyncIterator[LabStage]:
        plugged = {adapter.interface: adapter for adapter in (adapters(), adapters())}
        memory = Memory()
        stage = NetworkManagerStage(
            cameras("A"),
            plugged,
            adapters,
            lambda: NetworkManagerBackend(
                memory, Tasks("test"), changes=Changes(), limit_networks=limit_networks
            ),
        )
        for interface in plugged:
            await nm.wait_for_state(interface, DeviceState.DISCONNECTED)
        await stage.start()
        yield stage
        await stage.end()
        await systemctl("start", _NM)
        assert profiles() == [], "profiles left after the test"

    async def test_the_other_side_goes_away(self, stage: Stage) -> None:
        """NetworkManager ends its links in order, and is gone then."""
        await stage.backend.join(request(stage))
        await stage.stop_other_side()
        reported = await stage.listener.next("link_ended")
        assert isinstance(reported.error, ConnectionLost)
        status = await stage.listener.backend_is(BackendState.UNAVAILABLE)
        assert "NetworkManager" in status.reason
        with pytest.raises(BackendUnavailable):
            await stage.backend.join(request(stage))
        await stage.backend.leave(stage.adapters[0])
        assert await stage.backend.links() == []
        await stage.start_other_side()
        await stage.listener.backend_is(BackendState.READY)
        await stage.backend.join(request(stage))
