"""A random life on real 802.11 breaks no invariant, loses nothing and leaves nothing behind anywhere;
`make soak LAB=1` has a long one."""

import asyncio
import contextlib
import json
import re
import socket
import sys
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest

from tests.commands import disconnect
from tests.faults.footprint import Process, growth, reported
from tests.faults.random_life import Life, Network, chance_of, duration_s, seed
from tests.http.served import Served
from wifimgrd.bus.connection import BusConnection
from wifimgrd.client.hub import HubClient
from wifimgrd.domain.records import DeviceRecord

from .backends import on_both
from .guest.access_point import Camera
from .guest.adapters import Adapter
from .guest.deadline import DeadlineError, async_poll_until
from .guest.namespace import run
from .guest.whole_hub import URL, whole_hub
from .networkmanager_listener import profiles
from .random_world import RealWorld

DURATION_S = duration_s("45s")
SEED = seed()
CHAPTER_S = 15.0
CROWD = 3
PAUSE_S = 0.3
CHANGE_S = 0.7
SETTLED_S = 60.0
"""An attempt, and the wait before it."""
UNITS = ("wifimgrd", "wifimgrd-http", "wifimgrd-net")
OPEN_INTERFACE = re.compile("path='(/fi/w1/wpa_supplicant1/Interfaces/[0-9]+)'")
"""In the rules for an interface that the daemon has registered: it keeps the two as long as that is so."""
OURS = 7749
"""Preference of the routing rules of wifimgrd-net."""


@dataclass(frozen=True)
class Links:
    """What a backend keeps on the host for each link."""

    listed: Callable[[], list[str]]
    name_of: Callable[[DeviceRecord], str]


def link_profiles() -> list[str]:
    """Without that of the interface that owns the addresses, which NetworkManager makes."""
    return [name for name in profiles() if name.startswith("wifimgrd-")]


def addressed_interfaces() -> list[str]:
    """The adapters' interfaces that have an address."""
    listed = json.loads(run("ip", "-4", "-j", "address", "show"))
    return [one["ifname"] for one in listed if one.get("ifname", "").startswith("wlan")]


LINKS = {
    "networkmanager": Links(link_profiles, lambda device: f"wifimgrd-{device.id}"),
    "wpa_supplicant": Links(addressed_interfaces, lambda device: device.interface or ""),
}


@on_both
async def test_a_random_life_on_real_wifi_breaks_nothing_and_leaves_nothing_behind(
    backend: str,
    plug: Callable[..., Awaitable[Adapter]],
    cameras: Callable[..., Camera],
    capsys: pytest.CaptureFixture[str],
) -> None:
    plugged = [await plug(), await plug()]
    switched_on = [cameras("A"), cameras("B", security="sae"), cameras("C", channel=6)]
    networks = [Network(camera.ssid.decode(), camera.password) for camera in switched_on]
    world = RealWorld(switched_on, plugged, chance_of(SEED, CROWD))
    async with whole_hub() as hub, Served.at(URL) as http:
        life = Life(hub.dbus, http, SEED, networks, world, CROWD, PAUSE_S, CHANGE_S)
        bus = await BusConnection.open("system")
        following = asyncio.create_task(life.follower.follow())
        first: dict[str, int] = {}
        rules: Counter[str] = Counter()
        chapters = max(2, round(DURATION_S / CHAPTER_S))
        for chapter in range(chapters):
            waits_s = await life.live(CHAPTER_S)
            await world.mend()
            await settled(life, hub.dbus, LINKS[backend])
            await rest(life, hub.dbus, LINKS[backend])
            assert not following.done(), following.exception()
            if chapter == 0:
                first, rules = await held(bus)
            if chapter in (0, chapters - 1):
                with capsys.disabled():
                    sys.stdout.write(f"\nseed {SEED}, {chapter + 1} of {chapters} chapters\n")
                    sys.stdout.writelines(reported(waits_s))
            hub.channel.forget()
            hub.failures.clear()
        following.cancel()
        last, rules_now = first, rules

        async def as_at_first() -> bool:
            nonlocal last, rules_now
            last, rules_now = await held(bus)
            return growth(first, last) == []

        with contextlib.suppress(DeadlineError):  # an adapter may just be looked after, with a scan
            await async_poll_until(as_at_first, "no more held than at first", SETTLED_S)
        with capsys.disabled():
            sys.stdout.write(f"{first}\n{last}\n")
        await bus.close()
    assert growth(first, last) == [], f"new rules: {list(rules_now - rules)}, gone: {list(rules - rules_now)}"


