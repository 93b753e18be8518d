"""The daemon's side of the camera process, with that process and a scripted bluetoothd."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.camera.conftest import SOON_S, is_at_work, until
from tests.fake_bluez import ADAPTER, FakeBluez, FakeGoPro
from tests.message_bus import MessageBusDaemon
from wifimgrd.bus.connection import BusConnection, MethodCall, Variant
from wifimgrd.camera._service import CameraService
from wifimgrd.daemon.camera_client.bluetooth import ProcessBluetooth
from wifimgrd.domain.bonds import HostBonds
from wifimgrd.domain.camera import CameraCommand, CameraReading, RecordingState
from wifimgrd.domain.device import Passphrase, PowerState
from wifimgrd.domain.errors import (
    BluetoothUnavailable,
    CameraBusy,
    CameraRefused,
    NotPaired,
    NotSupported,
    Unconfirmed,
    WakeFailed,
)
from wifimgrd.domain.power import Advertiser, BluetoothState, BluetoothStatus, WakeRequest
from wifimgrd.proxies.bluez.definitions import BLUEZ
from wifimgrd.runtime.tasks import Tasks
from wifimgrd.simulator.emulators import CameraSettings, EmulatedCamera, GoProBluetooth, GoProEmulator
from wifimgrd.wire import camera_calls as calls

ADDRESS = "D4:32:60:12:34:56"
GOPROS = [("fea6", "")]


@dataclass
class Heard:
    """A BluetoothListener."""

    states: list[BluetoothStatus] = field(default_factory=list)
    seen: list[Advertiser] = field(default_factory=list)
    unfit: list[tuple[str, str]] = field(default_factory=list)
    bonded: list[tuple[str, str]] = field(default_factory=list)

    def bluetooth_changed(self, status: BluetoothStatus) -> None:
        self.states.append(status)

    def advertised(self, seen: Sequence[Advertiser]) -> None:
        self.seen += seen

    def camera_unfit(self, address: str, reason: str) -> None:
        self.unfit.append((address, reason))

    def bonding(self, address: str, adapter: str) -> None:
        self.bonded.append((address, adapter))


@pytest.fixture
async def heard() -> Heard:
    return Heard()


@pytest.fixture
async def daemon(connection: BusConnection, tasks: Tasks, heard: Heard) -> AsyncIterator[ProcessBluetooth]:
    bluetooth = ProcessBluetooth(connection, tasks)
    await bluetooth.start(heard)
    yield bluetooth
    await bluetooth.stop()


@pytest.fixture
def ended_links(connection: BusConnection, monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The links that the daemon asks the next process to end; the bus would start that for the call."""
    asked, call = list[object](), connection.call

    async def note(*arguments: Any, **options: Any) -> list[object]:
        member, signature, body = arguments[3:6]
        if member != "EndLinks":
            return await call(*arguments, **options)
        assert signature == "ao"
        asked.extend(body)
        return []

    monkeypatch.setattr(connection, "call", note)
    return asked


@pytest.fixture
async def ready(daemon: ProcessBluetooth, service: CameraService, bluez: FakeBluez) -> FakeBluez:
    """A bluetoothd that the process has read."""
    await until(lambda: daemon.status.state is BluetoothState.READY)
    return bluez


def wake(address: str = ADDRESS) -> WakeRequest:
    return WakeRequest(address, "fea6", b"", 10)


async def test_without_the_package_there_is_no_bluetooth(daemon: ProcessBluetooth) -> None:
    assert daemon.status.state is BluetoothState.ABSENT
    assert "apt install wifimgrd-camera" in daemon.status.reason
    with pytest.raises(BluetoothUnavailable, match="not installed"):
        await daemon.search(1, GOPROS)


