"""Answers with a file or the part of it that Range names (RFC 9110, 14), by sendfile(2): nothing of it is
copied into this process."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from typing import Final

from aiohttp import web

from wifimgrd.domain.errors import ErrorCode
from wifimgrd.http._errors import Problem
from wifimgrd.http.front.connection import IDLE_S, FrontConnection
from wifimgrd.http.front.transport import front_of
from wifimgrd.http.tiles._replies import is_named
from wifimgrd.http.tiles.map._open_file import OpenFile

_CHUNK: Final = 256 * 1024
"""Bytes that a client must take within IDLE_S."""
_ONE_RANGE: Final = re.compile(r"bytes=(?:([0-9]{1,19})-([0-9]{0,19})|-([0-9]{1,19}))", re.IGNORECASE)


class UnsatisfiableError(Exception):
    """No part of the file can be sent for this Range."""


async def send_file(request: web.Request, file: OpenFile, headers: Mapping[str, str]) -> web.StreamResponse:
    """Answer a GET or HEAD with the file, or with the part that Range names; closes the file.

    Raises Problem (416), and ConnectionResetError if the client disconnects, or the file becomes shorter.
    """
    try:
        known = request.headers.get("If-None-Match")
        if known is not None and is_named(file.tag, known):
            return web.Response(status=304, headers={"ETag": file.tag, **_without_type(headers)})
        response = web.StreamResponse(headers={"ETag": file.tag, "Accept-Ranges": "bytes", **headers})
        part = None if request.method == "HEAD" else _part(request, file)
        if part is not None:
            response.set_status(206)
            response.headers["Content-Range"] = f"bytes {part.start}-{part.stop - 1}/{file.size}"
        whole = range(file.size) if part is None else part
        response.content_length = len(whole)
        await response.prepare(request)
        if request.method != "HEAD":
            await _send(front_of(request), file, whole)
        await response.write_eof()
        return response
    finally:
        file.close()


def requested_part(ranges: Sequence[str], if_range: str | None, tag: str, size: int) -> range | None:
    """The bytes that the Range headers `ranges` name in a file of `size` bytes, cut at the end of the file;
    None = the whole file, because there is no Range or If-Range names another file.

    `tag` is the file's strong entity tag, quoted. Raises UnsatisfiableError for several ranges, another
    unit, and a part behind the end.
    """
    if not ranges or (if_range is not None and if_range.strip() != tag):
        return None
    found = _ONE_RANGE.fullmatch(ranges[0].strip()) if len(ranges) == 1 else None
    if found is None:
        raise UnsatisfiableError
    first, last, suffix = found.groups()
    if suffix is not None:
        part = range(max(0, size - int(suffix)), size)
    else:
        part = range(int(first), min(int(last) + 1, size) if last else size)
    if not part:
        raise UnsatisfiableError
    return part


def _part(request: web.Request, file: OpenFile) -> range | None:
    ranges = request.headers.getall("Range", [])
    try:
        return requested_part(ranges, request.headers.get("If-Range"), file.tag, file.size)
    except UnsatisfiableError:
        raise Problem(
            ErrorCode.INVALID_REQUEST,
            f"one range of bytes below {file.size} can be sent",
            status=416,
            headers={"Content-Range": f"bytes */{file.size}", "Accept-Ranges": "bytes", "ETag": file.tag},
        ) from None


async def _send(front: FrontConnection | None, file: OpenFile, part: range) -> None:
    """Send bytes after the headers. A thread waits for the disk, before each chunk."""
    loop = asyncio.get_running_loop()
    try:
        for offset in range(part.start, part.stop, _CHUNK):
            count = min(_CHUNK, part.stop - offset)
            await loop.run_in_executor(None, file.load, offset, count)
            if front is None or front.is_closing:
                raise ConnectionResetError("the client has gone")
            async with asyncio.timeout(IDLE_S):
                sent = await front.send_file(file.raw, offset, count)
            if sent < count:
                raise ConnectionResetError("the file became shorter")
    except (OSError, RuntimeError) as error:  # RuntimeError: the transport closes meanwhile
        if front is not None:
            front.evict()  # the announced length cannot be sent
        raise ConnectionResetError(str(error)) from None


def _without_type(headers: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in headers.items() if name != "Content-Type"}
