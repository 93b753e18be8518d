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

from tests.camera.test_sessions_on_emulators import DRIVEN
from tests.camera.test_sessions_on_emulators import LIMITS as OFTEN
from wifimgrd.camera import traces
from wifimgrd.camera.conversations import now_us
from wifimgrd.camera.sessions import CameraSessions
from wifimgrd.camera.traces import NamedSocket, Piece, Trace
from wifimgrd.domain.camera import CameraDriver, CameraReading
from wifimgrd.domain.device import DeviceId
from wifimgrd.domain.errors import CameraBusy, CameraRefused, InvalidRequest, NotAuthorized
from wifimgrd.runtime.tasks import Tasks
from wifimgrd.simulator.emulators import CameraSettings, EmulatedCamera, Emulator, emulator

TRACES: Final = Path(__file__).parents[1] / "data/traces"
SSID: Final = b"GP25140002"
ONE: Final = DeviceId(1)
LIMITS: Final = replace(OFTEN, clock_s=600.0, clock_questions=1)
"""The time is asked for once, as a trace has it: when later questions come depends on the answers."""
QUICK: Final = replace(LIMITS, longest_pause_s=0.1)


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

    async def __aenter__(self) -> Server:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def stop(self) -> None:
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
    async with emulated(emulator(driver, camera)) as server:
        return await traces.record(driver, server.open, is_to_record=is_to_record, limits=LIMITS)


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
                    more = await loop.sock_recv(end, len(piece.data) - len(got))
                    if not more:
                        break
                    got += more
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
        await server.stop()
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


async def test_a_recording_of_somebody_else_is_left_alone() -> None:
    camera = EmulatedCamera(DRIVEN["gopro"][1])
    camera.start()
    async with emulated(emulator(CameraDriver.GOPRO, camera)) as server:
        with pytest.raises(CameraBusy):
            await traces.record(CameraDriver.GOPRO, server.open, is_to_record=True, limits=LIMITS)
        assert camera.is_recording


async def test_a_recording_ends_also_if_the_trace_is_interrupted() -> None:
    camera = EmulatedCamera(DRIVEN["gopro"][1])
    limits = replace(LIMITS, recording_s=5.0)
    async with emulated(emulator(CameraDriver.GOPRO, camera)) as server:
        recording = asyncio.create_task(
            traces.record(CameraDriver.GOPRO, server.open, is_to_record=True, limits=limits)
        )
        async with asyncio.timeout(20):
            while not camera.is_recording:  # noqa: ASYNC110 - the emulator tells nobody
                await asyncio.sleep(0.01)
        recording.cancel()
        await asyncio.wait({recording})
        assert not camera.is_recording


async def test_why_no_connection_is_opened_is_told() -> None:
    async def refused(_: int) -> socket.socket:
        raise NotAuthorized("only those who may control cameras")

    with pytest.raises(NotAuthorized):
        await traces.record(CameraDriver.GOPRO, refused, is_to_record=False, limits=QUICK)


