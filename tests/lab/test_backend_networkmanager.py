"""NetworkManagerBackend against NetworkManager, wpa_supplicant and real 802.11: joins, and why they fail."""

import asyncio
import contextlib
import uuid
from collections.abc import AsyncIterator, Callable
from dataclasses import replace

import pytest
import pytest_asyncio
from structlog.testing import capture_logs

from wifimgrd.bus.connection import BusError
from wifimgrd.daemon.backends.networkmanager import NetworkManagerBackend
from wifimgrd.domain.adapter import Band
from wifimgrd.domain.device import Sighting
from wifimgrd.domain.errors import (
    AssociationRefused,
    AuthenticationFailed,
    BackendUnavailable,
    Busy,
    DeviceNotReachable,
    InterfaceLost,
    WifimgrdError,
)
from wifimgrd.domain.events import BackendState
from wifimgrd.domain.network import Security
from wifimgrd.proxies.wpa_supplicant.bss import KeyManagement
from wifimgrd.runtime.tasks import Tasks

from .guest.access_point import Camera
from .guest.adapters import Adapter
from .guest.deadline import async_poll_until, poll_until
from .guest.namespace import run
from .guest.network_manager import DeviceState, NetworkManager
from .guest.traffic import fetch
from .networkmanager_changes import Changes
from .networkmanager_listener import Listener, Memory, killed, profiles, request_for, started

NETWORKS = {
    b"CAM_A": Security.WPA2,
    b"CAM_B": Security.WPA3,
    b"CAM_C": Security.OPEN,
    b"\xff caf\xc3\xa9": Security.WPA2_WPA3,
}
Cameras = Callable[..., Camera]
Adapters = Callable[..., Adapter]


@pytest_asyncio.fixture
async def listener() -> Listener:
    return Listener()


@pytest_asyncio.fixture
async def backend(nm: NetworkManager, listener: Listener) -> AsyncIterator[NetworkManagerBackend]:
    """The backend, ready; afterwards, without any profile of ours in NetworkManager."""
    made = await started(listener, Memory())
    yield made
    for link in await made.links():
        await made.leave(link.interface)
    await made.stop()
    assert profiles() == [], "profiles left after the test"


@pytest.mark.parametrize("security", ["wpa2", "sae", "sae-mixed", "open"])
async def test_joins_and_leaves(
    backend: NetworkManagerBackend, cameras: Cameras, adapters: Adapters, security: str
) -> None:
    camera, adapter = cameras("A", security=security), adapters()
    link = await backend.join(request_for(adapter, camera))
    assert link.local_address.startswith("192.168.42.")
    assert link.camera_address == "192.168.42.1"
    assert link.sighting == Sighting(camera.bssid, 2412)
    assert 0 < link.signal_percent <= 100
    assert fetch(adapter.interface) == "A"
    (held,) = await backend.links()
    assert (held.device_id, held.interface, held.ssid.data) == (1, "wlan0", camera.ssid)
    assert replace(held.link, signal_percent=0) == replace(link, signal_percent=0)
    await backend.leave(adapter.interface)
    assert await backend.links() == []
    assert profiles() == []
    poll_until(lambda: camera.stations() == [], "the camera alone")
    await backend.leave(adapter.interface)


async def test_joins_a_hidden_network_and_one_with_a_strange_name(
    backend: NetworkManagerBackend, cameras: Cameras, adapters: Adapters
) -> None:
    first, second = adapters(), adapters()
    hidden = cameras("H", hidden=True, channel=6)
    strange = cameras("S", ssid=b"\xff caf\xc3\xa9 '\"; x", channel=3)
    await asyncio.gather(
        backend.join(request_for(first, hidden)), backend.join(request_for(second, strange, device=2))
    )
    assert (fetch(first.interface), fetch(second.interface)) == ("H", "S")


