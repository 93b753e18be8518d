"""The report of a link that ends before it has a listener, and links whose address NetworkManager does not
show."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from tests.daemon.backends.networkmanager.manager_on_the_bus import LINK, NetworkManagerOnTheBus, NoChanges
from tests.message_bus import MessageBusDaemon
from wifimgrd.bus import names
from wifimgrd.bus.connection import BusConnection, Signal, Watch, Watches
from wifimgrd.daemon.backends.networkmanager import _link_monitor as module
from wifimgrd.daemon.backends.networkmanager._active_connection import ActiveConnection, Joined
from wifimgrd.daemon.backends.networkmanager._changes import Changes
from wifimgrd.daemon.backends.networkmanager._devices import DeviceGone, NmDevice, StateChange
from wifimgrd.daemon.backends.networkmanager._ip_config import LinkReading
from wifimgrd.daemon.backends.networkmanager._link_monitor import Carrier, LinkMonitor
from wifimgrd.daemon.ports import LinkListener
from wifimgrd.domain.device import DeviceId, HeldLink, Link, Sighting, Ssid
from wifimgrd.domain.errors import AddressFailed, ErrorCode, InterfaceLost, WifimgrdError
from wifimgrd.proxies.networkmanager import definitions as defs
from wifimgrd.proxies.networkmanager.definitions import DeviceReason, DeviceState, InterfaceFlag
from wifimgrd.proxies.wpa_supplicant.definitions import WPAS, WPAS_INTERFACE
from wifimgrd.proxies.wpa_supplicant.interface import SupplicantInterface
from wifimgrd.runtime.tasks import Tasks

UP = 0x1
LOWER_UP = InterfaceFlag.LOWER_UP
PATIENCE_S = 5


class Listener:
    """Keeps how the link ended or was interrupted, and what it was afterwards."""

    def __init__(self) -> None:
        self.reported: asyncio.Queue[WifimgrdError] = asyncio.Queue()
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
        self.reported.put_nowait(error)

    def link_ended(self, interface: str, error: WifimgrdError) -> None:
        assert interface == "wlan0"
        self.reported.put_nowait(error)


@pytest.fixture
async def connection(message_bus: MessageBusDaemon) -> AsyncIterator[BusConnection]:
    connection = await BusConnection.open(message_bus.address)
    yield connection
    await connection.close()


@pytest.fixture
def device() -> NmDevice:
    return NmDevice("/d", {"State": DeviceState.ACTIVATED, "Interface": "wlan0"}, {})


@pytest.fixture
def link_monitor(connection: BusConnection, device: NmDevice) -> LinkMonitor:
    return monitor_on(connection, device)


def accept(ssid: Ssid, reading: LinkReading) -> None:
    """Accept any address."""


def monitor_on(
    connection: BusConnection,
    device: NmDevice,
    require_usable: Callable[[Ssid, LinkReading], None] = accept,
    changes: Changes | None = None,
) -> LinkMonitor:
    """Of a link that was read off its lease."""
    held = HeldLink(DeviceId(1), "wlan0", Ssid(b"CAM"), LINK)
    supplicant = Station(connection)
    return LinkMonitor(
        connection,
        changes or NoChanges(),
        held,
        Joined(device, supplicant, ActiveConnection("", "/p", "/a"), LinkReading(LINK)),
        Tasks("test"),
        require_usable,
    )


class Station(SupplicantInterface):
    """wpa_supplicant's object of an interface, that signals what a test has it signal."""

    def __init__(self, connection: BusConnection) -> None:
        super().__init__(connection, "/station")
        self.handlers: list[Callable[[Signal], None]] = []

    def watch_changes(self, handler: Callable[[Signal], None]) -> None:
        self.handlers.append(handler)

    def change(self, properties: dict[str, object]) -> None:
        body = [WPAS_INTERFACE, properties, []]
        for handler in self.handlers:
            handler(Signal(WPAS, self.path, names.PROPERTIES, "PropertiesChanged", body))


def change(link_monitor: LinkMonitor, **properties: object) -> None:
    """The supplicant's properties change."""
    assert isinstance(link_monitor.supplicant, Station)
    link_monitor.supplicant.change(properties)


async def begun(link_monitor: LinkMonitor) -> tuple[WifimgrdError, list[Any]]:
    """The events that its listener received, and the monitors for which `on_end` was called."""
    listener, ended = Listener(), list[Any]()
    link_monitor.start(cast("LinkListener", listener), ended.append)
    assert listener.reported.empty()  # the listener has no link yet that could end
    async with asyncio.timeout(5):
        return await listener.reported.get(), ended


async def test_an_end_that_only_the_monitor_has_seen_is_reported_when_it_begins(
    link_monitor: LinkMonitor, device: NmDevice
) -> None:
    for listener in list(device.listeners):
        listener(StateChange(DeviceState.DEACTIVATING, DeviceReason.USER_REQUESTED))
    error, ended = await begun(link_monitor)
    assert "ended by another program" in error.message
    assert ended == [link_monitor]


