"""openat2(2), which Python does not have: an open whose path the kernel resolves by rules of the caller."""

from __future__ import annotations

import ctypes
from typing import Final

RESOLVE_NO_MAGICLINKS: Final = 0x02
RESOLVE_BENEATH: Final = 0x08
RESOLVE_CACHED: Final = 0x20
"""Fails where the disk is needed: it never blocks."""
AT_FDCWD: Final = -100
_SYS_OPENAT2: Final = 437
"""The same on every architecture."""


class _How(ctypes.Structure):
    """open_how of openat2(2)."""

    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


class OpenAt2:
    """Opens files by one set of flags and rules."""

    __slots__ = ("_call", "_how", "_how_address")

    def __init__(self, flags: int, resolve: int) -> None:
        self._how = _How(flags, 0, resolve)
        self._how_address = ctypes.addressof(self._how)
        # A call that never blocks need not release the interpreter's lock.
        library = ctypes.PyDLL if resolve & RESOLVE_CACHED else ctypes.CDLL
        self._call = library(None, use_errno=True).syscall
        self._call.restype = ctypes.c_long
        self._call.argtypes = (ctypes.c_long, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t)

    def __call__(self, folder: int, name: bytes) -> int:
        """Open `name` below the descriptor `folder`; returns a descriptor, or the negative errno."""
        descriptor: int = self._call(_SYS_OPENAT2, folder, name, self._how_address, ctypes.sizeof(_How))
        return descriptor if descriptor >= 0 else -ctypes.get_errno()
