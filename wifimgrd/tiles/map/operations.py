"""The operations of the platform's map, for the API's description."""

from __future__ import annotations

from typing import Annotated, Any, Final

from wifimgrd.client.json_types import Keywords
from wifimgrd.http.description.operations import Parameter, operation
from wifimgrd.http.errors import NOT_FOUND, TILE_NOT_FOUND, TILE_SOURCE_UNAVAILABLE

ARCHIVE_TYPE: Final = "application/vnd.pmtiles"
_HAS_IT: Final = {304: "The client has it."}
_RANGE: Final = Parameter("Range", "header", "`bytes=A-B`, `bytes=A-` or `bytes=-N`, one range.", str)
_IF_RANGE: Final = Parameter("If-Range", "header", "The ETag of the file that Range is about.", str)
_PARTS: Final[dict[str, Any]] = {
    "reads": (_RANGE, _IF_RANGE),
    "errors": (NOT_FOUND,),
    "headers": {"ETag": "For If-None-Match and If-Range.", "Accept-Ranges": "`bytes`."},
    "further": {**_HAS_IT, 206: "The part that Range names.", 416: "Range names no part of the file."},
}
_TILE_NUMBER: Final = Annotated[str, Keywords(pattern=r"^[0-9]{1,10}$")]

STYLE: Final = operation(
    "map_style",
    "tiles",
    text="Get the style of the platform's map",
    answer=dict[str, Any],
    errors=(NOT_FOUND,),
    further=_HAS_IT,
)
RESOURCE: Final = operation(
    "map_resource",
    "tiles",
    text="Get a font, a sprite or another file that the style names",
    **_PARTS
    | {
        "reads": (
            Parameter("path", "path", "The file's name below `[map] resources`.", str, required=True),
            *_PARTS["reads"],
        ),
        "media_types": (
            "application/octet-stream",
            "application/x-protobuf",
            "application/json",
            "image/png",
        ),
    },
)
TILES: Final = operation(
    "map_tiles",
    "tiles",
    text="Get the PMTiles archive of the platform's map, or a part of it",
    media_types=(ARCHIVE_TYPE,),
    **_PARTS,
)
CONTOURS: Final = operation(
    "map_contours",
    "tiles",
    text="Get the PMTiles archive of contour lines, or a part of it",
    media_types=(ARCHIVE_TYPE,),
    **_PARTS,
)
CONTOURS_JSON: Final = operation(
    "map_contours_tilejson",
    "tiles",
    text="Describe the contour lines, as TileJSON",
    answer=dict[str, Any],
    errors=(NOT_FOUND,),
)
CONTOUR_TILE: Final = operation(
    "map_contour_tile",
    "tiles",
    text="Get a vector tile of contour lines",
    reads=(
        Parameter("z", "path", "Zoom.", _TILE_NUMBER, required=True),
        Parameter("x", "path", "Column, from the west.", _TILE_NUMBER, required=True),
        Parameter("y", "path", "Row, from the north.", _TILE_NUMBER, required=True),
    ),
    media_types=("application/vnd.mapbox-vector-tile",),
    errors=(TILE_NOT_FOUND, TILE_SOURCE_UNAVAILABLE),
    headers={"ETag": "For If-None-Match."},
    further=_HAS_IT,
)
