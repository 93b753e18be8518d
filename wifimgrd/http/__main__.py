"""`wifimgrd-http`: the shim's command line, start and stop."""

from __future__ import annotations

import os

_chosen = os.environ.get("SSL_CERT_FILE")
# The server of aiohttp imports its client, which reads the host's CA certificates (1.9 MB, 40 ms). No request
# here is made by it: what verifies a server (`_client.py`) reads them itself.
os.environ["SSL_CERT_FILE"] = os.devnull
try:
    import aiohttp  # noqa: F401
finally:
    if _chosen is None:
        del os.environ["SSL_CERT_FILE"]
    else:
        os.environ["SSL_CERT_FILE"] = _chosen

import asyncio
import resource
import signal
import socket
import ssl
import sys
from collections.abc import Sequence
from functools import partial
from typing import Final

import structlog

from wifimgrd.client.hub import HubClient
from wifimgrd.config import configuration as config
from wifimgrd.http._app import build_app
from wifimgrd.http._server import Server, bind, passed_sockets
from wifimgrd.http.access.exposure import open_addresses, refusal
from wifimgrd.http.settings import Settings
from wifimgrd.runtime import process
from wifimgrd.runtime.restart_pause import refuse
from wifimgrd.runtime.tasks import Tasks

_NAME: Final = "wifimgrd-http"
_log = structlog.get_logger("wifimgrd.http")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run until SIGTERM or SIGINT; see `wifimgrd-http --help`."""
    process.prepare()
    parser = process.client_parser(_NAME, "HTTP and WebSocket for wifimgrd, over D-Bus.", config.DEFAULT_PATH)
    parser.add_argument(
        "--listen", metavar="HOST:PORT", help="the address to listen on; port 0 is any free one"
    )
    options = parser.parse_args(arguments)
    _allow_many_clients()
    try:
        models = config.load_models(options.config)
        settings = Settings.of(config.load(options.config), options.listen, models)
        tls = None if settings.tls is None else settings.tls.context()
    except config.ConfigError as error:
        return refuse(_NAME, error.exit_status, error)
    try:
        sockets = passed_sockets() or bind(settings.listen_host, settings.listen_port)
    except (OSError, UnicodeError) as error:  # UnicodeError: the name cannot be encoded
        where = f"{settings.listen_host} port {settings.listen_port}"
        return refuse(_NAME, os.EX_OSERR, f"cannot listen on {where}: {error}")
    exposed = open_addresses(sockets) if settings.token is None else []
    if exposed and not settings.insecure_without_token:
        return refuse(_NAME, os.EX_CONFIG, refusal(exposed))
    if exposed:
        _log.warning("open_without_token", addresses=exposed)
    asyncio.run(process.run(_NAME, partial(_start, settings, options.bus, sockets, tls)))
    return 0


def _allow_many_clients() -> None:
    """Raise the limit of open files: each connection needs a descriptor. A service starts with 1,024 of them
    because of select(2), which is not used here: https://0pointer.net/blog/file-descriptor-limits.html."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


async def _start(
    settings: Settings, bus: str, sockets: Sequence[socket.socket], tls: ssl.SSLContext | None, tasks: Tasks
) -> process.Stop:
    asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, _reload, settings, tls)
    server = Server(build_app(HubClient(bus, tasks.part("client")), settings, tasks), tls)
    await server.start(sockets)
    _log.info("listening", addresses=server.addresses, url=server.addresses[0])
    return server.stop


def _reload(settings: Settings, tls: ssl.SSLContext | None) -> None:
    """Read the certificate again; if that fails the old one stays in use."""
    if settings.tls is None or tls is None:
        _log.info("reloaded", reason="there is no certificate to read again")
        return
    try:
        settings.tls.load_into(tls)
    except config.ConfigError as error:
        _log.error("certificate_refused", reason=str(error))
    else:
        _log.info("reloaded", certificate=str(settings.tls.certificate))


if __name__ == "__main__":
    sys.exit(main())
