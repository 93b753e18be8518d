"""Files without waiting for a disk: openat2(2), which Python does not have, an open whose path the kernel
resolves by rules of the caller, and what preadv2(2) reads from memory."""

from __future__ import annotations

import ctypes
import errno
import os
from collections.abc import Sequence
from typing import Final

RESOLVE_NO_XDEV: Final = 0x01
"""Fails where the path leads to another mount."""
RESOLVE_NO_MAGICLINKS: Final = 0x02
RESOLVE_BENEATH: Final = 0x08
RESOLVE_CACHED: Final = 0x20
"""Fails where the disk is needed: it never blocks."""
AT_FDCWD: Final = -100
_SYS_OPENAT2: Final = 437
"""The same on every architecture."""


_IN_MEMORY: Final = (0x01021994, 0x858458F6)
"""f_type of fstatfs(2): TMPFS_MAGIC, RAMFS_MAGIC."""
_STATFS_SIZE: Final = 256
"""Bytes; struct statfs is smaller on every architecture."""
_libc: Final = ctypes.CDLL(None, use_errno=True)


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


def is_in_memory(descriptor: int) -> bool:
    """Whether an open file or folder lies on a file system without a disk."""
    status = ctypes.create_string_buffer(_STATFS_SIZE)
    if _libc.fstatfs(descriptor, status) != 0:
        return False
    return ctypes.c_long.from_buffer(status).value in _IN_MEMORY


def read_now(descriptor: int, buffers: Sequence[bytearray | memoryview], offset: int) -> int:
    """Read what is in memory into buffers, and return how many bytes that are; raises OSError if a disk is
    needed. Many kernels have no RWF_NOWAIT for tmpfs: its files are in memory, if not swapped."""
    try:
        return os.preadv(descriptor, buffers, offset, os.RWF_NOWAIT)
    except OSError as error:
        if error.errno != errno.EOPNOTSUPP or not is_in_memory(descriptor):
            raise
    return os.preadv(descriptor, buffers, offset)
