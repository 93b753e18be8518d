"""A MapLibre style (https://maplibre.org/maplibre-style-spec/) for an archive that has none.

Pure. Vector archives of any schema are drawn by the names of their layers; layers of unknown names get a
plain style.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from wifimgrd.http.tiles._source import Summary
from wifimgrd.http.tiles._tile import VECTOR_TYPES, vector_encoding

TILES: Final = "pmtiles"
CONTOURS: Final = "contours"
"""Names of sources, by which the platform's map selects the archive."""

UNKNOWN_TILES: Final = "the archive has tiles of an unknown format, so that no style can be made for it"
_RASTER: Final = {"type": "raster", "tileSize": 256}
_LAND: Final = "#f2efe9"
_TEXT: Final = "#333333"
_COLOURS: Final = (
    (re.compile("water|ocean|sea|lake|river"), "#a5c8e1"),
    (re.compile("building"), "#d6cdc3"),
    (re.compile("park|wood|forest|grass|nature"), "#cfe3bf"),
    (re.compile("landcover|landuse|land_"), "#e2e8d5"),
    (re.compile("earth|^land$"), "#f7f5f0"),
    (re.compile("boundar|admin|border"), "#9b7fb0"),
    (re.compile("transport|road|street|highway|rail|transit"), "#b8a48c"),
    (re.compile("aero|runway|airport"), "#c4b9d1"),
    (re.compile("contour|elev"), "#c9a27a"),
)
_OTHER: Final = "#8a8a8a"
_AREAS_FIRST: Final = ("earth", "land", "landcover", "landuse", "park", "water")
_ICONS: Final = 512
"""The largest number of names of a sprite that a style lists."""


@dataclass(frozen=True, slots=True)
class Places:
    """Addresses of a style's resources; empty = there is none."""

    tiles: str
    """Of the archive, for MapLibre's protocol `pmtiles`."""
    contours: str = ""
    """Of the TileJSON of the contour lines."""
    glyphs: str = ""
    font: str = ""
    """A font that exists, by its folder's name."""
    sprite: str = ""
    icons: tuple[str, ...] = ()
    """Names of the images in the sprite."""


def has_style(tiles: Summary) -> bool:
    """Whether a style can be made: these are vector tiles or pictures."""
    return tiles.media_type in VECTOR_TYPES or tiles.media_type.startswith("image/")


def default_style(tiles: Summary, contours: Summary | None, places: Places) -> dict[str, object]:
    """The style for an archive, and the contour lines above it."""
    style: dict[str, object] = {"version": 8, "name": tiles.texts.get("name") or "Map"}
    if tiles.center is not None:
        longitude, latitude, zoom = tiles.center
        style |= {"center": [longitude, latitude], "zoom": zoom}
    if places.glyphs and places.font:
        style["glyphs"] = places.glyphs
    if places.sprite:
        style["sprite"] = places.sprite
    is_vector = tiles.media_type in VECTOR_TYPES
    kind = {"type": "vector", **vector_encoding(tiles.media_type)} if is_vector else _RASTER
    sources: dict[str, object] = {TILES: {**kind, "url": places.tiles}}
    style["sources"] = sources
    layers: list[dict[str, object]] = [
        {"id": "background", "type": "background", "paint": {"background-color": _LAND}}
    ]
    if is_vector:
        layers += _shapes(TILES, tiles)
    else:
        layers.append({"id": "tiles", "type": "raster", "source": TILES})
    if contours is not None and places.contours:
        sources[CONTOURS] = {"type": "vector", "url": places.contours}
        layers += [
            _line(CONTOURS, name, 0.6, minzoom=contours.minzoom) for name in layer_names(contours) or ()
        ]
    if is_vector:
        layers += _labels(tiles, places)
    return style | {"layers": layers}


def layer_names(summary: Summary) -> list[str] | None:
    """The layers of an archive's vector tiles; None if its metadata does not list them."""
    if summary.vector_layers is None:
        return None
    ids = [one.get("id") for one in summary.vector_layers if isinstance(one, dict)]
    return list(dict.fromkeys(one for one in ids if isinstance(one, str) and one))


def _shapes(source: str, summary: Summary) -> Iterator[dict[str, object]]:
    names = layer_names(summary) or []
    rank = {name: number for number, name in enumerate(_AREAS_FIRST)}
    for name in sorted(
        names, key=lambda one: rank.get(one, len(rank))
    ):  # stable: the others keep their order
        yield {
            "id": f"{name}-areas",
            "type": "fill",
            "source": source,
            "source-layer": name,
            "filter": ["==", "$type", "Polygon"],
            "paint": {"fill-color": _colour(name)},
        }
    for name in names:
        yield _line(source, name, 1.0)


def _line(source: str, name: str, width: float, *, minzoom: float = 0) -> dict[str, object]:
    return {
        "id": f"{source}-{name}-lines" if source != TILES else f"{name}-lines",
        "type": "line",
        "source": source,
        "source-layer": name,
        "minzoom": minzoom,
        "filter": ["==", "$type", "LineString"],
        "paint": {
            "line-color": _colour(name),
            "line-width": ["interpolate", ["linear"], ["zoom"], 6, width, 16, width * 4],
        },
    }


def _labels(summary: Summary, places: Places) -> Iterator[dict[str, object]]:
    has_font = bool(places.glyphs and places.font)
    for name in layer_names(summary) or ():
        common = {"source": TILES, "source-layer": name, "filter": ["==", "$type", "Point"]}
        if not has_font and not places.icons:
            paint = {"circle-radius": 2, "circle-color": _TEXT}
            yield {"id": f"{name}-points", "type": "circle", **common, "paint": paint}
            continue
        layout: dict[str, object] = {}
        if has_font:
            layout |= {
                "text-field": ["coalesce", ["get", "name"], ["get", "name:en"], ["get", "name_en"], ""],
                "text-font": [places.font],
                "text-size": 12,
            }
        if places.sprite and places.icons:
            layout["icon-image"] = _icon(places.icons)
            layout |= (
                {"text-anchor": "top", "text-offset": [0, 0.8], "text-optional": True} if has_font else {}
            )
        paint = {"text-color": _TEXT, "text-halo-color": "#ffffff", "text-halo-width": 1.2}
        yield {"id": f"{name}-labels", "type": "symbol", **common, "layout": layout, "paint": paint}


def _icon(names: Sequence[str]) -> list[object]:
    """An expression for the image that a feature's `kind` or `class` names, no image if there is none."""
    value = ["to-string", ["coalesce", ["get", "kind"], ["get", "class"], ""]]
    return ["case", ["in", value, ["literal", list(names[:_ICONS])]], value, ""]


def _colour(name: str) -> str:
    lower = name.lower()
    return next((colour for pattern, colour in _COLOURS if pattern.search(lower)), _OTHER)
