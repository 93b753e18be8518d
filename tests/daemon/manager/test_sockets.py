"""To whom the hub opens sockets: to cameras that are connected, for as long as they are."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable

import pytest

from tests.daemon.manager.conftest import Bench, make_bench
from tests.virtual_time import VirtualTimeLoop
from wifimgrd.domain.addresses import SocketKind
from wifimgrd.domain.device import DeviceId
from wifimgrd.domain.errors import DeviceNotFound, DeviceNotReachable


class Pipes:
    """A CameraSockets whose sockets lead to the test, and that lets it do something meanwhile."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, int, SocketKind]] = []
        self.far_ends: list[socket.socket] = []
        self.meanwhile: Callable[[], Awaitable[None]] | None = None

    async def open(
        self, device_id: DeviceId, interface: str, address: str, port: int, kind: SocketKind
    ) -> socket.socket:
        self.asked.append((interface, address, port, kind))
        near, far = socket.socketpair()
        self.far_ends.append(far)
        if self.meanwhile is not None:
            await self.meanwhile()
        return near


def run(test: Callable[[Bench, Pipes], Awaitable[None]]) -> None:
    async def whole() -> None:
        pipes = Pipes()
        bench = make_bench(sockets=pipes)
        await bench.hub.start()
        await test(bench, pipes)
        await bench.hub.stop()
        for far in pipes.far_ends:
            far.close()

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        runner.run(whole())


def test_a_socket_leads_through_the_devices_own_interface() -> None:
    async def test(bench: Bench, pipes: Pipes) -> None:
        await bench.connected(1)
        second = await bench.connected(2)
        (await bench.hub.open_socket(second, 80, SocketKind.TCP)).close()
        assert pipes.asked == [("wlan1", "192.168.42.1", 80, SocketKind.TCP)]

    run(test)


def test_a_device_that_is_not_connected_has_no_socket() -> None:
    async def test(bench: Bench, pipes: Pipes) -> None:
        device = await bench.connected()
        await bench.hub.connections.disconnect(device)
        with pytest.raises(DeviceNotReachable, match="disconnected"):
            await bench.hub.open_socket(device, 80, SocketKind.TCP)
        with pytest.raises(DeviceNotFound):
            await bench.hub.open_socket(DeviceId(99), 80, SocketKind.TCP)
        assert pipes.asked == []

    run(test)


def test_a_socket_of_a_device_that_left_meanwhile_is_closed() -> None:
    async def test(bench: Bench, pipes: Pipes) -> None:
        device = await bench.connected()

        async def leave() -> None:
            await bench.hub.connections.disconnect(device)

        pipes.meanwhile = leave
        with pytest.raises(DeviceNotReachable):
            await bench.hub.open_socket(device, 80, SocketKind.TCP)
        assert pipes.far_ends[0].recv(1) == b""

    run(test)