async def test_an_adapter_that_was_pulled_before_it_began_is_reported(
    link_monitor: LinkMonitor, device: NmDevice
) -> None:
    for listener in list(device.listeners):
        listener(DeviceGone(unplugged=True))
    error, ended = await begun(link_monitor)
    assert isinstance(error, InterfaceLost)
    assert ended == [link_monitor]


async def test_a_link_that_fell_while_nobody_listened_is_reported(
    link_monitor: LinkMonitor, device: NmDevice
) -> None:
    device.properties["State"] = DeviceState.DISCONNECTED
    error, ended = await begun(link_monitor)
    assert 'the connection to "CAM" was lost' in error.message
    assert ended == [link_monitor]


async def test_an_interruption_before_it_began_is_reported_once_the_listener_has_the_link(
    link_monitor: LinkMonitor,
) -> None:
    change(link_monitor, State="disconnected", DisconnectReason=3)
    error, ended = await begun(link_monitor)
    assert (error.code, ended) == (ErrorCode.CONNECTION_LOST, [])
    link_monitor.close()


async def test_a_link_that_was_let_go_of_before_it_began_is_not_watched(device: NmDevice) -> None:
    bus = NetworkManagerOnTheBus()
    link_monitor = monitor_on(cast("BusConnection", bus), device)
    link_monitor.close()
    before = asyncio.all_tasks()
    link_monitor.start(cast("LinkListener", Listener()), lambda _: None)
    assert asyncio.all_tasks() == before


async def test_an_address_that_is_not_shown_yet_is_waited_for_and_one_that_goes_is_lost(
    device: NmDevice,
) -> None:
    bus, listener = NetworkManagerOnTheBus(), Listener()
    link_monitor = monitor_on(cast("BusConnection", bus), device)
    link_monitor.start(cast("LinkListener", listener), lambda _: None)
    async with asyncio.timeout(10):
        assert not await bus.looks.get()
        bus.addresses = [{"address": LINK.local_address}]
        while not await bus.looks.get():
            pass
        while "/ip4" + defs.NM_IP4_CONFIG not in bus.handlers:
            await bus.looks.get()
        assert listener.reported.empty()
        bus.show()
        assert "did not renew the IP address" in (await listener.reported.get()).message
    link_monitor.close()


async def followed(bus: NetworkManagerOnTheBus, device: NmDevice, listener: Listener) -> LinkMonitor:
    """The keeper of a link whose address is shown, once it follows that."""
    bus.addresses = [{"address": LINK.local_address}]
    link_monitor = monitor_on(cast("BusConnection", bus), device)
    link_monitor.start(cast("LinkListener", listener), lambda _: None)
    while "/ip4" + defs.NM_IP4_CONFIG not in bus.handlers:
        await bus.looks.get()
    return link_monitor


async def lost_and_back(link_monitor: LinkMonitor, listener: Listener) -> None:
    """The association ends, and is there again a moment later."""
    change(link_monitor, State="disconnected")
    await listener.reported.get()
    change(link_monitor, State="completed")


async def test_a_link_is_restored_though_its_address_is_not_shown_yet(device: NmDevice) -> None:
    bus, listener = NetworkManagerOnTheBus(), Listener()
    async with asyncio.timeout(10):
        link_monitor = await followed(bus, device, listener)
        bus.addresses = []
        await lost_and_back(link_monitor, listener)
        for _ in range(3):
            while await bus.looks.get():
                pass
        bus.addresses = [{"address": LINK.local_address}]
        assert (await listener.restored.get()).local_address == LINK.local_address
    link_monitor.close()


async def test_the_access_point_that_is_named_just_after_a_link_is_restored_is_reported(
    device: NmDevice,
) -> None:
    bus, listener = NetworkManagerOnTheBus(), Listener()
    async with asyncio.timeout(10):
        link_monitor = await followed(bus, device, listener)
        bus.next_point = "/point"
        await lost_and_back(link_monitor, listener)
        assert await listener.restored.get() == LINK
        assert (await listener.changed.get()).sighting == Sighting("02:00:00:00:aa:00", 2462)
    link_monitor.close()


class Deactivating(NoChanges):
    """It takes a link down when it is asked to, and emits the device's states."""

    def __init__(self, device: NmDevice) -> None:
        self.device = device
        self.calls: list[tuple[str, str]] = []

    async def deactivate(self, active_connection: str) -> None:
        self.calls.append(("deactivate", active_connection))
        for state in (DeviceState.DEACTIVATING, DeviceState.DISCONNECTED):
            self.device.properties["State"] = state
            for listener in list(self.device.listeners):
                listener(StateChange(state, DeviceReason.USER_REQUESTED))

    async def delete(self, profile: str) -> None:
        self.calls.append(("delete", profile))


def refuse_10(ssid: Ssid, reading: LinkReading) -> None:
    """Refuse addresses of 10.0.0.0/8."""
    assert ssid == Ssid(b"CAM")
    if reading.link.local_address.startswith("10."):
        raise AddressFailed(f"gave {reading.lease}")


