"""Whatever a camera answers: its driver has an answer for clients, or says that it was nonsense, and what it
then tells of the camera is within bounds. `make soak` goes on for longer."""

from __future__ import annotations

import json
import random
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

import pytest

from tests.camera.drivers.conversations import NOW_US, Talk, talked
from tests.camera.scripted_cameras import (
    GoPro,
    Insta360,
    Theta,
    answer,
    frame,
    message,
    nested,
    number,
)
from tests.faults.random_http import RandomHttp
from tests.faults.random_life import duration_s, seed
from wifimgrd.camera.drivers import gopro_messages as messages
from wifimgrd.camera.drivers.gopro import GoProDriver
from wifimgrd.camera.drivers.gopro_bluetooth import GoProBluetoothDriver
from wifimgrd.camera.drivers.insta360 import Insta360Driver
from wifimgrd.camera.drivers.osc import OscDriver
from wifimgrd.camera.drivers.past_recording import PastRecording
from wifimgrd.camera.drivers.protocol import (
    Answer,
    Conversation,
    HostTime,
    NetworkDriver,
    Nonsense,
    Push,
)
from wifimgrd.domain.camera import CameraCommand, CameraReading
from wifimgrd.domain.errors import CameraBusy, CameraRefused, NotSupported
from wifimgrd.domain.recorded_files import recorded_files
from wifimgrd.domain.recordings import RecordedFile
from wifimgrd.simulator.emulators import CameraSettings, EmulatedCamera, GoProBluetooth, GoProEmulator

T = TypeVar("T")
SEED: Final = seed()
DURATION_S: Final = duration_s("10s", "WIFIMGRD_FUZZ") / 4
"""For each driver."""
FILE_S: Final = 100
"""The length of the recording whose files are on the cards."""
ROUNDS: Final = 12
"""Conversations in one case."""
MOST_REQUESTS: Final = 80
"""In one conversation: an answer never makes a driver ask without an end."""
REFUSALS: Final = (Nonsense, CameraRefused, CameraBusy, NotSupported)
LEAVES: Final[tuple[Any, ...]] = (
    None, True, False, 0, 1, -1, 2, 100, 101, 1e300, 1e-300, -0.5, 0.5, 1 << 31, 1 << 63, -(1 << 64), 10**30,
    "", "1", "idle", "shooting", "video", "image", "done", "error", "disabledCommand", "HIGH_TEMPERATURE",
    "\ud800", "\x1b[2J", "x" * 500, "2027:01:15 08:00:00+99:99", "9999:99:99 99:99:99", "SID_1", [], {},
)  # fmt: skip


@dataclass
class Chance:
    """What is random in a case."""

    random: random.Random

    def value(self, depth: int = 3) -> Any:
        match self.random.randrange(5) if depth else 4:
            case 0:
                return [self.value(depth - 1) for _ in range(self.random.randrange(4))]
            case 1:
                return {str(self.random.choice(LEAVES)): self.value(depth - 1) for _ in range(3)}
        return self.random.choice(LEAVES)

    def mutated(self, value: Any) -> Any:
        """A JSON value in which some parts are others."""
        if self.random.random() < 0.08:
            return self.value()
        if isinstance(value, dict):
            kept = {key: self.mutated(one) for key, one in value.items() if self.random.random() < 0.95}
            return kept | ({"surplus": self.value()} if self.random.random() < 0.1 else {})
        return [self.mutated(one) for one in value] if isinstance(value, list) else value

    def bytes_of(self, data: bytes) -> bytes:
        """Cut off, doubled, or with other bits."""
        match self.random.randrange(4):
            case 0:
                return data[: self.random.randrange(len(data) + 1)]
            case 1:
                return data + data[self.random.randrange(len(data) + 1) :]
            case 2:
                return self.random.randbytes(self.random.randrange(64))
        changed = bytearray(data)
        for _ in range(self.random.randrange(1, 4)):
            changed[self.random.randrange(len(changed))] ^= 1 << self.random.randrange(8)
        return bytes(changed)

    def protobuf(self, depth: int = 3) -> bytes:
        fields = b""
        for _ in range(self.random.randrange(5)):
            at = self.random.choice((1, 2, 3, 9, 11, 12, 13, 15, 20, 30, 48, 77))
            match self.random.randrange(4) if depth else 0:
                case 0:
                    fields += number(
                        at, self.random.choice((0, 1, 2, 5, 8, 100, 255, 1 << 32, (1 << 64) - 1))
                    )
                case 1:
                    fields += nested(at, self.random.randbytes(self.random.randrange(70)))
                case _:
                    fields += nested(at, self.protobuf(depth - 1))
        return fields if self.random.random() < 0.9 else self.bytes_of(fields or b"\x08")


