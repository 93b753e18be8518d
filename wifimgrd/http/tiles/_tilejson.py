"""TileJSON 3.0.0 (https://github.com/mapbox/tilejson-spec/tree/master/3.0.0) of a tileset, and the
address of this service as its client sees it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from wifimgrd.http.access.request_safety import host_name
from wifimgrd.http.tiles._source import Summary
from wifimgrd.http.tiles._tile import FORMAT_OF_TYPE, VECTOR_TYPES, vector_encoding
from wifimgrd.http.tiles._tileset import Tileset

_WORLD: Final = (-180.0, -85.05112877980659, 180.0, 85.05112877980659)
_PREFIX: Final = re.compile(r"(/[A-Za-z0-9._~-]+)*/?")


def base_address(headers: Mapping[str, str], scheme: str, host: str) -> str:
    """Scheme, host and prefix by which a client reaches this service, also through proxies: the values of the
    proxy nearest to the client, by X-Forwarded-* or Forwarded (RFC 7239)."""
    forwarded = _forwarded(headers.get("Forwarded", ""))
    scheme = _checked_scheme(headers.get("X-Forwarded-Proto", forwarded.get("proto", "")), scheme)
    forwarded_host = _first(headers.get("X-Forwarded-Host", forwarded.get("host", "")))
    if host_name(forwarded_host):
        host = forwarded_host
        port = _first(headers.get("X-Forwarded-Port", ""))
        has_port = ":" in host.rpartition("]")[2]
        if port.isascii() and port.isdecimal() and not has_port and (scheme, port) not in _PLAIN_PORTS:
            host += f":{port}"
    prefix = _first(headers.get("X-Forwarded-Prefix", ""))
    return f"{scheme}://{host}" + (prefix.rstrip("/") if _PREFIX.fullmatch(prefix) else "")


_PLAIN_PORTS: Final = frozenset({("http", "80"), ("https", "443")})


def _first(text: str) -> str:
    return text.partition(",")[0].strip()


def _checked_scheme(header: str, otherwise: str) -> str:
    scheme = _first(header).lower()
    return scheme if scheme in ("http", "https") else otherwise


def _forwarded(text: str) -> dict[str, str]:
    pairs = [pair.partition("=") for pair in _first(text).split(";")]
    return {name.strip().lower(): value.strip().strip('"') for name, _, value in pairs}


def tile_address(base: str, tileset: Tileset) -> str:
    """The address of a tileset's tiles, as a template."""
    ending = FORMAT_OF_TYPE.get(tileset.media_type, "")
    return f"{base}/tiles/{tileset.name}/{{z}}/{{x}}/{{y}}" + (f".{ending}" if ending else "")


def tilejson(tileset: Tileset, base: str) -> dict[str, object]:
    """A tileset as TileJSON."""
    return description(tileset.name, tile_address(base, tileset), tileset.summaries, tileset.media_type)


def description(name: str, tiles: str, summaries: Sequence[Summary], media_type: str) -> dict[str, object]:
    """TileJSON of sources under one name: the metadata of the first, zooms and bounds of all. `tiles` is
    the template of their tiles' addresses."""
    first = summaries[0]
    value: dict[str, object] = {"tilejson": "3.0.0", "scheme": "xyz", "tiles": [tiles]}
    value |= {"name": name} | dict(first.texts)
    value["minzoom"] = min(summary.minzoom for summary in summaries)
    value["maxzoom"] = max(summary.maxzoom for summary in summaries)
    value["bounds"] = list(_bounds(summaries))
    if first.center is not None:
        longitude, latitude, zoom = first.center
        value["center"] = [longitude, latitude, int(zoom)]
    if media_type in VECTOR_TYPES:
        layers = (one.vector_layers for one in summaries if one.vector_layers is not None)
        value["vector_layers"] = next(layers, [])
        value |= vector_encoding(media_type)
    if media_type in FORMAT_OF_TYPE:
        value["format"] = FORMAT_OF_TYPE[media_type]
    return value


def _bounds(summaries: Sequence[Summary]) -> tuple[float, float, float, float]:
    """The bounds of all sources; the world if one has none."""
    bounds = [summary.bounds or _WORLD for summary in summaries]
    if len(bounds) == 1:
        return bounds[0]
    if any(west > east for west, _, east, _ in bounds):  # across the date line
        return _WORLD
    west, south, east, north = zip(*bounds, strict=True)
    return min(west), min(south), max(east), max(north)
