"""Which adapter is reserved for whom, as clients see it, through everything that changes it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace

import pytest
from structlog.testing import capture_logs

from tests.daemon.manager.conftest import Bench, RunOnBench, make_bench
from tests.daemon.manager.test_changing import run, warnings_of
from tests.daemon.manager.test_reconnecting import CAMERA, LOST_FOR_GOOD_S
from wifimgrd.daemon.manager.settings import HubSettings
from wifimgrd.domain import sentences
from wifimgrd.domain.adapter import AdapterIdentity, AdapterPin
from wifimgrd.domain.device import DeviceId, DeviceState
from wifimgrd.domain.errors import NoInterfaceAvailable
from wifimgrd.domain.events import UnmatchedReservationsChanged
from wifimgrd.domain.interface import InterfaceState
from wifimgrd.domain.reservation import AbsentAdapter, ReservationRule

PORT = {"usb_port": "1-1.3"}
RULE = ReservationRule("Nose", AdapterPin(usb_port="1-1.3"))
NO_NOSE = (
    'the adapter at USB port 1-1.3 is to be reserved for a camera named "Nose", but there is no such camera, '
    "so any camera can use it"
)
NOTHING_AT_9 = "It has the adapter at USB port 9-9 reserved, but no such adapter is plugged in."


def reserved(bench: Bench) -> dict[str, DeviceId]:
    """By interface, as published."""
    found = {name: one.interface.reserved_for for name, one in bench.story.interfaces.items()}
    return {name: device for name, device in found.items() if device is not None}


def logged(entries: Sequence[Mapping[str, object]]) -> list[object]:
    events = ("adapter_not_kept", "reserved_for_no_device")
    return [one["reason"] for one in entries if one["event"] in events]


async def by_a_pin(bench: Bench) -> DeviceId:
    device = await bench.create(1, name="Nose")
    await bench.hub.connections.disconnect(device)
    await bench.hub.update(device, {"pin": PORT})
    return device


async def by_a_rule(bench: Bench) -> DeviceId:
    await bench.hub.reconfigure(HubSettings(reserve=(RULE,)))
    device = await bench.create(1, name="Nose")
    await bench.hub.connections.disconnect(device)
    return device


def test_a_rule_for_a_name_that_looks_like_an_id_says_how_an_id_is_written() -> None:
    sentence = sentences.reserved_for_no_device(RULE.pin, "3")
    assert sentence.endswith("(an id has no quotation marks: 3)")


def test_clients_see_which_rules_name_no_device(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        def published() -> list[tuple[str, ...]]:
            return [one.sentences for one in bench.story.of(UnmatchedReservationsChanged)]

        await bench.hub.reconfigure(HubSettings(reserve=(RULE,)))
        assert published() == [(NO_NOSE,)]
        device = await bench.create(1, name="Nose")
        assert published() == [(NO_NOSE,), ()]
        await bench.hub.update(device, {"name": "Tail"})
        assert published()[-1] == bench.hub.unmatched_reservations == (NO_NOSE,)

    on_bench(test)


@pytest.mark.parametrize("reserve", [by_a_pin, by_a_rule])
def test_a_reserved_adapter_is_available_and_not_free(
    on_bench: RunOnBench, reserve: Callable[[Bench], Awaitable[DeviceId]]
) -> None:
    async def test(bench: Bench) -> None:
        nose = await reserve(bench)
        assert reserved(bench) == {"wlan2": nose}
        assert bench.story.interfaces["wlan2"].state is InterfaceState.AVAILABLE
        assert bench.hub.interface_counts.free == 2
        assert bench.hub.summary() == (
            "1 device, 0 connected, 2 of 3 interfaces free, wlan2 reserved for Nose"
        )
        for number in (2, 3):
            await bench.connected(number)
        late = await bench.hub.create(
            {"codename": "x", "connection_type": "wifi", "ssid": "SIM-CAM-4", "password": "camera-pass-4"}
        )
        with pytest.raises(NoInterfaceAvailable, match=r'wlan2 \(reserved for "Nose"'):
            await bench.hub.connections.connect(late, wait=True)
        await bench.hub.connections.connect(nose, wait=True)
        assert bench.story.interfaces["wlan2"].device_id == nose
        assert bench.hub.summary() == "4 devices, 3 connected, 0 of 3 interfaces free"

    on_bench(test)


def test_the_status_line_names_three_reserved_interfaces(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        bench.world.plug_adapter("wlan3")
        await asyncio.sleep(1)
        for number in range(1, 5):
            device = await bench.create(number)
            await bench.hub.update(device, {"pin": {"mac": f"02:00:00:00:00:0{number - 1}"}})
            await bench.hub.connections.disconnect(device)
        assert bench.hub.summary() == (
            "4 devices, 0 connected, 0 of 4 interfaces free, wlan0 reserved for SIM-CAM-1, "
            "wlan1 reserved for SIM-CAM-2, wlan2 reserved for SIM-CAM-3, 1 more reserved"
        )

    on_bench(test)


def test_a_rule_of_the_configuration_follows_the_names_of_devices(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        await bench.hub.reconfigure(HubSettings(reserve=(RULE,)))
        assert reserved(bench) == {}
        assert bench.hub.interface_counts.free == 3
        device = await bench.create(1, name="Tail")
        assert reserved(bench) == {}
        await bench.hub.update(device, {"name": "Nose"})
        assert reserved(bench) == {"wlan2": device}
        with capture_logs() as entries:
            await bench.hub.update(device, {"name": "Tail"})
        assert reserved(bench) == {}
        assert logged(entries) == [NO_NOSE]
        second = await bench.create(2, name="Nose")
        assert reserved(bench) == {"wlan2": second}
        with capture_logs() as entries:
            await bench.hub.remove(second)
        assert reserved(bench) == {}
        assert logged(entries) == [NO_NOSE]

    on_bench(test)


def test_a_reload_changes_what_is_reserved_and_logs_what_cannot_be(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await bench.create(1, name="Nose")
        rule_of_9 = ReservationRule(device, AdapterPin(usb_port="9-9"))
        rule_of_7 = ReservationRule(DeviceId(7), AdapterPin(mac="02:00:00:00:00:01"))
        with capture_logs() as entries:
            await bench.hub.reconfigure(HubSettings(reserve=(RULE, rule_of_9, rule_of_7)))
        assert reserved(bench) == {"wlan2": device}
        no_device_7 = (
            "the adapter 02:00:00:00:00:01 is to be reserved for a camera with the id 7, "
            "but there is no such camera, so any camera can use it"
        )
        assert logged(entries) == [NOTHING_AT_9, no_device_7]
        assert warnings_of(bench, device) == (NOTHING_AT_9,)
        with capture_logs() as entries:
            await bench.hub.reconfigure(HubSettings(reserve=(RULE, rule_of_9, rule_of_7)))
        assert logged(entries) == [NOTHING_AT_9, no_device_7]
        with capture_logs() as entries:
            await bench.hub.reconfigure(HubSettings())
        assert (reserved(bench), warnings_of(bench, device), logged(entries)) == ({}, (), [])

    on_bench(test)


def test_a_start_logs_what_cannot_be_reserved() -> None:
    async def test() -> None:
        bench = make_bench(HubSettings(reserve=(RULE,)))
        with capture_logs() as entries:
            await bench.hub.start()
        assert logged(entries) == [NO_NOSE]
        await bench.hub.stop()

    run(test())


def test_a_pin_to_a_port_without_an_adapter_is_warned_of_until_one_is_there(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await bench.create(1, name="Nose")
        with capture_logs() as entries:
            await bench.hub.update(device, {"pin": {"usb_port": "9-9"}})
        assert logged(entries) == [NOTHING_AT_9]
        assert warnings_of(bench, device) == (NOTHING_AT_9,)
        await bench.hub.update(device, {"pin": PORT})
        assert warnings_of(bench, device) == ()
        bench.world.unplug_adapter("wlan2")
        assert "1-1.3 reserved, but no such" in warnings_of(bench, device)[0]
        bench.world.plug_adapter("wlan2")
        assert warnings_of(bench, device) == ()
        assert reserved(bench) == {"wlan2": device}

    on_bench(test)


def test_a_reservation_of_a_port_follows_the_adapters_in_it(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await bench.create(1, name="Nose")
        await bench.hub.update(device, {"pin": PORT})
        adapter = bench.story.interfaces["wlan2"].interface.adapter
        moved = replace(adapter, identity=AdapterIdentity(adapter.identity.mac, "9-9"))
        bench.adapter_events.adapter_present(moved)
        assert reserved(bench) == {}
        assert "1-1.3 reserved, but no such" in warnings_of(bench, device)[0]
        bench.adapter_events.adapter_present(adapter)
        assert reserved(bench) == {"wlan2": device}
        assert warnings_of(bench, device) == ()

    on_bench(test)


def test_of_two_pins_to_one_adapter_the_first_devices_counts_and_the_other_is_warned(
    on_bench: RunOnBench,
) -> None:
    async def test(bench: Bench) -> None:
        first, second = await bench.create(1, name="Nose"), await bench.create(2, name="Tail")
        await bench.hub.update(first, {"pin": PORT})
        await bench.hub.update(second, {"pin": {"mac": "02:00:00:00:00:02"}})
        assert reserved(bench) == {"wlan2": first}
        said = 'It is pinned to the adapter 02:00:00:00:00:02, but that is reserved for "{}".'
        assert warnings_of(bench, second) == (said.format("Nose"),)
        await bench.hub.update(first, {"name": "Front"})
        assert warnings_of(bench, second) == (said.format("Front"),)
        await bench.hub.remove(first)
        assert reserved(bench) == {"wlan2": second}
        assert warnings_of(bench, second) == ()

    on_bench(test)


def test_of_two_pins_to_one_adapter_that_is_away_the_first_devices_counts(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        first, second = await bench.create(1, name="Nose"), await bench.create(2, name="Tail")
        for device in (first, second):
            await bench.hub.connections.disconnect(device)
            await bench.hub.update(device, {"pin": PORT})
        bench.world.unplug_adapter("wlan2")
        assert [one.device for one in bench.story.absent] == [first]
        said = 'It is pinned to the adapter at USB port 1-1.3, but that is reserved for "Nose".'
        assert warnings_of(bench, second) == (said,)

    on_bench(test)


def test_a_lost_camera_is_brought_back_through_the_only_adapter_which_is_reserved_for_it(
    on_bench: RunOnBench,
) -> None:
    async def test(bench: Bench) -> None:
        device = await bench.connected(1)
        await bench.hub.update(device, {"pin": {"usb_port": "1-1.1"}})
        for adapter in ("wlan1", "wlan2"):
            bench.world.unplug_adapter(adapter)
        bench.world.power_off_camera(CAMERA, orderly=True)
        await asyncio.sleep(LOST_FOR_GOOD_S)
        assert bench.hub.interface_counts.free == 0
        bench.world.power_on_camera(CAMERA)
        await asyncio.sleep(100)
        assert bench.state(device) is DeviceState.CONNECTED

    on_bench(test)


@pytest.mark.parametrize("reserve", [by_a_pin, by_a_rule])
def test_a_reserved_adapter_that_is_unplugged_is_shown_as_away_and_counts_nowhere(
    on_bench: RunOnBench, reserve: Callable[[Bench], Awaitable[DeviceId]]
) -> None:
    async def test(bench: Bench) -> None:
        device = await reserve(bench)
        assert not bench.hub.absent_adapters
        bench.world.unplug_adapter("wlan2")
        [absent] = bench.story.absent
        assert (absent.device, absent.pin, absent.interface) == (device, RULE.pin, "wlan2")
        assert absent.product == "Simulated 802.11ac adapter"
        assert absent.unplugged_us > 0
        assert list(bench.hub.absent_adapters) == [absent]
        assert bench.hub.interface_counts.total == len(bench.story.interfaces) == 2
        bench.world.plug_adapter("wlan2")
        assert not bench.story.absent
        assert not bench.hub.absent_adapters

    on_bench(test)


def test_an_adapter_that_was_never_there_is_away_until_no_device_has_it(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        device = await bench.create(1)
        await bench.hub.update(device, {"pin": {"usb_port": "9-9"}})
        assert bench.story.absent == (AbsentAdapter(device, AdapterPin(usb_port="9-9")),)
        bench.world.unplug_adapter("wlan2")
        assert [one.device for one in bench.story.absent] == [device, None], "an adapter of nobody"
        await bench.hub.update(device, {"pin": PORT})
        [absent] = bench.story.absent
        assert (absent.device, absent.interface) == (device, "wlan2"), "which was unplugged before"
        await bench.hub.remove(device)
        assert [one.device for one in bench.story.absent] == [None]

    on_bench(test)


def test_an_adapter_that_has_gone_is_told_with_who_used_it_last(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        first, second = await bench.create(1), await bench.create(2)
        for device in (first, second):
            await bench.hub.connections.disconnect(device, wait=True)
        for device in (first, second):
            await bench.hub.update(device, {"pin": {"usb_port": "1-1.1"}})
            await bench.hub.connections.connect(device, wait=True)
            await bench.hub.connections.disconnect(device, wait=True)
            await bench.hub.update(device, {"pin": {}})
        bench.world.unplug_adapter("wlan0")
        [gone] = bench.story.absent
        assert (gone.device, gone.interface, gone.last_device) == (None, "wlan0", second)
        assert gone.pin == AdapterPin("02:00:00:00:00:00", "1-1.1")
        assert gone.unplugged_us > 0
        await bench.hub.remove(second)
        [gone] = bench.story.absent
        assert gone.last_device is None, "it is no longer registered"
        bench.world.plug_adapter("wlan0")
        assert bench.story.absent == ()

    on_bench(test)


def test_the_last_32_adapters_that_have_gone_are_told(on_bench: RunOnBench) -> None:
    async def test(bench: Bench) -> None:
        for number in range(3, 43):
            bench.world.plug_adapter(f"wlan{number}")
        for number in range(3, 43):
            bench.world.unplug_adapter(f"wlan{number}")
        assert [one.interface for one in bench.story.absent] == [f"wlan{number}" for number in range(11, 43)]

    on_bench(test)
