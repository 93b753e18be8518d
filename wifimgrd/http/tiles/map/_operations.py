"""The operations of the platform's map, for the API's description."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Final

from wifimgrd.client.json_types import Keywords
from wifimgrd.http._errors import NOT_FOUND, TILE_NOT_FOUND, TILE_SOURCE_UNAVAILABLE
from wifimgrd.http._operations import Operation, Parameter

ARCHIVE_TYPE: Final = "application/vnd.pmtiles"
_HAS_IT: Final = {304: "The client has it."}
_TILE_NUMBER: Final = Annotated[str, Keywords(pattern=r"^[0-9]{1,10}$")]

STYLE: Final = Operation(
    "map_style",
    "tiles",
    "Get the style of the platform's map",
    answer=dict[str, object],
    errors=(NOT_FOUND,),
    further=_HAS_IT,
)
TILES: Final = Operation(
    "map_tiles",
    "tiles",
    "Get the PMTiles archive of the platform's map, or a part of it",
    reads=(
        Parameter("Range", str, "`bytes=A-B`, `bytes=A-` or `bytes=-N`, one range.", "header"),
        Parameter("If-Range", str, "The ETag of the file that Range is about.", "header"),
    ),
    media_types=(ARCHIVE_TYPE,),
    errors=(NOT_FOUND,),
    headers={"ETag": "For If-None-Match and If-Range.", "Accept-Ranges": "`bytes`."},
    further={**_HAS_IT, 206: "The part that Range names.", 416: "Range names no part of the file."},
)
CONTOURS: Final = replace(
    TILES, name="map_contours", text="Get the PMTiles archive of contour lines, or a part of it"
)
RESOURCE: Final = replace(
    TILES,
    name="map_resource",
    text="Get a font, a sprite or another file that the style names",
    reads=(
        Parameter("path", str, "The file's name below `[map] resources`.", "path", required=True),
        *TILES.reads,
    ),
    media_types=("application/octet-stream", "application/x-protobuf", "application/json", "image/png"),
)
CONTOURS_JSON: Final = Operation(
    "map_contours_tilejson",
    "tiles",
    "Describe the contour lines, as TileJSON",
    answer=dict[str, object],
    errors=(NOT_FOUND,),
)
CONTOUR_TILE: Final = Operation(
    "map_contour_tile",
    "tiles",
    "Get a vector tile of contour lines",
    reads=(
        Parameter("z", _TILE_NUMBER, "Zoom.", "path", required=True),
        Parameter("x", _TILE_NUMBER, "Column, from the west.", "path", required=True),
        Parameter("y", _TILE_NUMBER, "Row, from the north.", "path", required=True),
    ),
    media_types=("application/vnd.mapbox-vector-tile",),
    errors=(TILE_NOT_FOUND, TILE_SOURCE_UNAVAILABLE),
    headers={"ETag": "For If-None-Match."},
    further=_HAS_IT,
)
