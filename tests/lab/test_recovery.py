"""Adapters that stop working, on real 802.11: a radio in a group of its own reaches no other one."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from typing import get_args

import pytest
import pytest_asyncio

from wifimgrd.daemon.backends.networkmanager import NetworkManagerBackend
from wifimgrd.domain.device import Ssid
from wifimgrd.domain.errors import Busy
from wifimgrd.domain.recovery import BackendStep, RecoveryStep
from wifimgrd.helper._wireless import restart_link

from .backends import on_both
from .guest.access_point import Camera
from .guest.adapters import Adapter
from .guest.deadline import poll_until
from .guest.namespace import CommandError, run
from .guest.netlink_sockets import netlink_sockets
from .guest.network_manager import DeviceState, NetworkManager
from .guest.whole_hub import Json, journal_of_daemon, whole_hub
from .networkmanager_listener import Listener, Memory, request_for, started

Cameras = Callable[..., Camera]
Adapters = Callable[..., Adapter]
Plug = Callable[..., Awaitable[Adapter]]
DEBUGFS = Path("/sys/kernel/debug/ieee80211")
CONF = Path(__file__).parents[2] / "packaging" / "networkmanager" / "wifimgrd.conf"


def deafen(adapter: Adapter) -> None:
    """https://elixir.bootlin.com/linux/v6.1/source/drivers/net/wireless/mac80211_hwsim.c, `group`."""
    if not DEBUGFS.exists():
        run("mount", "-t", "debugfs", "debugfs", str(DEBUGFS.parent))
    (DEBUGFS / adapter.port / "hwsim" / "group").write_text("2\n")


@pytest_asyncio.fixture
async def backend(nm: NetworkManager) -> AsyncIterator[NetworkManagerBackend]:
    async def restarted(interface: str) -> None:
        restart_link(interface)  # as the helper does

    made = await started(Listener(), Memory(), restart_link=restarted)
    yield made
    await made.stop()


@pytest.mark.parametrize("step", get_args(BackendStep))
async def test_an_adapter_works_after_a_step(
    backend: NetworkManagerBackend,
    nm: NetworkManager,
    cameras: Cameras,
    adapters: Adapters,
    step: BackendStep,
) -> None:
    with installed():
        camera, adapter = cameras("A"), adapters()
        await nm.wait_for_state(adapter.interface, DeviceState.DISCONNECTED)
        await backend.claim(adapter.interface)
        assert await backend.is_visible(adapter.interface, Ssid(camera.ssid), (), {})
        await recovered(backend, nm, adapter, step)
        await backend.join(request_for(adapter, camera))
        with pytest.raises(Busy):
            await backend.recover(adapter.interface, step)
        await backend.leave(adapter.interface)


def _is_subscribed(process: int) -> bool:
    """Whether a process listens to news of routing netlink."""
    return any(one.protocol == 0 and one.port == process and one.groups for one in netlink_sockets())


@asynccontextmanager
async def link_watched(adapter: Adapter) -> AsyncIterator[list[bool]]:
    """Afterwards, whether the link was up, in the order in which the kernel reported it."""
    watching = await asyncio.create_subprocess_exec(
        "ip", "-o", "monitor", "link", "dev", adapter.interface, stdout=asyncio.subprocess.PIPE
    )
    up: list[bool] = []
    try:
        poll_until(lambda: _is_subscribed(watching.pid), "a listener to the kernel's links")
        yield up
    finally:
        watching.terminate()
        output, _ = await watching.communicate()
        lines = [line for line in output.decode().splitlines() if "<" in line]
        up += ["UP" in line.split("<")[1].split(">")[0].split(",") for line in lines]


