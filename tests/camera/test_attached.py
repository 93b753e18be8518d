"""Connected cameras in the process: what the daemon calls and hears, and the sockets that it passes in."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.camera.conftest import Caller, until
from tests.camera.scripted_control import PORT, REFUSING, ScriptedControl
from tests.descriptors import open_descriptors, settled_descriptors
from tests.message_bus import MessageBusDaemon
from wifimgrd.bus.connection import BusConnection, BusError, MethodCall, Signal
from wifimgrd.camera._attached import AttachedCameras
from wifimgrd.camera._service import CameraService
from wifimgrd.camera._wanted_sockets import WantedSockets
from wifimgrd.domain.camera import CameraDriver, CameraReading
from wifimgrd.domain.device import DeviceId
from wifimgrd.domain.errors import (
    BackendUnavailable,
    DeviceNotReachable,
    InterfaceLost,
    InvalidRequest,
    NotConnected,
    ServiceRefused,
)
from wifimgrd.domain.recordings import RecordedFile
from wifimgrd.runtime.tasks import Tasks
from wifimgrd.wire import camera_calls as calls
from wifimgrd.wire import camera_names as names


async def error_of(call: Any) -> str:
    with pytest.raises(BusError) as raised:
        await call
    return raised.value.name.rpartition(".")[2]


class Daemon(Caller):
    """The daemon, with what it hears of connected cameras."""

    def __init__(self, connection: BusConnection) -> None:
        super().__init__(connection)
        self.readings: list[tuple[int, dict[str, Any]]] = []
        self.wanted: list[tuple[int, int, int]] = []

    @classmethod
    async def on(cls, bus: MessageBusDaemon) -> Daemon:
        daemon = cls(await BusConnection.open(bus.address, sockets=True))
        for member, heard in (("CameraRead", daemon.hear_reading), ("SocketWanted", daemon.hear_wish)):
            await daemon.connection.watch(heard, interface=calls.BUS_NAME, member=member)
        return daemon

    def hear_reading(self, signal: Signal) -> None:
        device, values = signal.body
        self.readings.append((device, values))  # type: ignore[arg-type]

    def hear_wish(self, signal: Signal) -> None:
        self.wanted.append(tuple(signal.body))  # type: ignore[arg-type]

    async def attach(self, device: int, driver: str = "gopro") -> None:
        await self.call("Attach", "ts", device, driver)

    async def give(self, serial: int) -> socket.socket:
        """A pipe for a camera; its other end."""
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        try:
            await self.call("GiveSocket", "th", serial, theirs)
        except BaseException:
            ours.close()
            raise
        return ours


@pytest.fixture
async def daemon(bus: MessageBusDaemon, service: CameraService) -> AsyncIterator[Daemon]:
    daemon = await Daemon.on(bus)
    yield daemon
    await daemon.connection.close()


@pytest.mark.parametrize(
    ("member", "signature", "body"),
    [
        ("Attach", "ts", (1, "dji")),
        ("Attach", "ts", (1, "")),
        ("Attach", "s", ("gopro",)),
        ("Record", "atb", (list(range(257)), True)),
        ("GiveSocket", "t", (1,)),
        ("RefuseSocket", "tss", (1, "device-not-reachable", "off")),
        ("SetClock", "s", ("1",)),
    ],
)
async def test_what_is_not_valid_is_refused(
    daemon: Daemon, member: str, signature: str, body: tuple[object, ...]
) -> None:
    assert await error_of(daemon.call(member, signature, *body)) == "InvalidArguments"


async def test_a_camera_is_attached_read_and_detached(daemon: Daemon, control: ScriptedControl) -> None:
    await daemon.attach(1, "insta360")
    assert control.attached == {1: CameraDriver.INSTA360}
    await until(lambda: daemon.readings)
    assert daemon.readings == [(1, {"read_us": 1, "battery_level": 80, "clock_read_us": 0})]
    await daemon.attach(1, "insta360")
    assert control.attachments == 1
    await daemon.attach(1, "osc")
    assert (control.attached, control.attachments) == ({1: CameraDriver.OSC}, 2)
    await daemon.call("Detach", "t", 1)
    await daemon.call("Detach", "t", 1)
    assert not control.attached


async def test_not_more_cameras_are_attached_than_there_may_be(
    daemon: Daemon, control: ScriptedControl
) -> None:
    for number in range(names.MOST_CAMERAS):
        await daemon.attach(number)
    assert await error_of(daemon.attach(1000)) == "InvalidArguments"
    await daemon.attach(0, "osc")
    await daemon.call("Detach", "t", 5)
    await daemon.attach(1000)
    assert len(control.attached) == names.MOST_CAMERAS


async def test_of_readings_that_come_fast_the_first_and_the_last_are_reported(
    daemon: Daemon, control: ScriptedControl
) -> None:
    await daemon.attach(1)
    await until(lambda: daemon.readings)
    for number in range(1000):
        control.say(DeviceId(1), CameraReading(read_us=number, battery_level=1 << 70))
        control.say(DeviceId(2), CameraReading(read_us=number))
    await until(lambda: len(daemon.readings) > 1)
    assert daemon.readings[1:] == [(1, {"read_us": 999, "clock_read_us": 0})]
    control.say(DeviceId(1), CameraReading(read_us=5))
    await daemon.call("Detach", "t", 1)
    control.say(DeviceId(1), CameraReading(read_us=6))
    await daemon.attach(1)
    await until(lambda: len(daemon.readings) > 2)
    assert daemon.readings[-1][1]["battery_level"] == 80


async def test_each_command_has_a_result_of_its_own(daemon: Daemon, control: ScriptedControl) -> None:
    for device in (1, 2, REFUSING):
        await daemon.attach(device)
    [rows] = await daemon.call("Record", "atb", [1, REFUSING, 2, 3, 1], True)
    assert rows == [
        {"device": 1, "after": 1001, "code": "", "message": ""},
        {"device": 13, "after": 2000, "code": "camera-refused", "message": "the card is full"},
        {"device": 2, "after": 1002, "code": "", "message": ""},
        {"device": 3, "after": 0, "code": "not-connected", "message": "the camera is not connected"},
    ]
    assert await daemon.call("Record", "atb", [], True) == [[]]
    await daemon.call("SetClock", "t", 2)
    assert control.clocks == [2]
    assert await error_of(daemon.call("SetClock", "t", int(REFUSING))) == "CameraRefused"


async def test_the_files_of_a_recording_are_told(daemon: Daemon, control: ScriptedControl) -> None:
    for device in (1, REFUSING):
        await daemon.attach(device)
    assert await daemon.call("RecordedFiles", "ttt", 1, 5, 7) == [False, []]
    control.files = (RecordedFile("100GOPRO/GX010001.MP4", 1 << 40), RecordedFile("100GOPRO/GX020001.MP4"))
    told = [["100GOPRO/GX010001.MP4", 1 << 40], ["100GOPRO/GX020001.MP4", -1]]
    assert await daemon.call("RecordedFiles", "ttt", 1, 5, 7) == [True, told]
    assert control.spans == [(5, 7), (5, 7)]
    assert await error_of(daemon.call("RecordedFiles", "ttt", int(REFUSING), 5, 7)) == "CameraBusy"


@pytest.mark.parametrize(
    "files", [(RecordedFile("x" * 256),), (RecordedFile("a\nb"),), (), (RecordedFile("x"),) * 65]
)
async def test_files_beyond_the_bounds_are_not_told(
    daemon: Daemon, control: ScriptedControl, files: tuple[RecordedFile, ...]
) -> None:
    await daemon.attach(1)
    control.files = files
    assert await daemon.call("RecordedFiles", "ttt", 1, 5, 7) == [False, []]


# -- sockets


async def test_a_socket_that_is_wanted_is_passed_in(daemon: Daemon, control: ScriptedControl) -> None:
    await daemon.attach(1)
    await until(lambda: daemon.wanted)
    [(serial, device, port)] = daemon.wanted
    assert (device, port) == (1, PORT)
    with await daemon.give(serial) as ours:
        ours.send(b"X4")
        await until(lambda: len(daemon.readings) == 2)
        assert daemon.readings[1][1]["model"] == "X4"
        assert await error_of(daemon.give(serial)) == "InvalidArguments"


@pytest.mark.slow
async def test_no_descriptor_is_left_of_1000_exchanges_and_of_errors(
    daemon: Daemon, control: ScriptedControl
) -> None:
    async def is_closed(pipe: socket.socket) -> bool:
        with pipe:
            return not await asyncio.get_running_loop().sock_recv(pipe, 1)

    async def exchange(device: int) -> None:
        before = len(daemon.wanted)
        await daemon.attach(device)
        await until(lambda: len(daemon.wanted) > before)
        serial = daemon.wanted[-1][0]
        match device % 5:
            case 0:
                await daemon.call("RefuseSocket", "tss", serial, "device-not-reachable", "off")
                assert await error_of(daemon.give(serial)) == "InvalidArguments"
            case 1:
                assert await error_of(daemon.give(1 << 40)) == "InvalidArguments"
                with await daemon.give(serial) as ours:
                    ours.send(b"x")
            case 2:
                ours = await daemon.give(serial)
                await until(lambda: DeviceId(device) in control.sockets)
                await daemon.call("Detach", "t", device)
                assert await is_closed(ours)
                return
            case 3:
                await daemon.call("Detach", "t", device)
                assert await error_of(daemon.give(serial)) == "InvalidArguments"
                return
            case 4:
                # The last of two calls comes before what wanted the socket goes on.
                giving = asyncio.create_task(daemon.give(serial))
                await asyncio.gather(giving, daemon.call("Detach", "t", device))
                assert await is_closed(giving.result())
                return
        await daemon.call("Detach", "t", device)

    for device in range(5):  # whatever is imported, opened or cached once
        await exchange(device)
    before = settled_descriptors()
    for device in range(1000):
        await exchange(device)
    assert not control.sockets
    assert open_descriptors() == before


async def test_a_socket_with_a_call_that_takes_none_is_closed(daemon: Daemon) -> None:
    before = settled_descriptors()
    for member in ("GetStatus", "Other", "GiveSocket"):
        ours, theirs = socket.socketpair()
        with ours:
            await error_of(daemon.call(member, "h", theirs))
    assert open_descriptors() == before


async def test_a_socket_for_a_call_without_one_is_missed(daemon: Daemon) -> None:
    await daemon.attach(1)
    await until(lambda: daemon.wanted)
    serial = daemon.wanted[0][0]
    with pytest.raises(BusError):  # of the bus, which counts descriptors, or of the process
        await daemon.call("GiveSocket", "th", serial, 0)


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("device-not-reachable", DeviceNotReachable),
        ("port-refused", ServiceRefused),
        ("interface-lost", InterfaceLost),
        ("not-connected", NotConnected),
    ],
)
async def test_why_there_is_no_socket_is_told(code: str, kind: type[Exception]) -> None:
    asked: list[tuple[int, DeviceId, int]] = []
    wanted = WantedSockets(lambda *request: asked.append(request))
    opening = asyncio.create_task(wanted.open(DeviceId(1), 80))
    await until(lambda: asked)
    with pytest.raises(InvalidRequest):
        wanted.refuse(asked[0][0], "no-such-code", "")
    with pytest.raises(InvalidRequest):
        wanted.give(asked[0][0], [])
    wanted.refuse(asked[0][0], code, "it is off")
    with pytest.raises(kind, match="it is off") as raised:
        await opening
    assert type(raised.value) is kind


async def test_a_socket_that_comes_late_is_not_taken() -> None:
    asked: list[tuple[int, DeviceId, int]] = []
    wanted = WantedSockets(lambda *request: asked.append(request), limit_s=0.01)
    with pytest.raises(BackendUnavailable, match="in time"):
        await wanted.open(DeviceId(1), 80)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        passed = [theirs]
        with pytest.raises(InvalidRequest):
            wanted.give(asked[0][0], passed)
        assert passed == [theirs]


@pytest.mark.parametrize("how", ["cancelled", "detached"])
async def test_a_socket_that_comes_as_nobody_waits_any_more_is_closed(how: str) -> None:
    asked: list[tuple[int, DeviceId, int]] = []
    wanted = WantedSockets(lambda *request: asked.append(request))
    opening = asyncio.create_task(wanted.open(DeviceId(1), 80))
    await until(lambda: asked)
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    with ours:
        wanted.give(asked[0][0], [theirs])
        if how == "cancelled":
            opening.cancel()
            with pytest.raises(asyncio.CancelledError):
                await opening
            assert ours.recv(1) == b""
        else:
            wanted.end(DeviceId(1))
            with await opening as given:
                assert given.gettimeout() == 0


async def test_not_more_sockets_are_wanted_than_there_may_be() -> None:
    asked: list[tuple[int, DeviceId, int]] = []
    wanted = WantedSockets(lambda *request: asked.append(request))

    async def opens(device: int) -> None:
        with pytest.raises(NotConnected):
            await wanted.open(DeviceId(device), 80)

    for _ in range(2):  # nothing of the first time counts the second time
        asked.clear()
        async with asyncio.TaskGroup() as group:
            for number in range(names.MOST_WANTED):
                group.create_task(opens(number // names.MOST_WANTED_OF_ONE))
                if number == names.MOST_WANTED_OF_ONE - 1:
                    await until(lambda: len(asked) == names.MOST_WANTED_OF_ONE)
                    with pytest.raises(BackendUnavailable):
                        await wanted.open(DeviceId(0), 80)
            await until(lambda: len(asked) == names.MOST_WANTED)
            with pytest.raises(BackendUnavailable):
                await wanted.open(DeviceId(1_000_000), 80)
            wanted.end(DeviceId(0))
            for number in range(names.MOST_WANTED_OF_ONE):
                group.create_task(opens(1_000_000 + number))
            await until(lambda: len(asked) == names.MOST_WANTED + names.MOST_WANTED_OF_ONE)
            wanted.end()


# -- the daemon's end


async def test_a_daemon_that_has_gone_has_no_camera_attached(
    bus: MessageBusDaemon, service: CameraService, control: ScriptedControl
) -> None:
    before = settled_descriptors()
    first = await Daemon.on(bus)
    await first.attach(1)
    await until(lambda: first.wanted)
    ours = await first.give(first.wanted[0][0])
    await first.attach(2)
    await until(lambda: len(first.wanted) == 2)
    await until(lambda: control.sockets)
    await first.connection.close()  # as the kernel does it, if it was killed
    await until(lambda: not control.attached)
    with ours:
        assert await asyncio.get_running_loop().sock_recv(ours, 1) == b""
    second = await Daemon.on(bus)
    refusal = second.call("RefuseSocket", "tss", first.wanted[1][0], "not-connected", "it has gone")
    assert await error_of(refusal) == "InvalidArguments", "nobody waits for it"
    await second.attach(2, "osc")
    assert control.attached == {2: CameraDriver.OSC}
    await second.connection.close()
    await until(lambda: not control.attached)
    assert open_descriptors() == before


async def test_another_call_of_the_daemons_user_detaches_nothing(
    bus: MessageBusDaemon, daemon: Daemon, control: ScriptedControl
) -> None:
    await daemon.attach(1)
    other = await Daemon.on(bus)
    await other.call("GetStatus")
    await other.connection.close()
    await daemon.call("GetStatus")
    assert control.attached
    other = await Daemon.on(bus)
    await other.attach(2)
    assert list(control.attached) == [2]
    await other.connection.close()
    await until(lambda: not control.attached)


async def test_a_daemon_that_went_before_it_was_watched_attaches_nothing(bus: MessageBusDaemon) -> None:
    connection = await BusConnection.open(bus.address, sockets=True)
    control = ScriptedControl()
    cameras = AttachedCameras(connection, control, connection.emit)
    await cameras.start()
    row, body = calls.ATTACH, [1, "osc"]
    call = MethodCall(":1.9999", calls.PATH, calls.BUS_NAME, row.name, row.signature, body, 1, True, False)
    with pytest.raises(Exception, match="has gone"):
        await cameras.handlers()[row](call, *body)
    assert not control.attached
    await cameras.stop()
    await connection.close()


async def test_a_daemon_of_which_the_bus_says_nothing_attaches_nothing_until_it_calls_again(
    bus: MessageBusDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection, daemon = await BusConnection.open(bus.address, sockets=True), await Daemon.on(bus)
    control = ScriptedControl()
    cameras = AttachedCameras(connection, control, connection.emit)
    await cameras.start()
    row, body = calls.ATTACH, [1, "osc"]
    sender = daemon.connection.unique_name
    call = MethodCall(sender, calls.PATH, calls.BUS_NAME, row.name, row.signature, body, 1, True, False)

    async def fail(_: str) -> None:
        raise BusError("org.freedesktop.DBus.Error.LimitsExceeded", "no more")

    with monkeypatch.context() as broken:
        broken.setattr(connection, "name_owner", fail)
        with pytest.raises(BusError):
            await cameras.handlers()[row](call, *body)
    assert not control.attached
    await cameras.handlers()[row](call, *body)
    assert list(control.attached) == [DeviceId(1)]
    await cameras.stop()
    await daemon.connection.close()
    await connection.close()


@asynccontextmanager
async def process_with_a_camera(
    bus: MessageBusDaemon,
) -> AsyncIterator[tuple[CameraService, ScriptedControl, Daemon]]:
    """The process with one camera attached; it goes 0.05 s after it is not needed any more."""
    connection = await BusConnection.open(bus.address, sockets=True)
    tasks, control = Tasks("wifimgrd-camera"), ScriptedControl()
    service = CameraService(connection, os.getuid(), 0.05, tasks.part("service"), control)
    await service.start()
    daemon = await Daemon.on(bus)
    await daemon.attach(1)
    service.unneeded.clear()  # it was, before
    yield service, control, daemon
    await service.stop()
    await tasks.stop()
    await daemon.connection.close()
    await connection.close()


async def test_the_process_stays_while_a_camera_is_attached(bus: MessageBusDaemon) -> None:
    async with process_with_a_camera(bus) as (service, control, daemon):
        await daemon.call("GetStatus")
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.3):
                await service.unneeded.wait()
        await daemon.call("Detach", "t", 1)
        async with asyncio.timeout(20):
            await service.unneeded.wait()
    assert control.is_stopped


async def test_the_process_does_not_stay_for_a_daemon_that_was_killed(bus: MessageBusDaemon) -> None:
    async with process_with_a_camera(bus) as (service, _, daemon):
        await daemon.connection.close()  # as the kernel does it
        async with asyncio.timeout(20):
            await service.unneeded.wait()
