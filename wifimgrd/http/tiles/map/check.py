"""Checks of `[map]`: whether all that the style refers to exists, before clients without internet need it.

A style's addresses are interpreted as the platform's frontend does it: relative ones are names below
`resources`, and a source is one of the two archives if its name or address contains `pmtiles` or `contour`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from wifimgrd.config.configuration import Map, TileSource
from wifimgrd.http.tiles._pmtiles import PMTilesSource
from wifimgrd.http.tiles._source import Summary
from wifimgrd.http.tiles._tile import VECTOR_TYPES, DamagedError, vector_encoding
from wifimgrd.http.tiles.check import Progress
from wifimgrd.http.tiles.map._default_style import UNKNOWN_TILES, has_style, layer_names
from wifimgrd.http.tiles.map._open_file import OpenFile, ResourceFolder
from wifimgrd.http.tiles.map._style_places import font_file, has_sprite
from wifimgrd.http.tiles.map.resource import read_style

_SCHEME: Final = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)
_OWN_ROUTE: Final = re.compile(r".*/map/resources/(.+)")
_OWN_TILES: Final = re.compile(r".*/tiles/([A-Za-z0-9_.-]+?)(?:\.json|/.*)?")
_LEADING: Final = re.compile(r"^(\.{1,2}/)+")
_DEFAULT_FONT: Final = "Open Sans Regular,Arial Unicode MS Regular"
"""The fonts that MapLibre requests if a layer with text names none."""


@dataclass(slots=True)
class MapReport:
    """The settings of `[map]`, and their errors."""

    map: dict[str, str | None]
    """The configured paths by key."""
    problems: list[str] = field(default_factory=list)

    @property
    def is_well(self) -> bool:
        """Whether there are no errors."""
        return not self.problems

    def as_json(self) -> dict[str, object]:
        """The report as JSON."""
        return {**asdict(self), "ok": self.is_well}


def check_map(settings: Map, sources: Sequence[TileSource], progress: Progress) -> MapReport:
    """Check the archives, then the style against them, the resources and the tilesets of `sources`, which
    are checked elsewhere. Blocks on the disk."""
    known = {source.path for source in sources}
    paths = {key: None if path is None else str(path) for key, path in asdict(settings).items()}
    report = MapReport(paths)
    add = report.problems.append
    tiles = _archive("tiles", settings.tiles, add, progress, deep=settings.tiles not in known)
    contours = _archive("contours", settings.contours, add, progress, deep=settings.contours not in known)
    tilesets = {source.tileset for source in sources}
    folder = None if settings.resources is None else ResourceFolder(settings.resources)
    if settings.resources is not None and not settings.resources.is_dir():
        add(f"resources: {settings.resources} is not a folder")
    if settings.style is not None:
        try:
            style = json.loads(read_style(OpenFile.at(settings.style)))
        except OSError as error:
            add(f"style: {settings.style} cannot be opened: {error.strerror}")
        except ValueError as error:
            add(f"style: {error}")
        else:
            report.problems += dict.fromkeys(_StyleCheck(style, folder, tiles, contours, tilesets).problems())
    elif settings.tiles is None:
        add("tiles: neither a style nor an archive is configured, so that there is no map")
    elif tiles is not None and tiles.media_type in VECTOR_TYPES and not layer_names(tiles):
        add("tiles: the archive does not name its layers, so that no style can be made for it")
    elif tiles is not None and not has_style(tiles):
        add(f"tiles: {UNKNOWN_TILES}")
    return report


def _archive(
    key: str, path: Path | None, add: Callable[[str], None], progress: Progress, *, deep: bool
) -> Summary | None:
    """An archive's own metadata; None if there is no archive, or none that can be used."""
    if path is None:
        return None
    try:
        source = PMTilesSource(path)
        for done, total in source.verify({}) if deep else ():
            progress(f"checking {path.name}", done, total)
    except DamagedError as error:
        add(f"{key}: {error}")
        return None
    except OSError as error:
        add(f"{key}: {path} cannot be opened: {error.strerror}")
        return None
    return source.summary


