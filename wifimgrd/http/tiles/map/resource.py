"""The addresses of the platform's map: style, resources, and archives by Range."""

from __future__ import annotations

import asyncio
import hashlib
import json
from contextlib import closing
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Final

import structlog
from aiohttp import web

from wifimgrd.client.json_text import dumps
from wifimgrd.config.configuration import Map
from wifimgrd.http._errors import NOT_FOUND, TILE_NOT_FOUND, TILE_SOURCE_UNAVAILABLE, Problem
from wifimgrd.http._json_text import json_response
from wifimgrd.http._routes import Routes
from wifimgrd.http.tiles._coordinates import exists, place_of
from wifimgrd.http.tiles._files import identity_of
from wifimgrd.http.tiles._replies import Reply, Terms, is_named, tile_reply
from wifimgrd.http.tiles._tile import VECTOR, VECTOR_TYPES, DamagedError
from wifimgrd.http.tiles.map import _operations as operations
from wifimgrd.http.tiles.map._open_file import OpenFile, ResourceFolder
from wifimgrd.http.tiles.map._send_file import send_file

if TYPE_CHECKING:  # the modules that read archives are imported only if there is an archive
    from wifimgrd.http.tiles._pmtiles import PMTilesSource

STYLE_LIMIT: Final = 16 << 20
"""Bytes of a style or of a sprite's index."""
_CHECKED: Final = "no-cache, must-revalidate"
"""Clients cache it, and revalidate it each time: an archive can be replaced at any moment."""
_STYLE_HEADERS: Final = {"Content-Type": "application/json", "Cache-Control": "max-age=3600"}
_ARCHIVE_HEADERS: Final = {"Content-Type": operations.ARCHIVE_TYPE, "Cache-Control": _CHECKED}
_TYPES: Final = {
    "pbf": "application/x-protobuf",
    "mvt": VECTOR,
    "json": "application/json",
    "geojson": "application/geo+json",
    "png": "image/png",
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "webp": "image/webp",
    "svg": "image/svg+xml",
    "ttf": "font/ttf",
    "otf": "font/otf",
    "woff": "font/woff",
    "woff2": "font/woff2",
    "txt": "text/plain; charset=utf-8",
    "pmtiles": operations.ARCHIVE_TYPE,
}
_UNKNOWN: Final = "application/octet-stream"
_MAP_DATA: Final = frozenset({"pmtiles", "mbtiles", "mvt"})
"""Suffixes of files with tiles; all others are parts of styles, which seldom change."""

_log = structlog.get_logger("wifimgrd.tiles.map")


