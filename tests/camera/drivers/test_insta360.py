"""Insta360's messages at port 6666: the bytes that two published clients send and understand."""

from __future__ import annotations

import struct

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.camera.drivers.conversations import NOW_US, TOOK_US, Talk
from tests.camera.scripted_cameras import Insta360 as Camera
from tests.camera.scripted_cameras import frame, message, nested, number
from wifimgrd.camera.drivers import insta360
from wifimgrd.camera.drivers.insta360 import FRAME_BYTES, FrameParser, Insta360Driver
from wifimgrd.camera.drivers.protocol import Answer, HostTime, Nonsense, Push
from wifimgrd.domain.camera import (
    BatteryState,
    CameraReading,
    RecordingState,
    StopReason,
    StorageState,
)
from wifimgrd.domain.errors import CameraBusy, CameraRefused

HELLO = bytes.fromhex("11000000 060000 73794e6365 4e64696e53")
KEEP_ALIVE = bytes.fromhex("07000000 050000")


class Wire:
    """A scripted camera without its socket."""

    def __init__(self, camera: Camera) -> None:
        self.camera = camera
        self.before = b""
        """What is sent before an answer."""

    def __call__(self, request: bytes) -> bytes:
        [size] = struct.unpack_from("<I", request)
        assert size == len(request)
        assert request[4:7] == b"\x04\x00\x00"
        assert request[9:10] == b"\x02"
        assert request[13:16] == b"\x80\x00\x00"
        [code] = struct.unpack_from("<H", request, 7)
        self.camera.requests.append(code)
        self.camera.bodies.append(request[16:])
        if code in self.camera.instead:
            return self.before + message(200, request[10:13], self.camera.instead[code])
        return self.before + self.camera.reply(code, request[10:13])


@pytest.fixture
def camera() -> Camera:
    return Camera()


@pytest.fixture
def wire(camera: Camera) -> Wire:
    return Wire(camera)


@pytest.fixture
def talk(wire: Wire) -> Talk:
    return Talk(Insta360Driver(), wire)


def read(talk: Talk) -> CameraReading:
    talk(talk.driver.read())
    return talk.driver.reading


# -- frames


def test_the_first_bytes_are_those_of_the_published_clients() -> None:
    driver = Insta360Driver()
    assert driver.hello == HELLO + KEEP_ALIVE
    assert driver.keep_alive == KEEP_ALIVE
    start = driver.command(on=True)
    assert start.data == bytes.fromhex("12000000 040000 0400 02 010000 800000 0801")
    stop = driver.command(on=False)
    assert stop.data == bytes.fromhex("10000000 040000 0500 02 020000 800000")
    assert (start.number, stop.number) == (1, 2)


def test_frames_are_parsed_in_any_pieces() -> None:
    data = HELLO + KEEP_ALIVE + message(200, b"\x1d\0\0", b"ab") + message(8208, b"\xff\x8a\x43", b"\x08\x01")
    data += frame(b"\x01\0\0stream") + message(500, b"\x03\0\0", nested(2, b"camera is busy."))
    expected = [
        Answer(200, b"ab", 29),
        Push(8208, b"\x08\x01"),
        Answer(500, b"\x12\x0fcamera is busy.", 3),
    ]
    for size in (1, 5, len(data)):
        parser = FrameParser()
        found = [one for at in range(0, len(data), size) for one in parser.feed(data[at : at + size])]
        assert found == expected


@pytest.mark.parametrize(
    "data",
    [
        b"\0\0\0\0",
        struct.pack("<I", 6),
        struct.pack("<I", FRAME_BYTES + 1),
        b"HTTP/1.1 200 OK\r\n\r\n",
        frame(b"\x09\0\0"),
        frame(b"\x04\0\x01" + b"\0" * 20),
        frame(b"\x04\0\0\xc8\0\x02\x01"),
    ],
)
def test_what_is_no_frame_is_refused(data: bytes) -> None:
    with pytest.raises(Nonsense):
        FrameParser().feed(data)


