"""Files of the host's own for systemd-networkd that match a camera's adapter."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from .guest.access_point import Camera
from .guest.deadline import poll_until
from .guest.namespace import run
from .guest.traffic import until_fetched
from .guest.whole_hub import WholeHub

Cameras = Callable[..., Camera]

FOLDER = Path("/etc/systemd/network")
BY_DHCP = "[Match]\nName={}\n[Network]\nDHCP=yes\n"
LEFT_ALONE = "[Match]\nName={}\n[Link]\nUnmanaged=yes\n"
WITH_ROUTES = "[DHCPv4]\nUseRoutes=yes\nUseGateway=yes\nUseDNS=yes\nRouteTable=main\n"
DROPIN = "05-wifimgrd-{}.network.d/mine.conf"

on_wpa_supplicant = pytest.mark.parametrize("backend", ["wpa_supplicant"])


@contextmanager
def host_file(name: str, text: str, interface: str = "wlan0") -> Iterator[str]:
    """A file of the host's for networkd, which networkd has not read, for an interface."""
    file = FOLDER / name.format(interface)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text.format(interface))
    for made in (file.parent, file):
        made.chmod(0o755 if made.is_dir() else 0o644)
    try:
        yield str(file)
    finally:
        file.unlink(missing_ok=True)
        if file.parent != FOLDER:
            file.parent.rmdir()


def of_the_lease(interface: str = "wlan0") -> str:
    """What the host has of a camera's lease."""
    routes = run("ip", "-4", "route", "show", "table", "main", "dev", interface)
    return routes + run("ip", "-4", "-o", "address", "show", "dev", interface)


def _has_nothing(interface: str) -> bool:
    return of_the_lease(interface) == ""


@on_wpa_supplicant
async def test_a_file_that_is_in_force_before_the_hubs_fails_the_attempt_and_is_named(
    hub: WholeHub, cameras: Cameras
) -> None:
    camera = cameras("A")
    for name, text in (
        ("00-wlan0.network", BY_DHCP),
        (DROPIN, WITH_ROUTES),
        ("05-wifimgrd-wlan0.network", BY_DHCP),
        ("01-not-mine.network", LEFT_ALONE),
    ):
        with host_file(name, text) as file:
            device = await hub.add(camera)
            message = await hub.failed(device, "address-failed")
            assert f" {file} " in f"{message.replace(':', ' ').replace(',', ' ')} "
            assert of_the_lease() == ""
            assert camera.stations() == []
            await hub.dbus.remove_device(device)
        run("networkctl", "reload")
        await hub.interface_state("wlan0", "available")
        hub.channel.forget()
    with host_file("10-wlan.network", BY_DHCP), host_file("05-wifimgrd-.network.d/all.conf", WITH_ROUTES):
        device = await hub.add(camera)
        await hub.until(device, "connected")
        until_fetched("wlan0", "A")
        assert run("ip", "-4", "route", "show", "default") == ""


@on_wpa_supplicant
async def test_a_file_that_comes_into_force_ends_the_link_and_nothing_of_the_lease_stays(
    hub: WholeHub, cameras: Cameras
) -> None:
    camera = cameras("A")
    device = await hub.add(camera)
    await hub.until(device, "connected")
    for name, text in (("00-{}.network", BY_DHCP), (DROPIN, WITH_ROUTES)):
        interface = hub.dbus.devices[device].interface or ""
        with host_file(name, text, interface) as file:
            hub.channel.forget()
            run("networkctl", "reload")
            assert file in await hub.failed(device, "address-failed")
            poll_until(partial(_has_nothing, interface), "the end of the lease", 1)
            assert run("ip", "-4", "route", "show", "default") == ""
            if name != DROPIN:  # the other adapter is free, and known to be better
                hub.channel.forget()
                await hub.until(device, "connected")
                assert hub.dbus.devices[device].interface != interface
                assert file in (hub.dbus.interfaces[interface].reason or "")


@on_wpa_supplicant
async def test_a_link_that_such_a_file_has_at_the_start_is_not_kept(hub: WholeHub, cameras: Cameras) -> None:
    device = await hub.add(cameras("A"))
    await hub.until(device, "connected")
    run("systemctl", "stop", "wifimgrd.service")
    await hub.dbus.wait_until(lambda dbus: not dbus.available, 10)
    with host_file("00-wlan0.network", BY_DHCP) as file:
        run("networkctl", "reload")
        poll_until(lambda: "default" in of_the_lease(), "that networkd uses it", 15)
        hub.channel.forget()
        run("systemctl", "start", "wifimgrd.service")
        await hub.await_daemon()
        await hub.interface_state("wlan0", "unavailable", 30)
        assert file in (hub.dbus.interfaces["wlan0"].reason or "")
        await hub.until(device, "connected")
        until_fetched("wlan1", "A")
        assert of_the_lease() == ""
