"""The whole job with cameras that sleep: the product as it is installed, real BlueZ, and real 802.11."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

import pytest

from wifimgrd.camera import names
from wifimgrd.client.changes import Change, DeviceChanged
from wifimgrd.domain.commands import CONNECT, SLEEP, WITH_WAKE

from ..guest.access_point import Camera
from ..guest.adapters import Adapter
from ..guest.deadline import async_poll_until, poll_until
from ..guest.namespace import run
from ..guest.traffic import Download, fetch
from ..guest.whole_hub import WholeHub, whole_hub
from .access_points import Follow, following
from .world import BLUETOOTHD, PROCESS, Air, measured, until_powered

NUMBER, ADDRESS = "1001", "D4:32:60:00:10:01"
INSTA360 = "X4 34UQG5"
_LONG_S = 60.0
_CONFIGURATION = "[link]\ngrace_s = 1\n"

Cameras = Callable[..., Camera]
Plug = Callable[..., Awaitable[Adapter]]
Phases = list[tuple[str, float]]


@pytest.fixture
def follow(air: Air) -> Iterator[Follow]:
    """Have a camera's access point follow its Bluetooth side."""
    with following() as follow:
        yield follow


@pytest.fixture
async def whole(air: Air, backend: str, plug: Plug) -> AsyncIterator[WholeHub]:
    """The running product with two adapters and Bluetooth."""
    for _ in range(2):
        await plug()
    async with whole_hub(_CONFIGURATION) as hub:
        assert hub.dbus.service.backend == backend
        await _ready(hub)
        for name in ("wlan0", "wlan1"):
            await hub.interface_state(name, "available")
        yield hub


@pytest.fixture
def phases(whole: WholeHub) -> Phases:
    """What ConnectionPhase has been, and when it became so."""
    seen: Phases = []

    def note(change: Change) -> None:
        if (
            isinstance(change, DeviceChanged)
            and change.before.connection_phase != change.after.connection_phase
        ):
            seen.append((change.after.connection_phase or "", time.monotonic()))

    whole.dbus.subscribe(note)
    return seen


def _woke(phases: Phases) -> bool:
    """Whether an attempt woke the camera, and then joined its network."""
    names_seen = [phase for phase, _ in phases]
    assert "waking" in names_seen, phases
    return "joining" in names_seen[names_seen.index("waking") :]


async def _ready(hub: WholeHub) -> None:
    await hub.dbus.wait_until(lambda dbus: dbus.service.bluetooth_state == "ready", _LONG_S)


async def _state(hub: WholeHub, device: int, state: str) -> None:
    await hub.dbus.wait_until(lambda dbus: dbus.devices[device].state == state, _LONG_S)


def _bonds(air: Air) -> tuple[int, bool]:
    """How many the camera has, and whether bluetoothd has one with it."""
    return air.state(NUMBER)["bonds"], "Paired: yes" in _info()


def _info() -> str:
    return run("sh", "-c", f"bluetoothctl info {ADDRESS} </dev/null || true")


async def _registered(hub: WholeHub, air: Air) -> int:
    """Step 1: a camera in pairing mode is registered by its address alone, and connected."""
    began_s = time.monotonic()
    device = await hub.dbus.create_device({"bluetooth_address": ADDRESS})
    created_s = time.monotonic() - began_s
    await _state(hub, device, "connected")
    measured(f"registered by its address: {created_s:.2f} s, connected: {time.monotonic() - began_s:.2f} s")
    assert created_s < 10  # it is heard within a second; a whole search takes as long
    record = hub.dbus.devices[device]
    assert (record.codename, record.ssid, record.bluetooth_address) == ("gopro-hero12", b"GP1001", ADDRESS)
    assert fetch(record.interface or "") == "GP"
    assert _bonds(air) == (1, True)
    # Wi-Fi keeps it awake now.
    poll_until(lambda: not air.state(NUMBER)["connected"], "its Bluetooth link has ended")
    return device


def _times(began_s: float, phases: Phases) -> str:
    """How long an attempt looked for the network, woke the camera until its network was there, and joined."""
    at_s = {phase: seen_s for phase, seen_s in phases if phase}  # the last one of each
    looked_s, woken_s, now_s = at_s["waking"], at_s["joining"], time.monotonic()
    parts = (looked_s - began_s, woken_s - looked_s, now_s - woken_s)
    return f"{now_s - began_s:.2f} s = " + " + ".join(f"{part:.2f}" for part in parts)