@given(st.integers(0, 65535), st.integers(0, 0xFFFFFF), st.binary(max_size=300), st.integers(1, 50))
def test_messages_come_back(code: int, sequence: int, body: bytes, piece: int) -> None:
    data = insta360.encode(code, sequence, body)
    parser = FrameParser()
    found = [one for at in range(0, len(data), piece) for one in parser.feed(data[at : at + piece])]
    assert found == [Push(code, body) if code >= 8192 else Answer(code, body, sequence)]


@given(
    st.lists(st.binary(max_size=40) | st.sampled_from([HELLO, KEEP_ALIVE, frame(b"\x04\0\0" + b"\0" * 9)]))
)
@example([frame(b"\x04\0\0" + b"\xff" * 9)])
def test_any_bytes_are_frames_or_nonsense(pieces: list[bytes]) -> None:
    parser = FrameParser()
    try:
        for piece in pieces:
            parser.feed(piece)
    except Nonsense:
        pass


def test_request_numbers_start_over() -> None:
    driver = Insta360Driver()
    driver._number = 0xFFFFFF
    assert driver.command(on=False).number == 1


# -- state


def test_everything_that_it_says(talk: Talk, camera: Camera) -> None:
    talk(talk.driver.begin())
    assert read(talk) == CameraReading(
        read_us=NOW_US - TOOK_US // 2,
        battery_level=80,
        battery_state=BatteryState.DISCHARGING,
        recording=RecordingState.IDLE,
        storage_state=StorageState.OK,
        storage_free=60_000_000_000,
        storage_total=128_000_000_000,
        time_left_s=3000,
        model="Insta360 X4",
        serial_number="IAHEA2402ABCDE",
        firmware_version="v1.0.42",
    )
    assert camera.requests == [8, 15, 8]
    assert camera.bodies[0] == bytes([0x0A, 3, 15, 30, 48])
    assert camera.bodies[2] == bytes([0x0A, 3, 9, 11, 20])


def test_options_are_read_every_10_s(talk: Talk, camera: Camera) -> None:
    for _ in range(6):
        read(talk)
        talk.now_us += 2_000_000
    assert camera.requests.count(8) == 2


@pytest.mark.parametrize(
    ("card", "state"),
    [
        (0, StorageState.OK),
        (1, StorageState.MISSING),
        (2, StorageState.FULL),
        (3, StorageState.ERROR),
        (4, StorageState.ERROR),
        (5, StorageState.ERROR),
        (99, None),
    ],
)
def test_states_of_the_card(talk: Talk, camera: Camera, card: int, state: StorageState | None) -> None:
    camera.card = card
    assert read(talk).storage_state is state


@pytest.mark.parametrize(
    ("state", "recording"),
    [
        (0, RecordingState.IDLE),
        (1, RecordingState.RECORDING),
        (18, RecordingState.RECORDING),
        (4, RecordingState.IDLE),
        (8, None),
        (1 << 40, None),
    ],
)
def test_states_of_the_capture(
    talk: Talk, camera: Camera, state: int, recording: RecordingState | None
) -> None:
    camera.state = state
    assert read(talk).recording is recording


def test_what_is_not_told_is_not_known(talk: Talk, camera: Camera) -> None:
    camera.instead = {15: b"", 8: nested(2, nested(11, number(2, 500)))}
    found = read(talk)
    assert (found.recording, found.battery_level, found.storage_state, found.time_left_s) == (None,) * 4
    camera.instead[8] = b""
    talk(talk.driver.begin())
    assert found.model == ""


def test_the_level_of_the_battery_has_a_scale(talk: Talk, camera: Camera) -> None:
    camera.instead[8] = nested(2, nested(11, number(1, 1) + number(2, 3) + number(3, 4)))
    found = read(talk)
    assert (found.battery_level, found.battery_state) == (75, BatteryState.CHARGING)


def test_the_seconds_of_a_recording_say_since_when(talk: Talk, camera: Camera) -> None:
    camera.state, camera.seconds = 1, 40
    assert read(talk).recording_since_us == NOW_US - TOOK_US // 2 - 40_000_000


