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

import asyncio
import os
from collections.abc import Sequence
from functools import partial
from importlib import resources
from typing import TYPE_CHECKING, Final

import structlog

from wifimgrd.client.hub import HubClient
from wifimgrd.config import configuration as config
from wifimgrd.mqtt._settings import Settings
from wifimgrd.runtime import process
from wifimgrd.runtime.restart_pause import refuse
from wifimgrd.runtime.tasks import Tasks

if TYPE_CHECKING:
    from wifimgrd.mqtt._bridge import Bridge

_NAME: Final = "wifimgrd-mqtt"
_log = structlog.get_logger("wifimgrd.mqtt")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run until SIGTERM or SIGINT; see `wifimgrd-mqtt --help`."""
    process.prepare()
    parser = process.client_parser(
        _NAME, "Connects wifimgrd with an MQTT broker, over D-Bus.", config.DEFAULT_PATH
    )
    parser.add_argument(
        "--asyncapi", action="store_true", help="print the description of the topics, and exit"
    )
    options = parser.parse_args(arguments)
    if options.asyncapi:
        _print_description()
        return 0
    try:
        settings = Settings.of(config.load(options.config), config.load_models(options.config))
    except config.ConfigError as error:
        return refuse(_NAME, error.exit_status, error)
    if settings is None:
        return process.nothing_to_do("[mqtt] broker is not set")
    if not settings.broker.tls and not settings.broker.is_loopback:
        _log.warning("broker_without_tls", broker=str(settings.broker))
    try:
        from wifimgrd.mqtt._bridge import Bridge  # noqa: PLC0415 - a Python environment may lack the library
    except ModuleNotFoundError as error:
        # An upgrade may be under way.
        return refuse(_NAME, os.EX_UNAVAILABLE, f"the package python3-paho-mqtt is not installed ({error})")
    asyncio.run(process.run(_NAME, partial(_start, settings, options.bus, Bridge)))
    return 0


async def _start(settings: Settings, bus: str, make_bridge: type[Bridge], tasks: Tasks) -> process.Stop:
    bridge = make_bridge(HubClient(bus, tasks.part("client")), settings, tasks.part("bridge"))
    await bridge.start()
    _log.info("started", broker=str(settings.broker), topics=settings.topics.root)
    return bridge.stop


def _print_description() -> None:
    """`tools/generate_descriptions.py` makes it."""
    sys.stdout.write((resources.files(__package__) / "asyncapi.json").read_text("utf-8"))


if __name__ == "__main__":
    sys.exit(main())
