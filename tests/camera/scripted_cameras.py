"""Small cameras at the other end of a socket, written from what the makers' documents say: a GoPro, an
Insta360 at port 6666, a Theta. Each does what a test has told it, right or wrong."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol
from urllib.parse import parse_qsl, urlsplit

from wifimgrd.domain.device import DeviceId

SILENT: Final = b""
"""No answer."""
CLOSED: Final = b"closed"
"""No answer, and the end of the connection."""
DEAD: Final = b"dead"
"""The same, and no answer to anything that follows."""


class Camera(Protocol):
    """Serves one connection."""

    port: int

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None: ...


@dataclass
class World:
    """The cameras by their devices' ids; opens sockets to them."""

    cameras: dict[int, Camera] = field(default_factory=dict)
    opened: list[tuple[int, int]] = field(default_factory=list)
    failure: Exception | None = None
    tasks: set[asyncio.Task[None]] = field(default_factory=set)

    async def open_socket(self, device_id: DeviceId, port: int) -> socket.socket:
        self.opened.append((device_id, port))
        if self.failure is not None:
            raise self.failure
        camera = self.cameras[device_id]
        assert camera.port == port
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        self.tasks.add(asyncio.create_task(self._serve(camera, theirs)))
        return ours

    async def _serve(self, camera: Camera, end: socket.socket) -> None:
        reader, writer = await asyncio.open_connection(sock=end)
        try:
            await camera.serve(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def close(self) -> None:
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)


def answer(content: Any, status: int = 200, more: str = "") -> bytes:
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    return f"HTTP/1.1 {status} X\r\n{more}Content-Length: {len(body)}\r\n\r\n".encode() + body


@dataclass
class Http:
    """A camera that speaks HTTP."""

    port: int = 0
    keeps_alive: bool = True
    requests: list[str] = field(default_factory=list)
    arrived: list[float] = field(default_factory=list)
    instead: dict[str, bytes] = field(default_factory=dict)
    """What is sent in place of an answer, by target."""
    holds: dict[str, asyncio.Event] = field(default_factory=dict)
    """What answers wait for, by target."""
    lost: dict[str, bytes] = field(default_factory=dict)
    """What is sent in place of an answer after all was done that was asked for, by the request's name."""
    is_dead: bool = False

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            length = next(
                (
                    int(line.split(b":")[1])
                    for line in head.split(b"\r\n")
                    if line.lower().startswith(b"content-length")
                ),
                0,
            )
            body = await reader.readexactly(length)
            target = head.split(b" ", 2)[1].decode()
            path = urlsplit(target).path
            self.requests.append(self.name(target, body))
            self.arrived.append(asyncio.get_running_loop().time())
            if path in self.holds:
                await self.holds[path].wait()
            sent = self.instead[path] if path in self.instead else self.reply(target, body)
            sent = self.lost.get(self.requests[-1], sent)
            if sent == SILENT:
                await asyncio.Event().wait()
            if sent == DEAD:
                self.is_dead = True
            if sent == CLOSED or self.is_dead:
                return
            writer.write(sent)
            await writer.drain()
            if not self.keeps_alive:
                return

    def name(self, target: str, body: bytes) -> str:
        return target

    def reply(self, target: str, body: bytes) -> bytes:
        raise NotImplementedError


