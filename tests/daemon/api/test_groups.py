"""`Groups` and `ConnectGroup` of `org.wifimgrd1.Manager`, on a real bus."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.grouped_hub import CHIN, CONFIGURATION, LEFT, NOSE, TAIL, grouped_hub, until_connected
from tests.message_bus import MessageBusDaemon
from tests.processes import START_TIMEOUT_S, Hub
from wifimgrd.bus import names as bus_names
from wifimgrd.bus.connection import BusConnection, BusError, Variant
from wifimgrd.bus.values import typed
from wifimgrd.wire import names


@pytest.fixture
async def hub(message_bus: MessageBusDaemon, tmp_path: Path) -> AsyncIterator[Hub]:
    async with grouped_hub(message_bus.address, tmp_path) as hub:
        yield hub


async def connect_group(bus: BusConnection, name: str, **options: object) -> list[dict[str, Any]]:
    body = [name, {key: Variant("b" if isinstance(one, bool) else "s", one) for key, one in options.items()}]
    reply = await bus.call(
        names.BUS_NAME, names.ROOT_PATH, names.MANAGER, "ConnectGroup", "sa{sv}", body, START_TIMEOUT_S
    )
    rows: list[dict[str, Any]] = typed(tuple[list[dict[str, object]]], reply)[0]
    return rows


async def groups(bus: BusConnection) -> object:
    body = [names.MANAGER, "Groups"]
    reply = await bus.call(names.BUS_NAME, names.ROOT_PATH, bus_names.PROPERTIES, "Get", "ss", body)
    return typed(tuple[object], reply)[0]


async def test_the_property_has_the_registered_devices_and_follows_the_configuration(
    hub: Hub, bus: BusConnection, tmp_path: Path
) -> None:
    nose, chin = names.device_path(NOSE), names.device_path(CHIN)
    everyone = [nose, chin, names.device_path(LEFT), names.device_path(TAIL)]
    assert await groups(bus) == {"nose": [nose, chin], "everyone": everyone}
    await hub.client.update_device(NOSE, {"name": "Other"})
    assert hub.client.service.groups["nose"] == (CHIN,)
    (tmp_path / "wifimgrd.toml").write_text(
        CONFIGURATION.replace('"nobody"', '"Other"').partition('\n\n[[connect.group]]\nname = "everyone"')[0]
    )
    await bus.call(names.BUS_NAME, names.ROOT_PATH, names.MANAGER, "Reload", "a{sv}", [{}])
    assert await groups(bus) == {"nose": [chin, nose]}
    await hub.client.wait_until(lambda client: client.service.groups == {"nose": (CHIN, NOSE)}, 5)
    assert hub.log.read_text().count("group_device_unknown")


async def test_the_camera_that_has_to_leave_does_and_each_member_has_a_row(
    hub: Hub, bus: BusConnection
) -> None:
    rows = await connect_group(bus, "nose")
    assert rows == [
        {"device": names.device_path(one), "done": True, "code": "", "message": ""} for one in (NOSE, CHIN)
    ]
    await hub.until(TAIL, "disconnected")
    await until_connected(hub, {NOSE, CHIN, LEFT})


async def test_what_cannot_be_served_as_a_whole_changes_nothing(hub: Hub, bus: BusConnection) -> None:
    with pytest.raises(BusError) as caught:
        await connect_group(bus, "everyone")
    assert caught.value.name == "org.wifimgrd1.Error.NoInterfaceAvailable"
    assert '"Chin"' in caught.value.message
    await until_connected(hub, {LEFT, TAIL})
    rows = await connect_group(bus, "everyone", partial=True)
    assert [row["code"] for row in rows] == ["", "no-interface-available", "", ""]
    await until_connected(hub, {NOSE, LEFT, TAIL})


@pytest.mark.parametrize(
    ("name", "options", "error"),
    [
        ("nobody", {}, "GroupNotFound"),
        ("", {"partial": True}, "GroupNotFound"),
        ("nose", {"partial": "1"}, "InvalidArguments"),
    ],
)
async def test_a_refusal_has_its_name(
    hub: Hub, bus: BusConnection, name: str, options: dict[str, object], error: str
) -> None:
    with pytest.raises(BusError) as caught:
        await connect_group(bus, name, **options)
    assert caught.value.name == f"org.wifimgrd1.Error.{error}"
    await until_connected(hub, {LEFT, TAIL})