async def test_joins_three_at_once(
    backend: NetworkManagerBackend, cameras: Cameras, adapters: Adapters
) -> None:
    plugged = [adapters() for _ in range(3)]
    made = [cameras("A"), cameras("B", security="sae"), cameras("C", channel=11)]
    pairs = list(zip(plugged, made, strict=True))
    await asyncio.gather(*(backend.join(request_for(adapter, camera)) for adapter, camera in pairs))
    assert [fetch(adapter.interface) for adapter in plugged] == ["A", "B", "C"]
    again = backend.join(request_for(plugged[0], made[0]))
    await asyncio.gather(backend.leave("wlan1"), backend.leave("wlan2"), again)
    assert [held.interface for held in await backend.links()] == ["wlan0"]


@pytest.mark.parametrize("security", ["sae", "sae-mixed"])
async def test_a_wrong_password_is_named(
    backend: NetworkManagerBackend, cameras: Cameras, adapters: Adapters, security: str
) -> None:
    camera, adapter = cameras("A", security=security), adapters()
    with pytest.raises(AuthenticationFailed, match="CAM_A") as failure:
        await backend.join(request_for(adapter, camera, password="not-the-password"))
    assert "not-the-password" not in str(failure.value)
    assert profiles() == []
    await backend.join(request_for(adapter, camera))
    assert fetch(adapter.interface) == "A"


@pytest.mark.parametrize(("security", "password"), [("wpa2", ""), ("sae", ""), ("open", "a-password")])
async def test_a_network_of_another_kind_is_not_joined(
    backend: NetworkManagerBackend, cameras: Cameras, adapters: Adapters, security: str, password: str
) -> None:
    camera, adapter = cameras("A", security=security), adapters()
    with pytest.raises(AuthenticationFailed, match="password"):
        await backend.join(request_for(adapter, camera, password=password))
    assert camera.joins() == []


async def test_an_open_network_of_the_same_name_is_passed_by(
    backend: NetworkManagerBackend, cameras: Cameras, adapters: Adapters
) -> None:
    twin = cameras("T", ssid="CAM_A", security="open", channel=1)
    camera, adapter = cameras("A", channel=6), adapters()
    known = (Sighting(camera.bssid, 2437),)
    await backend.join(request_for(adapter, camera, sightings=known))
    assert fetch(adapter.interface) == "A"
    assert twin.joins() == []


@pytest.mark.parametrize("refusal", ["full", "weak-signal", "not-listed"])
async def test_a_refusal_is_distinguished_from_absence_and_over_when_the_camera_admits(
    backend: NetworkManagerBackend, cameras: Cameras, adapters: Adapters, refusal: str
) -> None:
    camera, adapter = cameras("A", refusal=refusal), adapters()
    with pytest.raises(AssociationRefused, match="CAM_A"):
        await backend.join(request_for(adapter, camera))
    assert profiles() == []
    camera.admit()
    await backend.join(request_for(adapter, camera))
    assert fetch(adapter.interface) == "A"


async def test_a_camera_that_the_supplicant_keeps_away_from_is_not_absent(
    backend: NetworkManagerBackend, cameras: Cameras, adapters: Adapters
) -> None:
    """A refusal for a weak signal can say for how long to keep away."""
    camera, adapter = cameras("A", refusal="weak-signal"), adapters()
    camera.keep_away(60)
    for _ in range(2):
        with pytest.raises(AssociationRefused):
            await backend.join(request_for(adapter, camera, timeout_s=8))


async def test_a_full_sae_camera_is_not_a_wrong_password(
    backend: NetworkManagerBackend, cameras: Cameras, adapters: Adapters
) -> None:
    camera, adapter = cameras("A", security="sae", refusal="full"), adapters()
    with pytest.raises(AssociationRefused):
        await backend.join(request_for(adapter, camera))
    camera.admit()
    await backend.join(request_for(adapter, camera))


async def test_an_absent_camera_costs_two_scans(
    backend: NetworkManagerBackend, cameras: Cameras, adapters: Adapters
) -> None:
    camera, adapter = cameras("A"), adapters()
    for sightings in ((), (Sighting(camera.bssid, 2412),)):
        with capture_logs() as logs, pytest.raises(DeviceNotReachable, match="NOT-THERE"):
            await backend.join(request_for(adapter, camera, ssid=b"NOT-THERE", sightings=sightings))
        looks = [entry["channels"] for entry in logs if entry["event"] == "network_searched"]
        assert len(looks) == 2
        assert looks[1] == "all"


