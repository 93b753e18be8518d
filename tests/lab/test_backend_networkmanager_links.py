"""NetworkManagerBackend against real 802.11: what becomes of links, and whose restart they survive."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from wifimgrd.bus.connection import BusConnection
from wifimgrd.domain.device import HeldLink, Link
from wifimgrd.domain.errors import ConnectionLost, ErrorCode, WifimgrdError
from wifimgrd.domain.events import BackendState

from .guest.access_point import Camera
from .guest.adapters import Adapter
from .guest.namespace import run
from .guest.network_manager import DeviceState, NetworkManager
from .guest.traffic import Download, fetch, until_fetched
from .networkmanager_listener import Listener, Memory, killed, profiles, request_for, started

Cameras = Callable[..., Camera]
Adapters = Callable[..., Adapter]


def at_one_strength(links: Sequence[HeldLink]) -> list[HeldLink]:
    """The links in order of interfaces, as if their signals were measured in one moment."""
    levelled = (replace(held, link=replace(held.link, signal_percent=0)) for held in links)
    return sorted(levelled, key=lambda held: held.interface)


async def restored_on(listener: Listener, interface: str, frequency_mhz: int) -> Link:
    """The link once it is back, and NetworkManager has named its access point, maybe a moment later."""

    def is_there(link: Link) -> bool:
        return link.sighting is not None and link.sighting.frequency_mhz == frequency_mhz

    link: Link = await listener.received("link_restored", interface)
    if not is_there(link):
        link = await listener.received("link_changed", interface, is_there)
    return link


async def test_a_camera_that_goes_and_comes_back(
    nm: NetworkManager, cameras: Cameras, adapters: Adapters
) -> None:
    listener = Listener()
    backend = await started(listener, Memory())
    camera, adapter = cameras("A"), adapters()
    link = await backend.join(request_for(adapter, camera))

    camera.stop()
    error = await listener.received("link_interrupted", adapter.interface, seconds=3)
    assert error.code is ErrorCode.CONNECTION_LOST
    assert "CAM_A" in error.message
    camera.on()
    restored = await restored_on(listener, adapter.interface, 2412)
    assert (restored.local_address, restored.sighting) == (link.local_address, link.sighting)
    until_fetched(adapter.interface, "A")

    camera.kill()
    error = await listener.received("link_interrupted", adapter.interface, seconds=8)
    assert error.code is ErrorCode.CONNECTION_LOST
    camera.on()
    await listener.received("link_restored", adapter.interface)

    camera.down()
    camera.network = type(camera.network)(camera.ssid, camera.password, channel=11)
    camera.start()
    await listener.received("link_interrupted", adapter.interface)
    await restored_on(listener, adapter.interface, 2462)
    assert listener.reported_links() == ["link_interrupted", "link_restored"] * 3
    assert await nm.state(adapter.interface) is DeviceState.ACTIVATED

    camera.stop()
    await listener.received("link_interrupted", adapter.interface)
    await backend.leave(adapter.interface)
    assert await backend.links() == []
    assert profiles() == []
    assert listener.reported_links()[-1] == "link_interrupted"
    await backend.stop()


async def test_a_camera_that_stays_away(cameras: Cameras, adapters: Adapters) -> None:
    listener = Listener()
    backend = await started(listener, Memory())
    (camera, other), (adapter, second) = (cameras("A"), cameras("B")), (adapters(), adapters())
    await asyncio.gather(
        backend.join(request_for(adapter, camera)), backend.join(request_for(second, other, device=2))
    )
    with Download(second.interface) as download:
        camera.stop()
        error = await listener.received("link_ended", adapter.interface, seconds=60)
        assert error.code is ErrorCode.CONNECTION_LOST
        assert [held.interface for held in await backend.links()] == [second.interface]
        assert len(profiles()) == 1
        download.expect_more()
    await backend.leave(second.interface)
    await backend.stop()


async def test_a_link_ended_by_another_program(cameras: Cameras, adapters: Adapters) -> None:
    listener = Listener()
    backend = await started(listener, Memory())
    camera, adapter = cameras("A"), adapters()
    await backend.join(request_for(adapter, camera))
    run("nmcli", "device", "disconnect", adapter.interface)
    error = await listener.received("link_ended", adapter.interface)
    assert "another program" in error.message
    assert listener.reported_links() == ["link_ended"]
    await backend.stop()


async def test_a_new_life_finds_its_links(cameras: Cameras, adapters: Adapters) -> None:
    memory = Memory()
    first = await started(Listener(), memory)
    (a, b), (one, two) = (cameras("A"), cameras("B", security="sae")), (adapters(), adapters())
    await asyncio.gather(first.join(request_for(one, a, device=3)), first.join(request_for(two, b, device=4)))
    before = at_one_strength(await first.links())
    with Download(one.interface) as download:
        await first.stop()
        listener = Listener()
        second = await started(listener, memory)
        assert at_one_strength(await second.links()) == before
        download.expect_more()
    assert (len(a.joins()), len(b.joins())) == (1, 1)
    b.stop()
    await listener.received("link_interrupted", two.interface, seconds=3)
    b.on()
    await listener.received("link_restored", two.interface)
    await second.leave(one.interface)
    await second.leave(two.interface)
    assert profiles() == []
    await second.stop()


async def test_a_new_life_finds_a_link_that_is_interrupted(cameras: Cameras, adapters: Adapters) -> None:
    first = await started(Listener(), Memory())
    camera, adapter = cameras("A"), adapters()
    await first.join(request_for(adapter, camera))
    await first.stop()
    camera.kill()
    listener = Listener()
    second = await started(listener, Memory())
    await listener.received("link_interrupted", adapter.interface)
    camera.on()
    await listener.received("link_restored", adapter.interface)
    await second.leave(adapter.interface)
    await second.stop()


async def test_an_attempt_of_a_killed_life_is_taken_down(
    nm: NetworkManager, cameras: Cameras, adapters: Adapters
) -> None:
    first = await started(Listener(), Memory())
    camera, adapter = cameras("A"), adapters()
    camera.dhcp_off()
    joining = asyncio.create_task(first.join(request_for(adapter, camera)))
    await nm.wait_for_state(adapter.interface, DeviceState.IP_CONFIG)
    await killed(first)
    with pytest.raises(WifimgrdError):
        await joining
    second = await started(Listener(), Memory())
    await nm.wait_for_state(adapter.interface, DeviceState.DISCONNECTED)
    assert profiles() == []
    await second.stop()


async def test_a_lost_bus_connection(cameras: Cameras, adapters: Adapters) -> None:
    connection = await BusConnection.open("system")
    listener = Listener()
    backend = await started(listener, Memory(), connection=connection)
    camera, adapter = cameras("A"), adapters()
    await backend.join(request_for(adapter, camera))
    await connection.close()
    await listener.status(BackendState.UNAVAILABLE)
    await listener.status(BackendState.READY)
    assert [held.interface for held in await backend.links()] == [adapter.interface]
    camera.stop()
    await listener.received("link_interrupted", adapter.interface, seconds=3)
    assert len(camera.joins()) == 1
    await backend.leave(adapter.interface)
    await backend.stop()


async def test_the_supplicant_killed(cameras: Cameras, adapters: Adapters) -> None:
    listener = Listener()
    backend = await started(listener, Memory())
    camera, adapter = cameras("A"), adapters()
    await backend.join(request_for(adapter, camera))
    run("pkill", "-KILL", "-x", "wpa_supplicant")
    status = await listener.status(BackendState.UNAVAILABLE)
    assert "wpa_supplicant" in status.reason
    await listener.status(BackendState.READY)
    assert isinstance(
        next(value for what, _, value in listener.reported if what == "link_ended"), ConnectionLost
    )
    await backend.join(request_for(adapter, camera))
    assert fetch(adapter.interface) == "A"
    await backend.leave(adapter.interface)
    await backend.stop()


@pytest.mark.parametrize("how", ["restart", "kill"])
async def test_networkmanager_restarted(cameras: Cameras, adapters: Adapters, how: str) -> None:
    listener = Listener()
    backend = await started(listener, Memory())
    camera, adapter = cameras("A"), adapters()
    await backend.join(request_for(adapter, camera))
    if how == "restart":
        run("systemctl", "restart", "NetworkManager")
    else:
        run("systemctl", "kill", "--signal=KILL", "NetworkManager")
        run("systemctl", "reset-failed", "NetworkManager")
        run("systemctl", "start", "NetworkManager")
    await listener.status(BackendState.UNAVAILABLE)
    await listener.status(BackendState.READY)
    ended = [value for what, _, value in listener.reported if what == "link_ended"]
    assert [error.code for error in ended] == [ErrorCode.CONNECTION_LOST]
    assert await backend.links() == []
    await backend.join(request_for(adapter, camera))
    assert fetch(adapter.interface) == "A"
    await backend.leave(adapter.interface)
    await backend.stop()
