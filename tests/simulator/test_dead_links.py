"""Links that are up and dead in the simulated world: their evidence, and the steps that heal them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from tests.simulator.test_world import CAMERA, World, in_no_time
from wifimgrd.daemon.ports import Answer
from wifimgrd.domain.camera_model import Probe
from wifimgrd.domain.dead_links import Asked, Evidence, Finding, compare, judge
from wifimgrd.domain.device import DeviceId, Ssid
from wifimgrd.domain.errors import CameraBusy, DeviceNotReachable, InvalidRequest, NotSupported, WakeFailed
from wifimgrd.domain.link_steps import CAMERA_STEPS, PORT_STEPS, LinkStep
from wifimgrd.simulator import SimulatedWorld, parse_scenario

ADDRESS = "192.168.42.1"
OTHER = "narrow"
"""An adapter that is idle in these stories."""
GOPRO = """
adapter_count = 2
[[adapter]]
name = "built-in"
usb = false
[[camera]]
ssid = "SIM-CAM-1"
password = "camera-pass-1"
bluetooth = "gopro"
driver = "gopro"
"""


def with_gopro(test: Callable[[World], object]) -> Callable[[], None]:
    """Run a test in a world with a paired GoPro."""

    async def story(world: World) -> None:
        world.world = SimulatedWorld(parse_scenario(GOPRO))
        await world.start()
        world.world.bluetooth.bonded.add(world.world.camera(CAMERA).bluetooth_address)
        await test(world)  # type: ignore[misc]

    story.__name__ = story.__qualname__ = test.__name__
    return in_no_time(story)


async def answers(world: World, interface: str = "wlan0") -> bool:
    answer = await world.world.contact.probe(DeviceId(7), interface, ADDRESS, Probe())
    return answer is Answer.ANSWERED


async def evidence_of(world: World, interface: str = "wlan0", other: str = OTHER) -> Evidence:
    """The evidence of a minute, with three scans of another adapter."""
    seen = world.world.evidence
    before = await seen.counters(interface)
    await asyncio.sleep(60)
    found = Evidence().counted(compare(before, await seen.counters(interface)))
    found = found.asked(await seen.asked(interface, ADDRESS, 60) is Asked.ANSWERED)
    for _ in range(3):
        await world.world.backend.scan(other)
        results = await world.world.backend.recent_scan_results(other)
        found = found.scanned(any(one.ssid == Ssid(CAMERA) for one in results))
    return found


async def rejoin(world: World, interface: str = "wlan0") -> None:
    await world.world.backend.leave("wlan0")
    await world.join(interface=interface)


async def take(world: World, step: LinkStep) -> None:
    """Take a step, and join the camera again, as the manager does."""
    camera = world.world.camera(CAMERA)
    match step:
        case LinkStep.RESET_PORT:
            await world.world.backend.leave("wlan0")
            await world.world.adapters.reset_port("wlan0")
        case LinkStep.POWER_PORT:
            await world.world.backend.leave("wlan0")
            await world.world.adapters.power_port("wlan0")
        case LinkStep.CAMERA_ACCESS_POINT:
            await world.world.bluetooth.restart_access_point(camera.bluetooth_address, "fea6")
        case LinkStep.REBOOT_CAMERA:
            await world.world.bluetooth.reboot(camera.bluetooth_address, "fea6")
            await asyncio.sleep(4)
        case LinkStep.OTHER_ADAPTER:
            await rejoin(world, "wlan1")
            return
    await rejoin(world)


@in_no_time
async def test_a_link_that_is_alive_counts_and_answers(world: World) -> None:
    await world.join()
    counters = await world.world.evidence.counters("wlan0")
    assert counters is not None
    assert counters.connected_s == 0
    found = await evidence_of(world)
    assert judge(found) is Finding.ANSWERS_ARP
    counters = await world.world.evidence.counters("wlan0")
    assert counters is not None
    assert counters.connected_s == pytest.approx(61, abs=1)
    assert counters.beacons == pytest.approx(600, abs=10)


@in_no_time
async def test_without_a_link_there_is_no_evidence(world: World) -> None:
    assert await world.world.evidence.counters("wlan0") is None
    assert await world.world.evidence.asked("wlan0", ADDRESS, 60) is Asked.NOT_ASKED


@in_no_time
async def test_the_counters_of_a_new_link_begin_anew(world: World) -> None:
    await world.join()
    await asyncio.sleep(60)
    await rejoin(world)
    await asyncio.sleep(5)
    counters = await world.world.evidence.counters("wlan0")
    assert counters is not None
    assert counters.connected_s == 5
    assert counters.beacons == pytest.approx(49, abs=1)


@in_no_time
async def test_a_dead_link_is_up_and_nothing_passes_until_the_camera_is_joined_again(world: World) -> None:
    await world.join()
    world.world.set_fault("dead-link", {"ssid": CAMERA})
    assert [one.up for one in await world.world.backend.links()] == [True]
    assert not await answers(world)
    assert judge(await evidence_of(world)) is Finding.ON_THE_AIR
    await rejoin(world)
    assert await answers(world)


@in_no_time
async def test_a_dead_service_leaves_its_host_alive(world: World) -> None:
    await world.join()
    world.world.set_fault("dead-service", {"ssid": CAMERA})
    assert not await answers(world)
    assert judge(await evidence_of(world)) is Finding.ANSWERS_ARP
    await rejoin(world)
    assert not await answers(world)
    world.world.set_fault("dead-service", {"ssid": CAMERA, "off": True})
    assert await answers(world)


@in_no_time
async def test_a_dead_firmware_is_told_from_the_camera_by_another_adapter(world: World) -> None:
    await world.join()
    await asyncio.sleep(60)
    world.world.set_fault("dead-firmware", {"interface": "wlan0"})
    assert [one.up for one in await world.world.backend.links()] == [True]
    assert not await answers(world)
    found = await evidence_of(world)
    assert (found.heard, judge(found)) == (3, Finding.HEARD_ELSEWHERE)


@in_no_time
async def test_a_dead_firmware_hears_and_joins_nothing_until_its_port_is_reset(world: World) -> None:
    await world.join()
    world.world.set_fault("dead-firmware", {"interface": "wlan0"})
    await world.world.backend.leave("wlan0")
    await world.world.backend.scan("wlan0")
    assert not await world.world.backend.recent_scan_results("wlan0")
    with pytest.raises(DeviceNotReachable):
        await world.join()
    await world.world.backend.recover("wlan0", "restart")  # type: ignore[arg-type]
    with pytest.raises(DeviceNotReachable):
        await world.join()
    await world.world.adapters.reset_port("wlan0")
    await world.join()
    assert await answers(world)


@in_no_time
async def test_a_firmware_can_need_the_power_of_its_port_or_a_hand(world: World) -> None:
    for healed_by_hand in (False, True):
        world.world.set_fault("dead-firmware", {"interface": "wlan0", "heals": "power-port"})
        await world.world.adapters.reset_port("wlan0")
        with pytest.raises(DeviceNotReachable):
            await world.join()
        if healed_by_hand:
            world.world.unplug_adapter("wlan0")
            world.world.plug_adapter("wlan0")
        else:
            await world.world.adapters.power_port("wlan0")
        await world.join()
        await world.world.backend.leave("wlan0")


HEALS = [
    (LinkStep.REJOIN, LinkStep),
    (LinkStep.OTHER_ADAPTER, {LinkStep.OTHER_ADAPTER, *PORT_STEPS}),
    (LinkStep.RESET_PORT, PORT_STEPS),
    (LinkStep.POWER_PORT, {LinkStep.POWER_PORT}),
    (LinkStep.CAMERA_ACCESS_POINT, CAMERA_STEPS),
    (LinkStep.REBOOT_CAMERA, {LinkStep.REBOOT_CAMERA}),
]


@pytest.mark.parametrize("step", LinkStep)
@pytest.mark.parametrize(("heals", "helping"), HEALS, ids=lambda one: one if isinstance(one, str) else "")
def test_a_dead_link_is_healed_by_its_step_and_by_stronger_ones(
    heals: LinkStep, helping: set[LinkStep], step: LinkStep
) -> None:
    @with_gopro
    async def story(world: World) -> None:
        await world.join()
        world.world.set_fault("dead-link", {"ssid": CAMERA, "heals": heals})
        assert not await answers(world)
        await take(world, step)
        through = "wlan1" if step is LinkStep.OTHER_ADAPTER else "wlan0"
        works_elsewhere = step is LinkStep.OTHER_ADAPTER and heals not in CAMERA_STEPS
        assert await answers(world, through) is (step in helping or works_elsewhere)

    story()


@in_no_time
async def test_where_its_adapter_is_at_fault_a_link_counts_nothing(world: World) -> None:
    await world.join()
    await asyncio.sleep(60)
    world.world.set_fault("dead-link", {"ssid": CAMERA, "heals": "reset-port"})
    assert judge(await evidence_of(world)) is Finding.HEARD_ELSEWHERE


@in_no_time
async def test_a_link_that_is_not_up_cannot_be_dead(world: World) -> None:
    with pytest.raises(InvalidRequest, match="has no link"):
        world.world.set_fault("dead-link", {"ssid": CAMERA})
    world.world.set_fault("dead-link", {})
    await world.join()
    assert await answers(world)


@in_no_time
async def test_faults_of_links_end(world: World) -> None:
    await world.join()
    for kind, options in (
        ("dead-link", {"ssid": CAMERA}),
        ("dead-link", {"ssid": CAMERA, "heals": "reboot-camera"}),
        ("dead-service", {}),
        ("dead-firmware", {"interface": "wlan0"}),
    ):
        world.world.set_fault(kind, options)
        assert not await answers(world)
        world.world.set_fault(kind, {**options, "off": True})
        assert await answers(world)


@in_no_time
async def test_a_camera_that_is_switched_off_and_on_works_again(world: World) -> None:
    await world.join()
    world.world.set_fault("dead-service", {"ssid": CAMERA})
    world.world.power_off_camera(CAMERA, orderly=True)
    world.world.power_on_camera(CAMERA)
    await rejoin(world)
    assert await answers(world)


@in_no_time
async def test_without_power_switching_an_adapter_is_lost_until_it_is_replugged(world: World) -> None:
    world.world.set_fault("no-power-switching", {"interface": "wlan0"})
    with pytest.raises(TimeoutError, match="come back"):
        await world.world.adapters.power_port("wlan0")
    assert "wlan0" not in world.world.adapters.plugged
    world.world.plug_adapter("wlan0")
    powering = asyncio.create_task(world.world.adapters.power_port("wlan0"))
    await asyncio.sleep(5)
    assert not powering.done()
    world.world.plug_adapter("wlan0")
    await powering
    await world.world.adapters.reset_port("wlan0")
    await world.join()


@with_gopro
async def test_steps_of_a_port_need_usb(world: World) -> None:
    for step in (world.world.adapters.reset_port, world.world.adapters.power_port):
        with pytest.raises(OSError, match="is not on USB"):
            await step("built-in")


@with_gopro
async def test_a_camera_that_reboots_is_off_for_a_while(world: World) -> None:
    await world.join()
    camera = world.world.camera(CAMERA)
    await world.world.bluetooth.reboot(camera.bluetooth_address, "fea6")
    assert not camera.powered
    assert not camera.advertises
    await asyncio.sleep(2.9)
    assert not camera.powered
    await asyncio.sleep(0.2)
    assert camera.powered


@with_gopro
async def test_a_camera_that_is_switched_off_while_it_reboots_stays_off(world: World) -> None:
    camera = world.world.camera(CAMERA)
    await world.world.bluetooth.reboot(camera.bluetooth_address, "fea6")
    world.world.power_off_camera(CAMERA, orderly=True)
    await asyncio.sleep(60)
    assert not camera.powered


@with_gopro
async def test_a_camera_that_records_takes_no_steps(world: World) -> None:
    camera = world.world.camera(CAMERA)
    assert camera.emulated is not None
    camera.emulated.start()
    for step in (world.world.bluetooth.restart_access_point, world.world.bluetooth.reboot):
        with pytest.raises(CameraBusy):
            await step(camera.bluetooth_address, "fea6")
    assert camera.powered


@with_gopro
async def test_an_older_gopro_does_not_reboot(world: World) -> None:
    world.world.add_camera(
        b"old",
        "camera-pass-1",
        {"bluetooth": "gopro", "driver": "gopro", "firmware_version": "HD9.01.01.72.00"},
    )
    camera = world.world.camera(b"old")
    world.world.bluetooth.bonded.add(camera.bluetooth_address)
    with pytest.raises(WakeFailed, match="refused to reboot"):
        await world.world.bluetooth.reboot(camera.bluetooth_address, "fea6")
    assert camera.powered


@with_gopro
async def test_an_access_point_that_is_restarted_is_off_meanwhile_and_on_also_if_nobody_waits(
    world: World,
) -> None:
    await world.join()
    camera = world.world.camera(CAMERA)
    restarting = asyncio.create_task(
        world.world.bluetooth.restart_access_point(camera.bluetooth_address, "fea6")
    )
    await asyncio.sleep(0.1)
    assert (camera.powered, camera.is_on) == (False, True)
    restarting.cancel()
    await asyncio.wait([restarting])
    assert camera.powered


@with_gopro
async def test_cameras_of_other_makes_take_no_steps(world: World) -> None:
    for step in (world.world.bluetooth.restart_access_point, world.world.bluetooth.reboot):
        with pytest.raises(NotSupported):
            await step(world.world.camera(CAMERA).bluetooth_address, "8af982b1")
