"""wifimgrd-net on this kernel: every camera at its own address, and nothing else touched."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import errno
import signal
import socket
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

import pytest

from tests.helper.fake_networkmanager import (
    DEVICE,
    HOSTS,
    HOSTS_ACTIVE,
    HUBS,
    HUBS_ACTIVE,
    FakeNetworkManager,
)
from tests.helper.fake_supplicant import NETWORKS, FakeSupplicant
from tests.helper.small_world import (
    CAMERA_ADDRESS,
    LEASE,
    NETWORK,
    PATIENCE_S,
    CameraArguments,
    SmallWorld,
    small_world,
)
from tests.message_bus import MessageBusDaemon
from wifimgrd.bus.connection import BusConnection, BusError, Signal
from wifimgrd.bus.values import typed
from wifimgrd.config import catalog
from wifimgrd.helper import _policy as policy
from wifimgrd.helper._policy import Policy, read_policy
from wifimgrd.proxies.networkmanager.definitions import NM
from wifimgrd.proxies.wpa_supplicant.definitions import WPAS
from wifimgrd.wire import helper_calls, names

pytestmark = pytest.mark.slow

SO_DETACH_FILTER = 27
"""asm-generic/socket.h"""


@pytest.fixture
async def world() -> AsyncIterator[SmallWorld]:
    async with small_world() as world:
        yield world


class Stream:
    """A connection to a camera's endless stream, read by an ordinary program on the host."""

    def __init__(self, process: Process) -> None:
        self.process = process

    @classmethod
    async def of(cls, world: SmallWorld, address: str) -> Stream:
        program = f"exec 3<>/dev/tcp/{address}/81; exec cat <&3"
        stream = cls(
            await asyncio.create_subprocess_exec(
                "ip", "netns", "exec", world.host, "bash", "-c", program, stdout=PIPE
            )
        )
        await stream.expect_more(address.rpartition(".")[2])
        return stream

    async def expect_more(self, number: str) -> None:
        assert self.process.stdout is not None
        with suppress(TimeoutError):
            async with asyncio.timeout(0):
                while True:  # what came before is no proof
                    await self.process.stdout.read(65536)
        async with asyncio.timeout(PATIENCE_S):
            for _ in range(20):
                assert (await self.process.stdout.readline()).decode().strip() == number

    async def end(self) -> None:
        self.process.kill()
        await self.process.communicate()


async def test_cameras_with_one_address_and_one_lease_are_distinguished(world: SmallWorld) -> None:
    cameras = [world.add_camera(number) for number in (1, 2, 3)]
    await world.start_helper()
    assert await world.lead_to(*cameras) == ""
    asked = [1, 2, 3] * 10
    answers = await asyncio.gather(*(world.fetch(f"10.77.0.{number}") for number in asked))
    assert answers == [f"camera {number}" for number in asked]
    for number in (1, 2, 3):
        echo = f"exec 3<>/dev/udp/10.77.0.{number}/82; echo -n hello >&3; timeout 5 head -c 7 <&3"
        assert world.on_host("bash", "-c", echo) == f"{number}:hello"


async def test_an_address_without_a_camera_refuses_at_once(world: SmallWorld) -> None:
    camera = world.add_camera(1)
    await world.start_helper()
    await world.lead_to(camera)
    assert await world.fetch("10.77.0.9") == "curl: 7"  # 28 = it has waited in vain


async def test_a_camera_that_leaves_does_not_touch_the_others(world: SmallWorld) -> None:
    cameras = [world.add_camera(number) for number in (1, 2)]
    await world.start_helper()
    await world.lead_to(*cameras)
    stream = await Stream.of(world, "10.77.0.2")
    await world.lead_to(cameras[1])
    assert await world.fetch("10.77.0.1") == "curl: 7"
    await stream.expect_more("2")
    await world.lead_to(*cameras)
    assert await world.fetch("10.77.0.1") == "camera 1"
    await stream.expect_more("2")
    await stream.end()


