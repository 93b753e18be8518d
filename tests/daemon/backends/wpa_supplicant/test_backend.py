"""The links and attempts of the backend, after its connection to the message bus was lost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from ipaddress import IPv4Interface

import pytest

from tests.daemon.backends.open_backends import OpenWpaSupplicant
from tests.daemon.backends.recording import Recorder
from tests.daemon.backends.wpa_supplicant.services_on_the_bus import Host
from tests.message_bus import match_rules
from wifimgrd.bus.connection import BusError
from wifimgrd.daemon.backends.wpa_supplicant import _backend as backend_module
from wifimgrd.daemon.backends.wpa_supplicant import _link_monitor as link_monitor
from wifimgrd.daemon.backends.wpa_supplicant._attempt import Joined
from wifimgrd.daemon.backends.wpa_supplicant._inventory import WifiInterface
from wifimgrd.daemon.backends.wpa_supplicant._link_address import LinkAddress, LinkReading, NotOurs
from wifimgrd.daemon.backends.wpa_supplicant._link_monitor import LinkMonitor
from wifimgrd.daemon.ports import JoinRequest
from wifimgrd.domain.device import DeviceId, HeldLink, Passphrase, Ssid
from wifimgrd.domain.errors import AddressFailed, BackendUnavailable, Cancelled, ConnectionLost
from wifimgrd.domain.events import BackendState
from wifimgrd.proxies.networkd.definitions import NETWORK1
from wifimgrd.proxies.wpa_supplicant.definitions import WPAS
from wifimgrd.runtime.tasks import Tasks
from wifimgrd.simulator._world import BriefMemory

ADDRESS = LinkAddress(IPv4Interface("192.168.42.10/24"), "192.168.42.1")
REQUEST = JoinRequest(DeviceId(1), "wlan0", Ssid(b"CAM"), Passphrase("12345678"), 30.0)
READING = LinkReading.of(ADDRESS, None, 80)


@pytest.fixture
def listener() -> Recorder:
    return Recorder()


@pytest.fixture
def released() -> asyncio.Queue[str]:
    """The interfaces on which networkd was to take no address any more."""
    return asyncio.Queue()


@pytest.fixture
def tasks() -> Tasks:
    """Those of the backend."""
    return Tasks("test")


@pytest.fixture
async def backend(
    host: Host, listener: Recorder, released: asyncio.Queue[str], tasks: Tasks
) -> AsyncIterator[OpenWpaSupplicant]:
    async def not_called(*_: object) -> None:
        raise AssertionError

    async def no_network(*_: object) -> str:
        raise AssertionError

    async def release(interface: str) -> None:
        await released.put(interface)

    backend = OpenWpaSupplicant(
        BriefMemory(),
        tasks,
        register_interface=host.register,
        add_network=no_network,
        configure_link=not_called,
        request_lease=not_called,
        release_link=release,
        bus=host.bus,
    )
    await backend.start(listener)
    await listener.backend_is(BackendState.READY)
    yield backend
    await backend.stop()


@pytest.fixture
def awaited(backend: OpenWpaSupplicant, monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """Set once an attempt waits for its adapter."""
    awaited, wait_for = asyncio.Event(), backend.inventory.wait_for

    async def note(name: str, timeout_s: float) -> WifiInterface | None:
        awaited.set()
        return await wait_for(name, timeout_s)

    monkeypatch.setattr(backend.inventory, "wait_for", note)
    return awaited


async def test_an_interface_that_is_claimed_is_reported_again(
    backend: OpenWpaSupplicant, listener: Recorder
) -> None:
    """Its adapter replaced one of the same name, and udev reported both after the kernel."""
    interface = WifiInterface(1 << 20, "wlan9")
    backend.has_interface(interface)
    backend.interface_seen(interface)
    first = await listener.next("interface_facts", lambda reported: reported.interface == "wlan9")
    await backend.claim("wlan9")
    assert await listener.next("interface_facts", lambda reported: reported.interface == "wlan9") == first


async def monitor_of(
    backend: OpenWpaSupplicant,
    interface: WifiInterface,
    require_usable: Callable[..., None] = lambda *_: None,
) -> LinkMonitor:
    """The monitor of a link on an interface that is registered."""
    supplicant = await backend.services.open_interface(interface)
    held = HeldLink(DeviceId(1), interface.name, Ssid(b"CAM"), READING.link)
    joined = Joined(interface, supplicant, READING, "")
    return LinkMonitor(backend.services, held, joined, Tasks("link"), require_usable)


async def test_links_that_were_found_are_watched_all_or_none(
    backend: OpenWpaSupplicant, host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    """wpa_supplicant went away meanwhile; the next start finds them again."""
    found: list[LinkMonitor] = []

    async def adopt(_services: object, interface: WifiInterface, *_: object) -> LinkMonitor:
        if found:
            raise BusError("fi.w1.wpa_supplicant1.InterfaceUnknown", "it has just gone")
        found.append(await monitor_of(backend, interface))
        await found[0].supplicant.subscribe()
        return found[0]

    monkeypatch.setattr(backend_module, "adopt", adopt)
    for index in (1, 2):
        interface = WifiInterface(1 << 20 | index, f"wlan{index}")
        backend.has_interface(interface)
        await backend.services.open_interface(interface)
    before = await match_rules(backend.services.connection, host.programs[WPAS])
    with pytest.raises(BusError, match="it has just gone"):
        await backend.supplicant_found()
    assert await match_rules(backend.services.connection, host.programs[WPAS]) == before


async def test_a_registered_interface_that_is_gone_is_given_back(
    backend: OpenWpaSupplicant, host: Host, listener: Recorder, released: asyncio.Queue[str]
) -> None:
    interface = WifiInterface(1 << 20, "wlan0")
    await backend.services.open_interface(interface)
    assert host.registered == {"wlan0"}
    backend.interface_gone(interface)
    assert (await listener.next("interface_facts")).facts is None
    assert await released.get() == "wlan0"
    assert host.registered == set()
    assert not backend.services.has_registered("wlan0")


@pytest.mark.parametrize("by_itself", [True, False])
async def test_an_interface_that_is_released_while_it_has_a_link_is_given_back_after_that(
    backend: OpenWpaSupplicant, host: Host, released: asyncio.Queue[str], by_itself: bool
) -> None:
    interface = WifiInterface(1 << 20, "wlan0", reserved=True)
    monitor = await monitor_of(backend, interface)
    backend.adopt(monitor)
    await backend.release("wlan0")
    assert host.registered == {"wlan0"}
    if by_itself:
        monitor.end(ConnectionLost("the camera is off"))
    else:
        await backend.leave("wlan0")
    async with asyncio.timeout(10):
        assert await released.get() == "wlan0"
    assert host.registered == set()


async def test_an_interface_that_is_released_while_it_is_joined_is_given_back_after_the_attempt(
    backend: OpenWpaSupplicant, host: Host, released: asyncio.Queue[str], awaited: asyncio.Event
) -> None:
    await backend.services.open_interface(WifiInterface(1 << 20, "wlan0"))
    joining = asyncio.create_task(backend.join(REQUEST))
    await awaited.wait()
    await backend.release("wlan0")
    assert host.registered == {"wlan0"}
    await backend.leave("wlan0")
    with pytest.raises(Cancelled):
        await joining
    async with asyncio.timeout(10):
        assert await released.get() == "wlan0"
    assert host.registered == set()


async def test_an_interface_that_is_claimed_again_before_its_link_ends_is_kept(
    backend: OpenWpaSupplicant, host: Host, tasks: Tasks
) -> None:
    backend.adopt(await monitor_of(backend, WifiInterface(1 << 20, "wlan0", reserved=True)))
    await backend.release("wlan0")
    await backend.claim("wlan0")
    await backend.leave("wlan0")
    await tasks.settle(10)
    assert host.registered == {"wlan0"}


async def test_an_adapter_that_takes_the_name_of_one_that_is_gone_waits_until_that_is_given_back(
    backend: OpenWpaSupplicant, released: asyncio.Queue[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else its file for networkd would be the one that is removed."""
    order: list[str] = []

    async def release(name: str) -> None:
        for _ in range(20):
            await backend.services.connection.round_trip()
        order.append("released")

    gone, next_one = WifiInterface(1 << 20, "wlan0"), WifiInterface(1 << 21, "wlan0")
    await backend.services.open_interface(gone)
    monkeypatch.setattr(released, "put", release)
    backend.interface_gone(gone)
    await asyncio.sleep(0)  # the task of it begins before an attempt can
    await backend.services.open_interface(next_one)
    order.append("opened")
    assert order == ["released", "opened"]


