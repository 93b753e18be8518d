"""`wifimgrd-net`: the helper's command line, start and stop."""

from __future__ import annotations

import sys

# As in the daemon: no TLS, which takes 4 MB. Must come before anything that imports asyncio.
sys.modules["ssl"] = None  # type: ignore[assignment]

import argparse
import asyncio
import faulthandler
import pwd
import signal
from typing import Final

import structlog

from wifimgrd import __version__
from wifimgrd.dbus.bus import BusClosed, BusConnection, BusError, NameTaken
from wifimgrd.net.commands import CommandError
from wifimgrd.net.nftables import NftablesError
from wifimgrd.net.plumbing import Plumbing
from wifimgrd.net.service import NetService
from wifimgrd.net.watching import watch
from wifimgrd.runtime import logging as log
from wifimgrd.runtime.hardening import forbid_core_dumps
from wifimgrd.runtime.systemd import notify, start_watchdog
from wifimgrd.runtime.task_dump import tell_on_signal
from wifimgrd.runtime.tasks import Tasks

# sysexits(3)
EX_UNAVAILABLE: Final = 69
EX_OSERR: Final = 71
EX_TEMPFAIL: Final = 75

_log = structlog.get_logger("wifimgrd.net")


def main() -> None:
    """Run until the daemon is gone for good, SIGTERM or SIGINT; see `wifimgrd-net --help`."""
    parser = argparse.ArgumentParser(
        prog="wifimgrd-net", description="Makes an address lead to each camera; asked by wifimgrd alone."
    )
    parser.add_argument(
        "--bus", default="system", metavar="session|system|ADDRESS", help="the message bus (default system)"
    )
    parser.add_argument("--user", default="wifimgrd", help="who may ask (default wifimgrd)")
    parser.add_argument(
        "--linger",
        type=float,
        default=15.0,
        metavar="SECONDS",
        help="how long addresses outlive the daemon (default 15)",
    )
    parser.add_argument("--clear", action="store_true", help="take away what an earlier run left, and end")
    parser.add_argument("--version", action="version", version=f"wifimgrd {__version__}")
    arguments = parser.parse_args()
    log.configure()
    faulthandler.enable()  # where it hung, when the watchdog sends SIGABRT: functions and lines, no values
    forbid_core_dumps()
    try:
        if arguments.clear:
            Plumbing().clear()
        else:
            uid = pwd.getpwnam(arguments.user).pw_uid
            asyncio.run(_serve(arguments.bus, uid, arguments.linger))
    except KeyError:
        _refuse(EX_OSERR, f"there is no user {arguments.user}")
    except NameTaken as error:
        _refuse(EX_TEMPFAIL, error)
    except (BusClosed, BusError) as error:
        _refuse(EX_UNAVAILABLE, error)
    except (OSError, CommandError, NftablesError) as error:
        _refuse(EX_OSERR, error)


async def _serve(bus: str, uid: int, linger_s: float) -> None:
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    tell_on_signal()
    plumbing = Plumbing()
    connection = await BusConnection.open(bus, sockets=True)
    tasks = Tasks("wifimgrd-net")
    service = NetService(connection, plumbing, uid, linger_s, tasks.part("service"))
    tasks.require("message-bus", connection.wait_closed())
    tasks.check("message-bus", connection.round_trip)
    watch(service.changed, tasks)
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
        plumbing.close()
    if not stopping.is_set() and not service.unneeded.is_set():
        raise BusClosed("the message bus went away")
    _log.info("stopped")


def _refuse(status: int, why: object) -> None:
    sys.stderr.write(f"wifimgrd-net: {why}\n")
    raise SystemExit(status)


if __name__ == "__main__":
    main()
