"""Answers about tiles: their headers and bytes, and the answer for a missing tile."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping
from functools import cache
from typing import Final, NamedTuple

from wifimgrd.http._errors import TILE_NOT_FOUND, Problem, is_for_picture
from wifimgrd.http.tiles._decompress import decompress
from wifimgrd.http.tiles._tile import LARGEST_TILE, VECTOR_TYPES, Tile

_CODINGS: Final = ("gzip", "deflate", "br", "zstd")
_FRESHNESS: Final = "no-cache"
"""Clients cache it, and revalidate it each time: a tileset can be replaced at any moment."""


class Terms(NamedTuple):
    """The headers of a request that decide the form of the answer."""

    codings: frozenset[str] = frozenset()
    """Content codings that it accepts, of those that tiles have."""
    tags: str = ""
    """If-None-Match."""
    is_picture: bool = False
    """A browser shows it as an image, and does not read a problem."""

    @classmethod
    def of(cls, headers: Mapping[str, str]) -> Terms:
        """Read a request's headers."""
        return cls(
            accepted_codings(headers.get("Accept-Encoding", "")),
            headers.get("If-None-Match", ""),
            is_for_picture(headers),
        )


class Reply(NamedTuple):
    """A whole answer."""

    status: int
    headers: dict[str, str]
    body: bytes


@cache
def _known(text: str) -> frozenset[str]:
    qualities: dict[str, bool] = {}
    for item in text.lower().split(","):
        name, _, parameter = item.partition(";")
        key, _, value = parameter.partition("=")
        refused = key.strip() == "q" and not value.strip().strip("0.")
        qualities[name.strip().removeprefix("x-")] = not refused
    return frozenset(coding for coding in _CODINGS if qualities.get(coding, qualities.get("*", False)))


def accepted_codings(text: str) -> frozenset[str]:
    """The codings that an Accept-Encoding header admits; none if there is no such header."""
    if not text or len(text) > 256:
        return frozenset()
    if _known.cache_info().currsize > 256:  # clients may send any values
        _known.cache_clear()
    return _known(text)


def is_unpacked_for(tile: Tile, terms: Terms) -> bool:
    """Whether a client does not accept the coding of a tile, so that the answer needs a thread."""
    return bool(tile.encoding) and tile.encoding not in terms.codings


def tile_reply(tile: Tile, terms: Terms) -> Reply:
    """The answer with a tile, decompressed if the client does not accept its coding; raises DamagedError."""
    sent_as = tile.encoding if tile.encoding in terms.codings else ""
    tag = f'"{tile.tag}"' if sent_as == tile.encoding else f'"{tile.tag}-plain"'
    headers = {"ETag": tag, "Cache-Control": _FRESHNESS}
    if tile.encoding:
        headers["Vary"] = "Accept-Encoding"
    if terms.tags and is_named(tag, terms.tags):
        return Reply(304, headers, b"")
    if sent_as:
        headers["Content-Encoding"] = sent_as
    data = tile.data if sent_as else decompress(tile.data, tile.encoding, LARGEST_TILE)
    headers["Content-Type"] = tile.media_type
    return Reply(200, headers, data)


def is_named(tag: str, tags: str) -> bool:
    """Whether If-None-Match names a tag, or any; weak comparison."""
    tags_given = [one.strip().removeprefix("W/") for one in tags.split(",")]
    return tag in tags_given or tags_given == ["*"]


def missing_reply(missing: int | str, media_type: str) -> Reply | None:
    """The answer for a tile that no source has; None = a problem."""
    if missing == 204:
        return Reply(204, {"Cache-Control": _FRESHNESS}, b"")
    if missing == "blank":
        is_vector = media_type in VECTOR_TYPES
        headers = {"Cache-Control": _FRESHNESS, "Content-Type": media_type if is_vector else "image/png"}
        return Reply(200, headers, b"" if is_vector else blank_png())
    return None


def not_found(tileset: str, where: str) -> Problem:
    """The problem for a missing tile."""
    return Problem(TILE_NOT_FOUND, f"{tileset} has no tile {where}")


@cache
def blank_png(side: int = 256) -> bytes:
    """A fully transparent image."""

    def chunk(name: bytes, content: bytes) -> bytes:
        return (
            struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))
        )

    header = struct.pack(">IIBBBBB", side, side, 1, 3, 0, 0, 0)
    rows = zlib.compress((b"\0" + bytes(side // 8)) * side, 9)
    parts = ((b"IHDR", header), (b"PLTE", bytes(3)), (b"tRNS", b"\0"), (b"IDAT", rows), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(*part) for part in parts)
