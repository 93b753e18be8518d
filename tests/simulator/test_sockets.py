"""Connections to cameras of the simulated world: who answers, when, and until when."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import wraps
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final, cast

import pytest

from tests.daemon.backends.recording import Recorder
from tests.descriptors import settled_descriptors
from tests.simulator.emulators.served import HELLO, Insta360Client, Streams, http
from tests.virtual_time import VirtualTimeLoop
from wifimgrd import simulator as simulated
from wifimgrd.daemon.ports import BluetoothListener, JoinRequest
from wifimgrd.domain.addresses import SocketKind
from wifimgrd.domain.device import DeviceId, Passphrase, PowerState, Ssid
from wifimgrd.domain.errors import DeviceNotReachable, InvalidRequest, ServiceRefused
from wifimgrd.domain.power import Advertiser
from wifimgrd.simulator import SimulatedWorld, load_scenario, parse_scenario

TEXT: Final = """
adapter_count = 3
[[camera]]
ssid = "GoPro"
driver = "gopro"
bluetooth = "gopro"
battery = 61
[[camera]]
ssid = "X4"
driver = "insta360"
card_gb = 32
[[camera]]
ssid = "plain"
"""
GOPRO: Final = ("wlan0", "GoPro", 8080)
X4: Final = ("wlan1", "X4", 6666)
GIVE_UP_S: Final = 15

Test = Callable[["Story"], Awaitable[None]]


class Story:
    """A world, and who connects to its cameras."""

    def __init__(self, text: str = TEXT) -> None:
        self.world = SimulatedWorld(parse_scenario(text))
        self.recorder = Recorder(patience_s=60)
        self._writers: list[asyncio.StreamWriter] = []

    async def start(self) -> None:
        await self.world.adapters.start(self.recorder)
        await self.world.backend.start(self.recorder)

    async def advertised(self, service: str) -> Sequence[Advertiser]:
        """Which cameras with this service a search over Bluetooth finds."""
        found: list[Advertiser] = []
        await self.world.bluetooth.start(cast("BluetoothListener", SimpleNamespace(advertised=found.extend)))
        await self.world.bluetooth.search(10, [(service, "")])
        return found

    async def join(self, interface: str, ssid: str) -> None:
        request = JoinRequest(DeviceId(1), interface, Ssid(ssid.encode()), Passphrase(""), 20)
        await self.world.backend.join(request)

    async def open(self, interface: str, port: int, kind: SocketKind = SocketKind.TCP) -> Streams:
        opened = await self.world.sockets.open(DeviceId(1), interface, "192.168.42.1", port, kind)
        streams = await asyncio.open_connection(sock=opened)
        self._writers.append(streams[1])
        return streams

    async def connected(self, where: tuple[str, str, int]) -> Streams:
        interface, ssid, port = where
        await self.join(interface, ssid)
        return await self.open(interface, port)

    async def state(self, streams: Streams) -> Any:
        """That of the GoPro."""
        return (await http(streams, "GET", "/gopro/camera/state"))[1]["status"]

    async def end(self) -> None:
        for interface in ("wlan0", "wlan1", "wlan2"):
            await self.world.backend.leave(interface)
        for writer in self._writers:
            writer.close()
        await asyncio.sleep(1)


def in_no_time(test: Test) -> Callable[[], None]:
    """Run a test on a started world of its own, on the jumping clock."""

    @wraps(test)
    def run() -> None:
        async def story() -> None:
            one = Story()
            await one.start()
            await test(one)
            await one.end()

        with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
            runner.run(story())

    del run.__dict__["__wrapped__"]
    return run


async def is_silent(streams: Streams, sent: bytes = b"GET /gopro/version HTTP/1.1\r\n\r\n") -> bool:
    """Whether the connection is there, and nothing comes."""
    streams[1].write(sent)
    try:
        async with asyncio.timeout(5):
            assert await streams[0].read(1)
    except TimeoutError:
        return True
    return False


@in_no_time
async def test_a_camera_answers_at_its_ports(story: Story) -> None:
    streams = await story.connected(GOPRO)
    assert (await story.state(streams))["70"] == 61
    assert (await http(await story.open("wlan0", 80), "GET", "/gopro/version"))[0] == 200
    with pytest.raises(ServiceRefused):
        await story.open("wlan0", 6666)
    with pytest.raises(DeviceNotReachable):
        await story.open("wlan0", 8080, SocketKind.UDP)


@in_no_time
async def test_two_cameras_at_one_address_are_told_apart_by_the_interface(story: Story) -> None:
    gopro = await story.connected(GOPRO)
    streams = await story.connected(X4)
    client = Insta360Client(streams)
    client.send(HELLO)
    assert await client.receive() == HELLO
    assert await client.call(4, (1, 1)) == (200, {})
    assert (await story.state(gopro))["10"] == 0


@in_no_time
async def test_no_answer_without_a_driver_or_a_link(story: Story) -> None:
    await story.join("wlan2", "plain")
    for interface in ("wlan2", "wlan1"):
        with pytest.raises(DeviceNotReachable) as error:
            await story.open(interface, 8080)
        assert not isinstance(error.value, ServiceRefused)


@in_no_time
async def test_a_connection_ends_with_its_link(story: Story) -> None:
    gopro, x4 = await story.connected(GOPRO), await story.connected(X4)
    await story.world.backend.leave("wlan0")
    assert await gopro[0].read() == b""
    assert await is_silent(x4, b"")
    with pytest.raises(DeviceNotReachable):
        await story.open("wlan0", 8080)


@in_no_time
async def test_a_camera_that_is_switched_off_ends_its_connections_and_its_recording(story: Story) -> None:
    streams = await story.connected(GOPRO)
    await http(streams, "GET", "/gopro/camera/shutter/start")
    story.world.power_off_camera(b"GoPro", orderly=True)
    assert await streams[0].read() == b""
    story.world.power_on_camera(b"GoPro")
    await asyncio.sleep(1)
    assert (await story.state(await story.open("wlan0", 8080)))["10"] == 0


@in_no_time
async def test_a_power_cut_is_a_silence_until_the_link_is_interrupted(story: Story) -> None:
    streams = await story.connected(GOPRO)
    story.world.power_off_camera(b"GoPro", orderly=False)
    streams[1].write(b"GET /gopro/version HTTP/1.1\r\n\r\n")
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(1.0):
            await streams[0].read(1)
    with pytest.raises(DeviceNotReachable):
        await story.open("wlan0", 8080)
    await asyncio.sleep(0.2)
    assert await streams[0].read() == b""


@in_no_time
async def test_a_camera_out_of_range_goes_on_recording(story: Story) -> None:
    await http(await story.connected(GOPRO), "GET", "/gopro/camera/shutter/start")
    story.world.set_fault("out-of-range", {"ssid": "GoPro"})
    await asyncio.sleep(5)
    story.world.set_fault("out-of-range", {"ssid": "GoPro", "off": True})
    await asyncio.sleep(1)
    told = await story.state(await story.open("wlan0", 8080))
    assert (told["10"], told["13"]) == (1, 6)


@in_no_time
async def test_a_client_puts_a_camera_to_sleep(story: Story) -> None:
    streams = await story.connected(GOPRO)
    assert (await http(streams, "GET", "/gp/gpControl/command/system/sleep"))[0] == 200
    assert await streams[0].read() == b""
    assert story.recorder.about_links() == ["link_interrupted"]
    [seen] = await story.advertised("fea6")
    assert seen.power_state is PowerState.ASLEEP


@in_no_time
async def test_a_silent_camera(story: Story) -> None:
    streams = await story.connected(GOPRO)
    story.world.set_fault("silent", {"ssid": "GoPro"})
    assert await is_silent(streams)
    with pytest.raises(DeviceNotReachable):
        await story.open("wlan0", 8080)
    story.world.set_fault("silent", {"off": True})
    assert (await story.state(await story.open("wlan0", 8080)))["70"] > 0


@in_no_time
async def test_a_server_that_does_not_answer_and_one_that_is_mad(story: Story) -> None:
    streams = await story.connected(GOPRO)
    story.world.set_fault("control-silent", {})
    assert await is_silent(streams)
    story.world.set_fault("control-silent", {"off": True})
    story.world.set_fault("control-garbage", {"ssid": "GoPro"})
    streams[1].write(b"GET /gopro/version HTTP/1.1\r\n\r\n")
    assert b"version" not in await streams[0].read(10_000)


@in_no_time
async def test_faults_of_battery_card_and_heat(story: Story) -> None:
    streams = await story.connected(GOPRO)
    world = story.world

    async def told(*keys: str) -> list[int]:
        state = await story.state(streams)
        return [state[key] for key in keys]

    world.set_fault("battery", {"percent": 12, "drains": True})
    await asyncio.sleep(4)
    assert await told("70") == [8]
    world.set_fault("battery", {"off": True})
    await asyncio.sleep(4)
    assert await told("70") == [61]
    for kind, key, value in (
        ("card-full", "33", 1),
        ("card-missing", "33", 2),
        ("card-slow", "111", 1),
        ("too-hot", "6", 1),
    ):
        world.set_fault(kind, {"ssid": "GoPro"})
        assert await told(key) == [value]
        world.set_fault(kind, {"ssid": "GoPro", "off": True})
        assert await told(key) == [0]


@in_no_time
async def test_faults_of_recordings(story: Story) -> None:
    streams = await story.connected(GOPRO)
    world = story.world
    world.set_fault("refuses-recording", {})
    assert (await http(streams, "GET", "/gopro/camera/shutter/start"))[0] == 500
    world.set_fault("refuses-recording", {"off": True})
    world.set_fault("stops-recording", {"seconds": 2, "reason": "slow-card"})
    assert (await http(streams, "GET", "/gopro/camera/shutter/start"))[0] == 200
    await asyncio.sleep(1)
    assert (await story.state(streams))["10"] == 1
    await asyncio.sleep(1)
    assert (await story.state(streams))["10"] == 0
    world.set_fault("stops-recording", {"off": True})
    await http(streams, "GET", "/gopro/camera/shutter/start")
    await asyncio.sleep(10)
    assert (await story.state(streams))["10"] == 1


@in_no_time
async def test_a_wrong_clock(story: Story) -> None:
    streams = await story.connected(GOPRO)

    async def hour() -> int:
        return int((await http(streams, "GET", "/gopro/camera/get_date_time"))[1]["time"][:2])

    right = await hour()
    story.world.set_fault("clock-off", {"seconds": 6 * 3600})
    assert (await hour() - right) % 24 in {6, 7}
    story.world.set_fault("clock-off", {"off": True})
    assert (await hour() - right) % 24 in {0, 1}


@in_no_time
async def test_faults_of_one_camera_leave_the_others(story: Story) -> None:
    streams = await story.connected(GOPRO)
    story.world.set_fault("battery", {"ssid": "X4", "percent": 3})
    assert (await story.state(streams))["70"] == 61
    with pytest.raises(InvalidRequest, match="the camera plain has no driver"):
        story.world.set_fault("battery", {"ssid": "plain", "percent": 3})
    with pytest.raises(InvalidRequest, match="battery: expected the key percent or drains"):
        story.world.set_fault("battery", {})


@in_no_time
async def test_a_camera_with_a_driver_is_added(story: Story) -> None:
    options = {"driver": "gopro", "battery": 33, "camera_model": "HERO9 Black"}
    story.world.add_camera(b"another", "camera-pass", options)
    request = JoinRequest(DeviceId(2), "wlan2", Ssid(b"another"), Passphrase("camera-pass"), 20)
    await story.world.backend.join(request)
    streams = await story.open("wlan2", 8080)
    assert (await story.state(streams))["70"] == 33
    assert (await http(streams, "GET", "/gopro/camera/info"))[0] == 404


def test_the_scenario_to_record_with() -> None:
    scenario = load_scenario(Path(simulated.__file__).with_name("recording.toml"))
    drivers = [plan.emulated[0].value for plan in scenario.cameras.values() if plan.emulated is not None]
    assert drivers == ["gopro", "insta360", "insta360", "osc"]
    assert len(scenario.adapters) == 4
    first, second = (plan.emulated[1] for plan in list(scenario.cameras.values())[1:3] if plan.emulated)
    assert (first.battery, first.card_bytes, first.card_free_bytes, first.model) == (
        second.battery,
        second.card_bytes,
        second.card_free_bytes,
        second.model,
    )
    assert first.serial_number != second.serial_number


@in_no_time
async def test_a_connection_that_is_cancelled_as_it_opens_leaves_no_descriptor(story: Story) -> None:
    interface, ssid, port = GOPRO
    await story.join(interface, ssid)
    before = settled_descriptors()
    opening = asyncio.create_task(story.open(interface, port))
    await asyncio.sleep(0)
    opening.cancel()
    await asyncio.wait([opening])
    assert opening.cancelled()
    assert settled_descriptors() == before
