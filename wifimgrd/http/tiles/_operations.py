"""The operations on tiles, for the API's description; the same with and without any tileset."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Final

from wifimgrd.client.json_types import Keywords
from wifimgrd.http._errors import TILE_NOT_FOUND, TILE_SOURCE_UNAVAILABLE
from wifimgrd.http._operations import Operation, Parameter
from wifimgrd.http.api.body_types import TilesetJson, TilesetsJson
from wifimgrd.http.tiles._tile import FORMAT_OF_TYPE

_NUMBER: Final = Annotated[int, Keywords(minimum=0, maximum=2**30)]
_ROW: Final = Annotated[str, Keywords(pattern=r"^[0-9]{1,10}(\.[A-Za-z][A-Za-z0-9]{0,10})?$")]
_TILESET: Final = Parameter("tileset", str, "The tileset's name.", "path", required=True)


def _place(where: str) -> tuple[Parameter, ...]:
    return tuple(
        Parameter(name, _NUMBER, text, where, required=True)
        for name, text in (("z", "Zoom."), ("x", "Column, from the west."), ("y", "Row, from the north."))
    )


LIST: Final = Operation("list_tilesets", "tiles", "List the tilesets", answer=TilesetsJson)
TILEJSON: Final = Operation(
    "tilejson",
    "tiles",
    "Describe a tileset, as TileJSON",
    reads=(_TILESET,),
    answer=TilesetJson,
    errors=(TILE_NOT_FOUND,),
)
XYZ: Final = Operation(
    "tile",
    "tiles",
    "Get a tile",
    reads=(
        _TILESET,
        *_place("path")[:2],
        Parameter("y", _ROW, "Row, from the north, with or without an ending.", "path", required=True),
    ),
    media_types=tuple(FORMAT_OF_TYPE),
    errors=(TILE_NOT_FOUND, TILE_SOURCE_UNAVAILABLE),
    headers={"ETag": "For If-None-Match."},
    further={
        204: "No source has this tile, and the configuration selects this answer.",
        304: "The client has this tile.",
    },
)
OF_PLATFORM: Final = replace(
    XYZ,
    name="platform_tile",
    text="Get a tile of the first tileset, by the platform's route",
    reads=_place("query"),
)