class _StyleCheck:
    """One style, and the resources that it may refer to."""

    def __init__(
        self,
        style: Mapping[str, object],
        folder: ResourceFolder | None,
        tiles: Summary | None,
        contours: Summary | None,
        tilesets: Collection[str],
    ) -> None:
        self._style = style
        self._folder = folder
        self._tiles = tiles
        self._contours = contours
        self._tilesets = tilesets
        self._sources: dict[str, object] = _mapping(style.get("sources"))
        self._layers = [one for one in _list(style.get("layers")) if isinstance(one, dict)]

    def problems(self) -> Iterator[str]:
        """One sentence for each missing resource."""
        if self._style.get("version") != 8:
            yield "style: its version is not 8"
        if not self._layers:
            yield "style: it has no layers"
        yield from self._fonts()
        yield from self._sprites()
        for name, source in self._sources.items():
            yield from self._source(name, _mapping(source))
        for layer in self._layers:
            yield from self._layer(layer)

    def _fonts(self) -> Iterator[str]:
        fonts = {font for layer in self._layers for font in _fonts_of(layer)}
        glyphs = self._style.get("glyphs")
        if not isinstance(glyphs, str):
            if fonts:
                yield "style: it has text and no `glyphs`, so that no text is drawn"
            return
        for font in sorted(fonts):
            file = glyphs.replace("{fontstack}", font).replace("{range}", "0-255")
            yield from self._resource(f"the font {font}", file)
        if "{fontstack}" not in glyphs or "{range}" not in glyphs:
            yield "style: its `glyphs` lacks {fontstack} or {range}, as in " + font_file("NAME")

    def _sprites(self) -> Iterator[str]:
        sprite = self._style.get("sprite")
        addresses = (
            [sprite] if isinstance(sprite, str) else [_mapping(one).get("url") for one in _list(sprite)]
        )
        for address in addresses:
            if not isinstance(address, str):
                yield "style: a sprite has no address"
                continue
            name, trouble = _resource_name(address)
            if trouble:
                yield f"style: the sprite is {trouble}"
            elif self._folder is None or not has_sprite(self._folder, name):
                yield f"style: the sprite {name} is missing: {name}.json and {name}.png in `resources`"

    def _source(self, name: str, source: Mapping[str, object]) -> Iterator[str]:
        archive = _archive_of(name, source)
        if archive is not None:
            yield from self._archive(name, archive, source)
            return
        data = source.get("data")
        found = [source.get("url"), data, *_list(source.get("tiles")), *_list(source.get("urls"))]
        addresses = [one for one in found if isinstance(one, str)]
        if not addresses and not isinstance(data, dict):
            yield f"style: the source {name} has no address"
        for address in addresses:
            own = _OWN_TILES.fullmatch(address)
            if own is None or own[1] not in self._tilesets:
                yield from self._resource(f"the source {name}", address)

    def _archive(self, name: str, key: str, source: Mapping[str, object]) -> Iterator[str]:
        kind = source.get("type")
        summary = self._contours if key == "contours" else self._tiles
        if summary is None:
            yield f"style: the source {name} is missing: [map] {key} has no archive that can be used"
        elif (summary.media_type in VECTOR_TYPES) != (kind == "vector"):
            yield f"style: the source {name} is of type {kind}, and the archive has {summary.media_type}"
        elif kind == "vector" and source.get("encoding", "mvt") != vector_encoding(summary.media_type).get(
            "encoding", "mvt"
        ):
            yield f"style: the encoding of the source {name} is not that of the archive, {summary.media_type}"

    def _layer(self, layer: Mapping[str, object]) -> Iterator[str]:
        name, source = layer.get("source"), layer.get("source-layer")
        if not isinstance(name, str):
            return
        if name not in self._sources:
            yield f"style: the layer {layer.get('id')} has a source {name}, which is missing"
            return
        archive = _archive_of(name, _mapping(self._sources[name]))
        summary = {"tiles": self._tiles, "contours": self._contours}.get(archive or "")
        known = None if summary is None else layer_names(summary)
        if isinstance(source, str) and known and source not in known:
            yield f"style: the layer {layer.get('id')} draws {source}, which the archive does not have"

    def _resource(self, what: str, address: str) -> Iterator[str]:
        name, trouble = _resource_name(address)
        if trouble:
            yield f"style: {what} is {trouble}"
        elif "{" in name:  # a template: only the folder at its beginning can be checked
            folder = name.partition("{")[0].rpartition("/")[0]
            if self._folder is None or not self._folder.names(folder):
                yield f"style: {what} is missing: {name} in `resources`"
        elif self._folder is None or not self._folder.has(name):
            yield f"style: {what} is missing: {name} in `resources`"


def _archive_of(name: str, source: Mapping[str, object]) -> str | None:
    """`tiles` or `contours` if a source is one of these archives."""
    texts = [name, source.get("url"), *_list(source.get("tiles"))]
    text = " ".join(one for one in texts if isinstance(one, str))
    if "contour" in text:
        return "contours"
    return "tiles" if "pmtiles" in text else None


def _resource_name(address: str) -> tuple[str, str]:
    """A name below `resources`, or the error of an address elsewhere."""
    own = _OWN_ROUTE.fullmatch(address)
    if own is not None:
        return unquote(own[1]), ""
    if _SCHEME.match(address) or address.startswith("/"):
        return "", f"at {address}, which is not served from here"
    return unquote(_LEADING.sub("", address)), ""


def _fonts_of(layer: Mapping[str, object]) -> Iterator[str]:
    """The fonts that a layer needs, joined as MapLibre does it."""
    layout = _mapping(layer.get("layout"))
    if layer.get("type") != "symbol" or "text-field" not in layout:
        return
    if "text-font" not in layout:
        yield _DEFAULT_FONT
        return
    yield from _stacks(layout["text-font"])


def _stacks(value: object, *, depth: int = 0) -> Iterator[str]:
    """The lists of fonts in a value: the value itself, those in `literal`, those of stops."""
    if isinstance(value, dict):
        value = _list(value.get("stops"))
    if not isinstance(value, list) or depth > 32:
        return
    if depth == 0 and value and all(isinstance(one, str) for one in value):
        yield ",".join(value)
    elif len(value) == 2 and value[0] == "literal" and isinstance(value[1], list):
        yield ",".join(str(one) for one in value[1])
    else:
        for one in value:
            if isinstance(one, list) and len(one) == 2 and isinstance(one[0], int | float):
                yield from _stacks(one[1])  # a stop: zoom and fonts
            else:
                yield from _stacks(one, depth=depth + 1)


def _mapping(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []
