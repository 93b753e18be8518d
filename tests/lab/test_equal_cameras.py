"""Cameras fresh from their boxes: one network name for all, and mostly one password."""

import asyncio
from collections.abc import Awaitable, Callable

from .backends import on_both
from .guest.access_point import Camera
from .guest.adapters import Adapter
from .guest.deadline import async_poll_until
from .guest.namespace import run
from .guest.traffic import fetch
from .guest.whole_hub import WholeHub, whole_hub

Cameras = Callable[..., Camera]
Plug = Callable[..., Awaitable[Adapter]]
NAME, PASSWORD = "EQUAL-CAM", "12345678"


def page_of(hub: WholeHub, device: int) -> str:
    return fetch(hub.dbus.devices[device].interface or "")


@on_both
async def test_each_device_has_a_camera_of_its_own_and_keeps_it(plug: Plug, cameras: Cameras) -> None:
    pair = {name: cameras(name, NAME, PASSWORD, channel=channel) for name, channel in (("A", 1), ("B", 6))}
    adapters = [await plug(), await plug()]
    async with whole_hub("[link]\ngrace_s = 1\n") as hub:
        for adapter in adapters:
            await hub.interface_state(adapter.interface, "available")
        devices = await asyncio.gather(*(hub.add(camera) for camera in pair.values()))
        for device in devices:
            await hub.until(device, "connected")
        pages = {device: page_of(hub, device) for device in devices}
        assert sorted(pages.values()) == ["A", "B"]
        lost, other = devices
        camera = pair[pages[lost]]

        camera.kill()
        hub.channel.forget()
        await hub.failed(lost, "connection-lost", 20)
        status, problem = await hub.connect(lost)
        assert (status, problem["code"]) == (504, "device-not-reachable")
        assert f"is in use by camera {other}" in problem["detail"]
        assert len(pair[pages[other]].stations()) == 1

        camera.on()
        await hub.connect(lost)
        run("systemctl", "restart", "wifimgrd.service")
        await hub.await_daemon()
        await hub.all_in("connected", devices, 20)
        assert {device: page_of(hub, device) for device in devices} == pages


@on_both
async def test_one_that_refuses_the_password_is_followed_by_the_next(hub: WholeHub, cameras: Cameras) -> None:
    pair = sorted((cameras("A", NAME), cameras("B", NAME, channel=6)), key=lambda camera: camera.bssid)
    device = await hub.add(pair[1])
    await hub.until(device, "connected")
    assert page_of(hub, device) == pair[1].name
    idle = {"wlan0": "wlan1", "wlan1": "wlan0"}[hub.dbus.devices[device].interface or ""]
    await async_poll_until(lambda: hears_both(hub, idle, pair), f"{idle} hears both cameras")
    message = await hub.failed(await hub.add(pair[0], password="not-the-password"), "authentication-failed")
    assert f"{pair[0].bssid} refused the password" in message
    assert f"{pair[1].bssid} is in use by camera {device}" in message
    assert page_of(hub, device) == pair[1].name


@on_both
async def test_one_whose_password_was_changed_is_joined_though_both_attempts_begin_at_the_others_camera(
    hub: WholeHub, cameras: Cameras
) -> None:
    first = cameras("A", NAME, PASSWORD)
    second = cameras("B", NAME, "changed-by-owner", channel=6)
    devices = [await hub.add(first), await hub.add(second)]
    for device, page in zip(devices, "AB", strict=True):
        await hub.until(device, "connected")
        assert page_of(hub, device) == page


async def hears_both(hub: WholeHub, interface: str, pair: list[Camera]) -> bool:
    """Whether a scan has heard both cameras: no message can name one that was not heard."""
    await hub.dbus.search_networks(interface)
    heard = run("iw", "dev", interface, "scan", "dump")
    return all(f"BSS {camera.bssid}" in heard for camera in pair)
