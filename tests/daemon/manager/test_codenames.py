"""Which model a device's codename means, however it is written."""

from __future__ import annotations

import pytest

from tests.daemon.manager.conftest import Bench, RunOnBench
from tests.daemon.manager.test_power import INSTA360, asleep, fails, status
from wifimgrd.config import catalog
from wifimgrd.daemon.manager.settings import HubSettings
from wifimgrd.domain.camera_model import CameraModels
from wifimgrd.domain.device import DeviceState, PowerState
from wifimgrd.domain.errors import InvalidRequest

CLOSEST = 'The model "insta360_x44" is not in the catalog; the closest one is insta360-x4.'


@pytest.mark.parametrize("codename", ["insta360_x4", "Insta360_X4"])
def test_a_camera_with_the_platforms_codename_is_woken_and_read(on_bench: RunOnBench, codename: str) -> None:
    async def test(bench: Bench) -> None:
        device = await asleep(bench, INSTA360 | {"codename": codename})
        assert status(bench, device).device.codename == codename
        assert status(bench, device).warnings == ()
        await bench.hub.connections.connect(device, wait=True, wake=True)
        power = status(bench, device).power
        assert power is not None
        assert power.state is PowerState.AWAKE
        assert status(bench, device).camera is not None  # it has a driver

    on_bench(test)


def test_a_model_that_is_not_in_the_catalog_is_warned_about(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await asleep(bench, INSTA360 | {"codename": "insta360_x44"})
        assert status(bench, device).warnings == (CLOSEST,)
        assert status(bench, device).power is None
        await bench.hub.update(device, {"codename": "insta360_x4"})
        assert status(bench, device).warnings == ()

    on_bench(test)


def test_a_strict_catalog_refuses_only_models_that_it_does_not_have(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        models = catalog.load()
        await bench.hub.reconfigure(HubSettings(models=models, codenames=models))
        wanted = {"connection_type": "wifi"} | INSTA360
        await fails(bench.hub.create(wanted | {"codename": "insta360_x44"}), InvalidRequest, "codename")
        device = await bench.hub.create(wanted | {"codename": "insta360_x4"})
        assert bench.state(device) is DeviceState.CONNECTING

    on_bench(test)


def test_a_model_that_is_added_to_the_catalog_ends_the_warning(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await bench.hub.create(
            {"connection_type": "wifi", "codename": "insta360_x4", "ssid": "SIM-CAM-1", "password": ""}
        )
        models = catalog.load()
        without = CameraModels(one for one in models.values() if one.codename != "insta360-x4")
        await bench.hub.reconfigure(HubSettings(models=without))
        [warning] = status(bench, device).warnings
        assert '"insta360_x4" is not in the catalog' in warning
        await bench.hub.reconfigure(HubSettings(models=models))
        assert status(bench, device).warnings == ()

    on_bench(test)
