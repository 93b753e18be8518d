"""The addresses of tiles: the platform's own, XYZ, TileJSON, and the list."""

from __future__ import annotations

from aiohttp import web

from wifimgrd.http._errors import TILE_NOT_FOUND, TILE_SOURCE_UNAVAILABLE, Problem
from wifimgrd.http._json_text import json_response
from wifimgrd.http._requests import invalid
from wifimgrd.http._routes import Routes
from wifimgrd.http.tiles import _operations as operations
from wifimgrd.http.tiles._coordinates import exists, place_of, without_ending
from wifimgrd.http.tiles._replies import Reply, Terms, is_unpacked_for, missing_reply, not_found, tile_reply
from wifimgrd.http.tiles._tile import DamagedError, Tile, UnavailableError
from wifimgrd.http.tiles._tilejson import base_address, tilejson
from wifimgrd.http.tiles._tileset import FAILED, FOUND, MISSING, NO_SOURCE, Tileset
from wifimgrd.http.tiles.tilesets import Tilesets


class TilesResource:
    """The resources of tilesets."""

    def __init__(self, tilesets: Tilesets, platform: str) -> None:
        self._tilesets = tilesets
        self._platform_path = f"/plugin-views/{platform}_plugin_map/map/offline-tiles"

    def add_to(self, routes: Routes) -> None:
        """Add the routes."""
        routes.add("GET HEAD", "/tiles/", self.list)
        routes.add("GET HEAD", self._platform_path + "/", self.of_platform)
        routes.add("GET HEAD", "/tiles/{tileset}.json", self.tilejson)
        routes.add("GET HEAD", "/tiles/{tileset}/{z}/{x}/{y}", self.xyz)

    @operations.OF_PLATFORM
    async def of_platform(self, request: web.Request) -> web.Response:
        """A tile of the first tileset, by the platform's route."""
        values = [request.query.getall(name, []) for name in ("z", "x", "y")]
        place = (
            place_of(*(given[0] for given in values)) if all(len(given) == 1 for given in values) else None
        )
        if place is None:
            raise Problem(TILE_NOT_FOUND, "z, x and y must each be given once, as numbers")
        return await self._answer(request, self._tilesets.default, *place)

    @operations.XYZ
    async def xyz(self, request: web.Request) -> web.Response:
        """A tile by tileset and numbers."""
        info = request.match_info
        place = place_of(info["z"], info["x"], without_ending(info["y"]))
        if place is None:
            raise invalid("zoom, column and row of a tile are numbers")
        return await self._answer(request, info["tileset"], *place)

    @operations.TILEJSON
    async def tilejson(self, request: web.Request) -> web.Response:
        """A tileset's description."""
        tileset = self._tileset(request.match_info["tileset"])
        return json_response(tilejson(tileset, _base(request)), headers={"Cache-Control": "no-cache"})

    @operations.LIST
    async def list(self, request: web.Request) -> web.Response:
        """The tilesets that can be used."""
        base = _base(request)
        known = self._tilesets.by_name.values()
        tilesets = [
            {**tilejson(one, base), "tileset": one.name, "url": f"{base}/tiles/{one.name}.json"}
            for one in known
            if one.is_there
        ]
        return json_response({"tilesets": tilesets}, headers={"Cache-Control": "no-cache"})

    async def _answer(self, request: web.Request, name: str, z: int, x: int, y: int) -> web.Response:
        tileset = self._tileset(name)
        terms = Terms.of(request.headers)
        tile: Tile | None = None
        try:
            tile = await tileset.fetch(z, x, y) if exists(z, x, y) else None
            reply = missing_reply(tileset.missing, tileset.media_type)
            if tile is not None:
                reply = await self._reply(tile, terms)
        except (UnavailableError, DamagedError) as error:
            late = isinstance(error, UnavailableError) and error.late
            tileset.counts[FAILED, error.source if tile is None else tile.source] += 1
            raise Problem(TILE_SOURCE_UNAVAILABLE, str(error), status=504 if late else 502) from None
        tileset.counts[(MISSING, NO_SOURCE) if tile is None else (FOUND, tile.source)] += 1
        if reply is None:
            raise not_found(name, f"{z}/{x}/{y}")
        return web.Response(status=reply.status, headers=reply.headers, body=reply.body or None)

    async def _reply(self, tile: Tile, terms: Terms) -> Reply:
        if not is_unpacked_for(tile, terms):
            return tile_reply(tile, terms)
        reply: Reply = await self._tilesets.unpack(tile_reply, tile, terms)
        return reply

    def _tileset(self, name: str) -> Tileset:
        tileset = self._tilesets.get(name)
        if tileset is None:
            raise Problem(TILE_NOT_FOUND, f"there is no tileset {name}")
        return tileset


def _base(request: web.Request) -> str:
    return base_address(request.headers, request.scheme, request.host)
