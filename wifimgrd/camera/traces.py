"""Traces: what this hub and a camera have sent to each other, byte by byte, without what strangers must not
see.

A trace is a text of JSON lines. The first one names the driver, the model and its firmware. Each further
one has a time in milliseconds, the connection's number, who has sent it (`hub` or `camera`), and the bytes:
`text` where all are printable, else `hex`, with the `words` in them. A test replays such a file through
driver and session.
"""

from __future__ import annotations

import asyncio
import json
import re
import socket
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any, Final

from wifimgrd.camera._connection import SessionLimits
from wifimgrd.camera._masking import without_secrets
from wifimgrd.camera.conversations import now_us
from wifimgrd.camera.sessions import CameraSessions
from wifimgrd.domain.camera import CameraDriver, CameraReading, RecordingState
from wifimgrd.domain.device import DeviceId
from wifimgrd.domain.errors import CameraBusy, InvalidRequest, WifimgrdError
from wifimgrd.runtime.tasks import Tasks

OpenSocket = Callable[[int], Awaitable[socket.socket]]
"""Opens a connection to a port of the camera, not blocking."""

_VERSION: Final = 1
_LARGEST: Final = 1024 * 1024
"""Bytes of a whole trace."""
_CHUNK: Final = 16 * 1024
_CAMERA: Final = DeviceId(1)
_READS: Final = 3
"""How often the state is read at least."""
_READ_S: Final = 12.0
"""How long that may take."""
_LIMITS: Final = SessionLimits(idle_s=2.0, clock_questions=1)
_TOLD: Final = (
    *("model", "firmware_version", "battery_level", "battery_state", "recording", "stop_reason"),
    *("storage_state", "storage_free", "storage_total", "time_left_s", "temperature"),
)
"""The values of a reading that a trace has."""
_SHORTEST_WORD: Final = 4
_SHORTEST_NUMBER: Final = 6
"""Characters of a part of a name that is hidden by itself, too."""
_WORD: Final = re.compile(rb"[ -~]{4,}")


@dataclass(frozen=True, slots=True)
class Piece:
    """Bytes that one side has sent."""

    ms: int
    """Since the begin of the trace."""
    connection: int
    """Counted from 1."""
    is_camera: bool
    """The camera has sent them, not this hub."""
    data: bytes


@dataclass(frozen=True, slots=True)
class Trace:
    """The bytes of both sides, in their order; pieces of one side that follow each other are one."""

    driver: CameraDriver
    address: str = ""
    """The camera's, which drivers name in their requests; empty if it has none."""
    reading: Mapping[str, object] = field(default_factory=dict)
    """The reading that the driver has made of it; see `understood`."""
    pieces: tuple[Piece, ...] = ()
    is_whole: bool = True
    """Otherwise more was sent than a trace may have."""

    def without(self, secrets: Sequence[bytes]) -> Trace:
        """The same with these texts, and with what else may be secret, replaced by others of the same length:
        the lengths that are in the messages stay right."""
        sent = [((piece.connection, piece.is_camera), piece.data) for piece in self.pieces]
        shown = without_secrets(sent, secrets)
        pieces = (replace(piece, data=data) for piece, data in zip(self.pieces, shown, strict=True))
        return replace(self, pieces=tuple(pieces))

    def text(self) -> str:
        """The text of its file."""
        head = {
            "trace": _VERSION,
            "driver": self.driver.value,
            "address": self.address,
            "reading": dict(self.reading),
            "whole": self.is_whole,
        }
        return "".join(json.dumps(one) + "\n" for one in (head, *map(_line, self.pieces)))

    @classmethod
    def parse(cls, text: str) -> Trace:
        """The trace in a file's text; raises InvalidRequest."""
        try:
            head, *lines = map(json.loads, text.splitlines())
            if head["trace"] != _VERSION:
                raise InvalidRequest(f"the trace is of version {head['trace']}, not {_VERSION}")
            driver, reading = CameraDriver(head["driver"]), dict(head["reading"])
            pieces = tuple(map(_piece, lines))
            return cls(driver, str(head["address"]), reading, pieces, bool(head["whole"]))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InvalidRequest(f"this is not a trace of a camera: {error}") from None