async def test_a_camera_that_vanishes_after_the_scan_is_absent(
    backend: NetworkManagerBackend, cameras: Cameras, adapters: Adapters
) -> None:
    camera, adapter = cameras("A"), adapters()
    link = await backend.join(request_for(adapter, camera))
    assert link.sighting
    await backend.leave(adapter.interface)
    camera.kill()
    with pytest.raises(DeviceNotReachable):
        await backend.join(request_for(adapter, camera, sightings=(link.sighting,)))
    camera.on()
    await backend.join(request_for(adapter, camera, sightings=(link.sighting,)))


async def test_an_interface_that_nobody_knows(backend: NetworkManagerBackend, cameras: Cameras) -> None:
    camera = cameras("A")
    with pytest.raises(InterfaceLost, match="wlan7"):
        await backend.join(request_for("wlan7", camera, timeout_s=1))
    await backend.leave("wlan7")
    await backend.claim("wlan7")
    await backend.release("wlan7")


async def test_a_cancelled_attempt_leaves_nothing(
    backend: NetworkManagerBackend, cameras: Cameras, adapters: Adapters
) -> None:
    camera, adapter = cameras("A"), adapters()
    link = await backend.join(request_for(adapter, camera))
    assert link.sighting
    again = request_for(adapter, camera, sightings=(link.sighting,))
    for moment_s in (0.0, 0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.4):
        await backend.leave(adapter.interface)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(backend.join(again), moment_s)
            await backend.leave(adapter.interface)
        assert await backend.links() == []
        assert profiles() == []
        poll_until(lambda: camera.stations() == [], "the camera alone")
        await backend.join(again)


async def test_leave_ends_a_running_attempt(
    backend: NetworkManagerBackend, cameras: Cameras, adapters: Adapters, listener: Listener
) -> None:
    camera, adapter = cameras("A"), adapters()
    camera.dhcp_off()
    joining = asyncio.create_task(backend.join(request_for(adapter, camera)))
    while not camera.stations():
        await listener.anything()
    await backend.leave(adapter.interface)
    with pytest.raises(WifimgrdError):
        await joining
    assert profiles() == []


async def test_facts_and_status(
    nm: NetworkManager, cameras: Cameras, adapters: Adapters, listener: Listener
) -> None:
    run("systemctl", "stop", "NetworkManager")
    camera, adapter = cameras("A"), adapters()
    backend = NetworkManagerBackend(Memory(), Tasks("test"), changes=Changes())
    await backend.start(listener)
    await listener.status(BackendState.UNAVAILABLE)
    with pytest.raises(BackendUnavailable, match="NetworkManager"):
        await backend.join(request_for(adapter, camera))
    run("systemctl", "start", "NetworkManager")
    await listener.status(BackendState.READY)
    listener.rewind()  # the facts may have come before
    facts = await listener.received(
        "interface_facts", adapter.interface, lambda facts: facts and not facts.obstacle
    )
    assert facts.bands >= {Band.GHZ_2_4, Band.GHZ_5}  # and 6 GHz, for NetworkManager from 1.46 on
    await backend.join(request_for(adapter, camera))
    await backend.leave(adapter.interface)
    await backend.stop()


