"""Four cameras with one subnet and one lease on real 802.11, each at an address of its own."""

import asyncio
import contextlib
import re
import resource
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import aiohttp
import pytest

from .backends import on_both, on_networkmanager, on_wpa_supplicant
from .guest.access_point import Camera
from .guest.adapters import Adapter
from .guest.deadline import poll_until
from .guest.namespace import Namespace, run
from .guest.traffic import Download, fetch
from .guest.whole_hub import CONFIGURATION, URL, WholeHub, journal_of_daemon, whole_hub

FIRST_S = 30.0
"""The helper's first start on a busy machine is in it."""
HEALED_S = 5.0
"""It takes 1 s; a busy machine makes it several times that."""
PATIENCE_S = 5
"""For an answer that does come, while a second program keeps the host busy."""
AT_ONCE = 1000
LARGE_BYTES = 50_000_000
KILLS = 5


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
        async with session.get(f"http://{self.address(name)}:8080/") as answer:
            return await answer.text()

    def reached(self, name: str, seconds: float = 0.3) -> bool:
        """Whether it answers; a way that is made a moment after a connection was begun may not serve that."""
        limits = ("--connect-timeout", str(seconds), "-m", str(PATIENCE_S))
        with contextlib.suppress(RuntimeError):
            return run("curl", "-sS", *limits, f"http://{self.address(name)}/").strip() == name
        return False


def left() -> str:
    """What is in the kernel's tables that is ours."""
    output = run("nft", "list", "ruleset") + run("ip", "-br", "link", "show") + run("ip", "rule", "show")
    tables = run("ip", "route", "show", "table", "all")
    return "\n".join(line for line in (output + tables).splitlines() if re.search("wifimgrd|7749", line))


def rp_filter(interface: str) -> str:
    return Path(f"/proc/sys/net/ipv4/conf/{interface}/rp_filter").read_text().strip()


def fetched(address: str) -> str:
    """The page there, or why there is none."""
    try:
        return run("curl", "-sS", "-m", "1", f"http://{address}/").strip()
    except RuntimeError as error:
        return str(error)


@dataclass
class Lan:
    """A cable to a machine that answers "lan", at whatever address it is asked."""

    machine: Namespace

    def attach(self, network: str) -> None:
        """Give it and the host an address in a network."""
        prefix = network.removesuffix("0/24")
        run("ip", "address", "add", f"{prefix}200/24", "dev", "lan0")
        self.machine.run("ip", "address", "add", f"{prefix}1/24", "dev", "eth0")

    def route(self, network: str) -> None:
        """Have a network that is reached through it."""
        run("ip", "route", "add", network, "dev", "lan0")
        self.machine.run("ip", "route", "add", "local", network, "dev", "lo")

    def ask(self, address: str) -> str:
        """What it gets from an address; empty where nobody answers."""
        with contextlib.suppress(RuntimeError):
            return self.machine.run("curl", "-sS", "-m", "5", f"http://{address}/").strip()
        return ""


@pytest.fixture
def lan(tmp_path: Path) -> Iterator[Lan]:
    machine = Namespace("lan", tmp_path)
    machine.create()
    run("ip", "link", "add", "lan0", "type", "veth", "peer", "name", "eth0", "netns", machine.name)
    run("ip", "link", "set", "lan0", "up")
    machine.run("ip", "link", "set", "eth0", "up")
    (tmp_path / "index.html").write_text("lan\n")
    machine.start("busybox", "httpd", "-f", "-p", "0.0.0.0:80", "-h", str(tmp_path))
    yield Lan(machine)
    machine.delete()


@pytest.fixture
async def scene(
    plug: Callable[..., Awaitable[Adapter]], cameras: Callable[..., Camera]
) -> AsyncIterator[Scene]:
    """All four connected, on a host whose reverse path filter is strict."""
    run("sysctl", "-q", "-w", "net.ipv4.conf.all.rp_filter=1", "net.ipv4.conf.default.rp_filter=1")
    for _ in range(4):
        await plug()
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
            poll_until(partial(scene.reached, name), f"{name} at its address", FIRST_S)
        yield scene
    assert left() == ""
    run("sysctl", "-q", "-w", "net.ipv4.conf.all.rp_filter=0", "net.ipv4.conf.default.rp_filter=0")