async def test_an_interface_that_has_just_gone_down_harms_no_other_camera(world: SmallWorld) -> None:
    cameras = [world.add_camera(number) for number in (1, 2)]
    await world.start_helper()
    await world.lead_to()
    world.on_host("ip", "link", "set", "w1", "down")
    for _ in range(2):
        with pytest.raises(BusError, match="not up"):
            await world.lead_to(*cameras)
        assert await world.fetch("10.77.0.2") == "camera 2"
    world.on_host("ip", "link", "set", "w1", "up")
    assert await world.lead_to(*cameras) == ""
    await world.until_reached("10.77.0.1", "camera 1")


async def test_what_has_gone_by_itself_is_taken_away_without_complaint(world: SmallWorld) -> None:
    """NetworkManager takes the routes of a link that ends away at the same time."""
    cameras = [world.add_camera(number) for number in (1, 2)]
    await world.start_helper()
    await world.lead_to(*cameras)
    world.on_host("bash", "-c", "ip rule del preference 7749; ip rule del preference 7749")
    assert await world.lead_to() == ""
    routes = world.listed("route", "show", "table", "all")
    assert not [route for route in routes if str(route.get("table", "")).startswith("20012728")]


@pytest.mark.parametrize(
    ("damage", "number"),
    [
        ("ip rule del preference 7749; ip rule del preference 7749", 2),
        ("ip link set w1 down", 1),
        ("ip route flush table all dev w1", 1),
    ],
)
async def test_better_no_answer_than_another_cameras(world: SmallWorld, damage: str, number: int) -> None:
    cameras = [world.add_camera(number) for number in (1, 2)]
    helper = await world.start_helper()
    await world.lead_to(*cameras)
    helper.send_signal(signal.SIGSTOP)
    world.on_host("bash", "-c", damage)
    assert (await world.fetch(f"10.77.0.{number}", "-m", "1")).startswith("curl: ")
    helper.send_signal(signal.SIGCONT)


@pytest.mark.parametrize(
    "damage",
    [
        "nft flush ruleset",
        "nft delete element ip wifimgrd camera_of { 10.77.0.1 }",
        "ip rule del preference 7749",
        "ip route flush table all dev w1",
        "ip link del wifimgrd0",
    ],
)
async def test_what_another_program_breaks_is_put_right(world: SmallWorld, damage: str) -> None:
    cameras = [world.add_camera(number) for number in (1, 2)]
    await world.start_helper()
    await world.lead_to(*cameras)
    await world.until_reached("10.77.0.1", "camera 1")
    stream = await Stream.of(world, "10.77.0.2")
    before = world.on_host("nft", "list", "ruleset")
    world.on_host(*damage.split())
    await world.until_reached("10.77.0.1", "camera 1")
    await world.until_reached("10.77.0.2", "camera 2")
    assert world.on_host("nft", "list", "ruleset") == before
    await stream.expect_more("2")
    await stream.end()


async def test_rules_that_are_flushed_while_they_change_are_made_again(world: SmallWorld) -> None:
    cameras = [world.add_camera(number) for number in (1, 2)]
    await world.start_helper()
    flushing = ("ip", "netns", "exec", world.host, "sh", "-c", "while :; do nft flush ruleset; done")
    flusher = await asyncio.create_subprocess_exec(*flushing)
    for number in range(40):
        with contextlib.suppress(BusError):  # the daemon calls again
            await world.lead_to(*cameras[number % 2 :])
    flusher.kill()
    await flusher.wait()
    await world.until_reached("10.77.0.2", "camera 2")


async def test_a_strict_reverse_path_filter_is_no_obstacle_and_comes_back(world: SmallWorld) -> None:
    world.on_host("sysctl", "-q", "-w", "net.ipv4.conf.all.rp_filter=1", "net.ipv4.conf.default.rp_filter=1")
    cameras = [world.add_camera(number) for number in (1, 2)]
    await world.start_helper()
    await world.lead_to(*cameras)
    assert [await world.fetch(f"10.77.0.{number}") for number in (1, 2)] == ["camera 1", "camera 2"]
    await world.lead_to(cameras[1])
    value = ("sysctl", "-n", "net.ipv4.conf.w1.rp_filter", "net.ipv4.conf.w2.rp_filter")
    assert world.on_host(*value).split() == ["1", "2"]
    await world.end_helper(signal.SIGKILL)
    await world.start_helper()
    await world.ask("Clear")
    assert world.on_host(*value).split() == ["1", "1"]