class MapResource:
    """The resources below `map/` of the platform's plugin."""

    def __init__(self, settings: Map, platform: str) -> None:
        self._settings = settings
        self._folder = None if settings.resources is None else ResourceFolder(settings.resources)
        self._tiles = None if settings.tiles is None else _Archive(settings.tiles)
        self._contours = None if settings.contours is None else _Archive(settings.contours)
        self._path = f"/plugin-views/{platform}_plugin_map/map"

    def add_to(self, routes: Routes) -> None:
        """Add the routes."""
        methods = "GET HEAD"
        routes.add(methods, self._path + "/style/", self.style)
        routes.add(methods, self._path + "/resources/{path:.+}", self.resource)
        routes.add(methods, self._path + "/tiles/", self.tiles)
        routes.add(methods, self._path + "/contours/", self.contours)
        routes.add(methods, self._path + "/contours/contours.json", self.contours_json)
        routes.add(methods, self._path + "/contours/contours/{z}/{x}/{y}.mvt", self.contour_tile)

    @property
    def archives(self) -> dict[str, Path]:
        """The files of the archives by their paths in addresses."""
        paths = {"tiles": self._settings.tiles, "contours": self._settings.contours}
        return {f"{self._path}/{name}": path for name, path in paths.items() if path is not None}

    @operations.STYLE
    async def style(self, request: web.Request) -> web.Response:
        """The configured style, or the default style for the archive."""
        data = await asyncio.to_thread(self._style, self._base(request))
        tag = f'"{hashlib.sha256(data).hexdigest()[:16]}"'
        headers = {**_STYLE_HEADERS, "ETag": tag}
        if is_named(tag, request.headers.get("If-None-Match", "")):
            return web.Response(status=304, headers={"ETag": tag, "Cache-Control": headers["Cache-Control"]})
        return web.Response(body=data, headers=headers)

    @operations.RESOURCE
    async def resource(self, request: web.Request) -> web.StreamResponse:
        """A file below the folder."""
        name = request.match_info["path"].removesuffix("/")
        if self._folder is None:
            raise _nothing("no folder of resources is configured")
        try:
            file = await asyncio.to_thread(self._folder.open, name)
        except OSError:
            raise _nothing("the map has no such resource") from None
        ending = name.rpartition("/")[2].rpartition(".")[2].lower()
        headers = {
            "Content-Type": _TYPES.get(ending, _UNKNOWN),
            "Cache-Control": _CHECKED if ending in _MAP_DATA else "public, max-age=86400",
            "Content-Security-Policy": "default-src 'none'; sandbox",
        }
        return await send_file(request, file, headers)

    @operations.TILES
    async def tiles(self, request: web.Request) -> web.StreamResponse:
        """The archive, or a part of it."""
        file = await _opened(self._tiles, "no archive of tiles")
        return await send_file(request, file, _ARCHIVE_HEADERS)

    @operations.CONTOURS
    async def contours(self, request: web.Request) -> web.StreamResponse:
        """The archive of contours, or a part of it."""
        file = await _opened(self._contours, "no archive of contours")
        return await send_file(request, file, _ARCHIVE_HEADERS)

    @operations.CONTOURS_JSON
    async def contours_json(self, request: web.Request) -> web.Response:
        """The contour lines, if the archive has vector tiles."""
        from wifimgrd.http.tiles._tilejson import description  # noqa: PLC0415 - needed only with an archive

        source = await asyncio.to_thread(_vector_source, self._contours)
        if source is None:
            raise _nothing("there are no contour lines")
        address = f"{self._base(request)}/contours/contours/{{z}}/{{x}}/{{y}}.mvt"
        value = description("contours", address, [source.summary], source.summary.media_type)
        return json_response(value, headers={"Cache-Control": _CHECKED})

    @operations.CONTOUR_TILE
    async def contour_tile(self, request: web.Request) -> web.Response:
        """A tile of contour lines, as it is in the archive."""
        info = request.match_info
        place = place_of(info["z"], info["x"], info["y"])
        if place is None or not exists(*place):
            raise Problem(TILE_NOT_FOUND, "the world has no such tile")
        try:
            reply = await asyncio.to_thread(self._contour_tile, place, Terms.of(request.headers))
        except DamagedError as error:
            raise Problem(TILE_SOURCE_UNAVAILABLE, f"the archive is damaged: {error}") from None
        if reply is None:
            raise Problem(TILE_NOT_FOUND, "there are no contour lines here")
        return web.Response(status=reply.status, headers=reply.headers, body=reply.body or None)

    def _contour_tile(self, place: tuple[int, int, int], terms: Terms) -> Reply | None:
        source = _vector_source(self._contours)
        tile = None if source is None else source.read(*place)
        return None if tile is None else tile_reply(tile, terms)

    def _style(self, base: str) -> bytes:
        """The style's JSON; raises Problem if there is none."""
        if self._settings.style is None:
            return dumps(self._default_style(base)).encode()
        try:
            data = read_style(OpenFile.at(self._settings.style))
        except (OSError, ValueError) as error:
            detail = error.strerror if isinstance(error, OSError) else str(error)
            raise _nothing(f"the configured style cannot be used: {detail}") from None
        return data

    def _default_style(self, base: str) -> dict[str, object]:
        from wifimgrd.http.tiles.map import _default_style as default_style  # noqa: PLC0415 - needed only with an archive
        from wifimgrd.http.tiles.map._style_places import style_places  # noqa: PLC0415

        tiles = None if self._tiles is None else self._tiles.source()
        if tiles is None:
            raise _nothing("no style is configured, and there is no archive of tiles to make one for")
        contours = _vector_source(self._contours)
        places = style_places(base, self._folder)
        if not default_style.has_style(tiles.summary):
            raise _nothing(default_style.UNKNOWN_TILES)
        return default_style.default_style(
            tiles.summary, None if contours is None else contours.summary, places
        )

    def _base(self, request: web.Request) -> str:
        from wifimgrd.http.tiles._tilejson import base_address  # noqa: PLC0415 - needed only with an archive

        return base_address(request.headers, request.scheme, request.host) + self._path


def read_style(file: OpenFile) -> bytes:
    """The bytes of a style that is a JSON object; raises ValueError, and OSError. Closes the file."""
    with closing(file):
        data = file.read_all(STYLE_LIMIT)
    try:
        is_object = isinstance(json.loads(data), dict)
    except RecursionError:
        is_object = False
    except ValueError:
        raise ValueError("it is not JSON") from None
    if not is_object:
        raise ValueError("it is not a JSON object")
    return data


class _Archive:
    """The PMTiles archive that is at a path at the time of each call: sent as it is, and read for its
    metadata and its tiles. All calls block on the disk: use threads."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = Lock()
        self._source: PMTilesSource | None = None
        self._reason = ""

    def open(self) -> OpenFile:
        """The file, for sending; raises OSError."""
        return OpenFile.at(self._path)

    def source(self) -> PMTilesSource | None:
        """The archive, opened; None if there is none, or if it is damaged, which is logged once."""
        from wifimgrd.http.tiles._pmtiles import PMTilesSource  # noqa: PLC0415 - needed only with an archive

        with self._lock:
            try:
                identity = identity_of(self._path)
                if self._source is None or self._source.identity != identity:
                    self._source = None if identity is None else PMTilesSource(self._path)
                self._reason = ""
            except (DamagedError, OSError) as error:
                self._source = None
                reason = str(error)
                if reason != self._reason:
                    _log.warning("map_archive_refused", path=str(self._path), reason=reason)
                self._reason = reason
            return self._source


def _vector_source(archive: _Archive | None) -> PMTilesSource | None:
    """The archive, opened, if its tiles are vector tiles."""
    source = None if archive is None else archive.source()
    return source if source is not None and source.summary.media_type in VECTOR_TYPES else None


async def _opened(archive: _Archive | None, otherwise: str) -> OpenFile:
    if archive is None:
        raise _nothing(f"{otherwise} is configured")
    try:
        return await asyncio.to_thread(archive.open)
    except OSError:
        raise _nothing(f"{otherwise} can be opened") from None


def _nothing(detail: str) -> Problem:
    return Problem(NOT_FOUND, detail)