async def test_obstacles_are_named(
    backend: NetworkManagerBackend, cameras: Cameras, adapters: Adapters, listener: Listener
) -> None:
    camera, adapter = cameras("A"), adapters()
    name = adapter.interface

    async def obstacle(words: str) -> None:
        await listener.received("interface_facts", name, lambda facts: facts and words in facts.obstacle)

    async def none() -> None:
        await listener.received("interface_facts", name, lambda facts: facts and not facts.obstacle)

    await none()
    run("nmcli", "radio", "wifi", "off")
    await obstacle("switched off")
    run("nmcli", "radio", "wifi", "on")
    await none()
    run("nmcli", "device", "set", name, "managed", "no")
    await obstacle("not managed")
    run("nmcli", "device", "set", name, "managed", "yes")
    await none()
    # With a default route comes a new host name, for which NetworkManager 1.42 asks for another lease; where
    # that is before it has taken over the first one, it stays in IP_CONFIG.
    run("nmcli", "connection", "add", "type", "wifi", "con-name", "Home", "ifname", name, "ssid", "CAM_A",
        "autoconnect", "no", "wifi-sec.key-mgmt", "wpa-psk", "wifi-sec.psk", camera.password,
        "ipv4.never-default", "yes")  # fmt: skip
    run("nmcli", "--wait", "30", "connection", "up", "Home")
    await obstacle('carries the connection "Home"')
    with pytest.raises(InterfaceLost, match="Home"):
        await backend.join(request_for(adapter, camera))
    assert fetch(name) == "A", "another's connection was dropped"
    run("nmcli", "connection", "delete", "Home")
    await none()
    run(
        "nmcli", "device", "wifi", "hotspot", "ifname", name, "con-name", "Spot", "ssid", "SPOT", "band", "bg"
    )
    await obstacle("is an access point")
    run("nmcli", "connection", "delete", "Spot")
    await none()


async def test_the_default_route_is_named(
    backend: NetworkManagerBackend, cameras: Cameras, adapters: Adapters, listener: Listener
) -> None:
    camera, adapter = cameras("A", security="open"), adapters()
    run("nmcli", "connection", "add", "type", "wifi", "con-name", "Home", "ifname", adapter.interface,
        "ssid", "CAM_A", "autoconnect", "no", "ipv4.method", "manual", "ipv4.addresses", "192.168.42.200/24",
        "ipv4.gateway", "192.168.42.1")  # fmt: skip
    run("nmcli", "--wait", "30", "connection", "up", "Home")
    await listener.received(
        "interface_facts", adapter.interface, lambda facts: facts and "default route" in facts.obstacle
    )
    run("nmcli", "connection", "delete", "Home")
    assert camera.joins()


async def test_a_held_adapter_is_not_taken_by_autoconnect(
    backend: NetworkManagerBackend,
    cameras: Cameras,
    adapters: Adapters,
    listener: Listener,
    nm: NetworkManager,
) -> None:
    camera, adapter = cameras("A"), adapters()
    await backend.claim(adapter.interface)
    await listener.received("interface_facts", adapter.interface, lambda facts: facts and not facts.obstacle)
    run("nmcli", "connection", "add", "type", "wifi", "con-name", "Saved", "ssid", "CAM_A",
        "autoconnect", "yes", "wifi-sec.key-mgmt", "wpa-psk", "wifi-sec.psk", camera.password)  # fmt: skip
    link = await backend.join(request_for(adapter, camera))
    assert link.sighting
    await backend.leave(adapter.interface)
    run("nmcli", "device", "wifi", "rescan", "ifname", adapter.interface, "ssid", "CAM_A")
    run("nmcli", "device", "wifi", "list", "ifname", adapter.interface, "--rescan", "yes")
    await backend.join(request_for(adapter, camera, sightings=(link.sighting,)))
    assert len(camera.joins()) == 2, "the saved profile took the adapter"
    await backend.leave(adapter.interface)
    await backend.release(adapter.interface)
    await listener.received(
        "interface_facts", adapter.interface, lambda facts: facts and "Saved" in facts.obstacle
    )
    run("nmcli", "connection", "delete", "Saved")


async def test_a_hold_survives_a_crash_and_a_restart_of_networkmanager(
    adapters: Adapters, nm: NetworkManager, listener: Listener
) -> None:
    memory = Memory()
    first = await started(listener, memory)
    adapter = adapters()
    await first.claim(adapter.interface)
    await listener.until(lambda: not _autoconnect(adapter))
    await killed(first)
    second_listener = Listener()
    second = await started(second_listener, memory)
    await second.claim(adapter.interface)
    run("systemctl", "restart", "NetworkManager")
    await second_listener.status(BackendState.READY)
    await second_listener.until(lambda: not _autoconnect(adapter))
    await second.stop()
    assert _autoconnect(adapter)
    assert memory == {}