async def held(bus: BusConnection) -> tuple[dict[str, int], Counter[str]]:
    """What the processes hold now: how much, and which match rules. Those for interfaces that are registered
    are as many as there are such adapters, which differs."""
    processes = [process_of(unit) for unit in UNITS]
    sizes: dict[str, int] = {}
    for process in processes:
        sizes |= await process.sizes(bus)
    rules = [rule for process in processes for rule in await process.match_rules(bus)]
    opened = Counter(found[1] for rule in rules if (found := OPEN_INTERFACE.search(rule)))
    assert all(number <= 2 for number in opened.values()), opened
    assert len(opened) <= sum(name.startswith("wlan") for _, name in socket.if_nameindex()), opened
    sizes["wifimgrd match rules"] -= opened.total()
    return sizes, Counter(rule for rule in rules if not OPEN_INTERFACE.search(rule))


async def settled(life: Life, hub: HubClient, links: Links) -> None:
    """Wait until nothing moves any more, nobody says anything else, and the host has what that takes."""
    await async_poll_until(partial(_at_rest, hub), "all devices connected or disconnected", SETTLED_S)
    await life.check(SETTLED_S)
    await async_poll_until(partial(_fits, hub, links), "the host as the connected devices need it", SETTLED_S)


async def rest(life: Life, hub: HubClient, links: Links) -> None:
    """Disconnect all; then nothing is left of any connection."""
    for device in list(hub.devices):
        await disconnect(hub, device)
    await settled(life, hub, links)
    await hub.wait_until(
        lambda client: all(interface.state == "available" for interface in client.interfaces.values()),
        SETTLED_S,
    )
    assert host(links) == ([], [], [], 0, 0)


async def _at_rest(hub: HubClient) -> bool:
    return {device.state for device in hub.devices.values()} <= {"connected", "disconnected"}


async def _fits(hub: HubClient, links: Links) -> bool:
    connected = [device for device in hub.devices.values() if device.state == "connected"]
    addresses = sorted(device.address or "" for device in connected)
    wanted = sorted(map(links.name_of, connected))
    return host(links) == (wanted, addresses, addresses, len(connected), len(connected))


def host(links: Links) -> tuple[list[str], list[str], list[str], int, int]:
    """What stands for links of ours, addresses that lead somewhere in both of nftables' maps, how many
    routes these have, and routing rules."""
    elements = nftables()
    rules = [rule for rule in json.loads(run("ip", "-j", "rule", "show")) if rule["priority"] == OURS]
    return (
        sorted(links.listed()),
        sorted(address for address, _ in elements["interface_of"]),
        sorted(address for address, _ in elements["camera_of"]),
        len(elements["routes"]),
        len(rules),
    )


def nftables() -> dict[str, list[Any]]:
    """The elements of each map and set of wifimgrd-net."""
    listed = json.loads(run("nft", "-j", "list", "table", "ip", "wifimgrd"))["nftables"]
    found = [one.get("map") or one.get("set") for one in listed if one.keys() & {"map", "set"}]
    return {one["name"]: one.get("elem", []) for one in found}


def process_of(unit: str) -> Process:
    """The running process of a unit of ours."""
    pid = run("systemctl", "show", "-P", "MainPID", f"{unit}.service").strip()
    entries = ("journalctl", "-o", "cat", "--no-pager", f"_PID={pid}", "WIFIMGRD_EVENT=tasks")
    return Process(unit, int(pid), partial(run, *entries))
