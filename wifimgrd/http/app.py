"""Where the shim is put together."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, Final

from aiohttp import web

from wifimgrd.dbus.client.hub import HubClient
from wifimgrd.http.access_token import AccessToken
from wifimgrd.http.cameras import Cameras
from wifimgrd.http.channel import Channel
from wifimgrd.http.connection import Connection
from wifimgrd.http.cors import Cors
from wifimgrd.http.description.resource import Description
from wifimgrd.http.devices import Devices
from wifimgrd.http.event_stream import EventStream
from wifimgrd.http.health import Health
from wifimgrd.http.interfaces import Interfaces
from wifimgrd.http.metrics import Metrics
from wifimgrd.http.models import Models
from wifimgrd.http.page.resource import Page
from wifimgrd.http.problems import problems_middleware
from wifimgrd.http.request_safety import RequestSafety
from wifimgrd.http.requests import BODY_LIMIT
from wifimgrd.http.routes import Routes
from wifimgrd.http.settings import Settings
from wifimgrd.http.tiles.none import NoTiles
from wifimgrd.runtime.tasks import Tasks

FAST_PATH: Final[Any] = web.AppKey("fast_path", object) if hasattr(web, "AppKey") else "fast_path"
"""What an application knows its short way to tiles by, where it has one."""


def build_app(client: HubClient, settings: Settings, tasks: Tasks) -> web.Application:
    """The whole shim on a client that is started and stopped with it."""
    safety = RequestSafety(settings.hosts, settings.origins)
    cors = Cors(settings.origins)
    token = None if settings.token is None else AccessToken(settings.token)
    channel = Channel(client)

    middlewares = [problems_middleware, safety.host, cors.preflight]
    if token is not None:
        middlewares.append(token.middleware)
    middlewares.append(safety.site)
    app = web.Application(middlewares=middlewares, client_max_size=BODY_LIMIT)

    routes = Routes(app)
    prefix = f"/plugin-views/{settings.platform}_plugin_device_manager/devices"
    Description(routes, with_token=token is not None).add_to(routes)
    Page(prefix).add_to(routes)
    Models(client, prefix, settings.models).add_to(routes)
    Interfaces(client, prefix).add_to(routes)
    Connection(client, prefix).add_to(routes)
    Devices(client, prefix).add_to(routes)
    Cameras(client, with_token=token is not None).add_to(routes)
    health = Health(client, token)
    health.add_to(routes)
    channel.add_to(routes)
    EventStream(client, channel).add_to(routes)
    metrics = Metrics(client, channel)
    metrics.add_to(routes)
    if token is not None:
        token.add_to(routes)

    async def running_client(_: web.Application) -> AsyncIterator[None]:
        await client.start()
        yield
        await client.stop()

    async def close_channel(_: web.Application) -> None:
        await channel.close()

    if settings.tile_sources:
        _add_tiles(app, routes, settings, safety, token, cors, channel, health, metrics, tasks.part("tiles"))
    else:
        NoTiles(settings.platform).add_to(routes)
    app.cleanup_ctx.append(running_client)
    app.on_shutdown.append(close_channel)
    app.on_response_prepare.append(_general_headers)
    app.on_response_prepare.append(cors.name_origin)
    return app


def _add_tiles(
    app: web.Application,
    routes: Routes,
    settings: Settings,
    safety: RequestSafety,
    token: AccessToken | None,
    cors: Cors,
    channel: Channel,
    health: Health,
    metrics: Metrics,
    tasks: Tasks,
) -> None:
    """Tiles, whose modules nobody pays for who has none."""
    from wifimgrd.http.tiles.fast import FastPath  # noqa: PLC0415
    from wifimgrd.http.tiles.library import Library  # noqa: PLC0415
    from wifimgrd.http.tiles.resource import TilesResource  # noqa: PLC0415

    library = Library(settings.tile_sources, tasks)
    library.subscribe(lambda data: channel.announce("tileset.updated", data))
    health.tiles = library.report
    metrics.tile_counts = library.counts
    TilesResource(library, settings.platform).add_to(routes)
    app[FAST_PATH] = FastPath(library, settings.platform, safety, token, cors)

    async def running_library(_: web.Application) -> AsyncIterator[None]:
        await library.start()
        yield
        await library.stop()

    app.cleanup_ctx.append(running_library)


async def _general_headers(_: web.Request, response: web.StreamResponse) -> None:
    """What every answer carries; a resource that may be kept in a cache says so itself."""
    response.headers.popall("Server", None)
    response.headers.setdefault("Cache-Control", "no-store")
    response.headers.setdefault("X-Content-Type-Options", "nosniff")
