"""For tests: the emulated air, bluetoothd, and the installed process, called as the daemon calls it."""

import json
import os
import pwd
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from wifimgrd.bus.connection import BusConnection, BusError, Signal
from wifimgrd.wire import camera_calls as calls

from ..guest.deadline import async_poll_until, poll_until
from ..guest.namespace import run

BUMBLE = "/opt/bumble"
_SOCKET = "/run/air.sock"
_LOG = Path("/out/air.log")
_BONDS = Path("/var/lib/bluetooth")
BLUETOOTHD = "bluetooth.service"
PROCESS = "wifimgrd-camera.service"


@dataclass
class Air:
    """A control of the process with the cameras, for one thread."""

    stream: Any

    def do(self, command: str, camera: str = "", **values: Any) -> dict[str, Any]:
        """Have something done to a camera, and return its state."""
        request = {"do": command, **({"camera": camera} if camera else {}), **values}
        self.stream.write(json.dumps(request) + "\n")
        self.stream.flush()
        answer: dict[str, Any] = json.loads(self.stream.readline())
        assert "error" not in answer, answer["error"]
        return answer

    def state(self, camera: str) -> dict[str, Any]:
        """A camera's state."""
        return self.do("state", camera)


@contextmanager
def emulated_air() -> Iterator[Air]:
    """The adapter hci0, switched on by a bluetoothd without bonds, and an air without cameras."""
    run("systemctl", "stop", PROCESS)
    run("sh", "-c", f"rm -rf {_BONDS}/*")
    run("modprobe", "hci_vhci")
    Path(_SOCKET).unlink(missing_ok=True)
    environment = {**os.environ, "PYTHONPATH": f"{BUMBLE}:/src", "PYTHONDONTWRITEBYTECODE": "1"}
    with _LOG.open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.lab.bluetooth.air", _SOCKET],
            env=environment,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    try:
        poll_until(partial(_connection, process), "the air is there", 90).close()
        run("systemctl", "start", BLUETOOTHD)
        until_powered()
        with another_control() as air:
            yield air
    finally:
        process.kill()
        process.wait()
        run("systemctl", "stop", BLUETOOTHD, PROCESS)


@contextmanager
def another_control() -> Iterator[Air]:
    """A control of its own."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(_SOCKET)
        with connection.makefile("rw") as stream:
            yield Air(stream)


def _connection(process: subprocess.Popen[bytes]) -> Any:
    """A connection to the process, once that listens."""
    assert process.poll() is None, _LOG.read_text()
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.connect(_SOCKET)
    except OSError:
        connection.close()
        return None
    return connection


def until_powered() -> None:
    """bluetoothd has switched the adapter on."""
    poll_until(lambda: "Powered: yes" in _show(), "the adapter is on", 60)


def measured(line: str) -> None:
    """Keep a measurement beside the log of the run."""
    with Path("/out/bluetooth.txt").open("a") as file:
        file.write(line + "\n")


def _show() -> str:
    done = subprocess.run(
        ["bluetoothctl", "show"],
        capture_output=True,
        text=True,
        check=False,
        timeout=20,
        stdin=subprocess.DEVNULL,
    )
    return done.stdout


@dataclass
class Daemon:
    """The camera process's only caller, by its user."""

    connection: BusConnection
    rows: list[dict[str, Any]] = field(default_factory=list)
    """What searches have reported."""
    states: list[tuple[str, str]] = field(default_factory=list)
    """What StatusChanged has told."""
    unfit: list[str] = field(default_factory=list)
    """The addresses that Unfit has told."""

    async def call(self, member: str, signature: str = "", *body: object) -> list[Any]:
        """Call a method of the camera process, which the bus starts."""
        reply = await self.connection.call(
            calls.BUS_NAME, calls.PATH, calls.BUS_NAME, member, signature, body, 100.0
        )
        return list(reply)

    async def wake(self, address: str, protocol: str = "gopro", seconds: int = 60) -> float:
        """Wake a camera; returns how long that took."""
        began_s = time.monotonic()
        await self.call("Wake", "ssayu", address, protocol, b"", seconds)
        return time.monotonic() - began_s

    async def pair(self, address: str, protocol: str = "gopro", *, again: bool = False) -> dict[str, Any]:
        """Pair with a camera; returns what it has told. `again`: its bond is the daemon's."""
        own = await self.bonds(address) if again else []
        [camera] = await self.call("Pair", "ssas", address, protocol, own)
        return dict(camera)

    async def bonds(self, address: str) -> list[str]:
        """The addresses of the adapters that have a bond with a camera."""
        bonded, _ = await self.call("GetBonds", "s", address)
        return list(bonded)

    async def unpair(self, address: str) -> None:
        """Remove the bonds with a camera, as the daemon does where it has made them."""
        for adapter in await self.bonds(address):
            await self.call("Unpair", "ss", address, adapter)

    async def error_of(self, call: Awaitable[object]) -> tuple[str, str, float]:
        """The error of a call: the last part of its name, its message, and after how long it came."""
        began_s = time.monotonic()
        with pytest.raises(BusError) as raised:
            await call
        name = raised.value.name.removeprefix("org.wifimgrd1.Error.")
        return name, raised.value.message, time.monotonic() - began_s

    async def until_state(self, state: str, seconds: float = 15.0) -> str:
        """Wait for a state of Bluetooth; returns its reason."""

        async def reason() -> str | None:
            now = await self.call("GetStatus")
            return f"{now[1]} " if now[0] == state else None

        return (await async_poll_until(reason, f"Bluetooth is {state}", seconds) or "").strip()

    def signalled(self, signal: Signal) -> None:
        match signal.member, signal.body:
            case "Advertised", [rows]:
                assert isinstance(rows, list)
                self.rows += rows
            case "StatusChanged", [state, reason]:
                self.states.append((str(state), str(reason)))
            case "Unfit", [address, _]:
                self.unfit.append(str(address))


@asynccontextmanager
async def daemon(user: str = "wifimgrd") -> AsyncIterator[Daemon]:
    """A connection to the system bus of this user; tests are root."""
    uid = pwd.getpwnam(user).pw_uid
    os.setresuid(uid, uid, 0)
    try:
        connection = await BusConnection.open("system")
    finally:
        os.setresuid(0, 0, 0)
    stub = Daemon(connection)
    await connection.watch(stub.signalled, interface=calls.BUS_NAME)
    yield stub
    await connection.close()
