"""What a camera can do to the host, and what programs on the host receive from it."""

from __future__ import annotations

import asyncio
import json
import random
import signal
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from ipaddress import IPv4Network

import pytest

from tests.helper.small_world import CAMERA_ADDRESS, LEASE, PATIENCE_S, SmallWorld, run, small_world

pytestmark = pytest.mark.slow

ACCEPT = '[cameras]\naccept = ["udp/8554", "tcp/8554"]\n'
RECEIVE = """
import asyncio, sys

class Datagrams(asyncio.DatagramProtocol):
    def connection_made(self, transport):
        self.transport = transport
    def datagram_received(self, data, sender):
        print("udp", sender[0], data.decode().strip(), flush=True)
        self.transport.sendto(b"to " + data, sender)

async def serve(reader, writer):
    data = await reader.readline()
    print("tcp", writer.get_extra_info("peername")[0], data.decode().strip(), flush=True)
    writer.write(b"to " + data)
    await writer.drain()
    writer.close()

async def main():
    loop = asyncio.get_running_loop()
    await loop.create_datagram_endpoint(Datagrams, ("0.0.0.0", 8554))
    await asyncio.start_server(serve, "0.0.0.0", 8554)
    print("ready", flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""
PUSH = """
import socket, sys
kind, host, text, port = sys.argv[1], sys.argv[2], sys.argv[3].encode() + b"\\n", int(sys.argv[4])
with socket.socket(type=socket.SOCK_DGRAM if kind == "udp" else socket.SOCK_STREAM) as one:
    one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    one.settimeout(float(sys.argv[5]))
    one.bind(("0.0.0.0", 5004))
    try:
        one.connect((host, port))
        one.send(text)
        print(one.recv(1000).decode().strip())
    except OSError as error:
        print("none", error)
"""
"""From one source port, so that cameras with one lease have equal 5-tuples; connected, so that the reply must
come from where the push went."""


PING = f"""
import socket, struct, sys
count = int(sys.argv[1])
one = socket.socket(type=socket.SOCK_RAW, proto=socket.IPPROTO_ICMP)
one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 24)
one.settimeout(2)
received = 0
try:
    for number in range(count):
        one.sendto(struct.pack("!BBHHH", 8, 0, 0xF7FF - 7 - number, 7, number), ("{LEASE}", 0))
    while received < count:
        received += one.recv(1000)[20] == 0
except TimeoutError:
    pass
print(received)
"""
REQUEST_AS_MANY = f"""
import socket, struct, sys
one = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
one.bind(("ap0", 0x0806))
own = one.getsockname()[4]
for number in range(int(sys.argv[1])):
    sender = socket.inet_aton(f"192.168.42.{{number % 200 + 30}}")
    request = struct.pack("!HHBBH", 1, 0x0800, 6, 4, 1) + own + sender + bytes(6)
    one.send(bytes([255] * 6) + own + b"\\x08\\x06" + request + socket.inet_aton("{LEASE}"))
print("sent")
"""
COUNT = """
import socket
one = socket.socket(type=socket.SOCK_DGRAM)
one.setsockopt(socket.SOL_SOCKET, 33, 1 << 24)  # SO_RCVBUFFORCE, which the module has no name for
one.bind(("0.0.0.0", 8554))
print("ready", flush=True)
received = 0
while True:
    if one.recv(1000) == b"end":
        print(received, flush=True)
        received = 0
    else:
        received += 1
"""
"""Counts datagrams, and replies to none."""
SEND_DATAGRAMS = f"""
import socket, sys
kind, count = sys.argv[1], int(sys.argv[2])
last = socket.socket(type=socket.SOCK_DGRAM)
last.bind(("0.0.0.0", 5004))
last.sendto(b"first", ("{LEASE}", 8554))
for number in range(count - 1):
    if kind == "stream":
        last.sendto(b"more", ("{LEASE}", 8554))
    else:
        with socket.socket(type=socket.SOCK_DGRAM) as one:
            one.bind(("0.0.0.0", 10000 + number))
            one.sendto(b"flow", ("{LEASE}", 8554))
