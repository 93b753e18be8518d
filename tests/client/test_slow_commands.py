"""A command that is late is no evidence against the daemon, which goes on for all others."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping

import pytest

from tests.message_bus import MessageBusDaemon
from wifimgrd.bus.connection import BusConnection, MethodCall
from wifimgrd.client import hub as client
from wifimgrd.client.changes import Change
from wifimgrd.client.hub import HubClient
from wifimgrd.domain.commands import CONNECT
from wifimgrd.domain.errors import BackendUnavailable
from wifimgrd.wire import names

OBJECTS: Mapping[str, Mapping[str, object]] = {names.device_path(1): {names.DEVICE: {}}}


@pytest.fixture
def pings() -> list[MethodCall]:
    """What the daemon was asked."""
    return []


@pytest.fixture
async def hub(message_bus: MessageBusDaemon, pings: list[MethodCall]) -> AsyncIterator[HubClient]:
    """A client of a daemon that answers pings, and no command."""
    daemon = await BusConnection.open(message_bus.address)

    def on_call(call: MethodCall) -> None:
        match call.member:
            case "GetManagedObjects":
                daemon.reply(call, "a{oa{sa{sv}}}", [OBJECTS])
            case "Ping":
                pings.append(call)
                daemon.reply(call)

    daemon.serve(on_call)
    await daemon.request_name(names.BUS_NAME)
    hub = HubClient(message_bus.address)
    await hub.start()
    yield hub
    await hub.stop()
    await daemon.close()


async def test_a_slow_connect_takes_the_daemon_away_from_nobody(
    hub: HubClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "CONNECT_S", 0.05)
    changes: list[Change] = []
    hub.subscribe(changes.append)
    with pytest.raises(BackendUnavailable, match="did not answer in time"):
        await hub.command_device(CONNECT, 1)
    assert hub.available
    assert list(hub.devices) == [1]
    assert changes == []


async def test_who_asks_at_once_whether_the_daemon_answers_shares_one_ping(
    hub: HubClient, pings: list[MethodCall]
) -> None:
    await asyncio.gather(*(hub.confirm() for _ in range(200)))
    assert len(pings) == 1
    await hub.confirm()
    assert len(pings) == 2
    assert hub.available
