"""The main job on real 802.11, while adapters, cameras, the daemon and what the backend needs come and go."""

import struct
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from .backends import on_both
from .guest.access_point import Camera
from .guest.adapters import Adapter
from .guest.namespace import run
from .guest.traffic import Download
from .guest.whole_hub import WholeHub, whole_hub

Cameras = Callable[..., Camera]
Adapters = Callable[..., Adapter]
Plug = Callable[..., Awaitable[Adapter]]

_UNBLOCK_ALL = struct.pack("IBBBB", 0, 1, 3, 0, 0)
"""For /dev/rfkill: RFKILL_TYPE_WLAN, RFKILL_OP_CHANGE_ALL (https://docs.kernel.org/driver-api/rfkill.html)."""


@contextmanager
def blocked_by_rfkill(adapter: Adapter) -> Iterator[None]:
    """Switch an adapter's radio off, and all radios on again."""
    (switch,) = Path(adapter.sysfs, "phy80211").glob("rfkill*")
    Path(switch, "soft").write_text("1")
    try:
        yield
    finally:
        Path("/dev/rfkill").write_bytes(_UNBLOCK_ALL)


@on_both
async def test_an_adapter_pulled_while_connecting_is_lost(plug: Plug, cameras: Cameras) -> None:
    camera, adapter = cameras("A"), await plug()
    camera.dhcp_off()  # so that the attempt is still running when the adapter goes
    async with whole_hub() as hub:
        await hub.interface_state(adapter.interface, "available")
        device = await hub.add(camera)
        await hub.until(device, "connecting")
        adapter.unplug()
        await hub.failed(device, "interface-lost", 5)
        assert (await hub.interfaces())["interfaces"] == []


@on_both
async def test_an_adapter_pulled_while_connected_comes_back_usable(
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
        types = [message["type"] for message in hub.channel.messages]
        assert types.index("interface.removed") < types.index("device.connection_status.update")
        hub.channel.forget()
        again = adapters(adapter.port)
        await hub.until(device, "connected")  # by itself
        assert hub.dbus.devices[device].interface == again.interface


@on_both
async def test_an_adapter_that_rfkill_blocks_was_not_unplugged(plug: Plug, cameras: Cameras) -> None:
    camera, adapter = cameras("A"), await plug()
    async with whole_hub() as hub:
        await hub.interface_state(adapter.interface, "available")
        device = await hub.add(camera)
        await hub.until(device, "connected")
        with blocked_by_rfkill(adapter):  # NetworkManager then blocks all radios, the camera's among them
            message = await hub.failed(device, "interface-lost", 8)
            assert message.startswith(f"the adapter {adapter.interface} was blocked by rfkill (soft-blocked)")
            await hub.interface_state(adapter.interface, "unavailable")
            reason = hub.dbus.interfaces[adapter.interface].reason
            assert reason == "blocked by rfkill (soft-blocked)"
            hub.channel.forget()
        camera.down()
        camera.start()
        await hub.until(device, "connected", 60)  # by itself


@on_both
@pytest.mark.parametrize("signal", ["TERM", "KILL"])
async def test_a_restart_of_the_daemon_keeps_links_and_downloads(
    hub: WholeHub, cameras: Cameras, signal: str
) -> None:
    one, other = cameras("A"), cameras("B", security="sae")
    devices = [await hub.add(one), await hub.add(other)]
    for device in devices:
        await hub.until(device, "connected")
    before = dict(hub.dbus.devices)
    joins = [one.joins(), other.joins()]
    interfaces = [hub.dbus.devices[device].interface or "" for device in devices]
    with Download(interfaces[0]) as first, Download(interfaces[1]) as second:
        for download in (first, second):
            download.expect_more()
        hub.channel.forget()
        run("systemctl", "kill", f"--signal={signal}", "--kill-whom=main", "wifimgrd.service")
        await hub.channel.until(lambda message: message["type"] == "service.updated", "that the daemon left")
        if signal == "TERM":
            run("systemctl", "start", "wifimgrd.service")
        await hub.await_daemon()
        await hub.channel.until(lambda message: message["type"] == "snapshot", "a fresh snapshot")
        for download in (first, second):
            download.expect_more()
    for device in devices:
        await hub.expect(device, "connected")
        assert hub.dbus.devices[device].interface == before[device].interface
        assert hub.dbus.devices[device].local_address == before[device].local_address
    assert [one.joins(), other.joins()] == joins, "a second connection was started"


@on_both
async def test_a_camera_that_goes_and_returns_is_reported_at_each_step(
    hub: WholeHub, cameras: Cameras
) -> None:
    camera = cameras("A")
    device = await hub.add(camera)
    await hub.until(device, "connected")
    hub.channel.forget()
    camera.stop()
    await hub.until(device, "connecting", 2)
    await hub.expect(device, "connecting", "connection-lost")
    camera.on()
    await hub.until(device, "connected", 10)


@on_both
async def test_a_camera_that_stays_away_is_lost(plug: Plug, cameras: Cameras) -> None:
    camera, adapter = cameras("A"), await plug()
    async with whole_hub("[link]\ngrace_s = 2\n") as hub:
        await hub.interface_state(adapter.interface, "available")
        device = await hub.add(camera)
        await hub.until(device, "connected")
        hub.channel.forget()
        camera.kill()
        await hub.failed(device, "connection-lost", 10)
        assert hub.channel.statuses(device) == ["connecting", "failed", "disconnected"]
        await hub.interface_state(adapter.interface, "available")


async def test_without_networkmanager_the_daemon_stays_up_and_recovers(
    hub: WholeHub, cameras: Cameras
) -> None:
    camera = cameras("A")
    run("systemctl", "stop", "NetworkManager.service")
    await hub.channel.until(
        lambda message: (
            message["type"] == "service.updated" and message["data"]["backend_state"] == "unavailable"
        ),
        "that NetworkManager is gone",
    )
    device = await hub.add(camera)
    await hub.failed(device, "backend-unavailable")
    status, problem = await hub.connect(device)
    assert (status, problem["code"]) == (503, "backend-unavailable")
    run("systemctl", "start", "NetworkManager.service")
    await hub.dbus.wait_until(lambda dbus: dbus.service.backend_state == "ready", 20)
    await hub.interface_state("wlan0", "available")
    status, body = await hub.connect(device)
    assert (status, body["status"]) == (200, "connected")
