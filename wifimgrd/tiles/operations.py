"""The operations on tiles, for the API's description; the same with and without any tileset."""

from __future__ import annotations

from typing import Annotated, Final

from wifimgrd.client.json_types import Keywords
from wifimgrd.http.api.body_types import TilesetJson, TilesetsJson
from wifimgrd.http.description.operations import Parameter, operation
from wifimgrd.http.errors import TILE_NOT_FOUND, TILE_SOURCE_UNAVAILABLE
from wifimgrd.tiles.tile import FORMAT_OF_TYPE

_NUMBER: Final = Annotated[int, Keywords(minimum=0, maximum=2**30)]
_TILESET: Final = Parameter("tileset", "path", "The tileset's name.", str, required=True)
_DETAILS: Final = {
    "media_types": tuple(FORMAT_OF_TYPE),
    "errors": (TILE_NOT_FOUND, TILE_SOURCE_UNAVAILABLE),
    "headers": {"ETag": "For If-None-Match."},
    "further": {
        204: "No source has this tile, and the configuration selects this answer.",
        304: "The client has this tile.",
    },
}


def _place(where: str) -> tuple[Parameter, ...]:
    return tuple(
        Parameter(name, where, text, _NUMBER, required=True)
        for name, text in (("z", "Zoom."), ("x", "Column, from the west."), ("y", "Row, from the north."))
    )


_ROW: Final = Annotated[str, Keywords(pattern=r"^[0-9]{1,10}(\.[A-Za-z][A-Za-z0-9]{0,10})?$")]
LIST: Final = operation("list_tilesets", "tiles", text="List the tilesets", answer=TilesetsJson)
TILEJSON: Final = operation(
    "tilejson",
    "tiles",
    text="Describe a tileset, as TileJSON",
    reads=(_TILESET,),
    answer=TilesetJson,
    errors=(TILE_NOT_FOUND,),
)
XYZ: Final = operation(
    "tile",
    "tiles",
    text="Get a tile",
    reads=(
        _TILESET,
        *_place("path")[:2],
        Parameter("y", "path", "Row, from the north, with or without an ending.", _ROW, required=True),
    ),
    **_DETAILS,
)
OF_PLATFORM: Final = operation(
    "platform_tile",
    "tiles",
    text="Get a tile of the first tileset, by the platform's route",
    reads=_place("query"),
    **_DETAILS,
)
