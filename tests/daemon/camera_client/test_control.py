"""The daemon's side of connected cameras, with the camera process and scripted cameras."""

from __future__ import annotations

import asyncio
import signal
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from tests.camera.conftest import until
from tests.camera.scripted_control import PORT, REFUSING, ScriptedControl
from tests.descriptors import open_descriptors, settled_descriptors
from tests.message_bus import MessageBusDaemon
from wifimgrd.bus.connection import BusConnection, MethodCall, Variant
from wifimgrd.camera._service import CameraService
from wifimgrd.daemon.camera_client.control import ProcessControl
from wifimgrd.domain.camera import CameraDriver, CameraReading, CommandResult, RecordingState
from wifimgrd.domain.device import DeviceId
from wifimgrd.domain.errors import (
    BackendUnavailable,
    CameraBusy,
    CameraRefused,
    DeviceNotReachable,
    InternalError,
    NotConnected,
    ServiceRefused,
    Unconfirmed,
    WifimgrdError,
)
from wifimgrd.domain.recordings import RecordedFile
from wifimgrd.runtime.tasks import Backoff, Tasks
from wifimgrd.wire import camera_calls as calls
from wifimgrd.wire import camera_names as names

SOON = Backoff(first_s=0.05, last_s=0.2)
ONE, TWO = DeviceId(1), DeviceId(2)
GOPRO = CameraDriver.GOPRO
NO_ANSWER = (BackendUnavailable, "wifimgrd-camera does not answer")
UNCONFIRMED = (Unconfirmed, "wifimgrd-camera does not answer")
"""It was called, so its cameras may have done what they were told."""


def said(result: CommandResult) -> tuple[type[WifimgrdError], str]:
    assert result.error is not None
    return type(result.error), result.error.message


@dataclass
class Cameras:
    """A CameraControlListener, and the hub's open_socket: a pipe to each camera."""

    readings: list[tuple[DeviceId, CameraReading]] = field(default_factory=list)
    opened: list[tuple[DeviceId, int]] = field(default_factory=list)
    errors: dict[DeviceId, WifimgrdError] = field(default_factory=dict)
    ends: dict[DeviceId, socket.socket] = field(default_factory=dict)
    """The last one of each camera."""
    all_ends: list[socket.socket] = field(default_factory=list)
    may_open: asyncio.Event = field(default_factory=asyncio.Event)
    cannot_be_cancelled: bool = False

    def camera_read(self, device_id: DeviceId, reading: CameraReading) -> None:
        self.readings.append((device_id, reading))

    def of(self, device_id: DeviceId) -> list[CameraReading]:
        return [reading for one, reading in self.readings if one == device_id]

    async def open_socket(self, device_id: DeviceId, port: int) -> socket.socket:
        self.opened.append((device_id, port))
        while not self.may_open.is_set():
            with suppress(asyncio.CancelledError) if self.cannot_be_cancelled else nullcontext():
                await self.may_open.wait()
        if device_id in self.errors:
            raise self.errors[device_id]
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        self.ends[device_id] = ours
        self.all_ends.append(ours)
        return theirs

    def close(self) -> None:
        for end in self.all_ends:
            end.close()
        self.all_ends.clear()
        self.ends.clear()


@pytest.fixture
async def cameras() -> AsyncIterator[Cameras]:
    cameras = Cameras()
    cameras.may_open.set()
    yield cameras
    cameras.close()


@pytest.fixture
async def daemon(connection: BusConnection, tasks: Tasks, cameras: Cameras) -> AsyncIterator[ProcessControl]:
    control = ProcessControl(connection, tasks, SOON)
    await control.start(cameras, cameras.open_socket)
    yield control
    await control.stop()


