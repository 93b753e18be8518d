"""Who hears that a link has ended in the moment between its coming up and somebody's listening, and what
an address is that NetworkManager does not show."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any, cast

import pytest

from tests.backends.networkmanager.manager_on_the_bus import LINK, NetworkManagerOnTheBus
from tests.message_bus import MessageBusDaemon
from wifimgrd.backends.networkmanager import defs
from wifimgrd.backends.networkmanager.activation import Activation, Joined
from wifimgrd.backends.networkmanager.defs import DeviceReason, DeviceState
from wifimgrd.backends.networkmanager.devices import Gone, NmDevice, StateChange
from wifimgrd.backends.networkmanager.keeper import Keeper
from wifimgrd.backends.networkmanager.reading import Reading
from wifimgrd.backends.networkmanager.supplicant import Station
from wifimgrd.dbus.bus import BusConnection
from wifimgrd.domain.device import DeviceId, HeldLink, Link, Sighting, Ssid
from wifimgrd.domain.errors import ErrorCode, InterfaceLost, WifimgrdError
from wifimgrd.ports import BackendListener
from wifimgrd.runtime.tasks import Tasks


class Listener:
    """Keeps how the link ended or was interrupted, and what it was afterwards."""

    def __init__(self) -> None:
        self.told: asyncio.Queue[WifimgrdError] = asyncio.Queue()
        self.changed: asyncio.Queue[Link] = asyncio.Queue()
        self.restored: asyncio.Queue[Link] = asyncio.Queue()

    def link_changed(self, interface: str, link: Link) -> None:
        assert interface == "wlan0"
        self.changed.put_nowait(link)

    def link_restored(self, interface: str, link: Link) -> None:
        assert interface == "wlan0"
        self.restored.put_nowait(link)

    def link_interrupted(self, interface: str, error: WifimgrdError) -> None:
        assert interface == "wlan0"
        self.told.put_nowait(error)

    def link_ended(self, interface: str, error: WifimgrdError) -> None:
        assert interface == "wlan0"
        self.told.put_nowait(error)


@pytest.fixture
async def connection(message_bus: MessageBusDaemon) -> AsyncIterator[BusConnection]:
    connection = await BusConnection.open(message_bus.address)
    yield connection
    await connection.close()


@pytest.fixture
def device() -> NmDevice:
    return NmDevice("/d", {"State": DeviceState.ACTIVATED, "Interface": "wlan0"}, {})


@pytest.fixture
def keeper(connection: BusConnection, device: NmDevice) -> Keeper:
    return keeper_on(connection, device)


def keeper_on(connection: BusConnection, device: NmDevice) -> Keeper:
    """Of a link that was read off its lease."""
    held = HeldLink(DeviceId(1), "wlan0", Ssid(b"CAM"), LINK)
    station = Station(connection, "/station")
    return Keeper(
        connection, held, Joined(device, station, Activation("", "/p", "/a"), Reading(LINK)), Tasks("test")
    )


async def begun(keeper: Keeper) -> tuple[WifimgrdError, list[Any]]:
    """What its listener is told, and for which keepers `on_end` is called."""
    listener, ended = Listener(), list[Any]()
    keeper.begin(cast("BackendListener", listener), ended.append)
    assert listener.told.empty()  # the listener has no link yet that could end
    async with asyncio.timeout(5):
        return await listener.told.get(), ended


async def test_an_end_that_only_the_keeper_heard_is_told_when_it_begins(
    keeper: Keeper, device: NmDevice
) -> None:
    for ear in list(device.ears):
        ear(StateChange(DeviceState.DEACTIVATING, DeviceReason.USER_REQUESTED))
    error, ended = await begun(keeper)
    assert "ended by another program" in error.message
    assert ended == [keeper]


async def test_an_adapter_that_was_pulled_before_it_began_is_told(keeper: Keeper, device: NmDevice) -> None:
    for ear in list(device.ears):
        ear(Gone(pulled_out=True))
    error, ended = await begun(keeper)
    assert isinstance(error, InterfaceLost)
    assert ended == [keeper]


async def test_a_link_that_fell_while_nobody_listened_is_told(keeper: Keeper, device: NmDevice) -> None:
    device.properties["State"] = DeviceState.DISCONNECTED
    error, ended = await begun(keeper)
    assert 'the connection to "CAM" was lost' in error.message
    assert ended == [keeper]


async def test_an_interruption_before_it_began_is_told_once_the_listener_has_the_link(keeper: Keeper) -> None:
    keeper._station.on_change({"State": "disconnected", "DisconnectReason": 3})  # type: ignore[misc]
    error, ended = await begun(keeper)
    assert (error.code, ended) == (ErrorCode.CONNECTION_LOST, [])
    keeper.close()


async def test_a_link_that_was_let_go_of_before_it_began_is_not_watched(device: NmDevice) -> None:
    bus = NetworkManagerOnTheBus()
    keeper = keeper_on(cast("BusConnection", bus), device)
    keeper.close()
    before = asyncio.all_tasks()
    keeper.begin(cast("BackendListener", Listener()), lambda _: None)
    assert asyncio.all_tasks() == before


async def test_an_address_that_is_not_shown_yet_is_waited_for_and_one_that_goes_is_lost(
    device: NmDevice,
) -> None:
    bus, listener = NetworkManagerOnTheBus(), Listener()
    keeper = keeper_on(cast("BusConnection", bus), device)
    keeper.begin(cast("BackendListener", listener), lambda _: None)
    async with asyncio.timeout(10):
        assert not await bus.looks.get()
        bus.addresses = [{"address": LINK.local_address}]
        while not await bus.looks.get():
            pass
        while "/ip4" + defs.NM_IP4_CONFIG not in bus.handlers:
            await bus.looks.get()
        assert listener.told.empty()
        bus.show()
        assert "did not renew the IP address" in (await listener.told.get()).message
    keeper.close()


async def followed(bus: NetworkManagerOnTheBus, device: NmDevice, listener: Listener) -> Keeper:
    """The keeper of a link whose address is shown, once it follows that."""
    bus.addresses = [{"address": LINK.local_address}]
    keeper = keeper_on(cast("BusConnection", bus), device)
    keeper.begin(cast("BackendListener", listener), lambda _: None)
    while "/ip4" + defs.NM_IP4_CONFIG not in bus.handlers:
        await bus.looks.get()
    return keeper


async def lost_and_back(keeper: Keeper, listener: Listener) -> None:
    """The association ends, and is there again a moment later."""
    on_change = keeper._station.on_change
    assert on_change
    on_change({"State": "disconnected"})
    await listener.told.get()
    on_change({"State": "completed"})


async def test_a_link_is_restored_though_its_address_is_not_shown_yet(device: NmDevice) -> None:
    bus, listener = NetworkManagerOnTheBus(), Listener()
    async with asyncio.timeout(10):
        keeper = await followed(bus, device, listener)
        bus.addresses = []
        await lost_and_back(keeper, listener)
        for _ in range(3):
            while await bus.looks.get():
                pass
        bus.addresses = [{"address": LINK.local_address}]
        assert (await listener.restored.get()).local_address == LINK.local_address
    keeper.close()


async def test_the_access_point_that_is_named_just_after_a_link_is_restored_is_told(device: NmDevice) -> None:
    bus, listener = NetworkManagerOnTheBus(), Listener()
    async with asyncio.timeout(10):
        keeper = await followed(bus, device, listener)
        bus.next_point = "/point"
        await lost_and_back(keeper, listener)
        assert await listener.restored.get() == LINK
        assert (await listener.changed.get()).sighting == Sighting("02:00:00:00:aa:00", 2462)
    keeper.close()
