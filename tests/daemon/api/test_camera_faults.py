"""Faults of emulated cameras, through the daemon on a real bus: each row and state says what is so."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.message_bus import MessageBusDaemon
from tests.processes import Hub, running_hub
from tests.recording_cameras import CAMERAS, SCENARIO, connected, until
from wifimgrd.bus.connection import Variant
from wifimgrd.domain.commands import SET_CLOCK
from wifimgrd.domain.errors import CameraRefused


@pytest.fixture
async def hub(message_bus: MessageBusDaemon, tmp_path: Path) -> AsyncIterator[Hub]:
    async with running_hub(message_bus.address, tmp_path / "state", f"--simulate={SCENARIO}") as hub:
        yield hub


async def set_fault(hub: Hub, kind: str, codename: str, **options: Variant) -> None:
    of_camera = {"ssid": Variant("s", CAMERAS[codename][0])}
    await hub.client.simulate("SetFault", "sa{sv}", kind, of_camera | options)


@pytest.mark.slow
@pytest.mark.parametrize("codename", CAMERAS)
async def test_a_command_whose_answer_is_lost_is_unconfirmed_until_the_camera_is_read(
    hub: Hub, codename: str
) -> None:
    device = await connected(hub, codename)
    await set_fault(hub, "command-unanswered", codename)
    [row] = await hub.client.record([device], on=True)
    assert (row.done, row.code) == (False, "unconfirmed")
    await set_fault(hub, "command-unanswered", codename, off=Variant("b", True))
    await until(hub, device, lambda camera: camera.recording_state == "recording")
    [row] = await hub.client.record([device], on=False)
    assert (row.done, row.code) == (True, None)


@pytest.mark.parametrize("codename", CAMERAS)
async def test_a_camera_that_takes_photos_is_busy_and_does_not_record(hub: Hub, codename: str) -> None:
    device = await connected(hub, codename)
    await set_fault(hub, "takes-photos", codename)
    [row] = await hub.client.record([device], on=True)
    assert (row.done, row.code, row.message) == (False, "camera-busy", "the camera is taking photos")
    await until(hub, device, lambda camera: camera.recording_state == "idle")


async def test_a_clock_that_a_camera_keeps_is_refused(hub: Hub) -> None:
    device = await connected(hub, "ricoh-theta-x")
    await set_fault(hub, "clock-kept", "ricoh-theta-x")
    with pytest.raises(CameraRefused, match="set date and time to AUTO in its menu"):
        await hub.client.command_device(SET_CLOCK, device)