async def started(bus: MessageBusDaemon, *options: str) -> asyncio.subprocess.Process:
    """A camera process of its own, with scripted cameras."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.camera.scripted_control", "--bus", bus.address, *options
    )
    client = await BusConnection.open(bus.address)
    async with asyncio.timeout(20):
        while await client.name_owner(calls.BUS_NAME) is None:  # noqa: ASYNC110 - its start
            await asyncio.sleep(0.02)
    await client.close()
    return process


async def gone(connection: BusConnection) -> None:
    """Wait until the process has left the bus, and who has this connection was told."""
    async with asyncio.timeout(30):
        while await connection.name_owner(calls.BUS_NAME) is not None:  # noqa: ASYNC110 - its end
            await asyncio.sleep(0.02)


async def test_a_camera_is_read_over_a_socket_of_the_hub(
    daemon: ProcessControl, service: CameraService, cameras: Cameras
) -> None:
    daemon.attach(ONE, GOPRO)
    await until(lambda: ONE in cameras.ends)
    assert cameras.opened == [(ONE, PORT)]
    cameras.ends[ONE].send(b"HERO13")
    await until(lambda: len(cameras.of(ONE)) == 2)
    assert [reading.model for reading in cameras.of(ONE)] == ["", "HERO13"]


async def test_a_command_has_each_cameras_result(
    daemon: ProcessControl, service: CameraService, cameras: Cameras
) -> None:
    for device_id in (ONE, REFUSING):
        daemon.attach(device_id, GOPRO)
    results = await daemon.record([REFUSING, TWO, ONE], on=True)  # waits until they are attached
    assert list(results) == [REFUSING, TWO, ONE]
    assert results[ONE].error is None
    assert results[ONE].after_us == 1001
    assert said(results[REFUSING]) == (CameraRefused, "the card is full")
    assert isinstance(results[TWO].error, NotConnected)
    await until(lambda: cameras.of(ONE)[-1].recording is RecordingState.RECORDING)
    assert await daemon.record([], on=True) == {}
    assert isinstance((await daemon.record([TWO], on=False))[TWO].error, NotConnected)


async def test_the_clock_is_set(
    daemon: ProcessControl, service: CameraService, control: ScriptedControl
) -> None:
    for device_id in (ONE, REFUSING):
        daemon.attach(device_id, GOPRO)
    await daemon.set_clock(ONE)
    assert control.clocks == [ONE]
    with pytest.raises(CameraRefused, match="cannot be set"):
        await daemon.set_clock(REFUSING)
    with pytest.raises(NotConnected):
        await daemon.set_clock(TWO)
    assert await daemon.register_host(ONE) == "camera 1"
    with pytest.raises(CameraRefused, match="knows no hosts"):
        await daemon.register_host(REFUSING)
    with pytest.raises(NotConnected):
        await daemon.register_host(TWO)


async def test_the_files_of_a_recording_are_found(
    daemon: ProcessControl, service: CameraService, control: ScriptedControl
) -> None:
    for device_id in (ONE, REFUSING):
        daemon.attach(device_id, GOPRO)
    assert await daemon.recorded_files(ONE, 5, 7) is None
    control.files = (RecordedFile("100GOPRO/GX010001.MP4", 77), RecordedFile("100GOPRO/GX020001.MP4"))
    assert await daemon.recorded_files(ONE, -5, 7) == control.files
    assert control.spans == [(5, 7), (0, 7)]
    with pytest.raises(CameraBusy, match="it records"):
        await daemon.recorded_files(REFUSING, 5, 7)
    with pytest.raises(NotConnected):
        await daemon.recorded_files(TWO, 5, 7)


async def test_a_camera_that_comes_back_is_attached_anew(
    daemon: ProcessControl, service: CameraService, control: ScriptedControl
) -> None:
    daemon.attach(ONE, GOPRO)
    await until(lambda: control.attached)
    daemon.detach(ONE)
    daemon.attach(ONE, GOPRO)
    await until(lambda: control.attachments == 2)
    daemon.detach(ONE)
    daemon.detach(ONE)
    await until(lambda: not control.attached)


async def test_what_a_camera_said_before_it_was_attached_is_not_reported(
    daemon: ProcessControl, service: CameraService, control: ScriptedControl, cameras: Cameras
) -> None:
    daemon.attach(ONE, GOPRO)
    await until(lambda: cameras.of(ONE))
    daemon.detach(ONE)
    control.say(ONE, CameraReading(read_us=99))
    daemon.attach(ONE, GOPRO)
    await until(lambda: len(cameras.of(ONE)) == 2)
    assert 99 not in [reading.read_us for reading in cameras.of(ONE)]


# -- sockets


@pytest.mark.parametrize(
    "error", [DeviceNotReachable("it is off"), ServiceRefused("it is closed"), NotConnected("it has gone")]
)
async def test_why_there_is_no_socket_is_told(
    daemon: ProcessControl,
    service: CameraService,
    control: ScriptedControl,
    cameras: Cameras,
    error: WifimgrdError,
) -> None:
    cameras.errors[ONE] = error
    daemon.attach(ONE, GOPRO)
    await until(lambda: control.errors)
    assert (type(control.errors[0]), control.errors[0].message) == (type(error), error.message)


@pytest.mark.slow
async def test_no_descriptor_is_left_of_400_cameras(
    daemon: ProcessControl,
    connection: BusConnection,
    tasks: Tasks,
    service: CameraService,
    control: ScriptedControl,
    cameras: Cameras,
) -> None:
    """Some are detached while their socket is opened, some when it has come."""
    before = 0
    for number in range(405):
        device_id = DeviceId(number)
        if number == 5:
            await until(lambda: not control.attached)
            await tasks.settle(20)
            cameras.close()
            before = settled_descriptors()
        if number % 3:
            cameras.may_open.set()
        else:
            cameras.may_open.clear()
        daemon.attach(device_id, GOPRO)
        await until(lambda: len(cameras.opened) == number + 1)  # noqa: B023 - awaited here
        if number % 3 == 1:
            await until(lambda: device_id in control.sockets)  # noqa: B023
        daemon.detach(device_id)
        cameras.may_open.set()
        if number % 5 == 0:
            await until(lambda: not control.attached)
    await until(lambda: not control.attached)
    await tasks.settle(20)
    await connection.round_trip()
    cameras.close()
    await until(lambda: open_descriptors() <= before)
    assert open_descriptors() == before


async def test_only_the_process_is_heard(
    bus: MessageBusDaemon,
    daemon: ProcessControl,
    connection: BusConnection,
    service: CameraService,
    cameras: Cameras,
) -> None:
    daemon.attach(ONE, GOPRO)
    await until(lambda: cameras.of(ONE) and cameras.opened)
    stranger = await BusConnection.open(bus.address)
    for number in range(1000):
        stranger.emit(calls.PATH, calls.BUS_NAME, "SocketWanted", "ttq", [number, 1, 80])
        stranger.emit(calls.PATH, calls.BUS_NAME, "CameraRead", "ta{sv}", [1, {"read_us": Variant("t", 7)}])
    await stranger.round_trip()
    await connection.round_trip()
    assert len(cameras.opened) == len(cameras.of(ONE)) == 1
    await stranger.close()


@dataclass
class Impostor:
    """In the process's place, with its name: it sends what it likes."""

    connection: BusConnection
    calls: list[MethodCall] = field(default_factory=list)
    rows: list[dict[str, Variant]] = field(default_factory=list)
    refuses_attach: str = ""
    silent_to: str = ""
    """The method whose next call it does not answer."""
    late_to: str = ""
    """The method whose calls it answers only by `catch_up`."""
    unanswered: list[MethodCall] = field(default_factory=list)

    def answer(self, call: MethodCall) -> None:
        self.calls.append(call)
        call.close_passed()
        if call.member == self.silent_to:
            self.silent_to = ""
        elif call.member == self.late_to:
            self.unanswered.append(call)
        elif call.member == "Attach" and self.refuses_attach:
            self.connection.reply_error(call, self.refuses_attach, "no")
        elif call.member == "Record":
            self.connection.reply(call, "aa{sv}", [self.rows])
        else:
            self.connection.reply(call)

    def catch_up(self) -> None:
        self.late_to = ""
        while self.unanswered:
            self.connection.reply(self.unanswered.pop())

    def want(self, *body: object) -> None:
        self.connection.emit(calls.PATH, calls.BUS_NAME, "SocketWanted", "ttq", body)

    def read(self, **values: Variant) -> None:
        self.connection.emit(calls.PATH, calls.BUS_NAME, "CameraRead", "ta{sv}", [1, values])

    def count(self, member: str) -> int:
        return sum(call.member == member for call in self.calls)


