"""Probes and keep-alive messages of connected cameras."""

from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest

from tests.daemon.manager.conftest import Bench, RunOnBench
from wifimgrd.daemon.manager.settings import HubSettings
from wifimgrd.daemon.ports import Answer
from wifimgrd.domain.adapter import Band
from wifimgrd.domain.camera_model import (
    Addressing,
    Bluetooth,
    CameraModel,
    CameraModels,
    KeepAlive,
    Probe,
    WakeMethod,
)
from wifimgrd.domain.device import DeviceId, DeviceState
from wifimgrd.domain.errors import ErrorCode, NoInterfaceAvailable
from wifimgrd.domain.interface import BackendFacts
from wifimgrd.domain.reachability import ANSWERED_S, SILENCES

ONLY_2_4 = BackendFacts(bands=frozenset({Band.GHZ_2_4}))


class Journal:
    """A CameraContact that records its calls, and finds every camera silent or not."""

    def __init__(self, answer: Answer = Answer.ANSWERED) -> None:
        self.answer = answer
        self.probes: list[tuple[float, str, str, Probe]] = []
        self.kept_awake: list[float] = []
        self.magic_packets: list[tuple[str, str, str]] = []

    async def probe(self, device_id: DeviceId, interface: str, address: str, probe: Probe) -> Answer:
        self.probes.append((asyncio.get_running_loop().time(), interface, address, probe))
        return self.answer

    async def keep_alive(
        self, device_id: DeviceId, interface: str, address: str, keep_alive: KeepAlive
    ) -> None:
        self.kept_awake.append(asyncio.get_running_loop().time())

    async def wake_on_lan(self, device_id: DeviceId, interface: str, address: str, mac: str) -> None:
        self.magic_packets.append((interface, address, mac))

    @property
    def pauses(self) -> list[float]:
        times = [time for time, *_ in self.probes]
        return [round(later - time, 3) for time, later in pairwise(times)]


def watched(bench: Bench, journal: Journal) -> Journal:
    for replaced in (journal.probe, journal.keep_alive, journal.wake_on_lan):
        setattr(bench.world.contact, replaced.__name__, replaced)
    return journal


def watches() -> list[str]:
    """The tasks that run for cameras."""
    names = [task.get_name() for task in asyncio.all_tasks()]
    return [name for name in names if name.startswith("test/liveness/")]


def is_reachable(bench: Bench, device_id: DeviceId) -> bool:
    return bench.story.devices[device_id].reachable


def model(**facts: object) -> HubSettings:
    return HubSettings(models=CameraModels([CameraModel("generic-wifi-camera", "X", **facts)]))  # type: ignore[arg-type]


