"""A server of a test leaves no connection to the next one, at whatever moment it ends."""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress

import pytest

from tests.stream_server import stream_server


@pytest.mark.parametrize("turns", range(8))
async def test_a_connection_that_is_being_accepted_has_been_closed_at_the_end(turns: int) -> None:
    async def serve(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        await reader.read()

    with socket.socket() as client:
        async with stream_server(serve) as port:
            client.connect(("127.0.0.1", port))
            for _ in range(turns):
                await asyncio.sleep(0)
        client.settimeout(10)  # this loop does nothing more
        with suppress(ConnectionResetError):  # it was not accepted
            assert client.recv(1) == b""