async def test_a_package_that_is_installed_later_is_found(
    daemon: ProcessBluetooth, connection: BusConnection, heard: Heard, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def list_names(member: str, *_: object) -> list[object]:
        assert member == "ListActivatableNames"
        return [[calls.BUS_NAME, BLUEZ]]

    monkeypatch.setattr(connection, "call_bus", list_names)
    await daemon.look_again()
    assert daemon.status.state is not BluetoothState.ABSENT
    assert heard.states == [daemon.status]


async def test_what_the_process_says_counts_while_it_runs(
    daemon: ProcessBluetooth, heard: Heard, service: CameraService, bluez: FakeBluez
) -> None:
    await until(lambda: daemon.status.state is BluetoothState.READY)
    await bluez.stop()
    await until(lambda: daemon.status.state is not BluetoothState.READY)
    assert "bluetoothd" in daemon.status.reason or "BlueZ" in daemon.status.reason
    assert heard.states[-1] == daemon.status


async def test_a_search_reports_a_camera_that_sleeps(
    daemon: ProcessBluetooth, heard: Heard, service: CameraService, ready: FakeBluez
) -> None:
    ready.add(FakeGoPro(ADDRESS, manufacturer={0x02F2: bytes((2, 0, 0, 0))}))
    await daemon.search(1, GOPROS)
    [seen] = [one for one in heard.seen if one.address == ADDRESS][:1]
    assert (seen.power_state, seen.service) == (PowerState.ASLEEP, "fea6")


async def test_a_bonded_camera_is_woken_and_a_stranger_is_not(
    daemon: ProcessBluetooth, service: CameraService, ready: FakeBluez
) -> None:
    ready.add(camera := FakeGoPro(ADDRESS, bonded=True, knows_host=True))
    await daemon.wake(wake())
    assert camera.access_point
    await daemon.release(ADDRESS)
    with pytest.raises(NotPaired):
        await daemon.wake(wake("D4:32:60:00:00:00"))


async def test_a_process_that_does_not_run_is_not_started_to_release_a_camera(
    daemon: ProcessBluetooth,
) -> None:
    await daemon.release(ADDRESS)


async def test_a_pairing_tells_the_network(
    daemon: ProcessBluetooth, service: CameraService, ready: FakeBluez
) -> None:
    ready.add(camera := FakeGoPro(ADDRESS, pairing_mode=True))
    await daemon.search(1, GOPROS)
    paired = await daemon.pair(ADDRESS, "fea6", ())
    assert (paired.ssid, paired.password) == (camera.ssid, Passphrase(camera.password.decode()))
    here = frozenset({ADAPTER})
    assert await daemon.bonds(ADDRESS) == HostBonds(here, here)
    await daemon.unpair(ADDRESS, ADAPTER)
    assert await daemon.bonds(ADDRESS) == HostBonds(frozenset(), here)


async def test_the_links_of_a_process_that_has_ended_are_ended_by_the_next(
    daemon: ProcessBluetooth,
    service: CameraService,
    process: BusConnection,
    ready: FakeBluez,
    ended_links: list[object],
) -> None:
    ready.add(camera := FakeGoPro(ADDRESS, bonded=True, knows_host=True))
    await daemon.wake(wake())
    await process.close()
    await until(lambda: ended_links)
    assert ended_links == [[camera.path]]


async def test_a_link_that_does_not_end_starts_no_process_after_another(
    daemon: ProcessBluetooth,
    connection: BusConnection,
    tasks: Tasks,
    bus: MessageBusDaemon,
    ended_links: list[object],
) -> None:
    """Each has it as the one before, and ends."""
    link = f"/org/bluez/hci0/dev_{ADDRESS.replace(':', '_')}"

    async def run(*told: list[str]) -> None:
        process = await BusConnection.open(bus.address)
        process.serve(lambda call: process.reply(call, "ss", ["ready", ""]))
        await process.request_name(calls.BUS_NAME)
        await until(lambda: daemon.status.state is BluetoothState.READY)
        for links in told:
            process.emit(calls.PATH, calls.BUS_NAME, "LinksChanged", "ao", [links])
        await process.round_trip()
        await connection.round_trip()
        await process.close()
        await until(lambda: daemon.status.state is not BluetoothState.READY)
        await tasks.settle(10)

    for _ in range(3):
        await run([link])
    assert ended_links == [[link]]
    await run([link], [], [link])
    assert ended_links == [[link], [link]], "it had ended, and was made anew"


async def test_a_command_has_its_result_and_what_the_camera_said(
    daemon: ProcessBluetooth, service: CameraService, ready: FakeBluez
) -> None:
    emulated = EmulatedCamera(CameraSettings(battery=71))
    camera = FakeGoPro(
        ADDRESS,
        bonded=True,
        knows_host=True,
        manufacturer={0x02F2: bytes.fromhex("0201390100000000000000000c")},
        emulated=GoProBluetooth(GoProEmulator(emulated)),
    )
    ready.add(camera)
    answer = await daemon.command(ADDRESS, "fea6", CameraCommand.START)
    assert (answer.result.error, answer.reading.recording) == (None, RecordingState.RECORDING)
    assert (answer.reading.battery_level, answer.reading.model) == (71, "HERO12 Black")
    assert answer.result.after_us > 0
    emulated.set_card(missing=True)
    answer = await daemon.command(ADDRESS, "fea6", CameraCommand.START)
    assert isinstance(answer.result.error, CameraRefused)
    assert answer.result.error.message == "the camera has no card"
    camera.knows_host, camera.tells_reason = False, True
    await until(lambda: not camera.connected)
    with pytest.raises(NotPaired):
        await daemon.command(ADDRESS, "fea6", CameraCommand.STOP)


@pytest.mark.parametrize(
    ("flags", "is_on", "state"),
    [(0, False, PowerState.ASLEEP), (1, True, PowerState.ASLEEP), (3, True, PowerState.AWAKE)],
)
async def test_whether_a_camera_is_on_is_told_apart_from_its_wifi(
    daemon: ProcessBluetooth,
    heard: Heard,
    service: CameraService,
    ready: FakeBluez,
    flags: int,
    is_on: bool,
    state: PowerState,
) -> None:
    ready.add(FakeGoPro(ADDRESS, bonded=True, manufacturer={0x02F2: bytes([2, flags])}))
    await daemon.search(1, GOPROS)
    assert [(one.is_on, one.power_state) for one in heard.seen] == [(is_on, state)]


@pytest.mark.parametrize(
    "reply",
    [
        [{}, {}],
        [{"after": Variant("t", 1)}, {}],
        [{"code": Variant("s", ""), "after": Variant("t", 1 << 63)}, {"battery_level": Variant("i", 900)}],
        [{"code": Variant("s", "x")}, {"read_us": Variant("s", "x")}],
    ],
)
async def test_bad_values_of_an_answer_are_left_out(
    daemon: ProcessBluetooth, bus: MessageBusDaemon, reply: list[dict[str, Variant]]
) -> None:
    process = await BusConnection.open(bus.address)
    process.serve(
        lambda call: process.reply(
            call, *(("ss", ["ready", ""]) if call.member == "GetStatus" else ("a{sv}a{sv}", reply))
        )
    )
    await process.request_name(calls.BUS_NAME)
    with nullcontext() if "code" in reply[0] else pytest.raises(Unconfirmed):
        answer = await daemon.command(ADDRESS, "fea6", CameraCommand.START)
        assert answer.result.after_us <= 60_000_000
        assert answer.reading == CameraReading()
    await process.close()


async def test_a_cancelled_wake_ends_in_the_process_too(
    daemon: ProcessBluetooth, service: CameraService, ready: FakeBluez
) -> None:
    ready.add(camera := FakeGoPro(ADDRESS, bonded=True, knows_host=True))
    camera.hangs = True
    waking = asyncio.create_task(daemon.wake(wake()))
    await until(lambda: camera.connected)
    waking.cancel()
    await until(lambda: not is_at_work(service), SOON_S)


async def test_a_camera_that_is_not_there_fails_with_a_sentence(
    daemon: ProcessBluetooth, service: CameraService, ready: FakeBluez
) -> None:
    ready.add(FakeGoPro(ADDRESS, bonded=True, knows_host=True, in_range=False))
    with pytest.raises(WakeFailed, match="out of range"):
        await daemon.wake(wake())


async def test_a_service_that_nobody_knows_is_not_asked(daemon: ProcessBluetooth) -> None:
    for call in (daemon.sleep, daemon.restart_access_point, daemon.reboot):
        with pytest.raises(NotSupported):
            await call(ADDRESS, "180f")


async def test_a_camera_takes_its_own_recovery_steps(
    daemon: ProcessBluetooth, service: CameraService, ready: FakeBluez
) -> None:
    ready.add(camera := FakeGoPro(ADDRESS, bonded=True, knows_host=True))
    await daemon.restart_access_point(ADDRESS, "fea6")
    assert camera.access_point
    await daemon.reboot(ADDRESS, "fea6")
    assert camera.reboots == 1
    await until(lambda: not camera.connected)
    camera.encoding = True
    with pytest.raises(CameraBusy):
        await daemon.reboot(ADDRESS, "fea6")


async def test_a_bluetoothd_that_was_stopped_stays_stopped(
    daemon: ProcessBluetooth, service: CameraService, host: Path
) -> None:
    await until(lambda: daemon.status.state is not BluetoothState.READY)
    with pytest.raises(BluetoothUnavailable):
        await daemon.search(1, GOPROS)


async def test_a_search_that_is_cancelled_ends_in_the_process(
    daemon: ProcessBluetooth, service: CameraService, ready: FakeBluez
) -> None:
    searching = asyncio.create_task(daemon.search(20, GOPROS))
    await until(lambda: ready.discovering)
    searching.cancel()
    await until(lambda: not ready.discovering)
    assert searching.cancelled()


async def test_a_process_that_is_killed_makes_bluetooth_unavailable(
    daemon: ProcessBluetooth, bus: MessageBusDaemon, heard: Heard
) -> None:
    """The bus answers for it, or nobody does."""
    process = await BusConnection.open(bus.address)
    asked = asyncio.Event()

    def answer(call: MethodCall) -> None:
        if call.member == "Wake":
            asked.set()
        else:
            process.reply(call, "ss", ["ready", ""])

    process.serve(answer)
    await process.request_name(calls.BUS_NAME)
    await until(lambda: daemon.status.state is BluetoothState.READY)
    waking = asyncio.create_task(daemon.wake(wake()))
    await asked.wait()
    await process.close()
    with pytest.raises(BluetoothUnavailable, match="does not answer"):
        await waking


async def test_a_process_that_hangs_makes_bluetooth_unavailable(
    daemon: ProcessBluetooth, bus: MessageBusDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wifimgrd.daemon.camera_client.bluetooth._MARGIN_S", 0.1)
    process = await BusConnection.open(bus.address)
    process.serve(lambda _: None)
    await process.request_name(calls.BUS_NAME)
    with pytest.raises(BluetoothUnavailable, match="does not answer"):
        await daemon.search(0, GOPROS)
    await process.close()
