"""The Debian package on real 802.11: what is installed connects, and an upgrade drops nothing."""

import asyncio
import re
from collections.abc import Awaitable, Callable

import pytest

from .backends import on_both
from .guest.access_point import Camera
from .guest.adapters import Adapter
from .guest.namespace import run
from .guest.packaged import FIRST_PACKAGES, LAST_PACKAGES, PACKAGES, install, packaged
from .guest.supplicant import Supplicant
from .guest.traffic import Download
from .guest.whole_hub import URL, whole_hub

LINKS = {
    "networkmanager": "nmcli --terse connection show",
    "wpa_supplicant": "find /run/systemd/network /run/systemd/networkd.conf.d",
}
"""What lists the links of each backend."""
EARLIER = {"networkmanager": FIRST_PACKAGES, "wpa_supplicant": LAST_PACKAGES}
"""From which version a hub is upgraded; tests/system has each of them with simulated cameras."""


def ours_left(backend: str) -> str:
    """What is left in the kernel's tables, of the backend's links and on disk."""
    output = "".join(
        run(*command.split())
        for command in (
            "nft list ruleset",
            "ip -br link show",
            "ip rule show",
            "ip route show table all",
            LINKS[backend],
            "find /etc /lib /usr /var/lib /run/NetworkManager -xdev -iname *wifimgr*",
        )
    )
    return "\n".join(
        line
        for line in output.splitlines()
        if re.search("wifimgr|7749", line) and not line.startswith("/var/lib/systemd/deb-systemd-helper")
    )


@on_both
async def test_an_upgrade_keeps_two_cameras_connected_and_a_download_running(
    backend: str,
    plug: Callable[..., Awaitable[Adapter]],
    supplicant: Supplicant,
    cameras: Callable[..., Camera],
) -> None:
    plugged = await plug(), await plug()
    one, other = cameras("A"), cameras("B", security="sae")
    with packaged(EARLIER[backend]):
        async with whole_hub() as hub:
            for name in ("wlan0", "wlan1"):
                await hub.interface_state(name, "available")
            for adapter in plugged:  # read inside of the unit's sandbox
                assert hub.dbus.interfaces[adapter.interface].mac_address == adapter.permanent_address
            devices = [await hub.add(one), await hub.add(other)]
            names = dict(zip(devices, "AB", strict=True))
            for device in devices:
                await hub.until(device, "connected")
            before = dict(hub.dbus.devices)
            joins = [one.joins(), other.joins()]
            with Download(before[devices[0]].interface or "") as download:
                download.expect_more()
                first = run("systemctl", "show", "--value", "--property=MainPID", "wifimgrd")
                await asyncio.to_thread(install, PACKAGES)
                assert run("systemctl", "show", "--value", "--property=MainPID", "wifimgrd") != first
                await hub.await_daemon()
                download.expect_more()
            for device in devices:
                record = hub.dbus.devices[device]
                assert record.state == "connected"
                assert record.interface == before[device].interface
                assert record.local_address == before[device].local_address
                async with hub.http.get(f"{URL}/cameras/{device}/") as answer:
                    assert (await answer.text()).strip() == names[device]
            assert [one.joins(), other.joins()] == joins, "a second connection was started"
            run("systemctl", "stop", "wifimgrd.service", "wifimgrd-http.service")  # both cameras connected
        run("dpkg", "--purge", "wifimgrd-http", "wifimgrd")
        assert ours_left(backend) == ""
        if backend == "wpa_supplicant":
            assert await supplicant.registered() == []


@on_both
@pytest.mark.usefixtures("backend")
def test_autopkgtest_passes(no_radios: None) -> None:
    with packaged():
        try:
            output = run("/src/packaging/debian/tests/camera")
        finally:
            run("modprobe", "mac80211_hwsim", "radios=0")
    assert "connected" in output
