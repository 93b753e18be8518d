"""Addresses are lent: what becomes of a link whose lease is renewed, is not, or is again."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import pytest

from .backends import on_both
from .guest.access_point import Camera, SlowOffers
from .guest.adapters import Adapter
from .guest.deadline import async_poll_until, poll_until
from .guest.network_manager import DeviceState, NetworkManager
from .guest.traffic import Download, fetch, until_fetched
from .guest.whole_hub import WholeHub, whole_hub

Cameras = Callable[..., Camera]
Adapters = Callable[..., Adapter]
MEASURED = ("rx_bitrate", "tx_bitrate", "signal_strength")
"""Read some seconds after the link is up, and from time to time."""
LEASE_S = 4
REPORTED_S = LEASE_S + 3
BACK_S = 15.0
"""After the camera hands out addresses again. Its server takes 2 s for that; where the first request is lost,
NetworkManager sends another one after 4 s."""
LAST_TRANSACTION_S = 2.5
"""After the first request. wpa_supplicant's backend has networkd begin anew after 12 ms, 0.15 s and 1.7 s."""
SHORT_GRACE = "[link]\ngrace_s = 1\n"


async def connected(hub: WholeHub, camera: Camera) -> int:
    """Register a camera, and wait until it is connected and answers."""
    device = await hub.add(camera)
    await hub.until(device, "connected")
    await hub.channel.until(
        lambda message: message["type"] == "device.updated" and message["data"].get("reachable") is True,
        f"that device {device} answers",
    )
    return device


@on_both
async def test_a_lease_that_is_renewed_disturbs_nothing(hub: WholeHub, cameras: Cameras) -> None:
    camera = cameras("A", lease_s=LEASE_S)
    device = await connected(hub, camera)
    await hub.channel.until(
        lambda message: message["type"] == "interface.updated" and message["data"].get("health") == "good",
        "that the adapter of the first link is good",
    )
    _, before = await hub.ask("GET", f"/{device}/")
    hub.channel.forget()
    wanted = camera.renewals() + 3
    with Download(hub.dbus.devices[device].interface) as download:
        await async_poll_until(partial(_renewed, camera, wanted), "three renewals", 3 * LEASE_S)
        download.expect_more()
    told = [message for message in hub.channel.messages if message["type"] != "device.signal"]
    changes = [_changed(message, before) for message in told]
    assert [change for change in changes if change.keys() - {"type", *MEASURED}] == []


def _changed(message: dict[str, Any], before: dict[str, Any]) -> dict[str, Any]:
    """The type of a message, and what it says of the device that was not so before."""
    data = message["data"]
    return {"type": message["type"], **{key: data[key] for key in data if data[key] != before.get(key)}}


async def _renewed(camera: Camera, times: int) -> bool:
    return camera.renewals() >= times


@on_both
async def test_servers_that_take_seconds_for_an_offer_are_waited_for(
    hub: WholeHub, plug: Callable[..., Awaitable[Adapter]], cameras: Cameras, backend: str
) -> None:
    """All at once, and each within the time limit of an attempt."""
    servers = [SlowOffers(3), SlowOffers(5), SlowOffers(8), SlowOffers(3, True), SlowOffers(5, True)]
    slow = [cameras(f"S{number}", slow_offers=server) for number, server in enumerate(servers)]
    for _ in slow[2:]:
        adapter = await plug()
        await hub.interface_state(adapter.interface, "available")
    devices = [await hub.add(camera) for camera in slow]
    for device in devices:
        await hub.received(device, "connected", 40)
    assert hub.failures == []
    if backend == "wpa_supplicant":  # NetworkManager's client changes its transaction by itself
        for camera in slow[:3]:
            requests = camera.dhcp_requests()
            begun = requests[0].time_s + LAST_TRANSACTION_S
            assert len({one.transaction for one in requests if one.time_s < begun}) <= 4, requests
            assert len({one.transaction for one in requests if one.time_s >= begun}) <= 1, requests


@pytest.mark.parametrize("backend", ["wpa_supplicant"])
async def test_a_lost_request_for_an_address_is_repeated(hub: WholeHub, cameras: Cameras) -> None:
    """By networkd itself after 3 to 5 s, where the camera has sent anything meanwhile."""
    camera = cameras("A")
    camera.lose_requests()
    device = await hub.add(camera)
    poll_until(lambda: camera.lost_requests() >= 1, "a request", 30)
    poll_until(lambda: camera.lost_requests() >= 2, "another one", 10)
    camera.receive_requests()
    await hub.until(device, "connected")
    until_fetched(hub.dbus.devices[device].interface, "A")


@on_both
async def test_a_camera_that_does_not_renew_in_time_is_back_once_it_does(
    hub: WholeHub, cameras: Cameras
) -> None:
    camera, honest = cameras("A", lease_s=LEASE_S), cameras("B")
    device, other = await connected(hub, camera), await connected(hub, honest)
    hub.channel.forget()
    with hub.ticks(other, honest) as download:
        camera.dhcp_off()
        await hub.until(device, "connecting", REPORTED_S)
        await hub.expect(device, "connecting", "connection-lost")
        assert "did not renew" in (hub.dbus.devices[device].connection_error_message or "")
        camera.dhcp_on()
        await hub.until(device, "connected", BACK_S)
        download.expect_more()
    until_fetched(hub.dbus.devices[device].interface or "", "A")
    assert hub.channel.statuses(device) == ["connecting", "connected"]
    assert hub.channel.statuses(other) == []


async def test_a_camera_that_was_given_up_for_want_of_an_address_is_brought_back(
    nm: NetworkManager, adapters: Adapters, cameras: Cameras
) -> None:
    camera, adapter = cameras("A", lease_s=LEASE_S), adapters()
    await nm.wait_for_state(adapter.interface, DeviceState.DISCONNECTED)
    async with whole_hub(SHORT_GRACE) as hub:
        await hub.interface_state(adapter.interface, "available")
        device = await connected(hub, camera)
        hub.channel.forget()
        camera.dhcp_off()
        assert "did not renew" in await hub.failed(device, "connection-lost", REPORTED_S)
        hub.channel.forget()
        camera.dhcp_on()
        await hub.until(device, "connected", BACK_S)
        assert fetch(adapter.interface) == "A"
