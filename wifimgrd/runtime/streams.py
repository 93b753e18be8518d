"""Streams whose end nobody has to ask for."""

from __future__ import annotations

import asyncio
import socket
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the daemon does without it
    import ssl


async def open_stream(
    host: str | None = None,
    port: int | None = None,
    *,
    limit: int = 1 << 16,
    sock: socket.socket | None = None,
    tls: ssl.SSLContext | None = None,
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Connect as `asyncio.open_connection` does: by `host` and `port`, or with a connected `sock`.

    Why a connection ended is raised where it is read or written. asyncio also keeps it in a future, which its
    protocol retrieves when it goes (streams.py, `__del__`). Of what is garbage together, the future may go
    first, and "Future exception was never retrieved" is logged. So it is retrieved here.
    """
    reader, writer = await asyncio.open_connection(host, port, limit=limit, sock=sock, ssl=tls)
    ended = asyncio.create_task(writer.wait_closed(), name="stream")
    ended.add_done_callback(lambda one: None if one.cancelled() else one.exception())
    return reader, writer