async def until_printed(world: SmallWorld, command: str, wanted: str) -> None:
    """Wait until a command on the host prints this."""
    async with asyncio.timeout(PATIENCE_S):
        while (await asyncio.to_thread(world.on_host, *command.split())).strip() != wanted:
            pass


@pytest.mark.parametrize(
    "changed",
    [
        ("net.ipv4.conf.w1.src_valid_mark=0", "net.ipv4.conf.w1.rp_filter=1"),
        ("net.ipv4.conf.w1.rp_filter=0",),
    ],
)
async def test_settings_that_another_program_makes_are_put_right(
    world: SmallWorld, changed: tuple[str, ...]
) -> None:
    """As `sysctl --system` does, at the installation of a package."""
    camera = world.add_camera(1)
    await world.start_helper()
    await world.lead_to(camera)
    settings = "sysctl -n net.ipv4.conf.w1.rp_filter net.ipv4.conf.w1.src_valid_mark"
    await until_printed(world, settings, "2\n1")
    world.on_host("sysctl", "-q", "-w", *changed)
    await until_printed(world, settings, "2\n1")
    assert await world.fetch("10.77.0.1") == "camera 1"


@pytest.mark.parametrize(
    "route",
    [
        "default via 192.168.42.1 dev w1 onlink",
        "default via 192.168.42.1 dev w1 onlink proto dhcp metric 1024",
        "128.0.0.0/1 dev w1",
        "192.168.42.0/24 dev w1 proto kernel",
    ],
)
async def test_no_route_of_a_lease_stays_in_main_whoever_has_added_it(world: SmallWorld, route: str) -> None:
    camera = world.add_camera(1)
    await world.start_helper()
    await world.lead_to(camera)
    async with asyncio.timeout(PATIENCE_S):  # its own route in `main` comes after the reply
        while CAMERA_ADDRESS not in await asyncio.to_thread(world.on_host, "ip", "route"):
            pass
    world.on_host("ip", "route", "add", "192.168.99.0/24", "dev", "w1")  # somebody's own
    before = set(world.on_host("ip", "route").splitlines())
    world.on_host("ip", "route", "add", *route.split())
    async with asyncio.timeout(PATIENCE_S):
        while set((await asyncio.to_thread(world.on_host, "ip", "route")).splitlines()) != before:
            pass


async def test_a_network_of_the_hosts_own_is_left_alone(world: SmallWorld) -> None:
    camera = world.add_camera(1)
    world.on_host("ip", "link", "add", "lan0", "type", "veth", "peer", "name", "lan1")
    world.on_host("ip", "address", "add", "10.77.0.5/16", "dev", "lan0")
    world.on_host("ip", "link", "set", "lan0", "up")
    reported: asyncio.Queue[str] = asyncio.Queue()

    def receive(signal: Signal) -> None:
        reported.put_nowait(typed(str, signal.body[0]))

    await world.connection.watch(receive, interface=helper_calls.BUS_NAME, member="ConflictChanged")
    await world.start_helper()
    said = await world.lead_to(camera)
    assert said in (
        f"{NETWORK} overlaps 10.77.0.0/16, which this host reaches through lan0",
        f"{NETWORK} overlaps 10.77.0.5/32, which this host reaches through lan0",
    )
    async with asyncio.timeout(PATIENCE_S):
        assert await reported.get() == said
        assert "wifimgrd0" not in world.left()
        world.on_host("ip", "link", "del", "lan0")
        assert await reported.get() == ""
        assert await world.fetch("10.77.0.1") == "camera 1"
        world.on_host("ip", "route", "add", "10.77.0.0/25", "dev", "w1")
        assert "10.77.0.0/25" in await reported.get()
    assert "wifimgrd0" not in world.left()