def _autoconnect(adapter: Adapter) -> bool:
    try:
        return run("nmcli", "-g", "GENERAL.AUTOCONNECT", "device", "show", adapter.interface).strip() == "yes"
    except RuntimeError:
        return True


async def test_the_country_is_set_and_its_absence_is_warned_about(
    nm: NetworkManager, cameras: Cameras, adapters: Adapters
) -> None:
    run("iw", "reg", "set", "00")
    adapter = adapters(channels="all")
    await nm.wait_for_state(adapter.interface, DeviceState.DISCONNECTED)
    with capture_logs() as logs:
        backend = await started(Listener(), Memory())
        await backend.stop()
    assert [entry["log_level"] for entry in logs if entry["event"] == "country_unknown"] == ["warning"]

    listener = Listener()
    with capture_logs() as logs:
        backend = await started(listener, Memory(), country="DE")
        await listener.until(lambda: "country DE" in run("iw", "reg", "get"))
    assert "country_unknown" not in [entry["event"] for entry in logs]
    camera = cameras("A", channel=36, country="DE")
    with capture_logs() as logs:
        link = await backend.join(request_for(adapter, camera, sightings=(Sighting(camera.bssid, 5180),)))
    assert link.sighting == Sighting(camera.bssid, 5180)
    assert [entry["channels"] for entry in logs if entry["event"] == "network_searched"] == [(5180,)]
    await backend.leave(adapter.interface)
    await backend.stop()
    run("iw", "reg", "set", "00")


async def test_a_scan_finds_every_kind_of_network_and_disturbs_no_link(
    backend: NetworkManagerBackend, cameras: Cameras, adapters: Adapters
) -> None:
    joined, idle = adapters(), adapters()
    camera = cameras("A")
    cameras("B", security="sae", channel=6)
    cameras("C", security="open", channel=11)
    cameras("D", security="sae-mixed", ssid=b"\xff caf\xc3\xa9", channel=3)
    await backend.join(request_for(joined, camera))
    with pytest.raises(Busy):
        await backend.scan(joined.interface)
    await asyncio.gather(*(backend.scan(idle.interface) for _ in range(3)))

    async def listed() -> dict[bytes, Security]:
        points = [point for point in await backend.recent_scan_results() if point.interface == idle.interface]
        return {point.ssid.data: point.security for point in points}

    async def all_listed() -> bool:
        """A scan is on each channel for a moment only, and may miss who answers late."""
        if len(await listed()) == len(NETWORKS):
            return True
        await backend.scan(idle.interface)
        return False

    await async_poll_until(all_listed, "every network", 30)
    assert await listed() == NETWORKS
    assert fetch(joined.interface) == "A"
    assert [held.interface for held in await backend.links()] == [joined.interface]


async def test_a_profile_is_activated_on_no_other_adapter_than_its_own(
    nm: NetworkManager, cameras: Cameras, adapters: Adapters
) -> None:
    camera, own, other = cameras("A"), adapters(), adapters()
    for adapter in (own, other):
        await nm.wait_for_state(adapter.interface, DeviceState.DISCONNECTED)
    with pytest.raises(BusError) as refused:
        await Changes().activate(
            *(request_for(own, camera), KeyManagement.PSK, "", await nm.device(other.interface)),
            *(str(uuid.uuid4()), 20.0),
        )
    assert "mismatching interface name" in refused.value.message
    assert profiles() == []


async def test_profiles_of_the_host_are_neither_ended_nor_deleted(
    nm: NetworkManager, cameras: Cameras, adapters: Adapters
) -> None:
    camera, adapter = cameras("A"), adapters()
    await nm.connect(adapter.interface, camera)
    [listed] = [
        line
        for line in run(
            "nmcli", "-t", "-f", "DBUS-PATH,ACTIVE-PATH,DEVICE", "connection", "show"
        ).splitlines()
        if line.endswith(f":{adapter.interface}")
    ]
    profile, active, _ = listed.split(":")
    for change in (Changes().deactivate(active), Changes().delete(profile)):
        with pytest.raises(BusError, match="not the hub's"):
            await change
    assert await nm.state(adapter.interface) == DeviceState.ACTIVATED
    await nm.disconnect(adapter.interface)
