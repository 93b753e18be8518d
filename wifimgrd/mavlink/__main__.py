"""`wifimgrd-mavlink`: the command line, start and stop."""

from __future__ import annotations

import sys

# As in the daemon: no TLS and no compression, and no OpenSSL for SHA-256, which Python has itself: 5 MB. Must
# come before anything that imports asyncio.
for _unused in ("ssl", "_hashlib", "bz2", "lzma"):
    sys.modules[_unused] = None  # type: ignore[assignment]

import asyncio
import os
from collections.abc import Sequence

import structlog

from wifimgrd.client.hub import HubClient
from wifimgrd.config import configuration as config
from wifimgrd.config.web_address import mavlink_address
from wifimgrd.mavlink._bridge import Bridge, key_of
from wifimgrd.mavlink._cameras import Memory
from wifimgrd.runtime import process
from wifimgrd.runtime.restart_pause import refuse
from wifimgrd.runtime.tasks import Tasks

_NAME = "wifimgrd-mavlink"
_log = structlog.get_logger("wifimgrd.mavlink")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run until SIGTERM or SIGINT; see `wifimgrd-mavlink --help`."""
    process.prepare()
    description = "Shows wifimgrd's cameras to ground stations, over D-Bus."
    options = process.client_parser(_NAME, description, config.DEFAULT_PATH).parse_args(arguments)
    try:
        settings = config.load(options.config).mavlink
        key = key_of(settings)
    except config.ConfigError as error:
        return refuse(_NAME, error.exit_status, error)
    if not settings.connection:
        return process.nothing_to_do("[mavlink] connection is not set")
    if key is None and not mavlink_address(settings.connection).is_loopback:
        _log.warning("connection_without_key", connection=settings.connection)

    async def start(tasks: Tasks) -> process.Stop:
        hub, memory = HubClient(options.bus, tasks.part("client")), Memory(os.environ.get("STATE_DIRECTORY"))
        bridge = Bridge(hub, settings, key, memory, tasks.part("bridge"))
        await bridge.start()
        _log.info("started", connection=settings.connection, system=settings.system)
        return bridge.stop

    asyncio.run(process.run(_NAME, start))
    return 0


if __name__ == "__main__":
    sys.exit(main())
