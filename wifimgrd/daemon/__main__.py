"""`wifimgrd`: the daemon's command line."""

from __future__ import annotations

import sys

# The daemon speaks D-Bus over a local socket and nothing else: without this, asyncio would bring in
# TLS, which takes 4 MB, and shutil, which argparse imports, two ways of compression, 0.5 MB. Must come before
# anything that imports asyncio.
for _unused in ("ssl", "bz2", "lzma"):
    sys.modules[_unused] = None  # type: ignore[assignment]

import argparse
import asyncio
import faulthandler
from pathlib import Path

import structlog

from wifimgrd import __version__
from wifimgrd.config import configuration as config
from wifimgrd.daemon import _daemon as daemon
from wifimgrd.daemon._start_refusals import Refusal, refusal_of
from wifimgrd.runtime import logging as log
from wifimgrd.runtime.hangup import ignore_hangups
from wifimgrd.runtime.restart_pause import pause_before_restart
from wifimgrd.runtime.systemd import notify


def main() -> None:
    """Run the daemon until SIGTERM or SIGINT; see `wifimgrd --help`."""
    ignore_hangups()
    parser = argparse.ArgumentParser(
        prog="wifimgrd", description="Connects Wi-Fi cameras through the USB adapters of this host."
    )
    parser.add_argument("--config", type=Path, help=f"configuration file (default {config.DEFAULT_PATH})")
    parser.add_argument(
        "--bus", default="system", metavar="session|system|ADDRESS", help="the message bus (default system)"
    )
    parser.add_argument(
        "--simulate",
        nargs="?",
        const="",
        metavar="SCENARIO",
        help="use simulated adapters and cameras, of a scenario file or the default ones",
    )
    parser.add_argument(
        "--backend", choices=config.BACKENDS, help="instead of the configuration's [backend] name"
    )
    parser.add_argument("--version", action="version", version=f"wifimgrd {__version__}")
    arguments = parser.parse_args()
    log.configure()
    faulthandler.enable()  # where it hung, when the watchdog sends SIGABRT: functions and lines, no values
    options = daemon.DaemonOptions(
        bus=arguments.bus,
        simulate=arguments.simulate is not None,
        config=arguments.config,
        backend=arguments.backend,
        scenario=Path(arguments.simulate) if arguments.simulate else None,
    )
    try:
        asyncio.run(daemon.run(config.load(arguments.config), options))
    except Exception as error:
        if (refusal := refusal_of(error)) is None:
            raise
        _end(refusal, error)


def _end(refusal: Refusal, error: Exception) -> None:
    """End with one line for whoever started it: the service manager and the journal, or a person."""
    ignore_hangups()  # the event loop's handler ended with it
    notify(f"STATUS={error}")
    if log.is_for_journal():
        structlog.get_logger().critical(refusal.event, reason=str(error), status=refusal.status)
    else:
        print(f"wifimgrd: {error}", file=sys.stderr)  # noqa: T201 - a person waits for this line
    if not refusal.is_brief:
        pause_before_restart(refusal.status)
    raise SystemExit(refusal.status)


if __name__ == "__main__":
    main()
