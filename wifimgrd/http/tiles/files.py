"""Files that are read without waiting for the disk where somebody else would have to wait, too.

preadv2(2) with RWF_NOWAIT and openat2(2) with RESOLVE_CACHED answer from memory or not at all, so
that the event loop can try, and leave to a thread what is not in memory.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
from hashlib import blake2b
from pathlib import Path
from typing import Final

from wifimgrd.http.tiles.tile import DamagedError, NotReadyError

_SYS_OPENAT2: Final = 437
"""The same on every architecture."""
_RESOLVE_CACHED: Final = 0x20
_SYSCALL: Final = (ctypes.c_long, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t)


class Identity(tuple[int, int, int, int]):
    """What tells a file from the one that takes its place: device, inode, size, time of change."""

    __slots__ = ()

    @classmethod
    def of(cls, status: os.stat_result) -> Identity:
        """Of what stat(2) says."""
        return cls((status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns))

    @property
    def inode(self) -> tuple[int, int]:
        """Device and inode."""
        return self[:2]

    @property
    def tag(self) -> str:
        """A short name of it."""
        return blake2b(repr(tuple(self)).encode(), digest_size=6).hexdigest()


def identity_of(path: Path) -> Identity | None:
    """The identity of what is at a path now; None where nothing is."""
    try:
        return Identity.of(path.stat())
    except (FileNotFoundError, NotADirectoryError):
        return None


def octets_read() -> int:
    """What this process has read so far, in octets, from wherever."""
    told = Path("/proc/self/io").read_text().partition("rchar: ")[2]
    return int(told.split(None, 1)[0])


class File:
    """An open file, closed when nobody has it any more."""

    __slots__ = ("_fd", "identity", "size")

    def __init__(self, path: Path) -> None:
        self._fd = -1
        self._fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self.identity = Identity.of(os.fstat(self._fd))
        self.size = self.identity[2]

    def __del__(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)

    def read_now(self, offset: int, length: int) -> bytes | bytearray:
        """Octets that are in memory; raises NotReadyError where they are not."""
        octets = bytearray(length)
        try:
            count = os.preadv(self._fd, [octets], offset, os.RWF_NOWAIT)
        except OSError:  # not now, or never, which `read` tells
            raise NotReadyError from None
        if count < length:  # the rest is on the disk, or the file has become shorter
            raise NotReadyError
        return octets

    def read(self, offset: int, length: int) -> bytes:
        """Octets, waiting for the disk; raises DamagedError where the file has no such place."""
        if offset < 0 or length < 0 or offset + length > self.size:
            raise DamagedError(f"it ends before octet {offset + length}")
        try:
            octets = os.pread(self._fd, length, offset)
        except OSError as error:
            raise DamagedError(f"it cannot be read: {error.strerror}") from None
        if len(octets) < length:
            raise DamagedError(f"it has become shorter than {offset + length} octets")
        return octets


class _How(ctypes.Structure):
    """open_how of openat2(2)."""

    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


class Folder:
    """An open folder, and the files under it."""

    __slots__ = ("_fd", "_how", "_how_address", "_openat2", "identity")

    def __init__(self, path: Path) -> None:
        self._fd = -1
        self._fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self.identity = Identity.of(os.fstat(self._fd))
        self._how = _How(os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK, 0, _RESOLVE_CACHED)
        self._how_address = ctypes.addressof(self._how)
        # The call never waits, so that it keeps the interpreter's lock.
        self._openat2 = ctypes.PyDLL(None, use_errno=True).syscall
        self._openat2.restype = ctypes.c_long
        self._openat2.argtypes = _SYSCALL

    def __del__(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)

    def names(self, below: str = ".") -> list[str]:
        """What is in the folder or in one below it."""
        fd = os.open(below, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=self._fd)
        try:
            return os.listdir(fd)  # noqa: PTH208 - of a descriptor
        finally:
            os.close(fd)

    def read_now(self, name: str, limit: int) -> tuple[bytes | bytearray, os.stat_result] | None:
        """A whole file that is in memory, and what it is; None where there is none; raises
        NotReadyError where only the disk knows."""
        fd = self._openat2(_SYS_OPENAT2, self._fd, name.encode(), self._how_address, ctypes.sizeof(_How))
        if fd < 0:
            if ctypes.get_errno() == errno.ENOENT:
                return None
            raise NotReadyError
        try:
            status = os.fstat(fd)
            octets = bytearray(_size(status, limit))
            if os.preadv(fd, [octets], 0, os.RWF_NOWAIT) < len(octets):
                raise NotReadyError
        except (OSError, DamagedError):
            raise NotReadyError from None
        finally:
            os.close(fd)
        return octets, status

    def read(self, name: str, limit: int) -> tuple[bytes, os.stat_result] | None:
        """A whole file and what it is; None where there is none."""
        try:
            fd = os.open(name, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK, dir_fd=self._fd)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise DamagedError(f"{name} cannot be read: {error.strerror}") from None
        try:
            status = os.fstat(fd)
            size = _size(status, limit)
            octets = os.pread(fd, size, 0)
        except OSError as error:
            raise DamagedError(f"{name} cannot be read: {error.strerror}") from None
        finally:
            os.close(fd)
        if len(octets) < size:
            raise DamagedError(f"{name} became shorter while it was read")
        return octets, status


def _size(status: os.stat_result, limit: int) -> int:
    if not stat.S_ISREG(status.st_mode):
        raise DamagedError("it is no file")
    if status.st_size > limit:
        raise DamagedError(f"it has {status.st_size} octets, more than {limit}")
    return status.st_size
