"""`wifimgrd-http`: the shim's command line, start and stop."""

from __future__ import annotations

import argparse
import asyncio
import faulthandler
import resource
import signal
import socket
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import structlog

from wifimgrd import __version__, config
from wifimgrd.dbus.client.hub import HubClient
from wifimgrd.http.app import build_app
from wifimgrd.http.server import Server, bind, passed_sockets
from wifimgrd.http.settings import Settings
from wifimgrd.runtime import logging as log
from wifimgrd.runtime.hardening import forbid_core_dumps
from wifimgrd.runtime.systemd import notify, start_watchdog
from wifimgrd.runtime.task_dump import tell_on_signal
from wifimgrd.runtime.tasks import Tasks

# sysexits(3)
EX_OSERR: Final = 71
EX_CONFIG: Final = 78

_log = structlog.get_logger("wifimgrd.http")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run until SIGTERM or SIGINT; see `wifimgrd-http --help`."""
    options = _parser().parse_args(arguments)
    log.configure()
    faulthandler.enable()  # where it hung, when the watchdog sends SIGABRT: functions and lines, no values
    forbid_core_dumps()
    _allow_many_clients()
    try:
        models = config.load_models(options.config)
        settings = Settings.of(config.load(options.config), options.listen, models)
    except config.ConfigError as error:
        return _refuse(EX_CONFIG, str(error))
    try:
        sockets = passed_sockets() or bind(settings.listen_host, settings.listen_port)
    except (OSError, UnicodeError) as error:  # a name can be no name at all
        where = f"{settings.listen_host} port {settings.listen_port}"
        return _refuse(EX_OSERR, f"cannot listen on {where}: {error}")
    asyncio.run(_serve(settings, options.bus, sockets))
    return 0


def _allow_many_clients() -> None:
    """Each takes a file descriptor, and a service begins with 1,024 of them for the sake of select(2),
    which nothing here uses: https://0pointer.net/blog/file-descriptor-limits.html."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


async def _serve(settings: Settings, bus: str, sockets: Sequence[socket.socket]) -> None:
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    tell_on_signal()
    tasks = Tasks("wifimgrd-http")
    server = Server(build_app(HubClient(bus, tasks.part("client")), settings, tasks))
    start_watchdog(tasks)
    try:
        await server.start(sockets)
        _log.info("listening", addresses=server.addresses, url=server.addresses[0])
        notify("READY=1")
        await stopped.wait()
        notify("STOPPING=1")
    finally:
        await server.stop()
        await tasks.stop()
    _log.info("stopped")


def _refuse(status: int, why: str) -> int:
    sys.stderr.write(f"wifimgrd-http: {why}\n")
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="wifimgrd-http", description="HTTP and WebSocket for wifimgrd, over D-Bus."
    )
    parser.add_argument("--listen", metavar="HOST:PORT", help="where to answer; port 0 is any free one")
    parser.add_argument(
        "--bus", default="system", metavar="session|system|ADDRESS", help="the message bus (default system)"
    )
    parser.add_argument("--config", type=Path, help=f"configuration file (default {config.DEFAULT_PATH})")
    parser.add_argument("--version", action="version", version=f"wifimgrd-http {__version__}")
    return parser


if __name__ == "__main__":
    sys.exit(main())