# -- what it sends by itself


def test_pushes_between_request_and_answer_are_taken(talk: Talk, wire: Wire) -> None:
    read(talk)
    wire.before = message(8196, b"\xff\0\0", nested(1, nested(1, b"")[:0] + number(2, 9) + number(3, 100)))
    assert read(talk).battery_level == 9


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        (1, StopReason.FULL),
        (3, StopReason.FULL),
        (4, StopReason.SLOW_CARD),
        (7, StopReason.BATTERY),
        (8, StopReason.SLOW_CARD),
        (9, StopReason.TOO_HOT),
        (10, StopReason.BATTERY),
        (11, StopReason.FULL),
        (12, StopReason.TOO_HOT),
    ],
)
def test_why_a_recording_has_ended(talk: Talk, camera: Camera, reason: int, expected: StopReason) -> None:
    camera.state = 1
    read(talk)
    assert talk.driver.pushed(Push(8201, number(1, reason)), NOW_US) == 0
    assert talk.driver.reading.recording is RecordingState.IDLE
    assert talk.driver.reading.stop_reason is expected


@pytest.mark.parametrize(
    "push",
    [Push(8201, b""), Push(8201, number(1, 2)), Push(8201, number(1, 77)), Push(8208, number(1, 0))],
    ids=["no reason", "another situation", "unheard", "not capturing"],
)
def test_an_end_without_a_reason_is_left_to_the_state_a_second_later(
    talk: Talk, camera: Camera, push: Push
) -> None:
    """A camera that begins another file may send that, too."""
    camera.state = 1
    read(talk)
    assert talk.driver.pushed(push, NOW_US) == 1
    assert talk.driver.reading.recording is RecordingState.RECORDING
    camera.state = 0
    assert read(talk).recording is RecordingState.IDLE
    assert talk.driver.reading.stop_reason is None


def test_a_recording_in_several_files_is_one(talk: Talk, camera: Camera) -> None:
    camera.state, camera.seconds = 1, 1799
    begin_us = read(talk).recording_since_us
    assert talk.driver.pushed(Push(8194, b""), NOW_US) is None
    camera.seconds = 2
    found = read(talk)
    assert (found.recording_since_us, found.recorded_s) == (begin_us, 1801)
    camera.seconds = 1  # another recording
    assert read(talk).recorded_s == 1


def test_a_pause_is_part_of_the_recording(talk: Talk, camera: Camera) -> None:
    """Field 7 is CameraCaptureSubState of https://pypi.org/project/lib-one-proto/, 1 is a pause."""
    camera.state, camera.seconds = 1, 5
    begin_us = read(talk).recording_since_us
    camera.instead[15] = nested(1, number(1, 1) + number(2, 5) + number(7, 1))
    for _ in range(20):
        talk.now_us += 2_000_000
        found = read(talk)
        assert (found.recording, found.recording_since_us) == (RecordingState.RECORDING, begin_us)


def test_pushes_of_card_and_capture(talk: Talk) -> None:
    read(talk)
    driver = talk.driver
    for push, state in (
        (Push(8198, number(1, 1)), StorageState.MISSING),
        (Push(8199, b""), StorageState.FULL),
    ):
        assert driver.pushed(push, NOW_US) == 0
        assert driver.reading.storage_state is state
    assert driver.pushed(Push(8208, number(1, 1) + number(2, 3) + nested(3, b"")), NOW_US) == 0
    assert driver.reading.recording_since_us == NOW_US - 3_000_000
    before = driver.reading
    assert driver.pushed(Push(8214, number(1, 4)), NOW_US) is None
    assert driver.pushed(Push(8208, b"\xff"), NOW_US) == 0  # nonsense: the state is read
    assert driver.reading == before


def test_after_a_push_everything_is_read(talk: Talk, camera: Camera) -> None:
    read(talk)
    talk.driver.pushed(Push(8198, number(1, 0)), NOW_US)
    camera.requests.clear()
    read(talk)
    assert camera.requests == [15, 8]