def http(kind: type[GoPro | Theta], chance: Chance) -> Callable[[bytes], bytes]:
    """A camera that speaks HTTP."""
    camera, noise = kind(), RandomHttp(chance.random)
    if isinstance(camera, GoPro):
        created = str(979_545_600 - FILE_S)  # before what its clock shows
        camera.files = [{"n": f"GX0{chapter}0123.MP4", "cre": created, "s": "77"} for chapter in (1, 2)]

    def reply(request: bytes) -> bytes:
        head, _, body = request.partition(b"\r\n\r\n")
        sane = camera.reply(head.split(b" ", 2)[1].decode(), body)
        match chance.random.randrange(8):
            case 0:
                return chance.bytes_of(sane)
            case 1:
                return noise.answer()
            case 2 | 3 | 4:
                content = chance.mutated(json.loads(sane.partition(b"\r\n\r\n")[2]))
                status = chance.random.choice((200, 200, 200, 200, 302, 400, 403, 404, 409, 500, 503))
                return answer(json.dumps(content).encode("utf-8", "surrogatepass"), status)
        return sane

    return reply


def frames(chance: Chance) -> Callable[[bytes], bytes]:
    """A camera at port 6666."""
    camera = Insta360()

    def reply(request: bytes) -> bytes:
        code, sequence = struct.unpack_from("<H", request, 7)[0], request[10:13]
        sane = camera.reply(code, sequence)
        match chance.random.randrange(8):
            case 0:
                return chance.bytes_of(sane)
            case 1:
                return message(chance.random.choice((200, 500, 0, 8191)), sequence, chance.protobuf())
            case 2 | 3:
                return push(chance) + sane
            case 4:
                return message(200, chance.random.randbytes(3), b"") + frame(b"\x01\0\0stream") + sane
        return sane

    return reply


def push(chance: Chance) -> bytes:
    return message(chance.random.randrange(8192, 8216), b"\xff\xff\xff", chance.protobuf())


def packets_of(message: bytes) -> list[bytes]:
    """As a camera sends a message: short ones with a length of 5 bits."""
    return list(messages.packets(message)) if len(message) > 19 else [bytes([len(message)]) + message]


@dataclass
class BluetoothTalk:
    """Carries conversations out over Bluetooth, packet by packet."""

    chance: Chance
    now_us: int = NOW_US
    requests: list[bytes] = field(default_factory=list)

    def __post_init__(self) -> None:
        camera = EmulatedCamera(CameraSettings(), lambda: self.now_us / 1e6, lambda: self.now_us / 1e6)
        self.emulated = GoProBluetooth(GoProEmulator(camera))
        self.assembler = messages.Assembler()

    def __call__(self, conversation: Conversation[T]) -> T:
        return talked(conversation, lambda step: self.exchange(step.data), self.pause)

    def pause(self, seconds: float) -> None:
        self.now_us += round(seconds * 1e6)

    def exchange(self, request: bytes) -> Answer:
        self.requests.append(request)
        for packet in self.packets(self.emulated.answer(request)):
            message = self.assembler.feed(packet)
            assert len(self.assembler._message) <= messages.LARGEST_RECEIVED + len(packet)
            answer = messages.answer_of(message or b"")
            if answer is not None and answer.identifier == request[0]:
                return Answer(answer.status, answer.data).timed(self.now_us, 1000)
        raise Nonsense("the camera did not answer")

    def packets(self, sane: bytes) -> list[bytes]:
        chance = self.chance
        match chance.random.randrange(10):
            case 0:
                sane = sane[:2] + chance.bytes_of(sane[2:] or b"x")
            case 1:
                sane = sane[:2] + chance.random.randbytes(chance.random.randrange(300))
            case 2:
                sane = sane[:1] + bytes([chance.random.randrange(256)]) + sane[2:]
            case 3:
                return [chance.bytes_of(one) for one in packets_of(sane)]
            case 4:
                found = packets_of(sane)
                chance.random.shuffle(found)
                return found
            case 5:
                noise = [chance.random.randbytes(chance.random.randrange(40)) for _ in range(5)]
                return noise + packets_of(sane)
        return packets_of(sane)