async def test_the_hosts_own_lan_with_the_cameras_subnet_keeps_its_traffic(world: SmallWorld) -> None:
    world.add_camera(9)  # stands for a machine at 192.168.42.1 in the host's LAN
    world.on_host("ip", "route", "replace", "192.168.42.0/24", "dev", "w9", "metric", "100")
    camera = world.add_camera(1)
    await world.start_helper()
    await world.lead_to(camera)
    assert await world.fetch("10.77.0.1") == "camera 1"
    assert await world.fetch("192.168.42.1") == "camera 9"


async def test_nothing_is_left_after_a_stop(world: SmallWorld) -> None:
    camera = world.add_camera(1)
    before = world.left()
    await world.start_helper()
    await world.lead_to(camera)
    assert world.left() != before
    assert await world.end_helper() == 0
    assert world.left() == before


async def test_a_crash_breaks_no_connection_and_the_next_helper_takes_over(world: SmallWorld) -> None:
    cameras = [world.add_camera(number) for number in (1, 2)]
    before = world.left()
    await world.start_helper()
    await world.lead_to(*cameras)
    stream = await Stream.of(world, "10.77.0.2")
    await world.end_helper(signal.SIGKILL)
    await stream.expect_more("2")
    await world.start_helper()
    await world.lead_to(cameras[1])
    await stream.expect_more("2")
    assert await world.fetch("10.77.0.1") == "curl: 7"
    await stream.end()
    await world.ask("Clear")
    assert world.left() == before


async def test_it_answers_the_daemons_user_alone(world: SmallWorld) -> None:
    await world.start_helper(user="nobody")
    with pytest.raises(BusError) as caught:
        await world.lead_to()
    assert caught.value.name == "org.wifimgrd1.Error.NotAuthorized"
    assert "wifimgrd" not in world.left()


BAD_REQUESTS: list[tuple[str, list[CameraArguments]]] = [
    ("10.77.0.0/8", []),
    (NETWORK, [(1, "10.77.0.254", "w1", "192.168.42.1", "")]),
    (NETWORK, [(1, "10.78.0.1", "w1", "192.168.42.1", "")]),
    ("", [(1, "10.77.0.1", "w1", "192.168.42.1", "")]),
    (NETWORK, [(1, "10.77.0.1", "w1", "192.168.42.1; flush ruleset", "")]),
    (NETWORK, [(1, "10.77.0.1", "lo", "192.168.42.1", "")]),
    (NETWORK, [(1, "10.77.0.1", "lan8", "192.168.42.1", "")]),
    (NETWORK, [(1, "10.77.0.1", 'w"1', "192.168.42.1", "")]),
    (NETWORK, [(1, "10.77.0.1", "w}1", "192.168.42.1", "")]),
    (NETWORK, [(1, "10.77.0.1", "w1\n", "192.168.42.1", "")]),
    (NETWORK, [(1, "10.77.0.1", "wä1", "192.168.42.1", "")]),
    (NETWORK, [(1, "10.77.0.1", "w" * 16, "192.168.42.1", "")]),
    (NETWORK, [(1, "10.77.0.1", "..", "192.168.42.1", "")]),
    (NETWORK, [(1, "10.77.0.1", "w1", "192.168.42.1", ""), (2, "10.77.0.1", "w2", "192.168.42.1", "")]),
    (NETWORK, [(1, "10.77.0.1", "w1", "192.168.42.1", ""), (2, "10.77.0.2", "w1", "192.168.42.1", "")]),
    (NETWORK, [(1, "10.77.0.1", "w1", "192.168.42.1", ""), (1, "10.77.0.2", "w2", "192.168.42.1", "")]),
]


async def test_bad_requests_change_nothing(world: SmallWorld) -> None:
    for number in (1, 2):
        world.add_camera(number)
    world.add_lan(8)
    for name in ('w"1', "w}1"):
        world.on_host("ip", "link", "add", name, "type", "bridge")
        world.make_wireless(name)
    await world.start_helper()
    for network, cameras in BAD_REQUESTS:
        with pytest.raises(BusError) as caught:
            await world.lead_to(*cameras, network=network)
        assert caught.value.name == "org.wifimgrd1.Error.InvalidArguments", (network, cameras)
        assert "wifimgrd" not in world.left(), (network, cameras)