async def test_who_uses_an_interface_is_asked_again_where_that_was_not_answered(
    backend: OpenWpaSupplicant, listener: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backend_module, "_REREAD_S", 0.01)
    failures = [TimeoutError(), BusError("org.freedesktop.DBus.Error.NoReply", "it is busy")]

    async def obstacle(_: str) -> str:
        if failures:
            raise failures.pop(0)
        return "it is in use"

    monkeypatch.setattr(backend.services, "obstacle", obstacle)
    interface = WifiInterface(1 << 20, "wlan9")
    backend.has_interface(interface)
    backend.interface_seen(interface)
    reported = await listener.next("interface_facts", lambda reported: reported.interface == "wlan9")
    assert reported.facts is not None
    assert reported.facts.obstacle == "it is in use"


async def test_at_the_end_idle_interfaces_are_given_back_and_those_with_a_link_are_not(
    backend: OpenWpaSupplicant, host: Host, released: asyncio.Queue[str]
) -> None:
    idle, used = WifiInterface(1 << 20, "wlan0"), WifiInterface(1 << 21, "wlan1", reserved=True)
    await backend.services.open_interface(idle)
    backend.adopt(await monitor_of(backend, used))
    for interface in (idle, used):
        backend.has_interface(interface)
    assert host.registered == {"wlan0", "wlan1"}
    await backend.stop()
    assert host.registered == {"wlan1"}
    assert "wlan1" not in [released.get_nowait() for _ in range(released.qsize())]


