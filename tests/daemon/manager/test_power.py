"""Cameras that sleep: found, told apart from ones that are gone, woken, paired, put to sleep."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable
from itertools import pairwise
from typing import Any

import pytest

from tests.daemon.manager.conftest import Bench, RunOnBench
from wifimgrd.daemon.ports import JoinRequest
from wifimgrd.domain.device import (
    ConnectionPhase,
    Device,
    DeviceId,
    DeviceState,
    DeviceStatus,
    Link,
    PowerState,
)
from wifimgrd.domain.errors import (
    AssociationRefused,
    BluetoothUnavailable,
    Busy,
    Cancelled,
    DeviceNotFound,
    DeviceNotReachable,
    InvalidRequest,
    NotPaired,
    NotSupported,
    PairingFailed,
    WakeFailed,
    WifimgrdError,
)
from wifimgrd.domain.events import (
    BluetoothChanged,
    ConnectionFailed,
    OperationFailed,
    PowerChanged,
    WakeEnded,
)
from wifimgrd.domain.power import SEEN_S, WAKES_PER_HOUR, Advertiser, BluetoothState, WakeRequest
from wifimgrd.simulator._bluetooth import ADAPTER

GOPRO = {"codename": "gopro-hero12", "ssid": "GP25140001", "password": "gopro-pass-1"}
INSTA360 = {"codename": "insta360-x4", "ssid": "X4 SIM360.OSC", "password": "insta-pass-1"}
THETA = {"codename": "ricoh-theta-x", "ssid": "THETAYR12345678.OSC", "password": "12345678"}
ADDRESS = "F4:DD"


async def asleep(bench: Bench, camera: dict[str, str] = GOPRO, **fields: object) -> DeviceId:
    """A device whose camera sleeps, paired if it has to be; its first attempt has failed."""
    device = await bench.hub.create({"connection_type": "wifi"} | camera | fields)
    with pytest.raises(DeviceNotReachable):
        await bench.hub.connections.connect(device, wait=True)
    return device


async def paired(bench: Bench, camera: dict[str, str] = GOPRO, **fields: object) -> DeviceId:
    """The same, and it is paired and asleep again."""
    device = await asleep(bench, camera, **fields)
    await bench.hub.bluetooth.pair(device, wait=True)
    bench.world.sleep_camera(camera["ssid"].encode())
    await bench.hub.bluetooth.search(5)
    bench.story.forget()
    return device


def status(bench: Bench, device: DeviceId) -> DeviceStatus:
    return bench.story.devices[device]


def power_state(bench: Bench, device: DeviceId) -> PowerState | None:
    power = status(bench, device).power
    assert power is not None
    return power.state


def is_paired(bench: Bench, device: DeviceId) -> bool:
    power = status(bench, device).power
    assert power is not None
    return bool(power.is_paired)


async def fails(work: Awaitable[object], error: type[Exception], match: str = ".") -> None:
    with pytest.raises(error, match=match):
        await work


# -- found


def test_a_search_tells_which_cameras_sleep(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await paired(bench)
        found = {one.name: one for one in bench.hub.bluetooth.records()}
        assert set(found) == {"GoPro 0001", "X4 SIM360", "12345678"}
        gopro, insta360 = found["GoPro 0001"], found["X4 SIM360"]
        assert (gopro.power_state, gopro.device_id, gopro.codename) == ("asleep", device, "gopro-hero12")
        assert (insta360.power_state, insta360.device_id) == (None, None)
        assert insta360.codename == "insta360-x4"
        assert power_state(bench, device) is PowerState.ASLEEP

    on_bench(test)


def test_whether_it_sleeps_is_not_known_a_minute_later(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await paired(bench)
        await asyncio.sleep(SEEN_S + 1)
        assert power_state(bench, device) is None
        assert bench.hub.bluetooth.records() == []
        power = status(bench, device).power
        assert power is not None
        assert power.seen_us

    on_bench(test)


def test_whether_it_sleeps_is_not_known_once_it_was_disconnected(on_bench: RunOnBench) -> None:
    """Its link kept it awake: what was heard meanwhile says nothing of later."""

    async def test(bench: Bench) -> None:
        device = await paired(bench)
        await bench.hub.bluetooth.wake(device, wait=True)
        await bench.hub.connections.connect(device, wait=True)
        await bench.hub.bluetooth.search(1)
        assert power_state(bench, device) is PowerState.AWAKE
        await bench.hub.connections.disconnect(device)
        assert power_state(bench, device) is None
        bench.world.sleep_camera(GOPRO["ssid"].encode())
        await bench.hub.bluetooth.wake(device, wait=True)
        assert len(bench.story.of(WakeEnded)) == 2

    on_bench(test)


def test_searches_do_not_publish_each_time_a_camera_is_seen(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        await paired(bench)
        before = len(bench.story.of(PowerChanged))
        for _ in range(5):
            await bench.hub.bluetooth.search(1)
        assert len(bench.story.of(PowerChanged)) == before

    on_bench(test)


def test_a_model_without_bluetooth_has_no_power_state(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await bench.create(1, codename="gopro-hero8")
        assert status(bench, device).power is None
        await fails(bench.hub.bluetooth.wake(device, wait=True), NotSupported, "GoPro HERO8")
        await fails(bench.hub.connections.connect(device, wait=True, wake=True), NotSupported)

    on_bench(test)


def test_a_failed_connect_says_that_the_camera_sleeps(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await paired(bench)
        await fails(
            bench.hub.connections.connect(device, wait=True), DeviceNotReachable, "is asleep.*wifimgrctl wake"
        )

    on_bench(test)


def test_a_connect_that_fails_at_once_has_asked_whether_the_camera_sleeps(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await paired(bench)
        await asyncio.sleep(SEEN_S + 1)
        refusal = DeviceNotReachable("not found")

        async def join(_: object) -> Link:
            raise refusal

        bench.world.backend.join = join  # type: ignore[method-assign, assignment]
        began_s = asyncio.get_running_loop().time()
        await fails(bench.hub.connections.connect(device, wait=True), DeviceNotReachable, "is asleep")
        assert asyncio.get_running_loop().time() - began_s < 5

    on_bench(test)


def test_a_camera_that_was_connected_and_fell_asleep_is_not_taken_for_awake(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await paired(bench, auto_reconnect=False)
        await bench.hub.connections.connect(device, wait=True, wake=True)
        assert power_state(bench, device) is PowerState.AWAKE
        bench.world.sleep_camera(b"GP25140001")
        await asyncio.sleep(20)
        assert bench.state(device) is DeviceState.DISCONNECTED
        assert power_state(bench, device) is not PowerState.AWAKE
        bench.story.forget()
        await bench.hub.bluetooth.wake(device, wait=True)
        assert [one.error for one in bench.story.of(WakeEnded)] == [None]

    on_bench(test)


# -- woken


@pytest.mark.parametrize("camera", [GOPRO, THETA], ids=["gopro", "theta"])
def test_a_paired_camera_is_woken_and_connected_in_one_attempt(
    on_bench: RunOnBench, camera: dict[str, str]
) -> None:
    async def test(bench: Bench) -> None:
        device = await paired(bench, camera)
        connecting = asyncio.create_task(bench.hub.connections.connect(device, wait=True, wake=True))
        await asyncio.sleep(0.7)
        assert status(bench, device).phase is ConnectionPhase.WAKING
        assert bench.state(device) is DeviceState.CONNECTING
        assert status(bench, device).interface == "wlan0"
        await connecting
        assert bench.state(device) is DeviceState.CONNECTED
        assert status(bench, device).phase is None
        assert power_state(bench, device) is PowerState.AWAKE
        assert [one.error for one in bench.story.of(WakeEnded)] == [None]

    on_bench(test)


def test_a_camera_that_is_known_to_sleep_is_woken_without_a_search_for_its_network(
    on_bench: RunOnBench,
) -> None:
    async def test(bench: Bench) -> None:
        device = await paired(bench)
        connecting = asyncio.create_task(bench.hub.connections.connect(device, wait=True, wake=True))
        await asyncio.sleep(0.01)
        assert status(bench, device).phase is ConnectionPhase.WAKING
        await connecting
        assert bench.state(device) is DeviceState.CONNECTED

    on_bench(test)


def test_a_beacon_wakes_without_pairing_and_ends_when_the_network_is_there(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await asleep(bench, INSTA360)
        began_s = asyncio.get_running_loop().time()
        await bench.hub.connections.connect(device, wait=True, wake=True)
        assert bench.state(device) is DeviceState.CONNECTED
        assert asyncio.get_running_loop().time() - began_s < 5

    on_bench(test)


class Looks:
    """The backend's looks for a network, each as whether it was at all channels; nothing is seen at first."""

    def __init__(self, bench: Bench, *, until: int = 10**9) -> None:
        """`until` is the number of looks that see nothing."""
        self.all: list[bool] = []
        self._until = until
        bench.world.backend.is_visible = self._is_visible  # type: ignore[method-assign, assignment]

    async def _is_visible(self, *_: object, all_channels: bool) -> bool:
        self.all.append(all_channels)
        await asyncio.sleep(3 if all_channels else 0.1)
        return len(self.all) > self._until


