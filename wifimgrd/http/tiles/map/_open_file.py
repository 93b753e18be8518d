"""Regular files that are open for sending, by a path of the configuration or by a name below a folder."""

from __future__ import annotations

import errno
import io
import os
import stat
from contextlib import closing
from pathlib import Path
from typing import Final, Self

from wifimgrd.http.tiles._files import Identity
from wifimgrd.http.tiles._openat2 import RESOLVE_BENEATH, RESOLVE_NO_MAGICLINKS, OpenAt2

_FLAGS: Final = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
"""O_NONBLOCK: the open of a FIFO does not block."""
_LONGEST_NAME: Final = 1024
_PAGE: Final = 4096


class OpenFile:
    """An open regular file. Use it in threads, except `raw`, `size` and `tag`."""

    def __init__(self, descriptor: int) -> None:
        """Take ownership of a descriptor; raises FileNotFoundError if it is not a regular file."""
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            os.close(descriptor)
            raise FileNotFoundError(errno.ENOENT, "it is not a regular file")
        self.raw = io.FileIO(descriptor, "rb")
        self.identity = Identity.of(status)
        self.size = status.st_size
        self.tag = f'"{self.identity.tag}"'
        """Strong entity tag, quoted: it changes with each file that replaces this one."""

    @classmethod
    def at(cls, path: Path) -> Self:
        """Open the file at a path; raises OSError."""
        return cls(os.open(path, _FLAGS))

    def close(self) -> None:
        """Close it."""
        self.raw.close()

    def load(self, offset: int, count: int) -> None:
        """Read a part into the kernel's page cache, and wait for it; raises OSError."""
        descriptor = self.raw.fileno()
        os.posix_fadvise(descriptor, offset, count, os.POSIX_FADV_WILLNEED)
        for page in range(offset, offset + count, _PAGE):
            os.pread(descriptor, 1, page)

    def read_all(self, limit: int) -> bytes:
        """All bytes; raises OSError if there are more than `limit`."""
        if self.size > limit:
            raise OSError(errno.EFBIG, f"it has {self.size} bytes, more than {limit}")
        return os.pread(self.raw.fileno(), limit, 0)


class ResourceFolder:
    """Files below a folder. The kernel refuses paths that lead out of it, symbolic links included."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._open = OpenAt2(_FLAGS, RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS)

    def open(self, name: str) -> OpenFile:
        """Open a file by its name below the folder; raises OSError. The folder is opened anew each time,
        so that it can be replaced."""
        data = checked_name(name)
        root = os.open(self.path, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            descriptor = self._open(root, data)
        finally:
            os.close(root)
        if descriptor < 0:
            raise OSError(-descriptor, os.strerror(-descriptor))
        return OpenFile(descriptor)

    def has(self, name: str) -> bool:
        """Whether a file of this name would be served."""
        try:
            self.open(name).close()
        except OSError:
            return False
        return True

    def read(self, name: str, limit: int) -> bytes:
        """A whole file; raises OSError."""
        with closing(self.open(name)) as file:
            return file.read_all(limit)

    def names(self, folder: str) -> list[str]:
        """The entries of a folder below it, in order; none if it does not exist."""
        try:
            return sorted(one.name for one in (self.path / folder).iterdir())
        except OSError:
            return []


def checked_name(name: str) -> bytes:
    """A name below a folder for the kernel; raises FileNotFoundError for names that no file of it can have:
    with parts that are empty, hidden, `.` or `..`, control characters, backslashes."""
    parts = name.split("/")
    is_plain = name.isprintable() and "\\" not in name and len(name) <= _LONGEST_NAME
    if not is_plain or any(not part or part.startswith(".") for part in parts):
        raise FileNotFoundError(errno.ENOENT, "it names no file")
    return name.encode("utf-8", "replace")