def understood(reading: CameraReading) -> dict[str, object]:
    """The state of a camera, without times and without what tells it apart from others of its model."""
    return {
        name: value for name, value in asdict(reading).items() if name in _TOLD and value not in (None, "")
    }


async def record(
    driver: CameraDriver,
    open_socket: OpenSocket,
    *,
    is_to_record: bool,
    limits: SessionLimits = _LIMITS,
) -> tuple[Trace, CameraReading]:
    """Read a camera with a driver, three times and its clock, and have it record for a moment if that
    `is_to_record`; returns what was sent, and what the driver has made of it. Raises the errors of a command
    to record, and why no connection was opened; a camera that cannot be read has a trace all the same."""
    tap, readings = _Tap(open_socket), _Readings()
    sessions = CameraSessions(Tasks("trace"), now_us, limits)
    await sessions.start(readings, tap.open)
    try:
        sessions.attach(_CAMERA, driver)
        await readings.until(_READS)
        if is_to_record:
            await _record_for_a_moment(sessions, readings)
    finally:
        await sessions.stop()
        await tap.close()
    if tap.error is not None and not tap.pieces:
        raise tap.error
    last = readings.last
    return Trace(driver, tap.address, understood(last), tuple(tap.pieces), tap.is_whole), last


def secrets_of(ssid: bytes, reading: CameraReading) -> list[bytes]:
    """The texts that are hidden in a trace of a camera: its network's name, its serial number, and the parts
    of these by which it can be told apart, but not what its model or its firmware is called."""
    serial = reading.serial_number.encode()
    known = f"{reading.model} {reading.firmware_version}".lower().encode()
    words = [one for text in (ssid, serial) for one in re.findall(rb"[A-Za-z0-9]+", text)]
    parts = [one for one in words if len(one) >= _SHORTEST_WORD and re.search(rb"[0-9]", one)]
    numbers = [one for word in words for one in re.findall(rb"[0-9]+", word) if len(one) >= _SHORTEST_NUMBER]
    found = {one for one in (*parts, *numbers) if one.lower() not in known}
    return sorted((found | {ssid, serial}) - {b""}, key=lambda one: (-len(one), one))


async def _record_for_a_moment(sessions: CameraSessions, readings: _Readings) -> None:
    """Have a camera record that is known not to; whatever happens then, it is told to stop."""
    if readings.last.recording is not RecordingState.IDLE:
        raise CameraBusy("the camera records, or does not say whether it does")

    async def command(*, on: bool) -> None:
        result = (await sessions.record([_CAMERA], on=on))[_CAMERA]
        if result.error is not None:
            raise result.error
        await readings.until(2)

    try:
        await command(on=True)
    finally:
        ending = asyncio.create_task(command(on=False))
        try:
            await asyncio.shield(ending)
        except asyncio.CancelledError:
            await asyncio.wait({ending})
            raise


class _Readings:
    """Counts the readings; implements CameraControlListener."""

    def __init__(self) -> None:
        self.last = CameraReading()
        self._count = 0
        self._news = asyncio.Event()

    def camera_read(self, device_id: DeviceId, reading: CameraReading) -> None:
        """See CameraControlListener.camera_read."""
        del device_id
        if reading.read_us != self.last.read_us:
            self._count += 1
        self.last = reading
        self._news.set()

    async def until(self, count: int) -> None:
        """Wait until the state was read so often from now on, at most `_READ_S`."""
        self._count = 0
        with suppress(TimeoutError):
            async with asyncio.timeout(_READ_S):
                while self._count < count:
                    self._news.clear()
                    await self._news.wait()