last.sendto(b"end", ("{LEASE}", 8554))
print("sent")
"""
"""One flow, or as many; the end is of a flow that the kernel remembers."""
BROADCAST = """
import socket
one = socket.socket(type=socket.SOCK_DGRAM)
one.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
one.sendto(b"to all", ("192.168.42.255", 8554))
"""
CONNECT_IPV6 = """
import socket
one = socket.socket(socket.AF_INET6)
one.settimeout(1)
try:
    one.connect(("fd00::2", 80))
except ConnectionRefusedError:
    print("refused")
except OSError as error:
    print("timed out")
"""


def inside_camera(world: SmallWorld, program: str, *arguments: str) -> str:
    """What a program prints that runs in the first camera."""
    return run("ip", "netns", "exec", world.camera(1), "python3", "-c", program, *arguments).strip()


@pytest.fixture
async def world() -> AsyncIterator[SmallWorld]:
    async with small_world() as world:
        yield world


@asynccontextmanager
async def receiver(world: SmallWorld, inside: str = "") -> AsyncIterator[Process]:
    """An ordinary program that receives at port 8554, on the host or `inside` another namespace."""
    process = await asyncio.create_subprocess_exec(
        *("ip", "netns", "exec", inside or world.host, "python3", "-c", RECEIVE), stdout=PIPE
    )
    assert await next_line(process) == "ready"
    yield process
    process.kill()
    await process.communicate()


async def next_line(process: Process) -> str:
    assert process.stdout is not None
    async with asyncio.timeout(PATIENCE_S):
        return (await process.stdout.readline()).decode().strip()


async def push(
    world: SmallWorld, number: int, kind: str, host: str = LEASE, port: int = 8554, seconds: float = 10
) -> str:
    """What a camera gets for what it sends to the host."""
    process = await asyncio.create_subprocess_exec(
        *("ip", "netns", "exec", world.camera(number), "python3", "-c", PUSH),
        *(kind, host, f"{kind}{number}", str(port), str(seconds)),
        stdout=PIPE,
    )
    out, _ = await process.communicate()
    return out.decode().strip()


def route_to(world: SmallWorld, address: str) -> str:
    """The interface through which the host sends to an address; empty where it has no route."""
    try:
        return str(world.listed("route", "get", address)[0]["dev"])
    except AssertionError:
        return ""


async def until_route(world: SmallWorld, address: str, interface: str) -> None:
    """Wait until the host sends to an address through an interface: the helper replies first."""
    async with asyncio.timeout(PATIENCE_S):
        while await asyncio.to_thread(route_to, world, address) != interface:
            pass


# -- nothing new gets in


async def test_a_camera_reaches_no_service_of_the_host(world: SmallWorld) -> None:
    cameras = [world.add_camera(number) for number in (1, 2)]
    world.serve(world.host)
    world.in_camera(1, "ip", "route", "add", "default", "via", LEASE)
    await world.start_helper()
    await world.lead_to(*cameras)
    for address in (LEASE, "10.77.0.254", "10.77.0.2"):
        for options in ((), ("--local-port", "443")):
            assert await world.fetch(address, "-m", "1", *options, inside=world.camera(1)) == "curl: 28"
    assert (await push(world, 1, "udp", port=82, seconds=1)).startswith("none")
    assert await world.fetch("10.77.0.1") == "camera 1"


async def test_an_interface_is_closed_before_there_is_a_link(world: SmallWorld) -> None:
    number, address, interface, _, _ = world.add_camera(1)
    world.serve(world.host)
    world.on_host("ip", "route", "add", "192.168.42.0/24", "dev", "w1")
    await world.start_helper()
    assert await world.fetch(LEASE, inside=world.camera(1)) == "camera 0"
    await world.lead_to((number, address, interface, "", ""))
    assert await world.fetch(LEASE, "-m", "1", inside=world.camera(1)) == "curl: 28"


async def test_a_camera_does_not_pass_through_a_host_that_is_a_router(world: SmallWorld) -> None:
    cameras = [world.add_camera(number) for number in (1, 2)]
    machine = world.add_lan(8)
    world.serve(machine)
    world.on_host("sysctl", "-q", "-w", "net.ipv4.ip_forward=1")
    world.in_camera(1, "ip", "route", "add", "default", "via", LEASE)
    await world.start_helper()
    assert await world.fetch("192.168.8.2", "-m", "2", inside=world.camera(1)) == "curl: 28"  # no way back
    run("ip", "-n", machine, "route", "add", "192.168.42.0/24", "via", "192.168.8.1")
    await world.lead_to(*cameras)
    for address in ("192.168.8.2", "10.77.0.2"):
        assert await world.fetch(address, "-m", "1", inside=world.camera(1)) == "curl: 28"


async def test_what_a_camera_sends_beside_replies_is_bounded(world: SmallWorld) -> None:
    """Pings are answered, of a flood a part; neighbours that it makes up are not remembered."""
    camera = world.add_camera(1)
    await world.start_helper()
    await world.lead_to(camera)
    await world.until_reached(CAMERA_ADDRESS, "camera 1")  # that route is set last, and replies need it
    assert inside_camera(world, PING, "1") == "1"
    assert 0 < int(inside_camera(world, PING, "3000")) < 1000
    assert inside_camera(world, REQUEST_AS_MANY, "200") == "sent"
    neighbours = {one["dst"] for one in world.listed("neigh", "show", "dev", "w1")}
    assert neighbours == {CAMERA_ADDRESS}


async def test_ipv6_does_not_get_in(world: SmallWorld) -> None:
    camera = world.add_camera(1)
    await world.start_helper()
    run("ip", "-n", world.camera(1), "address", "add", "fd00::1/64", "dev", "ap0", "nodad")
    world.on_host("ip", "address", "add", "fd00::2/64", "dev", "w1", "nodad")
    assert inside_camera(world, CONNECT_IPV6) == "refused"
    await world.lead_to(camera)
    assert inside_camera(world, CONNECT_IPV6) == "timed out"


# -- routes


async def test_a_lease_in_the_cameras_network_takes_no_camera_away(world: SmallWorld) -> None:
    """An address of another camera and of the host, with a prefix that covers half of them."""
    cameras = [world.add_camera(number) for number in (1, 2, 3)]
    await world.start_helper()
    await world.lead_to(*cameras)
    table = str(0x774A0001)
    for address in ("10.77.0.2", "10.77.0.254"):
        world.on_host("ip", "address", "add", f"{address}/25", "dev", "w1", "noprefixroute")
    world.on_host("ip", "route", "add", "10.77.0.0/25", "dev", "w1", "table", table)
    assert await world.lead_to(*cameras[1:]) == ""
    assert await world.lead_to(*cameras) == ""
    for number in (1, 2, 3):
        assert await world.fetch(f"10.77.0.{number}") == f"camera {number}"


def ways(world: SmallWorld, addresses: Sequence[str]) -> list[str]:
    """How the host reaches addresses, a line each."""
    lines = "".join(f"route get {address}\n" for address in addresses)
    found = world.on_host("sh", "-c", f"ip -4 -oneline -batch - <<'END'\n{lines}END")
    return [line.split(" uid ")[0].replace(" table local", "") for line in found.splitlines()]


async def until_ways(world: SmallWorld, addresses: Sequence[str], wanted: list[str]) -> None:
    """Wait until the host reaches addresses in these ways."""
    async with asyncio.timeout(PATIENCE_S):
        while await asyncio.to_thread(ways, world, addresses) != wanted:
            pass


async def test_a_lease_in_the_lan_hides_no_host_there(world: SmallWorld) -> None:
    """`192.168.8.127` would be a broadcast address of the camera's link, whatever the routes."""
    camera = world.add_camera(1)
    world.add_lan(8)
    asked = [f"192.168.8.{host}" for host in (2, 20, 127, 128)]
    before = ways(world, asked)
    await world.start_helper()
    await world.lead_to((*camera[:3], "", ""))  # assigned, and no link yet
    end = ("dev", "w1", "noprefixroute")
    world.on_host("ip", "address", "add", "192.168.8.77/25", "broadcast", "192.168.8.20", *end)
    await until_ways(world, asked, before)
    await world.lead_to(camera)
    assert ways(world, asked) == before
    assert await world.fetch("10.77.0.1") == "camera 1"
    world.on_host("ip", "link", "set", "w1", "down")
    world.on_host("ip", "link", "set", "w1", "up")
    await until_ways(world, asked, before)
    await world.until_reached("10.77.0.1", "camera 1")
    assert ways(world, asked) == before


