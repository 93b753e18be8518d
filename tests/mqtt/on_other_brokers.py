"""Hubs at brokers that are not Mosquitto: what docs/fleet.md says of them.

They run in Debians of their own, which are made once. The name of this file keeps it out of a plain run of
the suite: `tools/test-all` names it.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.commands import connect
from tests.message_bus import MessageBusDaemon
from tests.mqtt.bridge_process import BridgeProcess
from tests.mqtt.conftest import HUB
from tests.mqtt.fleet_view import fleet_view
from tests.mqtt.observer import observer
from tests.mqtt.other_brokers import Cluster, rabbitmq
from tests.processes import Hub, running_hub

AWAY_S = 30.0
"""Within which the hubs of a node that has crashed are back."""
WILL_S = 10.0
"""Within which the other node publishes the wills of a node that has crashed."""


@dataclass(slots=True)
class Boat:
    """A hub, with its bridges to a broker."""

    name: str
    hub: Hub
    folder: Path
    port: int
    bus: str

    async def bridge(self, number: int = 1) -> BridgeProcess:
        keys = f'broker = "mqtt://127.0.0.1:{self.port}"\nhub = "{self.name}"\ncommands = true'
        one = BridgeProcess(self.folder / f"bridge-{number}", self.bus, keys)
        await one.start()
        return one


Hubs = Callable[[str, int], Awaitable[Boat]]


@pytest.fixture
async def hubs(tmp_path: Path) -> AsyncIterator[Hubs]:
    """Makes running hubs, for a broker at a port."""
    async with AsyncExitStack() as stack:

        async def make(name: str, port: int) -> Boat:
            folder = tmp_path / name
            folder.mkdir()
            bus = stack.enter_context(MessageBusDaemon.start())
            hub = await stack.enter_async_context(running_hub(bus.address, folder / "state"))
            return Boat(name, hub, folder, port, bus.address)

        yield make


@pytest.fixture(params=["bookworm", "trixie"])
async def rabbit(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[int]:
    """Its 3.10 has MQTT 3.1.1 and ends connections that begin with MQTT 5; its 4.0 has both."""
    async with rabbitmq(request.param, tmp_path / "rabbitmq") as port:
        yield port


async def test_at_rabbitmq_a_hub_publishes_and_takes_commands_but_cannot_be_listed(
    rabbit: int, hubs: Hubs
) -> None:
    boat = await hubs("boat", rabbit)
    device = await boat.hub.create(1)
    await boat.hub.until(device, "connected", 20)
    topic = f"{HUB}/devices/{device}"
    async with observer(rabbit) as seen:
        bridge = await boat.bridge()
        await seen.until(lambda: seen.retained.get(f"{HUB}/availability") == b"online")
        await bridge.until_logged("broker_unsuitable")
        answer = await seen.command(f"{topic}/command", {"command": "disconnect"}, f"{topic}/result")
        assert (answer["ok"], answer["message"]) == (True, "disconnected")
        await seen.until(lambda: seen.record(topic)["connection_status"] == "disconnected")

        published = len(seen.seen(f"{HUB}/hub"))
        second = await boat.bridge(2)
        await second.until_logged("hub_id_taken")
        assert await second.end() == 0
        assert len(seen.seen(f"{HUB}/hub")) == published
        assert seen.retained[f"{HUB}/availability"] == b"online"

        async with observer(rabbit) as later:
            assert not [one for one in later.messages if one.retained]

        await bridge.end(signal.SIGKILL)
        await seen.until(lambda: seen.retained[f"{HUB}/availability"] == b"offline")


async def test_hubs_of_a_cluster_are_seen_and_commanded_also_once_a_node_has_crashed(
    tmp_path: Path, hubs: Hubs
) -> None:
    topics: list[str] = []
    async with Cluster(tmp_path / "cluster").running() as cluster, AsyncExitStack() as stack:
        boats: dict[str, tuple[Boat, int]] = {}
        for number, name in enumerate(("boat", "truck"), 1):
            boat = await hubs(name, cluster.port)
            boats[name] = boat, await boat.hub.create(number)
            bridge = await boat.bridge()
            stack.push_async_callback(bridge.end)
            await bridge.until_logged("broker_connected")
            topics.append(f"wifimgrd/{name}/availability")
        nodes = {name: cluster.node_of(f"wifimgrd-{name}") for name in boats}
        assert nodes["boat"] is not nodes["truck"]

        view = await stack.enter_async_context(fleet_view(cluster.port))

        async def are_shown(state: str) -> None:
            def holds() -> bool:
                return all(
                    view.is_online(name) and view.hubs[name].device(device).get("connection_status") == state
                    for name, (_, device) in boats.items()
                )

            try:
                async with asyncio.timeout(AWAY_S):
                    await view.until(holds)
            except TimeoutError:
                raise AssertionError(f"not all online and {state}: {view.hubs}") from None

        async def disconnect() -> None:
            for name, (_, device) in boats.items():
                answer = await view.command(name, device, "disconnect", timeout_s=10)
                assert answer["ok"], answer

        await are_shown("connected")
        await disconnect()
        await are_shown("disconnected")

        async with observer(cluster.port_of(nodes["boat"])) as seen:
            await nodes["truck"].kill()
            for boat, device in boats.values():
                await connect(boat.hub.client, device)
                await boat.hub.until(device, "connected", 20)
            await are_shown("connected")
            # The other node publishes the last will of the truck, which is back.
            await seen.until(lambda: any(one.payload == b"offline" for one in seen.seen(topics[1])), WILL_S)
            await seen.until(lambda: {seen.retained[topic] for topic in topics} == {b"online"})
        await are_shown("connected")
        await disconnect()
        await are_shown("disconnected")
