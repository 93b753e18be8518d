"""The regulatory domain, by the configuration of the whole product."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator

import pytest

from tests.commands import connect

from .backends import on_both
from .guest.access_point import Camera
from .guest.adapters import Adapter
from .guest.namespace import run
from .guest.whole_hub import CONFIGURATION, journal_of_daemon, whole_hub

Cameras = Callable[..., Camera]
Plug = Callable[..., Awaitable[Adapter]]


@pytest.fixture(autouse=True)
def world_domain(no_radios: None) -> Iterator[None]:
    run("iw", "reg", "set", "00")
    yield
    run("iw", "reg", "set", "00")


@on_both
async def test_without_a_country_a_camera_on_channel_149_is_found_by_its_beacons(
    plug: Plug, cameras: Cameras
) -> None:
    """A camera knows its own country; the kernel lets it go on for a minute in the guest's, which is none."""
    camera = cameras("A", channel=149, country="US")
    run("iw", "reg", "set", "00")
    assert "country US" not in run("iw", "reg", "get")
    adapter = await plug()
    async with whole_hub() as hub:
        await hub.interface_state(adapter.interface, "available")
        device = await hub.add(camera)
        await hub.until(device, "connected")


@on_both
async def test_the_country_of_the_configuration_is_in_force_and_a_missing_one_is_warned_about(
    plug: Plug, cameras: Cameras
) -> None:
    adapter = await plug()
    async with whole_hub() as hub:
        await hub.interface_state(adapter.interface, "available")
        device = await hub.add(cameras("A"))
        await hub.until(device, "connected")
        assert journal_of_daemon().count("country_unknown") == 1
        assert "country DE" not in run("iw", "reg", "get")
        await hub.disconnect(device)
        CONFIGURATION.write_text('[radio]\ncountry = "DE"\n')
        run("systemctl", "restart", "wifimgrd.service")
        await hub.await_daemon()
        await hub.interface_state(adapter.interface, "available")
        await connect(hub.dbus, device, wait=True)
        assert "country DE" in run("iw", "reg", "get")
        assert "country_unknown" not in journal_of_daemon()
