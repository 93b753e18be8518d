"""The access point of a link is pinned: at a weak signal nothing scans beside the traffic."""

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from .guest.access_point import Camera
from .guest.adapters import Adapter
from .guest.deadline import poll_until
from .guest.namespace import run
from .guest.network_manager import DeviceState, NetworkManager
from .guest.whole_hub import whole_hub

Cameras = Callable[..., Camera]
Adapters = Callable[..., Adapter]

SCANS = 3 if os.environ.get("WIFIMGRD_SOAK") else 1
"""How many scans of the link without a pin are awaited; `make soak LAB=1` has the long version."""
SCAN_S = 70.0
"""NetworkManager configures a scan each 30 s below -70 dBm; the first one is due that long after the join."""


@contextmanager
def scans(log: Path) -> Iterator[Callable[[str], int]]:
    """Count the scans that the kernel reports, by interface."""
    with log.open("wb") as file:
        listener = subprocess.Popen(("iw", "event"), stdout=file)
    try:
        yield lambda interface: sum(
            line.startswith(f"{interface} ") and "scan started" in line
            for line in log.read_text().splitlines()
        )
    finally:
        listener.kill()
        listener.wait()


def signal_dbm(interface: str) -> int:
    for line in run("iw", "dev", interface, "link").splitlines():
        if line.strip().startswith("signal:"):
            return int(line.split()[1])
    return 0


async def test_at_a_weak_signal_a_link_is_not_interrupted_by_scans(
    nm: NetworkManager, cameras: Cameras, adapters: Adapters, tmp_path: Path
) -> None:
    """Another link, without a pin, is the control: it is scanned beside in the same time."""
    for adapter in (adapters(), adapters()):
        await nm.wait_for_state(adapter.interface, DeviceState.DISCONNECTED)
    camera, other = cameras("A"), cameras("B")
    async with whole_hub('[interfaces]\nexclude = ["wlan1"]\n') as hub:
        await hub.interface_state("wlan0", "available")
        device = await hub.add(camera)
        await hub.until(device, "connected")
        await nm.connect("wlan1", other)
        with scans(tmp_path / "events") as count:
            for each in (camera, other):
                each.weaken()
            poll_until(lambda: signal_dbm("wlan0") <= -75, "a weak signal of the pinned link")
            poll_until(lambda: signal_dbm("wlan1") <= -75, "a weak signal of the control")
            poll_until(lambda: count("wlan1") >= SCANS, "scans of the control", SCANS * SCAN_S)
            assert count("wlan0") == 0
        await hub.expect(device, "connected")
        profile = run("nmcli", "-g", "802-11-wireless.bssid", "connection", "show", f"wifimgrd-{device}")
        assert profile.strip().replace("\\", "").lower() == camera.bssid


@pytest.mark.parametrize("hidden", [False, True])
async def test_a_camera_that_changes_its_bssid_within_the_grace_time_keeps_its_link(
    nm: NetworkManager, cameras: Cameras, adapters: Adapters, hidden: bool
) -> None:
    adapter, camera = adapters(), cameras("A", hidden=hidden)
    await nm.wait_for_state(adapter.interface, DeviceState.DISCONNECTED)
    async with whole_hub("[link]\ngrace_s = 30\n") as hub:
        await hub.interface_state(adapter.interface, "available")
        device = await hub.add(camera)
        await hub.until(device, "connected")
        hub.channel.forget()
        camera.stop()
        await hub.until(device, "connecting")
        camera.change_bssid("02:ca:00:00:00:78")
        camera.on()
        await hub.until(device, "connected", 30)
        assert hub.channel.statuses(device) == ["connecting", "connected"]
        assert camera.joins()
