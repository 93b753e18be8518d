"""`wifimgrd-camera`: the command line, start and stop of the process that speaks with cameras."""

from __future__ import annotations

import sys

# As in the daemon: no TLS, which takes 4 MB, and no compression. Must come before anything that imports
# asyncio.
for _unused in ("ssl", "bz2", "lzma"):
    sys.modules[_unused] = None  # type: ignore[assignment]

import argparse
import asyncio
import faulthandler
import pwd
import signal
from typing import Final

import structlog

from wifimgrd import __version__
from wifimgrd.bus.connection import BusClosed, BusConnection, BusError, NameTaken
from wifimgrd.camera._service import CameraService
from wifimgrd.runtime import logging as log
from wifimgrd.runtime.hardening import forbid_core_dumps
from wifimgrd.runtime.systemd import notify, start_watchdog
from wifimgrd.runtime.task_dump import dump_on_signal
from wifimgrd.runtime.tasks import Tasks

# sysexits(3)
EX_UNAVAILABLE: Final = 69
EX_OSERR: Final = 71
EX_TEMPFAIL: Final = 75

_log = structlog.get_logger("wifimgrd.camera")


def main() -> None:
    """Run until nothing was under way for `--linger`, SIGTERM or SIGINT; see `wifimgrd-camera --help`."""
    parser = argparse.ArgumentParser(
        prog="wifimgrd-camera",
        description="Finds, pairs and wakes cameras over Bluetooth LE. Only wifimgrd calls it.",
    )
    parser.add_argument(
        "--bus", default="system", metavar="session|system|ADDRESS", help="the message bus (default system)"
    )
    parser.add_argument("--user", default="wifimgrd", help="the user that may call it (default wifimgrd)")
    parser.add_argument(
        "--linger",
        type=float,
        default=30.0,
        metavar="SECONDS",
        help="how long it stays while nothing is under way (default 30)",
    )
    parser.add_argument("--version", action="version", version=f"wifimgrd {__version__}")
    arguments = parser.parse_args()
    log.configure()
    faulthandler.enable()  # a traceback when the watchdog sends SIGABRT: functions and lines, no values
    forbid_core_dumps()
    try:
        uid = pwd.getpwnam(arguments.user).pw_uid
        asyncio.run(_serve(arguments.bus, uid, arguments.linger))
    except KeyError:
        _refuse(EX_OSERR, f"there is no user {arguments.user}")
    except NameTaken as error:
        _refuse(EX_TEMPFAIL, error)
    except (BusClosed, BusError) as error:
        _refuse(EX_UNAVAILABLE, error)


async def _serve(bus: str, uid: int, linger_s: float) -> None:
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    dump_on_signal()
    connection = await BusConnection.open(bus)
    tasks = Tasks("wifimgrd-camera")
    service = CameraService(connection, uid, linger_s, tasks.part("service"))
    tasks.require("message-bus", connection.wait_closed())
    tasks.check("message-bus", connection.round_trip)
    try:
        await service.start()
        notify("READY=1")
        start_watchdog(tasks)
        _log.info("started", version=__version__, bus=bus)
        await tasks.until_required_ends(stopping, service.unneeded)
        notify("STOPPING=1")
    finally:
        await service.stop()
        await tasks.stop()
        await connection.close()
    if not stopping.is_set() and not service.unneeded.is_set():
        raise BusClosed("the message bus became unavailable")
    _log.info("stopped")


def _refuse(status: int, why: object) -> None:
    sys.stderr.write(f"wifimgrd-camera: {why}\n")
    raise SystemExit(status)


if __name__ == "__main__":
    main()
