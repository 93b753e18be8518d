"""An emulated GoPro answers what the maker lists for its model, and nothing else that is Open GoPro."""

from __future__ import annotations

import pytest

from tests.camera.gopro_models import CHARGING, FIRMWARE, MODELS, ROUTES, STATUSES, has_route
from tests.simulator.emulators.served import http, served
from wifimgrd.config import catalog
from wifimgrd.domain.camera import CameraDriver
from wifimgrd.domain.link_steps import LinkStep
from wifimgrd.simulator.emulators import (
    GOPRO_NUMBERS,
    CameraSettings,
    EmulatedCamera,
    GoProBluetooth,
    GoProEmulator,
)
from wifimgrd.simulator.emulators._gopro import _ROUTES


def of(model: str, *, charging: bool = False) -> CameraSettings:
    return CameraSettings(model=model, firmware_version=FIRMWARE[model], charging=charging)


@pytest.mark.parametrize("model", MODELS)
async def test_it_has_the_routes_of_its_model(model: str) -> None:
    paths = {*ROUTES, *(path for path in _ROUTES if path.startswith("/gopro/"))} - {
        "/gopro/camera/presets/get",  # not emulated
        "/gopro/camera/digital_zoom",
    }
    for path in sorted(paths):
        async with served(CameraDriver.GOPRO, of(model)) as one:
            status, _ = await http(await one.connect(8080), "GET", path)
        assert (status != 404) is has_route(model, path), path


@pytest.mark.parametrize("model", MODELS)
def test_it_has_statuses_of_its_model_only(model: str) -> None:
    told = GoProEmulator(EmulatedCamera(of(model))).statuses()
    assert {status for status in told if model not in STATUSES[status]} == set()


@pytest.mark.parametrize("model", MODELS)
def test_a_charger_is_not_a_pc(model: str) -> None:
    told = GoProEmulator(EmulatedCamera(of(model, charging=True))).statuses()
    assert (told[2], told.get(115, 0)) == (CHARGING, 0)


@pytest.mark.parametrize("model", MODELS)
def test_over_bluetooth_it_has_statuses_of_its_model_only(model: str) -> None:
    bluetooth = GoProBluetooth(GoProEmulator(EmulatedCamera(of(model))))
    answer, told = bluetooth.answer(b"\x13")[2:], set()
    while answer:
        told.add(answer[0])
        answer = answer[2 + answer[1] :]
    assert told <= {status for status, models in STATUSES.items() if model in models}
    assert told >= {1, 2, 10, 70}


@pytest.mark.parametrize("model", MODELS)
def test_it_reboots_if_the_catalog_says_that_its_model_does(model: str) -> None:
    [listed] = [one for one in catalog.load().values() if GOPRO_NUMBERS[model] in one.model_ids]
    camera, reboots = EmulatedCamera(of(model)), []
    camera.on_reboot = lambda: reboots.append(model)
    answer = GoProBluetooth(GoProEmulator(camera)).answer(b"\x11")
    is_listed = LinkStep.REBOOT_CAMERA in listed.recovery_steps
    assert (answer, reboots) == ((b"\x11\x00", [model]) if is_listed else (b"\x11\x02", []))
