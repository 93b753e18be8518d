"""What a camera must do to count as there, on real sockets of this host."""

from __future__ import annotations

import asyncio
import socket
import time
from ipaddress import IPv4Address

import pytest

from tests.stream_server import Serve, stream_server
from wifimgrd.daemon.helper_client import probes as contact
from wifimgrd.daemon.helper_client.probes import SocketProbes
from wifimgrd.daemon.ports import Answer
from wifimgrd.domain.addresses import SocketKind
from wifimgrd.domain.camera_model import KeepAlive, Probe
from wifimgrd.domain.device import DeviceId
from wifimgrd.kernel.sockets import open_socket

LOOPBACK = "127.0.0.1"
DEVICE = DeviceId(1)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contact, "PATIENCE_S", 0.3)


def saying(text: bytes, asked: list[bytes]) -> Serve:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(text)

    return answer


class OwnSockets:
    """A CameraSockets of this process."""

    async def open(
        self, device_id: DeviceId, interface: str, address: str, port: int, kind: SocketKind
    ) -> socket.socket:
        return await open_socket(interface, IPv4Address(address), port, kind)


async def ask(port: int, path: str = "", interface: str = "lo") -> Answer:
    return await SocketProbes(OwnSockets()).probe(DEVICE, interface, LOOPBACK, Probe(port, path))


def free_port() -> int:
    with socket.create_server((LOOPBACK, 0)) as one:
        port: int = one.getsockname()[1]
        return port


async def test_a_page_is_an_answer_whatever_its_status() -> None:
    asked: list[bytes] = []
    async with stream_server(saying(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", asked)) as port:
        assert await ask(port, "/osc/info") is Answer.ANSWERED
    assert asked[0].startswith(b"GET /osc/info HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n" % port)


@pytest.mark.parametrize("lines", [1, 4])
async def test_lines_of_a_log_before_an_answer_are_passed_over(lines: int) -> None:
    log = b"gpHttpServer: [04325594][INFO ] conn 0: /gopro/camera/state @civetweb.c:17872\n" * lines
    async with stream_server(saying(log + b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", [])) as port:
        assert await ask(port, "/gopro/camera/state") is Answer.ANSWERED


async def test_what_does_not_speak_http_is_no_answer() -> None:
    async with stream_server(saying(b"SSH-2.0-x\r\n", [])) as port:
        assert await ask(port, "/osc/info") is Answer.SILENT


@pytest.mark.usefixtures("impatient")
async def test_a_server_that_hangs_is_silent_though_its_kernel_accepts() -> None:
    with socket.create_server((LOOPBACK, 0)) as hanging:
        assert await ask(hanging.getsockname()[1], "/osc/info") is Answer.SILENT


async def test_a_probe_without_a_request_is_a_connection_alone() -> None:
    with socket.create_server((LOOPBACK, 0)) as hanging:
        assert await ask(hanging.getsockname()[1]) is Answer.ANSWERED


async def test_a_refused_connection_proves_that_somebody_is_there_but_not_the_service() -> None:
    port = free_port()
    assert await ask(port) is Answer.ANSWERED
    assert await ask(port, "/osc/info") is Answer.SILENT


@pytest.mark.usefixtures("impatient")
async def test_where_packets_vanish_nobody_answers() -> None:
    with socket.create_server((LOOPBACK, 0), backlog=0) as full:
        port = full.getsockname()[1]
        fillers = [socket.socket() for _ in range(4)]
        for one in fillers:
            one.setblocking(False)
            one.connect_ex((LOOPBACK, port))
        assert await ask(port) is Answer.SILENT
        for one in fillers:
            one.close()


async def test_an_interface_that_is_gone_cannot_be_asked() -> None:
    assert await ask(free_port(), interface="wlan99") is Answer.UNKNOWN


async def test_a_question_that_is_given_up_leaves_no_socket() -> None:
    with socket.create_server((LOOPBACK, 0)) as hanging:
        asking = asyncio.create_task(ask(hanging.getsockname()[1], "/osc/info"))
        accepted, _ = await asyncio.to_thread(hanging.accept)
        with accepted:
            accepted.settimeout(5)
            assert await asyncio.to_thread(accepted.recv, 5) == b"GET /"
            asking.cancel()
            await asyncio.wait([asking])
            while await asyncio.to_thread(accepted.recv, 100):
                pass  # until the other end is closed
    assert asking.cancelled()


async def test_a_camera_is_kept_awake_by_http() -> None:
    asked: list[bytes] = []
    async with stream_server(saying(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", asked)) as port:
        await SocketProbes(OwnSockets()).keep_alive(DEVICE, "lo", LOOPBACK, KeepAlive(3, port, "/awake"))
    assert asked[0].startswith(b"GET /awake HTTP/1.1\r\n")


async def test_a_camera_is_kept_awake_by_a_datagram() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
        receiver.bind((LOOPBACK, 0))
        receiver.settimeout(5)
        message = KeepAlive(3, receiver.getsockname()[1], payload="awake\n")
        await SocketProbes(OwnSockets()).keep_alive(DEVICE, "lo", LOOPBACK, message)
        assert await asyncio.to_thread(receiver.recv, 100) == b"awake\n"


async def test_a_camera_that_does_not_answer_is_nobodys_fault() -> None:
    with socket.create_server((LOOPBACK, 0)) as hanging:
        message = KeepAlive(3, hanging.getsockname()[1], "/awake")
        begun = time.monotonic()
        await SocketProbes(OwnSockets()).keep_alive(DEVICE, "lo", LOOPBACK, message)
        assert time.monotonic() >= begun + 0.3
    await SocketProbes(OwnSockets()).keep_alive(DEVICE, "lo", LOOPBACK, message)


async def test_a_magic_packet_has_the_address_sixteen_times(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as camera:
        camera.bind((LOOPBACK, 0))
        camera.setblocking(False)
        monkeypatch.setattr(contact, "WAKE_ON_LAN_PORT", camera.getsockname()[1])
        await SocketProbes(OwnSockets()).wake_on_lan(DEVICE, "lo", LOOPBACK, "d4:d9:19:01:02:03")
        received = await asyncio.wait_for(asyncio.get_running_loop().sock_recv(camera, 2048), 5)
    assert received == b"\xff" * 6 + bytes.fromhex("d4d919010203") * 16
