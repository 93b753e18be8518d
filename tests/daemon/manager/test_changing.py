"""Everything that was said of a device can be changed; names are unique, pins are kept."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from tests.daemon.manager.conftest import Bench, RunOnBench, make_bench
from tests.daemon.store.samples import SECRET, draft
from tests.store_in_memory import StoreInMemory
from tests.virtual_time import VirtualTimeLoop
from wifimgrd.daemon.manager.settings import HubSettings
from wifimgrd.domain.adapter import NO_PIN, AdapterPin
from wifimgrd.domain.device import Device, DeviceId, DeviceState
from wifimgrd.domain.errors import InvalidRequest
from wifimgrd.domain.reservation import ReservationRule


def run(test: Coroutine[Any, Any, None]) -> None:
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        runner.run(test)


def device_of(bench: Bench, device_id: DeviceId) -> Device:
    return bench.story.devices[device_id].device


def warnings_of(bench: Bench, device_id: DeviceId) -> tuple[str, ...]:
    return bench.story.devices[device_id].warnings


def test_everything_can_be_changed_at_once(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await bench.create()
        wanted = {
            "name": "Nose",
            "ssid": "ELSE",
            "codename": "insta360-x4",
            "priority": 7,
            "auto_reconnect": False,
            "pin": {"usb_port": "1-1.2"},
        }
        await bench.hub.update(device, wanted)
        now = device_of(bench, device)
        assert (now.name, now.ssid.text, now.codename, now.priority) == ("Nose", "ELSE", "insta360-x4", 7)
        assert (now.auto_reconnect, now.pin) == (False, AdapterPin(usb_port="1-1.2"))
        assert bench.store.devices[device] == now
        await bench.hub.update(device, {"pin": {}})
        assert device_of(bench, device).pin == NO_PIN

    on_bench(test)


@pytest.mark.parametrize(
    "pin", ["wlan0", ["mac"], {"mac": "nonsense"}, {"usb_port": "a"}, {"mac": 1}, {"name": "wlan0"},
            {"mac": "02:00:00:00:00:00", "usb_port": "1-1"}]
)  # fmt: skip
def test_a_pin_names_a_mac_address_or_a_usb_port(on_bench: RunOnBench, pin: object) -> None:
    async def test(bench: Bench) -> None:
        device = await bench.create()
        with pytest.raises(InvalidRequest) as refused:
            await bench.hub.update(device, {"pin": pin})
        assert list(refused.value.fields) == ["pin"]

    on_bench(test)


def test_a_taken_name_is_refused_on_creation_and_on_change(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        await bench.create(1, name="Front")
        second = await bench.create(2, name="Tail")
        for attempt in (bench.create(3, name="Front"), bench.hub.update(second, {"name": "Front"})):
            with pytest.raises(InvalidRequest) as refused:
                await attempt
            assert refused.value.fields == {"name": ('Another camera is already named "Front".',)}
        await bench.hub.update(second, {"name": "Tail", "priority": 1})
        assert len(bench.story.devices) == 2

    on_bench(test)


def test_of_two_that_want_one_name_at_once_one_has_it(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        devices = [await bench.create(number) for number in (1, 2)]
        changes = [bench.hub.update(device, {"name": "Front"}) for device in devices]
        ended = await asyncio.gather(*changes, bench.create(3, name="Front"), return_exceptions=True)
        assert sorted(isinstance(one, InvalidRequest) for one in ended) == [False, True, True]
        assert [one.device.name for one in bench.story.devices.values()].count("Front") == 1

    on_bench(test)


def test_duplicates_of_before_are_renamed_in_order_of_id() -> None:
    async def test() -> None:
        store = StoreInMemory()
        for name in ("Front", "Front #2", "Front", "Front", "Tail"):
            await store.add(draft(name), SECRET)
        bench = make_bench(store=store)
        await bench.hub.start()
        names = [one.device.name for one in bench.hub.device_statuses()]
        assert names == ["Front", "Front #2", "Front #3", "Front #4", "Tail"]
        assert [one.name for one in store.devices.values()] == names
        await bench.hub.stop()

    run(test())


def test_a_network_that_is_registered_twice_is_allowed_with_a_warning(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        first = await bench.create(1, name="Front")
        assert warnings_of(bench, first) == ()
        second = await bench.create(1, name="Tail")
        assert warnings_of(bench, second) == ('The network "SIM-CAM-1" is also registered for "Front".',)
        assert warnings_of(bench, first) == ('The network "SIM-CAM-1" is also registered for "Tail".',)
        await bench.hub.update(first, {"name": "Nose"})
        assert '"Nose"' in warnings_of(bench, second)[0]
        await bench.hub.update(second, {"ssid": "SIM-CAM-2"})
        assert warnings_of(bench, first) == warnings_of(bench, second) == ()
        await bench.hub.update(second, {"ssid": "SIM-CAM-1"})
        await bench.hub.remove(first)
        assert warnings_of(bench, second) == ()

    on_bench(test)


def test_a_pinned_adapter_is_kept_for_its_device(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        first, second = await bench.connected(1), await bench.create(2)
        await bench.hub.connections.disconnect(first)
        await bench.hub.connections.disconnect(second)
        for adapter in ("wlan1", "wlan2"):
            bench.world.unplug_adapter(adapter)
        await bench.hub.update(second, {"pin": {"mac": "02:00:00:00:00:00"}})
        await bench.hub.connections.connect(first, wait=False, when_free=True)
        assert device_of(bench, first).waiting_since_us
        await bench.hub.connections.connect(second, wait=True)
        assert bench.story.devices[second].interface == "wlan0"
        await bench.hub.connections.disconnect(second)
        await asyncio.sleep(5)
        assert bench.state(first) is DeviceState.DISCONNECTED
        await bench.hub.update(second, {"pin": {}})
        await asyncio.sleep(5)
        assert bench.state(first) is DeviceState.CONNECTED

    on_bench(test)


def test_a_pin_outlives_a_restart_and_ends_with_its_device() -> None:
    async def test() -> None:
        store = StoreInMemory()
        pinned = await store.add(draft("A", b"SIM-CAM-1"), SECRET)
        other = await store.add(draft("B", b"SIM-CAM-2"), SECRET)
        store.devices[pinned.id] = Device(pinned.id, "A", "x", pinned.ssid, pin=AdapterPin(usb_port="1-1.1"))
        bench = make_bench(store=store)
        for adapter in ("wlan1", "wlan2"):
            bench.world.unplug_adapter(adapter)
        await bench.hub.start()
        bench.story.devices = {one.device.id: one for one in bench.hub.device_statuses()}
        await bench.hub.connections.connect(other.id, wait=False, when_free=True)
        assert device_of(bench, other.id).waiting_since_us
        await bench.hub.remove(pinned.id)
        await asyncio.sleep(1)
        assert not device_of(bench, other.id).waiting_since_us
        await bench.hub.stop()

    run(test())


@pytest.mark.parametrize(
    ("rule", "used"),
    [
        (ReservationRule("Front", AdapterPin(usb_port="1-1.3")), False),
        (ReservationRule(DeviceId(1), AdapterPin(usb_port="1-1.3")), False),
        (ReservationRule("Tail", AdapterPin(usb_port="1-1.1")), False),
        (ReservationRule("Tial", AdapterPin(usb_port="1-1.1")), True),
        (ReservationRule("Front", AdapterPin(usb_port="1-1.1")), True),
        (ReservationRule("Tail", AdapterPin(usb_port="1-1.3")), True),
    ],
)
def test_the_configurations_pin_goes_before_and_says_so(rule: ReservationRule, used: bool) -> None:
    async def test() -> None:
        bench = make_bench(HubSettings(reserve=(rule,)))
        await bench.hub.start()
        device = await bench.create(1, name="Front")
        await bench.create(2, name="Tail")
        await bench.hub.update(device, {"pin": {"usb_port": "1-1.1"}})
        reported = warnings_of(bench, device)
        if used:
            assert reported == ()
        else:
            assert reported == (
                "It is pinned to the adapter at USB port 1-1.1, "
                "but a pin in the configuration takes precedence.",
            )
        assert (bench.story.interfaces["wlan0"].interface.reserved_for == device) is used
        await bench.hub.stop()

    run(test())


def test_a_removal_that_overtakes_a_change_of_the_network_leaves_no_warning(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        first, second = await bench.create(1, name="Front"), await bench.create(1, name="Tail")
        changing = asyncio.ensure_future(bench.hub.update(second, {"ssid": "SIM-CAM-2"}))
        await asyncio.sleep(0)
        await bench.hub.remove(second)
        await changing
        assert warnings_of(bench, first) == bench.hub_state.status(bench.entry(first)).warnings == ()

    on_bench(test)
