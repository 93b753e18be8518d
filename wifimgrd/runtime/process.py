"""The life of a process that is a client of the daemon: its options, its start, and its end by a signal."""

from __future__ import annotations

import argparse
import asyncio
import faulthandler
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path

import structlog

from wifimgrd import __version__
from wifimgrd.runtime import logging as log
from wifimgrd.runtime.hangup import ignore_hangups
from wifimgrd.runtime.hardening import forbid_core_dumps
from wifimgrd.runtime.systemd import notify, start_watchdog
from wifimgrd.runtime.task_dump import dump_on_signal
from wifimgrd.runtime.tasks import Tasks

Stop = Callable[[], Awaitable[None]]

_log = structlog.get_logger()


def client_parser(name: str, description: str, configuration: Path) -> argparse.ArgumentParser:
    """The parser of the options that all of them have; `configuration` is the default file."""
    parser = argparse.ArgumentParser(prog=name, description=description)
    parser.add_argument(
        "--bus", default="system", metavar="session|system|ADDRESS", help="the message bus (default system)"
    )
    parser.add_argument("--config", type=Path, help=f"configuration file (default {configuration})")
    parser.add_argument("--version", action="version", version=f"{name} {__version__}")
    return parser


def prepare() -> None:
    """Ignore SIGHUP, log, and let nobody read the memory of a process that has crashed."""
    ignore_hangups()
    log.configure()
    faulthandler.enable()  # the place of a hang if the watchdog sends SIGABRT: functions, lines, no values
    forbid_core_dumps()


def nothing_to_do(reason: str) -> int:
    """Say that a process is not configured. It has not failed: its unit is installed with its package.
    Returns the exit status."""
    _log.info("nothing_to_do", reason=reason)
    notify("READY=1")
    return 0


async def run(name: str, start: Callable[[Tasks], Awaitable[Stop]]) -> None:
    """Start, tell systemd, and stop after SIGTERM or SIGINT. `start` returns what stops it, and cleans up
    itself where it fails."""
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    dump_on_signal()
    tasks = Tasks(name)
    start_watchdog(tasks)
    try:
        stop = await start(tasks)
        try:
            notify("READY=1")
            await stopped.wait()
            notify("STOPPING=1")
        finally:
            await stop()
    finally:
        await tasks.stop()
    _log.info("stopped")
