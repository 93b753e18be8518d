"""The simulated world's behaviour beyond that of every backend, in virtual time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from functools import wraps
from itertools import pairwise

import pytest

from tests.daemon.backends.recording import Recorder
from tests.virtual_time import VirtualTimeLoop
from wifimgrd.daemon.ports import JoinRequest
from wifimgrd.domain.device import BitRates, DeviceId, Link, Passphrase, Sighting, Ssid
from wifimgrd.domain.errors import (
    AddressFailed,
    AuthenticationFailed,
    ConnectionLost,
    DeviceNotReachable,
    InterfaceLost,
)
from wifimgrd.domain.events import BackendState
from wifimgrd.simulator import SimulatedWorld, parse_scenario
from wifimgrd.simulator._world import BriefMemory

TEXT = """
adapter_count = 2
camera_count = 2
[[adapter]]
name = "narrow"
bands = ["2.4GHz"]
[[adapter]]
name = "busy"
obstacle = "the default route"
[[camera]]
ssid = "open"
[[camera]]
ssid = "five"
password = "camera-pass-5"
band = "5GHz"
[[camera]]
ssid = "hidden"
password = "camera-pass-h"
hidden = true
[[camera]]
ssid = "slow"
password = "camera-pass-s"
join_s = 3
"""
CAMERA = b"SIM-CAM-1"

Test = Callable[["World"], Awaitable[None]]


class World:
    """A world that is watched."""

    def __init__(self, text: str = TEXT, memory: BriefMemory | None = None) -> None:
        self.world = SimulatedWorld(parse_scenario(text), memory)
        self.recorder = Recorder(patience_s=60)

    async def start(self) -> None:
        await self.world.adapters.start(self.recorder)
        await self.world.backend.start(self.recorder)

    async def join(
        self,
        ssid: str = "SIM-CAM-1",
        password: str = "camera-pass-1",
        interface: str = "wlan0",
        timeout_s: float = 20,
        sightings: tuple[Sighting, ...] = (),
    ) -> Link:
        request = JoinRequest(
            DeviceId(7), interface, Ssid(ssid.encode()), Passphrase(password), timeout_s, sightings
        )
        return await self.world.backend.join(request)

    def reported(self) -> list[tuple[str, str]]:
        return [(reported.what, reported.interface) for reported in self.recorder.reported]


def now() -> float:
    return asyncio.get_running_loop().time()


def in_no_time(test: Test) -> Callable[[], None]:
    """Run a test on a started world of its own, on the jumping clock."""

    @wraps(test)
    def run() -> None:
        async def story() -> None:
            world = World()
            await world.start()
            await test(world)

        with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
            runner.run(story())

    del run.__dict__["__wrapped__"]
    return run


@in_no_time
async def test_the_adapters_are_reported_before_start_returns(world: World) -> None:
    present = [name for what, name in world.reported() if what == "adapter_present"]
    assert present == ["wlan0", "wlan1", "narrow", "busy"]
    facts = {
        reported.interface: reported.facts
        for reported in world.recorder.reported
        if reported.facts is not None
    }
    assert facts["busy"].obstacle == "the default route"


@in_no_time
async def test_a_join_takes_its_time(world: World) -> None:
    await world.join()
    assert now() == pytest.approx(0.2, abs=0.01)


@in_no_time
async def test_an_absent_camera_costs_a_scan(world: World) -> None:
    with pytest.raises(DeviceNotReachable):
        await world.join("nowhere")
    assert now() == pytest.approx(0.3, abs=0.01)


@in_no_time
async def test_a_camera_switched_on_during_the_scan_is_found(world: World) -> None:
    world.world.power_off_camera(CAMERA, orderly=True)
    asyncio.get_running_loop().call_later(0.1, world.world.power_on_camera, CAMERA)
    await world.join()


@in_no_time
async def test_a_hidden_camera_costs_a_scan_at_first_contact_alone(world: World) -> None:
    link = await world.join("hidden", "camera-pass-h")
    assert now() == pytest.approx(0.5, abs=0.01)
    assert link.sighting is not None
    await world.world.backend.leave("wlan0")
    before = now()
    await world.join("hidden", "camera-pass-h", sightings=(link.sighting,))
    assert now() - before == pytest.approx(0.2, abs=0.01)


@in_no_time
async def test_a_camera_may_be_slower_than_others(world: World) -> None:
    await world.join("slow", "camera-pass-s")
    assert now() == pytest.approx(3, abs=0.01)


@in_no_time
async def test_an_adapter_receives_its_bands_alone(world: World) -> None:
    with pytest.raises(DeviceNotReachable):
        await world.join("five", "camera-pass-5", "narrow")
    link = await world.join("five", "camera-pass-5", "wlan0")
    assert link.sighting is not None
    assert link.sighting.frequency_mhz == 5180


@in_no_time
async def test_open_networks_and_passwords_must_agree(world: World) -> None:
    await world.join("open", "")
    with pytest.raises(AuthenticationFailed, match="open network"):
        await world.join("open", "camera-pass-1", "wlan1")
    with pytest.raises(AuthenticationFailed, match="asks for a password"):
        await world.join(password="", interface="wlan1")


@in_no_time
async def test_all_cameras_look_alike(world: World) -> None:
    first, second = await world.join(), await world.join("SIM-CAM-2", "camera-pass-2", "wlan1")
    assert first.local_address == second.local_address
    assert first.camera_address == second.camera_address == "192.168.42.1"
    assert first.sighting != second.sighting


@in_no_time
async def test_two_hosts_on_one_camera_have_two_addresses(world: World) -> None:
    first, second = await world.join(), await world.join(interface="wlan1")
    assert first.local_address != second.local_address
    await world.world.backend.leave("wlan0")
    assert (await world.join()).local_address == first.local_address


@in_no_time
async def test_a_second_join_on_an_interface_is_a_bug(world: World) -> None:
    await world.join()
    with pytest.raises(RuntimeError):
        await world.join("SIM-CAM-2", "camera-pass-2")


@in_no_time
async def test_an_orderly_power_off_is_reported_at_once_and_ends_after_15_s(world: World) -> None:
    await world.join()
    before = now()
    world.world.power_off_camera(CAMERA, orderly=True)
    assert world.reported()[-1] == ("link_interrupted", "wlan0")
    ended = await world.recorder.next("link_ended")
    assert isinstance(ended.error, ConnectionLost)
    assert now() - before == pytest.approx(15, abs=0.01)
    assert await world.world.backend.links() == []


@in_no_time
async def test_a_power_cut_is_reported_after_a_second(world: World) -> None:
    await world.join()
    before = now()
    world.world.power_off_camera(CAMERA, orderly=False)
    await world.recorder.next("link_interrupted")
    assert now() - before == pytest.approx(1.1, abs=0.01)


@in_no_time
async def test_a_short_power_cut_shows_all_the_same(world: World) -> None:
    await world.join()
    world.world.power_off_camera(CAMERA, orderly=False)
    await asyncio.sleep(0.5)
    world.world.power_on_camera(CAMERA)
    await asyncio.sleep(5)
    assert world.recorder.about_links() == ["link_interrupted", "link_restored"]


@in_no_time
async def test_a_camera_that_flickers_stays_interrupted_until_it_stays_on(world: World) -> None:
    await world.join()
    for _ in range(5):
        world.world.power_off_camera(CAMERA, orderly=True)
        await asyncio.sleep(0.1)
        world.world.power_on_camera(CAMERA)
        await asyncio.sleep(0.1)
    await world.recorder.next("link_restored")
    assert world.recorder.about_links() == ["link_interrupted", "link_restored"]


@in_no_time
async def test_a_camera_that_refuses_is_not_restored(world: World) -> None:
    await world.join()
    world.world.power_off_camera(CAMERA, orderly=True)
    world.world.set_fault("refuse-association", {"ssid": CAMERA})
    world.world.power_on_camera(CAMERA)
    await world.recorder.next("link_ended")
    assert world.recorder.about_links() == ["link_interrupted", "link_ended"]


@in_no_time
async def test_a_camera_switched_off_while_joined_is_not_reachable(world: World) -> None:
    asyncio.get_running_loop().call_later(0.1, world.world.power_off_camera, CAMERA, False)
    with pytest.raises(DeviceNotReachable):
        await world.join()


@in_no_time
async def test_an_adapter_is_gone_before_its_link(world: World) -> None:
    await world.join()
    world.recorder.forget()
    world.world.unplug_adapter("wlan0")
    assert world.reported() == [("adapter_gone", "wlan0"), ("link_ended", "wlan0")]
    world.world.plug_adapter("wlan0")
    assert world.reported()[2:] == [("interface_facts", "wlan0"), ("adapter_present", "wlan0")]


@in_no_time
async def test_an_adapter_comes_back_as_the_same(world: World) -> None:
    (before,) = [
        reported.adapter
        for reported in world.recorder.reported
        if reported.adapter and reported.interface == "wlan1"
    ]
    world.world.unplug_adapter("wlan1")
    world.recorder.forget()
    world.world.plug_adapter("wlan1")
    assert world.recorder.reported[1].adapter == before
    world.world.plug_adapter("wlan9")
    new = world.recorder.reported[3].adapter
    assert new is not None
    assert new.name == "wlan9"
    assert before is not None
    assert new.identity.match_strength(before.identity) == 0


@in_no_time
async def test_rfkill_describes_the_adapter_before_its_link_ends(world: World) -> None:
    await world.join()
    world.recorder.forget()
    world.world.set_fault("rfkill", {"interface": "wlan0"})
    assert world.reported() == [("adapter_present", "wlan0"), ("link_ended", "wlan0")]
    adapter, error = world.recorder.reported[0].adapter, world.recorder.reported[1].error
    assert adapter is not None
    assert adapter.rfkill == "soft-blocked"
    assert isinstance(error, InterfaceLost)
    with pytest.raises(InterfaceLost, match="soft-blocked"):
        await world.join()
    world.world.set_fault("rfkill", {"interface": "wlan0", "off": True})
    await world.join()


@in_no_time
async def test_the_backend_comes_back_by_itself(world: World) -> None:
    before = now()
    world.world.set_fault("backend-gone", {"seconds": 2})
    assert world.world.backend.status.state is BackendState.UNAVAILABLE
    world.world.plug_adapter("wlan9")
    assert world.reported()[-1] == ("adapter_present", "wlan9")
    await world.recorder.backend_is(BackendState.UNAVAILABLE)
    await world.recorder.backend_is(BackendState.READY)
    assert now() - before == pytest.approx(2, abs=0.01)
    assert ("interface_facts", "wlan9") in world.reported()


@in_no_time
async def test_the_backend_may_be_away_at_the_start(world: World) -> None:
    late = World()
    late.world.set_fault("backend-gone", {})
    await late.start()
    assert (await late.recorder.backend_is(BackendState.UNAVAILABLE)).reason
    late.world.set_fault("backend-gone", {"off": True})
    await late.recorder.backend_is(BackendState.READY)


@in_no_time
async def test_a_signal_is_reported_to_links_that_are_up(world: World) -> None:
    await world.join()
    world.world.set_fault("signal", {"ssid": "SIM-CAM-1", "percent": 31})
    changed = await world.recorder.next("link_changed")
    assert changed.link is not None
    assert changed.link.signal_percent == 31
    world.world.set_fault("signal", {"ssid": "SIM-CAM-1", "off": True})
    assert (await world.world.backend.links())[0].link.signal_percent == 70


@in_no_time
async def test_a_fault_can_spare_one(world: World) -> None:
    world.world.set_fault("dhcp-dead", {})
    world.world.set_fault("dhcp-dead", {"ssid": "SIM-CAM-2", "off": True})
    await world.join("SIM-CAM-2", "camera-pass-2")
    with pytest.raises(AddressFailed):
        await world.join(interface="wlan1")
    world.world.set_fault("dhcp-dead", {"off": True})
    world.world.set_fault("slow-join", {"ssid": CAMERA, "seconds": 4})
    before = now()
    await world.join(interface="wlan1")
    assert now() - before == pytest.approx(4, abs=0.01)


@in_no_time
async def test_scans_can_fail_and_leaving_can_be_slow(world: World) -> None:
    world.world.set_fault("scan-fails", {"interface": "wlan0"})
    with pytest.raises(DeviceNotReachable, match="scans fail"):
        await world.join()
    await world.join(interface="wlan1")
    world.world.set_fault("slow-leave", {"seconds": 3})
    before = now()
    leaving = asyncio.create_task(world.world.backend.leave("wlan1"))
    await asyncio.sleep(0)
    assert await world.world.backend.links() == []
    await leaving
    assert now() - before == pytest.approx(3, abs=0.01)


@in_no_time
async def test_a_new_camera_can_be_joined(world: World) -> None:
    world.world.add_camera(b"\xff\xfe", "camera-pass-n", {"powered": False, "security": "sae", "signal": 9})
    world.world.power_on_camera(b"\xff\xfe")
    request = JoinRequest(DeviceId(1), "wlan0", Ssid(b"\xff\xfe"), Passphrase("camera-pass-n"), 20)
    assert (await world.world.backend.join(request)).signal_percent == 9


@in_no_time
async def test_links_are_found_again_where_the_camera_is_on(world: World) -> None:
    memory = BriefMemory()
    first = World(memory=memory)
    await first.start()
    await first.join()
    await first.join("SIM-CAM-2", "camera-pass-2", "wlan1")
    first.world.add_camera(b"passing", "camera-pass-p", {})
    await first.join("passing", "camera-pass-p", "narrow")
    await first.world.backend.stop()

    later = World(
        TEXT + '[[camera]]\nssid = "SIM-CAM-2"\npassword = "camera-pass-2"\npowered = false\n', memory
    )
    await later.start()
    assert [(held.device_id, held.interface) for held in await later.world.backend.links()] == [(7, "wlan0")]
    await later.world.backend.leave("wlan0")
    await later.world.backend.stop()

    last = World(memory=memory)
    await last.start()
    assert await last.world.backend.links() == []


@in_no_time
async def test_a_spoilt_memory_is_forgotten(world: World) -> None:
    memory = BriefMemory()
    for interface, spoilt in [("wlan0", "{"), ("wlan1", "[]"), ("narrow", '{"device": "x"}')]:
        memory.note(f"simulated.link.{interface}", spoilt)
    later = World(memory=memory)
    await later.start()
    assert await later.world.backend.links() == []
    assert memory.recall("simulated.link.wlan0") is None


@in_no_time
async def test_stopping_keeps_what_is_up_and_nothing_runs(world: World) -> None:
    await world.join()
    await world.join("SIM-CAM-2", "camera-pass-2", "wlan1")
    world.world.power_off_camera(CAMERA, orderly=False)
    await world.world.backend.stop()
    await world.world.adapters.stop()
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualTimeLoop)
    waits = loop.waits
    await asyncio.sleep(3600)
    assert loop.waits == waits + 1
    assert world.recorder.about_links() == []
    await world.start()
    assert [held.interface for held in await world.world.backend.links()] == ["wlan1"]


@in_no_time
async def test_nothing_runs_while_nothing_is_connected(world: World) -> None:
    await world.join()
    await world.world.backend.leave("wlan0")
    await asyncio.sleep(10)
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualTimeLoop)
    waits = loop.waits
    await asyncio.sleep(3600)
    assert loop.waits == waits + 1


@in_no_time
async def test_all_links_are_read_together_and_seldom(world: World) -> None:
    await world.join()
    await world.join("SIM-CAM-2", "camera-pass-2", "wlan1")
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualTimeLoop)
    waits = loop.waits
    await asyncio.sleep(3600)
    assert loop.waits <= waits + 361


async def _read_within_an_hour(text: str) -> list[Link]:
    world = World(text)
    await world.start()
    await world.join()
    await asyncio.sleep(3600)
    return [reported.link for reported in world.recorder.reported if reported.link is not None]


@in_no_time
async def test_a_signal_swings_and_the_rates_follow(world: World) -> None:
    del world
    swings = await _read_within_an_hour(
        '[[adapter]]\nname = "wlan0"\n[[camera]]\nssid = "SIM-CAM-1"\npassword = "camera-pass-1"\n'
        "signal_swing = 10"
    )
    percents = [link.signal_percent for link in swings]
    assert (min(percents), max(percents)) == (60, 80)
    assert max(abs(one - other) for one, other in pairwise(percents)) <= 1
    assert {link.rates.tx_kbps for link in swings} >= {57_800, 86_700, 115_600}
    [first, *others] = await _read_within_an_hour(TEXT)
    assert {first} == {*others}
    assert (first.signal_percent, first.rates) == (70, BitRates(86_700, 57_800))


def test_a_join_costs_the_same_in_a_large_world() -> None:
    def cost(adapters: int, cameras: int, rounds: int) -> float:
        async def measure() -> float:
            text = f"adapter_count = {adapters}\ncamera_count = {cameras}\n[times]\njoin_s = 0\nleave_s = 0"
            world = World(text)
            await world.start()
            started = time.process_time()
            for _ in range(rounds):
                for number in range(adapters):
                    camera = number * cameras // adapters + 1
                    await world.join(f"SIM-CAM-{camera}", f"camera-pass-{camera}", f"wlan{number}")
                for number in range(adapters):
                    await world.world.backend.leave(f"wlan{number}")
            return (time.process_time() - started) / (rounds * adapters)

        with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
            return runner.run(measure())

    cost(4, 4, 64)
    small = min(cost(4, 4, 128) for _ in range(3))
    large = min(cost(256, 1000, 2) for _ in range(3))
    assert large < 3 * small