async def test_a_link_that_was_up_before_the_helper_hides_no_host(world: SmallWorld) -> None:
    camera = world.add_camera(1)
    world.add_lan(8)
    asked = ["192.168.8.127"]
    before = ways(world, asked)
    world.on_host("ip", "address", "add", "192.168.8.77/25", "dev", "w1", "noprefixroute")
    assert ways(world, asked) != before
    await world.start_helper()
    await world.lead_to(camera)
    assert ways(world, asked) == before


async def test_a_thousand_hosts_keep_their_ways_with_any_lease(world: SmallWorld) -> None:
    camera = world.add_camera(1)
    world.add_lan(8)
    world.on_host("ip", "route", "add", "default", "via", "192.168.8.2")
    await world.start_helper()
    await world.lead_to(camera)
    chosen = random.Random(28)
    networks = [
        IPv4Network(one) for one in ("192.168.8.0/24", "192.168.0.0/16", "10.0.0.0/8", "172.16.0.0/12")
    ]
    asked = [str(network[chosen.randrange(1, network.num_addresses - 1)]) for network in networks * 250]
    before = ways(world, asked)
    for _ in range(20):
        network = chosen.choice(networks)
        leased = str(network[chosen.randrange(1, network.num_addresses - 1)])
        lease = f"{leased}/{chosen.randrange(8, 33)}"
        end = ("dev", "w1", "noprefixroute")
        world.on_host("ip", "address", "add", lease, "broadcast", chosen.choice(asked), *end)
        kept = [(one, way) for one, way in zip(asked, before, strict=True) if one != leased]
        await until_ways(world, [one for one, _ in kept], [way for _, way in kept])
        world.on_host("ip", "address", "del", lease, "dev", "w1")