@dataclass
class GoPro(Http):
    port: int = 8080
    model: str = "HERO12 Black"
    serial: str = "C3501324500702"
    statuses: dict[str, Any] = field(
        default_factory=lambda: {
            "1": 1, "2": 3, "6": 0, "8": 0, "10": 0, "13": 0, "33": 0, "35": 3600, "54": 30_000_000,
            "70": 87, "85": 0, "96": 1000, "111": 0, "115": 0, "117": 62_000_000,
        }
    )  # fmt: skip
    clock: Mapping[str, Any] = field(
        default_factory=lambda: {"date": "2001_01_15", "time": "08_00_00", "dst": 0, "tzone": 0}
    )
    does: bool = True
    """Whether it does what it says."""
    files: list[Mapping[str, str]] = field(default_factory=list)
    """On its card, as the media list has them."""

    def reply(self, target: str, body: bytes) -> bytes:
        parts = urlsplit(target)
        match parts.path:
            case "/gopro/media/list":
                return answer({"id": "1", "media": [{"d": "100GOPRO", "fs": self.files}]})
            case "/gopro/camera/info":
                info = {
                    "model_name": self.model,
                    "serial_number": self.serial,
                    "firmware_version": "H23.01.02",
                }
                return answer(info)
            case "/gopro/camera/state":
                return answer({"status": self.statuses, "settings": {"2": 1, "59": 0}})
            case "/gopro/camera/get_date_time":
                return answer(self.clock)
            case "/gopro/camera/set_date_time":
                self.clock = dict(parse_qsl(parts.query))
            case "/gopro/camera/shutter/start" | "/gopro/camera/shutter/stop":
                if self.does:
                    self.statuses["10"] = int(parts.path.endswith("start"))
            case "/gopro/camera/presets/set_group":
                self.statuses["96"] = int(dict(parse_qsl(parts.query))["id"])
            case _:
                return answer({"error": 1}, 404)
        return answer({})


@dataclass
class Theta(Http):
    port: int = 80
    state: dict[str, Any] = field(
        default_factory=lambda: {
            "batteryLevel": 0.67, "_captureStatus": "idle", "_recordedTime": 0, "_recordableTime": 0,
            "_batteryState": "disconnect", "_apiVersion": 2, "_cameraError": [],
        }
    )  # fmt: skip
    options: dict[str, Any] = field(
        default_factory=lambda: {
            "remainingSpace": 10_000_000_000, "totalSpace": 19_000_000_000, "remainingVideoSeconds": 1500,
            "captureMode": "image", "dateTimeZone": "2001:01:15 08:00:00+00:00",
        }
    )  # fmt: skip

    file: dict[str, Any] = field(
        default_factory=lambda: {
            "fileUrl": "http://192.168.1.1/files/100RICOH/R0010015.MP4", "size": 77, "_recordTime": 100,
            "dateTimeZone": "2001:01:15 07:58:20+00:00", "isProcessed": True,
        }
    )  # fmt: skip
    """On its card."""

    def name(self, target: str, body: bytes) -> str:
        return json.loads(body)["name"] if target.endswith("execute") else target

    def reply(self, target: str, body: bytes) -> bytes:
        match target:
            case "/osc/info":
                info = {"manufacturer": "RICOH", "model": "RICOH THETA Z1", "serialNumber": "00010001"}
                return answer(info | {"firmwareVersion": "3.01.1", "apiLevel": [2]})
            case "/osc/state":
                return answer({"fingerprint": "FIG_1", "state": self.state})
        command = json.loads(body)
        parameters = command.get("parameters", {})
        match command["name"]:
            case "camera.getOptions":
                names = parameters["optionNames"]
                if not self.options.keys() >= set(names):
                    return answer({"state": "error", "error": {"code": "invalidParameterName"}}, 400)
                return answer({"state": "done", "results": {"options": {n: self.options[n] for n in names}}})
            case "camera.setOptions":
                self.options |= parameters["options"]
            case "camera.startCapture":
                if self.options["captureMode"] != "video":
                    return answer({"state": "error", "error": {"code": "disabledCommand"}}, 403)
                self.state["_captureStatus"] = "shooting"
            case "camera.stopCapture":
                self.state["_captureStatus"] = "idle"
                return answer({"state": "done", "results": {"fileUrls": [self.file["fileUrl"]]}})
            case "camera.listFiles":
                return answer({"state": "done", "results": {"entries": [self.file], "totalEntries": 1}})
        return answer({"name": command["name"], "state": "done"})