async def _asleep(hub: WholeHub, air: Air, device: int) -> None:
    """The camera falls asleep by itself, and the hub has lost it."""
    air.do("doze", NUMBER)
    await hub.dbus.wait_until(lambda dbus: dbus.devices[device].state != "connected", _LONG_S)


async def test_a_paired_camera_that_becomes_a_keyboard_loses_its_bond(
    whole: WholeHub, air: Air, cameras: Cameras, follow: Follow
) -> None:
    air.do("gopro", number=NUMBER)
    follow(cameras("GP", ssid="GP1001", password="dive-1234"), NUMBER, "access_point")
    device = await _registered(whole, air)
    await whole.disconnect(device)
    await _state(whole, device, "disconnected")
    air.do("doze", NUMBER)
    air.do("become_keyboard", NUMBER)
    status, problem = await whole.ask("POST", f"/{device}/wake?wait=60")
    assert (status, problem["code"]) == (504, "wake-failed"), problem
    assert "Bluetooth service 1812" in problem["detail"], problem
    await whole.dbus.wait_until(lambda dbus: dbus.devices[device].paired is False, _LONG_S)
    poll_until(lambda: not _bonds(air)[1], "BlueZ has no bond with it")
    poll_until(lambda: not air.state(NUMBER)["connected"], "it is disconnected")
    assert "camera_unfit" in run("journalctl", "-u", "wifimgrd", "-o", "cat", "-b")


async def test_a_gopro_is_registered_found_asleep_woken_and_removed(
    whole: WholeHub, phases: Phases, air: Air, cameras: Cameras, follow: Follow
) -> None:
    air.do("gopro", number=NUMBER, boot_s=1.0)
    camera = cameras("GP", ssid="GP1001", password="dive-1234")
    follow(camera, NUMBER, "access_point")
    device = await _registered(whole, air)

    # A beacon, which also ends the search by which the GoPro was found.
    air.do("insta360", INSTA360)
    other = cameras("X4", ssid=f"{INSTA360}.OSC")
    follow(other, INSTA360, "awake")
    x4 = await whole.add(other, "insta360-x4")
    await whole.disconnect(x4)
    await _state(whole, x4, "disconnected")
    assert not air.state(INSTA360)["awake"]
    phases.clear()
    began_s = time.monotonic()
    await asyncio.to_thread(run, "wifimgrctl", "connect", "--wake", str(x4))
    measured(f"beacon to connected: {_times(began_s, phases)}")
    await whole.expect(x4, "connected")
    assert _woke(phases)
    x4_interface = whole.dbus.devices[x4].interface or ""
    assert fetch(x4_interface) == "X4"

    # Asleep: a plain attempt fails and says so, one with `wake` does not.
    await whole.dbus.update_device(device, {"auto_reconnect": False})
    assert "Discovering: no" in run("bluetoothctl", "show")
    await _asleep(whole, air, device)
    await _state(whole, device, "disconnected")
    began_s = time.monotonic()
    status, problem = await whole.connect(device, 60)
    measured(f"not reachable, as it is asleep: {time.monotonic() - began_s:.2f} s")
    assert (status, problem["code"]) == (504, "device-not-reachable")
    assert "the camera is asleep: wake it" in problem["detail"], problem
    assert whole.dbus.devices[device].power_state == "asleep"
    assert air.state(NUMBER)["awake"] is False

    phases.clear()
    began_s = time.monotonic()
    status, body = await whole.ask("GET", f"/wifi/connect?device_id={device}&wake=1&wait=90")
    measured(f"asleep to connected: {_times(began_s, phases)} (it boots for 1 s)")
    assert (status, body["status"]) == (200, "connected"), body
    assert _woke(phases)
    assert whole.dbus.devices[device].power_state == "awake"
    assert fetch(whole.dbus.devices[device].interface or "") == "GP"
    poll_until(lambda: not air.state(NUMBER)["connected"], "its Bluetooth link has ended")

    # Put to sleep by command; then bluetoothd is stopped on purpose.
    await whole.dbus.command_device(SLEEP, device, wait_s=60)
    await _state(whole, device, "disconnected")
    assert not air.state(NUMBER)["awake"]
    with Download(x4_interface) as download:
        run("systemctl", "stop", BLUETOOTHD)
        await whole.dbus.wait_until(  # it switches the adapter off first
            lambda dbus: dbus.service.bluetooth_reason == names.NOT_RUNNING, _LONG_S
        )
        assert whole.dbus.service.bluetooth_state == "off"
        status, problem = await whole.ask("GET", f"/wifi/connect?device_id={device}&wake=1&wait=30")
        assert (status, problem["code"]) == (503, "bluetooth-unavailable"), problem
        assert names.NOT_RUNNING in run("wifimgrctl", "bluetooth")
        assert _active(BLUETOOTHD) == "inactive"
        download.expect_more()
        await whole.expect(x4, "connected")
        run("systemctl", "start", BLUETOOTHD)
        until_powered()
        await _ready(whole)
        phases.clear()
        began_s = time.monotonic()
        await whole.dbus.command_device(CONNECT, device, {WITH_WAKE: True}, wait_s=60)
        measured(f"after the start of bluetoothd, asleep to connected: {_times(began_s, phases)}")
        download.expect_more()

    await whole.dbus.remove_device(device)
    await async_poll_until(_no_bond, "the bond is removed", 20)
    await whole.expect(x4, "connected")
    journal = run("journalctl", "-b", "-o", "json", "-u", "wifimgrd", "-u", PROCESS)
    assert "dive-1234" not in journal