async def test_a_broadcast_of_a_camera_arrives_at_an_accepted_port(world: SmallWorld) -> None:
    await world.configure(ACCEPT)
    camera = world.add_camera(1)
    await world.start_helper()
    await world.lead_to(camera)
    async with receiver(world) as received:
        inside_camera(world, BROADCAST)
        assert await next_line(received) == "udp 10.77.0.1 to all"


async def test_one_camera_is_reached_at_its_own_address_too(world: SmallWorld) -> None:
    cameras = [world.add_camera(number) for number in (1, 2)]
    world.on_host("ip", "route", "add", "default", "dev", "lo")
    await world.start_helper()
    await world.lead_to(cameras[0])
    await until_route(world, CAMERA_ADDRESS, "w1")
    assert await world.fetch(CAMERA_ADDRESS) == "camera 1"
    assert route_to(world, "192.168.42.2") == "lo"
    await world.lead_to(*cameras)
    await until_route(world, CAMERA_ADDRESS, "lo")
    await world.lead_to(cameras[1])
    await until_route(world, CAMERA_ADDRESS, "w2")
    assert await world.fetch(CAMERA_ADDRESS) == "camera 2"
    await world.lead_to()
    await until_route(world, CAMERA_ADDRESS, "lo")


async def test_a_route_of_the_host_that_comes_later_goes_first(world: SmallWorld) -> None:
    camera = world.add_camera(1)
    lan = world.add_lan(8)
    world.serve(lan, 8)
    await world.start_helper()
    await world.lead_to(camera)
    await world.until_reached(CAMERA_ADDRESS, "camera 1")
    run("ip", "-n", lan, "address", "add", f"{CAMERA_ADDRESS}/24", "dev", "eth0")
    world.on_host("ip", "address", "add", "192.168.42.200/24", "dev", "lan8")
    await world.until_reached(CAMERA_ADDRESS, "camera 8")
    assert await world.fetch("10.77.0.1") == "camera 1"


