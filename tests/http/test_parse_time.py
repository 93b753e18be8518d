"""What is read of clients, cameras and tile servers takes a time that grows with its length alone.

The one timed test: each parser's longest input may take 2.5 times what half of it takes, best of nine.
"""

from __future__ import annotations

import gc
import gzip
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from multidict import CIMultiDict

from wifimgrd.config.configuration import TileSource
from wifimgrd.http._errors import Problem
from wifimgrd.http._requests import integer_id
from wifimgrd.http.access.cors import Cors
from wifimgrd.http.access.request_safety import RequestSafety, host_name, is_foreign
from wifimgrd.http.access.token import AccessToken
from wifimgrd.http.channel.channel import EventLog
from wifimgrd.http.front.framing import Body, Head, Refused, end_of_head, parse_head
from wifimgrd.http.relay._headers import from_camera, to_camera
from wifimgrd.http.relay._references import CameraPage
from wifimgrd.http.tiles._coordinates import place_of, without_ending
from wifimgrd.http.tiles._decompress import decompress
from wifimgrd.http.tiles._pmtiles_directory import Directory
from wifimgrd.http.tiles._replies import accepted_codings, is_named
from wifimgrd.http.tiles._tile import DamagedError
from wifimgrd.http.tiles._tilejson import base_address
from wifimgrd.http.tiles._upstream import freshness
from wifimgrd.http.tiles.fast import FastPath
from wifimgrd.http.tiles.tilesets import Tilesets
from wifimgrd.runtime.tasks import Tasks

HEAD = 64 << 10
"""Bytes of a head, at most."""
FIELD = 8190
"""Bytes of one of its fields."""
RATIO = 2.5

Parse = Callable[[str], object]

_tilesets = Tilesets((TileSource("map", "folder", Path("/nowhere")),), Tasks("test"))
_safety = RequestSafety(frozenset({"localhost"}), frozenset())
_fast = FastPath(_tilesets, "platform", _safety, None, Cors(frozenset({"http://ok.example"})))
_PAGE = CameraPage("192.168.42.1", "/cameras/3", "/cameras/3/a")
_token = AccessToken("0123456789abcdef")


def _tile_head(text: str) -> object:
    head = b"GET /tiles/map/1/1/1 HTTP/1.1\r\n" + text.encode("latin-1") + b"\r\n\r\n"
    return _fast.answer(head, {}, None)


def _head(text: str) -> object:
    data = b"GET / HTTP/1.1\r\nHost: h\r\n" + text.encode("latin-1")
    try:
        return end_of_head(bytearray(data), 0), parse_head(data + b"\r\n\r\n")
    except Refused as refused:
        return refused


def _chunks(text: str) -> object:
    try:
        return Body(Head(is_chunked=True)).take(text.encode("latin-1"))
    except Refused as refused:
        return refused


def _header(name: str) -> Callable[[str], dict[str, str]]:
    return lambda text: {"Host": "localhost", name: text}


def _from_camera(name: str) -> Parse:
    return lambda text: from_camera(CIMultiDict({name: text}), _PAGE, 3)


def _unpack(text: str) -> object:
    try:
        return decompress(text.encode("latin-1"), "gzip")
    except DamagedError as error:
        return error


def _directory(text: str) -> object:
    try:
        return Directory(text.encode("latin-1"))
    except DamagedError as error:
        return error


def _id(text: str) -> object:
    try:
        return integer_id(text, "id")
    except Problem as problem:
        return problem


FIELDS = ("Location", "Content-Location", "Link", "Set-Cookie", "Connection", "X-Any")
PARSERS: dict[str, tuple[Parse, int]] = {
    "the short way to tiles": (_tile_head, 8100),
    "heads": (_head, HEAD),
    "chunks": (_chunks, 1 << 14),
    "Host": (host_name, FIELD),
    "Origin": (lambda text: is_foreign(_header("Origin")(text), frozenset()), FIELD),
    "Referer": (lambda text: is_foreign(_header("Referer")(text), frozenset()), FIELD),
    "Cookie": (lambda text: _token.admits(_header("Cookie")(text)), FIELD),
    "Authorization": (lambda text: _token.admits(_header("Authorization")(text)), FIELD),
    "Accept-Encoding": (accepted_codings, FIELD),
    "If-None-Match": (lambda text: is_named('"tag"', text), FIELD),
    "Forwarded": (lambda text: base_address(_header("Forwarded")(text), "http", "h"), FIELD),
    "X-Forwarded-Host": (lambda text: base_address(_header("X-Forwarded-Host")(text), "http", "h"), FIELD),
    "X-Forwarded-Prefix": (
        lambda text: base_address(_header("X-Forwarded-Prefix")(text), "http", "h"),
        FIELD,
    ),
    "a tile's numbers": (lambda text: place_of(text, text, text), FIELD),
    "a tile's ending": (without_ending, FIELD),
    "a device's id": (_id, FIELD),
    "since=": (EventLog("epoch", 16).since, FIELD),
    "Cookie for a camera": (lambda text: to_camera(CIMultiDict({"Cookie": text}), "h", 3), FIELD),
    "Connection for a camera": (lambda text: to_camera(CIMultiDict({"Connection": text}), "h", 3), FIELD),
    "Cache-Control of a tile server": (lambda text: freshness({"Cache-Control": text}), FIELD),
    "packed bytes": (_unpack, 1 << 20),
    "a PMTiles directory": (_directory, 1 << 18),
} | {f"{name} of a camera": (_from_camera(name), FIELD) for name in FIELDS}

PIECES = (
    " ", "a", "0", "X: ", "X:\t ", "\x80", ";", ",", "=", "a=", '"', "\\", '\\"', "\\012", "/", "/.",
    "../", "%2e/", "X: y\r\n", "\r\n",
    "<", "<,", "</>;", "[", ":", "@", "a,max-age=", "url=", "; ", ",;", "1/", "\xff\x7f", ".",
    gzip.compress(b"").decode("latin-1"),
)  # fmt: skip
ENDS = ("", "\x80", "\n")


@pytest.fixture(autouse=True)
def no_collection() -> Iterator[None]:
    """The garbage collector's time depends on what other tests have left."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize("name", PARSERS)
def test_a_parser_takes_twice_as_long_for_twice_as_much(name: str) -> None:
    parse, longest = PARSERS[name]
    for piece in PIECES:
        for end in ENDS:
            for start in ("", "X:", "a=", "http://"):
                ratio = _ratio(parse, start, piece, end, longest)
                assert ratio <= RATIO, f"{start!r} + {piece!r} times n + {end!r}"


def _ratio(parse: Parse, start: str, piece: str, end: str, longest: int) -> float:
    """Of the time for the longest input and for half of it, each the best of up to nine.

    What takes less than 2 ms in all harms nobody.
    """
    sizes = (longest, longest // 2)
    texts = [start + piece * ((size - len(start + end)) // len(piece)) + end for size in sizes]
    best = [float("inf"), float("inf")]
    for _ in range(9):
        best = [min(before, _seconds(parse, text)) for before, text in zip(best, texts, strict=True)]
        if best[0] <= RATIO * best[1] or best[0] < 0.002:
            return min(RATIO, best[0] / best[1])
    return best[0] / best[1]


def _seconds(parse: Parse, text: str) -> float:
    begin = time.thread_time()
    parse(text)
    return time.thread_time() - begin
