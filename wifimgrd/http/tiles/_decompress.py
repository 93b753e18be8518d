"""Decompresses gzip, zlib, Brotli and Zstandard, at most up to a limit.

The standard library has the first two; the others come from the C libraries that every Debian has
(`libbrotli1`, `libzstd1`), loaded at their first use.
"""

from __future__ import annotations

import ctypes
import time
import zlib
from ctypes import POINTER, byref, c_char_p, c_int, c_size_t, c_void_p
from functools import cache
from typing import Final

from wifimgrd.http.tiles._tile import DamagedError

LIMIT: Final = 64 << 20
UNPACK_S: Final = 5.0
"""The time limit of one decompression."""
MEMBERS: Final = 16
"""Members of a gzip file: many empty ones take long, and contain nothing."""
_GZIP: Final = b"\x1f\x8b"
_CHUNK: Final = 1 << 16
_BROTLI_DONE: Final = 1
_BROTLI_MORE_INPUT: Final = 2
_BROTLI_MORE_OUTPUT: Final = 3


def decompress(data: bytes, encoding: str, limit: int = LIMIT) -> bytes:
    """The bytes without their content coding; raises DamagedError."""
    match encoding:
        case "":
            return data
        case "gzip" | "deflate":
            return _inflate(data, limit, encoding)
        case "br":
            return _unbrotli(data, limit)
        case "zstd":
            return _unzstd(data, limit)
    raise DamagedError(f"the compression {encoding} is not known")


def _inflate(data: bytes, limit: int, name: str) -> bytes:
    plain = bytearray()
    at, until = 0, _time_limit()
    for _ in range(MEMBERS):  # a gzip file may have several
        machine = zlib.decompressobj(wbits=47)
        while not machine.eof and at < len(data) and len(plain) <= limit:
            _check_time(until)
            piece = data[at : at + _CHUNK]
            try:
                plain += machine.decompress(piece, limit + 1 - len(plain))
            except zlib.error:
                raise DamagedError(f"the {name} data is damaged") from None
            at += len(piece) - len(machine.unused_data) - len(machine.unconsumed_tail)
        if not machine.eof or not data.startswith(_GZIP, at) or len(plain) > limit:
            return _checked(bytes(plain), limit, complete=machine.eof, name=name)
    raise DamagedError(f"the gzip data has more than {MEMBERS} members")


def _time_limit() -> float:
    return time.monotonic() + UNPACK_S


def _check_time(until: float) -> None:
    if time.monotonic() > until:
        raise DamagedError(f"the data takes over {UNPACK_S:g} s to unpack", passing=True)


def _checked(plain: bytes, limit: int, *, complete: bool, name: str) -> bytes:
    if len(plain) > limit:
        raise DamagedError(f"the {name} data is over {limit} bytes when unpacked")
    if not complete:
        raise DamagedError(f"the {name} data is cut off or damaged")
    return plain


@cache
def _brotli() -> ctypes.CDLL:
    try:
        library = ctypes.CDLL("libbrotlidec.so.1")
    except OSError:
        raise DamagedError("Brotli needs libbrotlidec.so.1 (Debian: libbrotli1)") from None
    library.BrotliDecoderCreateInstance.restype = c_void_p
    library.BrotliDecoderCreateInstance.argtypes = [c_void_p, c_void_p, c_void_p]
    library.BrotliDecoderDestroyInstance.restype = None
    library.BrotliDecoderDestroyInstance.argtypes = [c_void_p]
    library.BrotliDecoderDecompressStream.restype = c_int
    library.BrotliDecoderDecompressStream.argtypes = [c_void_p, *[c_void_p] * 5]
    return library


def _unbrotli(data: bytes, limit: int) -> bytes:
    library = _brotli()
    machine = library.BrotliDecoderCreateInstance(None, None, None)
    source = c_char_p(data)
    incoming = ctypes.cast(source, c_void_p)
    left, until = len(data), _time_limit()
    piece = ctypes.create_string_buffer(_CHUNK)
    plain = bytearray()
    try:
        while True:
            _check_time(until)
            given = min(left, _CHUNK)
            waiting = c_size_t(given)
            room, outgoing = c_size_t(_CHUNK), c_void_p(ctypes.addressof(piece))
            done = library.BrotliDecoderDecompressStream(
                machine, byref(waiting), byref(incoming), byref(room), byref(outgoing), None
            )
            plain += piece.raw[: _CHUNK - room.value]
            left -= given - waiting.value
            goes_on = done == _BROTLI_MORE_OUTPUT or (done == _BROTLI_MORE_INPUT and left > 0)
            if not goes_on or len(plain) > limit:
                return _checked(bytes(plain), limit, complete=done == _BROTLI_DONE, name="Brotli")
    finally:
        library.BrotliDecoderDestroyInstance(machine)


class _Buffer(ctypes.Structure):
    _fields_ = (("data", c_void_p), ("size", c_size_t), ("pos", c_size_t))


@cache
def _zstd() -> ctypes.CDLL:
    try:
        library = ctypes.CDLL("libzstd.so.1")
    except OSError:
        raise DamagedError("Zstandard needs libzstd.so.1 (Debian: libzstd1)") from None
    library.ZSTD_createDStream.restype = c_void_p
    library.ZSTD_createDStream.argtypes = []
    library.ZSTD_freeDStream.restype = c_size_t
    library.ZSTD_freeDStream.argtypes = [c_void_p]
    library.ZSTD_isError.argtypes = [c_size_t]
    library.ZSTD_decompressStream.restype = c_size_t
    library.ZSTD_decompressStream.argtypes = [c_void_p, POINTER(_Buffer), POINTER(_Buffer)]
    return library


def _unzstd(data: bytes, limit: int) -> bytes:
    library = _zstd()
    machine = library.ZSTD_createDStream()
    source = c_char_p(data)
    incoming = _Buffer(ctypes.cast(source, c_void_p), 0, 0)
    until = _time_limit()
    piece = ctypes.create_string_buffer(_CHUNK)
    plain = bytearray()
    try:
        while True:
            _check_time(until)
            incoming.size = min(len(data), incoming.pos + _CHUNK)
            outgoing = _Buffer(ctypes.addressof(piece), _CHUNK, 0)
            left = library.ZSTD_decompressStream(machine, byref(outgoing), byref(incoming))
            if library.ZSTD_isError(left):
                raise DamagedError("the Zstandard data is damaged")
            plain += piece.raw[: outgoing.pos]
            ended = incoming.pos == len(data) and outgoing.pos < _CHUNK
            if ended or left == 0 or len(plain) > limit:
                return _checked(bytes(plain), limit, complete=left == 0, name="Zstandard")
    finally:
        library.ZSTD_freeDStream(machine)
