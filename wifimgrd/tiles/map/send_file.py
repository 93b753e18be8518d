"""Answers with a file or a part of it, by sendfile(2): no part of it is copied into this process."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final

from aiohttp import web

from wifimgrd.domain.errors import ErrorCode
from wifimgrd.http.errors import Problem
from wifimgrd.http.front.connection import IDLE_S, FrontConnection
from wifimgrd.http.front.transport import front_of
from wifimgrd.tiles.map.byte_range import UnsatisfiableError, requested_part
from wifimgrd.tiles.map.open_file import OpenFile
from wifimgrd.tiles.replies import is_named

_CHUNK: Final = 256 * 1024
"""Octets that a client must take within IDLE_S."""


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
    """Send octets after the headers. A thread waits for the disk, before each chunk."""
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
