"""Cameras with Novatek's firmware, by the maker's guide to its commands."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.camera.drivers.conversations import Talk, http, target
from wifimgrd.camera.drivers.novatek import NovatekDriver
from wifimgrd.camera.drivers.protocol import HostTime, Nonsense
from wifimgrd.domain.camera import BatteryState, RecordingState, StopReason, StorageState
from wifimgrd.domain.errors import CameraBusy, CameraRefused, NotSupported, WifimgrdError

TOLD: dict[int, int | str] = {2016: 0, 3012: "SJ4000.V1", 3017: 5_000_000_000, 3019: 1, 3024: 1, 2009: 3600}


def xml(command: int, result: int = 0, value: int | str | None = None) -> bytes:
    """As the firmware writes it."""
    kind = "String" if isinstance(value, str) else "Value"
    told = "" if value is None else f"<{kind}>{value}</{kind}>\n"
    lines = f"<Function>\n<Cmd>{command}</Cmd>\n<Status>{result}</Status>\n{told}</Function>"
    return f'<?xml version="1.0" encoding="UTF-8" ?>\n{lines}'.encode()


class Camera:
    """Answers with what a test has set."""

    def __init__(self) -> None:
        self.told = dict(TOLD)
        self.results: dict[int, int] = {}
        self.codes: dict[int, int] = {}
        self.counts: list[int] = []
        """What it says next of the seconds that it has recorded, before what is in `told`."""
        self.obeys = True
        self.asked: list[tuple[int, str]] = []

    def __call__(self, request: bytes) -> bytes:
        split = urlsplit(target(request))
        assert split.path == "/"
        query = {name: values[0] for name, values in parse_qs(split.query).items()}
        assert query.pop("custom") == "1"
        command = int(query.pop("cmd"))
        given = next(iter(query.values()), "")
        self.asked.append((command, given))
        if command in self.codes:
            return http(b"<html>", self.codes[command])
        if result := self.results.get(command, 0):
            return http(xml(command, result))
        if command == 2001 and self.obeys:
            self.told[2016] = int(given)
        if command == 2016 and self.counts:
            return http(xml(command, 0, self.counts.pop(0)))
        return http(xml(command, 0, self.told.get(command)))


@pytest.fixture
def camera() -> Camera:
    return Camera()


@pytest.fixture
def talk(camera: Camera) -> Talk:
    return Talk(NovatekDriver(), camera)


def read(talk: Talk) -> None:
    talk(talk.driver.read())


def test_everything_that_it_says(talk: Talk, camera: Camera) -> None:
    talk(talk.driver.begin())
    read(talk)
    found = talk.driver.reading
    assert (found.model, found.serial_number, found.firmware_version) == ("", "", "SJ4000.V1")
    assert (found.battery_level, found.battery_state) == (66, BatteryState.DISCHARGING)
    assert (found.storage_state, found.storage_free) == (StorageState.OK, 5_000_000_000)
    assert (found.time_left_s, found.recording) == (3600, RecordingState.IDLE)
    assert [command for command, _ in camera.asked] == [3012, *[2016] * 5, 3019, 3024, 3017, 2009]


def test_what_changes_slowly_is_read_every_ten_seconds(talk: Talk, camera: Camera) -> None:
    for passed_s in (0, 2, 7, 2):
        talk.pause(passed_s)
        read(talk)
    assert [command for command, _ in camera.asked].count(2016) == 5 + 3  # idle: one look
    assert [command for command, _ in camera.asked].count(3019) == 2


@pytest.mark.parametrize(
    ("step", "level", "state"),
    [
        (0, 100, BatteryState.DISCHARGING),
        (3, 10, BatteryState.DISCHARGING),
        (4, 0, BatteryState.DISCHARGING),
        (5, None, BatteryState.CHARGING),
        (6, None, None),
        (-1, None, None),
    ],
)
def test_its_battery_has_steps(
    talk: Talk, camera: Camera, step: int, level: int | None, state: BatteryState | None
) -> None:
    camera.told[3019] = step
    read(talk)
    assert (talk.driver.reading.battery_level, talk.driver.reading.battery_state) == (level, state)


@pytest.mark.parametrize(
    ("card", "free", "state"),
    [
        (0, 0, StorageState.MISSING),
        (1, 0, StorageState.FULL),
        (1, 1, StorageState.OK),
        (2, 1, StorageState.ERROR),
        (9, 1, None),
    ],
)
def test_its_card(talk: Talk, camera: Camera, card: int, free: int, state: StorageState | None) -> None:
    camera.told |= {3024: card, 3017: free}
    read(talk)
    assert talk.driver.reading.storage_state is state


def test_a_command_that_it_does_not_know_is_asked_once(talk: Talk, camera: Camera) -> None:
    camera.results = {3019: -256, 3024: -256}
    talk(talk.driver.begin())
    for _ in range(2):
        talk.pause(11)
        read(talk)
    assert (talk.driver.reading.battery_level, talk.driver.reading.storage_state) == (None, None)
    assert [command for command, _ in camera.asked].count(3019) == 1
    assert talk.driver.reading.storage_free == 5_000_000_000


@pytest.mark.parametrize("code", [200, 404, 500])
@pytest.mark.parametrize("command", [3012, 3017, 3019, 3024, 2009])
def test_a_command_that_a_brand_answers_in_another_way_costs_only_its_value(
    talk: Talk, camera: Camera, command: int, code: int
) -> None:
    camera.codes[command] = code
    talk(talk.driver.begin())
    read(talk)
    found = talk.driver.reading
    known = {
        3012: found.firmware_version,
        3017: found.storage_free,
        3019: found.battery_level,
        3024: found.storage_state,
        2009: found.time_left_s,
    }
    assert {number for number, value in known.items() if not value} == {command}


def test_one_that_does_not_say_whether_it_records_is_believed_and_read(talk: Talk, camera: Camera) -> None:
    camera.results[2016] = -256
    talk.command(on=True)
    assert talk.driver.reading.recording is None
    assert (2001, "1") in camera.asked
    for _ in range(3):
        talk.pause(11)
        camera.told[3017] = talk.now_us
        read(talk)
        assert talk.driver.reading.read_us == talk.now_us - 20_000
        assert talk.driver.reading.storage_free == camera.told[3017]


def test_it_records_and_stops(talk: Talk, camera: Camera) -> None:
    camera.counts = [0] * 8  # before the command, and in the first second
    talk.command(on=True)
    assert talk.driver.reading.is_recording is True
    talk.command(on=False)
    assert talk.driver.reading.is_recording is False
    assert [given for command, given in camera.asked if command == 2001] == ["1", "0"]


def test_what_it_does_already_is_done(talk: Talk, camera: Camera) -> None:
    camera.told[2016] = 9
    assert talk(talk.driver.prepare(on=True))


def test_it_is_stopped_in_the_first_second_of_a_recording_and_of_a_file(talk: Talk, camera: Camera) -> None:
    read(talk)
    camera.told[2016], camera.counts = 1, [0, 0, 0]
    assert not talk(talk.driver.prepare(on=False))


def test_one_that_records_already_refuses_and_has_done_it(talk: Talk, camera: Camera) -> None:
    read(talk)
    request = talk.driver.command(on=True)
    camera.results[2001] = -13
    answer = talk.exchange(request.data, request.number)
    camera.told[2016], camera.counts = 1, [0, 0]
    talk(talk.driver.conclude(answer, on=True))
    assert talk.driver.reading.is_recording is True


def test_a_recording_goes_on_for_whoever_attaches_the_camera_later(camera: Camera) -> None:
    """The count is that of a file, and says nothing of how long it has recorded."""
    camera.told[2016] = 25
    for _ in range(2):
        talk = Talk(NovatekDriver(), camera)
        camera.counts = [0, 0]
        read(talk)
        assert talk.driver.reading.is_recording is True
        assert talk.driver.reading.recorded_s is None
        assert talk.driver.reading.recording_since_us == talk.now_us - 20_000 - 25_000_000


def test_a_card_that_was_pulled_out_just_now_is_seen_before_it_is_told_to_record(
    talk: Talk, camera: Camera
) -> None:
    read(talk)
    camera.told[3024] = 0
    with pytest.raises(CameraRefused, match="no card"):
        talk.command(on=True)
    camera.told[3024] = 1
    talk.command(on=True)


def test_another_file_is_the_same_recording(talk: Talk, camera: Camera) -> None:
    """Dash cameras begin one every few minutes."""
    for count in (58, 60):
        camera.told[2016] = count
        read(talk)
        talk.pause(2)
    began_us = talk.driver.reading.recording_since_us
    camera.counts = [0, 1]  # the first moment of the next one
    read(talk)
    assert talk.driver.reading.is_recording is True
    assert talk.driver.reading.recording_since_us == began_us


def test_a_recording_that_has_ended_for_a_full_card_says_why(talk: Talk, camera: Camera) -> None:
    camera.told[2016] = 5
    read(talk)
    talk.pause(2)
    camera.told |= {2016: 0, 3017: 0}
    read(talk)
    assert talk.driver.reading.recording is RecordingState.IDLE
    assert talk.driver.reading.stop_reason is StopReason.FULL


def test_one_that_takes_the_command_and_does_nothing_is_not_done(talk: Talk, camera: Camera) -> None:
    camera.obeys = False
    with pytest.raises(CameraRefused, match="does not record"):
        talk.command(on=True)


@pytest.mark.parametrize(
    ("result", "kind", "sentence"),
    [
        (-11, CameraRefused, "the card is full"),
        (-9, CameraRefused, "the card is too slow"),
        (-10, CameraRefused, "the battery is too low"),
        (-22, CameraRefused, "another mode"),
        (-13, CameraRefused, "the camera refused: result -13"),
        (-256, NotSupported, "does not know the command"),
    ],
)
def test_a_refusal_says_why(
    talk: Talk, camera: Camera, result: int, kind: type[WifimgrdError], sentence: str
) -> None:
    camera.results[2001] = result
    with pytest.raises(kind, match=sentence):
        talk.command(on=True)


def test_without_a_card_it_is_not_told_to_record(talk: Talk, camera: Camera) -> None:
    camera.told[3024] = 0
    with pytest.raises(CameraRefused, match="no card"):
        talk.command(on=True)
    assert not [one for one in camera.asked if one[0] == 2001]


def test_its_clock_is_set_to_the_local_time_at_a_second(talk: Talk, camera: Camera) -> None:
    talk(talk.driver.set_clock(HostTime(1_800_000_000_250_000, 3600, is_dst=False)))
    assert talk.paused_s == 0.75
    assert camera.asked == [(3006, "09:00:01"), (3005, "2027-01-15")]


def test_its_clock_is_not_set_while_it_records(talk: Talk, camera: Camera) -> None:
    camera.told[2016] = 5
    read(talk)
    with pytest.raises(CameraBusy):
        talk(talk.driver.set_clock(HostTime(0, 0, is_dst=False)))


def test_a_time_that_is_refused_says_so(talk: Talk, camera: Camera) -> None:
    camera.results[3005] = -21
    with pytest.raises(CameraRefused, match="result -21"):
        talk(talk.driver.set_clock(HostTime(0, 0, is_dst=False)))


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<Function></Function>",
        xml(3019, 0, 1),
        xml(2016, 0, 1) + b"x",
        b"<Function><Cmd>2016</Cmd><Status>zero</Status></Function>",
        b"<html>",
        b"<Function><Cmd>2016</Cmd><Status>0</Status>" + b" " * 200_000,
        xml(2016, 0, 1) + b" " * 5000,
    ],
)
def test_what_is_no_answer_to_the_command_is_nonsense(body: bytes) -> None:
    with pytest.raises(Nonsense):
        read(Talk(NovatekDriver(), lambda _: http(body)))


PIECES = (
    *(b"<?xml ?>", b"<Function>", b"</Function>", b"<Cmd>2016</Cmd>", b"<Cmd>3019</Cmd>"),
    *(b"<Status>0</Status>", b"<Status>-256</Status>", b"<Value>7</Value>", b"<Value>x</Value>"),
    *(b"<String>a</String>", b"\n", b" " * 30, b"\0", b"<", b"\xff"),
)


@given(st.lists(st.sampled_from(PIECES), max_size=12).map(b"".join))
def test_whatever_is_sent_is_taken_or_nonsense(body: bytes) -> None:
    talk = Talk(NovatekDriver(), lambda _: http(body))
    try:
        read(talk)
    except Nonsense:
        pass
    else:
        assert talk.driver.reading.recording in (None, *RecordingState)


def test_a_value_that_is_no_number_is_not_known(talk: Talk, camera: Camera) -> None:
    camera.told |= {3017: "much", 2009: 10**17}
    read(talk)
    assert (talk.driver.reading.storage_free, talk.driver.reading.time_left_s) == (None, None)
