"""The fonts and sprites for a style in a user's folder of resources, and their addresses."""

from __future__ import annotations

import json
from typing import Final

from wifimgrd.http.tiles.map._default_style import Places
from wifimgrd.http.tiles.map._open_file import ResourceFolder

GLYPHS: Final = "fonts/{fontstack}/{range}.pbf"
FIRST_RANGE: Final = "0-255"
_INDEX_LIMIT: Final = 4 << 20


def style_places(base: str, folder: ResourceFolder | None) -> Places:
    """The addresses of the resources; `base` is that of the map's routes. Blocks on the disk."""
    tiles, contours = f"pmtiles://{base}/tiles/", f"{base}/contours/contours.json"
    if folder is None:
        return Places(tiles, contours)
    sprite = _sprite(folder)
    return Places(
        tiles,
        contours,
        glyphs=f"{base}/resources/{GLYPHS}",
        font=_font(folder),
        sprite=f"{base}/resources/{sprite}" if sprite else "",
        icons=_icons(folder, sprite) if sprite else (),
    )


def font_file(font: str) -> str:
    """The first file of a font; if it exists, so does the font."""
    return GLYPHS.format(fontstack=font, range=FIRST_RANGE)


def has_sprite(folder: ResourceFolder, name: str) -> bool:
    """Whether a sprite's index and image exist."""
    return folder.has(name + ".json") and folder.has(name + ".png")


def _font(folder: ResourceFolder) -> str:
    """The first font, a regular one if there is any; empty if there is none."""
    fonts = [one for one in folder.names("fonts") if folder.has(font_file(one))]
    return min(fonts, key=lambda one: "regular" not in one.lower(), default="")


def _sprite(folder: ResourceFolder) -> str:
    """The first sprite, without its suffix; empty if there is none."""
    names = [*folder.names("."), *(f"sprites/{one}" for one in folder.names("sprites"))]
    found = (one.removesuffix(".json") for one in names if one.endswith(".json"))
    return next((one for one in found if not one.endswith("@2x") and has_sprite(folder, one)), "")


def _icons(folder: ResourceFolder, sprite: str) -> tuple[str, ...]:
    try:
        index = json.loads(folder.read(sprite + ".json", _INDEX_LIMIT))
    except (OSError, ValueError, RecursionError):
        return ()
    return tuple(index) if isinstance(index, dict) else ()
