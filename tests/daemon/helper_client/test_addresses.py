"""The helper has the connected cameras, whichever of the two processes is restarted."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field, replace
from ipaddress import IPv4Network
from typing import cast

import pytest
from structlog.testing import capture_logs

from tests.helper.small_world import NETWORK, PATIENCE_S, CameraArguments, SmallWorld, small_world
from tests.message_bus import MessageBusDaemon
from tests.virtual_time import VirtualTimeLoop
from wifimgrd.bus.connection import BusConnection, BusError, MethodCall, OwnerChange
from wifimgrd.daemon.helper_client.addresses import CameraAddresses, planned_cameras
from wifimgrd.domain.adapter import Adapter, AdapterIdentity
from wifimgrd.domain.device import Device, DeviceId, DeviceState, DeviceStatus, Link, Ssid
from wifimgrd.domain.events import DeviceStateChanged, InterfaceAdded, InterfaceChanged, InterfaceRemoved
from wifimgrd.domain.interface import Interface, InterfaceState, InterfaceStatus
from wifimgrd.runtime.tasks import Tasks
from wifimgrd.wire import helper_calls as calls

ADAPTER_PLUGGED = InterfaceAdded(
    InterfaceStatus(
        Interface(Adapter("wlan0", AdapterIdentity("02:00:00:00:00:01", "1-1.1"))), InterfaceState.AVAILABLE
    )
)


def device_of(number: int, address: str = "") -> Device:
    return Device(DeviceId(number), f"Camera {number}", "x", Ssid(b"x"), address=address)


@dataclass
class Daemon:
    """The connected devices, and the sink under test."""

    connection: BusConnection
    connected: dict[int, DeviceStatus] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.addresses = CameraAddresses(self.connection, IPv4Network(NETWORK), Tasks("test"))

    async def start(self) -> None:
        await self.addresses.start(self.connected.values)

    def join(self, camera: CameraArguments) -> None:
        number, address, interface, _, _ = camera
        device = device_of(number, address)
        self.connected[number] = DeviceStatus(device, DeviceState.CONNECTING, interface, None, address)

    def connect(self, camera: CameraArguments) -> None:
        number, address, interface, own, _ = camera
        device = device_of(number, address)
        link = Link("192.168.42.20", own)
        self.connected[number] = DeviceStatus(device, DeviceState.CONNECTED, interface, link, address)
        self.addresses.publish(DeviceStateChanged(self.connected[number]))

    def disconnect(self, number: int) -> None:
        gone = self.connected.pop(number)
        self.addresses.publish(DeviceStateChanged(DeviceStatus(gone.device)))


@pytest.fixture
async def world() -> AsyncIterator[SmallWorld]:
    async with small_world() as world:
        yield world


@pytest.fixture
async def daemon(world: SmallWorld) -> AsyncIterator[Daemon]:
    connection = await BusConnection.open(world.bus)
    daemon = Daemon(connection)
    yield daemon
    await daemon.addresses.stop()
    await connection.close()


async def test_cameras_are_led_to_while_they_are_connected(world: SmallWorld, daemon: Daemon) -> None:
    cameras = [world.add_camera(number) for number in (1, 2)]
    await world.start_helper()
    daemon.connect(cameras[0])
    await daemon.start()
    await world.until_reached("10.77.0.1", "camera 1")
    daemon.connect(cameras[1])
    await world.until_reached("10.77.0.2", "camera 2")
    daemon.disconnect(1)
    await world.until_reached("10.77.0.1", "curl: 7")
    assert await world.fetch("10.77.0.2") == "camera 2"


async def test_a_helper_that_died_is_sent_everything_again(world: SmallWorld, daemon: Daemon) -> None:
    camera = world.add_camera(1)
    await world.start_helper()
    daemon.connect(camera)
    await daemon.start()
    await world.until_reached("10.77.0.1", "camera 1")
    await world.end_helper(signal.SIGTERM)
    assert await world.fetch("10.77.0.1") != "camera 1"
    await world.start_helper()
    await world.until_reached("10.77.0.1", "camera 1")


async def test_a_daemon_that_begins_anew_takes_away_what_is_not_true_any_more(
    world: SmallWorld, daemon: Daemon
) -> None:
    cameras = [world.add_camera(number) for number in (1, 2)]
    await world.start_helper()
    await world.lead_to(*cameras)
    await daemon.start()
    await world.until_reached("10.77.0.1", "curl: 7")
    await world.until_reached("10.77.0.2", "curl: 7")


async def test_a_camera_whose_link_is_not_published_yet_is_led_to(world: SmallWorld, daemon: Daemon) -> None:
    camera = world.add_camera(1)
    await world.start_helper()
    await daemon.start()
    leading = asyncio.create_task(led_and_connected(daemon, camera))
    async with asyncio.timeout(20):
        assert await leading
    assert await world.fetch("10.77.0.1") == "camera 1"
    # The route to its own address is added behind the reply.
    await world.until_reached("192.168.42.1", "camera 1")
    before = world.left()
    await daemon.connection.round_trip()
    assert world.left() == before


async def led_and_connected(daemon: Daemon, camera: CameraArguments) -> bool:
    """As the manager does it: the camera is published right after it is led to."""
    daemon.join(camera)
    is_leading = await daemon.addresses.lead(*camera[1:4])
    daemon.connect(camera)
    return is_leading


async def test_a_camera_that_is_not_published_in_the_end_is_not_led_to_any_longer(
    world: SmallWorld, daemon: Daemon
) -> None:
    camera = world.add_camera(1)
    await world.start_helper()
    await daemon.start()
    daemon.join(camera)
    async with asyncio.timeout(20):
        assert await daemon.addresses.lead(*camera[1:4])
    del daemon.connected[1]
    daemon.addresses.publish(DeviceStateChanged(DeviceStatus(device_of(1))))
    await world.until_reached("10.77.0.1", "curl: 7")


async def test_where_the_network_is_anothers_nobody_waits_for_an_address(
    world: SmallWorld, daemon: Daemon
) -> None:
    camera = world.add_camera(1)
    world.add_lan(9)
    world.on_host("ip", "route", "add", "10.77.0.0/29", "dev", "lan9")
    await world.start_helper()
    await daemon.start()
    daemon.join(camera)
    async with asyncio.timeout(20):
        assert not await daemon.addresses.lead(*camera[1:4])


async def test_where_there_is_no_helper_only_the_first_camera_waits(message_bus: MessageBusDaemon) -> None:
    daemon = Daemon(await BusConnection.open(message_bus.address))
    await daemon.start()
    daemon.join((1, "10.77.0.1", "w1", "192.168.42.1", ""))
    async with asyncio.timeout(20):
        assert not await daemon.addresses.lead("10.77.0.1", "w1", "192.168.42.1")
    await daemon.addresses.stop()
    await daemon.connection.close()


class StartedByName:
    """A message bus that keeps which services were to be started."""

    def __init__(self, *, known: bool) -> None:
        self.started: list[list[object]] = []
        self._known = known

    async def call_bus(self, member: str, signature: str, body: list[object]) -> list[int]:
        assert (member, signature) == ("StartServiceByName", "su")
        self.started.append(body)
        if not self._known:
            raise BusError("org.freedesktop.DBus.Error.ServiceUnknown", "there is no such service")
        return [1]


@pytest.mark.parametrize("known", [True, False])
async def test_the_helper_is_started_with_the_first_adapter(known: bool) -> None:
    bus, tasks = StartedByName(known=known), Tasks("test")
    addresses = CameraAddresses(cast("BusConnection", bus), IPv4Network(NETWORK), tasks)
    addresses.publish(ADAPTER_PLUGGED)
    await tasks.settle()
    assert bus.started == [["org.wifimgrd1.Net", 0]]


async def test_the_helper_prepares_the_network_before_the_first_camera(
    world: SmallWorld, daemon: Daemon
) -> None:
    await world.start_helper()
    await daemon.start()
    daemon.addresses.publish(ADAPTER_PLUGGED)
    async with asyncio.timeout(PATIENCE_S):
        while "wifimgrd0" not in world.left():
            await daemon.connection.name_owner("org.wifimgrd1.Net")


async def test_without_adapters_and_cameras_the_helper_is_not_called_for(
    message_bus: MessageBusDaemon,
) -> None:
    """A call starts it; here it would fail, since the bus does not know it."""
    daemon = Daemon(await BusConnection.open(message_bus.address))
    with capture_logs() as logged:
        await daemon.start()
        for _ in range(3):  # the error of a call would be here before
            await daemon.connection.round_trip()
    await daemon.addresses.stop()
    await daemon.connection.close()
    assert logged == []


async def test_a_helper_that_ends_right_behind_its_answer_is_sent_everything_again(
    message_bus: MessageBusDaemon,
) -> None:
    """Both are read at once: the answer is handled before the call returns, and so is the end."""

    async def helper(*, ends: bool) -> BusConnection:
        connection = await BusConnection.open(message_bus.address)

        async def end() -> None:
            await connection.close()
            incoming.resume()

        def answer(call: MethodCall) -> None:
            if ends:
                incoming.pause()
            connection.reply(call, "s", [""])
            received.put_nowait(call.member)
            if ends:
                tasks.start("end", end())

        connection.serve(answer)
        await connection.call_bus("RequestName", "su", [calls.BUS_NAME, 0])
        return connection

    received, tasks = asyncio.Queue[str](), Tasks("test")
    daemon = Daemon(await BusConnection.open(message_bus.address))
    incoming = daemon.connection._incoming
    daemon.connect((1, "10.77.0.1", "w1", "192.168.42.1", ""))
    await helper(ends=True)
    second = await helper(ends=False)  # waits for the name
    async with asyncio.timeout(20):
        await daemon.start()
        assert await received.get() == "Apply"
        await tasks.settle()
        assert await received.get() == "Apply"
    await daemon.addresses.stop()
    await daemon.connection.close()
    await second.close()


class Ended:
    """A message bus with a helper that answers, and then ends."""

    def __init__(self) -> None:
        self.called = asyncio.Queue[float]()
        self.changed: Callable[[OwnerChange], None]

    async def watch_owner(self, changed: Callable[[OwnerChange], None], _: str) -> None:
        self.changed = changed

    async def watch(self, *_: object, **__: object) -> None:
        pass

    async def name_owner(self, _: str) -> str:
        return ":1.1"

    async def call(self, *_: object, on_reply: Callable[[list[object]], None], **__: object) -> list[str]:
        self.called.put_nowait(asyncio.get_running_loop().time())
        on_reply([""])
        return [""]

    async def call_bus(self, *_: object) -> list[int]:
        return [2]


def test_a_helper_that_is_stopped_is_started_again_when_that_is_over() -> None:
    """A start while systemd stops it would cancel that: `systemctl stop` fails then."""

    async def test() -> None:
        bus, loop = Ended(), asyncio.get_running_loop()
        addresses = CameraAddresses(cast("BusConnection", bus), IPv4Network(NETWORK), Tasks("test"))
        addresses.publish(interface_is("wlan0", InterfaceState.AVAILABLE))
        await addresses.start(tuple)
        await bus.called.get()
        for comes_back_s in (None, 0.5):
            ended_s = loop.time()
            bus.changed(OwnerChange(calls.BUS_NAME, ":1.1", ""))
            addresses.publish(interface_is("wlan0", InterfaceState.AVAILABLE))
            if comes_back_s is not None:
                loop.call_later(comes_back_s, bus.changed, OwnerChange(calls.BUS_NAME, "", ":1.2"))
            assert await bus.called.get() - ended_s == pytest.approx(comes_back_s or 1)
            await asyncio.sleep(10)
            assert bus.called.empty()
        await addresses.stop()

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        runner.run(test())


DEVICE = Device(DeviceId(1), "A", "gopro-hero9", Ssid(b"x"), address="10.77.0.1")
CONNECTING = DeviceStatus(DEVICE, DeviceState.CONNECTING, "w1", None, "10.77.0.1")
CONNECTED = DeviceStatus(DEVICE, DeviceState.CONNECTED, "w1", Link("10.5.5.100", "10.5.5.9"), "10.77.0.1")


def test_a_device_is_planned_with_its_link() -> None:
    assert planned_cameras([DeviceStatus(DEVICE)]) == ()
    assert planned_cameras([CONNECTED]) == ((1, "10.77.0.1", "w1", "10.5.5.9", "gopro-hero9"),)
    assert planned_cameras([CONNECTED], with_addresses=False) == ((1, "", "w1", "10.5.5.9", "gopro-hero9"),)
    led = {("10.77.0.1", "w1"): "10.5.5.7"}
    assert planned_cameras([CONNECTING], (), led) == ((1, "10.77.0.1", "w1", "10.5.5.7", "gopro-hero9"),)


def test_an_interrupted_device_keeps_its_zone_and_its_address() -> None:
    interrupted = replace(CONNECTING, lost_us=1)
    assert planned_cameras([interrupted], {"w1"}) == ((1, "10.77.0.1", "w1", "", "gopro-hero9"),)


def test_an_interface_without_a_link_is_only_closed() -> None:
    closed = [(0, "", "w0", "", ""), (0, "", "w1", "", "")]
    assert planned_cameras([CONNECTING]) == (closed[1],)
    assert planned_cameras([CONNECTING], {"w0"}) == planned_cameras([], {"w1", "w0"}) == tuple(closed)
    assert planned_cameras([CONNECTED], {"w0", "w1"})[1:] == (closed[0],)


def interface_is(name: str, state: InterfaceState) -> InterfaceChanged:
    adapter = Adapter(name, AdapterIdentity("02:00:00:00:00:01", "1-1.1"))
    return InterfaceChanged(InterfaceStatus(Interface(adapter), state, "" if state != "unavailable" else "x"))


async def until_closed(world: SmallWorld, daemon: Daemon, *, is_closed: bool = True) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while ("jump flood" in world.on_host("nft", "list", "ruleset")) != is_closed:
            await daemon.connection.name_owner("org.wifimgrd1.Net")


async def test_an_adapter_that_a_killed_helper_has_left_closed_is_opened_by_the_next_one(
    world: SmallWorld, daemon: Daemon
) -> None:
    name = world.add_camera(1)[2]
    await world.start_helper()
    await daemon.start()
    daemon.addresses.publish(interface_is(name, InterfaceState.AVAILABLE))
    await until_closed(world, daemon)
    await world.end_helper(signal.SIGKILL)
    daemon.addresses.publish(interface_is(name, InterfaceState.UNAVAILABLE))
    await world.start_helper()
    await until_closed(world, daemon, is_closed=False)


async def test_another_adapter_of_the_same_name_is_closed_too(message_bus: MessageBusDaemon) -> None:
    received = asyncio.Queue[object]()
    helper = await BusConnection.open(message_bus.address)

    def answer(call: MethodCall) -> None:
        helper.reply(call, "s", [""])
        received.put_nowait(call.body[1])

    helper.serve(answer)
    await helper.request_name(calls.BUS_NAME)
    daemon = Daemon(await BusConnection.open(message_bus.address))
    await daemon.start()
    async with asyncio.timeout(20):
        daemon.addresses.publish(ADAPTER_PLUGGED)
        while (first := await received.get()) == []:  # before the adapter was there
            pass
        daemon.addresses.publish(InterfaceRemoved("wlan0"))
        daemon.addresses.publish(ADAPTER_PLUGGED)
        assert await received.get() == first
    await daemon.addresses.stop()
    await daemon.connection.close()
    await helper.close()


async def test_an_adapter_is_closed_as_long_as_the_hub_can_use_it(world: SmallWorld, daemon: Daemon) -> None:
    name = world.add_camera(1)[2]
    await world.start_helper()
    await daemon.start()
    for state in InterfaceState:
        daemon.addresses.publish(interface_is(name, state))
        await until_closed(world, daemon, is_closed=state is not InterfaceState.UNAVAILABLE)
    daemon.addresses.publish(interface_is(name, InterfaceState.AVAILABLE))
    await until_closed(world, daemon)
    daemon.addresses.publish(InterfaceRemoved(name))
    await until_closed(world, daemon, is_closed=False)
