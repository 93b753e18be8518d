"""Builds the shim's application."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import TYPE_CHECKING

from aiohttp import web

from wifimgrd.client.changes import Change, DaemonAppeared, DeviceAdded, DeviceChanged, DeviceRemoved
from wifimgrd.client.hub import HubClient
from wifimgrd.http._errors import RETRY_AFTER_S, TOO_MANY_REQUESTS, Handler, Problem, problems_middleware
from wifimgrd.http._requests import BODY_LIMIT
from wifimgrd.http._routes import Routes
from wifimgrd.http._server import SHORT_WAYS
from wifimgrd.http.access.cors import Cors
from wifimgrd.http.access.request_safety import RequestSafety
from wifimgrd.http.access.token import AccessToken
from wifimgrd.http.api.bluetooth import Bluetooth
from wifimgrd.http.api.check import Check
from wifimgrd.http.api.connect import Connect
from wifimgrd.http.api.device_commands import DeviceCommands
from wifimgrd.http.api.devices import Devices
from wifimgrd.http.api.diagnose import Diagnose
from wifimgrd.http.api.groups import Groups
from wifimgrd.http.api.health import Health
from wifimgrd.http.api.history import History
from wifimgrd.http.api.interfaces import Interfaces
from wifimgrd.http.api.metrics import Metrics
from wifimgrd.http.api.models import Models
from wifimgrd.http.api.recording import Recording
from wifimgrd.http.api.takes import Takes
from wifimgrd.http.channel.channel import Channel
from wifimgrd.http.channel.event_stream import EventStream
from wifimgrd.http.description.resource import Description
from wifimgrd.http.front.transport import front_of
from wifimgrd.http.page.resource import Page
from wifimgrd.http.platform.squawk import Squawk
from wifimgrd.http.relay.cameras import Cameras
from wifimgrd.http.settings import Settings
from wifimgrd.http.tiles.map.resource import MapResource
from wifimgrd.http.tiles.none import NoTiles
from wifimgrd.runtime.tasks import Tasks

if TYPE_CHECKING:
    from wifimgrd.http.tiles.fast import FastPath
    from wifimgrd.http.tiles.map.fast_ranges import FastRanges


class LinkAddresses:
    """The host's addresses on the cameras' links: cameras assign them, so they are not names of the hub."""

    def __init__(self, client: HubClient) -> None:
        self._client = client
        self._by_device: dict[int, str] = {}
        self._listeners: list[Callable[[], None]] = []
        client.subscribe(self._apply)

    def __contains__(self, address: object) -> bool:
        return address in self._by_device.values()

    def subscribe(self, listener: Callable[[], None]) -> None:
        """Call `listener` after an address was added."""
        self._listeners.append(listener)

    def _apply(self, change: Change) -> None:
        match change:  # when the daemon vanishes the links stay
            case DaemonAppeared():
                for device in self._client.devices.values():
                    self._set(device.id, device.local_address)
            case DeviceAdded(device) | DeviceChanged(after=device):
                self._set(device.id, device.local_address)
            case DeviceRemoved(device_id):
                self._by_device.pop(device_id, None)

    def _set(self, device_id: int, address: str | None) -> None:
        if not address:
            self._by_device.pop(device_id, None)
        elif self._by_device.get(device_id) != address:
            self._by_device[device_id] = address
            for listener in self._listeners:
                listener()


def build_app(client: HubClient, settings: Settings, tasks: Tasks) -> web.Application:
    """The whole shim on a client that is started and stopped with it."""
    links = LinkAddresses(client)
    safety = RequestSafety(
        settings.hosts, settings.origins, with_token=settings.token is not None, never=links
    )
    cors = Cors(settings.origins)
    token = None if settings.token is None else AccessToken(settings.token)
    channel = Channel(client, authorize=safety.authorize_command)

    prefix = f"/plugin-views/{settings.platform}_plugin_device_manager/devices"
    page = Page(prefix, token=token, fleet=settings.fleet)

    middlewares = [problems_middleware, refuse_surplus, safety.host, page.missing, cors.preflight]
    if token is not None:
        middlewares.append(token.middleware)
    middlewares.append(safety.site)
    app = web.Application(middlewares=middlewares, client_max_size=BODY_LIMIT)

    routes = Routes(app)
    Description(settings.platform, with_token=token is not None).add_to(routes)
    page.add_to(routes)
    for resource in (
        Devices(client, prefix, channel),
        Models(client, prefix, settings.models),
        Connect(client, prefix, channel),
        Groups(client, prefix),
        Recording(client, prefix),
        Check(client, prefix),
        DeviceCommands(client, prefix),
        Bluetooth(client, prefix),
        History(client, prefix),
        Takes(client, prefix),
        Interfaces(client, prefix),
        Cameras(client, settings.models),
    ):
        resource.add_to(routes)
    Diagnose(client, with_token=token is not None).add_to(routes)
    health = Health(client, token)
    health.add_to(routes)
    channel.add_to(routes)
    Squawk(channel).add_to(routes)
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

    fast: FastPath | None = None
    if settings.tile_sources:
        fast = _add_tiles(
            app, routes, settings, safety, token, cors, channel, health, metrics, tasks.part("tiles")
        )
    else:
        NoTiles(settings.platform).add_to(routes)
    maps = MapResource(settings.map, settings.platform)
    maps.add_to(routes)
    _add_short_ways(app, links, fast, _add_ranges(app, maps, safety, token, cors))
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
) -> FastPath:
    """Tiles; the modules for tilesets are imported only if there is one."""
    from wifimgrd.http.tiles.fast import FastPath  # noqa: PLC0415
    from wifimgrd.http.tiles.resource import TilesResource  # noqa: PLC0415
    from wifimgrd.http.tiles.tilesets import Tilesets  # noqa: PLC0415

    tilesets = Tilesets(settings.tile_sources, tasks)
    tilesets.subscribe(lambda data: channel.announce("tileset.updated", data))
    health.tiles = tilesets.report
    metrics.tile_counts = tilesets.counts
    TilesResource(tilesets, settings.platform).add_to(routes)
    fast = FastPath(tilesets, settings.platform, safety, token, cors)

    async def running_library(_: web.Application) -> AsyncIterator[None]:
        await tilesets.start()
        yield
        await tilesets.stop()

    app.cleanup_ctx.append(running_library)
    return fast


def _add_ranges(
    app: web.Application, maps: MapResource, safety: RequestSafety, token: AccessToken | None, cors: Cors
) -> FastRanges | None:
    """The short way to parts of archives; its module is imported only if there is an archive."""
    if not maps.archives:
        return None
    from wifimgrd.http.tiles.map.fast_ranges import FastRanges  # noqa: PLC0415

    ranges = FastRanges(maps.archives, safety, token, cors)

    async def close_archives(_: web.Application) -> None:
        ranges.close()

    app.on_cleanup.append(close_archives)
    return ranges


def _add_short_ways(
    app: web.Application, links: LinkAddresses, fast: FastPath | None, ranges: FastRanges | None
) -> None:
    """Set the function that makes a connection's short way. The short way forgets its clients when an address
    of a link changes, so that it at once no longer allows an address that a camera assigns."""
    for one in (fast, ranges):
        if one is not None:
            links.subscribe(one.forget_clients)
    if fast is not None or ranges is not None:
        from wifimgrd.http.tiles.short_way import ShortWay  # noqa: PLC0415

        app[SHORT_WAYS] = partial(ShortWay, fast, ranges)


@web.middleware
async def refuse_surplus(request: web.Request, handler: Handler) -> web.StreamResponse:
    """On a connection beyond the limits serve nothing but the liveness check, and close it."""
    front = front_of(request)
    if front is None or not front.is_surplus:
        return await handler(request)
    if request.path.rstrip("/") != "/healthz":
        detail = "there are too many connections, and none is idle"
        problem = Problem(TOO_MANY_REQUESTS, detail, headers={"Retry-After": str(RETRY_AFTER_S)})
        response: web.StreamResponse = problem.response()
    else:
        response = await handler(request)
    response.force_close()
    return response


async def _general_headers(request: web.Request, response: web.StreamResponse) -> None:
    """The headers of every answer; a resource that may be cached sets that itself."""
    front = front_of(request)
    if front is not None and front.is_receiving:  # the rest of its body is not read
        response.force_close()
        response.headers["Connection"] = "close"
    response.headers.popall("Server", None)
    response.headers.setdefault("Cache-Control", "no-store")
    response.headers.setdefault("X-Content-Type-Options", "nosniff")
