"""The access point of a link is pinned: at a weak signal nothing scans beside the traffic."""

import os
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import pytest

from .backends import on_both
from .guest.access_point import Camera
from .guest.adapters import Adapter
from .guest.deadline import poll_until
from .guest.namespace import run
from .guest.network_manager import NetworkManager
from .guest.supplicant import Supplicant
from .guest.supplicant_network import joined
from .guest.system_bus import SystemBus
from .guest.whole_hub import whole_hub

Cameras = Callable[..., Camera]
Plug = Callable[..., Awaitable[Adapter]]

SCANS = 3 if os.environ.get("WIFIMGRD_SOAK") else 1
"""How many scans of the link without a pin are awaited; `make soak LAB=1` has the long version."""
SCAN_S = 70.0
"""The first scan is due 30 s after the join."""
BACKGROUND_SCAN = "simple:30:-70:86400"
"""What NetworkManager configures for a link without a pin: a scan each 30 s below -70 dBm."""


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


@asynccontextmanager
async def unpinned(backend: str, bus: SystemBus, interface: str, camera: Camera) -> AsyncIterator[None]:
    """A link without a pin, beside which there are scans."""
    if backend == "wpa_supplicant":
        async with joined(bus, interface, camera, bgscan=BACKGROUND_SCAN):
            poll_until(camera.stations, "the control joined", 20)
            yield
        return
    nm = NetworkManager(bus)
    await nm.watch()
    await nm.connect(interface, camera)
    yield


async def pinned_bssid(backend: str, bus: SystemBus, interface: str, device: int) -> str:
    """The access point that the link of a device is pinned to."""
    if backend == "wpa_supplicant":
        return await Supplicant(bus).network_property(interface, "bssid")
    profile = run("nmcli", "-g", "802-11-wireless.bssid", "connection", "show", f"wifimgrd-{device}")
    return profile.strip().replace("\\", "").lower()


@on_both
async def test_at_a_weak_signal_a_link_is_not_interrupted_by_scans(
    bus: SystemBus, backend: str, plug: Plug, cameras: Cameras, tmp_path: Path
) -> None:
    """Another link, without a pin, is the control: it is scanned beside in the same time."""
    for _ in range(2):
        await plug()
    camera, other = cameras("A"), cameras("B")
    async with whole_hub('[interfaces]\nexclude = ["wlan1"]\n') as hub:
        await hub.interface_state("wlan0", "available")
        device = await hub.add(camera)
        await hub.until(device, "connected")
        async with unpinned(backend, bus, "wlan1", other):
            with scans(tmp_path / "events") as count:
                for each in (camera, other):
                    each.weaken()
                poll_until(lambda: signal_dbm("wlan0") <= -75, "a weak signal of the pinned link")
                poll_until(lambda: signal_dbm("wlan1") <= -75, "a weak signal of the control")
                poll_until(lambda: count("wlan1") >= SCANS, "scans of the control", SCANS * SCAN_S)
                assert count("wlan0") == 0
        await hub.expect(device, "connected")
        assert await pinned_bssid(backend, bus, "wlan0", device) == camera.bssid


@on_both
@pytest.mark.parametrize("hidden", [False, True])
async def test_a_camera_that_changes_its_bssid_within_the_grace_time_keeps_its_link(
    plug: Plug, cameras: Cameras, hidden: bool
) -> None:
    adapter, camera = await plug(), cameras("A", hidden=hidden)
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
