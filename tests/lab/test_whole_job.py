"""The main job on real 802.11: what the specification promises, on HTTP, D-Bus and WebSocket at once."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from .backends import on_both
from .guest.access_point import Camera
from .guest.adapters import Adapter
from .guest.namespace import run
from .guest.network_manager import DeviceState, NetworkManager
from .guest.supplicant import Supplicant
from .guest.traffic import Download, fetch
from .guest.whole_hub import Json, WholeHub, whole_hub

Cameras = Callable[..., Camera]
Adapters = Callable[..., Adapter]


@on_both
async def test_three_cameras_share_two_adapters(hub: WholeHub, cameras: Cameras) -> None:
    first, second = cameras("A"), cameras("B", security="sae")
    third = cameras("C")
    a, b = await asyncio.gather(hub.add(first), hub.add(second))
    await hub.until(a, "connected")
    await hub.until(b, "connected")
    names = {hub.dbus.devices[device].interface for device in (a, b)}
    assert names == {"wlan0", "wlan1"}
    pages = {device: fetch(hub.dbus.devices[device].interface or "") for device in (a, b)}
    assert pages == {a: "A", b: "B"}
    assert (await hub.interfaces())["available_interfaces"] == []

    c = await hub.add(third)
    message = await hub.failed(c, "no-interface-available")
    assert message.startswith("no Wi-Fi interface is available: ")
    with (
        Download(hub.dbus.devices[a].interface or "") as one,
        Download(hub.dbus.devices[b].interface or "") as other,
    ):
        status, problem = await hub.connect(c)
        assert (status, problem["code"]) == (409, "no-interface-available")
        call = ("busctl", "call", "org.wifimgrd1", f"/org/wifimgrd1/devices/{c}", "org.wifimgrd1.Device")
        refused = run("bash", "-c", f"! {' '.join(call)} Connect 'a{{sv}}' 0 2>&1")
        assert "no Wi-Fi interface is available" in refused
        one.expect_more()
        other.expect_more()
    for device in (a, b):
        await hub.expect(device, "connected")

    status, body = await hub.disconnect(a)
    assert (status, body["status"]) == (200, "disconnected")
    await hub.until(a, "disconnected")
    status, body = await hub.connect(c)
    assert (status, body["status"]) == (200, "connected")
    assert fetch(body["interface"]) == "C"


@pytest.fixture
def slow_script(tmp_path: Path) -> Iterator[Callable[[], None]]:
    """A dispatcher script of the administrator's, for which NetworkManager waits before it is content.

    It ends when the test says so.
    """
    over = tmp_path / "over"
    script = Path("/etc/NetworkManager/dispatcher.d/pre-up.d/50-slow")
    script.parent.mkdir(parents=True, exist_ok=True)
    script.write_text(f"#!/bin/sh\nuntil [ -e {over} ]; do sleep 0.1; done\n")
    script.chmod(0o755)
    yield over.touch
    over.touch()
    script.unlink()


async def test_a_camera_is_connected_once_it_can_be_reached_whatever_scripts_still_run(
    slow_script: Callable[[], None], hub: WholeHub, nm: NetworkManager, cameras: Cameras
) -> None:
    device = await hub.add(cameras("A"))
    await hub.until(device, "connected")
    interface = hub.dbus.devices[device].interface or ""
    assert fetch(interface) == "A"
    hub.channel.forget()
    run("systemctl", "restart", "wifimgrd.service")
    await hub.channel.until(lambda message: message["type"] == "service.updated", "that the daemon left")
    await hub.await_daemon()
    await hub.channel.until(lambda message: message["type"] == "snapshot", "a fresh snapshot")
    await hub.expect(device, "connected")
    assert await nm.state(interface) == DeviceState.IP_CHECK
    slow_script()
    await nm.wait_for_state(interface, DeviceState.ACTIVATED)
    await hub.expect(device, "connected")
    await hub.disconnect(device)
    await hub.until(device, "disconnected")


@on_both
async def test_a_connect_and_a_disconnect_are_reported_everywhere(hub: WholeHub, cameras: Cameras) -> None:
    device = await hub.add(cameras("A"))
    await hub.until(device, "connected")
    assert hub.channel.statuses(device) == ["connecting", "connected"]
    record = hub.dbus.devices[device]
    assert record.camera_address == "192.168.42.1"
    assert (record.local_address or "").startswith("192.168.42.")
    hub.channel.forget()
    await hub.disconnect(device)
    await hub.until(device, "disconnected")
    assert hub.channel.statuses(device) == ["disconnecting", "disconnected"]
    assert sorted((await hub.interfaces())["available_interfaces"]) == ["wlan0", "wlan1"]


@on_both
async def test_a_camera_that_is_off_is_not_reachable(hub: WholeHub, cameras: Cameras) -> None:
    camera = cameras("A")
    camera.stop()
    device = await hub.add(camera)
    assert camera.ssid.decode() in await hub.failed(device, "device-not-reachable")
    status, problem = await hub.connect(device)
    assert (status, problem["code"]) == (504, "device-not-reachable")


@on_both
@pytest.mark.parametrize("security", ["wpa2", "sae"])
async def test_a_wrong_password_is_reported_as_such(hub: WholeHub, cameras: Cameras, security: str) -> None:
    device = await hub.add(cameras("A", security=security), password="not-the-password")
    assert "not-the-password" not in await hub.failed(device, "authentication-failed")
    status, problem = await hub.connect(device)
    assert (status, problem["code"]) == (502, "authentication-failed")


@on_both
async def test_a_camera_that_is_switched_off_in_the_handshake_has_not_refused_the_password(
    hub: WholeHub, supplicant: Supplicant, cameras: Cameras
) -> None:
    camera = cameras("A")
    device = await hub.add(camera, password="not-the-password")  # so that the handshake lasts for seconds
    await supplicant.wait_for_state("4way_handshake")
    camera.stop()
    await hub.failed(device, "device-not-reachable")


@on_both
async def test_an_open_encrypted_camera_is_joined(hub: WholeHub, cameras: Cameras) -> None:
    device = await hub.add(cameras("A", security="owe"))
    await hub.until(device, "connected")
    assert fetch(hub.dbus.devices[device].interface or "") == "A"
    assert "Open, encrypted" in run("wifimgrctl", "networks")


@on_both
async def test_without_dhcp_the_address_fails(hub: WholeHub, cameras: Cameras) -> None:
    camera = cameras("A")
    camera.dhcp_off()
    await hub.failed(await hub.add(camera), "address-failed")


@on_both
async def test_a_camera_that_another_holds_refuses_the_association(hub: WholeHub, cameras: Cameras) -> None:
    camera = cameras("A")
    camera.refuse()
    await hub.failed(await hub.add(camera), "association-refused")


@on_both
async def test_every_face_names_devices_and_interfaces_alike(hub: WholeHub, cameras: Cameras) -> None:
    devices = [await hub.add(cameras("A")), await hub.add(cameras("B"))]
    for device in devices:
        await hub.until(device, "connected")
    listed, from_command = await told(lambda: devices_by_http(hub), "devices")
    tree = run("busctl", "tree", "--list", "org.wifimgrd1").split()
    assert [one["id"] for one in listed] == devices
    for record in listed:
        path = f"/org/wifimgrd1/devices/{record['id']}"
        assert path in tree
        assert f"/org/wifimgrd1/interfaces/{record['interface']}" in tree
        properties = ("busctl", "--json=short", "get-property", "org.wifimgrd1", path, "org.wifimgrd1.Device")
        shown = [
            json.loads(line)["data"] for line in run(*properties, "Name", "Interface", "Id").splitlines()
        ]
        assert shown == [record["name"], f"/org/wifimgrd1/interfaces/{record['interface']}", record["id"]]
    assert without_readings(from_command) == without_readings(listed)
    interfaces, from_command = await told(hub.interfaces, "interfaces")
    assert from_command == interfaces


async def devices_by_http(hub: WholeHub) -> Json:
    status, listed = await hub.ask("GET", "/")
    assert status == 200
    return listed


async def told(by_http: Callable[[], Awaitable[Json]], kind: str) -> tuple[Json, Json]:
    """What HTTP says, and the command, with no change between: the command takes a second, in which a camera
    may have answered for the first time."""
    for _ in range(20):
        before, from_command = await by_http(), json.loads(run("wifimgrctl", "--json", kind))
        if without_readings(before) == without_readings(await by_http()):
            return before, from_command
    raise AssertionError(f"the {kind} never stayed as they are")


def without_readings(said: Json) -> Json:
    """Devices without what is read again from time to time; all else as it is."""
    if not isinstance(said, list):
        return said
    readings = ("signal_strength", "tx_bitrate", "rx_bitrate")
    return [{name: one[name] for name in one if name not in readings} for one in said]


async def test_a_connection_that_is_not_ours_is_left_alone(
    nm: NetworkManager, adapters: Adapters, cameras: Cameras
) -> None:
    home, adapter = cameras("home"), adapters()
    await nm.connect(adapter.interface, home)
    async with whole_hub() as hub:
        await hub.interface_state(adapter.interface, "unavailable")
        assert hub.dbus.interfaces[adapter.interface].reason
        device = await hub.add(cameras("A"))
        await hub.failed(device, "no-interface-available")
        assert fetch(adapter.interface) == "home"


@on_both
async def test_the_password_is_in_no_log_and_no_process(hub: WholeHub, cameras: Cameras) -> None:
    camera = cameras("A")
    device = await hub.add(camera)
    await hub.until(device, "connected")
    journal = run("journalctl", "-b", "-o", "json", "-u", "wifimgrd", "-u", "wifimgrd-http")
    assert '"_SYSTEMD_UNIT":"wifimgrd.service"' in journal
    assert camera.password not in journal
    commands = run("bash", "-c", "cat /proc/$(systemctl show -P MainPID wifimgrd)/cmdline")
    assert camera.password not in commands
    assert camera.password not in json.dumps(hub.channel.messages)
