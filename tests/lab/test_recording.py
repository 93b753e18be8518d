"""Recording on all cameras on real 802.11: the product as it is installed, cameras that are emulated ones.

All of them have one address, and the two X4 one kind of network name: the hub has an address for each.
"""

import asyncio
import os
import subprocess
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.clients.driven_insta360 import PROGRAM, Insta360
from wifimgrd.client.changes import Change, DaemonAppeared, DeviceChanged, RecordingStopped
from wifimgrd.domain.records import CameraRecord

from .backends import on_both
from .guest.access_point import Camera
from .guest.adapters import Adapter
from .guest.deadline import async_poll_until
from .guest.namespace import run
from .guest.whole_hub import WholeHub, whole_hub

_CONFIGURATION = "[link]\ngrace_s = 1\n"
_PROCESS = "wifimgrd-camera.service"
_SECOND_US = 1_000_000
_FIRST_S = 30.0
"""Until the first camera is read: its process is started, too."""
_SOON_S = 10.0
"""Until the hub shows what a camera does, which it reads every 2 s while that records."""
_DIFFERS_S = 20.0
"""A camera that should record and does not is a problem after 10 s."""
_BACK_S = 40.0

Plug = Callable[..., Awaitable[Adapter]]
Holds = Callable[[CameraRecord], bool]


@dataclass(frozen=True)
class Kind:
    """What a camera is, and what the hub is to know of it."""

    codename: str
    driver: str
    ssid: str
    serial: str
    battery: int
    card_gb: int


KINDS = {
    "A": Kind("insta360-x4", "insta360", "X4 34UQG5.OSC", "IAQEA000000A", 61, 128),
    "B": Kind("insta360-x4", "insta360", "X4 34UQH7.OSC", "IAQEA000000B", 52, 64),
    "G": Kind("gopro-hero12", "gopro", "GP25140003", "C3501300000003", 43, 32),
}


@dataclass
class Scene:
    """The hub and its cameras, by name; what was seen of each recording."""

    hub: WholeHub
    cameras: dict[str, Camera]
    devices: dict[str, int] = field(default_factory=dict)
    states: dict[int, list[str | None]] = field(default_factory=dict)
    """What each device's RecordingState has been."""
    ends: list[tuple[int, str]] = field(default_factory=list)
    """What RecordingStopped has told."""
    starts: int = 0
    """How often the daemon has come back."""

    def note(self, change: Change) -> None:
        """Keep what clients are told of recordings."""
        if isinstance(change, RecordingStopped):
            self.ends.append((change.device_id, change.reason))
        elif isinstance(change, DaemonAppeared):
            self.starts += 1
        elif isinstance(change, DeviceChanged) and change.after.camera is not None:
            states = self.states.setdefault(change.after.id, [])
            if not states or states[-1] != change.after.camera.recording_state:
                states.append(change.after.camera.recording_state)

    def forget(self) -> None:
        """Begin a new chapter."""
        self.states.clear()
        self.ends.clear()
        self.hub.channel.forget()

    def emulate(self, name: str) -> None:
        """Have a camera answer, which does not record."""
        kind = KINDS[name]
        options = ("--serial", kind.serial, "--battery", str(kind.battery), "--card-gb", str(kind.card_gb))
        self.cameras[name].emulate(kind.driver, *options)

    async def add(self, name: str) -> None:
        """Register a camera over HTTP, and wait until it is connected and was read."""
        self.devices[name] = await self.hub.add(self.cameras[name], KINDS[name].codename)
        await self.hub.until(self.devices[name], "connected")
        await self.until_state(name, "idle", _FIRST_S)

    def of(self, name: str) -> CameraRecord:
        """What the hub says of a camera."""
        camera = self.hub.dbus.devices[self.devices[name]].camera
        assert camera is not None
        return camera

    async def served(self, name: str) -> dict[str, Any]:
        """What the hub says of a camera over HTTP; nothing until the shim has the first reading, too."""
        status, shown = await self.hub.ask("GET", f"/{self.devices[name]}/camera")
        assert status == 200
        return {} if shown["recording"] is None else dict(shown)

    async def until(self, name: str, holds: Holds, seconds: float = _SOON_S) -> CameraRecord:
        """Wait until it is so of a camera, on D-Bus."""
        await self.hub.dbus.wait_until(lambda _: holds(self.of(name)), seconds)
        return self.of(name)

    async def until_state(self, name: str, state: str, seconds: float = _SOON_S) -> CameraRecord:
        """Wait until a camera is seen to record, or not."""
        return await self.until(name, lambda camera: camera.recording_state == state, seconds)

    async def until_all(self, state: str) -> None:
        """Wait until all cameras are seen to record, or not."""
        for name in self.devices:
            await self.until_state(name, state)

    async def record_all(self, *, on: bool) -> list[dict[str, Any]]:
        """Command all of them over HTTP; the results."""
        status, body = await self.hub.ask("POST", "/recording", json={"recording": on, "all": True})
        assert status == 200, body
        results: list[dict[str, Any]] = body["results"]
        assert {one["device_id"] for one in results} == set(self.devices.values())
        assert [(one["done"], one["code"]) for one in results] == [(True, None)] * len(results), results
        return results

    def address(self, name: str) -> str:
        """The hub's own for this camera."""
        return self.hub.dbus.devices[self.devices[name]].address or ""

    @contextmanager
    def clients(self, names: Sequence[str]) -> Iterator[list[Insta360]]:
        """The published client, a process for each of these cameras."""
        environment = {**os.environ, "PYTHONPATH": "/opt/insta360", "PYTHONDONTWRITEBYTECODE": "1"}
        with ExitStack() as stack:
            processes = []
            for name in names:
                command = ("python3", str(PROGRAM), self.address(name))
                process = subprocess.Popen(
                    command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
                )
                processes.append(stack.enter_context(process))
                stack.callback(process.kill)
            yield [Insta360(process) for process in processes]


