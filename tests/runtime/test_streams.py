"""Streams whose end nobody has to ask for."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

from wifimgrd.runtime.streams import open_stream


async def test_an_end_that_nobody_asked_for_is_not_logged_whatever_goes_first() -> None:
    logged: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: logged.append(context))
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    _, writer = await open_stream(sock=ours)
    protocol = writer.transport.get_protocol()
    theirs.close()
    writer.write(b"x")  # fails
    [ended] = [task for task in asyncio.all_tasks() if task.get_name() == "stream"]
    await asyncio.wait([ended])
    del ended
    vars(protocol).pop("_closed")  # as the garbage collector may, before the protocol's own end
    assert logged == []
