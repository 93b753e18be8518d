"""More than anybody expects: of networks in range, and of adapters that come and go."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

from tests.faults.shim import running_shim
from tests.http.served import P, Served
from tests.processes import Hub

NETWORKS = 300
EVENTS = 1_000


async def test_three_hundred_hostile_names_are_shown_safely(hub: Hub, tmp_path: Path) -> None:
    chance = random.Random(300)
    names = {chance.randbytes(chance.choice((1, 31, 32))) for _ in range(NETWORKS)}
    for ssid in names:
        await hub.client.simulate("AddCamera", "aysa{sv}", ssid, "", {})
    async with running_shim(hub.address, tmp_path / "shim.log") as shim, Served.at(shim.url) as http:
        answer = await http.get(P + "/wifi/networks")
    assert names <= {bytes.fromhex(one["ssid_hex"]) for one in answer.json["networks"]}
    found = await hub.client.search_networks()
    assert names <= {network.ssid for network in found.networks}


async def test_a_thousand_plugs_and_pulls_end_in_what_is_there(hub: Hub, tmp_path: Path) -> None:
    device = await hub.create(1)
    await hub.until(device, "connected")
    async with running_shim(hub.address, tmp_path / "shim.log") as shim, Served.at(shim.url) as http:
        channel = await http.channel()
        seq = (await channel.receive_json())["seq"]
        members = ["UnplugAdapter" if number % 2 else "PlugAdapter" for number in range(1, EVENTS + 1)]
        await asyncio.gather(*(hub.client.simulate(member, "s", "wlan2") for member in members))
        reported: list[int] = []
        plugged: list[str] = []
        while len(plugged) < EVENTS:
            one = await channel.receive_json()
            if "seq" in one:  # a signal has none
                reported.append(one["seq"])
            if one["data"].get("name") == "wlan2":  # not what is measured of the camera, at its own time
                plugged.append(one["type"])
        listed = (await http.get(P + "/wifi/interfaces")).json
    assert reported == list(range(seq + 1, seq + 1 + len(reported)))
    assert plugged == ["interface.removed", "interface.added"] * (EVENTS // 2)
    assert [one["name"] for one in listed["interfaces"]] == ["wlan0", "wlan1", "wlan2"]
    assert hub.client.devices[device].state == "connected"
