"""`wifimgrd-mqtt`: the bridge's command line, start and stop."""

from __future__ import annotations

import sys
from types import ModuleType

# As in the daemon, no compression. paho-mqtt uses a proxy where PySocks is installed and the environment
# names one; without it, it needs nothing of the module that looks that up, with which parsers of HTTP and of
# mail come, 2 MB. Must come before anything that imports them.
for _unused in ("bz2", "lzma", "socks"):
    sys.modules[_unused] = None  # type: ignore[assignment]
sys.modules["urllib.request"] = ModuleType("urllib.request")

import argparse
import asyncio
import faulthandler
import os
import signal
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

import structlog

from wifimgrd import __version__
from wifimgrd.client.hub import HubClient
from wifimgrd.config import configuration as config
from wifimgrd.mqtt._settings import Settings
from wifimgrd.runtime import logging as log
from wifimgrd.runtime.hangup import ignore_hangups
from wifimgrd.runtime.hardening import forbid_core_dumps
from wifimgrd.runtime.restart_pause import refuse
from wifimgrd.runtime.systemd import notify, start_watchdog
from wifimgrd.runtime.task_dump import dump_on_signal
from wifimgrd.runtime.tasks import Tasks

if TYPE_CHECKING:
    from wifimgrd.mqtt._bridge import Bridge

_log = structlog.get_logger("wifimgrd.mqtt")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run until SIGTERM or SIGINT; see `wifimgrd-mqtt --help`."""
    ignore_hangups()
    options = _parser().parse_args(arguments)
    if options.asyncapi:
        _print_description()
        return 0
    log.configure()
    faulthandler.enable()  # the place of a hang if the watchdog sends SIGABRT: functions, lines, no values
    forbid_core_dumps()
    try:
        settings = Settings.of(config.load(options.config), config.load_models(options.config))
    except config.ConfigError as error:
        return refuse("wifimgrd-mqtt", error.exit_status, error)
    if settings is None:
        _log.info("no_broker", reason="[mqtt] broker is not set: there is nothing to do")
        notify("READY=1")  # the unit is installed with the package, and has not failed
        return 0
    if not settings.broker.tls and not settings.broker.is_loopback:
        _log.warning("broker_without_tls", broker=str(settings.broker))
    try:
        from wifimgrd.mqtt._bridge import Bridge  # noqa: PLC0415 - a Python environment may lack the library
    except ModuleNotFoundError as error:
        # An upgrade may be under way.
        return refuse(
            "wifimgrd-mqtt", os.EX_UNAVAILABLE, f"the package python3-paho-mqtt is not installed ({error})"
        )
    asyncio.run(_run(settings, options.bus, Bridge))
    return 0


async def _run(settings: Settings, bus: str, make_bridge: type[Bridge]) -> None:
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    dump_on_signal()
    tasks = Tasks("wifimgrd-mqtt")
    bridge = make_bridge(HubClient(bus, tasks.part("client")), settings, tasks.part("bridge"))
    start_watchdog(tasks)
    try:
        await bridge.start()
        _log.info("started", broker=str(settings.broker), topics=settings.topics.root)
        notify("READY=1")
        await stopped.wait()
        notify("STOPPING=1")
    finally:
        await bridge.stop()
        await tasks.stop()
    _log.info("stopped")


def _print_description() -> None:
    """`tools/generate_descriptions.py` makes it."""
    sys.stdout.write((resources.files(__package__) / "asyncapi.json").read_text("utf-8"))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="wifimgrd-mqtt", description="Connects wifimgrd with an MQTT broker, over D-Bus."
    )
    parser.add_argument(
        "--bus", default="system", metavar="session|system|ADDRESS", help="the message bus (default system)"
    )
    parser.add_argument("--config", type=Path, help=f"configuration file (default {config.DEFAULT_PATH})")
    parser.add_argument(
        "--asyncapi", action="store_true", help="print the description of the topics, and exit"
    )
    parser.add_argument("--version", action="version", version=f"wifimgrd-mqtt {__version__}")
    return parser


if __name__ == "__main__":
    sys.exit(main())