@pytest.fixture
async def scene(backend: str, plug: Plug, cameras: Callable[..., Camera]) -> AsyncIterator[Scene]:
    for _ in KINDS:
        await plug()
    made = {
        name: cameras(name, ssid=kind.ssid, channel=channel)
        for (name, kind), channel in zip(KINDS.items(), (1, 6, 11), strict=True)
    }
    async with whole_hub(_CONFIGURATION) as hub:
        assert hub.dbus.service.backend == backend
        for number in range(len(KINDS)):
            await hub.interface_state(f"wlan{number}", "available")
        scene = Scene(hub, made)
        for name in KINDS:
            scene.emulate(name)
        await asyncio.gather(*(scene.add(name) for name in KINDS))
        hub.dbus.subscribe(scene.note)
        yield scene


def main_pid(unit: str) -> str:
    return run("systemctl", "show", "--value", "-p", "MainPID", unit).strip()


def connections() -> list[str]:
    """To which ports the camera process has TCP connections, which it cannot open itself."""
    lines = run("ss", "-Htnp", "state", "established").splitlines()
    own = [line for line in lines if f"pid={main_pid(_PROCESS)}," in line]
    return sorted(line.split()[3] for line in own)


def fetched_under(setting: str, url: str) -> bool:
    """Whether a program of a unit with this setting can fetch a page: the kernel enforces it."""
    command = ("systemd-run", "--quiet", "--wait", "-p", setting, "curl", "-sS", "-m", "3", url)
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def measured(line: str) -> None:
    """Keep a measurement beside the log of the run."""
    with Path("/out/recording.txt").open("a") as file:
        file.write(line + "\n")


@on_both
async def test_two_cameras_that_are_alike_and_another_record_at_one_command(scene: Scene) -> None:
    for name, kind in KINDS.items():
        shown = await async_poll_until(partial(scene.served, name), "the shim has what is on D-Bus")
        known = {key: shown[key] for key in ("serial_number", "battery_level", "storage_total", "recording")}
        assert (known["serial_number"], known["recording"]) == (kind.serial, False)
        assert (known["battery_level"], shown["storage_state"]) == (kind.battery, "ok")
        assert abs(known["storage_total"] - kind.card_gb * 10**9) < 2**20
    assert len({scene.address(name) for name in KINDS}) == len(KINDS)
    assert {scene.hub.dbus.devices[one].camera_address for one in scene.devices.values()} == {"192.168.42.1"}

    # Its sandbox: the sockets came over the bus, and its unit can neither make one nor send by IP itself.
    assert connections() == ["192.168.42.1:6666", "192.168.42.1:6666", "192.168.42.1:8080"]
    assert run("systemctl", "show", "--value", "-p", "RestrictAddressFamilies", _PROCESS).strip() == "AF_UNIX"
    denied = run("systemctl", "show", "--value", "-p", "IPAddressDeny", _PROCESS).split()
    assert set(denied) == {"0.0.0.0/0", "::/0"}
    url = f"http://{scene.address('A')}/osc/info"
    assert not fetched_under("IPAddressDeny=any", url)
    assert fetched_under("IPAddressAllow=any", url)

    began_s = time.monotonic()
    results = await scene.record_all(on=True)
    took_s = time.monotonic() - began_s
    measured(f"record on all: {took_s:.3f} s, {[one['after_ms'] for one in results]} ms")
    await scene.until_all("recording")
    assert all(scene.of(name).recording_requested for name in KINDS)

    addresses = [scene.address(name) for name in "AB"]
    assert all(address.startswith("10.77.0.") for address in addresses)
    with scene.clients("AB") as clients:
        infos = await asyncio.gather(*(asyncio.to_thread(one.ask, "info") for one in clients))
        assert [one["batteryStatus"]["batteryLevel"] for one in infos] == [61, 52]
        assert [one["serialNumber"] for one in infos] == [KINDS["A"].serial, KINDS["B"].serial]
        assert [one.ask("status") for one in clients] == ["NORMAL_CAPTURE"] * 2
        for command, does, seen in (
            ("stop", "NOT_CAPTURE", "idle"),
            ("start", "NORMAL_CAPTURE", "recording"),
        ):
            scene.forget()
            await asyncio.gather(*(asyncio.to_thread(one.ask, command) for one in clients))
            for name, client in zip("AB", clients, strict=True):
                await scene.until_state(name, seen)
                assert client.ask("status") == does
            if seen == "idle":  # the end is told a moment later, if the camera does not say why
                await scene.hub.dbus.wait_until(lambda _: len(scene.ends) == 2, _SOON_S)
        assert scene.of("G").recording_state == "recording"
        await scene.record_all(on=False)
        await scene.until_all("idle")
        assert [one.ask("status") for one in clients] == ["NOT_CAPTURE"] * 2
        assert [one.ask("files") for one in clients] == [2, 2]
    assert sorted(scene.ends) == sorted((device, "stopped") for device in scene.devices.values())
    for device in scene.devices.values():
        await scene.hub.expect(device, "connected")


