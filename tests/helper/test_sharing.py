"""Cameras shared with networks of other hosts: those reach them, and nothing else is opened."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator

import pytest

from tests.helper.small_world import SmallWorld, run, small_world
from wifimgrd.bus.connection import BusError

pytestmark = pytest.mark.slow

SHARE = ("192.168.8.0/24",)


@pytest.fixture
async def world() -> AsyncIterator[SmallWorld]:
    """A host that is no router."""
    async with small_world() as world:
        world.on_host("sysctl", "-q", "-w", "net.ipv4.ip_forward=0", "net.ipv4.conf.all.rp_filter=1")
        yield world


def forwarding(world: SmallWorld, *interfaces: str) -> list[str]:
    settings = (f"/proc/sys/net/ipv4/conf/{interface}/forwarding" for interface in interfaces)
    return world.on_host("cat", *settings).split()


async def denied(world: SmallWorld, address: str, *options: str, inside: str) -> bool:
    """Whether there is no answer, at once or within a while."""
    return await world.fetch(address, "-m", "2", *options, inside=inside) in ("curl: 7", "curl: 28")


async def test_hosts_of_a_shared_network_reach_each_camera_at_its_address(world: SmallWorld) -> None:
    cameras, machine = [world.add_camera(number) for number in (1, 2)], world.add_lan(8)
    await world.start_helper()
    assert await world.lead_to(*cameras, share=SHARE) == ""
    asked = [1, 2] * 10
    answers = await asyncio.gather(
        *(world.fetch(f"10.77.0.{number}", inside=machine) for number in asked),
        *(world.fetch(f"10.77.0.{number}") for number in asked),
    )
    assert answers == [f"camera {number}" for number in asked] * 2
    echo = "exec 3<>/dev/udp/10.77.0.2/82; echo -n hello >&3; timeout 5 head -c 7 <&3"
    assert run("ip", "netns", "exec", machine, "bash", "-c", echo) == "2:hello"
    assert await world.fetch("10.77.0.9", inside=machine) == "curl: 7"


async def test_a_camera_that_comes_later_is_shared_and_one_that_leaves_touches_no_other(
    world: SmallWorld,
) -> None:
    first, second, machine = world.add_camera(1), world.add_camera(2), world.add_lan(8)
    await world.start_helper()
    await world.lead_to(first, share=SHARE)
    assert await world.fetch("10.77.0.2", inside=machine) == "curl: 7"
    await world.lead_to(first, second, share=SHARE)
    assert await world.fetch("10.77.0.2", inside=machine) == "camera 2"
    await world.lead_to(second, share=SHARE)
    assert await world.fetch("10.77.0.1", inside=machine) == "curl: 7"
    assert await world.fetch("10.77.0.2", inside=machine) == "camera 2"
    assert forwarding(world, "w1", "w2") == ["0", "1"]


async def test_forwarding_that_another_program_switches_off_is_on_again(world: SmallWorld) -> None:
    camera, machine = world.add_camera(1), world.add_lan(8)
    await world.start_helper()
    await world.lead_to(camera, share=SHARE)
    assert await world.fetch("10.77.0.1", inside=machine) == "camera 1"
    off = [f"net.ipv4.conf.{interface}.forwarding=0" for interface in ("w1", "lan8")]
    world.on_host("sysctl", "-q", "-w", *off)
    await world.until_reached("10.77.0.1", "camera 1", inside=machine)


async def test_nobody_else_reaches_a_camera(world: SmallWorld) -> None:
    camera, machine, stranger = world.add_camera(1), world.add_lan(8), world.add_lan(9)
    await world.start_helper()
    await world.lead_to(camera)
    assert await denied(world, "10.77.0.1", inside=machine)  # off by default
    await world.lead_to(camera, share=SHARE)
    assert await world.fetch("10.77.0.1", inside=machine) == "camera 1"
    assert await denied(world, "10.77.0.1", inside=stranger)
    await world.lead_to(camera)
    assert await denied(world, "10.77.0.1", inside=machine)
    assert forwarding(world, "lan8", "w1") == ["0", "0"]


async def test_the_host_becomes_no_router(world: SmallWorld) -> None:
    cameras = [world.add_camera(number) for number in (1, 2)]
    machine, stranger = world.add_lan(8), world.add_lan(9)
    for namespace in (machine, stranger):
        world.serve(namespace)
    world.in_camera(1, "ip", "route", "add", "default", "via", "192.168.42.20")
    await world.start_helper()
    await world.lead_to(*cameras, share=SHARE)
    assert forwarding(world, "lan8", "w1", "w2", "lan9", "all") == ["1", "1", "1", "0", "0"]
    assert await world.fetch("192.168.9.2") == "camera 0"  # the host itself
    assert await denied(world, "192.168.9.2", inside=machine)
    assert await denied(world, "192.168.42.1", inside=machine)
    # A camera gets neither into the LAN nor to other cameras, and not with a LAN address either.
    assert await denied(world, "192.168.8.2", inside=world.camera(1))
    assert await denied(world, "10.77.0.2", inside=world.camera(1))
    world.in_camera(1, "ip", "address", "add", "192.168.8.77/32", "dev", "ap0")
    assert await denied(world, "10.77.0.2", "--interface", "192.168.8.77", inside=world.camera(1))


async def test_a_host_that_is_a_router_stays_one(world: SmallWorld) -> None:
    camera, machine, stranger = world.add_camera(1), world.add_lan(8), world.add_lan(9)
    world.serve(stranger)
    world.on_host("sysctl", "-q", "-w", "net.ipv4.ip_forward=1")
    await world.start_helper()
    await world.lead_to(camera, share=SHARE)
    assert await world.fetch("10.77.0.1", inside=machine) == "camera 1"
    assert await world.fetch("192.168.9.2", inside=machine) == "camera 0"
    assert await denied(world, "10.77.0.1", inside=stranger)
    await world.end_helper()
    assert forwarding(world, "lan8", "w1", "all") == ["1", "1", "1"]


async def test_a_flush_of_all_rules_is_healed_for_them_too(world: SmallWorld) -> None:
    camera, machine = world.add_camera(1), world.add_lan(8)
    await world.start_helper()
    await world.lead_to(camera, share=SHARE)
    world.on_host("nft", "flush", "ruleset")
    await world.until_reached("10.77.0.1", "camera 1", inside=machine)


async def test_a_flush_of_all_rules_opens_nothing_for_a_moment(world: SmallWorld) -> None:
    """The helper is stopped, so that the moment lasts: forwarding is on and there are no nftables rules."""
    camera = world.add_camera(1)  # one alone has a route in `main`
    machine, stranger = world.add_lan(8), world.add_lan(9)
    for namespace in (machine, stranger):
        world.serve(namespace)
    run("ip", "-n", machine, "route", "add", "192.168.42.0/24", "via", "192.168.8.1")
    world.in_camera(1, "ip", "route", "add", "default", "via", "192.168.42.20")
    helper = await world.start_helper()
    await world.lead_to(camera, share=SHARE)
    assert await world.fetch("10.77.0.1", inside=machine) == "camera 1"
    await world.until_reached("192.168.42.1", "camera 1")
    helper.send_signal(signal.SIGSTOP)
    world.on_host("nft", "flush", "ruleset")
    assert forwarding(world, "lan8", "w1") == ["1", "1"]
    for address in ("192.168.9.2", "192.168.42.1", "10.77.0.1"):
        assert await denied(world, address, inside=machine)
    for address in ("192.168.8.2", "192.168.9.2"):
        assert await denied(world, address, inside=world.camera(1))
    helper.send_signal(signal.SIGCONT)
    await world.until_reached("10.77.0.1", "camera 1", inside=machine)


async def test_an_interface_by_which_they_come_later_is_opened(world: SmallWorld) -> None:
    camera = world.add_camera(1)
    await world.start_helper()
    await world.lead_to(camera, share=SHARE)
    machine = world.add_lan(8)
    await world.until_reached("10.77.0.1", "camera 1", inside=machine)


@pytest.mark.parametrize("by", [signal.SIGTERM, signal.SIGKILL])
async def test_forwarding_is_given_back(world: SmallWorld, by: signal.Signals) -> None:
    camera = world.add_camera(1)
    world.add_lan(8)
    before = world.left()
    await world.start_helper()
    await world.lead_to(camera, share=SHARE)
    assert forwarding(world, "lan8", "w1") == ["1", "1"]
    await world.end_helper(by)
    if by is signal.SIGKILL:
        await world.start_helper()
        await world.lead_to(camera)
        assert forwarding(world, "lan8", "w1") == ["0", "0"]
        await world.end_helper()
    assert forwarding(world, "lan8", "w1") == ["0", "0"]
    assert world.left() == before


@pytest.mark.parametrize("share", ["10.77.0.0/25", "0.0.0.0/0", "192.168.8.1/24", "lan"])
async def test_what_cannot_be_shared_is_not(world: SmallWorld, share: str) -> None:
    """Nor is anything else that such a configuration names."""
    camera, machine = world.add_camera(1), world.add_lan(8)
    await world.start_helper()
    await world.lead_to(camera, share=(*SHARE, share))
    assert await denied(world, "10.77.0.1", inside=machine)
    assert await world.fetch("10.77.0.1") == "camera 1"


async def test_the_cameras_own_network_is_not_shared_with_itself(world: SmallWorld) -> None:
    await world.start_helper()
    with pytest.raises(BusError) as caught:
        await world.lead_to(network="192.168.8.0/25", share=SHARE)
    assert caught.value.name == "org.wifimgrd1.Error.InvalidArguments"
