"""An active connection is started and taken down through the helper, also where the start is cancelled."""

from __future__ import annotations

import asyncio
from typing import cast

import pytest
import structlog

from tests.daemon.backends.networkmanager.manager_on_the_bus import NetworkManagerOnTheBus, NoChanges
from wifimgrd.bus.connection import BusConnection, BusError
from wifimgrd.daemon.backends.networkmanager._active_connection import ActiveConnection, activate, deactivate
from wifimgrd.daemon.backends.networkmanager._devices import NmDevice, StateChange
from wifimgrd.daemon.ports import JoinRequest
from wifimgrd.domain.device import DeviceId, Passphrase, Ssid
from wifimgrd.proxies.networkmanager.definitions import DeviceReason, DeviceState
from wifimgrd.proxies.wpa_supplicant.bss import KeyManagement

REQUEST = JoinRequest(DeviceId(3), "wlan0", Ssid(b"CAM"), Passphrase("secret-1"), 20.0)
UP = ActiveConnection("some-uuid", "/p", "/a")


class Helper(NoChanges):
    """It replies when it is told to."""

    def __init__(self) -> None:
        self.asked, self.may_reply = asyncio.Event(), asyncio.Event()
        self.calls: list[tuple[str, ...]] = []

    async def activate(self, *arguments: object) -> tuple[str, str]:
        _, _, _, device, _, _ = arguments
        self.calls.append(("activate", str(device)))
        self.asked.set()
        await self.may_reply.wait()
        return "/p", "/a"

    async def deactivate(self, active_connection: str) -> None:
        self.calls.append(("deactivate", active_connection))

    async def delete(self, profile: str) -> None:
        self.calls.append(("delete", profile))


class LateBus(NetworkManagerOnTheBus):
    """What NetworkManager has reported meanwhile arrives with the round trip, and the rest after it."""

    def __init__(self, device: NmDevice, calls: list[tuple[str, ...]]) -> None:
        super().__init__()
        self.device = device
        self.calls = calls

    async def round_trip(self) -> None:
        self.device.properties["State"] = DeviceState.DEACTIVATING
        asyncio.get_running_loop().call_soon(self._report_free)

    def _report_free(self) -> None:
        self.calls.append(("free",))
        self.device.properties["State"] = DeviceState.DISCONNECTED
        for listener in list(self.device.listeners):
            listener(StateChange(DeviceState.DISCONNECTED, DeviceReason.USER_REQUESTED))


@pytest.fixture
def device() -> NmDevice:
    return NmDevice("/d", {"State": DeviceState.DISCONNECTED, "Interface": "wlan0"}, {})


def bus() -> BusConnection:
    return cast("BusConnection", NetworkManagerOnTheBus())


async def test_a_start_that_is_cancelled_awaits_the_reply_and_takes_the_connection_down(
    device: NmDevice,
) -> None:
    helper = Helper()
    starting = asyncio.create_task(
        activate(bus(), helper, device, REQUEST, KeyManagement.PSK, "", REQUEST.timeout_s)
    )
    async with asyncio.timeout(10):
        await helper.asked.wait()
        starting.cancel()
        helper.may_reply.set()
        with pytest.raises(asyncio.CancelledError):
            await starting
    assert helper.calls == [("activate", "/d"), ("deactivate", "/a"), ("delete", "/p")]


async def test_a_device_is_free_by_what_networkmanager_has_reported_until_the_helper_replied(
    device: NmDevice,
) -> None:
    helper = Helper()
    late = cast("BusConnection", LateBus(device, helper.calls))
    async with asyncio.timeout(10):
        await deactivate(late, helper, device, UP)
    assert helper.calls == [("deactivate", "/a"), ("free",), ("delete", "/p")]


@pytest.mark.parametrize(
    ("error", "warnings"),
    [
        ("org.freedesktop.DBus.Error.UnknownMethod", 0),
        ("org.freedesktop.NetworkManager.ConnectionNotActive", 0),
        ("org.freedesktop.DBus.Error.NoReply", 1),
        ("org.wifimgrd1.Error.BackendUnavailable", 1),
    ],
)
async def test_what_is_gone_is_no_news_and_what_could_not_be_ended_is(
    device: NmDevice, error: str, warnings: int
) -> None:
    class Refusing(Helper):
        async def deactivate(self, active_connection: str) -> None:
            raise BusError(error, "no")

    with structlog.testing.capture_logs() as logs:
        await deactivate(bus(), Refusing(), device, UP)
    assert len([one for one in logs if one["event"] == "not_taken_down"]) == warnings