async def test_a_link_that_wpa_supplicant_has_lost_meanwhile_has_ended(
    backend: OpenWpaSupplicant, listener: Recorder
) -> None:
    interface = WifiInterface(1 << 20, "wlan0", reserved=True)
    backend.adopt(await monitor_of(backend, interface))
    await backend.services.connection.close()
    reported = await listener.next("link_ended")
    assert isinstance(reported.error, ConnectionLost)
    assert reported.error.message == 'the connection to "CAM" was lost: wpa_supplicant was restarted'
    assert await backend.links() == []
    assert not interface.reserved


async def test_the_address_of_an_adopted_link_is_checked(
    backend: OpenWpaSupplicant, listener: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The host may have got it on another interface meanwhile."""

    async def read_address(*_: object) -> LinkAddress:
        return ADDRESS

    def refuse(*_: object) -> None:
        raise AddressFailed("it is this host's own")

    monkeypatch.setattr(link_monitor, "read_address", read_address)
    interface = WifiInterface(1 << 20, "wlan0", reserved=True)
    backend.adopt(await monitor_of(backend, interface, refuse))
    ended = await listener.next("link_ended")
    assert isinstance(ended.error, AddressFailed)


async def test_a_link_that_networkd_configures_by_another_file_is_ended_and_released(
    backend: OpenWpaSupplicant,
    listener: Recorder,
    released: asyncio.Queue[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def read_address(*_: object) -> LinkAddress:
        raise NotOurs("systemd-networkd applies 00-wlan0.network to wlan0")

    monkeypatch.setattr(link_monitor, "read_address", read_address)
    interface = WifiInterface(1 << 20, "wlan0", reserved=True)
    backend.adopt(await monitor_of(backend, interface))
    ended = await listener.next("link_ended")
    assert isinstance(ended.error, AddressFailed)
    assert ended.error.message == "systemd-networkd applies 00-wlan0.network to wlan0"
    assert released.get_nowait() == "wlan0"


@pytest.mark.parametrize("index", [7, 1 << 20])
async def test_an_address_is_read_again_when_networkd_signals_a_change_of_the_link(
    backend: OpenWpaSupplicant, host: Host, index: int
) -> None:
    """That of systemd 257 describes a new address some milliseconds after the kernel has reported it."""
    read = asyncio.Event()
    interface = WifiInterface(index, "wlan9", reserved=True)
    backend.has_interface(interface)
    interface.on_address.append(read.set)
    await host.start(NETWORK1)
    host.link_changes(index + 1, "")
    host.link_changes(index, "")
    async with asyncio.timeout(5):
        await read.wait()


async def test_a_link_that_is_adopted_again_is_watched_once(
    backend: OpenWpaSupplicant, listener: Recorder
) -> None:
    interface = WifiInterface(1 << 20, "wlan0", reserved=True)
    earlier, later = [await monitor_of(backend, interface) for _ in range(2)]
    backend.adopt(earlier)
    backend.adopt(later)
    assert [held.interface for held in await backend.links()] == ["wlan0"]
    for gone in list(interface.on_gone):
        gone()
    await listener.next("link_ended")
    assert listener.about_links() == ["link_ended"]


async def test_an_attempt_is_aborted(backend: OpenWpaSupplicant, awaited: asyncio.Event) -> None:
    joining = asyncio.create_task(backend.join(REQUEST))
    await awaited.wait()
    await backend.services.connection.close()
    with pytest.raises(BackendUnavailable, match="the message bus is unavailable"):
        await joining
