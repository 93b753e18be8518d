"""Whatever a client says on the management channel: the channel may end, the shim goes on."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import AsyncIterator
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.faults.footprint import Footprint
from tests.faults.random_http import frame as any_frame
from tests.faults.shim import Shim, running_shim
from tests.http.served import Served
from tests.processes import Hub
from tests.soak import examples

JOIN = (
    "GET /ws/management/ HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)
PATIENCE_S = 10.0
TEXT, BINARY, CLOSE, PING = 1, 2, 8, 9


frame = partial(any_frame, masked=True)

FRAMES = st.builds(
    frame,
    st.integers(0, 15),
    st.binary(max_size=200) | st.binary(min_size=5_000, max_size=9_000),
    first=st.sampled_from([0, 0x80, 0xC0, 0xF0]),
    masked=st.booleans(),
    claims=st.sampled_from([-1, -1, -1, 0, 126, 1 << 16, 1 << 40, (1 << 63) - 1]),
)


@pytest.fixture
async def shim(hub: Hub, tmp_path: Path) -> AsyncIterator[Shim]:
    async with running_shim(hub.address, tmp_path / "shim.log") as shim:
        yield shim


@given(st.lists(FRAMES | st.binary(max_size=50), min_size=1, max_size=6))
@example([frame(TEXT, b"\xff\xfe")])
@example([frame(TEXT, b"a", first=0), frame(TEXT, b"b")])
@example([frame(0, b"continues nothing")])
@example([frame(CLOSE, b"\x03")])
@example([frame(CLOSE, struct.pack(">H", 999) + b"\xff")])
@example([frame(PING, b"p" * 126)])
@example([frame(BINARY, b"x" * 4000, first=0), *[frame(0, b"x" * 4000, first=0)] * 20])
@settings(max_examples=examples(50), suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_any_frames_end_their_own_channel_at_most(shim: Shim, frames: list[bytes]) -> None:
    host, port = shim.address
    reader, writer = await asyncio.open_connection(host, port)
    writer.write(JOIN.format(host=f"{host}:{port}").encode())
    assert b" 101 " in await reader.readuntil(b"\r\n\r\n")
    try:
        async with asyncio.timeout(PATIENCE_S):
            writer.write(b"".join(frames))
            with suppress(OSError):  # the other side has hung up already
                writer.write_eof()
            while await reader.read(65536):
                continue
    except ConnectionError:
        pass
    writer.close()
    async with Served.at(shim.url) as http:
        assert (await http.get("/healthz")).status == 200
    assert Footprint.of(shim.pid).resident_kb < 80 * 1024
