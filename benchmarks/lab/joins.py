"""How long a connect takes, against the programs below the backend by themselves."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from benchmarks.lab.hub import Hub
from benchmarks.lab.networkmanager_stage import NetworkManagerStage
from benchmarks.lab.stage import Join, Stage, switched_on
from benchmarks.lab.subject import connected_once
from benchmarks.table import Row, Target
from tests.lab.guest.access_point import Camera
from tests.lab.guest.adapters import Adapter

PART: Final = "Lab: real 802.11"
LISTED: Final = "connect, network in the scan list"
KNOWN: Final = "connect, known, just switched on"
_LISTED_ROUNDS: Final = 31
_SWITCHED_ON_ROUNDS: Final = 7
_FULL_SCAN_ROUNDS: Final = 3
"""NetworkManager alone takes ten seconds for each."""
_UNLIKELY_CHANNEL: Final = 3
_LIKELY_CHANNEL: Final = 6


@dataclass(frozen=True, slots=True)
class Joins:
    """Each connect of one kind, by us and by the programs below."""

    ours: list[Join] = field(default_factory=list)
    bare: list[Join] = field(default_factory=list)
    nmcli: list[float] = field(default_factory=list)
    """In seconds; empty where it was not asked for."""

    def forget(self) -> None:
        """Forget what there is so far."""
        del self.ours[:], self.bare[:], self.nmcli[:]


def seconds(joins: Sequence[Join]) -> list[float]:
    """How long they took."""
    return [join.seconds for join in joins]


async def listed(stage: Stage, hub: Hub, *, nmcli: bool) -> Joins:
    """The network is in the scan list: ours, the bare call, and nmcli where asked for, in turns.

    Each goes first as often as the others: what one has left to be done, the next one has to wait for.
    """
    joins = Joins()

    async def join_by_us() -> None:
        await hub.free(adapter.interface)
        await stage.bring_into_scan_list(adapter, camera)
        joins.ours.append(await _join_by_us(stage, hub, adapter, device))
        await hub.disconnect(device)

    async def join_bare() -> None:
        async with hub.asleep():
            await stage.bring_into_scan_list(beside, camera)
            joins.bare.append(await stage.join_bare(beside, camera))

    async def join_by_nmcli() -> None:
        assert isinstance(stage, NetworkManagerStage)
        async with hub.asleep():
            await stage.bring_into_scan_list(adapter, camera)
            joins.nmcli.append(await stage.join_by_nmcli(adapter, camera))

    sides = [join_by_us, join_bare, *([join_by_nmcli] if nmcli else ())]
    async with connected_once(stage, hub) as subject:
        adapter, camera, device = subject.adapter, subject.camera, subject.device
        async with stage.bare(adapter, "1.9") as beside:
            await hub.until_unavailable(beside, ours=adapter)
            for number in range(_LISTED_ROUNDS + 1):
                for side in sides:
                    await side()
                sides.append(sides.pop(0))
                if not number:  # all are warm now
                    joins.forget()
    return joins


async def _join_by_us(stage: Stage, hub: Hub, adapter: Adapter, device: int) -> Join:
    began = time.monotonic()
    return await stage.join(adapter, began, await hub.connected(device))


def listed_rows(joins: Joins) -> list[Row]:
    """Of NetworkManager's backend. The time has no goal: what a connect costs has, in counts (`trace`)."""
    ours, bare = seconds(joins.ours), seconds(joins.bare)
    rows = [Row(PART, LISTED, "s", ours, bare, NetworkManagerStage.bare_is)]
    if joins.nmcli:
        nmcli = "nmcli device wifi connect"
        rows.append(Row(PART, LISTED, "s", ours, joins.nmcli, nmcli, Target("ratio", 0.5)))
    return rows


async def known(stage: Stage, hub: Hub) -> Joins:
    """A camera that has been connected before is switched on; all channels are allowed."""
    adapter = await stage.plugged("1.2", "all")
    camera = Camera("known", channel=_UNLIKELY_CHANNEL)
    joins = Joins()
    rounds = _FULL_SCAN_ROUNDS if isinstance(stage, NetworkManagerStage) else _SWITCHED_ON_ROUNDS
    with switched_on(camera):
        device = await hub.add(camera)
        await hub.free(adapter.interface)
        await hub.connected(device)  # from now on it is known
        for _ in range(_SWITCHED_ON_ROUNDS):
            await hub.disconnect(device)
            camera.stop()
            await stage.forget(adapter)
            camera.on()
            joins.ours.append(await _join_by_us(stage, hub, adapter, device))
        await hub.remove(device)
        async with stage.bare(adapter, "1.9") as beside, hub.asleep():
            for _ in range(rounds):
                await stage.forget(beside)
                joins.bare.append(await stage.scan_and_join_bare(beside, camera))
    adapter.unplug()
    return joins


async def first_contact(stage: Stage, hub: Hub) -> list[float]:
    """Seconds of each connect to a camera of which nothing is known, on a likely channel."""
    adapter = await stage.plugged("1.5", "all")
    camera = Camera("new", channel=_LIKELY_CHANNEL)
    taken: list[float] = []
    with switched_on(camera):
        for _ in range(_SWITCHED_ON_ROUNDS):
            device = await hub.add(camera)
            await hub.free(adapter.interface)
            await stage.forget(adapter)
            taken.append(await hub.connected(device))
            await hub.remove(device)
    adapter.unplug()
    return taken


def known_rows(known: Joins) -> list[Row]:
    """Of NetworkManager's backend."""
    return [_switched_on_row(KNOWN, seconds(known.ours), known, Target("ours", 0.25))]


def first_contact_rows(known: Joins, new: list[float]) -> list[Row]:
    """Of NetworkManager's backend."""
    return [_switched_on_row("connect, first contact, likely channel", new, known, Target("ratio", 0.3))]


def _switched_on_row(what: str, ours: list[float], known: Joins, target: Target) -> Row:
    return Row(PART, what, "s", ours, seconds(known.bare), NetworkManagerStage.bare_scan_is, target)
