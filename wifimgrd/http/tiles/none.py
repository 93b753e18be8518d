"""The routes of tiles if no tileset is configured. Imports no module that reads tiles."""

from __future__ import annotations

from aiohttp import web

from wifimgrd.http._errors import TILE_NOT_FOUND, Problem
from wifimgrd.http._json_text import json_response
from wifimgrd.http._requests import invalid
from wifimgrd.http._routes import Routes
from wifimgrd.http.tiles import _operations as operations
from wifimgrd.http.tiles._coordinates import place_of, without_ending


class NoTiles:
    """There are no tiles."""

    def __init__(self, platform: str) -> None:
        self._platform_path = f"/plugin-views/{platform}_plugin_map/map/offline-tiles"

    def add_to(self, routes: Routes) -> None:
        """Add the routes."""
        routes.add("GET HEAD", "/tiles/", self.list)
        routes.add("GET HEAD", self._platform_path + "/", self.of_platform)
        routes.add("GET HEAD", "/tiles/{tileset}.json", self.tilejson)
        routes.add("GET HEAD", "/tiles/{tileset}/{z}/{x}/{y}", self.xyz)

    @operations.LIST
    async def list(self, _: web.Request) -> web.Response:
        """No tilesets."""
        return json_response({"tilesets": []}, headers={"Cache-Control": "no-cache"})

    @operations.XYZ
    async def xyz(self, request: web.Request) -> web.Response:
        """No tile, if the request is valid."""
        info = request.match_info
        if place_of(info["z"], info["x"], without_ending(info["y"])) is None:
            raise invalid("zoom, column and row of a tile are numbers")
        raise _nothing()

    @operations.OF_PLATFORM
    async def of_platform(self, _: web.Request) -> web.Response:
        """No tile."""
        raise _nothing()

    @operations.TILEJSON
    async def tilejson(self, _: web.Request) -> web.Response:
        """No tileset."""
        raise _nothing()


def _nothing() -> Problem:
    return Problem(TILE_NOT_FOUND, "no tileset is configured")
