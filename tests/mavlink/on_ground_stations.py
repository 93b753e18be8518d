"""Unmodified ground programs from PyPI, with the daemon and emulated cameras of three makes.

`make test-all` installs them, MAVSDK and MAVProxy, into an environment of their own; MAVProxy is under the
GPL: it is called here, and nothing of it is part of this project.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Final

import pytest

from tests.mavlink.bridge import free_port
from tests.mavlink.conftest import Start
from tests.message_bus import MessageBusDaemon
from tests.processes import Hub, running_hub
from tests.recording_cameras import CAMERAS, SCENARIO, connected
from wifimgrd.bus.connection import Variant

CHECKOUT: Final = Path(__file__).parents[2]
PROGRAMS: Final = CHECKOUT / ".ground-stations"
NAMES: Final = ("Nose", "Left", "Tail")
PATIENCE_S: Final = 60.0


@pytest.fixture
async def hub(message_bus: MessageBusDaemon, tmp_path: Path) -> AsyncIterator[Hub]:
    """The daemon, with a GoPro, an Insta360 and a Theta that are connected."""
    async with running_hub(message_bus.address, tmp_path / "state", f"--simulate={SCENARIO}") as hub:
        await asyncio.gather(*(connected(hub, *one) for one in zip(CAMERAS, NAMES, strict=True)))
        yield hub


@asynccontextmanager
async def started(folder: Path, *command: str) -> AsyncIterator[Process]:
    environment = {
        **os.environ, "PYTHONPATH": str(PROGRAMS), "HOME": str(folder),
        "PYTHONUNBUFFERED": "1", "TERM": "dumb",
    }  # fmt: skip
    with (folder / "program.log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            *command, stdin=PIPE, stdout=PIPE, stderr=log, cwd=folder, env=environment
        )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def until(process: Process, *texts: str, asked: str = "") -> None:
    """Read what a program prints until it has printed all of some texts; a line makes it print them, perhaps
    not at once."""
    assert process.stdout is not None
    said = ""
    try:
        async with asyncio.timeout(PATIENCE_S):
            while not all(text in said for text in texts):
                if asked:
                    write(process, asked)
                with suppress(TimeoutError):
                    async with asyncio.timeout(1.0 if asked else None):
                        while not all(text in said for text in texts):
                            data = await process.stdout.read(4096)
                            assert data, said
                            said += data.decode(errors="replace")
    except TimeoutError:
        pytest.fail(f"{texts} was not printed, but: {said}")


def write(process: Process, line: str) -> None:
    assert process.stdin is not None
    process.stdin.write(f"{line}\n".encode())


def recording(hub: Hub) -> set[str]:
    found = [one for one in hub.client.devices.values() if one.camera is not None]
    return {one.name for one in found if one.camera and one.camera.recording_state == "recording"}


async def until_recording(hub: Hub, *names: str) -> None:
    await hub.client.wait_until(lambda _: recording(hub) == set(names), PATIENCE_S)


@asynccontextmanager
async def mavproxy(folder: Path, port: int) -> AsyncIterator[Process]:
    """MAVProxy, which listens at a port, and knows the cameras."""
    line = (
        f"--master=udpin:127.0.0.1:{port}",
        "--state-basedir",
        str(folder),
        "--load-module=camera,message",
    )
    async with started(folder, sys.executable, "-m", "MAVProxy.mavproxy", *line) as program:
        await until(program, "Loaded module message")
        await until(program, *(f" {name} (1:" for name in NAMES), asked="camera status")
        yield program


def components(hub: Hub) -> dict[str, int]:
    """The components, which are given in the order of the ids."""
    return {one.name: 100 + place for place, one in enumerate(hub.client.devices.values())}


async def test_mavproxy_shows_the_cameras_by_name_and_records_on_one_broadcast(
    hub: Hub, processes: Start, tmp_path: Path
) -> None:
    port = free_port()
    await processes(f'connection = "udpout:127.0.0.1:{port}"').start()
    async with mavproxy(tmp_path, port) as program:
        write(program, "message COMMAND_LONG 1 0 2500 0 0 0 0 0 0 0 0")
        await until_recording(hub, *NAMES)
        for name, component in components(hub).items():
            await until(program, f"{name} (1:{component}) firmware=", asked=f"camera for 1:{component} info")
        write(program, "message COMMAND_LONG 1 0 2501 0 0 0 0 0 0 0 0")
        await until_recording(hub)


async def test_mavproxy_records_on_the_camera_that_is_selected_and_shows_a_refusal(
    hub: Hub, processes: Start, tmp_path: Path
) -> None:
    port = free_port()
    await processes(f'connection = "udpout:127.0.0.1:{port}"').start()
    fault = {"ssid": Variant("s", CAMERAS["insta360-x4"][0])}
    await hub.client.simulate("SetFault", "sa{sv}", "refuses-recording", fault)
    async with mavproxy(tmp_path, port) as program:
        write(program, f"camera select {components(hub)['Nose']}")
        write(program, "camera record start")
        await until_recording(hub, "Nose")
        write(program, "camera record stop")
        await until_recording(hub)
        write(program, f"camera select {components(hub)['Left']}")
        write(program, "camera record start")
        await until(program, "Left: ")


async def test_mavsdk_has_each_camera_by_name_and_waits_for_an_outcome_that_comes_late(
    hub: Hub, processes: Start, tmp_path: Path
) -> None:
    port = free_port()
    await processes(f'connection = "udpout:127.0.0.1:{port}"').start()
    fault = {"ssid": Variant("s", CAMERAS["insta360-x4"][0])}
    await hub.client.simulate("SetFault", "sa{sv}", "command-unanswered", fault)
    program = str(Path(__file__).with_name("with_mavsdk.py"))
    async with started(tmp_path, sys.executable, program, str(port), "3") as process:
        output = process.stdout
        assert output is not None

        async def said() -> dict[str, Any]:
            """The next line of JSON: the program logs on the same output."""
            async with asyncio.timeout(PATIENCE_S):
                while line := await output.readline():
                    if line.startswith(b"{"):
                        return dict(json.loads(line))
            pytest.fail((tmp_path / "program.log").read_text())

        assert sorted((await said())["names"].values()) == sorted(NAMES)
        results = (await said())["results"]
        late, late_s = results.pop("Left")
        assert {result for result, _ in results.values()} == {"SUCCESS"}
        assert (late, late_s > 3.0) == ("ERROR", True)  # it has repeated the command meanwhile
        videos = (await said())["videos"]
        assert {name for name, is_on in videos.items() if is_on} >= {"Nose", "Tail"}
        write(process, "go on")
        results = (await said())["results"]
        assert (results["Nose"][0], results["Tail"][0]) == ("SUCCESS", "SUCCESS")
