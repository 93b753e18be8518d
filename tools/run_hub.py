"""`make run`: a private message bus, the daemon and the HTTP shim in the foreground, as one; with them the
bridges to an MQTT broker and to ground stations if CONFIG names such, and the helper where adapters are real.

Settings come from the environment: PORT (default 8080, 0 = any free), STATE (a folder that is
kept; default a temporary one), SCENARIO, CONFIG, BACKEND (`simulated`, `networkmanager` or `wpa_supplicant`),
WATCHDOG (seconds, default 30, as in the units; 0 = none, e.g. for a debugger).
The message bus has the same address at each start, but where another hub of this checkout runs already.
Prints `ready http://127.0.0.1:PORT/ bus ADDRESS` once all serve; the file `.bus` of the checkout has that
address until the end. SIGINT or SIGTERM ends all of it.
"""

from __future__ import annotations

import asyncio
import fcntl
import hashlib
import os
import pwd
import re
import shlex
import shutil
import signal
import socket
import sys
import tempfile
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

_CHECKOUT: Final = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(_CHECKOUT))

from tools.services import BIN, Service, Watchdog, die_with_parent  # noqa: E402
from wifimgrd.client.hub import HubClient  # noqa: E402
from wifimgrd.config.configuration import Config, load  # noqa: E402

_START_TIMEOUT_S: Final = 30.0
_HOST: Final = "127.0.0.1"
_BACKENDS: Final = ("simulated", "networkmanager", "wpa_supplicant")
_ADDRESS: Final = _CHECKOUT / ".bus"
"""For other terminals: the address of the message bus of the hub that started last."""
_LONGEST_SOCKET: Final = 107
"""Bytes of a Unix socket's path, of which the kernel has 108 with the end."""
_LONGEST_NAME: Final = "wifimgrd-mavlink.notify"
"""Of the sockets in the scratch folder."""


class StartFailedError(Exception):
    """Something that was to be started did not come up."""


async def main() -> int:
    """Run everything until told to stop, or until make, which started us, is gone."""
    die_with_parent()
    stopping = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, stopping.set)
    try:
        port = _port()
        with _scratch_folder() as scratch:
            return await _run(scratch, port, stopping)
    except StartFailedError as error:
        print(f"run: {error}", file=sys.stderr)
    except OSError as error:
        print(f"run: {error.filename or 'the start'}: {error.strerror or error}", file=sys.stderr)
    return 1


def _port() -> int:
    """What PORT says; raises StartFailedError where nothing can listen on it."""
    wanted = os.environ.get("PORT") or "8080"
    if not (re.fullmatch("[0-9]{1,5}", wanted) and int(wanted) < 65536):
        raise StartFailedError(f"PORT={wanted}: expected a port from 0 (any free one) to 65535")
    with socket.socket() as attempt:
        attempt.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            attempt.bind((_HOST, int(wanted)))
        except OSError as error:
            raise StartFailedError(
                f"port {wanted} cannot be used ({error.strerror}): choose another one, as in "
                "`make run PORT=8081`, or any free one by PORT=0"
            ) from None
    return int(wanted)


@contextmanager
def _scratch_folder() -> Iterator[Path]:
    """An empty folder, for the message bus and all that is not to be kept: the same one at each start, so
    that what was set in other terminals stays right, unless another hub of this checkout has it."""
    name = hashlib.sha256(f"{os.geteuid()} {_CHECKOUT}".encode(errors="surrogateescape")).hexdigest()[:8]
    place = tempfile.gettempdir()
    if (
        not re.fullmatch("[0-9A-Za-z_/.-]+", place)
        or len(f"{place}/wifimgrd-{name}/{_LONGEST_NAME}") > _LONGEST_SOCKET
    ):
        place = "/tmp"  # noqa: S108 - it is opened below as this user's own, or not at all
    folder = Path(place, f"wifimgrd-{name}")
    lock = _lock(folder)
    if lock is None:
        folder = Path(tempfile.mkdtemp(prefix="wifimgrd-", dir=place))
        print(
            "run: another hub of this checkout runs already: this one has a message bus of its own",
            file=sys.stderr,
        )
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if lock is not None:
            os.close(lock)