def echoed(address: str) -> str:
    """What comes back over UDP; empty where nothing does."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client, contextlib.suppress(OSError):
        client.settimeout(5)
        client.connect((address, 7))
        client.send(b"hello")
        return client.recv(2048).decode()
    return ""


@on_networkmanager
async def test_every_answer_is_from_the_right_camera(scene: Scene) -> None:
    """The cameras answer no request before all of them are waiting."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (2 * AT_ONCE, most))
    for camera in scene.cameras.values():
        camera.serve_crowd(AT_ONCE // len(scene.cameras))
    for name in scene.cameras:
        poll_until(partial(echoed, scene.address(name)), f"{name} serving a crowd", FIRST_S)
    downloads = [
        await asyncio.create_subprocess_shell(
            f"curl -sS http://{scene.address(name)}/large.bin | head -c {LARGE_BYTES} | wc -c"
            f" | grep -qx {LARGE_BYTES}"
        )
        for name in scene.cameras
    ]
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=AT_ONCE)) as session:
        asked = list(scene.cameras) * (AT_ONCE // len(scene.cameras))
        assert await asyncio.gather(*(scene.page(name, session) for name in asked)) == asked
    for name in scene.cameras:
        assert await asyncio.to_thread(echoed, scene.address(name)) == f"{name} hello"
        assert run("sh", "-c", f"printf hi | socat -t5 - UDP:{scene.address(name)}:7") == f"{name} hi"
        assert " 0% packet loss" in run("ping", "-c1", "-W5", scene.address(name))
    assert [await download.wait() for download in downloads] == [0] * 4


@on_both
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


@on_wpa_supplicant
async def test_a_flush_of_all_rules_is_healed(scene: Scene) -> None:
    with scene.ticks("B") as b:
        run("nft", "flush", "ruleset")
        poll_until(lambda: scene.reached("A"), "A at its address", HEALED_S)
        run("ip", "rule", "del", "preference", "7749")
        for name in scene.cameras:
            poll_until(partial(scene.reached, name), f"{name} at its address", HEALED_S)
        b.expect_more()


@on_networkmanager
async def test_a_killed_daemon_breaks_no_transfer(scene: Scene) -> None:
    with scene.ticks("A") as a, scene.ticks("D") as d:
        for _ in range(KILLS):
            run("systemctl", "kill", "--signal=KILL", "--kill-whom=main", "wifimgrd.service")
            await scene.hub.dbus.wait_until(lambda dbus: not dbus.available, 20)
            await scene.hub.await_daemon()
            assert scene.reached("B", PATIENCE_S)
        a.expect_more()
        d.expect_more()
    for device in scene.devices.values():
        await scene.hub.expect(device, "connected")


@on_both
async def test_a_stop_leaves_nothing_and_a_start_finds_the_cameras_where_they_were(scene: Scene) -> None:
    units = ("wifimgrd.service", "wifimgrd-net.service")
    before = {name: scene.address(name) for name in scene.cameras}
    run("systemctl", "stop", *units)
    assert left() == ""
    assert {rp_filter(f"wlan{number}") for number in range(4)} == {"1"}
    run("systemctl", "start", units[0])
    await scene.hub.await_daemon()
    assert {name: scene.address(name) for name in scene.cameras} == before
    for name in scene.cameras:
        poll_until(partial(scene.reached, name), f"{name} at its address", FIRST_S)


@on_wpa_supplicant
async def test_networks_of_the_host_are_not_hijacked(scene: Scene, lan: Lan) -> None:
    """Its LAN has the cameras' own subnet, and then part of the network that their addresses are from."""
    for network in ("192.168.42.0/24", "192.168.8.0/24"):
        lan.attach(network)
    assert fetched("192.168.42.1") == "lan"
    for name in scene.cameras:
        assert scene.reached(name, PATIENCE_S)
    lan.route("10.77.0.0/29")
    poll_until(lambda: fetched(scene.address("A")) == "lan", "the LAN's traffic in the LAN", HEALED_S)
    poll_until(lambda: "wifimgrd0" not in left(), "nothing of ours in the way", HEALED_S)
    overlap = "10.77.0.0/24 overlaps 10.77.0.0/29, which this host reaches through lan0"
    poll_until(lambda: overlap in journal_of_daemon(), "the journal says why")
    run("ip", "route", "del", "10.77.0.0/29")
    for name in scene.cameras:
        poll_until(partial(scene.reached, name), f"{name} at its address", HEALED_S)


@on_both
async def test_links_have_routes_in_tables_of_their_own(scene: Scene) -> None:
    """A program that is bound to an interface reaches its camera; one camera alone has a route in `main`."""
    assert "wlan" not in run("ip", "route", "show")
    for name, device in scene.devices.items():
        assert fetch(scene.hub.dbus.devices[device].interface or "") == name
    for name in ("B", "C", "D"):
        await scene.hub.disconnect(scene.devices[name])
    poll_until(lambda: fetched("192.168.42.1") == "A", "A at its own address", HEALED_S)
    [route] = [line for line in run("ip", "route", "show").splitlines() if "wlan" in line]
    assert re.match(r"192\.168\.42\.1 dev wlan\d proto 77 ", route)


async def test_a_link_of_an_earlier_version_keeps_its_connection(scene: Scene) -> None:
    """Its profile has no table: the helper deletes the route in `main`."""
    device = scene.devices["A"]
    interface = scene.hub.dbus.devices[device].interface or ""
    with scene.ticks("A") as a:
        run("nmcli", "device", "modify", interface, "ipv4.route-table", "0")
        poll_until(lambda: "wlan" not in run("ip", "route", "show"), "no route of a link in main", HEALED_S)
        poll_until(lambda: scene.reached("A"), "A at its address", HEALED_S)
        a.expect_more()
        assert "wlan" not in run("ip", "route", "show")
    await scene.hub.expect(device, "connected")


@on_networkmanager
async def test_hosts_of_a_shared_network_reach_every_camera(scene: Scene, lan: Lan) -> None:
    lan.attach("192.168.8.0/24")
    lan.machine.run("ip", "route", "add", "10.77.0.0/24", "via", "192.168.8.200")
    asked = list(scene.cameras) * 5
    assert {lan.ask(scene.address(name)) for name in scene.cameras} == {""}
    CONFIGURATION.write_text('[cameras]\nshare = ["192.168.8.0/24"]\n')
    run("systemctl", "restart", "wifimgrd.service")
    await scene.hub.await_daemon()
    for name in scene.cameras:
        poll_until(partial(shared, scene, lan, name), f"{name} from the LAN")
    answers = await asyncio.gather(*(asyncio.to_thread(lan.ask, scene.address(name)) for name in asked))
    assert answers == asked


@on_wpa_supplicant
async def test_what_four_cameras_push_has_their_own_addresses(scene: Scene) -> None:
    """Equal addresses, leases and ports; one socket receives all, and a port that is not accepted nothing."""
    CONFIGURATION.write_text('[cameras]\naccept = ["udp/8554"]\n')
    run("systemctl", "restart", "wifimgrd.service")
    await scene.hub.await_daemon()
    ports = ("nft", "list", "set", "ip", "wifimgrd", "accepted")
    poll_until(lambda: run(*ports).count("8554") == len(scene.cameras), "the port is open to all of them")
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as accepted,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other,
    ):
        for one, port in ((accepted, 8554), (other, 8555)):
            one.bind(("0.0.0.0", port))
            one.settimeout(PATIENCE_S)
        for name, camera in scene.cameras.items():
            camera.push("192.168.42.20", 8555, name)
            camera.push("192.168.42.20", 8554, name)
        received = [accepted.recvfrom(100) for _ in scene.cameras]
        assert {(data.decode(), sender[0]) for data, sender in received} == {
            (name, scene.address(name)) for name in scene.cameras
        }
        other.setblocking(False)
        with pytest.raises(BlockingIOError):
            other.recv(100)


def shared(scene: Scene, lan: Lan, name: str) -> bool:
    return lan.ask(scene.address(name)) == name


async def test_the_relay_reaches_each_camera_through_its_own_interface(scene: Scene) -> None:
    async with aiohttp.ClientSession() as session:
        asked = list(scene.devices) * 5
        answers = await asyncio.gather(*(relayed(session, scene.devices[name]) for name in asked))
    assert answers == asked


async def relayed(session: aiohttp.ClientSession, device: int) -> str:
    async with session.get(f"{URL}/cameras/{device}/") as answer:
        return (await answer.text()).strip()