async def test_a_trace_that_would_be_too_large_says_so() -> None:
    async def serve(_: int, end: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        with end:
            await loop.sock_recv(end, 4096)
            for _ in range(40):
                await loop.sock_sendall(end, b"x" * 65536)
            await asyncio.Event().wait()

    async with Server(serve) as server:
        trace, _ = await traces.record(CameraDriver.INSTA360, server.open, is_to_record=False, limits=QUICK)
    assert sum(len(piece.data) for piece in trace.pieces) <= 1024 * 1024
    assert not trace.is_whole


async def test_a_recording_that_the_camera_refuses_is_told() -> None:
    camera = EmulatedCamera(DRIVEN["gopro"][1])
    camera.refuses_recording = True
    async with emulated(emulator(CameraDriver.GOPRO, camera)) as server:
        with pytest.raises(CameraRefused):
            await traces.record(CameraDriver.GOPRO, server.open, is_to_record=True, limits=LIMITS)


READ = CameraReading(serial_number="C3531300000001")


def shown(*sent: bytes, ssid: bytes = SSID, reading: CameraReading = READ) -> bytes:
    """What a trace has of the pieces that a camera has sent, with some of another connection between them."""
    pieces = [one for data in sent for one in (Piece(0, 1, True, data), Piece(0, 2, True, b"-"))]
    trace = Trace(CameraDriver.GOPRO, pieces=tuple(pieces)).without(traces.secrets_of(ssid, reading))
    return b"".join(one.data for one in trace.pieces if one.connection == 1)


HEAD: Final = b"HTTP/1.1 200 OK\r\nServer: x\r\n\r\n"


@pytest.mark.parametrize(
    ("sent", "left"),
    [
        (b'{"ssid":"GP25140002"}', b'{"ssid":"xx11111111"}'),
        (b'{"30":"gp25140002","43":1}', b'{"30":"xx11111111","43":1}'),
        (b'{"29":"Smith Family Wifi"}', b'{"29":"xxxxx xxxxxx xxxx"}'),
        (b'{"wifi_password":"a\\"b3","x":1}', b'{"wifi_password":"x\\"x1","x":1}'),
        (b'{"n":"K\\u00e4m"}', b'{"n":"x\\u0078x"}'),
        ('{"n":"カメラ"}'.encode(), b'{"n":"xxxxxxxxx"}'),
        (b'{"lat":47.3769,"lng":-8.5417}', b'{"lat":11.1111,"lng":-1.1111}'),
        (b'{"gps":[47.3, 8.5],"55":70}', b'{"gps":[11.1, 1.1],"55":70}'),
        (
            b"<SSID>HOME</SSID><PASSPHRASE>secret12</PASSPHRASE>",
            b"<SSID>xxxx</SSID><PASSPHRASE>xxxxxx11</PASSPHRASE>",
        ),
        (
            b"<Cmd>3004</Cmd><Status>0</Status><String>pass</String>",
            b"<Cmd>3004</Cmd><Status>0</Status><String>xxxx</String>",
        ),
        (
            b'{"model":"HERO13 Black","_cameraError":["NO_MEMORY"]}',
            b'{"model":"HERO13 Black","_cameraError":["NO_MEMORY"]}',
        ),
        (b"<Cmd>3012</Cmd><String>SJ4000.V1</String>", b"<Cmd>3012</Cmd><String>SJ4000.V1</String>"),
        (b'{"open": "no end', b'{"open": "xx xxx'),
    ],
)
def test_of_an_answer_over_http_only_texts_that_are_known_to_tell_no_secret_stay(
    sent: bytes, left: bytes
) -> None:
    assert shown(HEAD + sent) == HEAD + left


@pytest.mark.parametrize(
    ("sent", "left"),
    [
        (b"\x0a\x0eC3531300000001\x12", b"\x0a\x0ex1111111111111\x12"),
        (b"I am 25140002, GP25140002.", b"I am 11111111, xx11111111."),
        (b"at AA:bb:03:04:05:06 now", b"at xx:xx:11:11:11:11 now"),
        (b"64251400021", b"64251400021"),
    ],
)
def test_elsewhere_what_is_known_of_the_camera_is_replaced(sent: bytes, left: bytes) -> None:
    assert shown(sent) == left


def test_a_secret_that_comes_in_two_pieces_is_replaced() -> None:
    assert shown(HEAD + b'{"s": "GP2514', b'0002"}') == HEAD + b'{"s": "xx11111111"}'


@pytest.mark.parametrize(
    ("name", "ssid"),
    [
        ("novatek", b"SJ4000_1234"),
        ("gopro", b"HERO13 Bob"),
        ("novatek", b"Studio 6400"),
        ("theta-x", b"THETA X 2.63.0"),
    ],
)
async def test_a_network_that_is_called_as_its_model_leaves_a_trace_that_is_understood(
    name: str, ssid: bytes
) -> None:
    trace, reading = await recorded(*DRIVEN[name])
    again = Trace.parse(trace.without(traces.secrets_of(ssid, reading)).text())
    assert await replayed(again) == traces.understood(reading)


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
        '{"trace": 2, "driver": "gopro", "address": "", "reading": {}, "whole": true}',
        '{"trace": 1, "driver": "other", "address": "", "reading": {}, "whole": true}',
        '{"trace": 1, "driver": "gopro", "address": "", "reading": {}, "whole": true}\n{"ms": 1}',
    ],
)
def test_what_is_no_trace_is_refused(text: str) -> None:
    with pytest.raises(InvalidRequest):
        Trace.parse(text)


def test_a_name_without_digits_is_hidden_as_a_whole_only() -> None:
    assert traces.secrets_of(b"Camera", replace(READ, serial_number="")) == [b"Camera"]