async def test_a_program_that_is_bound_to_the_interface_reaches_the_camera(world: SmallWorld) -> None:
    world.on_host("sysctl", "-q", "-w", "net.ipv4.conf.all.rp_filter=1")
    cameras = [world.add_camera(number) for number in (1, 2)]
    await world.start_helper()
    await world.lead_to(*cameras)
    for number in (1, 2):
        assert await world.fetch(CAMERA_ADDRESS, "--interface", f"w{number}") == f"camera {number}"


async def test_routes_of_links_of_an_earlier_version_are_moved(world: SmallWorld) -> None:
    """They are in `main` and in the camera's table; a connection that stands goes on."""
    camera = world.add_camera(1)
    await world.start_helper()
    await world.lead_to(camera)
    index = json.loads(world.on_host("ip", "-j", "link", "show", "w1"))[0]["ifindex"]
    stream = await asyncio.create_subprocess_exec(
        *("ip", "netns", "exec", world.host, "bash", "-c", "exec 3<>/dev/tcp/10.77.0.1/81; exec cat <&3"),
        stdout=PIPE,
    )
    assert await next_line(stream) == "1"
    await world.end_helper(signal.SIGKILL)
    table = str(0x77490000 + index)
    earlier = f"192.168.42.0/24 dev w1 proto kernel scope link src {LEASE} metric 30001"
    world.on_host("ip", "route", "add", *earlier.split())
    world.on_host("ip", "route", "add", "default", "dev", "w1", "scope", "link", "table", table)
    await world.start_helper()
    await world.lead_to(camera)
    async with asyncio.timeout(PATIENCE_S):
        while "30001" in await asyncio.to_thread(world.on_host, "ip", "route", "show"):
            pass
    routes = world.listed("route", "show", "table", "all")
    assert not [route for route in routes if route["dst"] == "192.168.42.0/24" and "table" not in route]
    assert not [route for route in routes if route["dst"] == "default"]
    for _ in range(20):
        assert await next_line(stream) == "1"
    stream.kill()
    await stream.communicate()


# -- pushes


@pytest.mark.parametrize("rp_filter", ["0", "1", "2"])
async def test_pushes_of_cameras_with_equal_tuples_are_distinguished(
    world: SmallWorld, rp_filter: str
) -> None:
    world.on_host("sysctl", "-q", "-w", f"net.ipv4.conf.all.rp_filter={rp_filter}")
    cameras = [world.add_camera(number) for number in (1, 2, 3, 4)]
    await world.start_helper()
    await world.configure(ACCEPT)
    await world.lead_to(*cameras)
    async with receiver(world) as received:
        for kind in ("udp", "tcp"):
            replies = await asyncio.gather(*(push(world, number, kind) for number in (1, 2, 3, 4)))
            assert replies == [f"to {kind}{number}" for number in (1, 2, 3, 4)]
            lines = {await next_line(received) for _ in cameras}
            assert lines == {f"{kind} 10.77.0.{number} {kind}{number}" for number in (1, 2, 3, 4)}
        assert await world.fetch("10.77.0.3") == "camera 3"


async def test_a_model_pushes_to_its_own_port_alone(world: SmallWorld) -> None:
    number, address, interface, own, _ = world.add_camera(1)
    other = world.add_camera(2)
    await world.start_helper()
    await world.lead_to((number, address, interface, own, "gopro-hero9"), other)
    async with receiver(world) as received:
        assert await push(world, 1, "udp") == "to udp1"
        assert await next_line(received) == "udp 10.77.0.1 udp1"
        for refused in (push(world, 1, "tcp", seconds=1), push(world, 2, "udp", seconds=1)):
            assert (await refused).startswith("none")


