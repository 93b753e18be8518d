"""A profile of the hub's that comes up when nobody waits for it any more is taken down."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import cast

import pytest

from tests.daemon.backends.networkmanager.manager_on_the_bus import NetworkManagerOnTheBus, NoChanges
from tests.daemon.backends.open_backends import OpenNetworkManager
from wifimgrd.daemon.backends.networkmanager._devices import Carried, NmDevice
from wifimgrd.daemon.backends.networkmanager._service_watcher import ServiceWatcher
from wifimgrd.domain.events import BackendState, BackendStatus
from wifimgrd.proxies.networkmanager.definitions import (
    PROFILE_MARK,
    DeviceProperties,
    DeviceState,
    ProfileSettings,
)
from wifimgrd.runtime.tasks import Tasks
from wifimgrd.simulator._world import BriefMemory

HUBS: ProfileSettings = {"user": {"data": {PROFILE_MARK: "3"}}}


class Ending(NoChanges):
    """Takes down what it is asked to."""

    def __init__(self, device: NmDevice) -> None:
        self.device = device
        self.ended: list[str] = []

    async def deactivate(self, active_connection: str) -> None:
        self.ended.append(active_connection)
        self.device.properties["State"] = DeviceState.DISCONNECTED


def device(state: DeviceState, settings: ProfileSettings, *, reserved: bool = False) -> NmDevice:
    properties: DeviceProperties = {"State": state, "Interface": "wlan0"}
    return NmDevice(
        "/d", properties, {}, Carried("/a", "/p", "some", "uuid", False, settings), reserved=reserved
    )


async def ended(carrying: NmDevice, status: BackendState = BackendState.READY) -> list[str]:
    """The active connections that are ended when a backend sees this device."""
    changes, tasks = Ending(carrying), Tasks("test")
    backend = OpenNetworkManager(BriefMemory(), tasks, changes=changes)
    services = SimpleNamespace(connection=NetworkManagerOnTheBus(), inventory=None)
    backend.use(cast("ServiceWatcher", services))
    backend.status_changed(BackendStatus(status, ""))
    backend.device_seen(carrying, None)
    await tasks.settle(10)
    return changes.ended


async def test_a_profile_that_nobody_waits_for_is_taken_down() -> None:
    async with asyncio.timeout(10):
        assert await ended(device(DeviceState.ACTIVATED, HUBS)) == ["/a"]


@pytest.mark.parametrize(
    "carrying",
    [
        device(DeviceState.ACTIVATED, HUBS, reserved=True),
        device(DeviceState.ACTIVATED, {"user": {"data": {}}}),
        device(DeviceState.DISCONNECTED, HUBS),
    ],
    ids=["a link or an attempt has it", "the host's", "ended meanwhile"],
)
async def test_all_others_are_left_alone(carrying: NmDevice) -> None:
    async with asyncio.timeout(10):
        assert await ended(carrying) == []


async def test_before_the_backend_is_ready_links_are_still_to_be_adopted() -> None:
    async with asyncio.timeout(10):
        assert await ended(device(DeviceState.ACTIVATED, HUBS), BackendState.STARTING) == []