@pytest.fixture
async def impostor(bus: MessageBusDaemon) -> AsyncIterator[Impostor]:
    impostor = Impostor(await BusConnection.open(bus.address, sockets=True))
    impostor.connection.serve(impostor.answer, sockets=True)
    await impostor.connection.request_name(calls.BUS_NAME)
    yield impostor
    await impostor.connection.close()


async def test_a_socket_for_a_camera_that_was_detached_meanwhile_is_not_given(
    daemon: ProcessControl, tasks: Tasks, impostor: Impostor, cameras: Cameras
) -> None:
    """Its opening could not be cancelled, and the process would take it."""
    cameras.cannot_be_cancelled = True
    cameras.may_open.clear()
    daemon.attach(ONE, GOPRO)
    await until(lambda: impostor.count("Attach"))
    impostor.want(1, 1, GOPRO.port)
    await until(lambda: cameras.opened)
    daemon.detach(ONE)
    await until(lambda: impostor.count("Detach"))
    cameras.may_open.set()
    await tasks.settle(20)
    assert await asyncio.get_running_loop().sock_recv(cameras.ends[ONE], 1) == b""
    assert not impostor.count("GiveSocket")


async def test_a_process_that_floods_gets_a_few_sockets_of_attached_cameras(
    daemon: ProcessControl, connection: BusConnection, tasks: Tasks, impostor: Impostor, cameras: Cameras
) -> None:
    cameras.may_open.clear()
    daemon.attach(ONE, GOPRO)
    await until(lambda: impostor.count("Attach"))
    for number in range(1000):
        impostor.want(number, 1, GOPRO.port)
    impostor.want(9, 2, GOPRO.port)
    await until(lambda: impostor.count("RefuseSocket"))
    assert cameras.opened == [(ONE, GOPRO.port)] * names.MOST_WANTED_OF_ONE
    await connection.round_trip()  # after its answer
    impostor.late_to = "RefuseSocket"
    for number in range(1000):
        impostor.want(number, 1000 + number, GOPRO.port)
    await impostor.connection.round_trip()
    await connection.round_trip()
    at_once = names.MOST_WANTED - names.MOST_WANTED_OF_ONE
    await until(lambda: len(impostor.unanswered) == at_once)
    impostor.catch_up()
    cameras.may_open.set()
    await tasks.settle(20)
    assert impostor.count("RefuseSocket") == 1 + at_once
    assert impostor.count("GiveSocket") == names.MOST_WANTED_OF_ONE