def play_bluetooth(chance: Chance) -> int:
    """Some conversations of all kinds over Bluetooth; how many ended well."""
    driver, talk, ended = GoProBluetoothDriver(), BluetoothTalk(chance), 0
    for _ in range(ROUNDS):
        talk.requests.clear()
        try:
            talk(
                driver.carry_out(
                    chance.random.choice(list(CameraCommand)),
                    lambda: HostTime(talk.now_us, chance.random.choice((0, 3600, -43_200)), is_dst=False),
                )
            )
            ended += 1
        except REFUSALS as refused:
            check_refusal(refused)
        assert len(talk.requests) < MOST_REQUESTS
        check(driver.reading)
        talk.now_us += chance.random.choice((1, 2_000_000, 11_000_000))
    return ended


def check_refusal(refused: Exception) -> None:
    """What clients are told is a sentence."""
    said = getattr(refused, "message", "")
    assert len(said) < 200
    assert said.isprintable()


def check(reading: CameraReading) -> None:
    """What clients are told is within bounds."""
    assert reading.battery_level is None or 0 <= reading.battery_level <= 100
    for size in (reading.storage_free, reading.storage_total, reading.time_left_s):
        assert size is None or 0 <= size < 1 << 63
        assert size is None or type(size) is int
    for text in (reading.model, reading.serial_number, reading.firmware_version):
        assert len(text) <= 64
        assert text.isprintable()
        text.encode()
    for moment in (reading.read_us, reading.clock_read_us, reading.recording_since_us or 0):
        assert abs(moment) < 1 << 53
    assert abs(reading.clock_offset_us or 0) < 1 << 60
    assert (reading.recording_since_us is not None) == (reading.is_recording is True)
    assert reading.stop_reason is None or reading.is_recording is not True


def check_files(files: tuple[RecordedFile, ...] | None) -> None:
    """They are within bounds, and none is told twice."""
    assert files is None or recorded_files([(file.name, file.size) for file in files]) == files


def past(talk: Talk, chance: Chance) -> PastRecording:
    """A recording, often one of FILE_S."""
    ended_us = talk.now_us - chance.random.choice((0, 0, 0, 3_000_000, 60_000_000))
    return PastRecording(ended_us - chance.random.choice((FILE_S, FILE_S, 0, 900)) * 1_000_000, ended_us)


def play(driver: NetworkDriver, camera: Callable[[bytes], bytes], chance: Chance) -> int:
    """Some conversations, of all kinds; how many ended well."""
    talk = Talk(driver, camera)
    ended = 0
    for _ in range(ROUNDS):
        talk.requests.clear()
        on = chance.random.random() < 0.6
        conversations: tuple[Callable[[], object], ...] = (
            lambda: talk(driver.begin()),
            lambda: talk(driver.read()),
            lambda: talk(driver.read_clock(chance.random.choice((0, 3600, -43_200)))),
            lambda: talk(driver.set_clock(HostTime(talk.now_us, 3600, is_dst=False))),
            lambda on=on: talk.command(on=on),  # type: ignore[misc]
            lambda: check_files(talk(driver.recorded_files(past(talk, chance)))),
            lambda: driver.pushed(Push(chance.random.randrange(8192, 8216), chance.protobuf()), talk.now_us),
        )
        try:
            chance.random.choice(conversations)()
            ended += 1
        except REFUSALS as refused:
            check_refusal(refused)
        assert len(talk.requests) < MOST_REQUESTS
        check(driver.reading)
        talk.now_us += chance.random.choice((1, 2_000_000, 11_000_000))
    assert talk.now_us > NOW_US
    return ended


@pytest.mark.parametrize("name", ["gopro", "gopro-bluetooth", "osc", "insta360"])
def test_any_camera_has_a_driver_that_survives_it(name: str) -> None:
    ends, case, ended = time.monotonic() + DURATION_S, 0, 0
    while time.monotonic() < ends:
        chance = Chance(random.Random(f"{SEED} {name} {case}"))
        try:
            match name:
                case "gopro":
                    ended += play(GoProDriver(), http(GoPro, chance), chance)
                case "gopro-bluetooth":
                    ended += play_bluetooth(chance)
                case "osc":
                    ended += play(OscDriver(), http(Theta, chance), chance)
                case _:
                    ended += play(Insta360Driver(), frames(chance), chance)
        except BaseException as error:
            error.add_note(f"in case {case} of {name}, with WIFIMGRD_SEED={SEED}")
            raise
        case += 1
    assert case > 5 * DURATION_S
    share = ended / (case * ROUNDS)
    assert 0.1 < share < 0.95, f"{share:.0%} of the conversations in {case} cases ended well"
