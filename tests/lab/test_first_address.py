"""A camera that is reported as connected answers at its address, the first one after a start included."""

import re
import subprocess
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.ceilings import RSS_MB

from .backends import on_both
from .guest.access_point import Camera
from .guest.adapters import Adapter
from .guest.deadline import poll_until
from .guest.namespace import run
from .guest.network_manager import DeviceState, NetworkManager
from .guest.services import drop_in
from .guest.whole_hub import WholeHub, journal_of_daemon, whole_hub

Cameras = Callable[..., Camera]
Adapters = Callable[..., Adapter]
Plug = Callable[..., Awaitable[Adapter]]

HELPER = "wifimgrd-net.service"
LARGEST_KB = RSS_MB["wifimgrd-net"] * 1_000_000 // 1024
LINGER_S = 15.0
PATIENCE_S = 20.0


def helper_is(state: str) -> bool:
    return run("systemctl", "show", "-P", "ActiveState", HELPER).strip() == state


def helper_kb() -> int:
    """The helper's resident memory."""
    pid = run("systemctl", "show", "-P", "MainPID", HELPER).strip()
    found = re.search(r"VmRSS:\s+(\d+) kB", Path("/proc", pid, "status").read_text())
    assert found
    return int(found[1])


async def page_at_once(hub: WholeHub, device: int) -> str:
    """The page at the device's address, in a single try as soon as D-Bus has it as connected."""
    await hub.dbus.wait_until(lambda dbus: dbus.devices[device].state == "connected", 40)
    address = hub.dbus.devices[device].address
    return page(f"http://{address}/")


def is_late(device: int) -> bool:
    """Whether the host was too busy for the device's address to lead to the camera within a second."""
    return f"address_late device={device} " in journal_of_daemon()


def page(url: str) -> str:
    """What is there, empty where nothing answers."""
    command = ("curl", "-sS", "-m", "5", url)
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


async def test_the_helper_runs_from_the_first_adapter_until_the_daemon_is_gone(
    nm: NetworkManager, adapters: Adapters, cameras: Cameras
) -> None:
    camera = cameras("A")
    async with whole_hub() as hub:
        assert not helper_is("active")
        adapter = adapters()
        await hub.interface_state(adapter.interface, "available")
        poll_until(lambda: helper_is("active"), "the helper's start", PATIENCE_S)
        device = await hub.add(camera)
        assert await page_at_once(hub, device) == "A" or is_late(device)
        assert helper_kb() <= LARGEST_KB
        assert run("systemctl", "show", "-P", "TasksCurrent", HELPER).strip() == "1"
        run("systemctl", "stop", "wifimgrd.service")
        poll_until(lambda: helper_is("inactive"), "the helper's end", LINGER_S + PATIENCE_S)
        run("systemctl", "start", "wifimgrd.service")
        await hub.await_daemon()
        url = f"http://{hub.dbus.devices[device].address}/"
        poll_until(lambda: page(url) == "A", "the camera whose link stood meanwhile", PATIENCE_S)


@on_both
async def test_every_camera_answers_at_its_address_as_soon_as_it_is_connected(
    plug: Plug, cameras: Cameras
) -> None:
    plugged = [await plug() for _ in range(3)]
    async with whole_hub() as hub:
        for adapter in plugged:
            await hub.interface_state(adapter.interface, "available")
        poll_until(lambda: helper_is("active"), "the helper's start", PATIENCE_S)
        for name in ("A", "B", "C"):
            device = await hub.add(cameras(name))
            found = await page_at_once(hub, device)
            if not is_late(device):
                assert found == name
        assert not all(map(is_late, hub.dbus.devices))


@contextmanager
def broken_helper() -> Iterator[None]:
    """A helper that runs no longer, and ends at its start."""
    try:
        with drop_in(HELPER, "ExecStart=", "ExecStart=/bin/false"):
            poll_until(lambda: helper_is("active"), "its start before", PATIENCE_S)
            run("systemctl", "stop", HELPER)
            yield
    finally:
        run("systemctl", "reset-failed", HELPER)
        # The message bus still waits for the last start, and calls would wait for it, too.
        run("systemctl", "start", HELPER)


async def test_without_the_helper_no_camera_is_connected_until_it_is_back(
    nm: NetworkManager, adapters: Adapters, cameras: Cameras
) -> None:
    """As while an upgrade replaces it."""
    adapter, camera = adapters(), cameras("A")
    await nm.wait_for_state(adapter.interface, DeviceState.DISCONNECTED)
    async with whole_hub("[connect]\non_create = false\n") as hub:
        with broken_helper():
            await hub.interface_state(adapter.interface, "available")
            device = await hub.add(camera)
            status, answer = await hub.connect(device)
            assert (status, answer["code"]) == (503, "backend-unavailable")
            assert "wifimgrd-net does not answer" in answer["detail"]
            assert camera.stations() == []
            assert not helper_is("failed"), "its start is tried again and again"
        status, answer = await hub.connect(device)
        assert status == 200, answer
        await hub.until(device, "connected")
