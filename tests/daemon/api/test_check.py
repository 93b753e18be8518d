"""Whether the rig is ready, asked on a real bus."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.commands import disconnect
from tests.grouped_hub import CHIN, LEFT, NOSE, TAIL, grouped_hub
from tests.message_bus import MessageBusDaemon
from tests.processes import Hub, running_hub
from tests.recording_cameras import SCENARIO, connected, until
from wifimgrd.bus.connection import BusConnection, Variant
from wifimgrd.domain.check import Wanted
from wifimgrd.domain.errors import DeviceNotFound, GroupNotFound, InvalidRequest
from wifimgrd.wire import names


@pytest.fixture
async def hub(message_bus: MessageBusDaemon, tmp_path: Path) -> AsyncIterator[Hub]:
    async with grouped_hub(message_bus.address, tmp_path) as hub:
        yield hub


async def asked(bus: BusConnection, **options: Variant) -> Any:
    return await bus.call(names.BUS_NAME, names.ROOT_PATH, names.MANAGER, "Check", "a{sv}", [options])


async def test_the_rig_is_checked_by_default(hub: Hub, bus: BusConnection) -> None:
    await hub.client.wait_until(lambda client: all(client.devices[one].reachable for one in (LEFT, TAIL)), 10)
    assert await asked(bus) == [True, [names.device_path(one) for one in (LEFT, TAIL)], []]
    await disconnect(hub.client, LEFT)
    assert await asked(bus) == [True, [names.device_path(TAIL)], []]
    await disconnect(hub.client, TAIL)
    assert await asked(bus) == [False, [], []], "nobody is not ready"


async def test_the_devices_of_a_group_are_checked(hub: Hub) -> None:
    found = await hub.client.check(group="nose")
    assert (found.ok, found.checked) == (False, (NOSE, CHIN))
    assert [(one.device_id, one.code, one.message) for one in found.findings] == [
        (NOSE, "not-connected", "It is not connected."),
        (CHIN, "not-connected", "It is not connected."),
    ]


async def test_devices_are_checked_once_each(hub: Hub) -> None:
    found = await hub.client.check(device_ids=[TAIL, NOSE, TAIL])
    assert found.checked == (NOSE, TAIL)
    assert [one.device_id for one in found.findings] == [NOSE]
    assert (await hub.client.check(device_ids=[])).checked == ()


@pytest.mark.parametrize(
    "options",
    [
        {"devices": Variant("ao", []), "group": Variant("s", "nose")},
        {"devices": Variant("s", names.device_path(NOSE))},
        {"group": Variant("i", 1)},
        {"battery": Variant("i", 101)},
        {"recording": Variant("s", "yes")},
    ],
)
async def test_options_that_are_none_are_refused(
    hub: Hub, bus: BusConnection, options: dict[str, Variant]
) -> None:
    with pytest.raises(InvalidRequest):
        await hub.client._command(names.ROOT_PATH, names.MANAGER, "Check", "a{sv}", [options])


async def test_who_is_not_there_is_told(hub: Hub) -> None:
    with pytest.raises(DeviceNotFound):
        await hub.client.check(device_ids=[77])
    with pytest.raises(GroupNotFound):
        await hub.client.check(group="tail")


async def test_limits_are_those_that_are_asked_for(message_bus: MessageBusDaemon, tmp_path: Path) -> None:
    async with running_hub(message_bus.address, tmp_path / "state", f"--simulate={SCENARIO}") as hub:
        device = await connected(hub, "gopro-hero12")
        camera = await until(
            hub,
            device,
            lambda camera: (
                None not in (camera.battery_level, camera.recording_time_left, camera.clock_read_at)
            ),
        )
        assert camera.battery_level is not None
        assert camera.recording_time_left is not None

        async def codes(wanted: Wanted) -> list[str]:
            return [one.code for one in (await hub.client.check(wanted)).findings]

        met = Wanted(battery=camera.battery_level - 5, time_left_us=60_000_000, clock_us=3_600_000_000)
        assert await codes(met) == []
        missed = Wanted(True, 100, camera.recording_time_left * 2, 0)
        assert await codes(missed) == ["not-recording", "battery-low", "storage-low", "clock-wrong"]
        [asked] = (await hub.client.check(Wanted(battery=100))).findings
        assert asked.message.endswith(" %; 100 % are asked for.")
