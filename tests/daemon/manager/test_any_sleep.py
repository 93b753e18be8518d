"""Whatever people, cameras that sleep and Bluetooth do, in whatever order, the hub's story stays true."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, rule

from tests.daemon.manager.test_any_life import (
    BEFORE,
    DEVICES,
    MOMENTS,
    RULES,
    USUALLY,
    AnyLife,
    as_clients_see,
)
from tests.soak import examples
from wifimgrd.config import catalog
from wifimgrd.daemon.manager.settings import HubSettings
from wifimgrd.domain.device import DeviceId, DeviceState
from wifimgrd.domain.reservation import ReservationRule

MODELS = catalog.load()
GOPRO, OTHER_GOPRO = b"GP25140001", b"GP25140002"
INSTA360, THETA = b"X4 SIM360.OSC", b"THETAYR12345678.OSC"
TYPED: dict[bytes, dict[str, object]] = {
    GOPRO: {"codename": "gopro-hero12", "password": "gopro-pass-1"},
    OTHER_GOPRO: {"codename": "gopro-hero12", "password": "gopro-pass-2"},
    INSTA360: {"codename": "insta360-x4", "password": "insta-pass-1"},
    THETA: {"codename": "ricoh-theta-x", "password": "12345678"},
}
SLEEPERS = st.sampled_from(list(TYPED))
ABSENT = "02:00:00:00:00:99"


class AnySleep(AnyLife):
    """The same world, with cameras that sleep."""

    @initialize()
    def begin(self) -> None:
        super().begin()
        hub, run = self.bench.hub, self.runner.run
        run(hub.reconfigure(HubSettings(reserve=BEFORE, models=MODELS)))
        self.bench.world.add_camera(
            OTHER_GOPRO,
            "gopro-pass-2",
            {"bluetooth": "gopro", "bluetooth_name": "GoPro 0002", "asleep": True},
        )
        run(hub.bluetooth.search(1))
        self.addresses = [one.address for one in hub.bluetooth.records()] + [ABSENT]

    def teardown(self) -> None:
        super().teardown()
        if hasattr(self, "runner"):
            devices = self.bench.story.devices.values()
            assert all(one.phase is None for one in devices if one.state is DeviceState.DISCONNECTED)
            paired = [one.device.bluetooth_address for one in devices if one.device.bluetooth_address]
            assert len(paired) == len(set(paired))
            assert self.bench.world.bluetooth.bonded == set(paired), "keys without a device, or the reverse"

    @rule(reserve=st.lists(RULES, max_size=2).map(tuple))
    def reload(self, reserve: tuple[ReservationRule, ...]) -> None:
        self.runner.run(self.bench.hub.reconfigure(HubSettings(reserve=reserve, models=MODELS)))

    @rule(ssid=SLEEPERS, auto_wake=st.booleans(), seconds=MOMENTS)
    def register(self, ssid: bytes, auto_wake: bool, seconds: float) -> None:
        fields = {"connection_type": "wifi", "ssid": ssid, "auto_wake": auto_wake} | TYPED[ssid]
        self.send(self.bench.hub.create(fields), seconds)

    @rule(number=st.integers(0, 4), key=st.none() | st.just("key"), seconds=MOMENTS)
    def register_by_pairing(self, number: int, key: str | None, seconds: float) -> None:
        fields: dict[str, object] = {"bluetooth_address": self.addresses[number]}
        self.send(self.bench.hub.create(fields | ({"idempotency_key": key} if key else {})), seconds)

    @rule(device_id=DEVICES, number=st.none() | st.integers(0, 4), wait=st.booleans(), seconds=MOMENTS)
    def pair(self, device_id: DeviceId, number: int | None, wait: bool, seconds: float) -> None:
        address = None if number is None else self.addresses[number]
        self.send(self.bench.hub.bluetooth.pair(device_id, wait=wait, address=address), seconds)

    @rule(device_id=DEVICES, seconds=MOMENTS)
    def unpair(self, device_id: DeviceId, seconds: float) -> None:
        self.send(self.bench.hub.bluetooth.unpair(device_id), seconds)

    @rule(device_id=DEVICES, wait=st.booleans(), seconds=MOMENTS)
    def wake(self, device_id: DeviceId, wait: bool, seconds: float) -> None:
        self.send(self.bench.hub.bluetooth.wake(device_id, wait=wait), seconds)

    @rule(device_id=DEVICES, wait=st.booleans(), seconds=MOMENTS)
    def sleep(self, device_id: DeviceId, wait: bool, seconds: float) -> None:
        self.send(self.bench.hub.bluetooth.sleep(device_id, wait=wait), seconds)

    @rule(device_id=DEVICES, wait=st.booleans(), seconds=MOMENTS)
    def connect_and_wake(self, device_id: DeviceId, wait: bool, seconds: float) -> None:
        self.send(self.bench.hub.connections.connect(device_id, wait=wait, wake=True), seconds)

    @rule(seconds=MOMENTS)
    def search(self, seconds: float) -> None:
        self.send(self.bench.hub.bluetooth.search(5), seconds)

    @rule(ssid=SLEEPERS)
    def fall_asleep(self, ssid: bytes) -> None:
        self.act(self.bench.world.sleep_camera, ssid)

    @rule(kind=st.sampled_from(["bond-lost", "out-of-range", "radio-trouble"]), ssid=SLEEPERS, off=USUALLY)
    def bluetooth_fault(self, kind: str, ssid: bytes, off: bool) -> None:
        self.act(self.bench.world.set_fault, kind, {"ssid": ssid.decode(), "off": off})

    @rule(off=USUALLY)
    def bluetooth_off(self, off: bool) -> None:
        self.act(self.bench.world.set_fault, "bluetooth-off", {"off": off})

    @invariant()
    def the_story_is_the_truth(self) -> None:
        if hasattr(self, "bench"):
            reported = self.bench.story.devices
            assert [seen(status) for status in self.bench.hub.device_statuses()] == [
                seen(reported[device]) for device in sorted(reported)
            ]


def seen(status: Any) -> Any:
    """As clients see it: when a camera was seen is published later."""
    power = status.power and replace(status.power, seen_us=0)
    return replace(as_clients_see(status), power=power)


TestAnySleep = AnySleep.TestCase
TestAnySleep.settings = settings(max_examples=examples(50), stateful_step_count=50)
