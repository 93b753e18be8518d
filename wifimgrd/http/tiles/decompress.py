"""Undoing gzip, Brotli and Zstandard, never beyond a limit.

The standard library has the first; the others come from the C libraries that every Debian has
(`libbrotli1`, `libzstd1`), loaded when they are first needed.
"""

from __future__ import annotations

import ctypes
import zlib
from ctypes import POINTER, byref, c_char_p, c_int, c_size_t, c_void_p
from functools import cache
from typing import Final

from wifimgrd.http.tiles.tile import DamagedError

LIMIT: Final = 64 << 20
_GZIP: Final = b"\x1f\x8b"
_CHUNK: Final = 1 << 16
_BROTLI_DONE: Final = 1
_BROTLI_MORE_OUTPUT: Final = 3


def decompress(octets: bytes, encoding: str, limit: int = LIMIT) -> bytes:
    """The octets without their content coding; raises DamagedError."""
    match encoding:
        case "":
            return octets
        case "gzip":
            return _gunzip(octets, limit)
        case "br":
            return _unbrotli(octets, limit)
        case "zstd":
            return _unzstd(octets, limit)
    raise DamagedError(f"the compression {encoding} is not known")


def _gunzip(octets: bytes, limit: int) -> bytes:
    plain = b""
    while True:  # a gzip file may have several members
        machine = zlib.decompressobj(wbits=47)
        try:
            plain += machine.decompress(octets, limit + 1 - len(plain))
        except zlib.error:
            raise DamagedError("the gzip data is damaged") from None
        octets = machine.unused_data
        if not machine.eof or not octets.startswith(_GZIP) or len(plain) > limit:
            return _checked(plain, limit, complete=machine.eof, name="gzip")


def _checked(plain: bytes, limit: int, *, complete: bool, name: str) -> bytes:
    if len(plain) > limit:
        raise DamagedError(f"the {name} data is over {limit} octets when unpacked")
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


def _unbrotli(octets: bytes, limit: int) -> bytes:
    library = _brotli()
    machine = library.BrotliDecoderCreateInstance(None, None, None)
    source = c_char_p(octets)
    waiting, incoming = c_size_t(len(octets)), ctypes.cast(source, c_void_p)
    piece = ctypes.create_string_buffer(_CHUNK)
    plain = bytearray()
    try:
        while True:
            room, outgoing = c_size_t(_CHUNK), c_void_p(ctypes.addressof(piece))
            done = library.BrotliDecoderDecompressStream(
                machine, byref(waiting), byref(incoming), byref(room), byref(outgoing), None
            )
            plain += piece.raw[: _CHUNK - room.value]
            if done != _BROTLI_MORE_OUTPUT or len(plain) > limit:
                return _checked(bytes(plain), limit, complete=done == _BROTLI_DONE, name="Brotli")
    finally:
        library.BrotliDecoderDestroyInstance(machine)


class _Buffer(ctypes.Structure):
    _fields_ = (("octets", c_void_p), ("size", c_size_t), ("pos", c_size_t))


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


def _unzstd(octets: bytes, limit: int) -> bytes:
    library = _zstd()
    machine = library.ZSTD_createDStream()
    source = c_char_p(octets)
    incoming = _Buffer(ctypes.cast(source, c_void_p), len(octets), 0)
    piece = ctypes.create_string_buffer(_CHUNK)
    plain = bytearray()
    try:
        while True:
            outgoing = _Buffer(ctypes.addressof(piece), _CHUNK, 0)
            left = library.ZSTD_decompressStream(machine, byref(outgoing), byref(incoming))
            if library.ZSTD_isError(left):
                raise DamagedError("the Zstandard data is damaged")
            plain += piece.raw[: outgoing.pos]
            ended = incoming.pos == incoming.size and outgoing.pos < _CHUNK
            if ended or left == 0 or len(plain) > limit:
                return _checked(bytes(plain), limit, complete=left == 0, name="Zstandard")
    finally:
        library.ZSTD_freeDStream(machine)
