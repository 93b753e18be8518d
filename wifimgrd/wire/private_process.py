"""The course of the processes that only the daemon calls: command line, start, end and exit status."""

from __future__ import annotations

import argparse
import asyncio
import faulthandler
import os
import pwd
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, Protocol

import structlog

from wifimgrd import __version__
from wifimgrd.bus.connection import BusClosed, BusConnection, BusError, NameTaken
from wifimgrd.runtime import logging as log
from wifimgrd.runtime.hangup import ignore_hangups
from wifimgrd.runtime.hardening import forbid_core_dumps
from wifimgrd.runtime.restart_pause import refuse
from wifimgrd.runtime.systemd import notify, start_watchdog
from wifimgrd.runtime.task_dump import dump_on_signal
from wifimgrd.runtime.tasks import Tasks

_log = structlog.get_logger()

BUSES: Final = "session|system|ADDRESS"


class Service(Protocol):
    """The part of such a process that serves calls."""

    unneeded: asyncio.Event
    """Set when the process can be stopped."""

    async def start(self) -> None:
        """Own the bus name, and serve calls; raises NameTaken, BusClosed, BusError."""

    async def stop(self) -> None:
        """Stop serving."""


def command_line(program: str, description: str, linger_s: float, lingering: str) -> argparse.ArgumentParser:
    """The options that each has: `bus`, `user`, `linger` (`lingering` says what that is) and `version`."""
    parser = argparse.ArgumentParser(prog=program, description=f"{description} Only wifimgrd calls it.")
    parser.add_argument("--bus", default="system", metavar=BUSES, help="the message bus (default system)")
    parser.add_argument("--user", default="wifimgrd", help="the user that may call it (default wifimgrd)")
    parser.add_argument(
        "--linger",
        type=float,
        default=linger_s,
        metavar="SECONDS",
        help=f"{lingering} (default {linger_s:g})",
    )
    parser.add_argument("--version", action="version", version=f"wifimgrd {__version__}")
    return parser


@contextmanager
def process(program: str, *failures: type[Exception]) -> Iterator[None]:
    """Prepare the process, and exit with a status of sysexits(3) and a line on standard error where what it
    does is impossible: for an error of the bus, of the system, or one of `failures`. All but the bus,
    which may be back at once, is given time before the next start."""
    ignore_hangups()
    log.configure()
    faulthandler.enable()  # a traceback when the watchdog sends SIGABRT: functions and lines, no values
    forbid_core_dumps()
    impossible: tuple[type[Exception], ...] = (OSError, *failures)
    try:
        yield
    except NameTaken as error:
        raise SystemExit(refuse(program, os.EX_TEMPFAIL, error)) from None
    except (BusClosed, BusError) as error:
        sys.stderr.write(f"{program}: {error}\n")
        raise SystemExit(os.EX_UNAVAILABLE) from None
    except impossible as error:
        raise SystemExit(refuse(program, os.EX_OSERR, error)) from None


def uid_of(user: str) -> int:
    """The id of a user; raises OSError if there is none."""
    try:
        return pwd.getpwnam(user).pw_uid
    except KeyError:
        raise OSError(f"there is no user {user}") from None


async def serve(service: Service, connection: BusConnection, tasks: Tasks, bus: str) -> None:
    """Serve until SIGTERM or SIGINT, or until the service is not needed; all of `tasks` have ended then.

    Raises BusClosed if the connection or another required task ended, and the errors of the start.
    """
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    dump_on_signal()
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
    if not stopping.is_set() and not service.unneeded.is_set():
        raise BusClosed("the message bus became unavailable")
    _log.info("stopped")