@pytest.mark.parametrize("own", ["203.0.113.1", "127.0.0.2"])
async def test_a_camera_whose_own_address_is_not_private_is_not_led_to_and_the_others_are(
    world: SmallWorld, own: str
) -> None:
    cameras = [world.add_camera(number) for number in (1, 2)]
    await world.start_helper()
    number, address, interface, _, codename = cameras[0]
    await world.lead_to((number, address, interface, own, codename), cameras[1])
    assert await world.fetch("10.77.0.2") == "camera 2"
    assert own not in world.left()


async def test_the_interface_that_owns_the_network_is_no_cameras(world: SmallWorld) -> None:
    camera = world.add_camera(1)
    await world.start_helper()
    await world.lead_to(camera)
    with pytest.raises(BusError, match="wifimgrd0 is not a camera's interface: it is not wireless"):
        await world.lead_to(camera, (2, "10.77.0.2", "wifimgrd0", "192.168.42.1", ""))
    assert await world.fetch("10.77.0.1") == "camera 1"


@pytest.mark.parametrize(
    "route",
    [
        "default via 192.168.42.1 dev w2 onlink",
        "default nexthop via 192.168.42.1 dev w2 onlink nexthop via 192.168.8.2 dev lan8",
        "0.0.0.0/1 dev w2",
        "192.168.42.0/24 dev w2 proto kernel",
        "192.168.9.0/24 via 192.168.42.1 dev w2 onlink proto dhcp",
    ],
)
async def test_an_interface_that_carries_a_connection_of_the_host_is_left_alone(
    world: SmallWorld, route: str
) -> None:
    """Closed, it would cut the host off, and its routes would be deleted."""
    camera, uplink = world.add_camera(1), world.add_camera(2)
    world.add_lan(8)
    world.on_host("ip", "route", "add", *route.split())
    before = world.on_host("ip", "route")
    await world.start_helper()
    assert await world.lead_to(camera, uplink) == ""
    assert await world.fetch("10.77.0.1") == "camera 1"
    assert await world.fetch("10.77.0.2") == "curl: 7"
    assert await world.fetch(CAMERA_ADDRESS, "--interface", "w2") == "camera 2"
    await world.lead_to()
    assert set(before.splitlines()) <= set(world.on_host("ip", "route").splitlines())


async def test_an_interface_whose_index_is_too_large_leaves_out_its_camera_alone(world: SmallWorld) -> None:
    camera = world.add_camera(1)
    world.on_host("ip", "link", "add", "w2", "index", "65536", "type", "bridge")
    world.make_wireless("w2")
    await world.start_helper()
    assert await world.lead_to(camera, (2, "10.77.0.2", "w2", "192.168.42.1", "")) == ""
    assert await world.fetch("10.77.0.1") == "camera 1"


def test_what_a_model_pushes_is_accepted_however_its_codename_is_written() -> None:
    models = Policy(models=catalog.load())
    assert [one.number for one in models.accepts("GoPro_Hero12")] == [8554]
    assert models.accepts("gopro-hero99") == ()


def test_a_configuration_that_may_not_be_read_allows_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def refuse(_: Path | None) -> NoReturn:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(policy, "load", refuse)
    assert read_policy(tmp_path / "wifimgrd.toml") == Policy()


@pytest.mark.parametrize("member", ["RestartLink", "EndPowerSave", "RegisterInterface"])
async def test_no_interface_but_a_wireless_one_is_touched(world: SmallWorld, member: str) -> None:
    world.add_camera(1)
    world.add_lan(8)
    await world.start_helper()
    before = world.left()
    for interface in ("", ".", "..", "lan8", "lo", "w9", "w1/phy80211", "w1 down", "w1\n"):
        with pytest.raises(BusError) as caught:
            await world.ask(member, "s", interface)
        assert caught.value.name == "org.wifimgrd1.Error.InvalidArguments", interface
        assert world.left() == before, interface


