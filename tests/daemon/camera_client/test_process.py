"""`wifimgrd-camera` as it is installed, with emulated cameras: what it says of them, and what it costs."""

from __future__ import annotations

import asyncio
import getpass
import re
import signal
import socket
from dataclasses import dataclass, field, replace
from pathlib import Path

from benchmarks.ceilings import most_mb
from tests.camera.conftest import until
from tests.message_bus import MessageBusDaemon
from tests.programs import program
from wifimgrd.bus.connection import BusConnection
from wifimgrd.daemon.camera_client.control import ProcessControl
from wifimgrd.domain.camera import CameraDriver, CameraReading
from wifimgrd.domain.device import DeviceId
from wifimgrd.runtime.tasks import Backoff, Tasks
from wifimgrd.simulator.emulators import CameraSettings, EmulatedCamera, emulator, settings_of
from wifimgrd.wire import camera_calls as calls

PROGRAM = program("wifimgrd-camera")
MANY = 64


@dataclass
class World:
    """Emulated cameras by their devices' ids, and what is heard of them."""

    cameras: dict[DeviceId, EmulatedCamera] = field(default_factory=dict)
    drivers: dict[DeviceId, CameraDriver] = field(default_factory=dict)
    readings: dict[DeviceId, CameraReading] = field(default_factory=dict)
    serving: set[asyncio.Task[None]] = field(default_factory=set)

    def add(self, device_id: DeviceId, driver: CameraDriver) -> None:
        settings = settings_of(
            driver, model=None, serial_number=None, firmware_version=None, state=CameraSettings()
        )
        self.cameras[device_id] = EmulatedCamera(replace(settings, battery=20 + device_id))
        self.drivers[device_id] = driver

    def level(self, device_id: DeviceId) -> int:
        """How full its battery is by what it says: Novatek's firmware knows four steps."""
        level = self.cameras[device_id].settings.battery
        if self.drivers[device_id] is not CameraDriver.NOVATEK:
            return level
        return next(told for least, told in ((80, 100), (40, 66), (15, 33)) if level >= least)

    def camera_read(self, device_id: DeviceId, reading: CameraReading) -> None:
        self.readings[device_id] = reading

    async def open_socket(self, device_id: DeviceId, port: int) -> socket.socket:
        """As the helper does, over TCP."""
        ours = socket.socket()
        with socket.create_server(("127.0.0.1", 0)) as listener:
            ours.setblocking(False)
            await asyncio.get_running_loop().sock_connect(ours, listener.getsockname())
            theirs, _ = listener.accept()
        self.serving.add(asyncio.create_task(self._serve(device_id, port, theirs)))
        return ours

    async def _serve(self, device_id: DeviceId, port: int, theirs: socket.socket) -> None:
        reader, writer = await asyncio.open_connection(sock=theirs)
        try:
            await emulator(self.drivers[device_id], self.cameras[device_id]).serve(port, reader, writer)
        finally:
            writer.close()

    async def close(self) -> None:
        for task in self.serving:
            task.cancel()
        await asyncio.gather(*self.serving, return_exceptions=True)


def of_process(pid: int, key: str) -> int:
    [value] = re.findall(rf"^{key}:\s+(\d+)", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    return int(value)


def descriptors_of(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


async def test_64_cameras_are_read_and_record_in_40_mb(bus: MessageBusDaemon) -> None:
    process = await asyncio.create_subprocess_exec(
        PROGRAM, "--bus", bus.address, "--user", getpass.getuser(), stderr=asyncio.subprocess.DEVNULL
    )
    connection, world = await BusConnection.open(bus.address, sockets=True), World()
    async with asyncio.timeout(30):
        while await connection.name_owner(calls.BUS_NAME) is None:  # noqa: ASYNC110 - its start
            await asyncio.sleep(0.02)
    control = ProcessControl(connection, Tasks("wifimgrd"), Backoff(0.1, 1.0))
    await control.start(world, world.open_socket)
    before = descriptors_of(process.pid)
    device_ids = [DeviceId(number) for number in range(1, MANY + 1)]
    drivers = [one for one in CameraDriver if one.records_over_network]
    for number, device_id in enumerate(device_ids):
        world.add(device_id, drivers[number % len(drivers)])
        control.attach(device_id, world.drivers[device_id])
    levels = {one: world.level(one) for one in device_ids}
    await until(lambda: {one: read.battery_level for one, read in world.readings.items()} == levels, 60)
    results = await control.record(device_ids, on=True)
    assert not [result.error for result in results.values() if result.error is not None]
    await until(lambda: all(world.readings[one].is_recording for one in device_ids), 60)
    assert of_process(process.pid, "VmHWM") * 1024 / 1e6 < most_mb("wifimgrd-camera")
    assert of_process(process.pid, "Threads") == 1  # as the unit allows
    for device_id in device_ids:
        control.detach(device_id)
    await until(lambda: descriptors_of(process.pid) == before)
    process.send_signal(signal.SIGTERM)
    assert await process.wait() == 0
    await control.stop()
    await connection.close()
    await world.close()
