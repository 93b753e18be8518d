"""Recordings of the shipped world of four cameras on a whole hub, in virtual time: what is told of their
files is what is on their cards."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from tests.daemon.manager.conftest import Bench, make_bench
from tests.recording_cameras import CAMERAS, SCENARIO
from tests.virtual_time import VirtualTimeLoop
from wifimgrd.camera.sessions import CameraSessions
from wifimgrd.config import catalog
from wifimgrd.daemon.manager.settings import HubSettings
from wifimgrd.domain.camera import StopReason
from wifimgrd.domain.device import DeviceId
from wifimgrd.domain.events import RecordingFiles, RecordingStopped
from wifimgrd.domain.rig import Everyone
from wifimgrd.runtime.tasks import Tasks
from wifimgrd.simulator.emulators import EmulatedCamera

ALL: Final[Mapping[str, tuple[str, str, str]]] = {
    **{ssid: (codename, ssid, password) for codename, (ssid, password) in CAMERAS.items()},
    "X4 SIM402.OSC": ("insta360-x4", "X4 SIM402.OSC", "insta-pass-402"),
}


class Rig:
    """A hub with the four cameras."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.devices: dict[str, DeviceId] = {}
        self.late_us = 0
        """By how much the host's clock is ahead of that of the loop."""

    async def connect(self) -> None:
        for ssid, (codename, _, password) in ALL.items():
            device = await self.bench.create(codename=codename, ssid=ssid, password=password)
            await self.bench.hub.connections.connect(device, wait=True)
            self.devices[ssid] = device
        await asyncio.sleep(15)

    def camera(self, ssid: str) -> EmulatedCamera:
        found = self.bench.world.camera(ssid.encode()).emulated
        assert found is not None
        return found

    async def record(self, length_s: float) -> None:
        """All of them, for so long."""
        hub = self.bench.hub
        await hub.cameras.record([], on=True, everyone=Everyone.RIG)
        await asyncio.sleep(length_s)
        await hub.cameras.record([], on=False, everyone=Everyone.RIG)
        await asyncio.sleep(30)

    def told(self, ssid: str) -> list[list[tuple[str, int | None]] | None]:
        """The files of each recording of a camera, in their order."""
        return [
            None if event.files is None else [(file.name, file.size) for file in event.files]
            for event in self.bench.story.of(RecordingFiles)
            if event.device_id == self.devices[ssid]
        ]


@pytest.fixture
def on_rig() -> Callable[[Callable[[Rig], Coroutine[Any, Any, None]]], None]:
    """Run a coroutine function on a started hub with the cameras."""

    async def run(test: Callable[[Rig], Coroutine[Any, Any, None]]) -> None:
        loop = asyncio.get_running_loop()
        rig: Rig

        def clock() -> int:
            return rig.late_us + round(loop.time() * 1e6)

        control = CameraSessions(Tasks("cameras"), clock)
        settings = HubSettings(models=catalog.load(), connect_on_create=False)
        bench = make_bench(settings, scenario=Path(SCENARIO), control=control)
        bench.clock = clock
        rig = Rig(bench)
        await bench.hub.start()
        for status in bench.hub.interface_statuses():
            bench.story.interfaces[status.interface.name] = status
        await rig.connect()
        await test(rig)
        await bench.hub.stop()

    def runner(test: Callable[[Rig], Coroutine[Any, Any, None]]) -> None:
        with asyncio.Runner(loop_factory=VirtualTimeLoop) as loop:
            loop.run(run(test))

    return runner


OnRig = Callable[[Callable[[Rig], Coroutine[Any, Any, None]]], None]
GOPRO, LEFT, RIGHT, THETA = "GP25140002", "X4 SIM401.OSC", "X4 SIM402.OSC", "THETAYR00000002.OSC"


def test_each_recording_has_the_files_that_are_on_the_card(on_rig: OnRig) -> None:
    async def test(rig: Rig) -> None:
        await rig.record(20)
        await rig.record(20)
        ends = rig.bench.story.of(RecordingStopped)
        files = rig.bench.story.of(RecordingFiles)
        assert sorted((one.device_id, one.since_us) for one in ends) == sorted(
            (one.device_id, one.since_us) for one in files
        )
        for ssid in ALL:
            sizes = [file.size for file in rig.camera(ssid).files]
            told = rig.told(ssid)
            assert [[size for _, size in one or ()] for one in told] == [[size] for size in sizes]
        assert rig.told(GOPRO)[1] == [("100GOPRO/GX010002.MP4", rig.camera(GOPRO).files[1].size)]
        assert rig.told(THETA)[1] == [("100RICOH/R0010002.MP4", rig.camera(THETA).files[1].size)]

    on_rig(test)