# -- commands


def test_start_and_stop(talk: Talk, camera: Camera) -> None:
    talk.command(on=True)
    assert (talk.driver.reading.is_recording, camera.state) == (True, 1)
    talk.command(on=False)
    assert (talk.driver.reading.is_recording, camera.state) == (False, 0)
    assert [code for code in camera.requests if code in (4, 5)] == [4, 5]


@pytest.mark.parametrize(
    ("body", "kind", "sentence"),
    [
        (number(1, 5) + nested(2, b"camera is busy."), CameraBusy, "the camera is busy"),
        (
            number(1, 3) + nested(2, b"msg execute err."),
            CameraRefused,
            "the camera refused: msg execute err.",
        ),
        (nested(2, b"\xff\x1b[0m" * 100), CameraRefused, "the camera refused: " + "�[0m" * 16),
        (b"", CameraRefused, "the camera refused: error 500"),
    ],
)
def test_refusals(talk: Talk, camera: Camera, body: bytes, kind: type[CameraRefused], sentence: str) -> None:
    camera.refuses = body or b"\x08\x00"
    with pytest.raises(kind) as caught:
        talk.command(on=True)
    assert caught.value.message == sentence


@pytest.mark.parametrize("error", [3, 5], ids=["msg execute err.", "camera is busy."])
def test_a_refusal_of_what_is_done_already_is_none(talk: Talk, camera: Camera, error: int) -> None:
    """A start that was sent twice is refused the second time."""
    camera.refuses = number(1, error)
    request = talk.driver.command(on=True)
    refused = talk.exchange(request.data, request.number)
    camera.state = 1
    assert talk(talk.driver.conclude(refused, on=True)) is refused


def test_what_the_camera_sends_by_itself_explains_its_refusal(talk: Talk, camera: Camera, wire: Wire) -> None:
    def refuses(request: bytes) -> bytes:
        if request[7] == 4:
            wire.before = message(8201, b"\xff\0\0", number(1, 12))
        return wire(request)

    talk.camera = refuses
    camera.refuses = number(1, 3) + nested(2, b"msg execute err.")
    with pytest.raises(CameraRefused, match="the camera is too hot"):
        talk.command(on=True)


def test_a_camera_that_takes_photos_is_busy(talk: Talk, camera: Camera) -> None:
    camera.state = 4
    with pytest.raises(CameraBusy):
        talk.command(on=True)


def test_a_card_without_space_is_told_before(talk: Talk, camera: Camera) -> None:
    camera.card = 2
    with pytest.raises(CameraRefused, match="the card is full"):
        talk.command(on=True)
    assert 4 not in camera.requests


def test_a_camera_that_does_not_do_what_it_says(talk: Talk, camera: Camera) -> None:
    camera.instead[4] = b""
    with pytest.raises(CameraRefused, match="but does not record"):
        talk.command(on=True)


# -- clock


def test_the_clock_is_read(talk: Talk, camera: Camera) -> None:
    camera.clock_s = NOW_US // 1_000_000
    talk.now_us = NOW_US + TOOK_US // 2
    talk(talk.driver.read_clock(7200))
    assert (talk.driver.reading.clock_offset_us, talk.driver.reading.clock_read_us) == (500_000, talk.now_us)
    assert camera.bodies[-1] == bytes([0x0A, 2, 12, 13])
    camera.instead[8] = nested(2, number(12, 1 << 60))
    talk(talk.driver.read_clock(0))
    assert talk.driver.reading.clock_offset_us == 500_000


def test_the_clock_is_set_at_the_beginning_of_a_second(talk: Talk, camera: Camera) -> None:
    talk(talk.driver.set_clock(HostTime(NOW_US + 600_000, -3600, is_dst=False)))
    assert talk.paused_s == pytest.approx(0.4)
    value = number(12, NOW_US // 1_000_000 + 1) + number(13, (1 << 64) - 3600)
    assert camera.bodies[-1] == bytes([0x0A, 2, 12, 13]) + nested(2, value)
