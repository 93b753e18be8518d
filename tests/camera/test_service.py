"""The process on the bus: who may call it, what it refuses, the host's state, and when it ends."""

from __future__ import annotations

import asyncio
import getpass
import os
import re
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.camera.conftest import FAST, Caller, hurried, until
from tests.camera.scripted_control import ScriptedControl
from tests.fake_bluez import FakeBluez, FakeCamera, FakeGoPro
from tests.message_bus import MessageBusDaemon
from tests.programs import program
from wifimgrd.bus.connection import BusConnection, BusError
from wifimgrd.camera._agent import AGENT_PATH
from wifimgrd.camera._beacon import BEACONS_PATH
from wifimgrd.camera._service import CameraService
from wifimgrd.kernel.bluetooth import host_uuid
from wifimgrd.proxies.bluez import definitions as definitions_of_bluez
from wifimgrd.runtime.tasks import Tasks
from wifimgrd.wire import camera_calls as calls

ADDRESS = "D4:32:60:00:10:01"

# A Theta, as in https://github.com/ricohapi/theta-api-specs, theta-bluetooth-api:
CAMERA_CONTROL_COMMAND = "8af982b1-f1ff-4d49-83f0-a56db4c431a7"
AUTH_BLUETOOTH_DEVICE = "ebafb2f0-0e0f-40a2-a84f-e2f098dc13c3"
CAMERA_POWER = "b58ce84c-0666-4de9-bec8-2d27b27b3211"
NETWORK_TYPE = "9111cdd0-9f01-45c4-a2d4-e09e8fb0424d"
PASSWORD_STATE = "e522112a-5689-4901-0803-0520637dc895"
SERIAL_NUMBER = "0d2fc4d5-5cb3-4cde-b519-445e599957d8"
MODEL_NAME = "35fe6272-6aa5-44d9-88e1-f09427f51a71"
PROGRAM = program("wifimgrd-camera")


async def error_of(call: Any) -> str:
    with pytest.raises(BusError) as raised:
        await call
    return raised.value.name.rpartition(".")[2]


@pytest.mark.parametrize(
    ("member", "signature", "body"),
    [
        ("Search", "sua(ss)", ("search", 0, [["fea6", ""]])),
        ("Search", "sua(ss)", ("search", 61, [["fea6", ""]])),
        ("Search", "sua(ss)", ("search", 1, [])),
        ("Search", "sua(ss)", ("", 1, [["fea6", ""]])),
        ("Search", "sua(ss)", ("x" * 65, 1, [["fea6", ""]])),
        ("Search", "sua(ss)", ("search", 1, [["fea6", ""]] * 33)),
        ("Search", "sua(ss)", ("search", 1, [["", "("]])),
        ("Wake", "ssayu", ("d4:32:60:00:10:01", "gopro", b"", 10)),
        ("Wake", "ssayu", (ADDRESS, "dji", b"", 10)),
        ("Wake", "ssayu", (ADDRESS, "gopro", b"", 0)),
        ("Wake", "ssayu", (ADDRESS, "gopro", b"", 301)),
        ("Wake", "ssayu", ("", "beacon", b"1234", 10)),
        ("Wake", "ssayu", ("7", "beacon", b"1", 10)),
        ("Wake", "ssayu", ("7", "beacon", bytes(27), 10)),
        ("Sleep", "ss", (ADDRESS, "beacon")),
        ("Pair", "ssas", ("/org/bluez", "gopro", [])),
        ("Unpair", "ss", (ADDRESS, "")),
        ("Unpair", "ss", (ADDRESS, "hci0")),
        ("GetBonds", "s", ("x",)),
        ("Sleep", "s", (ADDRESS,)),
    ],
)
async def test_what_is_not_valid_is_refused(
    bluez: FakeBluez, caller: Caller, member: str, signature: str, body: tuple[object, ...]
) -> None:
    assert await error_of(caller.call(member, signature, *body)) == "InvalidArguments"


