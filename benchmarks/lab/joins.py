"""How long a connect takes, against NetworkManager alone."""

from __future__ import annotations

from typing import Final

from benchmarks.lab.hub import Hub
from benchmarks.lab.stage import Stage, on_air
from benchmarks.table import Row, Target
from tests.lab.guest.access_point import Camera

PART: Final = "Lab: real 802.11"
_LISTED_ROUNDS: Final = 31
_SWITCHED_ON_ROUNDS: Final = 7
_FULL_SCAN_ROUNDS: Final = 3
"""NetworkManager alone takes ten seconds for each."""
_UNLIKELY_CHANNEL: Final = 3
_LIKELY_CHANNEL: Final = 6


async def listed(stage: Stage, hub: Hub) -> list[Row]:
    """The network is in the scan list: ours, the bare call, and nmcli, in turns.

    Each goes first as often as the others: what one has left to be done, the next one has to wait for.
    """
    adapter = await stage.plugged("1.1", "short")
    camera = Camera("listed")
    ours: list[float] = []
    bare: list[float] = []
    nmcli: list[float] = []

    async def join_by_us() -> None:
        await hub.free(adapter.interface)
        await stage.hear(adapter, camera)
        ours.append(await hub.connected(device))
        await hub.disconnect(device)

    async def join_bare() -> None:
        async with hub.asleep():
            await stage.hear(adapter, camera)
            bare.append(await stage.join_bare(adapter, camera))

    async def join_by_nmcli() -> None:
        async with hub.asleep():
            await stage.hear(adapter, camera)
            nmcli.append(await stage.join_by_nmcli(adapter, camera))

    sides = [join_by_us, join_bare, join_by_nmcli]
    with on_air(camera):
        device = await hub.add(camera)
        for number in range(_LISTED_ROUNDS + 1):
            for side in sides:
                await side()
            sides.append(sides.pop(0))
            if not number:  # all three are warm now
                del ours[:], bare[:], nmcli[:]
        await hub.remove(device)
    adapter.unplug()
    what = "connect, network in the scan list"
    return [
        Row(PART, what, "s", ours, bare, "bare AddAndActivateConnection2", Target("ratio", 1.1)),
        Row(PART, what, "s", ours, nmcli, "nmcli device wifi connect", Target("ratio", 0.5)),
    ]


async def switched_on(stage: Stage, hub: Hub) -> list[Row]:
    """The network is not in the scan list, and all channels are allowed."""
    adapter = await stage.plugged("1.2", "all")
    known, new = Camera("known", channel=_UNLIKELY_CHANNEL), Camera("new", channel=_LIKELY_CHANNEL)
    known_ours: list[float] = []
    new_ours: list[float] = []
    alone: list[float] = []
    with on_air(known, new):
        device = await hub.add(known)
        await hub.free(adapter.interface)
        await hub.connected(device)  # from now on it is known
        for _ in range(_SWITCHED_ON_ROUNDS):
            await hub.disconnect(device)
            known.stop()
            await stage.forget(adapter)
            known.on()
            known_ours.append(await hub.connected(device))
        await hub.remove(device)
        for _ in range(_SWITCHED_ON_ROUNDS):
            device = await hub.add(new)
            await hub.free(adapter.interface)
            await stage.forget(adapter)
            new_ours.append(await hub.connected(device))
            await hub.remove(device)
        async with hub.asleep():
            for _ in range(_FULL_SCAN_ROUNDS):
                await stage.forget(adapter)
                alone.append(await stage.join_bare(adapter, known))
    adapter.unplug()
    return [
        Row(PART, f"connect, {what}", "s", ours, alone, "NetworkManager alone", target)
        for what, ours, target in (
            ("known, just switched on", known_ours, Target("ours", 0.6)),
            ("first contact, likely channel", new_ours, Target("ratio", 0.3)),
        )
    ]
