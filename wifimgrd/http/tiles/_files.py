"""Files that are read without blocking the event loop on the disk.

preadv2(2) with RWF_NOWAIT and openat2(2) with RESOLVE_CACHED answer from memory or fail, so
that the event loop can try first, and leave the rest to a thread.
"""

from __future__ import annotations

import errno
import os
import stat
from hashlib import blake2b
from pathlib import Path

from wifimgrd.http.tiles._openat2 import RESOLVE_CACHED, RESOLVE_NO_XDEV, OpenAt2, is_in_memory, read_now
from wifimgrd.http.tiles._tile import DamagedError, NotReadyError


class Identity(tuple[int, int, int, int]):
    """The difference between a file and one that replaces it: device, inode, size, time of change."""

    __slots__ = ()

    @classmethod
    def of(cls, status: os.stat_result) -> Identity:
        """Made of the result of stat(2)."""
        return cls((status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns))

    @property
    def inode(self) -> tuple[int, int]:
        """Device and inode."""
        return self[:2]

    @property
    def tag(self) -> str:
        """A short text for it."""
        return blake2b(repr(tuple(self)).encode(), digest_size=6).hexdigest()


def identity_of(path: Path) -> Identity | None:
    """The identity of the file at a path now; None if there is none."""
    try:
        return Identity.of(path.stat())
    except (FileNotFoundError, NotADirectoryError):
        return None


def bytes_read() -> int:
    """The bytes that this process has read so far, from all files."""
    text = Path("/proc/self/io").read_text().partition("rchar: ")[2]
    return int(text.split(None, 1)[0])


class File:
    """An open file, closed when it is no longer referenced."""

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
        """Bytes that are in memory; raises NotReadyError if they are not."""
        data = bytearray(length)
        try:
            count = read_now(self._fd, [data], offset)
        except OSError:  # not in memory, or an error that `read` raises
            raise NotReadyError from None
        if count < length:  # the rest is only on the disk, or the file has become shorter
            raise NotReadyError
        return data

    def read(self, offset: int, length: int) -> bytes:
        """Bytes; blocks on the disk. Raises DamagedError if the file is shorter."""
        if offset < 0 or length < 0 or offset + length > self.size:
            raise DamagedError(f"it ends before byte {offset + length}")
        try:
            data = os.pread(self._fd, length, offset)
        except OSError as error:
            raise DamagedError(f"it cannot be read: {error.strerror}") from None
        if len(data) < length:
            raise DamagedError(f"it has become shorter than {offset + length} bytes")
        return data


class Folder:
    """An open folder, and the files under it."""

    __slots__ = ("_fd", "_open_now", "identity")

    def __init__(self, path: Path) -> None:
        self._fd = -1
        self._fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self.identity = Identity.of(os.fstat(self._fd))
        # On tmpfs no lookup needs a disk, and the kernel keeps no name that is missing.
        resolve = RESOLVE_NO_XDEV if is_in_memory(self._fd) else RESOLVE_CACHED
        self._open_now = OpenAt2(os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK, resolve)

    def __del__(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)

    def names(self, below: str = ".") -> list[str]:
        """The entries of the folder or of one below it."""
        fd = os.open(below, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=self._fd)
        try:
            return os.listdir(fd)  # noqa: PTH208 - of a descriptor
        finally:
            os.close(fd)

    def read_now(self, name: str, limit: int) -> tuple[bytes | bytearray, os.stat_result] | None:
        """A whole file that is in memory, and its identity; None if there is none; raises
        NotReadyError if that needs the disk."""
        fd = self._open_now(self._fd, name.encode())
        if fd == -errno.ENOENT:
            return None
        if fd < 0:
            raise NotReadyError
        try:
            status = os.fstat(fd)
            data = bytearray(_size(status, limit))
            if read_now(fd, [data], 0) < len(data):
                raise NotReadyError
        except (OSError, DamagedError):
            raise NotReadyError from None
        finally:
            os.close(fd)
        return data, status

    def read(self, name: str, limit: int) -> tuple[bytes, os.stat_result] | None:
        """A whole file and its identity; None if there is none."""
        try:
            fd = os.open(name, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK, dir_fd=self._fd)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise DamagedError(f"{name} cannot be read: {error.strerror}") from None
        try:
            status = os.fstat(fd)
            size = _size(status, limit)
            data = os.pread(fd, size, 0)
        except OSError as error:
            raise DamagedError(f"{name} cannot be read: {error.strerror}") from None
        finally:
            os.close(fd)
        if len(data) < size:
            raise DamagedError(f"{name} became shorter while it was read")
        return data, status


def _size(status: os.stat_result, limit: int) -> int:
    if not stat.S_ISREG(status.st_mode):
        raise DamagedError("it is not a file")
    if status.st_size > limit:
        raise DamagedError(f"it has {status.st_size} bytes, more than {limit}")
    return status.st_size
