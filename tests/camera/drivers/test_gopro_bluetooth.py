"""GoPro's messages over Bluetooth, as https://gopro.github.io/OpenGoPro/ble has them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import TypeVar

import pytest

from tests.camera.drivers.conversations import NOW_US, TOOK_US, talked
from wifimgrd.camera.drivers.gopro_bluetooth import GoProBluetoothDriver
from wifimgrd.camera.drivers.protocol import Answer, Conversation, HostTime, Nonsense, Request
from wifimgrd.domain.camera import (
    BatteryState,
    CameraCommand,
    RecordingState,
    StorageState,
    TemperatureState,
)
from wifimgrd.domain.errors import CameraBusy, CameraRefused
from wifimgrd.simulator.emulators import CameraSettings, EmulatedCamera, GoProBluetooth, GoProEmulator

T = TypeVar("T")
SETTINGS = CameraSettings(battery=87, charging=True, card_bytes=64_000_000_000)
HERO9 = replace(SETTINGS, model="HERO9 Black", firmware_version="HD9.01.01.72.00")


@dataclass
class Talk:
    """A driver that speaks with an emulated camera, message by message."""

    settings: CameraSettings = SETTINGS
    time_s: float = 0.0
    instead: dict[bytes, bytes] = field(default_factory=dict)
    """What is answered in place of the camera, by the beginning of the message."""
    sent: list[str] = field(default_factory=list)
    on_sent: Callable[[bytes], None] = lambda _: None

    def __post_init__(self) -> None:
        self.camera = EmulatedCamera(self.settings, lambda: self.time_s, lambda: NOW_US / 1e6 + self.time_s)
        self.emulated = GoProBluetooth(GoProEmulator(self.camera))
        self.driver = GoProBluetoothDriver()

    def __call__(self, conversation: Conversation[T]) -> T:
        return talked(conversation, self.exchange, self.pause)

    def pause(self, seconds: float) -> None:
        self.time_s += seconds

    def exchange(self, request: Request) -> Answer:
        self.sent.append(request.data.hex())
        self.on_sent(request.data)
        found = [one for begin, one in self.instead.items() if request.data.startswith(begin)]
        message = found[0] if found else self.emulated.answer(request.data)
        return Answer(message[1], message[2:]).timed(self.now_us, TOOK_US)

    @property
    def now_us(self) -> int:
        return NOW_US + round(self.time_s * 1_000_000)

    def carry_out(self, command: CameraCommand, offset_s: int = 0) -> int:
        host = lambda: HostTime(self.now_us + 250_000, offset_s, is_dst=False)  # noqa: E731
        return self(self.driver.carry_out(command, host))


@pytest.fixture
def talk() -> Talk:
    return Talk()


def test_everything_that_it_says(talk: Talk) -> None:
    talk(talk.driver.begin())
    talk(talk.driver.read())
    reading = talk.driver.reading
    assert (reading.model, reading.serial_number, reading.firmware_version) == (
        "HERO12 Black",
        "C3501300000001",
        "H23.01.02.32.00",
    )
    assert (reading.battery_level, reading.battery_state) == (87, BatteryState.CHARGING)
    assert (reading.recording, reading.temperature) == (RecordingState.IDLE, TemperatureState.NORMAL)
    assert reading.storage_state is StorageState.OK
    assert (reading.storage_free, reading.storage_total) == (64_000_000_000, 64_000_000_000)
    assert reading.time_left_s == 5120
    assert reading.read_us == NOW_US - TOOK_US // 2


def test_the_messages_are_those_of_the_documents(talk: Talk) -> None:
    assert talk.carry_out(CameraCommand.START) == TOOK_US
    query = "13" + bytes([1, 2, 6, 8, 10, 13, 33, 35, 54, 70, 85, 89, 96, 111, 112, 117]).hex()
    assert talk.sent == ["3c", query, "010101", query]
    assert talk.camera.is_recording
    assert talk.driver.reading.recording is RecordingState.RECORDING
    assert talk.carry_out(CameraCommand.STOP) == TOOK_US
    assert "010100" in talk.sent
    assert not talk.camera.is_recording


@pytest.mark.parametrize("command", [CameraCommand.START, CameraCommand.STOP])
def test_a_camera_that_does_what_is_wanted_is_sent_nothing(talk: Talk, command: CameraCommand) -> None:
    if command is CameraCommand.START:
        talk.camera.start()
    assert talk.carry_out(command) == 0
    assert not any(sent.startswith("01") for sent in talk.sent)


def test_a_refusal_is_explained_by_the_state(talk: Talk) -> None:
    talk.camera.set_hot(is_hot=True)
    with pytest.raises(CameraRefused, match="the camera is too hot"):
        talk.carry_out(CameraCommand.START)
    assert talk.driver.reading.temperature is TemperatureState.TOO_HOT
    talk.camera.set_hot(is_hot=False)
    talk.camera.set_card(missing=True)
    with pytest.raises(CameraRefused, match="the camera has no card"):
        talk.carry_out(CameraCommand.START)
    talk.camera.set_card(missing=False)
    talk.camera.refuses_recording = True
    with pytest.raises(CameraRefused, match="the camera refused: error 1"):
        talk.carry_out(CameraCommand.START)


def test_a_camera_in_photo_mode_is_set_to_video(talk: Talk) -> None:
    talk.instead[b"\x13"] = bytes.fromhex("1300 080100 0a0100 210100 6004000003e9")

    def sent(message: bytes) -> None:
        if message.startswith(b"\x3e"):
            talk.instead.clear()

    talk.on_sent = sent
    talk.carry_out(CameraCommand.START)
    assert talk.sent[2:5] == ["f1690802", "3e0203e8", "010101"]
    talk.instead |= {b"\x13": bytes.fromhex("1300 0a0100 6004000003e9"), b"\x3e": b"\x3e\x02"}
    talk.on_sent = lambda _: None
    with pytest.raises(CameraRefused, match="it does not leave its mode for photos"):
        talk.carry_out(CameraCommand.START)


def test_a_hero9_has_no_control_that_is_claimed() -> None:
    talk = Talk(HERO9)
    talk.emulated.answer(b"\x3e\x02\x03\xe9")
    talk.carry_out(CameraCommand.START)
    assert talk.sent[-3:-1] == ["3e0203e8", "010101"]
    assert talk.camera.is_recording


def test_a_camera_that_takes_photos_does_not_record(talk: Talk) -> None:
    talk.instead[b"\x13"] = bytes.fromhex("1300 080100 0a0101 210100 6004000003e9")
    talk(talk.driver.read())
    assert talk.driver.reading.recording is RecordingState.IDLE
    with pytest.raises(CameraBusy, match="the camera is taking photos"):
        talk.carry_out(CameraCommand.START)
    assert not any(sent.startswith("01") for sent in talk.sent)


def test_a_busy_camera_is_waited_for(talk: Talk) -> None:
    talk.instead[b"\x13"] = bytes.fromhex("1300 080101 0a0100")
    with pytest.raises(CameraBusy):
        talk.carry_out(CameraCommand.START)
    assert talk.time_s == pytest.approx(3.0)


def test_a_camera_that_refuses_newer_statuses_is_asked_for_the_older_ones(talk: Talk) -> None:
    def sent(message: bytes) -> None:
        talk.instead = {b"\x13": b"\x13\x02"} if b"\x75" in message[1:] else {}

    talk.on_sent = sent
    talk(talk.driver.read())
    assert talk.driver.reading.battery_level == 87
    assert talk.driver.reading.storage_total is None
    talk.on_sent = lambda _: None
    talk.instead = {b"\x13": b"\x13\x01"}
    with pytest.raises(Nonsense, match="error 1"):
        talk(talk.driver.read())


@pytest.mark.parametrize(
    "answer",
    [
        "1300",
        "1300 460164",
        "1300 4609000000000000000057 0a0100",
        "1300 4601ff 0a0102",
        "1300 46",
        "1300 0a00",
    ],
)
def test_what_is_not_told_is_not_known(talk: Talk, answer: str) -> None:
    talk.instead[b"\x13"] = bytes.fromhex(answer)
    talk(talk.driver.read())
    reading = talk.driver.reading
    assert reading.battery_level == (100 if answer == "1300 460164" else None)
    assert reading.recording is (RecordingState.IDLE if answer.endswith("0a0100") else None)
    assert (reading.storage_free, reading.time_left_s, reading.temperature) == (None, None, None)


@pytest.mark.parametrize(
    ("settings", "messages"),
    [
        (SETTINGS, ["0f0a07e901", "10"]),
        (HERO9, ["0f0a07e901", "0d0707e901", "10", "0e"]),
    ],
)
def test_the_clock_is_set_and_read(settings: CameraSettings, messages: list[str]) -> None:
    talk = Talk(replace(settings, clock_offset_s=-500.0))
    assert talk.carry_out(CameraCommand.SET_CLOCK, offset_s=-3600) == 0
    clock = [sent for sent in talk.sent if sent[:2] in ("0d", "0e", "0f", "10")]
    assert [sent[:4] for sent in clock] == [one[:4] for one in messages]
    reading = talk.driver.reading
    assert reading.clock_offset_us is not None
    assert abs(reading.clock_offset_us) <= 1_000_000
    assert reading.clock_read_us


@pytest.mark.parametrize("zone_min", [0, 120, -480])
def test_the_zone_that_it_tells_counts(talk: Talk, zone_min: int) -> None:
    talk.camera.set_zone(zone_min)
    talk(talk.driver.read_clock(3600))
    assert abs(talk.driver.reading.clock_offset_us or 0) <= 1_000_000


def test_a_zone_that_no_place_has_does_not_count(talk: Talk) -> None:
    now = datetime.fromtimestamp(NOW_US // 1_000_000, UTC) + timedelta(hours=1)
    day = bytes([now.month, now.day, now.hour, now.minute, now.second])
    value = now.year.to_bytes(2, "big") + day + (841).to_bytes(2, "big") + b"\0"
    talk.instead[b"\x10"] = b"\x10\0" + bytes([len(value)]) + value
    talk(talk.driver.read_clock(3600))
    assert abs(talk.driver.reading.clock_offset_us or 0) <= 1_000_000


def test_a_clock_that_was_set_and_is_wrong_is_refused(talk: Talk) -> None:
    talk.camera.set_clock_off(-3600)
    talk.camera.keeps_clock = True
    with pytest.raises(CameraRefused, match="it keeps its own time"):
        talk.carry_out(CameraCommand.SET_CLOCK)
    assert talk.driver.reading.clock_offset_us is not None


def test_a_clock_is_not_set_during_a_recording(talk: Talk) -> None:
    talk.camera.start()
    with pytest.raises(CameraBusy, match="its clock is not set meanwhile"):
        talk.carry_out(CameraCommand.SET_CLOCK)
    assert not any(sent.startswith(("0d", "0f")) for sent in talk.sent)


def test_a_clock_that_is_not_taken_and_one_that_cannot_be_read(talk: Talk) -> None:
    talk.instead = {b"\x0e": b"\x0e\x02", b"\x10": b"\x10\x02"}
    talk.carry_out(CameraCommand.SET_CLOCK)
    assert talk.driver.reading.clock_offset_us is None
    talk.instead = {b"\x0d": b"\x0d\x01", b"\x0f": b"\x0f\x01"}
    with pytest.raises(CameraRefused, match=r"does not take the time \(error 1\)"):
        talk.carry_out(CameraCommand.SET_CLOCK)
