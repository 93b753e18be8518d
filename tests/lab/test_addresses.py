"""Four cameras with one subnet and one lease on real 802.11, each at an address of its own."""

import asyncio
import contextlib
import shutil
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import aiohttp
import pytest

from .guest.access_point import Camera
from .guest.adapters import Adapter
from .guest.deadline import poll_until
from .guest.namespace import run
from .guest.network_manager import DeviceState, NetworkManager
from .guest.traffic import Download
from .guest.whole_hub import URL, WholeHub, whole_hub

HEALED_S = 2.0
PAGES = 1000
AT_ONCE = 50
LARGE_BYTES = 50_000_000
KILLS = 20


@dataclass
class Scene:
    """The hub, its cameras, and the device and address of each by the camera's name."""

    hub: WholeHub
    cameras: dict[str, Camera]
    devices: dict[str, int]

    def address(self, name: str) -> str:
        return self.hub.dbus.devices[self.devices[name]].address or ""

    def ticks(self, name: str) -> Download:
        return Download(None, f"http://{self.address(name)}/cgi-bin/ticks")

    async def page(self, name: str, session: aiohttp.ClientSession) -> str:
        async with session.get(f"http://{self.address(name)}/") as answer:
            return (await answer.text()).strip()

    def reached(self, name: str) -> bool:
        with contextlib.suppress(RuntimeError):
            return run("curl", "-sS", "-m", "1", f"http://{self.address(name)}/").strip() == name
        return False


@pytest.fixture
async def scene(
    nm: NetworkManager, adapters: Callable[..., Adapter], cameras: Callable[..., Camera]
) -> AsyncIterator[Scene]:
    """All four connected, on a host whose reverse path filter is strict."""
    run("sysctl", "-q", "-w", "net.ipv4.conf.all.rp_filter=1", "net.ipv4.conf.default.rp_filter=1")
    for _ in range(4):
        await nm.wait_for_state(adapters().interface, DeviceState.DISCONNECTED)
    made = {
        name: cameras(name, security=security, leases=(20, 20))
        for name, security in (("A", "wpa2"), ("B", "sae"), ("C", "wpa2"), ("D", "sae"))
    }
    async with whole_hub() as hub:
        for number in range(4):
            await hub.interface_state(f"wlan{number}", "available")
        devices = {name: await hub.add(camera) for name, camera in made.items()}
        for device in devices.values():
            await hub.until(device, "connected")
        assert {hub.dbus.devices[device].local_address for device in devices.values()} == {"192.168.42.20"}
        scene = Scene(hub, made, devices)
        for name in made:
            poll_until(partial(scene.reached, name), f"{name} at its address")
        yield scene
    assert "wifimgrd" not in run("nft", "list", "ruleset") + run("ip", "-br", "link", "show")
    assert "7749" not in run("ip", "rule", "show")
    run("sysctl", "-q", "-w", "net.ipv4.conf.all.rp_filter=0", "net.ipv4.conf.default.rp_filter=0")


def echoed(address: str) -> str:
    """What comes back over UDP."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.settimeout(5)
        client.connect((address, 7))
        client.send(b"hello")
        return client.recv(2048).decode()


async def test_every_answer_is_from_the_right_camera(scene: Scene) -> None:
    for name, camera in scene.cameras.items():
        camera.echo()
        poll_until(partial(scene.reached, name), f"{name} at its address", HEALED_S)
    downloads = [
        await asyncio.create_subprocess_shell(
            f"curl -sS http://{scene.address(name)}/large.bin | head -c {LARGE_BYTES} | wc -c"
            f" | grep -qx {LARGE_BYTES}"
        )
        for name in scene.cameras
    ]
    connector = aiohttp.TCPConnector(limit=AT_ONCE, force_close=True)
    async with aiohttp.ClientSession(connector=connector) as session:
        asked = list(scene.cameras) * (PAGES // len(scene.cameras))
        assert await asyncio.gather(*(scene.page(name, session) for name in asked)) == asked
    for name in scene.cameras:
        assert await asyncio.to_thread(echoed, scene.address(name)) == f"{name} hello"
        assert " 0% packet loss" in run("ping", "-c1", "-W5", scene.address(name))
    assert [await download.wait() for download in downloads] == [0] * 4


async def test_a_camera_that_dies_and_returns_does_not_touch_the_others(scene: Scene) -> None:
    hub, a = scene.hub, scene.devices["A"]
    with scene.ticks("B") as b, scene.ticks("C") as c:
        hub.channel.forget()
        scene.cameras["A"].kill()
        await hub.until(a, "connecting")
        assert not scene.reached("A")
        scene.cameras["A"].on()
        await hub.until(a, "connected")
        poll_until(lambda: scene.reached("A"), "A at its address", HEALED_S)
        b.expect_more()
        c.expect_more()


async def test_a_flush_of_all_rules_is_healed(scene: Scene) -> None:
    with scene.ticks("B") as b:
        run("nft", "flush", "ruleset")
        poll_until(lambda: scene.reached("A"), "A at its address", HEALED_S)
        run("ip", "rule", "del", "preference", "7749")
        for name in scene.cameras:
            poll_until(partial(scene.reached, name), f"{name} at its address", HEALED_S)
        b.expect_more()


async def test_a_killed_daemon_breaks_no_transfer(scene: Scene) -> None:
    with scene.ticks("A") as a, scene.ticks("D") as d:
        for _ in range(KILLS):
            run("systemctl", "kill", "--signal=KILL", "--kill-whom=main", "wifimgrd.service")
            await scene.hub.dbus.wait_until(lambda dbus: not dbus.available, 20)
            await scene.hub.await_daemon()
            assert scene.reached("B")
        a.expect_more()
        d.expect_more()
    for device in scene.devices.values():
        await scene.hub.expect(device, "connected")


@contextlib.contextmanager
def shim_with_network() -> Iterator[None]:
    """The unit, changed as wifimgrd-http(8) says."""
    drop_in = Path("/run/systemd/system/wifimgrd-http.service.d/cameras.conf")
    drop_in.parent.mkdir(parents=True)
    drop_in.write_text("[Service]\nPrivateNetwork=no\nRestrictAddressFamilies=AF_INET\n")
    try:
        run("systemctl", "daemon-reload")
        run("systemctl", "restart", "wifimgrd-http.service")
        yield
    finally:
        shutil.rmtree(drop_in.parent)
        run("systemctl", "daemon-reload")


async def test_the_relay_reaches_each_camera_through_its_own_interface(scene: Scene) -> None:
    with shim_with_network():
        async with aiohttp.ClientSession() as session:
            asked = list(scene.devices) * 5
            answers = await asyncio.gather(*(relayed(session, scene.devices[name]) for name in asked))
    assert answers == asked


async def relayed(session: aiohttp.ClientSession, device: int) -> str:
    async with session.get(f"{URL}/cameras/{device}/") as answer:
        return (await answer.text()).strip()
