"""`wifimgrd-mavlink`: the command line, start and stop."""

from __future__ import annotations

import sys

# As in the daemon: no TLS and no compression, and no OpenSSL for SHA-256, which Python has itself: 5 MB. Must
# come before anything that imports asyncio.
for _unused in ("ssl", "_hashlib", "bz2", "lzma"):
    sys.modules[_unused] = None  # type: ignore[assignment]

import asyncio
from collections.abc import Sequence

import structlog

from wifimgrd.client.hub import HubClient
from wifimgrd.config import configuration as config
from wifimgrd.mavlink._bridge import Bridge
from wifimgrd.mavlink._settings import Settings
from wifimgrd.runtime import process
from wifimgrd.runtime.hangup import ignore_hangups
from wifimgrd.runtime.restart_pause import refuse
from wifimgrd.runtime.systemd import notify
from wifimgrd.runtime.tasks import Tasks

_NAME = "wifimgrd-mavlink"
_log = structlog.get_logger("wifimgrd.mavlink")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run until SIGTERM or SIGINT; see `wifimgrd-mavlink --help`."""
    ignore_hangups()
    description = "Shows wifimgrd's cameras to ground stations, over D-Bus."
    options = process.options_of_client(_NAME, description, config.DEFAULT_PATH).parse_args(arguments)
    process.prepare()
    try:
        settings = Settings.of(config.load(options.config))
    except config.ConfigError as error:
        return refuse(_NAME, error.exit_status, error)
    if settings is None:
        _log.info("no_connection", reason="[mavlink] connection is not set: there is nothing to do")
        notify("READY=1")  # the unit is installed with the package, and has not failed
        return 0
    if settings.key is None and not settings.connection.is_loopback:
        _log.warning("connection_without_key", connection=str(settings.connection))

    async def start(tasks: Tasks) -> process.Stop:
        bridge = Bridge(HubClient(options.bus, tasks.part("client")), settings, tasks.part("bridge"))
        await bridge.start()
        return bridge.stop

    asyncio.run(process.run(_NAME, start, connection=str(settings.connection), system=settings.system))
    return 0


if __name__ == "__main__":
    sys.exit(main())