async def test_networks_are_added_and_limited_on_the_hubs_adapters_alone(
    world: SmallWorld, capfd: pytest.CaptureFixture[str]
) -> None:
    for number in (1, 2):
        world.add_camera(number)
    world.on_host("ip", "route", "add", "default", "via", CAMERA_ADDRESS, "dev", "w2", "onlink")
    await world.connection.request_name(WPAS)
    supplicant = FakeSupplicant(world.connection)
    await world.start_helper()
    network = (7, b"CAM", "sae", "secret-secret", "", False)
    assert await world.ask("AddNetwork", "staysssb", "w1", *network) == [NETWORKS[0]]
    await world.ask("LimitNetworks", "ss", "w1", "02:ca:00:00:00:01")
    await world.ask("SetCountry", "ss", "w1", "DE")
    assert [member for member, _ in supplicant.given if member not in ("GetInterface", "Get")] == [
        "AddNetwork",
        *["Set"] * 3,
    ]
    supplicant.given.clear()
    for interface, reason in (
        ("w2", "w2 carries a connection of this host"),
        ("lo", "no wireless interface"),
    ):
        with pytest.raises(BusError, match=reason):
            await world.ask("AddNetwork", "staysssb", interface, *network)
        with pytest.raises(BusError, match=reason):
            await world.ask("LimitNetworks", "ss", interface, "02:ca:00:00:00:01")
    assert supplicant.given == []
    supplicant.refusal = f"{WPAS}.InvalidArgs"
    with pytest.raises(BusError) as refused:
        await world.ask("AddNetwork", "staysssb", "w1", *network)
    assert refused.value.name == supplicant.refusal
    with pytest.raises(BusError):
        await world.ask("AddNetwork", "sss", "w1", "wpa-psk", "secret-secret")
    await world.end_helper()
    assert "cret" not in "".join(capfd.readouterr())


async def test_profiles_are_activated_on_the_hubs_adapters_alone(
    world: SmallWorld, capfd: pytest.CaptureFixture[str]
) -> None:
    for number in (1, 2):
        world.add_camera(number)
    world.on_host("ip", "route", "add", "default", "via", CAMERA_ADDRESS, "dev", "w2", "onlink")
    await world.connection.request_name(NM)
    manager = FakeNetworkManager(world.connection)
    await world.start_helper()
    network, uuid = (7, b"CAM", "sae", "secret-secret", "", False), "12345678-9abc-4def-8123-456789abcdef"
    rest = (*network, DEVICE, uuid, 20, "", 2**63)
    assert await world.ask("ActivateProfile", "staysssbosust", "w1", *rest) == [HUBS, HUBS_ACTIVE]
    await world.ask("SetManaged", "sb", "w1", False)
    await world.ask("SetManaged", "sb", "w2", True)
    await world.ask("SetAutoconnect", "sb", "w1", False)
    await world.ask("DeactivateProfile", "o", HUBS_ACTIVE)
    await world.ask("DeleteProfile", "o", HUBS)
    assert [member for _, member, _ in manager.changed] == [
        *("AddAndActivateConnection2", "Set", "Set", "Set"),
        *("DeactivateConnection", "Delete"),
    ]
    manager.changed.clear()
    for interface, reason in (
        ("w2", "w2 carries a connection of this host"),
        ("lo", "no wireless interface"),
    ):
        with pytest.raises(BusError, match=reason):
            await world.ask("ActivateProfile", "staysssbosust", interface, *rest)
        with pytest.raises(BusError, match=reason):
            await world.ask("SetManaged", "sb", interface, False)
    for member, path in (("DeactivateProfile", HOSTS_ACTIVE), ("DeleteProfile", HOSTS)):
        with pytest.raises(BusError, match="not the hub's"):
            await world.ask(member, "o", path)
    assert manager.changed == []
    manager.refusal = f"{NM}.UnknownDevice"
    with pytest.raises(BusError) as refused:
        await world.ask("ActivateProfile", "staysssbosust", "w1", *rest)
    assert refused.value.name == manager.refusal
    await world.end_helper()
    assert "cret" not in "".join(capfd.readouterr())