async def test_the_truth_is_read_again_after_what_was_killed(scene: Scene) -> None:
    await scene.record_all(on=True)
    await scene.until_all("recording")
    began = {name: scene.of(name).recording_since or 0 for name in KINDS}

    # The camera process: its cameras are attached again, and nothing else happens.
    scene.forget()
    pid = main_pid(_PROCESS)
    run("systemctl", "kill", "--signal=KILL", _PROCESS)
    began_s = time.monotonic()
    with scene.clients("B") as [client]:
        client.ask("stop")
        stopped_s = time.monotonic()
        await scene.until_state("B", "idle", _FIRST_S)
    measured(
        f"wifimgrd-camera killed: state is back at most {time.monotonic() - began_s:.2f} s later, and "
        f"{time.monotonic() - stopped_s:.2f} s after a camera's client has stopped it"
    )
    assert main_pid(_PROCESS) not in (pid, "0")
    assert [scene.of(name).recording_state for name in "AG"] == ["recording"] * 2
    await scene.hub.dbus.wait_until(lambda _: bool(scene.ends), _SOON_S)  # without a cause a moment later
    [(device, reason)] = scene.ends
    assert device == scene.devices["B"]
    assert reason in ("stopped", "unknown")  # told by the camera, if it was attached by then
    assert [scene.hub.channel.statuses(device) for device in scene.devices.values()] == [[], [], []]
    status, body = await scene.hub.ask("PUT", f"/{scene.devices['B']}/recording", json={"recording": True})
    assert (status, body["recording"]) == (200, True), body
    began["B"] = scene.of("B").recording_since or 0

    # The daemon: what was wanted is kept, and what is so is read.
    scene.forget()
    began_s = time.monotonic()
    run("systemctl", "restart", "wifimgrd.service")
    await scene.hub.dbus.wait_until(lambda _: scene.starts == 1, 20)
    assert all(scene.of(name).recording_requested for name in KINDS)
    await scene.hub.all_in("connected", scene.devices.values(), _BACK_S)
    await scene.until_all("recording")
    measured(f"daemon restarted: all cameras are read {time.monotonic() - began_s:.2f} s later")
    assert all(abs((scene.of(name).recording_since or 0) - began[name]) < 3 * _SECOND_US for name in KINDS)
    assert all("idle" not in states for states in scene.states.values()), scene.states
    assert scene.ends == []

    # One camera loses its power, and another one only its network.
    scene.forget()
    scene.cameras["A"].stop_emulating()
    scene.cameras["A"].kill()
    scene.cameras["G"].kill()
    for name in "AG":
        lost = await scene.until(name, lambda camera: camera.recording_state is None, 15)
        assert lost.recording_requested
        assert lost.recording_since is None
        assert lost.battery_level == KINDS[name].battery
    scene.emulate("A")
    for name in "AG":
        scene.cameras[name].on()
        await scene.hub.connect(scene.devices[name])
    await scene.hub.all_in("connected", scene.devices.values(), _BACK_S)
    on = await scene.until_state("G", "recording")
    assert abs((on.recording_since or 0) - began["G"]) < 3 * _SECOND_US
    off = await scene.until_state("A", "idle")
    assert off.recording_requested
    assert [scene.states[scene.devices[name]] for name in "AG"] == [[None, "idle"], [None, "recording"]]
    assert [device for device, _ in scene.ends] == [scene.devices["A"]]
    await scene.until("A", lambda camera: "not-recording" in camera.problems, _DIFFERS_S)
    assert scene.of("B").recording_state == "recording"
    assert "not-recording" not in scene.of("G").problems
    journal = run("journalctl", "-b", "-o", "cat", "-u", "wifimgrd")
    assert f'"{KINDS["A"].ssid}" (device {scene.devices["A"]}): It should record and does not' in journal