def test_the_network_of_a_woken_camera_is_joined_once_it_is_received(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await paired(bench)
        looks = Looks(bench, until=6)
        await bench.hub.connections.connect(device, wait=True, wake=True)
        assert looks.all == [False, False, False, False, True, False, False]

    on_bench(test)


def test_a_camera_that_is_not_known_to_sleep_is_looked_for_on_its_own_channels_before_it_is_woken(
    on_bench: RunOnBench,
) -> None:
    async def test(bench: Bench) -> None:
        device = await asleep(bench, INSTA360)
        looks = Looks(bench, until=18)
        began_s = asyncio.get_running_loop().time()
        connecting = asyncio.create_task(bench.hub.connections.connect(device, wait=True, wake=True))
        await asyncio.sleep(0.2)
        assert (looks.all[:1], status(bench, device).phase) == ([False], ConnectionPhase.WAKING)
        await connecting
        assert looks.all == [False] * 17 + [True, False]
        assert bench.state(device) is DeviceState.CONNECTED
        assert asyncio.get_running_loop().time() - began_s < 12

    on_bench(test)


def test_a_network_that_comes_on_the_air_ends_a_wake_that_hears_nothing(on_bench: RunOnBench) -> None:
    """Such as that of a camera that was moved to another channel, out of Bluetooth's range."""

    async def test(bench: Bench) -> None:
        async def hears_nothing(_: object) -> None:
            await asyncio.sleep(40)

        device = await paired(bench)
        bench.world.bluetooth.wake = hears_nothing  # type: ignore[method-assign, assignment]
        looks = Looks(bench, until=1)
        bench.world.power_on_camera(b"GP25140001")
        began_s = asyncio.get_running_loop().time()
        await bench.hub.connections.connect(device, wait=True, wake=True)
        assert bench.state(device) is DeviceState.CONNECTED
        assert looks.all == [True, True]
        assert 10 < asyncio.get_running_loop().time() - began_s < 20

    on_bench(test)


def test_a_camera_whose_network_is_there_is_not_woken(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await paired(bench)
        bench.world.power_on_camera(b"GP25140001")
        await asyncio.sleep(SEEN_S + 1)
        await bench.hub.connections.connect(device, wait=True, wake=True)
        assert bench.state(device) is DeviceState.CONNECTED
        assert bench.story.of(WakeEnded) == []

    on_bench(test)


def falls_asleep(bench: Bench, *, times: int = 1) -> list[str]:
    """The next joins fail, as with a camera that falls asleep just then; returns the interfaces of all."""
    join, joins = bench.world.backend.join, list[str]()

    async def joined(request: JoinRequest) -> Link:
        joins.append(request.interface)
        if len(joins) <= times:
            bench.world.sleep_camera(request.ssid.data)
            raise DeviceNotReachable("the network is not there")
        return await join(request)

    bench.world.backend.join = joined  # type: ignore[method-assign]
    return joins


@pytest.mark.parametrize("settings", [{"wake": True}, {"auto_wake": True}], ids=["asked for", "by itself"])
def test_a_camera_that_falls_asleep_before_it_is_joined_is_woken(
    on_bench: RunOnBench, settings: dict[str, bool]
) -> None:
    async def test(bench: Bench) -> None:
        device = await paired(bench, auto_wake=settings.get("auto_wake", False))
        bench.world.power_on_camera(b"GP25140001")
        await asyncio.sleep(SEEN_S + 1)
        joins = falls_asleep(bench)
        await bench.hub.connections.connect(device, wait=True, wake=settings.get("wake", False))
        assert bench.state(device) is DeviceState.CONNECTED
        assert len(joins) == 2
        assert len(bench.story.of(WakeEnded)) == 1

    on_bench(test)


@pytest.mark.parametrize("is_asked", [True, False], ids=["asked for", "by itself"])
def test_a_camera_that_is_on_the_air_and_is_not_joined_is_not_woken(
    on_bench: RunOnBench, is_asked: bool
) -> None:
    """The failure may be the adapter's: it is told as it is."""

    async def test(bench: Bench) -> None:
        device = await paired(bench, auto_wake=not is_asked)
        bench.world.power_on_camera(b"GP25140001")
        await asyncio.sleep(SEEN_S + 1)
        joins = falls_asleep(bench)
        bench.world.sleep_camera = lambda _: None  # type: ignore[method-assign, assignment]
        work = bench.hub.connections.connect(device, wait=True, wake=is_asked)
        await fails(work, DeviceNotReachable)
        assert (len(joins), bench.story.of(WakeEnded)) == (1, [])

    on_bench(test)


def test_a_camera_is_not_woken_that_may_no_longer_be_when_its_join_fails(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await paired(bench, auto_wake=True)
        bench.world.power_on_camera(b"GP25140001")
        await asyncio.sleep(SEEN_S + 1)

        async def joined(request: JoinRequest) -> Link:
            await asyncio.sleep(20)
            bench.world.sleep_camera(b"GP25140001")
            raise DeviceNotReachable("the network is not there")

        bench.world.backend.join = joined  # type: ignore[method-assign]
        connecting = asyncio.create_task(bench.hub.connections.connect(device, wait=True))
        await asyncio.sleep(5)
        await bench.hub.update(device, {"auto_wake": False})
        await fails(connecting, DeviceNotReachable)
        assert bench.story.of(WakeEnded) == []

    on_bench(test)


def test_all_of_an_attempt_ends_within_the_times_of_a_wake_and_a_join(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await paired(bench)
        bench.world.power_on_camera(b"GP25140001")
        await asyncio.sleep(SEEN_S + 1)

        async def joined(request: JoinRequest) -> Link:
            await asyncio.sleep(19)
            bench.world.sleep_camera(b"GP25140001")
            raise DeviceNotReachable("the network is not there")

        async def waits(*_: object) -> None:
            await asyncio.sleep(59)

        bench.world.backend.join = joined  # type: ignore[method-assign]
        bench.world.bluetooth.wake = waits  # type: ignore[method-assign, assignment]
        bench.world.bluetooth.restart_access_point = waits  # type: ignore[method-assign, assignment]
        began_s = asyncio.get_running_loop().time()
        await fails(bench.hub.connections.connect(device, wait=True, wake=True), DeviceNotReachable)
        limit_s = 60 + bench.hub_state.settings.attempt_timeout_s
        assert asyncio.get_running_loop().time() - began_s < limit_s + 5

    on_bench(test)


@pytest.mark.parametrize("error", [DeviceNotReachable, AssociationRefused])
def test_a_gopro_that_was_woken_and_is_not_joined_has_its_access_point_switched_off_and_on(
    on_bench: RunOnBench, error: type[WifimgrdError]
) -> None:
    async def test(bench: Bench) -> None:
        device = await paired(bench)
        join, restart = bench.world.backend.join, bench.world.bluetooth.restart_access_point
        steps = list[str]()

        async def joined(request: JoinRequest) -> Link:
            steps.append("join")
            if "restart" not in steps:
                raise error("the camera's access point hangs")
            return await join(request)

        async def restarted(address: str, service: str) -> None:
            steps.append("restart")
            await restart(address, service)

        bench.world.backend.join = joined  # type: ignore[method-assign]
        bench.world.bluetooth.restart_access_point = restarted  # type: ignore[method-assign]
        await bench.hub.connections.connect(device, wait=True, wake=True)
        assert steps == ["join", "restart", "join"]
        assert bench.state(device) is DeviceState.CONNECTED

    on_bench(test)


def test_a_camera_that_was_woken_and_does_not_restart_its_access_point_fails_as_before(
    on_bench: RunOnBench,
) -> None:
    async def test(bench: Bench) -> None:
        device = await paired(bench, THETA)
        joins = falls_asleep(bench, times=9)
        work = bench.hub.connections.connect(device, wait=True, wake=True)
        await fails(work, WakeFailed, "network is not there")
        assert len(joins) == 1

    on_bench(test)


def test_a_wake_alone_leaves_the_device_disconnected(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await paired(bench)
        await bench.hub.bluetooth.wake(device, wait=False)
        assert status(bench, device).phase is ConnectionPhase.WAKING
        await bench.hub.bluetooth.wake(device, wait=True)  # joins the one that runs
        assert status(bench, device).phase is None
        assert bench.state(device) is DeviceState.DISCONNECTED
        assert power_state(bench, device) is PowerState.AWAKE
        await bench.hub.bluetooth.wake(device, wait=True)
        assert len(bench.story.of(WakeEnded)) == 1

    on_bench(test)


def test_a_wake_by_beacon_alone_ends_when_an_idle_adapter_receives_the_network(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await asleep(bench, INSTA360)
        began_s = asyncio.get_running_loop().time()
        await bench.hub.bluetooth.wake(device, wait=True)
        assert asyncio.get_running_loop().time() - began_s < 5
        assert power_state(bench, device) is PowerState.AWAKE

    on_bench(test)


def test_a_wake_by_beacon_without_a_free_adapter_does_not_say_that_it_failed(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await asleep(bench, INSTA360)
        for number in (1, 2, 3):
            await bench.connected(number)
        await fails(bench.hub.bluetooth.wake(device, wait=True), WakeFailed, "not known whether it woke")

    on_bench(test)


def test_a_wake_by_beacon_ends_once_an_adapter_is_free_to_look(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await asleep(bench, INSTA360)
        others = [await bench.connected(number) for number in (1, 2, 3)]
        began_s = asyncio.get_running_loop().time()
        waking = asyncio.create_task(bench.hub.bluetooth.wake(device, wait=True))
        await asyncio.sleep(20)
        assert not waking.done()
        await bench.hub.connections.disconnect(others[0])
        await waking
        assert asyncio.get_running_loop().time() - began_s < 30

    on_bench(test)


def test_a_network_that_was_received_before_does_not_end_a_wake_by_beacon(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await asleep(bench, INSTA360)
        bench.clock = lambda: time.time_ns() // 1000 + 60_000_000
        await fails(bench.hub.bluetooth.wake(device, wait=True), WakeFailed, "did not wake within 120 s")

    on_bench(test)


def test_a_paired_camera_is_woken_without_a_free_adapter(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await paired(bench)
        for number in (1, 2, 3):
            await bench.connected(number)
        began_s = asyncio.get_running_loop().time()
        await bench.hub.bluetooth.wake(device, wait=True)
        assert asyncio.get_running_loop().time() - began_s < 5

    on_bench(test)


def test_a_camera_that_has_to_be_paired_is_not_woken_before(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await asleep(bench)
        await fails(bench.hub.bluetooth.wake(device, wait=False), NotPaired)
        await fails(bench.hub.connections.connect(device, wait=True, wake=True), NotPaired)

    on_bench(test)


def test_a_renamed_network_says_why_a_beacon_cannot_wake_its_camera(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await asleep(bench, INSTA360 | {"ssid": "Nose"})
        await fails(bench.hub.bluetooth.wake(device, wait=True), NotSupported, "was renamed")

    on_bench(test)


def test_a_camera_out_of_range_fails_with_a_cause_and_gives_its_adapter_back(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await paired(bench)
        bench.world.set_fault("out-of-range", {"ssid": "GP25140001"})
        await fails(bench.hub.connections.connect(device, wait=True, wake=True), WakeFailed, "out of range")
        assert bench.code(device) == "wake-failed"
        assert status(bench, device).interface is None
        [ended] = bench.story.of(WakeEnded)
        assert isinstance(ended.error, WakeFailed)

    on_bench(test)


@pytest.mark.parametrize(
    ("fault", "kind", "match"),
    [
        (
            "radio-trouble",
            WakeFailed,
            "refused the connection 6 times: if this stays so, it may have forgotten",
        ),
        ("bond-lost", NotPaired, "forgotten"),
    ],
)
def test_a_camera_that_may_have_forgotten_the_hub_stays_paired_and_each_wake_tries_again(
    on_bench: RunOnBench, fault: str, kind: type[WifimgrdError], match: str
) -> None:
    async def test(bench: Bench) -> None:
        device = await paired(bench)
        bench.world.set_fault(fault, {"ssid": "GP25140001"})
        for _ in range(2):
            await fails(bench.hub.bluetooth.wake(device, wait=True), kind, match)
            assert is_paired(bench, device)
        bench.world.set_fault(fault, {"ssid": "GP25140001", "off": True})
        await bench.hub.bluetooth.wake(device, wait=True)

    on_bench(test)


def test_a_few_connections_that_fail_do_not_fail_a_wake(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await paired(bench)
        bench.world.set_fault("radio-trouble", {"ssid": "GP25140001", "connections": 5})
        await bench.hub.bluetooth.wake(device, wait=True)

    on_bench(test)


def test_a_bond_that_the_camera_has_lost_is_made_anew_by_pairing(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await paired(bench)
        bench.world.set_fault("bond-lost", {"ssid": "GP25140001"})
        await fails(bench.hub.bluetooth.wake(device, wait=True), NotPaired, "forgotten")
        await bench.hub.bluetooth.pair(device, wait=True)
        bench.world.sleep_camera(b"GP25140001")
        await bench.hub.bluetooth.search(1)
        await bench.hub.bluetooth.wake(device, wait=True)

    on_bench(test)


def test_a_pairing_among_radio_trouble_keeps_the_bond(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await paired(bench)
        bench.world.set_fault("radio-trouble", {"ssid": "GP25140001", "connections": 6})
        await fails(bench.hub.bluetooth.pair(device, wait=True), PairingFailed, "refused")
        assert is_paired(bench, device)
        await bench.hub.bluetooth.wake(device, wait=True)

    on_bench(test)


def test_a_bond_that_this_host_has_lost_is_told_until_it_is_paired_again(on_bench: RunOnBench) -> None:
    """As by `bluetoothctl remove`."""

    async def test(bench: Bench) -> None:
        device = await paired(bench)
        await bench.world.bluetooth.unpair(status(bench, device).device.bluetooth_address, ADAPTER)
        await fails(bench.hub.bluetooth.wake(device, wait=True), NotPaired, "not paired with this hub")
        assert not is_paired(bench, device)
        await bench.hub.bluetooth.pair(device, wait=True)
        assert is_paired(bench, device)

    on_bench(test)


def test_a_disconnect_ends_a_wake_and_gives_its_adapter_back(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await paired(bench)
        connecting = asyncio.create_task(bench.hub.connections.connect(device, wait=True, wake=True))
        await asyncio.sleep(0.7)
        await bench.hub.connections.disconnect(device)
        await fails(connecting, Cancelled)
        assert status(bench, device).interface is None
        await asyncio.sleep(5)
        assert bench.story.of(WakeEnded) == []

    on_bench(test)


def test_a_disconnect_ends_a_wake_alone_too(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await paired(bench)
        await bench.hub.bluetooth.wake(device, wait=False)
        await asyncio.sleep(0.1)
        await bench.hub.connections.disconnect(device)
        await asyncio.sleep(0.1)
        [failed] = bench.story.of(OperationFailed)
        assert (failed.operation, failed.code) == ("wake", "cancelled")
        assert status(bench, device).phase is None

    on_bench(test)


def test_a_failure_that_nobody_waits_for_is_reported(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await paired(bench)
        bench.world.set_fault("out-of-range", {})
        await bench.hub.bluetooth.wake(device, wait=False)
        await asyncio.sleep(5)
        [failed] = bench.story.of(OperationFailed)
        assert (failed.device_id, failed.operation, failed.code) == (device, "wake", "wake-failed")
        assert bench.story.of(ConnectionFailed) == []

    on_bench(test)


# -- without a command


def test_a_lost_camera_is_woken_if_that_is_allowed_and_at_most_three_times_an_hour(
    on_bench: RunOnBench,
) -> None:
    async def test(bench: Bench) -> None:
        device = await paired(bench, auto_wake=True)
        await bench.hub.connections.connect(device, wait=True)
        bench.story.forget()
        for _ in range(WAKES_PER_HOUR - 1):
            bench.world.sleep_camera(b"GP25140001")
            await asyncio.sleep(60)
            assert bench.state(device) is DeviceState.CONNECTED
        bench.world.sleep_camera(b"GP25140001")
        await asyncio.sleep(600)
        assert bench.state(device) is DeviceState.DISCONNECTED
        await asyncio.sleep(3600)
        assert bench.state(device) is DeviceState.CONNECTED

    on_bench(test)


@pytest.mark.parametrize("fault", ["radio-trouble", "bond-lost", "out-of-range"])
def test_a_lost_camera_that_does_not_answer_is_tried_again_after_1_and_5_minutes_and_each_half_hour(
    on_bench: RunOnBench, fault: str
) -> None:
    async def test(bench: Bench) -> None:
        device = await paired(bench, auto_wake=True)
        await bench.hub.connections.connect(device, wait=True)
        bench.world.sleep_camera(b"GP25140001")
        bench.world.set_fault(fault, {"ssid": "GP25140001"})
        began_s, wake = list[float](), bench.world.bluetooth.wake

        async def timed(request: WakeRequest) -> None:
            began_s.append(asyncio.get_running_loop().time())
            await wake(request)

        bench.world.bluetooth.wake = timed  # type: ignore[method-assign]
        await asyncio.sleep(1.5 * 3600)
        pauses_s = [after_s - before_s for before_s, after_s in pairwise(began_s)]
        for pause_s, wanted_s in zip(pauses_s, (60, 300, 1800, 1800), strict=True):
            assert wanted_s <= pause_s < wanted_s + 120  # a lost camera is looked for from time to time
        bench.world.set_fault(fault, {"ssid": "GP25140001", "off": True})
        await asyncio.sleep(1800 + 120)
        assert bench.state(device) is DeviceState.CONNECTED

    on_bench(test)


def test_a_connect_by_a_client_wakes_a_camera_that_has_just_not_answered(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await paired(bench, auto_wake=True)
        bench.world.set_fault("radio-trouble", {"connections": 6})
        await fails(bench.hub.connections.connect(device, wait=True), WakeFailed, "refused")
        await bench.hub.connections.connect(device, wait=True)

    on_bench(test)


def test_without_that_a_lost_camera_is_not_woken(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await paired(bench)
        await bench.hub.connections.connect(device, wait=True, wake=True)
        bench.story.forget()
        bench.world.sleep_camera(b"GP25140001")
        await asyncio.sleep(600)
        assert bench.state(device) is DeviceState.DISCONNECTED
        assert bench.story.of(WakeEnded) == []

    on_bench(test)


def test_without_bluetooth_everything_else_works(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await paired(bench, auto_wake=True)
        bench.world.set_fault("bluetooth-off", {})
        [changed] = bench.story.of(BluetoothChanged)
        assert changed.status.state is BluetoothState.OFF
        await fails(bench.hub.bluetooth.search(1), BluetoothUnavailable, "switched off")
        await fails(bench.hub.bluetooth.wake(device, wait=False), BluetoothUnavailable)
        await fails(bench.hub.connections.connect(device, wait=True), DeviceNotReachable)
        bench.world.power_on_camera(b"GP25140001")
        await bench.hub.connections.connect(device, wait=True)

    on_bench(test)


def test_what_bluetooth_lacked_is_looked_for_again_by_the_next_command(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await paired(bench)
        bench.world.set_fault("bluetooth-off", {})

        async def look_again() -> None:
            bench.world.set_fault("bluetooth-off", {"off": True})

        bench.world.bluetooth.look_again = look_again  # type: ignore[method-assign]
        await bench.hub.bluetooth.wake(device, wait=True)

    on_bench(test)


# -- sleep


def test_sleep_disconnects_and_leaves_it_so(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await paired(bench)
        await bench.hub.connections.connect(device, wait=True, wake=True)
        await bench.hub.bluetooth.sleep(device, wait=True)
        assert power_state(bench, device) is PowerState.ASLEEP
        await asyncio.sleep(600)
        assert bench.state(device) is DeviceState.DISCONNECTED

    on_bench(test)


def test_what_cannot_be_woken_again_is_not_put_to_sleep(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await asleep(bench, INSTA360)
        await fails(bench.hub.bluetooth.sleep(device, wait=True), NotSupported)

    on_bench(test)


def test_two_different_commands_for_one_camera_are_refused(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await paired(bench)
        await bench.hub.bluetooth.wake(device, wait=False)
        await fails(bench.hub.bluetooth.pair(device, wait=False), Busy, "wake")

    on_bench(test)


# -- pairing


def test_pairing_takes_the_only_camera_of_its_model_in_pairing_mode(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await asleep(bench)
        await bench.hub.bluetooth.pair(device, wait=True)
        assert status(bench, device).device.bluetooth_address.startswith(ADDRESS)
        power = status(bench, device).power
        assert power is not None
        assert power.is_paired

    on_bench(test)


def test_of_several_cameras_in_pairing_mode_one_has_to_be_named(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        bench.world.add_camera(
            b"GP25140002",
            "gopro-pass-2",
            {"bluetooth": "gopro", "bluetooth_name": "GoPro 0002", "asleep": True},
        )
        device = await asleep(bench)
        await fails(bench.hub.bluetooth.pair(device, wait=True), PairingFailed, "GoPro 0001.*GoPro 0002")
        other = next(one for one in bench.hub.bluetooth.records() if one.name == "GoPro 0002")
        await fails(
            bench.hub.bluetooth.pair(device, wait=True, address=other.address),
            PairingFailed,
            'has the network "GP25140002"',
        )
        own = next(one for one in bench.hub.bluetooth.records() if one.name == "GoPro 0001")
        await bench.hub.bluetooth.pair(device, wait=True, address=own.address.lower())

    on_bench(test)


def test_a_camera_of_another_device_is_none_of_the_several(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        await paired(bench)
        second = {"ssid": "GP25140002", "password": "gopro-pass-2"}
        bench.world.add_camera(
            second["ssid"].encode(),
            second["password"],
            {"bluetooth": "gopro", "bluetooth_name": "GoPro 0002", "asleep": True},
        )
        device = await asleep(bench, GOPRO | second)
        await bench.hub.bluetooth.pair(device, wait=True)
        other = next(one for one in bench.hub.bluetooth.records() if one.name == "GoPro 0002")
        assert status(bench, device).device.bluetooth_address == other.address

    on_bench(test)


def test_a_crowd_in_pairing_mode_makes_no_endless_error(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await asleep(bench)
        bench.bluetooth_events.advertised(
            [
                Advertiser(f"02:00:00:00:00:{n:02X}", "x" * 248, "fea6", -50, pairing_mode=True)
                for n in range(256)
            ]
        )
        with pytest.raises(PairingFailed, match="and 248 more") as raised:
            await bench.hub.bluetooth.pair(device, wait=True)
        assert len(raised.value.message) < 1000

    on_bench(test)


def test_a_camera_whose_model_does_not_tell_is_not_put_to_sleep_by_others(on_bench: RunOnBench) -> None:
    """Anybody can advertise its name, with another maker's service and state."""

    async def test(bench: Bench) -> None:
        device = await asleep(bench, INSTA360)
        bench.bluetooth_events.advertised(
            [Advertiser("02:00:00:00:00:01", "X4 SIM360", "fea6", -50, PowerState.AWAKE)]
        )
        assert power_state(bench, device) is None
        await bench.hub.bluetooth.wake(device, wait=True)
        assert len(bench.story.of(WakeEnded)) == 1

    on_bench(test)


def test_a_device_that_is_removed_while_its_camera_is_paired_leaves_no_keys(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await asleep(bench)
        update, removed = bench.store.update, asyncio.Event()

        async def update_late(before: Device, after: Device, *more: Any, **options: Any) -> None:
            """The disk has the removal first."""
            await removed.wait()
            await update(before, after, *more, **options)

        bench.store.update = update_late  # type: ignore[method-assign]
        pairing = asyncio.create_task(bench.hub.bluetooth.pair(device, wait=True))
        await asyncio.sleep(10)
        assert bench.world.bluetooth.bonded
        await bench.hub.remove(device)
        removed.set()
        await asyncio.wait((pairing,))
        assert isinstance(pairing.exception(), Cancelled | DeviceNotFound)
        await asyncio.sleep(1)
        assert not bench.world.bluetooth.bonded

    on_bench(test)


def test_a_camera_that_wakes_and_has_no_wifi_says_so(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await paired(bench)
        bench.world.bluetooth.on_wake = lambda _: None
        await fails(
            bench.hub.connections.connect(device, wait=True, wake=True), WakeFailed, "network did not appear"
        )
        assert status(bench, device).interface is None

    on_bench(test)


def test_an_address_that_is_none_is_refused(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await asleep(bench)
        await fails(bench.hub.bluetooth.pair(device, wait=True, address="here"), InvalidRequest, "address")

    on_bench(test)


def test_unpairing_ends_a_pairing_and_forgets_the_camera(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await asleep(bench)
        pairing = asyncio.create_task(bench.hub.bluetooth.pair(device, wait=True))
        await asyncio.sleep(0.1)
        await bench.hub.bluetooth.unpair(device)
        await fails(pairing, Cancelled)
        await bench.hub.bluetooth.pair(device, wait=True)
        await bench.hub.bluetooth.unpair(device)
        power = status(bench, device).power
        assert power is not None
        assert power.is_paired is False
        assert not status(bench, device).device.bluetooth_address

    on_bench(test)


def test_removing_a_device_removes_the_keys_of_its_camera(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await paired(bench)
        await bench.hub.remove(device)
        await asyncio.sleep(0.1)
        assert bench.world.bluetooth.bonded == set()

    on_bench(test)


def test_a_removed_device_ends_its_wake(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await paired(bench)
        await bench.hub.bluetooth.wake(device, wait=False)
        await bench.hub.remove(device)
        await asyncio.sleep(SEEN_S + 5)
        assert bench.story.of(WakeEnded) == []

    on_bench(test)


def test_a_wake_that_a_connect_ends_at_once_is_over(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await paired(bench)
        results = await asyncio.gather(
            bench.hub.bluetooth.wake(device, wait=False),
            bench.hub.connections.connect(device, wait=False),
            return_exceptions=True,
        )
        assert list(results) == [None, None]
        await asyncio.sleep(120)
        bench.world.sleep_camera(GOPRO["ssid"].encode())
        await bench.hub.bluetooth.search(5)
        await bench.hub.bluetooth.wake(device, wait=True)

    on_bench(test)


def test_a_wake_that_a_disconnect_ends_at_once_is_not_shown_any_more(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await paired(bench)
        wake = asyncio.create_task(bench.hub.bluetooth.wake(device, wait=True))
        disconnect = asyncio.create_task(bench.hub.connections.disconnect(device))
        results = await asyncio.gather(wake, disconnect, return_exceptions=True)
        assert isinstance(results[0], Cancelled)
        assert status(bench, device).phase is None
        await bench.hub.bluetooth.sleep(device, wait=True)

    on_bench(test)


def test_a_wake_is_refused_where_the_device_begins_to_connect_while_bluetooth_is_looked_for(
    on_bench: RunOnBench,
) -> None:
    async def test(bench: Bench) -> None:
        device = await paired(bench)
        looked = asyncio.Event()

        async def look_again() -> None:
            await looked.wait()
            bench.world.set_fault("bluetooth-off", {"off": True})

        bench.world.set_fault("bluetooth-off", {})
        bench.world.bluetooth.look_again = look_again  # type: ignore[method-assign]
        wake = asyncio.create_task(bench.hub.bluetooth.wake(device, wait=False))
        await asyncio.sleep(0)
        bench.world.set_fault("slow-join", {"seconds": 10})
        await bench.hub.connections.connect(device, wait=False)
        looked.set()
        with pytest.raises(Busy):
            await wake

    on_bench(test)
