"""The Debian package on real 802.11: what is installed connects, and an upgrade drops nothing."""

import asyncio
from collections.abc import Callable

from .guest.access_point import Camera
from .guest.adapters import Adapter
from .guest.namespace import run
from .guest.network_manager import DeviceState, NetworkManager
from .guest.packaged import packaged, upgrade
from .guest.traffic import Download
from .guest.whole_hub import whole_hub


async def test_an_upgrade_keeps_two_cameras_connected_and_a_download_running(
    nm: NetworkManager, adapters: Callable[..., Adapter], cameras: Callable[..., Camera]
) -> None:
    for adapter in (adapters(), adapters()):
        await nm.wait_for_state(adapter.interface, DeviceState.DISCONNECTED)
    one, other = cameras("A"), cameras("B", security="sae")
    with packaged():
        async with whole_hub() as hub:
            for name in ("wlan0", "wlan1"):
                await hub.interface_state(name, "available")
            devices = [await hub.add(one), await hub.add(other)]
            for device in devices:
                await hub.until(device, "connected")
            before = dict(hub.dbus.devices)
            joins = [one.joins(), other.joins()]
            with Download(before[devices[0]].interface or "") as download:
                download.expect_more()
                first = run("systemctl", "show", "--value", "--property=MainPID", "wifimgrd")
                await asyncio.to_thread(upgrade)
                assert run("systemctl", "show", "--value", "--property=MainPID", "wifimgrd") != first
                await hub.await_daemon()
                download.expect_more()
            for device in devices:
                record = hub.dbus.devices[device]
                assert record.state == "connected"
                assert record.interface == before[device].interface
                assert record.local_address == before[device].local_address
            assert [one.joins(), other.joins()] == joins, "a second connection was started"


def test_autopkgtest_passes(empty_air: None) -> None:
    with packaged():
        try:
            told = run("/src/packaging/debian/tests/camera")
        finally:
            run("modprobe", "mac80211_hwsim", "radios=0")
    assert "connected" in told
