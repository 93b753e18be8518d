"""The message bus dies and comes back: the daemon ends and says so, the shim waits for both."""

from __future__ import annotations

from pathlib import Path

from tests.faults.shim import running_shim
from tests.http.served import P, Served
from tests.message_bus import MessageBusDaemon
from tests.processes import Hub

EX_UNAVAILABLE = 69
BACK_S = 20.0


async def test_a_message_bus_that_was_killed_costs_neither_device_nor_link(
    message_bus: MessageBusDaemon, bus_configuration: Path, hub: Hub, tmp_path: Path
) -> None:
    device = await hub.create(1)
    await hub.until(device, "connected")
    linked = hub.client.devices[device].last_successful_connection
    async with running_shim(hub.address, tmp_path / "shim.log") as shim, Served.at(shim.url) as http:
        channel = await http.channel()
        first = await channel.receive_json(timeout=BACK_S)
        message_bus.kill()
        assert hub.process is not None
        assert await hub.process.wait() == EX_UNAVAILABLE
        while (gone := await channel.receive_json(timeout=BACK_S))["type"] != "service.updated":
            assert gone["type"] == "interface.updated"  # its adapter works
        assert gone["data"]["backend_state"] == "unavailable"
        assert (await http.get(P)).status == 503
        with MessageBusDaemon.start(bus_configuration):
            await hub.start()
            back = await channel.receive_json(timeout=BACK_S)
            assert (back["type"], back["epoch"]) == ("snapshot", first["epoch"])
            assert [one["connection_status"] for one in back["devices"]] == ["connected"]
            assert hub.client.devices[device].last_successful_connection == linked
            assert (await http.get(P)).status == 200