def _lock(folder: Path) -> int | None:
    """Take a folder and empty it; the descriptor that holds it, None if another process does, or it is
    another user's."""
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    try:
        lock = os.open(folder, os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        opened, named = os.fstat(lock), folder.lstat()
        if opened.st_uid == os.geteuid() and os.path.samestat(opened, named):
            os.fchmod(lock, 0o700)
            for left in folder.iterdir():  # by a hub that was killed
                shutil.rmtree(left) if left.is_dir() and not left.is_symlink() else left.unlink()
            return lock
    except OSError:
        pass
    os.close(lock)
    return None


async def _run(scratch: Path, port: int, stopping: asyncio.Event) -> int:
    backend = _backend()
    state = _state_folder(scratch)
    limit_s = _watchdog_s()

    def watchdog(name: str) -> Watchdog | None:
        return Watchdog(scratch / f"{name}.notify", limit_s) if limit_s else None

    bus, address = await _start_bus(scratch)
    to_bus = ["--bus", address]
    config = ["--config", os.environ["CONFIG"]] if os.environ.get("CONFIG") else []
    daemon = Service(
        "wifimgrd",
        *to_bus,
        *config,
        *(_simulate() if backend == "simulated" else ["--backend", backend]),
        watchdog=watchdog("wifimgrd"),
        environment={"STATE_DIRECTORY": str(state)},
    )
    listen = ("--listen", f"{_HOST}:{port}")
    shim = Service("wifimgrd-http", *to_bus, *config, *listen, watchdog=watchdog("wifimgrd-http"))
    own_user = pwd.getpwuid(os.geteuid()).pw_name
    rights = ("--user", own_user, "--networkd-bus", "system")
    helper = Service("wifimgrd-net", *to_bus, *config, *rights, watchdog=watchdog("wifimgrd-net"))
    bridge = Service("wifimgrd-mqtt", *to_bus, *config, watchdog=watchdog("wifimgrd-mqtt"))
    stations = Service(
        "wifimgrd-mavlink",
        *to_bus,
        *config,
        watchdog=watchdog("wifimgrd-mavlink"),
        environment={"STATE_DIRECTORY": str(state)},
    )
    client = HubClient(address)
    running: list[asyncio.Task[None]] = []
    services: list[Service] = []

    async def start(service: Service) -> str:
        services.append(service)
        running.append(asyncio.create_task(service.run(), name=service.name))
        await _unless_stopped(service.started, stopping, running)
        return "" if stopping.is_set() else service.started.result()

    try:
        if backend != "simulated":
            await start(helper)
        await start(daemon)
        await client.start()
        available = asyncio.create_task(client.wait_until(lambda hub: hub.available, _START_TIMEOUT_S))
        await _unless_stopped(available, stopping, running)
        url = await start(shim)
        wanted = load(Path(config[1])) if config else Config()
        if wanted.mqtt.broker:
            await start(bridge)
        if wanted.mavlink.connection:
            await start(stations)
        with _in_file(address):
            if not stopping.is_set():
                print(f"ready {url} bus {address}", flush=True)
                print(
                    f"In another terminal:\n  export WIFIMGRD_BUS='{address}'\n"
                    f"  {shlex.quote(str(BIN / 'wifimgrctl'))} status",
                    file=sys.stderr,
                    flush=True,
                )
            await _unless_stopped(None, stopping, running)
        return 0
    finally:
        await client.stop()
        for task in running:
            task.cancel()
        for service in reversed(services):
            await service.stop()
        bus.kill()
        await bus.wait()


@contextmanager
def _in_file(address: str) -> Iterator[None]:
    """Keep the address of the message bus in the checkout, if that can be written to."""
    with suppress(OSError):
        _ADDRESS.write_text(f"{address}\n")
    try:
        yield
    finally:
        with suppress(OSError):
            if _ADDRESS.read_text().strip() == address:  # no other hub has started since
                _ADDRESS.unlink()


def _watchdog_s() -> float:
    """What WATCHDOG says, 0 = none."""
    wanted = os.environ.get("WATCHDOG") or "30"
    if not re.fullmatch(r"[0-9]{1,5}(\.[0-9]+)?", wanted):
        raise StartFailedError(f"WATCHDOG={wanted}: expected seconds, or 0 for none")
    return float(wanted)


def _state_folder(scratch: Path) -> Path:
    """Where STATE says, else a temporary one."""
    state = Path(os.path.abspath(os.environ.get("STATE") or scratch / "state"))  # noqa: PTH100
    try:
        state.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise StartFailedError(f"STATE={state} cannot be created: {error.strerror}") from None
    return state


async def _unless_stopped(
    wanted: asyncio.Future[str] | asyncio.Task[None] | None,
    stopping: asyncio.Event,
    running: Sequence[asyncio.Task[None]],
) -> None:
    """Wait for something to come up, None being the end; a service that ends meanwhile is a failure."""
    stop = asyncio.create_task(stopping.wait())
    limit_s = None if wanted is None else _START_TIMEOUT_S
    waited = [] if wanted is None else [wanted]
    await asyncio.wait([*waited, stop, *running], timeout=limit_s, return_when=asyncio.FIRST_COMPLETED)
    stop.cancel()
    if wanted is not None and wanted.done() and not stopping.is_set():
        wanted.result()
        return
    if wanted is not None:
        wanted.cancel()
    if not stopping.is_set():
        ended = [task.get_name() for task in running if task.done()]
        raise StartFailedError(
            f"{ended[0]} cannot run, as it says above"
            if ended
            else f"{running[-1].get_name()} did not start within {_START_TIMEOUT_S:.0f} s; its log is above"
        )


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
        preexec_fn=die_with_parent,
        start_new_session=True,
    )
    if not (bus.stdout and await bus.stdout.readline()):
        raise StartFailedError("dbus-daemon did not start")
    return bus, f"unix:path={scratch / 'bus'}"  # what it prints has an id as well, another one at each start


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
    if chosen and chosen not in _BACKENDS:
        raise StartFailedError(f"BACKEND is {', '.join(_BACKENDS[:-1])} or {_BACKENDS[-1]}, not {chosen}")
    if chosen == "wpa_supplicant" and os.geteuid() != 0:
        raise StartFailedError("BACKEND=wpa_supplicant changes addresses and routes: run it as root")
    if chosen:
        return chosen
    wireless = Path("/sys/class/net").glob("*/phy80211")
    if not any("/usb" in str(phy.parent.resolve()) for phy in wireless):
        return "simulated"
    if shutil.which("NetworkManager"):
        return "networkmanager"
    print(
        "run: simulated adapters, since this host has no NetworkManager; BACKEND=wpa_supplicant uses its own",
        file=sys.stderr,
    )
    return "simulated"


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
