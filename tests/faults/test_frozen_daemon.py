"""The daemon is frozen, and works again: the shim says so to its clients, and gives them what is so then."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientWebSocketResponse

from tests.faults.shim import running_shim
from tests.http.served import P, Served
from tests.processes import Hub

NOTICED_S = 60.0
"""Generous: how soon it is, a test on a clock of its own says."""


async def until(channel: ClientWebSocketResponse, kind: str) -> dict[str, Any]:
    """The next message of a type."""
    while (message := await channel.receive_json(timeout=NOTICED_S))["type"] != kind:
        pass
    return dict(message)


@pytest.mark.slow
async def test_clients_of_the_shim_see_a_frozen_daemon(hub: Hub, tmp_path: Path) -> None:
    device = await hub.create(1)
    await hub.until(device, "connected")
    async with running_shim(hub.address, tmp_path / "shim.log") as shim, Served.at(shim.url) as http:
        channel = await http.channel()
        first = await until(channel, "snapshot")
        with hub.frozen():
            gone = await until(channel, "service.updated")
            assert gone["data"]["backend_state"] == "unavailable"
            assert gone["data"]["backend_reason"] == "wifimgrd does not answer"
            assert (await http.get(P)).status == 503
        back = await until(channel, "snapshot")
        assert back["epoch"] == first["epoch"]
        assert back["service"]["backend_state"] == "ready"
        assert [one["connection_status"] for one in back["devices"]] == ["connected"]
        assert (await http.get(P)).status == 200


@pytest.mark.slow
async def test_a_command_that_waits_for_a_frozen_daemon_shows_all_that_it_is_away(
    hub: Hub, tmp_path: Path
) -> None:
    device = await hub.create(1)
    await hub.until(device, "connected")
    async with running_shim(hub.address, tmp_path / "shim.log") as shim, Served.at(shim.url) as http:
        with hub.frozen():
            answer = await http.post(f"{P}/wifi/disconnect?device_id={device}")
            assert answer.status == 503
            assert answer.json["detail"] == "wifimgrd does not answer"
            assert (await http.get(P)).status == 503


@pytest.mark.slow
async def test_a_monitor_that_follows_nothing_is_told_that_the_daemon_is_frozen(
    hub: Hub, tmp_path: Path
) -> None:
    async with running_shim(hub.address, tmp_path / "shim.log") as shim, Served.at(shim.url) as http:
        assert (await http.get("/healthz")).json["daemon"] == "available"
        with hub.frozen():
            health = await http.get("/healthz")
            assert (health.json["daemon"], health.json["reason"]) == (
                "unavailable",
                "wifimgrd does not answer",
            )