async def test_wpa_supplicant_may_be_on_another_bus_than_the_daemon(world: SmallWorld) -> None:
    """As with `make run`."""
    world.add_camera(1)
    with MessageBusDaemon.start() as bus:
        connection = await BusConnection.open(bus.address)
        await connection.request_name(WPAS)
        supplicant = FakeSupplicant(connection)
        await world.start_helper("--networkd-bus", bus.address)
        await world.ask("RegisterInterface", "s", "w1")
        await world.ask("AddNetwork", "staysssb", "w1", 7, b"CAM", "none", "", "", False)
        assert [member for member, _ in supplicant.given] == [
            *("CreateInterface", "Set", "Set"),
            *("GetInterface", "AddNetwork"),
        ]
        await world.end_helper()
        await connection.close()


async def test_it_ends_when_the_daemon_is_gone_for_good(world: SmallWorld) -> None:
    camera = world.add_camera(1)
    before = world.left()
    daemon = await BusConnection.open(world.bus)
    await daemon.request_name(names.BUS_NAME)
    helper = await world.start_helper("--linger", "0.2")
    await world.lead_to(camera)
    await daemon.close()
    async with asyncio.timeout(PATIENCE_S):
        assert await helper.wait() == 0
    assert world.left() == before


async def test_sockets_to_cameras_with_one_address_reach_the_right_one(world: SmallWorld) -> None:
    cameras = [world.add_camera(number) for number in (1, 2, 3)]
    await world.start_helper()
    loop = asyncio.get_running_loop()
    await world.lead_to(*cameras)
    for number in (1, 2, 3):
        with await world.open(number, 80, "tcp") as tcp:
            await loop.sock_sendall(tcp, b"GET / HTTP/1.0\r\n\r\n")
            assert (await loop.sock_recv(tcp, 1000)).endswith(f"camera {number}".encode())
        with await world.open(number, 82, "udp") as udp:
            await loop.sock_sendall(udp, b"hello")
            assert await loop.sock_recv(udp, 1000) == f"{number}:hello".encode()


async def test_a_socket_that_cannot_be_opened_is_explained(world: SmallWorld) -> None:
    """Device 2 has an interface and no link yet, 3 is not connected."""
    world.add_camera(2)
    await world.start_helper()
    await world.lead_to(world.add_camera(1), (2, "10.77.0.2", "w2", "", ""))
    for device_id, port, kind, error in (
        (1, 9, "tcp", "Net.Error.Refused"),
        (1, 0, "tcp", "Error.InvalidArguments"),
        (1, 80, "raw", "Error.InvalidArguments"),
        (2, 80, "tcp", "Error.DeviceNotReachable"),
        (3, 80, "tcp", "Error.DeviceNotReachable"),
    ):
        with pytest.raises(BusError) as caught:
            await world.open(device_id, port, kind)
        assert caught.value.name == "org.wifimgrd1." + error, (device_id, port, kind)
        assert caught.value.message


async def test_a_socket_of_a_device_that_is_about_to_be_planned_waits_for_that(world: SmallWorld) -> None:
    camera = world.add_camera(1)
    await world.start_helper()
    opening = asyncio.create_task(world.open(1, 80, "tcp"))
    await world.lead_to(camera)
    (await opening).close()


@pytest.mark.parametrize("kind", [socket.SOCK_STREAM, socket.SOCK_DGRAM])
async def test_a_socket_that_was_passed_on_leads_nowhere_else(
    world: SmallWorld, kind: socket.SocketKind
) -> None:
    cameras = [world.add_camera(number) for number in (1, 2)]
    world.serve(world.add_lan(8))
    world.serve(world.host)
    world.in_camera(1, "ip", "address", "add", "192.168.42.9/32", "dev", "ap0")
    await world.start_helper()
    await world.lead_to(*cameras)
    # Another host behind the camera, the host itself, its LAN, and another camera.
    elsewhere = ("192.168.42.9", "192.168.42.20", "192.168.8.2", "127.0.0.1", "10.77.0.2")
    await asyncio.gather(*(leads_nowhere(world, kind, address) for address in elsewhere))


