"""Traces of cameras: recorded without what strangers must not see, written, read, and replayed through driver
and session. `tests/data/traces` has those of the emulators; those of real cameras belong there, too."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.camera.test_sessions_on_emulators import DRIVEN, LIMITS
from wifimgrd.camera import traces
from wifimgrd.camera.conversations import now_us
from wifimgrd.camera.sessions import CameraSessions
from wifimgrd.camera.traces import NamedSocket, Piece, Trace
from wifimgrd.domain.camera import CameraDriver, CameraReading
from wifimgrd.domain.device import DeviceId
from wifimgrd.domain.errors import CameraRefused, InvalidRequest
from wifimgrd.runtime.tasks import Tasks
from wifimgrd.simulator.emulators import CameraSettings, EmulatedCamera, Emulator, emulator

TRACES: Final = Path(__file__).parents[1] / "data/traces"
SSID: Final = b"GP25140002"
ONE: Final = DeviceId(1)


@dataclass
class Server:
    """A camera that takes connections over pairs of sockets."""

    serve: Callable[[int, socket.socket], Coroutine[Any, Any, None]]
    serving: set[asyncio.Task[None]] = field(default_factory=set)

    async def open(self, port: int) -> socket.socket:
        ours, theirs = socket.socketpair()
        for end in (ours, theirs):
            end.setblocking(False)
        self.serving.add(asyncio.create_task(self.serve(port, theirs)))
        return ours

    async def close(self) -> None:
        for task in self.serving:
            task.cancel()
        await asyncio.gather(*self.serving, return_exceptions=True)


def emulated(one: Emulator) -> Server:
    async def serve(port: int, end: socket.socket) -> None:
        reader, writer = await asyncio.open_connection(sock=end)
        try:
            await one.serve(port, reader, writer)
        finally:
            writer.close()

    return Server(serve)


async def recorded(
    driver: CameraDriver, settings: CameraSettings, *, is_to_record: bool = False
) -> tuple[Trace, CameraReading]:
    camera = EmulatedCamera(settings)
    server = emulated(emulator(driver, camera))
    try:
        return await traces.record(driver, server.open, is_to_record=is_to_record, limits=LIMITS)
    finally:
        await server.close()


class Readings:
    """What the driver makes of a replayed trace."""

    def __init__(self) -> None:
        self.last = CameraReading()
        self.changed = asyncio.Event()

    def camera_read(self, device_id: DeviceId, reading: CameraReading) -> None:
        self.last = reading
        self.changed.set()


async def replayed(trace: Trace) -> dict[str, object]:
    """What its driver makes of a trace: a session that reads a camera which answers as it did. Fails if the
    driver sends something else than it did."""
    connections = iter(sorted({piece.connection for piece in trace.pieces}))
    over, differences = asyncio.Event(), list[tuple[bytes, bytes]]()

    async def serve(_: int, end: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        with end:
            number = next(connections)
            for piece in [one for one in trace.pieces if one.connection == number]:
                if piece.is_camera:
                    await loop.sock_sendall(end, piece.data)
                    continue
                got = b""
                while len(got) < len(piece.data):
                    got += await loop.sock_recv(end, len(piece.data) - len(got))
                if got != piece.data:
                    differences.append((got, piece.data))
            over.set()
            await asyncio.Event().wait()

    server, readings, tasks = Server(serve), Readings(), Tasks("replay")

    async def open_socket(_: DeviceId, port: int) -> socket.socket:
        opened = await server.open(port)
        return NamedSocket(opened, (trace.address, port)) if trace.address else opened

    sessions = CameraSessions(tasks, now_us, LIMITS)
    await sessions.start(readings, open_socket)
    sessions.attach(ONE, trace.driver)
    try:
        async with asyncio.timeout(20):
            await over.wait()
            while traces.understood(readings.last) != trace.reading:
                readings.changed.clear()
                await readings.changed.wait()
    except TimeoutError:
        pytest.fail(f"{traces.understood(readings.last)} is not {trace.reading}; sent {differences}")
    finally:
        await sessions.stop()
        await server.close()
    assert differences == []
    return traces.understood(readings.last)


@pytest.mark.parametrize(("driver", "settings"), DRIVEN.values(), ids=DRIVEN)
async def test_a_trace_is_written_read_and_replayed(driver: CameraDriver, settings: CameraSettings) -> None:
    trace, reading = await recorded(driver, settings)
    written = trace.without(traces.secrets_of(SSID, reading)).text()
    again = Trace.parse(written)
    assert settings.serial_number not in written or not settings.serial_number
    assert await replayed(again) == traces.understood(reading)


OURS: Final = {file.stem: Trace.parse(file.read_text("ascii")) for file in sorted(TRACES.glob("*.jsonl"))}


@pytest.mark.parametrize("trace", OURS.values(), ids=OURS)
async def test_the_traces_in_the_repository_are_understood(trace: Trace) -> None:
    assert await replayed(trace) == trace.reading


def test_there_is_a_trace_for_each_driver() -> None:
    assert {trace.driver for trace in OURS.values()} == set(CameraDriver)


@pytest.mark.parametrize("trace", OURS.values(), ids=OURS)
def test_each_request_names_the_camera(trace: Trace) -> None:
    sent = [piece.data for piece in trace.pieces if not piece.is_camera]
    assert all(b"\r\nHost: camera\r\n" in one for one in sent if one.startswith((b"GET ", b"POST ")))


async def test_a_trace_can_have_a_recording() -> None:
    trace, _ = await recorded(*DRIVEN["gopro"], is_to_record=True)
    sent = b"".join(piece.data for piece in trace.pieces if not piece.is_camera)
    assert b"/gopro/camera/shutter/start" in sent
    assert b"/gopro/camera/shutter/stop" in sent


async def test_a_recording_that_the_camera_refuses_is_told() -> None:
    camera = EmulatedCamera(DRIVEN["gopro"][1])
    camera.refuses_recording = True
    server = emulated(emulator(CameraDriver.GOPRO, camera))
    with pytest.raises(CameraRefused):
        await traces.record(CameraDriver.GOPRO, server.open, is_to_record=True, limits=LIMITS)
    await server.close()


READ = CameraReading(serial_number="C3531300000001")


@pytest.mark.parametrize(
    ("sent", "shown"),
    [
        (b'{"ssid":"GP25140002"}', b'{"ssid":"xx11111111"}'),
        (b'{"30":"gp25140002","43":1}', b'{"30":"xx11111111","43":1}'),
        (b'{"serial_number": "C3531300000001"}', b'{"serial_number": "x1111111111111"}'),
        (b"I am 25140002.", b"I am 11111111."),
        (b'{"ap_mac_addr":"aabbccddeeff"}', b'{"ap_mac_addr":"xxxxxxxxxxxx"}'),
        (b"at AA:bb:03:04:05:06 now", b"at xx:xx:11:11:11:11 now"),
        (b'{"wifi_password":"a\\"b3","x":1}', b'{"wifi_password":"x\\"x1","x":1}'),
        (b'{"lat":47.3769,"lng":-8.5417}', b'{"lat":11.1111,"lng":-1.1111}'),
        (
            b"<SSID>HOME</SSID><PASSPHRASE>secret12</PASSPHRASE>",
            b"<SSID>xxxx</SSID><PASSPHRASE>xxxxxx11</PASSPHRASE>",
        ),
        (b'{"platform":"X4","latency":5}', b'{"platform":"X4","latency":5}'),
    ],
)
def test_what_strangers_must_not_see_is_replaced(sent: bytes, shown: bytes) -> None:
    trace = Trace(CameraDriver.GOPRO, pieces=(Piece(0, 1, True, sent),))
    assert trace.without(traces.secrets_of(SSID, READ)).pieces[0].data == shown


@given(st.binary(max_size=200), st.lists(st.binary(min_size=1, max_size=8), max_size=3))
def test_what_is_replaced_keeps_its_length(data: bytes, secrets: list[bytes]) -> None:
    trace = Trace(CameraDriver.GOPRO, pieces=(Piece(0, 1, True, data),))
    assert len(trace.without(secrets).pieces[0].data) == len(data)


@given(
    st.lists(
        st.builds(Piece, st.integers(0, 10**6), st.integers(1, 9), st.booleans(), st.binary(max_size=40))
    )
)
def test_a_trace_is_read_as_it_was_written(pieces: list[Piece]) -> None:
    trace = Trace(CameraDriver.INSTA360, "192.168.42.1", {"model": "X4"}, tuple(pieces))
    assert Trace.parse(trace.text()) == trace


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[]",
        '{"trace": 2, "driver": "gopro", "address": "", "reading": {}}',
        '{"trace": 1, "driver": "other", "address": "", "reading": {}}',
        '{"trace": 1, "driver": "gopro", "address": "", "reading": {}}\n{"ms": 1}',
    ],
)
def test_what_is_no_trace_is_refused(text: str) -> None:
    with pytest.raises(InvalidRequest):
        Trace.parse(text)


def test_a_name_without_digits_is_hidden_as_a_whole_only() -> None:
    assert traces.secrets_of(b"Camera", replace(READ, serial_number="")) == [b"Camera"]
