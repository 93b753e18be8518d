"""`wifimgrd-http`: the shim's command line, start and stop."""

from __future__ import annotations

import argparse
import asyncio
import signal
import socket
import sys
from collections.abc import Sequence
from pathlib import Path

import structlog

from wifimgrd import config, log
from wifimgrd.dbus.client.hub import HubClient
from wifimgrd.http.app import build_app
from wifimgrd.http.server import Server, bind, passed_sockets
from wifimgrd.http.settings import Settings, SettingsError
from wifimgrd.service_manager import notify

_log = structlog.get_logger("wifimgrd.http")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run until SIGTERM or SIGINT; 0 after an orderly stop, 1 where it cannot start."""
    options = _parser().parse_args(arguments)
    log.configure()
    try:
        settings = Settings.of(config.load(options.config), options.listen)
    except (config.ConfigError, SettingsError) as error:
        return _refuse(str(error))
    try:
        sockets = passed_sockets() or bind(settings.listen_host, settings.listen_port)
    except OSError as error:
        return _refuse(f"cannot listen on {settings.listen_host} port {settings.listen_port}: {error}")
    asyncio.run(_serve(settings, options.bus, sockets))
    return 0


async def _serve(settings: Settings, bus: str, sockets: Sequence[socket.socket]) -> None:
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    server = Server(build_app(HubClient(bus), settings))
    try:
        await server.start(sockets)
        _log.info("listening", addresses=server.addresses, url=server.addresses[0])
        notify("READY=1")
        await stopped.wait()
        notify("STOPPING=1")
    finally:
        await server.stop()
    _log.info("stopped")


def _refuse(why: str) -> int:
    sys.stderr.write(f"wifimgrd-http: {why}\n")
    return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="wifimgrd-http", description="HTTP and WebSocket for wifimgrd, over D-Bus."
    )
    parser.add_argument("--listen", metavar="HOST:PORT", help="where to answer; port 0 is any free one")
    parser.add_argument(
        "--bus", default="system", metavar="BUS", help="system (the default), session or a D-Bus address"
    )
    parser.add_argument("--config", type=Path, metavar="FILE", help="a configuration file of one's own")
    return parser


if __name__ == "__main__":
    sys.exit(main())