async def leads_nowhere(world: SmallWorld, kind: socket.SocketKind, address: str) -> None:
    """Check that a socket to the first camera cannot be turned to another address."""
    loop = asyncio.get_running_loop()
    name = "tcp" if kind is socket.SOCK_STREAM else "udp"
    with await world.open(1, 80 if name == "tcp" else 82, name) as passed:
        await asyncio.to_thread(disconnect, passed)
        with pytest.raises(OSError):  # noqa: PT012, PT011 - no answer, or refused at once
            async with asyncio.timeout(1):
                await loop.sock_connect(passed, (address, 82 if name == "udp" else 80))
                await loop.sock_sendall(passed, b"GET / HTTP/1.0\r\n\r\n")
                await loop.sock_recv(passed, 1000)
        for option, value in ((socket.SO_MARK, 0), (SO_DETACH_FILTER, 0), (socket.SO_BINDTODEVICE, b"")):
            # A UDP socket has lost its interface with the association: the mark and the filter hold it.
            if not (kind is socket.SOCK_DGRAM and option == socket.SO_BINDTODEVICE):
                with pytest.raises(PermissionError):
                    set_without_capabilities(passed, option, value)


async def test_a_udp_socket_that_was_passed_on_does_not_reach_the_next_camera(world: SmallWorld) -> None:
    """Whoever holds it may bind it to another interface, behind which the camera has the same address."""
    cameras = [world.add_camera(number) for number in (1, 2)]
    await world.start_helper()
    await world.lead_to(*cameras)
    loop = asyncio.get_running_loop()
    with await world.open(1, 82, "udp") as passed, await world.open(2, 82, "udp") as other:
        disconnect(passed)
        set_without_capabilities(passed, socket.SO_BINDTODEVICE, b"w2")
        await loop.sock_connect(passed, (CAMERA_ADDRESS, 82))
        with pytest.raises(PermissionError):  # nftables: dropped on the way out
            await loop.sock_sendall(passed, b"hello")
        await loop.sock_sendall(other, b"hello")
        assert await loop.sock_recv(other, 1000) == b"2:hello"


def disconnect(one: socket.socket) -> None:
    """Dissolve the association of a socket, which any holder may do: connect(2), AF_UNSPEC."""
    library = ctypes.CDLL(None, use_errno=True)
    assert library.connect(one.fileno(), bytes(16), 16) == 0, ctypes.get_errno()


def set_without_capabilities(one: socket.socket, option: int, value: int | bytes) -> None:
    """Set an option as a program without privileges does: in a thread that drops its capabilities, which are
    each thread's own."""
    with ThreadPoolExecutor(1, initializer=drop_capabilities) as unprivileged:
        unprivileged.submit(one.setsockopt, socket.SOL_SOCKET, option, value).result()


def drop_capabilities() -> None:
    library = ctypes.CDLL(None, use_errno=True)
    version_3 = (ctypes.c_uint32 * 2)(0x20080522, 0)  # capset(2)
    assert library.capset(version_3, bytes(24)) == 0, ctypes.get_errno()


async def test_a_socket_reaches_nobody_behind_a_router(world: SmallWorld) -> None:
    _, address, interface, own, codename = world.add_camera(1)
    world.in_camera(1, "ip", "address", "add", "172.31.0.1/32", "dev", "lo")
    world.in_camera(1, "sysctl", "-q", "-w", "net.ipv4.conf.all.arp_ignore=1")
    world.on_host("ip", "route", "add", "172.31.0.0/24", "via", own, "dev", interface, "onlink")
    await world.start_helper()
    await world.lead_to((1, address, interface, "172.31.0.1", codename))
    with pytest.raises(BusError) as caught:
        await world.open(1, 80, "tcp")
    assert caught.value.name == "org.wifimgrd1.Error.DeviceNotReachable"


async def test_no_socket_is_opened_to_an_address_of_this_host(world: SmallWorld) -> None:
    _, own, interface, _, codename = world.add_camera(1)
    world.add_lan(8)
    world.serve(world.host)
    await world.start_helper()
    for address in (LEASE, "192.168.8.1", "10.77.0.254"):
        await world.lead_to((1, own, interface, address, codename))
        for port, kind in ((80, "tcp"), (82, "udp")):
            with pytest.raises(BusError) as caught:
                (await world.open(1, port, kind)).close()
            assert caught.value.name == "org.wifimgrd1.Error.DeviceNotReachable"
            assert caught.value.message == f"{address} is an address of this host, not a camera's"
