"""Wi-Fi power save on real 802.11: off with a link, and again where a program switches it on."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

from .backends import on_both
from .guest.access_point import Camera
from .guest.adapters import Adapter
from .guest.deadline import poll_until
from .guest.namespace import run
from .guest.whole_hub import journal_of_daemon, whole_hub

Cameras = Callable[..., Camera]
Plug = Callable[..., Awaitable[Adapter]]


def power_save(adapter: Adapter) -> str:
    return run("iw", "dev", adapter.interface, "get", "power_save").strip()


def address(adapter: Adapter) -> str:
    return Path(adapter.sysfs, "address").read_text().strip()


def drifts() -> int:
    journal = journal_of_daemon()
    return journal.count("Wi-Fi power save was switched on")


@on_both
async def test_what_a_program_switches_on_is_switched_off_and_reported(plug: Plug, cameras: Cameras) -> None:
    adapter = await plug()
    run("iw", "dev", adapter.interface, "set", "power_save", "on")
    async with whole_hub() as hub:
        await hub.interface_state(adapter.interface, "available")
        device = await hub.add(cameras("A"))
        await hub.until(device, "connected")
        assert power_save(adapter) == "Power save: off", "from the start of the link"
        assert address(adapter) == adapter.permanent_address
        run("iw", "dev", adapter.interface, "set", "power_save", "on")
        poll_until(lambda: power_save(adapter) == "Power save: off", "the helper switches it off", 40)
        poll_until(lambda: drifts() == 1, "the journal says so")
        await hub.expect(device, "connected")
