"""Cameras that were lost come back by themselves, on real 802.11."""

from collections.abc import Awaitable, Callable

from .backends import SERVICE_OF, on_both
from .guest.access_point import Camera
from .guest.adapters import Adapter
from .guest.namespace import run
from .guest.traffic import fetch
from .guest.whole_hub import WholeHub, whole_hub

Cameras = Callable[..., Camera]
Adapters = Callable[..., Adapter]
Plug = Callable[..., Awaitable[Adapter]]
SHORT_GRACE = "[link]\ngrace_s = 2\n"


@on_both
async def test_a_camera_with_a_fresh_battery_is_connected_again(plug: Plug, cameras: Cameras) -> None:
    camera, adapter = cameras("A"), await plug()
    async with whole_hub(SHORT_GRACE) as hub:
        await hub.interface_state(adapter.interface, "available")
        device = await hub.add(camera)
        await hub.until(device, "connected")
        camera.kill()
        await hub.failed(device, "connection-lost", 10)
        hub.channel.forget()
        camera.on()
        await hub.until(device, "connected", 60)
        assert fetch(adapter.interface) == "A"
        assert "failed" not in hub.channel.statuses(device)


@on_both
async def test_a_camera_whose_adapter_is_plugged_in_elsewhere_is_connected_again(
    plug: Plug, adapters: Adapters, cameras: Cameras
) -> None:
    camera, adapter = cameras("A"), await plug()
    async with whole_hub() as hub:
        await hub.interface_state(adapter.interface, "available")
        device = await hub.add(camera)
        await hub.until(device, "connected")
        hub.channel.forget()
        adapter.unplug()
        await hub.failed(device, "interface-lost", 5)
        hub.channel.forget()
        adapters()
        await hub.until(device, "connected", 20)


@on_both
async def test_a_killed_service_behind_the_backend_costs_no_camera(
    hub: WholeHub, backend: str, cameras: Cameras
) -> None:
    devices = [await hub.add(cameras("A")), await hub.add(cameras("B", security="sae"))]
    for device in devices:
        await hub.until(device, "connected")
    run("systemctl", "kill", "--signal=KILL", "--kill-whom=main", SERVICE_OF[backend])
    await hub.dbus.wait_until(lambda dbus: dbus.service.backend_state == "unavailable", 10)
    run("systemctl", "start", SERVICE_OF[backend])
    await hub.all_back(devices)


@on_both
async def test_what_a_person_disconnected_stays_so_when_the_daemon_starts_again(
    hub: WholeHub, backend: str, cameras: Cameras
) -> None:
    wanted, unwanted = await hub.add(cameras("A")), await hub.add(cameras("B"))
    for device in (wanted, unwanted):
        await hub.until(device, "connected")
    await hub.disconnect(unwanted)
    await hub.until(unwanted, "disconnected")
    run("systemctl", "stop", "wifimgrd.service")
    run(
        "systemctl", "restart", SERVICE_OF[backend]
    )  # no link is left, as after a night in which the host was off
    run("systemctl", "start", "wifimgrd.service")
    await hub.await_daemon()
    await hub.all_in("connected", [wanted], 20)
    assert hub.dbus.devices[unwanted].state == "disconnected"