async def test_only_the_daemons_user_is_answered(bus: MessageBusDaemon) -> None:
    connection, stranger = await BusConnection.open(bus.address), await BusConnection.open(bus.address)
    service = CameraService(connection, os.getuid() + 1, 30.0, Tasks("x"), ScriptedControl(), FAST)
    await service.start()
    assert await error_of(Caller(stranger).call("GetStatus")) == "NotAuthorized"
    await service.stop()
    await stranger.close()
    await connection.close()


async def test_only_bluetoothd_may_call_the_agent_and_the_beacon(bluez: FakeBluez, caller: Caller) -> None:
    for path, interface, member in (
        (AGENT_PATH, definitions_of_bluez.AGENT, "RequestAuthorization"),
        (BEACONS_PATH + "0", definitions_of_bluez.ADVERTISEMENT, "Release"),
    ):
        call = caller.connection.call(calls.BUS_NAME, path, interface, member)
        assert await error_of(call) == "AccessDenied"


@hurried
async def test_the_agent_accepts_only_what_was_started_here(
    bluez: FakeBluez, service: CameraService, caller: Caller
) -> None:
    camera = FakeGoPro(ADDRESS, ignores_pair=True)
    bluez.add(camera)
    pairing = asyncio.create_task(error_of(caller.pair(ADDRESS)))
    await until(lambda: "Pair" in bluez.calls)

    async def asked(device: str, member: str = "RequestAuthorization") -> list[object]:
        return await bluez.connection.call(
            calls.BUS_NAME, AGENT_PATH, definitions_of_bluez.AGENT, member, "o", [device]
        )

    assert await asked(camera.path) == []
    assert await error_of(asked("/org/bluez/hci0/dev_00_00_00_00_00_00")) == "Rejected"
    assert await error_of(asked(camera.path, "RequestPinCode")) == "Rejected"
    assert await pairing == "PairingFailed"
    assert await error_of(asked(camera.path)) == "Rejected"


async def test_each_call_is_carried_out(service: CameraService) -> None:
    assert service.handlers().keys() == set(calls.INTERFACE.methods.values())


async def test_arguments_of_other_types_are_refused(bluez: FakeBluez, caller: Caller) -> None:
    for member in calls.INTERFACE.methods:
        assert await error_of(caller.call(member, "d", 1.0)) == "InvalidArguments"
    assert await error_of(caller.call("Other")) == "UnknownMethod"


# -- the host's state


async def test_bluetooth_without_bluez_and_without_an_adapter(
    host: Path, service: CameraService, caller: Caller
) -> None:
    assert await caller.call("GetStatus") == ["absent", "BlueZ is not installed: apt install bluez"]
    (host / "bluetooth" / "hci0").rmdir()
    assert await caller.call("GetStatus") == ["absent", "this host has no Bluetooth adapter"]
    (host / "bluetooth").rmdir()
    assert await caller.call("GetStatus") == ["absent", "this host has no Bluetooth adapter"]
    for call in (caller.wake(ADDRESS), caller.pair(ADDRESS), caller.search(("fea6", ""))):
        assert await error_of(call) == "BluetoothUnavailable"


@pytest.fixture
def installed_bluez(process: BusConnection, monkeypatch: pytest.MonkeyPatch) -> None:
    """BlueZ is a service that this message bus could start."""
    call = process.call_bus

    async def answer(member: str, signature: str, body: Sequence[object]) -> list[object]:
        if member == "ListActivatableNames":
            return [[definitions_of_bluez.BLUEZ]]
        return await call(member, signature, body)

    monkeypatch.setattr(process, "call_bus", answer)


