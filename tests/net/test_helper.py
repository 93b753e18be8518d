"""wifimgrd-net on this kernel: every camera at its own address, and nothing else touched."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator

import pytest

from tests.net.small_world import NETWORK, PATIENCE_S, SmallWorld, small_world
from wifimgrd.dbus import names
from wifimgrd.dbus.bus import BusConnection, BusError, Signal


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
        while self.process.stdout._buffer:  # type: ignore[attr-defined]  # what came before is no proof
            await self.process.stdout.read(65536)
        async with asyncio.timeout(PATIENCE_S):
            for _ in range(20):
                assert (await self.process.stdout.readline()).decode().strip() == number

    async def end(self) -> None:
        self.process.kill()
        await self.process.communicate()


async def test_cameras_with_one_address_and_one_lease_are_told_apart(world: SmallWorld) -> None:
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
    async with asyncio.timeout(2):
        assert await world.fetch("10.77.0.9") == "curl: 7"


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
    with pytest.raises(BusError, match="not up"):
        await world.lead_to(*cameras)
    assert await world.fetch("10.77.0.2") == "camera 2"
    world.on_host("ip", "link", "set", "w1", "up")
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
        with contextlib.suppress(BusError):  # the daemon asks again
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


async def test_a_network_of_the_hosts_own_is_left_alone(world: SmallWorld) -> None:
    camera = world.add_camera(1)
    world.on_host("ip", "link", "add", "lan0", "type", "veth", "peer", "name", "lan1")
    world.on_host("ip", "address", "add", "10.77.0.5/16", "dev", "lan0")
    world.on_host("ip", "link", "set", "lan0", "up")
    told: asyncio.Queue[str] = asyncio.Queue()

    def hear(signal: Signal) -> None:
        told.put_nowait(signal.body[0])

    await world.connection.watch(hear, interface=names.NET, member="ConflictChanged")
    await world.start_helper()
    said = await world.lead_to(camera)
    assert said in (
        f"{NETWORK} overlaps 10.77.0.0/16, which this host reaches through lan0",
        f"{NETWORK} overlaps 10.77.0.5/32, which this host reaches through lan0",
    )
    async with asyncio.timeout(PATIENCE_S):
        assert await told.get() == said
        assert "wifimgrd" not in world.left()
        world.on_host("ip", "link", "del", "lan0")
        assert await told.get() == ""
        assert await world.fetch("10.77.0.1") == "camera 1"
        world.on_host("ip", "route", "add", "10.77.0.0/25", "dev", "w1")
        assert "10.77.0.0/25" in await told.get()
    assert "wifimgrd" not in world.left()


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


@pytest.mark.parametrize(
    ("network", "cameras"),
    [
        ("10.77.0.0/8", []),
        ("", []),
        (NETWORK, [("10.77.0.254", "w1", "192.168.42.1")]),
        (NETWORK, [("10.78.0.1", "w1", "192.168.42.1")]),
        (NETWORK, [("10.77.0.1", "w1", "192.168.42.1; flush ruleset")]),
        (NETWORK, [("10.77.0.1", "w1", "192.168.42.1"), ("10.77.0.1", "w2", "192.168.42.1")]),
        (NETWORK, [("10.77.0.1", "w1", "192.168.42.1"), ("10.77.0.2", "w1", "192.168.42.1")]),
    ],
)
async def test_bad_requests_change_nothing(
    world: SmallWorld, network: str, cameras: list[tuple[str, str, str]]
) -> None:
    for number in (1, 2):
        world.add_camera(number)
    await world.start_helper()
    with pytest.raises(BusError) as caught:
        await world.lead_to(*cameras, network=network)
    assert caught.value.name == "org.wifimgrd1.Error.InvalidArguments"
    assert "wifimgrd" not in world.left()


@pytest.mark.parametrize("member", ["RestartLink", "EndPowerSave"])
@pytest.mark.parametrize("interface", ["", ".", "..", "w1", "lo", "w9", "w1/phy80211", "w1 down"])
async def test_no_interface_but_a_wireless_one_is_touched(
    world: SmallWorld, interface: str, member: str
) -> None:
    world.add_camera(1)
    await world.start_helper()
    before = world.left()
    with pytest.raises(BusError) as caught:
        await world.ask(member, "s", interface)
    assert caught.value.name == "org.wifimgrd1.Error.InvalidArguments"
    assert world.left() == before


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
    for number, (_, interface, address) in enumerate(cameras, 1):
        with await world.open(interface, address, 80, "tcp") as tcp:
            await loop.sock_sendall(tcp, b"GET / HTTP/1.0\r\n\r\n")
            assert (await loop.sock_recv(tcp, 1000)).endswith(f"camera {number}".encode())
        with await world.open(interface, address, 82, "udp") as udp:
            await loop.sock_sendall(udp, b"hello")
            assert await loop.sock_recv(udp, 1000) == f"{number}:hello".encode()


@pytest.mark.parametrize(
    ("interface", "address", "port", "kind", "error"),
    [
        ("w1", "192.168.42.1", 9, "tcp", "Net.Error.Refused"),
        ("w1", "192.168.43.1", 80, "tcp", "Error.DeviceNotReachable"),
        ("w9", "192.168.42.1", 80, "tcp", "Error.InterfaceLost"),
        ("w1", "camera", 80, "tcp", "Error.InvalidArguments"),
        ("w1", "192.168.42.1", 80, "raw", "Error.InvalidArguments"),
    ],
)
async def test_a_socket_that_cannot_be_opened_is_explained(
    world: SmallWorld, interface: str, address: str, port: int, kind: str, error: str
) -> None:
    world.add_camera(1)
    await world.start_helper()
    with pytest.raises(BusError) as caught:
        await world.open(interface, address, port, kind)
    assert caught.value.name == "org.wifimgrd1." + error
    assert caught.value.message


async def test_a_socket_reaches_nobody_behind_a_router(world: SmallWorld) -> None:
    camera = world.add_camera(1)
    world.in_camera(1, "ip", "address", "add", "172.31.0.1/32", "dev", "lo")
    world.in_camera(1, "sysctl", "-q", "-w", "net.ipv4.conf.all.arp_ignore=1")
    world.on_host("ip", "route", "add", "172.31.0.0/24", "via", camera[2])
    await world.start_helper()
    assert await world.fetch("172.31.0.1") == "camera 1"
    with pytest.raises(BusError) as caught:
        await world.open(camera[1], "172.31.0.1", 80, "tcp")
    assert caught.value.name == "org.wifimgrd1.Error.DeviceNotReachable"