@dataclass(eq=False)
class _Tap:
    """Opens connections, and notes what goes through them."""

    open_socket: OpenSocket
    began_s: float = field(default_factory=lambda: asyncio.get_running_loop().time())
    pieces: list[Piece] = field(default_factory=list)
    address: str = ""
    """The camera's."""
    error: WifimgrdError | None = None
    """Why the last connection was not opened."""
    is_whole: bool = True
    _count: int = 0
    _size: int = 0
    _running: list[asyncio.Task[None]] = field(default_factory=list)

    async def open(self, device_id: DeviceId, port: int) -> socket.socket:
        """A connection to a port, which is noted."""
        del device_id
        try:
            camera = await self.open_socket(port)
        except WifimgrdError as error:
            self.error = error
            raise
        try:
            theirs = camera.getpeername()
            ours, driver = socket.socketpair()
        except OSError:
            camera.close()
            raise
        for one in (ours, driver, camera):
            one.setblocking(False)
        self._count += 1
        relay = asyncio.create_task(self._relay(self._count, ours, camera))
        relay.add_done_callback(partial(_close, ours, camera))  # also if it has not begun
        self._running.append(relay)
        self.address = theirs[0] if isinstance(theirs, tuple) else ""
        return NamedSocket(driver, theirs)

    async def close(self) -> None:
        """End all connections."""
        for one in self._running:
            one.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)

    async def _relay(self, number: int, hub: socket.socket, camera: socket.socket) -> None:
        there = asyncio.create_task(self._pump(number, hub, camera, is_camera=False))
        back = asyncio.create_task(self._pump(number, camera, hub, is_camera=True))
        try:
            await asyncio.wait({there, back}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            there.cancel()
            back.cancel()
            await asyncio.gather(there, back, return_exceptions=True)

    async def _pump(
        self, number: int, source: socket.socket, target: socket.socket, *, is_camera: bool
    ) -> None:
        loop = asyncio.get_running_loop()
        while data := await loop.sock_recv(source, _CHUNK):
            self._note(number, round((loop.time() - self.began_s) * 1000), data, is_camera=is_camera)
            await loop.sock_sendall(target, data)

    def _note(self, number: int, ms: int, data: bytes, *, is_camera: bool) -> None:
        self._size += len(data)
        if self._size > _LARGEST:
            self.is_whole = False
            return
        last = self.pieces[-1] if self.pieces else None
        if last is not None and (last.connection, last.is_camera) == (number, is_camera):
            self.pieces[-1] = replace(last, data=last.data + data)
        else:
            self.pieces.append(Piece(ms, number, is_camera, data))


def _close(hub: socket.socket, camera: socket.socket, _: asyncio.Task[None]) -> None:
    hub.close()
    camera.close()


class NamedSocket(socket.socket):
    """One end of a pair of sockets that says whose end the other one stands for: drivers name the camera's
    address in their requests."""

    def __init__(self, end: socket.socket, peer: Any) -> None:
        super().__init__(end.family, end.type, end.proto, fileno=end.detach())
        self._peer = peer

    def getpeername(self) -> Any:
        """The address of the camera."""
        return self._peer


def _line(piece: Piece) -> Mapping[str, object]:
    sent = piece.data
    is_text = re.fullmatch(rb"[\t\r\n -~]*", sent) is not None
    return {
        "ms": piece.ms,
        "connection": piece.connection,
        "from": "camera" if piece.is_camera else "hub",
        **({"text": sent.decode("ascii")} if is_text else {"hex": sent.hex(), "words": _words(sent)}),
    }


def _words(data: bytes) -> list[str]:
    """The texts in bytes, for the people who look for what must not be passed on."""
    return [found.decode("ascii") for found in _WORD.findall(data)]


def _piece(line: Mapping[str, Any]) -> Piece:
    sent = line["text"].encode("ascii") if "text" in line else bytes.fromhex(line["hex"])
    return Piece(int(line["ms"]), int(line["connection"]), {"camera": True, "hub": False}[line["from"]], sent)