async def test_a_camera_at_another_interface_is_not_taken_for_the_last_one(world: SmallWorld) -> None:
    """The kernel remembers the first camera's datagrams when the second one comes to its interface."""
    first, second = world.add_camera(1), world.add_camera(2)
    await world.start_helper()
    await world.configure(ACCEPT)
    await world.lead_to(first)
    async with receiver(world) as received:
        assert await push(world, 1, "udp") == "to udp1"
        assert await next_line(received) == "udp 10.77.0.1 udp1"
        await world.lead_to((2, "10.77.0.2", first[2], second[3], ""))
        assert await push(world, 1, "udp") == "to udp1"
        assert await next_line(received) == "udp 10.77.0.2 udp1"


async def test_new_flows_to_accepted_ports_are_bounded_and_a_stream_is_not(world: SmallWorld) -> None:
    camera = world.add_camera(1)
    await world.start_helper()
    await world.configure(ACCEPT)
    await world.lead_to(camera)
    counter = await asyncio.create_subprocess_exec(
        *("ip", "netns", "exec", world.host, "python3", "-c", COUNT), stdout=PIPE
    )
    assert await next_line(counter) == "ready"
    assert inside_camera(world, SEND_DATAGRAMS, "stream", "3000") == "sent"
    assert await next_line(counter) == "3000"
    assert inside_camera(world, SEND_DATAGRAMS, "flows", "3000") == "sent"
    assert 0 < int(await next_line(counter)) < 1000
    counter.kill()
    await counter.communicate()


async def test_an_accepted_port_that_the_host_uses_is_warned_about(
    world: SmallWorld, capfd: pytest.CaptureFixture[str]
) -> None:
    await world.start_helper()
    await world.configure('[cameras]\naccept = ["tcp/22", "tcp/8080", "udp/22"]\n')
    await world.lead_to()
    printed = capfd.readouterr().err
    assert printed.count("accepted_port_in_use") == 2
    assert "tcp/22" in printed
    assert "tcp/8080" in printed


# -- containers


def add_container(world: SmallWorld) -> str:
    """A container as Docker and Podman make them: a namespace at a bridge of a host that is a router."""
    container = world.add_lan(17)
    world.on_host("ip", "link", "add", "br0", "type", "bridge")
    world.on_host("ip", "address", "flush", "dev", "lan17")
    world.on_host("ip", "link", "set", "lan17", "master", "br0")
    world.on_host("ip", "address", "add", "192.168.17.1/24", "dev", "br0")
    world.on_host("ip", "link", "set", "br0", "up")
    world.on_host("sysctl", "-q", "-w", "net.ipv4.ip_forward=1")
    return container


PUBLISH = """
table ip published {
    chain prerouting {
        type nat hook prerouting priority -100
        fib daddr type local udp dport 8554 dnat to 192.168.17.2
        fib daddr type local tcp dport 8554 dnat to 192.168.17.2
    }
    chain postrouting {
        type nat hook postrouting priority 100
        ip saddr 192.168.17.0/24 oifname != "br0" masquerade
    }
    chain forward {
        type filter hook forward priority 0; policy drop
        oifname "br0" ct state related,established accept
        oifname "br0" ct status dnat accept
        iifname "br0" accept
    }
}
"""


async def test_a_container_reaches_the_cameras_where_its_network_is_named(world: SmallWorld) -> None:
    cameras = [world.add_camera(number) for number in (1, 2)]
    container = add_container(world)
    world.on_host("nft", PUBLISH)
    await world.start_helper()
    await world.lead_to(*cameras, share=("192.168.17.0/24",))
    for number in (1, 2):
        assert await world.fetch(f"10.77.0.{number}", inside=container) == f"camera {number}"


async def test_a_container_receives_pushes_where_a_port_is_published(world: SmallWorld) -> None:
    cameras = [world.add_camera(number) for number in (1, 2)]
    container = add_container(world)
    world.on_host("nft", PUBLISH)
    await world.start_helper()
    await world.configure(ACCEPT)
    await world.lead_to(*cameras)
    async with receiver(world, container) as received:
        for kind in ("udp", "tcp"):
            replies = await asyncio.gather(*(push(world, number, kind) for number in (1, 2)))
            assert replies == [f"to {kind}{number}" for number in (1, 2)]
            lines = {await next_line(received) for _ in cameras}
            assert lines == {f"{kind} 10.77.0.{number} {kind}{number}" for number in (1, 2)}
