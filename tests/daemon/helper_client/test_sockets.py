"""Sockets to cameras where there is no wifimgrd-net: the daemon opens them itself."""

from __future__ import annotations

import asyncio

import pytest

from tests.message_bus import MessageBusDaemon
from tests.stream_server import stream_server
from wifimgrd.bus.connection import BusConnection
from wifimgrd.daemon.helper_client.sockets import HelperSockets
from wifimgrd.domain.addresses import SocketKind
from wifimgrd.domain.device import DeviceId
from wifimgrd.domain.errors import BackendUnavailable, DeviceNotReachable, InterfaceLost

ADDRESS = "127.0.0.78"


async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"camera")


async def test_without_a_helper_the_daemon_opens_sockets_itself(message_bus: MessageBusDaemon) -> None:
    connection = await BusConnection.open(message_bus.address, sockets=True)
    sockets = HelperSockets(connection)
    async with stream_server(answer, ADDRESS) as port:
        with await sockets.open(DeviceId(1), "lo", ADDRESS, port, SocketKind.TCP) as opened:
            assert await asyncio.get_running_loop().sock_recv(opened, 100) == b"camera"
    with pytest.raises(DeviceNotReachable):
        await sockets.open(DeviceId(1), "lo", ADDRESS, port, SocketKind.TCP)
    with pytest.raises(InterfaceLost):
        await sockets.open(DeviceId(1), "no9", ADDRESS, port, SocketKind.TCP)
    await connection.close()
    with pytest.raises(BackendUnavailable):
        await sockets.open(DeviceId(1), "lo", ADDRESS, port, SocketKind.TCP)