@pytest.mark.usefixtures("installed_bluez")
async def test_each_state_is_told_in_words(
    host: Path, bluez: FakeBluez, service: CameraService, caller: Caller
) -> None:
    assert await caller.call("GetStatus") == ["ready", ""]
    soft = host / "rfkill" / "rfkill0" / "soft"
    soft.write_text("1\n")
    bluez.power(False)
    await until(lambda: len(caller.states) == 1)
    soft.write_text("0\n")
    bluez.power(True)
    await until(lambda: len(caller.states) == 2)
    bluez.power(False)
    await until(lambda: len(caller.states) == 3)
    bluez.unplug()
    (host / "bluetooth" / "hci0").rmdir()
    await until(lambda: len(caller.states) == 4)
    (host / "bluetooth" / "hci0").mkdir()
    await bluez.stop()
    await until(lambda: len(caller.states) == 5)
    assert caller.states == [
        ("off", "Bluetooth is switched off by rfkill: rfkill unblock bluetooth"),
        ("ready", ""),
        ("off", "the Bluetooth adapter is switched off: bluetoothctl power on"),
        ("absent", "this host has no Bluetooth adapter"),
        ("off", "bluetoothd is not running: systemctl start bluetooth"),
    ]
    await bluez.start()


# -- a Theta


class FakeTheta(FakeCamera):
    written: list[tuple[str, bytes]]
    refuses = ""
    password_state = b"\0"
    has_bonds = False
    """An X."""

    def uuids(self) -> tuple[str, ...]:
        return (
            *(() if self.has_bonds else (AUTH_BLUETOOTH_DEVICE,)),
            CAMERA_POWER,
            NETWORK_TYPE,
            SERIAL_NUMBER,
            MODEL_NAME,
            PASSWORD_STATE,
        )

    def gatt(self) -> tuple[str, ...]:
        return (CAMERA_CONTROL_COMMAND,)

    def read(self, uuid: str) -> bytes:
        return {
            SERIAL_NUMBER: b"YL00101234",
            MODEL_NAME: b"RICOH THETA V",
            PASSWORD_STATE: self.password_state,
        }[uuid]

    def write(self, uuid: str, value: bytes) -> list[tuple[str, bytes]]:
        if uuid == self.refuses:
            raise BusError("org.bluez.Error.NotAuthorized", "Not Authorized")
        self.written = [*getattr(self, "written", []), (uuid, value)]
        return []


async def test_a_theta_is_found_and_woken_without_a_bond(bluez: FakeBluez, caller: Caller) -> None:
    theta = FakeTheta(ADDRESS, "00101234", ())
    bluez.add(theta)
    await caller.wake(ADDRESS, "theta")
    host = host_uuid().encode()
    assert theta.written == [
        (AUTH_BLUETOOTH_DEVICE, host),
        (CAMERA_POWER, b"\x01"),
        (AUTH_BLUETOOTH_DEVICE, host),
        (NETWORK_TYPE, b"\x01"),
    ]
    assert not theta.bonded
    await caller.call("Sleep", "ss", ADDRESS, "theta")
    assert theta.written[-1] == (CAMERA_POWER, b"\x02")
    assert (await caller.pair(ADDRESS, "theta"))["ssid"] == b"THETAYL00101234.OSC"


async def test_a_theta_x_bonds_and_is_woken_by_that(bluez: FakeBluez, caller: Caller) -> None:
    theta = FakeTheta(ADDRESS, "THETA X", ())
    theta.has_bonds = True
    bluez.add(theta)
    assert (await caller.pair(ADDRESS, "theta"))["serial"] == "YL00101234"
    assert await caller.is_bonded(ADDRESS)
    await caller.call("Release", "s", ADDRESS)
    await until(lambda: not theta.connected)
    await caller.wake(ADDRESS, "theta")
    assert [uuid for uuid, _ in theta.written] == [CAMERA_POWER, NETWORK_TYPE] * 2
    theta.knows_host = False
    bluez.lose(theta)
    assert await error_of(caller.wake(ADDRESS, "theta")) == "WakeFailed"


async def test_a_theta_that_does_not_know_this_hub_is_told(bluez: FakeBluez, caller: Caller) -> None:
    theta = FakeTheta(ADDRESS, "00101234", ())
    theta.refuses = NETWORK_TYPE
    bluez.add(theta)
    with pytest.raises(BusError, match="does not know this hub"):
        await caller.pair(ADDRESS, "theta")
    await until(lambda: not theta.connected)