@pytest.mark.parametrize("driver", CameraDriver)
async def test_a_process_gets_only_the_port_of_a_cameras_driver(
    daemon: ProcessControl, impostor: Impostor, cameras: Cameras, driver: CameraDriver
) -> None:
    daemon.attach(ONE, driver)
    await until(lambda: impostor.count("Attach"))
    others = {one.port for one in CameraDriver} - {driver.port} | {0, 22, 65535}
    for serial, port in enumerate(sorted(others)):
        impostor.want(serial, 1, port)
        await until(lambda serial=serial: impostor.count("RefuseSocket") == serial + 1)
    assert cameras.opened == []
    impostor.want(99, 1, driver.port)
    await until(lambda: impostor.count("GiveSocket"))
    assert cameras.opened == [(ONE, driver.port)]


async def test_bad_values_of_a_process_are_left_out(
    daemon: ProcessControl, impostor: Impostor, cameras: Cameras
) -> None:
    daemon.attach(ONE, GOPRO)
    impostor.rows = [
        {"device": Variant("t", 1), "after": Variant("s", "x"), "code": Variant("s", "no-such-code")},
        {"device": Variant("s", "1"), "code": Variant("s", "")},
        {"device": Variant("t", 2)},
        {"device": Variant("t", 3), "after": Variant("t", 1 << 60), "code": Variant("s", "")},
        {
            "device": Variant("t", 4),
            "code": Variant("s", "camera-busy"),
            "message": Variant("s", "x\n" * 9999),
        },
    ]
    for number in (2, 3, 4):
        daemon.attach(DeviceId(number), GOPRO)
    found = await daemon.record([DeviceId(number) for number in (1, 2, 3, 4)], on=True)
    assert [type(one.error) for one in found.values()][:3] == [InternalError, Unconfirmed, type(None)]
    assert found[DeviceId(3)].after_us == 60_000_000
    assert said(found[DeviceId(4)]) == (CameraBusy, "x" * 300)
    connection = impostor.connection
    connection.emit(calls.PATH, calls.BUS_NAME, "CameraRead", "s", ["nonsense"])
    connection.emit(calls.PATH, calls.BUS_NAME, "SocketWanted", "s", ["nonsense"])
    impostor.read(battery_level=Variant("i", 300), model=Variant("s", "x" * 1000), read_us=Variant("t", 5))
    await until(lambda: cameras.readings)
    assert cameras.readings == [(ONE, CameraReading(read_us=5))]


# -- the process


