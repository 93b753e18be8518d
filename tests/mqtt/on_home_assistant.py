"""Home Assistant itself shows the hub and its cameras.

It needs Python 3.13.2, so it runs in a root of Debian 13, which is made once and takes some minutes. The name
of this file keeps it out of a plain run of the suite: `tools/test-all` names it.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import pytest

from tests.bare_roots import AUTHORITIES, PROXIES, in_root, made_once, smallest
from tests.browser.cable import Cable, cable_to
from tests.mqtt.bridge_process import BridgeProcess
from tests.mqtt.conftest import Start
from tests.mqtt.mosquitto import Mosquitto
from tests.mqtt.observer import observer
from tests.processes import Hub
from wifimgrd.client.json_records import device_json
from wifimgrd.domain.records import CameraRecord, DeviceRecord, ServiceRecord
from wifimgrd.mqtt._discovery import Discovery
from wifimgrd.mqtt._hub_record import encoded, hub_json
from wifimgrd.mqtt._topics import Target, Topics

VERSION: Final = "2026.2.3"
CERTIFICATES: Final = ("PIP_CERT", "SSL_CERT_FILE")
"""Of pip, and of uv, with which Home Assistant installs what it needs when it is first started."""
PACKAGES: Final = ("ca-certificates", "gcc", "libc6-dev", "python3-dev", "python3-venv")
PYTHON: Final = "/opt/home-assistant/bin/python"
PROGRAM: Final = Path(__file__).with_name("home_assistant.py")
INSTALL_S: Final = 1800
START_S: Final = 600
RETRY_S: Final = 60
"""Home Assistant connects again 10 s after it has lost the broker."""


def inside(root: Path, home: Path, *command: str) -> list[str]:
    """A command in the root, which may install from PyPI."""
    return in_root(root, home, *PROXIES, *(f"{name}={AUTHORITIES}" for name in CERTIFICATES), *command)


@pytest.fixture(scope="session")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Debian 13 with Home Assistant; made once."""

    def make(folder: Path) -> None:
        smallest("trixie", folder, *PACKAGES)
        (folder / AUTHORITIES.relative_to("/")).write_bytes(AUTHORITIES.read_bytes())
        environment = PYTHON.removesuffix("/bin/python")
        install = f"python3 -m venv {environment} && {PYTHON} -m pip install -q homeassistant=={VERSION}"
        done = subprocess.run(
            inside(folder, tmp_path_factory.mktemp("home"), "sh", "-c", install),
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=INSTALL_S,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout[-5000:]

    return made_once(f"home-assistant-{VERSION}", make)


@dataclass
class HomeAssistant:
    """A running one."""

    process: Process

    async def ask(self, *request: str) -> Any:
        """Send a request, and return the reply."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(request).encode() + b"\n")
        return await self.reply()

    async def reply(self, timeout_s: float = RETRY_S) -> Any:
        assert self.process.stdout is not None
        line = await asyncio.wait_for(self.process.stdout.readline(), timeout_s)
        assert line, "it has ended"
        return json.loads(line)

    async def until(self, what: str, holds: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
        """Wait until the states or the devices are so."""
        last: dict[str, Any] = {}
        try:
            async with asyncio.timeout(RETRY_S):
                while not holds(last := await self.ask(what)):
                    await self.ask("change")
        except TimeoutError:
            raise AssertionError(f"still {last}") from None
        return last


@dataclass
class Home:
    """Where Home Assistant runs, and its way to the broker."""

    root: Path
    folder: Path
    cable: Cable

    @property
    def log(self) -> Path:
        return self.folder / "log"

    @asynccontextmanager
    async def running(self) -> AsyncIterator[HomeAssistant]:
        """Start it; stop it after."""
        (self.folder / PROGRAM.name).write_bytes(PROGRAM.read_bytes())
        command = inside(
            self.root, self.folder, PYTHON, f"/tmp/home/{PROGRAM.name}", "/tmp/home", str(self.cable.port)
        )
        with self.log.open("ab") as log:
            process = await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE, stderr=log)
        try:
            one = HomeAssistant(process)
            assert await one.reply(START_S) == "ready"
            yield one
        finally:
            assert process.stdin is not None
            process.stdin.close()
            await asyncio.wait_for(process.wait(), START_S)

    @property
    def complaints(self) -> list[str]:
        """Warnings and errors in the log that are about MQTT, but for the loss of the connection."""
        lines = self.log.read_text(errors="replace").splitlines()
        return [
            line
            for line in lines
            if ("WARNING" in line or "ERROR" in line) and "mqtt" in line.lower()
            and "The connection was lost" not in line
        ]  # fmt: skip


@pytest.fixture
async def home(root: Path, broker: Mosquitto, tmp_path: Path) -> AsyncIterator[Home]:
    """Home Assistant's folder, with a cable to the broker."""
    folder = tmp_path / "home"
    folder.mkdir()
    async with cable_to(f"http://127.0.0.1:{broker.port}/") as cable:
        yield Home(root, folder, cable)


def is_complete(states: dict[str, str]) -> bool:
    """Whether all entities of the hub and of the camera Nose, which is connected, was read and was never
    seen over Bluetooth, have their states."""
    mine = {name: state for name, state in states.items() if "boat" in name or "nose" in name}
    unknown = {name for name, state in mine.items() if state == "unknown"}
    return (
        len(mine) == 20
        and mine["binary_sensor.nose_connectivity"] == "on"
        and mine["switch.wifimgrd_boat_record_on_all"] == "off"
        and mine["binary_sensor.nose_camera_problem"] == "off"
        and unknown == {"sensor.nose_power", "button.nose_wake"}
    )


TOLD: Final = (
    "sensor.nose_battery",
    "sensor.nose_storage_left",
    "sensor.nose_recording_time_left",
    "binary_sensor.nose_recording",
    "switch.nose_record",
)
"""What a camera says of itself."""
PROBLEM: Final = "binary_sensor.nose_camera_problem"
KNOWN: Final = CameraRecord(
    battery_level=0,
    recording_state="recording",
    storage_free=1_500_000_000,
    recording_time_left=7_199_000_000,
    problems=("battery-low",),
)


async def test_what_a_camera_says_is_a_state_and_what_is_not_known_is_none(
    home: Home, broker: Mosquitto
) -> None:
    topics = Topics("wifimgrd", "boat")
    discovery = Discovery(topics, "homeassistant", commands=True)
    nose = DeviceRecord(3, name="Nose", camera=KNOWN)
    service = ServiceRecord(backend_state="ready")
    async with observer(broker.port) as hub, home.running() as assistant:
        hub.send(topics.availability, b"online", retain=True)
        rig = [replace(nose, expected=True)]
        record = encoded(hub_json("boat", service, "0" * 16, commands=True, devices=rig))
        hub.send(topics.hub_record, record, retain=True)
        for topic, message in (discovery.hub("", [], records=True), discovery.camera(nose)):
            hub.send(topic, message, retain=True)

        async def shown(camera: CameraRecord | None, *states: str) -> None:
            record = encoded(device_json(replace(nose, camera=camera)))
            hub.send(topics.device(3), record, retain=True)
            await assistant.until(
                "states", lambda known: tuple(known.get(one) for one in (*TOLD, PROBLEM)) == states
            )

        await shown(KNOWN, "0", "1.5", "119", "on", "on", "on")
        switch = "switch.wifimgrd_boat_record_on_all"
        assert (await assistant.ask("states"))[switch] == "on"
        idle = replace(nose, expected=True, camera=replace(KNOWN, recording_state="idle"))

        async def all_record(state: str, *devices: DeviceRecord) -> None:
            record = encoded(hub_json("boat", service, "0" * 16, commands=True, devices=devices))
            hub.send(topics.hub_record, record, retain=True)
            await assistant.until("states", lambda known: known.get(switch) == state)

        await all_record("unknown", *rig, idle)
        await all_record("off", idle)
        assert (await assistant.ask("states"))["binary_sensor.wifimgrd_boat_ready"] == "off"
        await all_record("on", *rig)
        await shown(
            replace(KNOWN, recording_state="idle", problems=()), "0", "1.5", "119", "off", "off", "off"
        )
        await shown(CameraRecord(), *["unknown"] * 5, "off")
        await shown(KNOWN, "0", "1.5", "119", "on", "on", "on")
        await shown(None, *["unknown"] * 6)
        await assistant.ask("switch", switch, "on")
        await assistant.ask("switch", "switch.nose_record", "off")
        await hub.until(lambda: hub.seen(topics.command(Target(3))))
        [all_of_them] = hub.seen(topics.command(Target(None, everyone=True)))
        assert json.loads(all_of_them.payload) == {
            "command": "record",
            "options": {"recording": True, "all": True},
        }
        [one] = hub.seen(topics.command(Target(3)))
        assert json.loads(one.payload) == {"command": "stop_recording"}
    assert home.complaints == []


async def test_cameras_come_change_and_go(home: Home, hub: Hub, bridge: BridgeProcess) -> None:
    del bridge
    first, second = await hub.create(1, name="Nose"), await hub.create(2, name="Tail")
    async with home.running() as assistant:
        await assistant.until(
            "states",
            lambda states: (
                states.get("binary_sensor.nose_connectivity") == "on"
                and states["sensor.nose_error"] == "none"
                and states["switch.nose_connection"] == "on"
                and states["sensor.wifimgrd_boat_adapter_wlan2"] == "Free"
            ),
        )
        devices = await assistant.ask("devices")
        assert devices["Nose"]["via"]
        assert devices["Nose"]["model_id"] == "insta360-x3"
        assert devices["wifimgrd boat"]["manufacturer"] == "wifimgrd"
        await assistant.ask("switch", "switch.nose_connection", "off")
        await hub.until(first, "disconnected", 20)
        await assistant.until("states", lambda states: states["binary_sensor.nose_connectivity"] == "off")
        await assistant.ask("switch", "switch.nose_connection", "on")
        await hub.until(first, "connected", 20)
        await hub.client.update_device(second, {"name": "Rear"})
        await assistant.until("devices", lambda devices: "Rear" in devices and "Tail" not in devices)
        home.cable.cut()
        await hub.client.remove_device(second)
        await hub.client.simulate("UnplugAdapter", "s", "wlan2")
        home.cable.mend()
        await assistant.until(  # while it is cut off, everything is unavailable
            "states",
            lambda states: (
                states["binary_sensor.nose_connectivity"] == "on"
                and states["sensor.wifimgrd_boat_adapter_wlan2"] == "unavailable"
            ),
        )
        await assistant.until("devices", lambda devices: "Rear" not in devices)
        assert not [one for one in await assistant.ask("states") if "tail" in one]
    await hub.client.remove_device(first)
    async with home.running() as assistant:
        await assistant.until(
            "states", lambda states: states.get("binary_sensor.wifimgrd_boat_connectivity") == "on"
        )
        await assistant.until("devices", lambda devices: "Nose" not in devices)
    assert home.complaints == []


async def test_a_hub_that_was_deleted_there_is_back_with_its_cameras(
    home: Home, hub: Hub, bridge: BridgeProcess, bridges: Start
) -> None:
    await hub.create(1, name="Nose")
    async with home.running() as assistant:
        await assistant.until("states", is_complete)
        await assistant.until("devices", lambda devices: devices["Nose"]["via"])
        await assistant.ask("delete", "wifimgrd boat")
        await assistant.until("devices", lambda devices: not devices["Nose"]["via"])
        assert await bridge.end() == 0
        await bridges().start()
        await assistant.until(
            "devices", lambda devices: "wifimgrd boat" in devices and devices["Nose"]["via"]
        )
    own = "No device components to cleanup for wifimgrd_boat_hub"  # of the message that it removes itself
    assert [one for one in home.complaints if own not in one] == []