def _active(unit: str) -> str:
    return run("systemctl", "show", "--value", "-p", "ActiveState", unit).strip()


async def _no_bond() -> bool:
    return "Paired: yes" not in await asyncio.to_thread(_info)


@pytest.mark.parametrize("backend", ["wpa_supplicant"])
async def test_a_gopro_is_registered_and_woken(
    whole: WholeHub, phases: Phases, air: Air, cameras: Cameras, follow: Follow
) -> None:
    air.do("gopro", number=NUMBER, boot_s=1.0)
    follow(cameras("GP", ssid="GP1001", password="dive-1234"), NUMBER, "access_point")
    device = await _registered(whole, air)
    await whole.dbus.update_device(device, {"auto_reconnect": False})
    await _asleep(whole, air, device)
    await _state(whole, device, "disconnected")
    phases.clear()
    began_s = time.monotonic()
    await whole.dbus.command_device(CONNECT, device, {WITH_WAKE: True}, wait_s=90)
    measured(f"wpa_supplicant: asleep to connected: {_times(began_s, phases)} (it boots for 1 s)")
    assert _woke(phases)
    assert fetch(whole.dbus.devices[device].interface or "") == "GP"


@pytest.mark.parametrize("backend", ["wpa_supplicant"])
async def test_a_gopro_whose_wifi_is_off_records_over_bluetooth_and_is_not_woken(
    whole: WholeHub, air: Air, cameras: Cameras, follow: Follow
) -> None:
    air.do("gopro", number=NUMBER)
    follow(cameras("GP", ssid="GP1001", password="dive-1234"), NUMBER, "access_point")
    device = await _registered(whole, air)
    await whole.disconnect(device)
    await _state(whole, device, "disconnected")
    air.do("doze", NUMBER)
    air.do("set", NUMBER, awake=True)
    for command, is_recording in (("record", True), ("stop", False)):
        began_s = time.monotonic()
        told = await asyncio.to_thread(run, "wifimgrctl", command, str(device))
        measured(
            f"{command} over Bluetooth, with a search: {time.monotonic() - began_s:.2f} s: {told.strip()}"
        )
        assert air.state(NUMBER)["encoding"] is is_recording
        camera = whole.dbus.devices[device].camera
        assert camera is not None
        assert (camera.recording_state == "recording", camera.battery_level) == (is_recording, 87)
    await asyncio.to_thread(run, "wifimgrctl", "clock", str(device))
    poll_until(lambda: not air.state(NUMBER)["connected"], "its Bluetooth link has ended")
    assert not air.state(NUMBER)["access_point"]
    assert whole.dbus.devices[device].state == "disconnected"

    air.do("doze", NUMBER)
    connections = air.state(NUMBER)["events"].count("connected")
    status, problem = await whole.ask("PUT", f"/{device}/recording", json={"recording": True})
    assert (status, problem["code"]) == (409, "not-connected"), problem
    assert "its camera is asleep: wake it" in problem["detail"]
    now = air.state(NUMBER)
    assert (now["awake"], now["events"].count("connected")) == (False, connections)
    poll_until(lambda: not air.do("adapter")["listens"], "the search has ended")