def test_a_long_recording_has_chapters_and_one_that_ended_by_itself_is_found_by_its_time(
    on_rig: OnRig,
) -> None:
    async def test(rig: Rig) -> None:
        await rig.record(700)
        assert StopReason.FULL in [one.reason for one in rig.bench.story.of(RecordingStopped)]
        size = rig.camera(GOPRO).files[0].size
        assert rig.told(GOPRO) == [
            [
                ("100GOPRO/GX010001.MP4", 4_000_000_000),
                ("100GOPRO/GX020001.MP4", 4_000_000_000),
                ("100GOPRO/GX030001.MP4", size - 8_000_000_000),
            ]
        ]
        assert rig.told(THETA) == [[("100RICOH/R0010001.MP4", rig.camera(THETA).files[0].size)]]

    on_rig(test)


def test_cameras_that_are_alike_name_their_files_alike(on_rig: OnRig) -> None:
    async def test(rig: Rig) -> None:
        await rig.record(20)
        [left], [right] = rig.told(LEFT), rig.told(RIGHT)
        assert left is not None
        assert right is not None
        assert left[0][0][-9:] == right[0][0][-9:] == "_001.insv"
        serials = [rig.bench.story.devices[rig.devices[one]].camera for one in (LEFT, RIGHT)]
        assert all(one is not None and one.reading.serial_number for one in serials)

    on_rig(test)


def test_recordings_at_the_camera_itself_in_quick_succession(on_rig: OnRig) -> None:
    async def test(rig: Rig) -> None:
        camera = rig.camera(GOPRO)
        for _ in range(3):
            camera.start()
            await asyncio.sleep(12)
            camera.stop()
            await asyncio.sleep(12)
        await asyncio.sleep(60)
        assert rig.told(GOPRO) == [
            [(f"100GOPRO/GX01000{number}.MP4", camera.files[number - 1].size)] for number in (1, 2, 3)
        ]

    on_rig(test)


def test_a_card_without_the_file_has_none_to_tell(on_rig: OnRig) -> None:
    """The card was swapped for one with an older recording."""

    async def test(rig: Rig) -> None:
        await rig.record(20)
        camera = rig.camera(GOPRO)
        older = camera.files[0]
        camera.start()
        await asyncio.sleep(20)
        camera.stop()
        camera.files.clear()
        camera.files.append(older)
        await asyncio.sleep(60)
        assert rig.told(GOPRO)[0] is not None
        assert rig.told(GOPRO)[1:] == [None]

    on_rig(test)


def test_a_hub_whose_clock_is_set_during_a_recording_finds_its_files(on_rig: OnRig) -> None:
    async def test(rig: Rig) -> None:
        await rig.record(20)
        hub = rig.bench.hub
        await hub.cameras.record([], on=True, everyone=Everyone.RIG)
        await asyncio.sleep(30)
        rig.late_us = 14 * 3600 * 1_000_000
        await asyncio.sleep(30)
        await hub.cameras.record([], on=False, everyone=Everyone.RIG)
        await asyncio.sleep(30)
        assert rig.told(GOPRO)[1] == [("100GOPRO/GX010002.MP4", rig.camera(GOPRO).files[1].size)]
        assert [len(rig.told(ssid)) for ssid in ALL] == [2] * 4

    on_rig(test)


def test_a_camera_with_a_wrong_clock_and_another_zone_tells_its_files(on_rig: OnRig) -> None:
    async def test(rig: Rig) -> None:
        for ssid in ALL:
            rig.camera(ssid).set_clock_off(-86_400)
            rig.camera(ssid).set_zone(345)
        await asyncio.sleep(700)  # the clock is read every 10 minutes
        await rig.record(20)
        assert rig.told(GOPRO) == [[("100GOPRO/GX010001.MP4", rig.camera(GOPRO).files[0].size)]]
        assert [one is not None for ssid in ALL for one in rig.told(ssid)] == [True] * 4

    on_rig(test)


@pytest.mark.parametrize("by_s", [-3600, 3600])
def test_a_camera_whose_clock_is_set_since_a_recording_tells_no_other_file(on_rig: OnRig, by_s: int) -> None:
    """By an hour, which is how long ago another recording of the same length began."""

    async def test(rig: Rig) -> None:
        camera, loop = rig.camera(GOPRO), asyncio.get_running_loop()
        for is_second in (False, True):
            began_s = loop.time()
            camera.start()
            await asyncio.sleep(20)
            camera.stop()
            if is_second:
                camera.set_clock_off(by_s)
            await asyncio.sleep(began_s + 3600 - loop.time())
        assert [one is None for one in rig.told(GOPRO)] == [False, True]

    on_rig(test)
