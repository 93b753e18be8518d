"""A server whose wired link is systemd-networkd's: cameras come and go, and its own network stays."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from .guest.access_point import Camera
from .guest.deadline import poll_until
from .guest.namespace import run
from .guest.traffic import Download, until_fetched
from .guest.whole_hub import WholeHub
from .guest.wired_link import (
    NETWORKD,
    add_vpn_route,
    download,
    network_of_the_host,
    until_configured,
    wired_link,
)

Cameras = Callable[..., Camera]

LATER_LEASES = (200, 209)
"""Of a camera that was switched off: none is the one that the link had before."""


@pytest.fixture
def wired(no_radios: None, tmp_path: Path) -> Iterator[tuple[Download, dict[str, object]]]:
    """The link with a download through it, before any camera; and the host's network as it is then."""
    with wired_link(tmp_path), download() as ticks:
        ticks.expect_more()
        yield ticks, network_of_the_host()


def main_process() -> str:
    return run("systemctl", "show", "-P", "MainPID", NETWORKD).strip()


def restart_networkd(how: tuple[str, ...]) -> None:
    """Restart or kill it, and wait until it has configured the link again."""
    old = main_process()
    run("systemctl", *how, NETWORKD)
    poll_until(lambda: main_process() not in ("0", old), "networkd runs again", 30)
    until_configured()


@pytest.mark.parametrize("backend", ["wpa_supplicant"])
async def test_a_wired_link_of_networkds_keeps_its_connections_routes_and_rules(
    wired: tuple[Download, dict[str, object]], hub: WholeHub, cameras: Cameras
) -> None:
    ticks, before = wired

    def expect_as_before() -> None:
        ticks.expect_whole()
        assert network_of_the_host() == before

    networkd = main_process()
    first, second = cameras("A"), cameras("B")
    devices = [await hub.add(first), await hub.add(second)]
    for device in devices:
        await hub.until(device, "connected")
    expect_as_before()

    await hub.disconnect(devices[1])
    await hub.until(devices[1], "disconnected")
    expect_as_before()
    assert (await hub.connect(devices[1]))[0] == 200
    hub.channel.forget()
    first.kill()
    await hub.until(devices[0], "connecting")
    first.dhcp_off()
    first.leases = LATER_LEASES
    first.dhcp_on()
    first.on()
    await hub.until(devices[0], "connected")
    local = hub.dbus.devices[devices[0]].local_address
    assert local is not None
    assert int(local.rpartition(".")[2]) in range(LATER_LEASES[0], LATER_LEASES[1] + 1), local
    expect_as_before()

    run("systemctl", "restart", "wifimgrd.service", "wifimgrd-net.service")
    await hub.dbus.wait_until(lambda dbus: not dbus.available, 10)
    await hub.await_daemon()
    await hub.all_back(devices)
    expect_as_before()

    run("pkill", "-KILL", "-x", "wpa_supplicant")
    await hub.dbus.wait_until(lambda dbus: dbus.service.backend_state == "unavailable", 10)
    await hub.all_back(devices)
    expect_as_before()
    assert int(run("systemctl", "--version").split()[1]) >= 257 or main_process() == networkd

    for how in (("restart",), ("kill", "--signal=KILL")):
        hub.channel.forget()
        restart_networkd(how)
        add_vpn_route()
        expect_as_before()
        for device, camera in zip(devices, (first, second), strict=True):
            until_fetched(hub.dbus.devices[device].interface, camera.name)
            assert hub.channel.statuses(device) == []
