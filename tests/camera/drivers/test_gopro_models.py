"""The driver with each model of GoPro: it answers the requests that the maker lists for it, and no other."""

from __future__ import annotations

from typing import Any

import pytest

from tests.camera.drivers.conversations import Talk, http, target
from tests.camera.gopro_models import MODELS, ROUTES, STATUSES, has_route
from wifimgrd.camera.drivers.gopro import GoProDriver, Hero9Driver
from wifimgrd.camera.drivers.gopro_bluetooth import GoProBluetoothDriver
from wifimgrd.camera.drivers.gopro_state import Status
from wifimgrd.camera.drivers.protocol import Answer, HostTime, Request
from wifimgrd.domain.camera import BatteryState, CameraReading, RecordingState, StorageState
from wifimgrd.domain.errors import NotSupported

TOLD = {
    1: 1, 2: 3, 6: 0, 8: 0, 10: 0, 13: 0, 33: 0, 35: 3600, 54: 1000, 70: 87, 85: 0, 89: 12, 96: 1000, 111: 0,
    112: 0, 117: 2000,
}  # fmt: skip
HERO9, OTHERS = MODELS[0], MODELS[1:]


class Camera:
    """A model that answers what the maker lists, and 404 to all else."""

    def __init__(self, model: str) -> None:
        self.model = model
        self.statuses = {str(one): value for one, value in TOLD.items() if model in STATUSES[one]}
        self.asked: list[str] = []

    def __call__(self, request: bytes) -> bytes:
        path, _, query = target(request).partition("?")
        self.asked.append(path)
        if not has_route(self.model, path):
            return http({"error": "not found"}, 404)
        answers: dict[str, Any] = {
            "/gopro/camera/state": {"status": self.statuses, "settings": {}},
            "/gopro/camera/info": {"model_name": self.model},
            "/gopro/camera/get_date_time": {"date": "2027_01_15", "time": "08_00_00", "tzone": 0, "dst": 0},
        }
        if "/shutter/" in path:
            self.statuses["10"] = int(path.endswith("start"))
        if path.endswith("set_group"):
            self.statuses["96"] = int(query.removeprefix("id="))
        return http(answers.get(path, {}))


@pytest.fixture
def camera(model: str) -> Camera:
    return Camera(model)


@pytest.fixture
def talk(camera: Camera) -> Talk:
    return Talk(Hero9Driver() if camera.model == HERO9 else GoProDriver(), camera)


def read(talk: Talk) -> CameraReading:
    talk(talk.driver.begin())
    talk(talk.driver.read())
    return talk.driver.reading


@pytest.mark.parametrize("model", MODELS)
def test_its_state_is_read(talk: Talk, camera: Camera) -> None:
    found = read(talk)
    assert found.model == (camera.model if camera.model in ROUTES["/gopro/camera/info"] else "")
    assert (found.battery_level, found.battery_state) == (87, BatteryState.DISCHARGING)
    assert (found.recording, found.storage_state) == (RecordingState.IDLE, StorageState.OK)
    assert (found.storage_total is not None) is (camera.model in STATUSES[117])


@pytest.mark.parametrize("model", OTHERS)
def test_it_records_over_its_network(talk: Talk) -> None:
    read(talk)
    for on in (True, False):
        talk.command(on=on)
        assert talk.driver.reading.is_recording is on


@pytest.mark.parametrize("model", OTHERS)
def test_it_leaves_its_mode_for_photos_and_control_is_claimed_before(talk: Talk, camera: Camera) -> None:
    camera.statuses["96"] = 1001
    talk.command(on=True)
    assert talk.driver.reading.is_recording is True
    claimed = camera.asked.index("/gopro/camera/control/set_ui_controller")
    assert camera.asked[claimed + 1] == "/gopro/camera/presets/set_group"


@pytest.mark.parametrize("model", [HERO9])
@pytest.mark.parametrize("on", [True, False])
def test_a_hero9_is_not_sent_what_it_does_not_know(talk: Talk, camera: Camera, on: bool) -> None:
    camera.statuses["10"] = int(not on)
    with pytest.raises(NotSupported, match="only over Bluetooth"):
        talk(talk.driver.prepare(on=on))
    assert camera.asked == ["/gopro/camera/state"]


@pytest.mark.parametrize("model", [HERO9])
def test_a_hero9_that_was_registered_as_a_newer_one_is_told_apart_by_its_answer(camera: Camera) -> None:
    talk = Talk(GoProDriver(), camera)
    with pytest.raises(NotSupported, match="a HERO9 starts and stops only over Bluetooth"):
        talk.command(on=True)


@pytest.mark.parametrize("model", [HERO9])
def test_a_hero9_that_does_already_what_is_wanted_has_done_it(talk: Talk, camera: Camera) -> None:
    camera.statuses["10"] = 1
    assert talk(talk.driver.prepare(on=True))


@pytest.mark.parametrize("model", MODELS)
def test_its_clock_is_set_with_a_zone_if_it_has_one(talk: Talk, camera: Camera) -> None:
    talk(talk.driver.read_clock(0))
    talk(talk.driver.set_clock(HostTime(talk.now_us, 3600, is_dst=False)))
    assert (b"tzone=60" in talk.requests[-1]) is (camera.model in ROUTES["/gopro/camera/get_date_time"])


@pytest.mark.parametrize("model", MODELS)
def test_the_driver_needs_only_requests_that_are_listed(talk: Talk, camera: Camera) -> None:
    """A few are only tried: a camera that does not have them is used all the same."""
    tried = {"/gopro/camera/info", "/gp/gpControl/info", "/gopro/camera/get_date_time"}
    read(talk)
    talk(talk.driver.read_clock(0))
    talk(talk.driver.set_clock(HostTime(talk.now_us, 0, is_dst=False)))
    if camera.model != HERO9:
        talk.command(on=True)
        talk.command(on=False)
    assert {path for path in camera.asked if not has_route(camera.model, path)} <= tried


@pytest.mark.parametrize("status", Status, ids=lambda status: status.name)
def test_each_status_that_the_driver_reads_is_listed(status: Status) -> None:
    assert MODELS[-1] in STATUSES[status]


def test_over_bluetooth_a_hero9_is_asked_for_what_it_has() -> None:
    reading = GoProBluetoothDriver().read()
    first = next(reading)
    second = reading.send(Answer(code=2, body=b""))
    assert isinstance(first, Request)
    assert isinstance(second, Request)
    assert second.data[0] == first.data[0] == 0x13
    assert set(second.data[1:]) == {status for status in first.data[1:] if HERO9 in STATUSES[status]}
    assert len(second.data) < len(first.data)
