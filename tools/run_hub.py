"""`make run`: a private message bus, the daemon and the HTTP shim in the foreground, as one; with them the
bridge to an MQTT broker if CONFIG names one.

Settings come from the environment: PORT (default 8080, 0 = any free), STATE (a folder that is
kept; default a temporary one), SCENARIO, CONFIG, BACKEND (`simulated` or `networkmanager`).
Prints `ready http://127.0.0.1:PORT/ bus ADDRESS` once all serve. SIGINT or SIGTERM ends all of it.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import re
import shutil
import signal
import sys
import tempfile
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from wifimgrd.config import load
from wifimgrd.dbus.client.hub import HubClient

_BIN: Final = Path(sys.executable).parent
_START_TIMEOUT_S: Final = 30.0
_STOP_TIMEOUT_S: Final = 15.0
_RESTART_PAUSE_S: Final = 2.0
_INVALID_CONFIGURATION: Final = 78
_PR_SET_PDEATHSIG: Final = 1
_libc: Final = ctypes.CDLL(None)


class StartFailedError(Exception):
    """Something that was to be started did not come up."""


def _die_with_parent() -> None:
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


class Service:
    """A child process that is started again after a crash, as systemd would, but not after it
    ended well, or could not use its configuration."""

    def __init__(self, name: str, command: Sequence[str], environment: dict[str, str]) -> None:
        self.name = name
        self.is_up = False
        """Set once it serves: a crash before that is not mended by another start."""
        self.listening: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._command = list(command)
        self._environment = environment
        self._process: Process | None = None

    async def run(self) -> None:
        """Start it, show its log, start it again when it crashed."""
        while True:
            self._process = await asyncio.create_subprocess_exec(
                *self._command,
                env=self._environment,
                stdin=DEVNULL,
                stderr=PIPE,
                preexec_fn=_die_with_parent,
                start_new_session=True,
            )
            await self._show(self._process)
            status = await self._process.wait()
            print(f"{self.name} ended with status {status}", file=sys.stderr, flush=True)
            if status in {0, _INVALID_CONFIGURATION} or not self.is_up:
                return
            await asyncio.sleep(_RESTART_PAUSE_S)

    async def _show(self, process: Process) -> None:
        if process.stderr is None:
            return
        async for line in process.stderr:
            sys.stderr.write(f"{self.name}: {line.decode(errors='replace')}")
            sys.stderr.flush()
            found = re.search(rb"\blistening\b.*\burl=(\S+)", line)
            if found and not self.listening.done():
                self.listening.set_result(found[1].decode())
                self._keep_port(found[1].decode())

    def _keep_port(self, url: str) -> None:
        """After a crash it is to come back where it said that it is."""
        self._command = [
            url.split("/")[2] if before == "--listen" else word
            for before, word in zip(["", *self._command], self._command, strict=False)
        ]

    async def stop(self) -> None:
        """End it in order, and by force where it does not listen."""
        if self._process is None or self._process.returncode is not None:
            return
        self._process.terminate()
        try:
            async with asyncio.timeout(_STOP_TIMEOUT_S):
                await self._process.wait()
        except TimeoutError:
            self._process.kill()
            await self._process.wait()


async def main() -> int:
    """Run everything until told to stop, or until make, which started us, is gone."""
    _die_with_parent()
    stopping = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, stopping.set)
    port = os.environ.get("PORT") or "8080"
    if not (re.fullmatch("[0-9]{1,5}", port) and int(port) < 65536):
        print(f"run: PORT={port}: expected a port from 0 (any free one) to 65535", file=sys.stderr)
        return 2
    scratch = Path(tempfile.mkdtemp(prefix="wifimgrd-"))
    try:
        return await _run(scratch, port, stopping)
    except (StartFailedError, OSError) as error:
        print(f"run: {error}", file=sys.stderr)
        return 1
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


async def _run(scratch: Path, port: str, stopping: asyncio.Event) -> int:
    state = Path(os.path.abspath(os.environ.get("STATE") or scratch / "state"))  # noqa: PTH100, ASYNC240
    os.makedirs(state, mode=0o700, exist_ok=True)  # noqa: PTH103
    environment = {**os.environ, "STATE_DIRECTORY": str(state)}
    bus, address = await _start_bus(scratch)
    config = ["--config", os.environ["CONFIG"]] if os.environ.get("CONFIG") else []
    simulate = [] if _backend() == "networkmanager" else _simulate()
    daemon = Service("wifimgrd", [str(_BIN / "wifimgrd"), "--bus", address, *config, *simulate], environment)
    without_state = {name: value for name, value in environment.items() if name != "STATE_DIRECTORY"}
    shim = Service(
        "wifimgrd-http",
        [str(_BIN / "wifimgrd-http"), "--bus", address, *config, "--listen", f"127.0.0.1:{port}"],
        without_state,
    )
    bridge = Service("wifimgrd-mqtt", [str(_BIN / "wifimgrd-mqtt"), "--bus", address, *config], without_state)
    client = HubClient(address)
    running = [asyncio.create_task(daemon.run())]
    try:
        await client.start()
        waiting = asyncio.create_task(client.wait_until(lambda hub: hub.available, _START_TIMEOUT_S))
        await _unless_stopped(waiting, stopping, running)
        daemon.is_up = True
        running.append(asyncio.create_task(shim.run()))
        await _unless_stopped(shim.listening, stopping, running)
        shim.is_up = True
        if config and load(Path(config[1])).mqtt.broker:
            bridge.is_up = True
            running.append(asyncio.create_task(bridge.run()))
        if not stopping.is_set():
            print(f"ready {shim.listening.result()} bus {address}", flush=True)
            print(
                f"In another terminal:\n  export WIFIMGRD_BUS='{address}'\n  {_BIN / 'wifimgrctl'} status",
                file=sys.stderr,
                flush=True,
            )
        await stopping.wait()
        return 0
    finally:
        await client.stop()
        for task in running:
            task.cancel()
        await bridge.stop()
        await shim.stop()
        await daemon.stop()
        bus.kill()
        await bus.wait()


async def _unless_stopped(
    wait: asyncio.Future[object] | asyncio.Future[str] | asyncio.Task[None],
    stopping: asyncio.Event,
    running: Sequence[asyncio.Task[None]],
) -> None:
    """Wait for something to come up; a service that ends meanwhile is a failure."""
    stop = asyncio.create_task(stopping.wait())
    await asyncio.wait([wait, stop, *running], return_when=asyncio.FIRST_COMPLETED)
    stop.cancel()
    if stopping.is_set():
        wait.cancel()
    elif not wait.done():
        wait.cancel()
        raise StartFailedError("a service ended before it was ready; see above")
    else:
        wait.result()


async def _start_bus(scratch: Path) -> tuple[Process, str]:
    """A message bus whose socket lies in the scratch folder."""
    configuration = scratch / "bus.conf"
    configuration.write_text(_BUS_CONFIGURATION.format(socket=scratch / "bus"), encoding="utf-8")
    bus = await asyncio.create_subprocess_exec(
        "dbus-daemon",
        f"--config-file={configuration}",
        "--nofork",
        "--nopidfile",
        "--print-address=1",
        stdin=DEVNULL,
        stdout=PIPE,
        stderr=DEVNULL,
        preexec_fn=_die_with_parent,
        start_new_session=True,
    )
    address = (await bus.stdout.readline()).decode().strip() if bus.stdout else ""
    if not address:
        raise StartFailedError("dbus-daemon did not start")
    return bus, address


_BUS_CONFIGURATION: Final = """\
<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>session</type>
  <listen>unix:path={socket}</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/>
    <allow eavesdrop="true"/>
    <allow own="*"/>
  </policy>
</busconfig>
"""


def _simulate() -> list[str]:
    scenario = os.environ.get("SCENARIO")
    return ["--simulate", scenario] if scenario else ["--simulate"]


def _backend() -> str:
    """What BACKEND says, else NetworkManager where the host has it and a USB Wi-Fi adapter."""
    chosen = os.environ.get("BACKEND", "")
    if chosen:
        if chosen not in ("simulated", "networkmanager"):
            raise StartFailedError(f"BACKEND is simulated or networkmanager, not {chosen}")
        return chosen
    wireless = Path("/sys/class/net").glob("*/phy80211")
    on_usb = any("/usb" in str(phy.parent.resolve()) for phy in wireless)
    return "networkmanager" if on_usb and shutil.which("NetworkManager") else "simulated"


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