def varint(value: int) -> bytes:
    found = b""
    while value > 127:
        found, value = found + bytes([value & 127 | 128]), value >> 7
    return found + bytes([value])


def number(at: int, value: int) -> bytes:
    return varint(at << 3) + varint(value)


def clock_in(body: bytes) -> int:
    """The clock, option 12, in the options that are set."""
    value, shift = 0, 0
    for byte in body.partition(number(12, 0)[:1])[2]:
        value |= (byte & 127) << shift
        if byte < 128:
            break
        shift += 7
    return value


def nested(at: int, body: bytes) -> bytes:
    return varint(at << 3 | 2) + varint(len(body)) + body


@dataclass
class Insta360:
    """A camera at port 6666."""

    port: int = 6666
    serial: bytes = b"IAHEA2402ABCDE"
    level: int = 80
    is_charging: bool = False
    card: int = 0
    state: int = 0
    seconds: int = 0
    clock_s: int = 1_000_000_000
    refuses: bytes = b""
    """The body of the error that answers a start."""
    instead: dict[int, bytes] = field(default_factory=dict)
    lost: dict[int, bytes] = field(default_factory=dict)
    """What is sent in place of an answer after all was done that was asked for."""
    is_dead: bool = False
    requests: list[int] = field(default_factory=list)
    arrived: list[float] = field(default_factory=list)
    kept_alive: asyncio.Event = field(default_factory=asyncio.Event)
    writers: list[asyncio.StreamWriter] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    file: bytes = b"/DCIM/Camera01/VID_20250521_103429_00_001.insv"
    """On its card."""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.writers.append(writer)
        while True:
            [size] = struct.unpack("<I", await reader.readexactly(4))
            found = await reader.readexactly(size - 4)
            if found.startswith(b"\x06\x00\x00"):
                writer.write(frame(found))
            elif found == b"\x05\x00\x00":
                self.kept_alive.set()
                writer.write(frame(found))
            else:
                code = struct.unpack_from("<H", found, 3)[0]
                self.requests.append(code)
                self.arrived.append(asyncio.get_running_loop().time())
                self.bodies.append(found[12:])
                reply = (
                    self.instead[code] if code in self.instead else self.reply(code, found[6:9], found[12:])
                )
                reply = self.lost.get(code, reply)
                if reply == DEAD:
                    self.is_dead = True
                if reply == CLOSED or self.is_dead:
                    return
                writer.write(reply)

    def reply(self, code: int, sequence: bytes, asked: bytes = b"") -> bytes:
        body = b""
        match code:
            case 8:
                battery = number(1, int(self.is_charging)) + number(2, self.level) + number(3, 100)
                storage = number(1, self.card) + number(2, 60_000_000_000) + number(3, 128_000_000_000)
                value = number(9, 3000) + nested(11, battery) + number(12, self.clock_s) + number(13, 3600)
                value += nested(15, self.serial) + nested(20, storage) + nested(30, b"v1.0.42")
                body = nested(2, value + nested(48, b"Insta360 X4"))
            case 7 if asked:
                self.clock_s = clock_in(asked)
            case 15:
                body = nested(1, number(1, self.state) + number(2, self.seconds))
            case 4 if self.refuses:
                return message(500, sequence, self.refuses)
            case 4:
                self.state = 1
            case 5:
                self.state = 0
                body = nested(1, nested(1, self.file) + number(2, 77) + number(3, 100))
            case 13:
                body = nested(1, self.file) + number(2, 1)
        return message(200, sequence, body)

    def push(self, code: int, body: bytes = b"") -> None:
        self.writers[-1].write(message(code, b"\xff\x8a\x43", body))


def frame(content: bytes) -> bytes:
    return struct.pack("<I", len(content) + 4) + content


def message(code: int, sequence: bytes, body: bytes) -> bytes:
    return frame(b"\x04\x00\x00" + struct.pack("<H", code) + b"\x02" + sequence + b"\x80\x00\x00" + body)
