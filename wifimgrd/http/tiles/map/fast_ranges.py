"""The short way to a part of an archive: from the bytes of a request to its answer on the socket.

For plain GETs with one small range of a file that is in the page cache, from admitted clients; all other
requests go to the application, which gives the same answer. No call blocks on a disk: the file is opened by
openat2(2) with RESOLVE_CACHED and read with RWF_NOWAIT. A file stays open for a moment, since clients request
many parts at once.
"""

from __future__ import annotations

import asyncio
import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from wifimgrd.http.access.cors import Cors
from wifimgrd.http.access.request_safety import RequestSafety
from wifimgrd.http.access.token import AccessToken
from wifimgrd.http.tiles._date_line import DateLine
from wifimgrd.http.tiles._files import Identity
from wifimgrd.http.tiles._openat2 import AT_FDCWD, RESOLVE_CACHED, OpenAt2, read_now
from wifimgrd.http.tiles.fast import admitted
from wifimgrd.http.tiles.map._operations import ARCHIVE_TYPE

_LARGEST: Final = 128 * 1024
"""Bytes; the application sends larger parts."""
_KEPT_CLIENTS: Final = 256
_OPEN_S: Final = 0.02
"""How long a file stays open after its path was resolved. That its path leads to another file now is noticed
at once if it was replaced, moved or removed itself; after this time if a folder or link above it was."""
_RANGE: Final = re.compile(rb"\r\n[Rr]ange: bytes=([0-9]{1,15})-([0-9]{1,15})(?=\r\n)")
_MORE: Final = re.compile(rb"\r\n(?:range|if-range|if-none-match|if-match|if-[a-z-]+):", re.IGNORECASE)
_HEAD: Final = (
    b"HTTP/1.1 206 Partial Content\r\nContent-Type: %b\r\nCache-Control: no-cache, must-revalidate\r\n"
    b"Accept-Ranges: bytes\r\nX-Content-Type-Options: nosniff\r\n"
    % ARCHIVE_TYPE.encode()
    + b"%b%bETag: %b\r\nContent-Range: bytes %d-%d/%d\r\nContent-Length: %d\r\n\r\n"
)
"""Date and the headers of the client's origin come first in the last line."""


class _Admitted(NamedTuple):
    """The file that a client requests, and the headers of its answers that depend on the client."""

    path: bytes
    headers: bytes


class _OpenFile(NamedTuple):
    """A file that is open for a moment."""

    descriptor: int
    version: tuple[int, int, int]
    size: int
    tag: bytes
    timer: asyncio.TimerHandle


class FastRanges:
    """Answers requests for parts of archives."""

    def __init__(
        self, archives: Mapping[str, Path], safety: RequestSafety, token: AccessToken | None, cors: Cors
    ) -> None:
        """`archives` has their files by their paths in addresses, without the last slash."""
        self._lines = {
            f"GET {address}{slash} HTTP/1.1".encode(): os.fsencode(path.absolute())
            for address, path in archives.items()
            for slash in ("", "/")
        }
        self._access = (safety, token, cors)
        self._vary = b"Vary: Origin\r\n" if cors.is_used else b""
        self._clients: dict[tuple[object, bytes], _Admitted] = {}
        """By the shim's address, which decides the allowed Hosts, and a request's bytes without Range."""
        self._buffer = memoryview(bytearray(_LARGEST))
        self._files: dict[bytes, _OpenFile] = {}
        self._open_now = OpenAt2(os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY, RESOLVE_CACHED)
        self._date_line = DateLine()

    def send(self, request: bytes, own: object, transport: asyncio.Transport, descriptor: int) -> bool:
        """Answer a request on a plain socket with nothing before it. False if the application has to answer;
        then nothing was sent. `own` is the shim's address."""
        found = _RANGE.search(request)
        if found is None or transport.get_write_buffer_size():
            return False
        start, end = found.span()
        others = request[:start] + request[end:]
        client = self._clients.get((own, others)) or self._admit(request, others, own)
        if client is None:
            return False
        first, last = int(found[1]), int(found[2])
        try:
            file = self._opened(client.path)
            if file is None:
                return False
            file_descriptor, _, size, tag, _ = file
            if last >= size:
                last = size - 1
            length = last - first + 1
            if not 0 < length <= _LARGEST:
                return False
            part = self._buffer[:length]
            if read_now(file_descriptor, (part,), first) < length:
                return False
        except OSError:  # it is only on the disk
            return False
        head = _HEAD % (self._date_line(), client.headers, tag, first, last, size, length)
        self._write(head, part, transport, descriptor)
        return True

    def forget_clients(self) -> None:
        """Clear the cache: every client is checked anew."""
        self._clients.clear()

    def close(self) -> None:
        """Close all files."""
        for path in list(self._files):
            self._close(path)

    def _admit(self, request: bytes, others: bytes, own: object) -> _Admitted | None:
        """The client; None if it is not admitted, its headers are not plain, or it requests no archive."""
        line, _, fields = request.partition(b"\r\n")
        path = self._lines.get(line)
        if path is None or _MORE.search(others):
            return None
        client = admitted(fields, own, *self._access)
        if client is None:
            return None
        if len(self._clients) >= _KEPT_CLIENTS:
            self._clients.clear()
        result = self._clients[own, others] = _Admitted(path, self._vary + client.origin)
        return result

    @staticmethod
    def _write(head: bytes, part: memoryview, transport: asyncio.Transport, descriptor: int) -> None:
        try:
            sent = os.writev(descriptor, (head, part))
        except BlockingIOError:
            sent = 0
        except OSError:
            transport.abort()
            return
        if sent < len(head) + len(part):  # the transport keeps what the socket does not take now
            transport.write(head[sent:] + bytes(part[max(0, sent - len(head)) :]))

    def _opened(self, path: bytes) -> _OpenFile | None:
        """The file at a path, open; None if that needs the disk, or if it is not a regular file."""
        file = self._files.get(path)
        if file is not None:
            if _version(os.fstat(file.descriptor)) == file.version:
                return file
            self._close(path)
        descriptor = self._open_now(AT_FDCWD, path)
        if descriptor < 0:
            return None
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            os.close(descriptor)
            return None
        timer = asyncio.get_running_loop().call_later(_OPEN_S, self._close, path)
        tag = f'"{Identity.of(status).tag}"'.encode()
        file = self._files[path] = _OpenFile(descriptor, _version(status), status.st_size, tag, timer)
        return file

    def _close(self, path: bytes) -> None:
        file = self._files.pop(path)
        file.timer.cancel()
        os.close(file.descriptor)


def _version(status: os.stat_result) -> tuple[int, int, int]:
    """Changes when the file is written, moved, removed or replaced."""
    return status.st_ctime_ns, status.st_nlink, status.st_size
