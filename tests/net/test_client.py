"""The daemon's side: the helper knows which cameras are connected, whoever of the two begins anew."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from ipaddress import IPv4Network

import pytest

from tests.message_bus import MessageBusDaemon
from tests.net.small_world import NETWORK, SmallWorld, small_world
from wifimgrd.dbus import names
from wifimgrd.dbus.bus import BusConnection, MethodCall
from wifimgrd.domain.device import Device, DeviceId, DeviceState, DeviceStatus, Link, Ssid
from wifimgrd.domain.events import DeviceStateChanged, Event
from wifimgrd.net.client import AddressTeller
from wifimgrd.runtime.tasks import Tasks


@dataclass
class Daemon:
    """What the daemon knows, and its teller."""

    connection: BusConnection
    connected: dict[int, DeviceStatus] = field(default_factory=dict)
    passed_on: list[Event] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.teller = AddressTeller(self, self.connection, IPv4Network(NETWORK), (), Tasks("test"))

    def publish(self, event: Event) -> None:
        self.passed_on.append(event)

    async def start(self) -> None:
        await self.teller.start(self.connected.values)

    def connect(self, camera: tuple[str, str, str]) -> None:
        address, interface, own = camera
        number = int(address.rpartition(".")[2])
        device = Device(DeviceId(number), f"Camera {number}", "x", Ssid(b"x"), address=address)
        link = Link("192.168.42.20", own)
        self.connected[number] = DeviceStatus(device, DeviceState.CONNECTED, interface, link, address)
        self.teller.publish(DeviceStateChanged(self.connected[number]))

    def disconnect(self, number: int) -> None:
        gone = self.connected.pop(number)
        self.teller.publish(DeviceStateChanged(DeviceStatus(gone.device)))


@pytest.fixture
async def world() -> AsyncIterator[SmallWorld]:
    async with small_world() as world:
        yield world


@pytest.fixture
async def daemon(world: SmallWorld) -> AsyncIterator[Daemon]:
    connection = await BusConnection.open(world.bus)
    daemon = Daemon(connection)
    yield daemon
    await daemon.teller.stop()
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
    assert len(daemon.passed_on) == 3


async def test_a_helper_that_died_is_told_everything_again(world: SmallWorld, daemon: Daemon) -> None:
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


async def test_without_cameras_the_helper_is_not_called_for(world: SmallWorld, daemon: Daemon) -> None:
    before = world.left()
    await daemon.start()
    await world.start_helper()
    await daemon.connection.name_owner("org.wifimgrd1.Net")
    assert world.left() == before


async def test_a_helper_that_ends_right_behind_its_answer_is_told_everything_again(
    message_bus: MessageBusDaemon,
) -> None:
    """Both are read at once: the answer is handled before the call returns, and so is the end."""

    async def helper(*, ends: bool) -> BusConnection:
        connection = await BusConnection.open(message_bus.address)

        async def end() -> None:
            await connection.close()
            daemon.connection._incoming.resume()

        def answer(call: MethodCall) -> None:
            if ends:
                daemon.connection._incoming.pause()
            connection.reply(call, "s", [""])
            told.put_nowait(call.member)
            if ends:
                tasks.start("end", end())

        connection.serve(answer)
        await connection.ask_bus("RequestName", "su", [names.NET_BUS_NAME, 0])
        return connection

    told, tasks = asyncio.Queue[str](), Tasks("test")
    daemon = Daemon(await BusConnection.open(message_bus.address))
    daemon.connect(("10.77.0.1", "w1", "192.168.42.1"))
    await helper(ends=True)
    second = await helper(ends=False)  # waits for the name
    async with asyncio.timeout(20):
        await daemon.start()
        assert await told.get() == "Apply"
        await tasks.settle()
        assert await told.get() == "Apply"
    await daemon.teller.stop()
    await daemon.connection.close()
    await second.close()