async def test_a_password_that_does_not_follow_from_the_serial_number_is_not_told(
    bluez: FakeBluez, caller: Caller
) -> None:
    theta = FakeTheta(ADDRESS, "00101234", ())
    theta.password_state = b"\2"
    bluez.add(theta)
    paired = await caller.pair(ADDRESS, "theta")
    assert (paired["ssid"], paired["password"]) == (b"THETAYL00101234.OSC", "")


# -- the process


async def started(bus: str, *options: str) -> asyncio.subprocess.Process:
    process = await asyncio.create_subprocess_exec(
        PROGRAM, "--bus", bus, "--user", getpass.getuser(), *options, stderr=asyncio.subprocess.PIPE
    )
    client = await BusConnection.open(bus)
    async with asyncio.timeout(20):
        while await client.name_owner(calls.BUS_NAME) is None:  # noqa: ASYNC110 - its start
            await asyncio.sleep(0.02)
    await client.close()
    return process


async def test_the_process_is_small_serves_and_ends_by_itself(
    bus: MessageBusDaemon, bluez: FakeBluez
) -> None:
    camera = FakeGoPro(ADDRESS)
    bluez.add(camera)
    process = await started(bus.address, "--linger", "1")
    caller = Caller(await BusConnection.open(bus.address))
    assert (await caller.pair(ADDRESS))["ssid"] == b"GP1001"
    status = Path(f"/proc/{process.pid}/status").read_text()  # noqa: ASYNC240 - not on a disk
    [resident_kb] = re.findall(r"^VmHWM:\s+(\d+) kB$", status, re.MULTILINE)
    assert int(resident_kb) < 30 * 1024
    await caller.call("Release", "s", ADDRESS)
    async with asyncio.timeout(10):
        assert await process.wait() == 0
    assert not camera.connected
    await caller.connection.close()


async def test_a_stopped_process_disconnects(bus: MessageBusDaemon, bluez: FakeBluez) -> None:
    camera = FakeGoPro(ADDRESS, bonded=True, knows_host=True)
    bluez.add(camera)
    process = await started(bus.address)
    caller = Caller(await BusConnection.open(bus.address))
    await caller.wake(ADDRESS)
    assert camera.connected
    process.send_signal(signal.SIGTERM)
    async with asyncio.timeout(10):
        assert await process.wait() == 0
    assert not camera.connected
    await caller.connection.close()


async def test_no_call_starts_bluetoothd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bus that could start it."""
    services, marker = tmp_path / "services", tmp_path / "started"
    services.mkdir()
    services.joinpath("org.bluez.service").write_text(
        f"[D-BUS Service]\nName=org.bluez\nExec=/usr/bin/touch {marker}\n"
    )
    configuration = tmp_path / "bus.conf"
    configuration.write_text(
        f"<busconfig><type>session</type><listen>unix:path={tmp_path}/bus</listen>"
        f"<servicedir>{services}</servicedir><policy context='default'><allow send_destination='*'/>"
        "<allow eavesdrop='true'/><allow own='*'/></policy></busconfig>"
    )
    with MessageBusDaemon.start(configuration) as bus:
        connection, client = await BusConnection.open(bus.address), await BusConnection.open(bus.address)
        tasks = Tasks("x")
        service = CameraService(connection, os.getuid(), 30.0, tasks, ScriptedControl(), FAST)
        await service.start()
        caller = Caller(client)
        assert await caller.call("GetStatus") == [
            "off",
            "bluetoothd is not running: systemctl start bluetooth",
        ]
        for call in (caller.wake(ADDRESS), caller.pair(ADDRESS), caller.search(("fea6", ""))):
            assert await error_of(call) == "BluetoothUnavailable"
        assert await error_of(caller.unpair(ADDRESS)) == "BluetoothUnavailable"
        await service.objects.until(lambda: False, 0.1)
        with pytest.raises(BusError):
            await service.objects.refresh("/org/bluez/hci0/dev_D4_32_60_00_10_01")
        assert not marker.exists()
        await service.stop()
        await tasks.stop()
        await client.close()
        await connection.close()
