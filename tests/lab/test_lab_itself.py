"""The lab before anything of ours: its cameras and adapters, with NetworkManager and nobody else."""

import asyncio
from collections.abc import Callable

import pytest

from .guest.access_point import Camera
from .guest.adapters import Adapter
from .guest.deadline import poll_until
from .guest.hostapd import Refusal
from .guest.namespace import run
from .guest.network_manager import DeviceState, NetworkManager
from .guest.supplicant import Supplicant
from .guest.traffic import Download, fetch

Cameras = Callable[..., Camera]
Adapters = Callable[..., Adapter]


async def test_smoke_two_adapters_three_cameras(
    nm: NetworkManager, cameras: Cameras, adapters: Adapters
) -> None:
    first, second = adapters(), adapters()
    a, b, c = cameras("A"), cameras("B"), cameras("C", security="sae")

    await asyncio.gather(nm.connect(first.interface, a), nm.connect(second.interface, c))
    assert (fetch(first.interface), fetch(second.interface)) == ("A", "C")
    assert (a.stations(), c.stations()) == ([first.permanent_address], [second.permanent_address])
    assert b.stations() == []

    with Download(second.interface) as download:
        download.expect_more()
        await nm.disconnect(first.interface)
        await nm.connect(first.interface, b)
        assert (fetch(first.interface), fetch(second.interface)) == ("B", "C")
        download.expect_more()
    assert (b.joins(), c.joins()) == ([first.permanent_address], [second.permanent_address])


async def test_cameras_with_one_leased_address(
    nm: NetworkManager, cameras: Cameras, adapters: Adapters
) -> None:
    first, second = adapters(), adapters()
    a, b = cameras("A", leases=(20, 20)), cameras("B", leases=(20, 20))
    await asyncio.gather(nm.connect(first.interface, a), nm.connect(second.interface, b))
    for adapter in (first, second):
        assert "inet 192.168.42.20/24" in run("ip", "address", "show", adapter.interface)
    assert (fetch(first.interface), fetch(second.interface)) == ("A", "B")


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({"ssid": b'\xff\x00 "\\\n\xf0\x9f'}, id="ssid-of-any-bytes"),
        pytest.param({"hidden": True}, id="hidden"),
        pytest.param({"security": "open"}, id="open"),
        pytest.param({"security": "sae-mixed"}, id="sae-mixed"),
        pytest.param({"channel": 149, "country": "US"}, id="5-ghz"),
    ],
)
async def test_a_camera_can_be(
    options: dict[str, object], nm: NetworkManager, cameras: Cameras, adapters: Adapters
) -> None:
    camera = cameras("A", **options)
    adapter = adapters()
    await nm.connect(adapter.interface, camera)
    assert fetch(adapter.interface) == "A"


@pytest.mark.parametrize(
    ("refusal", "reported_by", "status"),
    [
        ("full", "AuthStatusCode", 17),
        ("weak-signal", "AssocStatusCode", 34),
        ("not-listed", "AuthStatusCode", 1),
    ],
)
async def test_refused_by_a_camera_that_is_there(
    refusal: Refusal,
    reported_by: str,
    status: int,
    nm: NetworkManager,
    supplicant: Supplicant,
    cameras: Cameras,
    adapters: Adapters,
) -> None:
    camera = cameras("A")
    camera.refuse(refusal)
    adapter = adapters()
    await nm.wait_for_state(adapter.interface, DeviceState.DISCONNECTED)
    await nm.join(adapter.interface, camera)
    await supplicant.wait_for(adapter.interface, reported_by, status)
    assert camera.joins() == []
    camera.admit()
    await nm.disconnect(adapter.interface)
    await nm.connect(adapter.interface, camera)


async def test_off_in_order_and_cut_from_power(
    nm: NetworkManager, supplicant: Supplicant, cameras: Cameras, adapters: Adapters
) -> None:
    first, second = adapters(), adapters()
    a, b = cameras("A"), cameras("B")
    await asyncio.gather(nm.connect(first.interface, a), nm.connect(second.interface, b))
    a.stop()
    b.kill()
    await supplicant.wait_for(first.interface, "DisconnectReason", 3)  # deauthenticated: it leaves
    await supplicant.wait_for(second.interface, "DisconnectReason", -4)  # inactivity, found by ourselves
    a.on()
    b.on()
    await nm.wait_for_state(first.interface, DeviceState.ACTIVATED)
    await nm.wait_for_state(second.interface, DeviceState.ACTIVATED)
    poll_until(lambda: a.stations() and b.stations(), "both joined again")


async def test_no_address_without_the_dhcp_server(
    nm: NetworkManager, cameras: Cameras, adapters: Adapters
) -> None:
    camera, adapter = cameras("A"), adapters()
    camera.dhcp_off()
    await nm.wait_for_state(adapter.interface, DeviceState.DISCONNECTED)
    await nm.join(adapter.interface, camera)
    await nm.wait_for_state(adapter.interface, DeviceState.IP_CONFIG)
    camera.dhcp_on()
    await nm.wait_for_state(adapter.interface, DeviceState.ACTIVATED)


async def test_adapter_is_the_same_after_a_replug(nm: NetworkManager, adapters: Adapters) -> None:
    adapters("1.3")
    before = adapters("1.4", channels="all")
    await nm.wait_for_state(before.interface, DeviceState.DISCONNECTED)
    assert run("udevadm", "info", "-q", "property", "--property=ID_BUS", "--value", before.sysfs) == "usb\n"
    before.unplug()
    await nm.wait_for_state(before.interface, DeviceState.UNKNOWN)
    after = adapters("1.4", channels="all")
    await nm.wait_for_state(after.interface, DeviceState.DISCONNECTED)
    assert after == before
    shown = run("udevadm", "info", "-q", "property", after.sysfs)
    assert f"ID_PATH={before.id_path}\n" in shown
    assert f"ID_SERIAL={before.id_serial}\n" in shown
    assert await nm.permanent_address(after.interface) == before.permanent_address.upper()