def test_a_camera_that_answers_is_reachable_once_it_is_connected(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        journal = watched(bench, Journal())
        device = await bench.create()
        await asyncio.sleep(0.1)
        assert not journal.probes  # the join is on
        await bench.hub.connections.connect(device, wait=True)
        assert bench.state(device) is DeviceState.CONNECTED
        assert is_reachable(bench, device)
        await asyncio.sleep(1)
        assert is_reachable(bench, device)
        assert len(journal.probes) == 1

    on_bench(test)


def test_a_camera_that_never_answers_is_connected_and_soon_not_reachable(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        journal = watched(bench, Journal(Answer.SILENT))
        device = await bench.connected()
        await asyncio.sleep(2.5)
        assert bench.state(device) is DeviceState.CONNECTED
        assert not is_reachable(bench, device)
        assert len(journal.probes) == SILENCES

    on_bench(test)


def test_where_the_host_gave_itself_its_address_only_an_answer_counts(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        await bench.hub.reconfigure(model(addressing=Addressing.STATIC, local_address="192.168.42.9/24"))
        watched(bench, Journal(Answer.UNKNOWN))
        assert not is_reachable(bench, await bench.connected())

    on_bench(test)


def test_a_camera_that_falls_silent_stays_connected_and_is_not_reachable(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await bench.connected()
        await asyncio.sleep(1)
        bench.world.set_fault("silent", {"ssid": b"SIM-CAM-1"})
        await asyncio.sleep(30)
        assert bench.state(device) is DeviceState.CONNECTED
        assert not is_reachable(bench, device)
        bench.world.set_fault("silent", {"ssid": b"SIM-CAM-1", "off": True})
        await asyncio.sleep(15)
        assert is_reachable(bench, device)

    on_bench(test)


def test_one_silence_is_looked_into_soon_and_not_reported(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        journal = watched(bench, Journal())
        device = await bench.connected()
        await asyncio.sleep(1)
        journal.answer = Answer.SILENT
        await asyncio.sleep(ANSWERED_S)
        assert is_reachable(bench, device)
        journal.answer = Answer.ANSWERED
        await asyncio.sleep(1)
        assert is_reachable(bench, device)
        assert journal.pauses == [ANSWERED_S, 1.0]

    on_bench(test)


def test_a_camera_is_asked_where_it_is_as_its_model_wants_it(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        await bench.hub.reconfigure(model(probe=Probe(8080, "/state")))
        journal = watched(bench, Journal())
        await bench.connected()
        await asyncio.sleep(1)
        assert [asked[1:] for asked in journal.probes] == [("wlan0", "192.168.42.1", Probe(8080, "/state"))]

    on_bench(test)


def test_what_cannot_be_asked_is_neither_an_answer_nor_a_silence(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        journal = watched(bench, Journal())
        device = await bench.connected()
        await asyncio.sleep(1)
        journal.answer = Answer.UNKNOWN
        await asyncio.sleep(100)
        assert is_reachable(bench, device)
        assert set(journal.pauses) == {ANSWERED_S}

    on_bench(test)


def test_nobody_is_asked_while_no_camera_is_connected(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        journal = watched(bench, Journal())
        device = await bench.connected()
        await asyncio.sleep(1)
        assert watches() == [f"test/liveness/device-{device}/probe"]
        await bench.hub.connections.disconnect(device)
        assert not is_reachable(bench, device)
        asked = len(journal.probes)
        await asyncio.sleep(0)
        assert watches() == []
        await asyncio.sleep(60)
        assert len(journal.probes) == asked

    on_bench(test)


def test_a_link_that_drops_and_comes_back_is_asked_anew(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await bench.connected()
        await asyncio.sleep(1)
        bench.world.power_off_camera(b"SIM-CAM-1", orderly=True)
        assert bench.state(device) is DeviceState.CONNECTING
        assert not is_reachable(bench, device)
        bench.world.power_on_camera(b"SIM-CAM-1")
        await asyncio.sleep(1)
        assert bench.state(device) is DeviceState.CONNECTED
        assert is_reachable(bench, device)

    on_bench(test)


def test_a_model_that_needs_it_is_kept_awake_while_it_is_connected(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        await bench.hub.reconfigure(model(keep_alive=KeepAlive(3, path="/awake")))
        journal = watched(bench, Journal())
        device = await bench.connected()
        await asyncio.sleep(10)
        begun = journal.kept_awake[0]
        assert [round(time - begun, 3) for time in journal.kept_awake] == [0, 3, 6, 9]
        await bench.hub.connections.disconnect(device)
        await asyncio.sleep(10)
        assert len(journal.kept_awake) == 4

    on_bench(test)


def test_a_camera_for_which_nothing_is_known_is_not_kept_awake(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        journal = watched(bench, Journal())
        await bench.connected()
        await asyncio.sleep(60)
        assert not journal.kept_awake
        assert len(journal.probes) > SILENCES

    on_bench(test)


@pytest.mark.parametrize("met", [False, True])
def test_a_model_of_one_band_is_never_given_an_adapter_that_cannot_use_it(
    on_bench: RunOnBench, met: bool
) -> None:
    async def test(bench: Bench) -> None:
        if met:  # on 2.4 GHz, before the bands of the model were known
            await bench.hub.connections.disconnect(await bench.connected(1))
        await bench.hub.reconfigure(model(bands=(Band.GHZ_5,)))
        for name in ("wlan0", "wlan1", "wlan2"):
            bench.learn(name, ONLY_2_4)
        device = DeviceId(1) if met else await bench.create(1)
        with pytest.raises(NoInterfaceAvailable) as refused:
            await bench.hub.connections.connect(device, wait=True)
        assert refused.value.reasons == dict.fromkeys(["wlan0", "wlan1", "wlan2"], "cannot use the 5GHz band")
        assert "wlan0 (cannot use the 5GHz band)" in refused.value.message
        assert bench.code(device) == ErrorCode.NO_INTERFACE_AVAILABLE
        bench.learn("wlan1", BackendFacts())  # its bands are not known
        await bench.hub.connections.connect(device, wait=True)
        assert bench.story.devices[device].interface == "wlan1"

    on_bench(test)


@pytest.mark.parametrize("listens", [True, False])
def test_a_camera_that_sleeps_behind_its_network_gets_a_magic_packet(
    on_bench: RunOnBench, listens: bool
) -> None:
    async def test(bench: Bench) -> None:
        bluetooth = Bluetooth(WakeMethod.CONNECT, "fea6", wake_on_lan=listens)
        await bench.hub.reconfigure(model(bluetooth=bluetooth))
        journal = watched(bench, Journal(Answer.SILENT))
        device = await bench.connected()
        await asyncio.sleep(1)
        link = bench.story.devices[device].link
        assert link is not None
        assert link.sighting is not None
        expected = [("wlan0", "192.168.42.1", link.sighting.bssid)]
        assert journal.magic_packets[:1] == (expected if listens else [])
        journal.answer = Answer.ANSWERED
        await asyncio.sleep(30)
        sent = len(journal.magic_packets)
        await asyncio.sleep(30)
        assert len(journal.magic_packets) == sent

    on_bench(test)


def test_a_model_that_is_read_anew_is_shown_at_once(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await bench.connected()
        await bench.hub.reconfigure(model(icon="/icons/mine.svg"))
        assert bench.story.devices[device].icon == "/icons/mine.svg"
        assert bench.story.reported == [f"{device} updated"]
        await bench.hub.reconfigure(model(icon="/icons/mine.svg"))
        assert bench.story.reported == [f"{device} updated"]

    on_bench(test)


def test_the_address_of_a_model_stands_in_where_the_link_reports_none(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        await bench.hub.reconfigure(model(camera_address="10.5.5.9", icon="/icons/camera.svg"))
        device = await bench.connected()
        status = bench.story.devices[device]
        assert status.link is not None
        assert (status.link.camera_address, status.icon) == ("192.168.42.1", "/icons/camera.svg")
        completed = bench.hub_state.completed(type(status.link)("192.168.42.10", ""), status.device)
        assert completed.camera_address == "10.5.5.9"

    on_bench(test)