async def recovered(
    backend: NetworkManagerBackend, nm: NetworkManager, adapter: Adapter, step: BackendStep
) -> None:
    """Take a step; only a restart takes the link down, and every one leaves it up."""
    async with link_watched(adapter) as up:
        try:
            async with asyncio.timeout(30):
                await backend.recover(adapter.interface, step)
        except TimeoutError:
            pytest.fail(f"not recovered: {nm.transitions}")
    assert (False in up) == (step is RecoveryStep.RESTART), up
    assert await nm.state(adapter.interface) == DeviceState.DISCONNECTED


@on_both
async def test_a_deaf_adapter_ends_in_quarantine_and_cameras_use_the_others(
    plug: Plug, backend: str, cameras: Cameras
) -> None:
    quick = '[connect]\ntimeout_s = 8\non_create = false\n[recovery]\nsteps = ["restart", "quarantine"]\n'
    # Else changes of addresses would take links down, too.
    with installed() if backend == "networkmanager" else contextlib.nullcontext():
        deaf, first, second = await plug(), await plug(), await plug()
        deafen(deaf)
        await climb(quick, deaf, first, second, cameras)


async def climb(quick: str, deaf: Adapter, first: Adapter, second: Adapter, cameras: Cameras) -> None:
    async with whole_hub(quick) as hub, link_watched(deaf) as up:
        for adapter in (deaf, first, second):
            await hub.interface_state(adapter.interface, "available")
        hub.channel.forget()
        for number, (name, used) in enumerate((("A", first), ("B", second)), 1):
            device = await hub.add(cameras(name))
            status, answer = await hub.connect(device)
            assert (status, answer["code"]) == (504, "device-not-reachable")
            poll_until(partial(seen_elsewhere, number), "the other adapters have found it", 20)
            status, answer = await hub.connect(device)
            assert (status, answer["interface"]) == (200, used.interface)
            if used is first:  # the restart may be over before the other adapter has joined
                await hub.channel.until(partial(is_restarting, deaf), "that the deaf adapter restarts", 20)
                await hub.interface_state(deaf.interface, "available", 20)
        await hub.interface_state(deaf.interface, "unavailable", 20)
        assert "in quarantine" in (hub.dbus.interfaces[deaf.interface].reason or "")
        await hub.agree()
    assert False in up, "the helper has restarted its link"


def is_restarting(adapter: Adapter, message: Json) -> bool:
    """Whether the channel tells that the adapter cannot be used now."""
    data = message["data"]
    is_of_it = message["type"] == "interface.updated" and data["name"] == adapter.interface
    return bool(is_of_it and data["state"] == "unavailable")


def seen_elsewhere(times: int) -> bool:
    journal = journal_of_daemon()
    return journal.count("join_failed_in_range") >= times


async def test_our_networkmanager_conf_keeps_an_idle_adapters_address(
    nm: NetworkManager, adapters: Adapters
) -> None:
    def address(adapter: Adapter) -> str:
        return Path(f"{adapter.sysfs}/address").read_text().strip()

    usual = adapters()
    await nm.wait_for_state(usual.interface, DeviceState.DISCONNECTED)
    poll_until(lambda: address(usual) != usual.permanent_address, "what the file is against")
    with installed():
        ours = adapters()
        await nm.wait_for_state(ours.interface, DeviceState.DISCONNECTED)
        driver = run("nmcli", "-g", "GENERAL.DRIVER", "device", "show", ours.interface)
        assert address(ours) == ours.permanent_address, driver


@contextmanager
def installed() -> Iterator[None]:
    """Our file, for hwsim's driver."""
    file = Path("/run/NetworkManager/conf.d/wifimgrd.conf")
    file.write_text(CONF.read_text().replace("driver:ar5523,", "driver:mac80211_hwsim,"))
    poll_until(reloaded, "NetworkManager reads its configuration")
    try:
        yield
    finally:
        file.unlink()
        run("nmcli", "general", "reload", "conf")


def reloaded() -> bool:
    try:
        run("nmcli", "general", "reload", "conf")
    except CommandError:  # it is on its way up
        return False
    return True