async def test_without_the_package_a_command_says_how_to_install_it(daemon: ProcessControl) -> None:
    daemon.attach(ONE, GOPRO)
    found = await daemon.record([ONE], on=True)
    kind, message = said(found[ONE])
    assert kind is BackendUnavailable
    assert "apt install wifimgrd-camera" in message
    with pytest.raises(BackendUnavailable, match="apt install wifimgrd-camera"):
        await daemon.set_clock(ONE)
    daemon.detach(ONE)


async def test_a_package_that_is_installed_later_is_used(
    bus: MessageBusDaemon, daemon: ProcessControl, cameras: Cameras
) -> None:
    daemon.attach(ONE, GOPRO)
    await daemon.record([ONE], on=True)
    process = await started(bus)
    await until(lambda: cameras.of(ONE))
    process.terminate()
    assert await process.wait() == 0


async def test_a_camera_that_the_process_cannot_attach_keeps_no_other_from_it(
    daemon: ProcessControl, impostor: Impostor
) -> None:
    impostor.refuses_attach = "org.wifimgrd1.Error.InvalidArguments"
    daemon.attach(ONE, GOPRO)
    daemon.attach(TWO, GOPRO)
    await until(lambda: impostor.count("Attach") == 2)
    impostor.rows = [{"device": Variant("t", 2), "code": Variant("s", "")}]
    assert (await daemon.record([TWO], on=True))[TWO].error is None