@pytest.mark.parametrize("interrupted", [False, True])
async def test_a_link_whose_address_is_renewed_with_an_unusable_one_ends(
    device: NmDevice, interrupted: bool
) -> None:
    bus, listener, ended = NetworkManagerOnTheBus(), Listener(), list[Any]()
    changes = Deactivating(device)
    bus.addresses = [{"address": LINK.local_address, "prefix": "24"}]
    link_monitor = monitor_on(cast("BusConnection", bus), device, refuse_10, changes)
    link_monitor.start(cast("LinkListener", listener), ended.append)
    async with asyncio.timeout(10):
        while "/ip4" + defs.NM_IP4_CONFIG not in bus.handlers:
            await bus.looks.get()
        if interrupted:
            bus.show()
            assert (await listener.reported.get()).code is ErrorCode.CONNECTION_LOST
        bus.show("10.0.0.9")
        error = await listener.reported.get()
    assert (error.code, error.message) == (ErrorCode.ADDRESS_FAILED, "gave 10.0.0.9/32")
    assert ended == [link_monitor]
    assert changes.calls == [("deactivate", "/a"), ("delete", "/p")]
    assert listener.changed.empty()
    assert listener.restored.empty()


@pytest.mark.parametrize("is_checked", [False, True])
async def test_the_address_that_an_attempt_has_checked_is_not_checked_again(
    device: NmDevice, is_checked: bool
) -> None:
    bus, listener, checked = NetworkManagerOnTheBus(), Listener(), list[str]()
    bus.addresses = [{"address": LINK.local_address, "prefix": "24"}]

    def check(_: Ssid, reading: LinkReading) -> None:
        checked.append(reading.link.local_address)

    link_monitor = monitor_on(cast("BusConnection", bus), device, check, Deactivating(device))
    if is_checked:
        link_monitor.address_is_usable()
    link_monitor.start(cast("LinkListener", listener), list[Any]().append)
    async with asyncio.timeout(10):
        while "/ip4" + defs.NM_IP4_CONFIG not in bus.handlers:
            await bus.looks.get()
        bus.show("192.168.42.11")
        await listener.changed.get()
    assert checked == ([] if is_checked else [LINK.local_address]) + ["192.168.42.11"]
    link_monitor.close()


@dataclass(eq=False)
class DeviceOnTheBus:
    """A device of NetworkManager's, with its flags."""

    flags: int = UP | LOWER_UP
    watches: list[Watch] = field(default_factory=list)

    async def watch(self, handler: Callable[[Signal], None], **conditions: str) -> Watch:
        self.watches.append(Watch(cast("Watches", self), handler, conditions))
        return self.watches[-1]

    def drop(self, watch: Watch) -> None:
        self.watches.remove(watch)

    async def get(self, *asked: object) -> int:
        assert self.watches, "subscribe, then read"
        assert asked[:4] == (defs.NM, "/device", defs.NM_DEVICE, "InterfaceFlags")
        return self.flags

    def notify(self, **changed: Any) -> None:
        for watch in self.watches:
            watch.handler(Signal(defs.NM, "/device", names.PROPERTIES, "", [defs.NM_DEVICE, changed, []]))


class Recorder:
    """Records whether the loss was reported."""

    def __init__(self, bus: DeviceOnTheBus) -> None:
        self.reported = asyncio.Event()
        self.carrier = Carrier(cast("BusConnection", bus), "/device", self.reported.set)


async def passes_by(recorder: Recorder) -> bool:
    """Whether nothing was reported in the time in which it would be."""
    await asyncio.wait([asyncio.ensure_future(recorder.reported.wait())], timeout=2 * module._NOTICE_S)
    return not recorder.reported.is_set()


async def test_a_carrier_that_goes_and_stays_away_is_reported() -> None:
    bus = DeviceOnTheBus()
    recorder = Recorder(bus)
    await recorder.carrier.watch()
    bus.notify(InterfaceFlags=UP)
    assert not recorder.reported.is_set()  # the supplicant may still report it itself
    await asyncio.wait_for(recorder.reported.wait(), PATIENCE_S)


async def test_a_carrier_that_was_away_before_anybody_watched_is_reported() -> None:
    recorder = Recorder(DeviceOnTheBus(UP))
    await recorder.carrier.watch()
    await asyncio.wait_for(recorder.reported.wait(), PATIENCE_S)


async def test_a_carrier_that_is_back_at_once_as_after_roaming_is_not_reported() -> None:
    bus = DeviceOnTheBus()
    recorder = Recorder(bus)
    await recorder.carrier.watch()
    bus.notify(InterfaceFlags=UP)
    bus.notify(InterfaceFlags=UP | LOWER_UP)
    bus.notify(Ip4Connectivity=1)
    assert await passes_by(recorder)


async def test_what_is_dropped_reports_nothing_and_leaves_no_subscription() -> None:
    bus = DeviceOnTheBus()
    recorder = Recorder(bus)
    await recorder.carrier.watch()
    bus.notify(InterfaceFlags=UP)
    recorder.carrier.drop()
    assert await passes_by(recorder)
    assert bus.watches == []