async def test_a_process_that_has_not_answered_is_asked_again_to_detach_a_camera(
    daemon: ProcessControl, impostor: Impostor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would read the camera for ever, and would never end for want of cameras."""
    monkeypatch.setattr("wifimgrd.daemon.camera_client.control._ANSWER_S", 0.1)
    impostor.silent_to = "Detach"
    daemon.attach(ONE, GOPRO)
    await until(lambda: impostor.count("Attach") == 1)
    daemon.detach(ONE)
    await until(lambda: impostor.count("Detach") == 2)
    daemon.attach(TWO, GOPRO)
    await until(lambda: impostor.count("Attach") == 2)
    assert impostor.count("Detach") == 2, "it has answered the second time"


async def test_a_process_that_refuses_is_asked_again_with_a_back_off(
    daemon: ProcessControl, connection: BusConnection, impostor: Impostor
) -> None:
    impostor.refuses_attach = "org.freedesktop.DBus.Error.UnknownMethod"
    daemon.attach(ONE, GOPRO)
    await until(lambda: impostor.count("Attach") == 1)
    loop = asyncio.get_running_loop()
    began_s = loop.time()
    found = await daemon.record([ONE], on=True)
    assert said(found[ONE]) == NO_ANSWER
    await until(lambda: impostor.count("Attach") == 4)
    assert loop.time() - began_s >= SOON.pause_s(1) + SOON.pause_s(2) + SOON.pause_s(3) - 0.05
    impostor.refuses_attach = ""
    daemon.attach(TWO, GOPRO)
    impostor.rows = [{"device": Variant("t", 2), "code": Variant("s", "")}]
    await until(lambda: impostor.count("Attach") == 6)
    await connection.round_trip()  # after its answer
    assert (await daemon.record([TWO], on=True))[TWO].error is None


async def test_cameras_are_attached_again_after_a_kill_of_the_process(
    bus: MessageBusDaemon, daemon: ProcessControl, connection: BusConnection, cameras: Cameras
) -> None:
    process = await started(bus)
    for device_id in (ONE, TWO):
        daemon.attach(device_id, GOPRO)
    await until(lambda: len(cameras.ends) == 2)
    assert (await daemon.record([ONE], on=True))[ONE].error is None
    ends = dict(cameras.ends)
    cameras.ends.clear()
    process.send_signal(signal.SIGKILL)
    await process.wait()
    for end in ends.values():  # no copy is left anywhere
        assert await asyncio.get_running_loop().sock_recv(end, 1) == b""
    await gone(connection)
    found = await daemon.record([ONE, TWO], on=True)
    assert [type(one.error) for one in found.values()] == [BackendUnavailable] * 2
    daemon.detach(TWO)
    cameras.readings.clear()
    process = await started(bus)
    await until(lambda: ONE in cameras.ends)
    cameras.ends[ONE].send(b"X5")
    await until(lambda: cameras.of(ONE) and cameras.of(ONE)[-1].model == "X5")
    assert not cameras.of(TWO)
    assert (await daemon.record([ONE], on=True))[ONE].error is None
    process.terminate()
    assert await process.wait() == 0


async def test_a_command_of_a_process_that_is_killed_ends(
    bus: MessageBusDaemon, daemon: ProcessControl, impostor: Impostor
) -> None:
    daemon.attach(ONE, GOPRO)
    await until(lambda: impostor.count("Attach"))
    impostor.connection.serve(impostor.calls.append)
    recording = asyncio.create_task(daemon.record([ONE], on=True))
    await until(lambda: impostor.count("Record"))
    await impostor.connection.close()
    assert said((await recording)[ONE]) == UNCONFIRMED


async def test_a_process_that_does_not_answer_a_command_is_not_waited_for(
    daemon: ProcessControl, service: CameraService, control: ScriptedControl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wifimgrd.daemon.camera_client.control.COMMAND_S", 0.3)
    daemon.attach(ONE, GOPRO)
    await until(lambda: control.attached)
    control.never = True
    assert said((await daemon.record([ONE], on=True))[ONE]) == UNCONFIRMED


async def test_a_process_does_not_outlast_a_daemon_that_was_killed(bus: MessageBusDaemon) -> None:
    process = await started(bus, "--linger", "2")
    connection, cameras = await BusConnection.open(bus.address, sockets=True), Cameras()
    cameras.may_open.set()
    tasks = Tasks("wifimgrd")
    control = ProcessControl(connection, tasks, SOON)
    await control.start(cameras, cameras.open_socket)
    control.attach(ONE, GOPRO)
    await until(lambda: cameras.ends)
    await connection.close()  # as the kernel does it
    async with asyncio.timeout(30):
        assert await process.wait() == 0
    assert await asyncio.get_running_loop().sock_recv(cameras.ends[ONE], 1) == b""
    cameras.close()
    await control.stop()


async def test_the_bus_starts_the_process_with_the_first_camera_and_not_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wifimgrd.daemon.camera_client.control._START_S", 30.0)  # a busy host starts it late
    services = tmp_path / "services"
    services.mkdir()
    started_by_bus = tmp_path / "started"
    program = tmp_path / "program"
    program.write_text(
        f"#!/bin/sh\n: > {started_by_bus}\ncd {Path.cwd()}\n"
        f"exec {sys.executable} -m tests.camera.scripted_control"
        ' --bus "$DBUS_STARTER_ADDRESS" --linger 2\n'
    )
    program.chmod(0o755)
    services.joinpath("cameras.service").write_text(
        f"[D-BUS Service]\nName={calls.BUS_NAME}\nExec={program}\n"
    )
    configuration = tmp_path / "bus.conf"
    configuration.write_text(
        f"<busconfig><type>session</type><listen>unix:path={tmp_path}/bus</listen>"
        f"<servicedir>{services}</servicedir><policy context='default'><allow send_destination='*'/>"
        "<allow eavesdrop='true'/><allow own='*'/></policy></busconfig>"
    )
    with MessageBusDaemon.start(configuration) as message_bus:
        connection, cameras = await BusConnection.open(message_bus.address, sockets=True), Cameras()
        cameras.may_open.set()
        control = ProcessControl(connection, Tasks("wifimgrd"), SOON)
        await control.start(cameras, cameras.open_socket)
        assert isinstance((await control.record([ONE], on=True))[ONE].error, NotConnected)
        control.detach(ONE)
        assert not started_by_bus.exists()
        control.attach(ONE, GOPRO)
        assert (await control.record([ONE], on=True))[ONE].error is None
        owner = await connection.name_owner(calls.BUS_NAME)
        await until(lambda: cameras.of(ONE))
        control.detach(ONE)
        with capture_logs() as entries:
            await gone(connection)
        assert entries == []  # nothing was lost
        control.attach(TWO, GOPRO)
        assert (await control.record([TWO], on=True))[TWO].error is None
        assert await connection.name_owner(calls.BUS_NAME) not in (None, owner)
        await control.stop()
        await connection.close()
        cameras.close()


async def test_a_bus_that_is_gone_ends_commands_with_a_sentence(
    daemon: ProcessControl, connection: BusConnection, service: CameraService, control: ScriptedControl
) -> None:
    daemon.attach(ONE, GOPRO)
    await until(lambda: control.attached)
    await connection.close()
    # Whether the process was called depends on what is noticed first: the end of the bus, or of the process.
    assert said((await daemon.record([ONE], on=True))[ONE]) in (NO_ANSWER, UNCONFIRMED)
